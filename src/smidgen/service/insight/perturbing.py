"""How much a rank model perturbs what it shows, and what that costs: by its own scores, and by clicks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.service.insight.intervals import normal
from smidgen.service.insight.lists import Clicked
from smidgen.service.messages import ExaminationReply, PerturbationReply

#: How many of the first places are compared.
PLACES = 10
#: A click counts for the best guess at most so many times what it counts where it came from.
MOST = 10.0


def perturbing(
    shown: Sequence[Decision], clicked: Sequence[Clicked], curve: ExaminationReply | None, *, clicks: bool
) -> PerturbationReply | None:
    """Figures and a sentence; None as long as nothing was shown.

    Parameters
    ----------
    shown
        The latest lists.
    clicked
        The latest lists that were clicked.
    curve
        How far people look, if that is known.
    clicks
        Whether the model learns from clicks.
    """
    if not shown:
        return None
    pairs = [(np.asarray(each.action), np.asarray(each.greedy)) for each in shown]
    differs = float(np.mean([_differs(*pair) for pair in pairs]))
    figures: dict[str, float | int | None] = {
        "lists": len(shown),
        "places": PLACES,
        "differs": differs,
        "displacement": float(np.mean([_displacement(*pair) for pair in pairs])),
        "worth": _worth(shown, pairs),
        **_clicks(clicked, curve),
    }
    return PerturbationReply(sentence=_sentence(figures, clicks=clicks), figures=figures)


def _differs(action: IntArray, greedy: IntArray) -> bool:
    """Whether the first places are others than those of the best guess."""
    return bool((action[:PLACES] != greedy[:PLACES]).any())


def _displacement(action: IntArray, greedy: IntArray) -> float:
    """How many places the first documents stand from where the best guess has them, on average."""
    first = action[:PLACES]
    return float(np.abs(_places(greedy)[first] - np.arange(len(first))).mean())


def _places(order: IntArray) -> IntArray:
    """The place of each document."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place


def _worth(shown: Sequence[Decision], pairs: Sequence[tuple[IntArray, IntArray]]) -> float | None:
    """What the lists are worth by the model's own scores, as a share of the best guesses: nDCG over the first places.

    The gain of a document is its score, brought to 0 (the worst of the list) to 1 (the best).
    """
    got = best = 0.0
    for decision, (action, greedy) in zip(shown, pairs, strict=True):
        if decision.scores is None:
            return None
        gains = _gains(np.asarray(decision.scores, dtype=np.float64))
        fade = 1.0 / np.log2(np.arange(2, min(len(action), PLACES) + 2))
        got += float(gains[action[:PLACES]] @ fade)
        best += float(gains[greedy[:PLACES]] @ fade)
    return got / best if best > 0.0 else 1.0


def _gains(scores: FloatArray) -> FloatArray:
    low, high = float(scores.min()), float(scores.max())
    return (scores - low) / (high - low) if high > low and math.isfinite(high - low) else np.zeros(len(scores))


def _clicks(clicked: Sequence[Clicked], curve: ExaminationReply | None) -> dict[str, float | int | None]:
    """Clicks per list, and how many more the best guess would have had, page by page, by the examination curve.

    A click at place k stands for read[k']/read[k] clicks at the place k' that the best guess would have given the
    document (Joachims, Swaminathan & Schnabel 2017). Beyond the last place that the curve knows people are taken to
    look as they do there.
    """
    per_list = float(np.mean([len(each.clicks) for each in clicked])) if clicked else None
    told: dict[str, float | int | None] = {"clicked_lists": len(clicked), "clicks": per_list}
    if curve is None or len(clicked) < 2:
        return told | {"lost": None, "lost_low": None, "lost_high": None}
    read = np.array(curve.value)
    lost = [_lost(each, read) for each in clicked]
    value, low, high = normal(lost)
    return told | {"lost": value, "lost_low": low, "lost_high": high}


def _lost(each: Clicked, read: FloatArray) -> float:
    """How many more clicks the best guess would have had on one list."""
    documents, last = each.clicks.documents, len(read) - 1
    here = read[np.minimum(_places(np.asarray(each.decision.action))[documents], last)]
    there = read[np.minimum(_places(np.asarray(each.decision.greedy))[documents], last)]
    return float((np.minimum(there / here, MOST) - 1.0).sum())


def _sentence(figures: dict[str, float | int | None], *, clicks: bool) -> str:
    lists, differs = figures["lists"], figures["differs"] or 0.0
    if differs == 0.0:
        told = f"All of the last {lists} lists were the best guess: nothing is perturbed, and nothing lost by trying. "
        end = "But then clicks cannot tell merit from place." if clicks else "Where people edit lists that is right."
        return told + end
    told = (
        f"{differs:.0%} of the last {lists} lists differed from the best guess within the first {PLACES} places; a "
        f"document stood {figures['displacement']:.1f} places from where the best guess has it."
    )
    if figures["worth"] is not None:
        told += f" By the model's own scores these lists were worth {figures['worth']:.1%} of the best guess."
    if figures["lost"] is not None:
        told += (
            f" By {figures['clicked_lists']} clicked lists and how far people look, the best guess would have had "
            f"{figures['lost']:+.3f} clicks per list ({figures['lost_low']:+.3f} to {figures['lost_high']:+.3f}); "
            f"there were {figures['clicks']:.2f}."
        )
    return told
