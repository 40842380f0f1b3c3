"""Examination curve and cost of perturbation of rank models."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.evaluate import examination
from smidgen.learners import Feedback
from smidgen.service.engine.description import all_committed_counts
from smidgen.service.engine.model import ServedModel
from smidgen.service.loops.estimates import FEW, mean_of
from smidgen.service.monitoring.evidence import ClickedRanking, RecentRankings
from smidgen.service.schemas import ExaminationReply, PerturbationReply
from smidgen.service.storage.protocol import StoreReader

# How far people look: the examination curve of a rank model, from the latest lists that were clicked.

#: Maximum number of places of the curve.
PLACES = 10
#: Minimum number of lists with a click for the curve.
CLICKED = 30


class ExaminationCurve(NamedTuple):
    """The curve, or why there is none."""

    curve: ExaminationReply | None
    why_not: str | None = None


def examination_curve(
    shown: Sequence[Decision], lists: Sequence[ClickedRanking], settings: Mapping[str, Any]
) -> ExaminationCurve:
    """The curve with its interval, as far as the clicks tell it; else the reason in words.

    Parameters
    ----------
    shown
        The latest lists of a model.
    lists
        Lists and their clicks.
    settings
        Those of its learner.
    """
    if any(each.log_propensity is None or each.scores is None for each in (*shown, *(one.decision for one in lists))):
        return ExaminationCurve(
            None,
            "This learner does not draw its rankings with known probabilities, so position bias cannot be "
            "separated from "
            'relevance. The recommended learner can: create the model without "learner".',
        )
    if settings.get("alternate") is False:
        return ExaminationCurve(
            None,
            "Pairs are fixed, (1, 2), (3, 4), …: positions 2 and 3 are never compared. Create the model with "
            '"alternate": true in params.',
        )
    if not lists:
        return ExaminationCurve(None, "No clicks yet: position bias is estimated from clicks on rankings.")
    swap = float(settings.get("swap", 0.5))
    if swap in (0.0, 1.0):
        return ExaminationCurve(
            None, f"Pairs are swapped with probability {swap:g}: position bias needs a probability below 1."
        )
    hits = sum(len(each.clicks) > 0 for each in lists)
    if hits < CLICKED:
        return ExaminationCurve(
            None, f"{hits} of the last {len(lists)} rankings with feedback had a click; {CLICKED} are needed."
        )
    places = max(2, min(PLACES, max(len(each.decision.action) for each in lists)))
    found = examination(lists, places=places, swap=swap)
    known = int(np.isfinite(found.read + found.low + found.high).sum())
    if known < 2:
        return ExaminationCurve(None, "No clicks at exchanged positions yet: more clicks are needed.")
    return ExaminationCurve(
        ExaminationReply(
            places=list(range(1, known + 1)),
            value=found.read[:known].tolist(),
            low=found.low[:known].tolist(),
            high=found.high[:known].tolist(),
            n=found.rounds,
        )
    )


# How much a rank model perturbs what it shows, and what that costs: by its own scores, and by clicks.

#: Number of the first places that are compared.
#: Limit of the weight of a click in the estimate for the best guess.
MOST = 10.0


def perturbation_report(
    shown: Sequence[Decision], clicked: Sequence[ClickedRanking], curve: ExaminationReply | None, *, clicks: bool
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
    """True if the first positions differ from the best guess."""
    return bool((action[:PLACES] != greedy[:PLACES]).any())


def _displacement(action: IntArray, greedy: IntArray) -> float:
    """Mean distance, in positions, of the first documents from their place in the best guess."""
    first = action[:PLACES]
    return float(np.abs(_places(greedy)[first] - np.arange(len(first))).mean())


def _places(order: IntArray) -> IntArray:
    """The place of each document."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place


def _worth(shown: Sequence[Decision], pairs: Sequence[tuple[IntArray, IntArray]]) -> float | None:
    """Worth of the lists by the model's own scores, as a share of the best guesses: nDCG over the first positions.

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


def _clicks(clicked: Sequence[ClickedRanking], curve: ExaminationReply | None) -> dict[str, float | int | None]:
    """Clicks per list, and how many more the best guess would have had, page by page, by the examination curve.

    A click at place k stands for read[k']/read[k] clicks at the place k' that the best guess would have given the
    document (Joachims, Swaminathan & Schnabel 2017). Beyond the last place that the curve knows people are taken to
    look as they do there.
    """
    per_list = float(np.mean([len(each.clicks) for each in clicked])) if clicked else None
    measured: dict[str, float | int | None] = {"clicked_lists": len(clicked), "clicks": per_list}
    if curve is None or len(clicked) < FEW:
        return measured | {"lost": None, "lost_low": None, "lost_high": None}
    read = np.array(curve.value)
    lost = [_lost(each, read) for each in clicked]
    value, low, high = mean_of(lost, None)
    return measured | {"lost": value, "lost_low": low, "lost_high": high}


def _lost(each: ClickedRanking, read: FloatArray) -> float:
    """Expected clicks that one list lost against the best guess."""
    documents, last = each.clicks.documents, len(read) - 1
    here = read[np.minimum(_places(np.asarray(each.decision.action))[documents], last)]
    there = read[np.minimum(_places(np.asarray(each.decision.greedy))[documents], last)]
    return float((np.minimum(there / here, MOST) - 1.0).sum())


def _sentence(figures: dict[str, float | int | None], *, clicks: bool) -> str:
    lists, differs = figures["lists"], figures["differs"] or 0.0
    if differs == 0.0:
        text = f"All of the last {lists} rankings were the best guess: no randomization and no cost. "
        end = "Clicks then mix relevance with position." if clicks else "For corrected rankings this is fine."
        return text + end
    text = (
        f"{differs:.0%} of the last {lists} rankings differed from the best guess in the first {PLACES} positions; a "
        f"document was {figures['displacement']:.1f} positions from its place in the best guess."
    )
    if figures["worth"] is not None:
        text += f" By the model's own scores these rankings have {figures['worth']:.1%} of the value of the best guess."
    if figures["lost"] is not None:
        text += (
            f" By {figures['clicked_lists']} clicked rankings and the position bias, the best guess would have had "
            f"{figures['lost']:+.3f} clicks per list ({figures['lost_low']:+.3f} to {figures['lost_high']:+.3f}); "
            f"there were {figures['clicks']:.2f}."
        )
    return text


# What takes a look at the lists of a rank model, kept until its log has grown: perturbation and examination.

#: A model is examined again after this multiple of the time that the last examination took.
REST = 5.0


class BiasReport(NamedTuple):
    """Position bias in a model's lists.

    Attributes
    ----------
    perturbation
        How much is perturbed, and what that costs.
    examination
        How far people look, or why it is unknown.
    """

    perturbation: PerturbationReply | None
    examination: ExaminationCurve


class _CachedReport(NamedTuple):
    seq: int
    at: float
    took: float
    look: BiasReport


class BiasCache:
    """The looks at all models that were requested; one at a time is taken of each."""

    def __init__(self) -> None:
        self._known: dict[int, _CachedReport] = {}
        self._locks: dict[int, threading.Lock] = {}

    def get(self, reading: StoreReader, model: ServedModel) -> BiasReport:
        """The last look, or a new one if the log has grown and the last is old enough for what it cost."""
        lock, known = self._locks.setdefault(model.shard, threading.Lock()), self._known.get(model.shard)
        if not lock.acquire(blocking=known is None) and known is not None:
            return known.look
        try:
            return self._measure(reading, model)
        finally:
            lock.release()

    def _measure(self, reading: StoreReader, model: ServedModel) -> BiasReport:
        known, began = self._known.get(model.shard), time.monotonic()
        seq = all_committed_counts(reading, model).seq
        if known is not None and (seq == known.seq or began - known.at < REST * known.took):
            return known.look
        look = measure(reading, model)
        ended = time.monotonic()
        self._known[model.shard] = _CachedReport(seq, ended, ended - began, look)
        return look


def measure(reading: StoreReader, model: ServedModel) -> BiasReport:
    """Look once."""
    lists, blueprint = [RecentRankings(reading, part) for part in model.parts], model.blueprint
    shown, clicked = [each for one in lists for each in one.shown()], [each for one in lists for each in one.clicked()]
    found = examination_curve(shown, clicked, blueprint.settings)
    clicks = blueprint.feedback == Feedback.CLICKS
    return BiasReport(perturbation_report(shown, clicked, found.curve, clicks=clicks), found)
