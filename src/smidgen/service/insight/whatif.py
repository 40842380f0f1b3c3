"""What if another learner had stood here? A log, replayed through other learners and settings.

A log knows what its users did with what they were shown, and nothing of what they would have done with something else.
How far it can answer depends on the loop: see the evaluators in `smidgen.service.loops`, and what `WhatIf.notes` says.
"""

from __future__ import annotations

import gc
import math
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
import numpy as np

from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, InvalidRecord
from smidgen.evaluate.offline.sequence import asymptotic
from smidgen.service.insight.bench import OWN, Bench, Looked
from smidgen.service.insight.estimates import Estimate, share
from smidgen.service.insight.intervals import normal
from smidgen.service.insight.specs import other_body
from smidgen.service.insight.weighing import ALPHA, N0, Overlapping, Point
from smidgen.service.loops.clicking import ClickedPages
from smidgen.service.loops.evaluator import Evaluator
from smidgen.service.models.building import Blueprint
from smidgen.service.models.registry import recorded
from smidgen.service.store import formats
from smidgen.service.store.lines import Line
from smidgen.service.store.recording import Recording

__all__ = ["ExaminedPlaces", "Outcome", "WhatIf", "other_body", "plot", "what_if"]

POINTS = 400  # of a curve


class Outcome(msgspec.Struct, kw_only=True):
    """What can be said of one learner.

    Attributes
    ----------
    learner
        As it was asked for; ``"as logged"`` is the log's own.
    settings
        Its name and arguments.
    measure
        What the curve shows.
    main
        Which of the figures the band shows.
    figures
        Estimates with 95 % intervals; without a value where there is too little to say one.
    curve
        Pairs (observations so far, the running figure), at most 400.
    band
        The main figure over time with its interval, where it has one that allows to look at any time.
    overlap
        How much of the log bears on it, where decisions are weighed by propensities.
    verdict
        Whether it would have been better than what was shown, in words; empty where the log cannot tell.
    notes
        What a reader of these figures must know.
    """

    learner: str
    settings: str
    measure: str
    main: str = ""
    figures: list[Estimate]
    curve: list[tuple[int, float]]
    band: list[Point] = []
    overlap: Overlapping | None = None
    verdict: str = ""
    notes: list[str]


class ExaminedPlaces(msgspec.Struct, kw_only=True):
    """How likely people look at each place of a ranking, the first place first.

    Attributes
    ----------
    read, low, high
        The curve and its interval; all the same if it was given.
    rounds
        How many answered rankings it comes from; 0 if it was given.
    """

    read: list[float]
    low: list[float]
    high: list[float]
    rounds: int


class WhatIf(msgspec.Struct, kw_only=True):
    """A log and what other learners would have made of it.

    Attributes
    ----------
    log, loop
        Which log.
    decisions, answered
        How many decisions it holds, and how many of them were learnt from.
    logged
        What really happened: the loop's own figure over the whole log.
    outcomes
        The log's own learner first, then the others.
    examined
        Of rankings: how far people look, where the log tells or the caller knows.
    notes
        What cannot be known, and why.
    """

    log: str
    loop: str
    decisions: int
    answered: int
    logged: Estimate
    outcomes: list[Outcome]
    examined: ExaminedPlaces | None = None
    notes: list[str]


def what_if(
    recording: Recording,
    others: Sequence[str],
    *,
    examined: FloatArray | None = None,
    progress: Callable[[int], None] | None = None,
    own_too: bool = True,
) -> WhatIf:
    """Replay a log through other learners.

    Parameters
    ----------
    recording
        The log.
    others
        Learners as ``"Name"`` or ``"Name:argument=value,…"``; the features and labels are those of the log's model.
    examined
        Of rankings: how likely each place is looked at; estimated from the log, where it can be, if left out.
    progress
        Called now and then with the number of events that were read.
    own_too
        Whether the log's own learner is among those compared.

    Returns
    -------
    What can be said of each, with intervals; the log's own learner comes first.
    """
    bench, lines = begun(recording, others, examined, own_too=own_too)
    for seq in followed(bench, lines):
        if progress is not None:
            progress(seq)
    return found_by(bench, recording.name)


def begun(
    recording: Recording,
    others: Sequence[str],
    examined: FloatArray | None = None,
    *,
    own_too: bool = True,
    looked: Looked | None = None,
) -> tuple[Bench, Iterator[Line]]:
    """The learners at the beginning of a log, and the events that follow its settings."""
    lines = iter(recording.lines())
    first = next(lines, None)
    if first is None or first.model is None:
        raise InvalidRecord(
            f"{recording.name} does not begin with the model's settings", "export the log from its start"
        )
    formats.check(first.format, recording.name)
    own = recorded(first.model, first.resolved)
    bench = Bench(own, others, recording, own_too=own_too, looked=looked)
    if isinstance(bench.companion, ClickedPages):
        bench.companion.given = examined
    elif examined is not None:
        raise InvalidArgument("this log has no places to be looked at", "leave examined out: it is for rankings")
    return bench, lines


def followed(bench: Bench, lines: Iterable[Line]) -> Iterator[int]:
    """Follow a log to its end; now and then the number of the event is given."""
    over = set[int | None]()
    gc.freeze()  # many short-lived objects come now: the collector need not look at all that stays, again and again
    try:
        for count, event in enumerate(lines):
            if event.slot in over:
                continue
            bench.take(event)
            if event.type == "promoted":  # what follows was decided by the learner of another model
                over.add(event.slot)
                if event.slot is None:
                    break
            if count % 500 == 0:
                yield event.seq
        bench.settle()
    finally:
        gc.unfreeze()


def found_by(bench: Bench, name: str) -> WhatIf:
    """What the learners of a bench have found in the log of this name."""
    own = bench.own
    logged = _logged(own, bench.measures)
    seen = bench.companion.examination() if isinstance(bench.companion, ClickedPages) else None
    curve = None
    if seen is not None:
        curve = ExaminedPlaces(
            read=seen.read.tolist(), low=seen.low.tolist(), high=seen.high.tolist(), rounds=seen.rounds
        )
    return WhatIf(
        log=name,
        loop=own.body.loop,
        decisions=bench.decisions,
        answered=bench.answered,
        logged=logged,
        outcomes=[_outcome(spec, each, logged) for spec, each in bench.evaluators.items()],
        examined=curve,
        notes=[*own.loop.caveats, *bench.notes()],
    )


def plot(found: WhatIf, path: str | os.PathLike[str]) -> None:
    """Draw the running figures of all learners; the ending of the path says the format."""
    from smidgen.evaluate.plots import COLOURS, figure_type

    figure = figure_type()(figsize=(7.5, 4.6), layout="constrained")
    axes = figure.subplots()
    for i, outcome in enumerate(found.outcomes):
        if outcome.curve:
            counts, values = zip(*outcome.curve, strict=True)
            colour, style = COLOURS[i % len(COLOURS)], "--" if outcome.learner == "as logged" else "-"
            label = f"{found.log} itself" if outcome.learner == "as logged" else outcome.learner
            axes.plot(counts, values, style, color=colour, linewidth=2, label=label)
    measure = found.outcomes[0].measure if found.outcomes else found.logged.measure
    axes.set(xlabel="feedback", ylabel=f"{measure}, running")
    axes.set_title(f"{found.log}: what if", loc="left", fontsize=11)
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.lines:
        axes.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=140)


def _outcome(spec: str, evaluator: Evaluator, logged: Estimate) -> Outcome:
    figures = evaluator.figures()
    return Outcome(
        learner=spec,
        settings=repr(evaluator.blueprint.learner(None)),
        measure=evaluator.measure,
        main=evaluator.main,
        figures=figures,
        curve=_thinned(evaluator.curve),
        band=evaluator.band(),
        overlap=evaluator.overlapping(),
        verdict="" if spec == OWN else _verdict(figures, logged),
        notes=evaluator.remarks(),
    )


def _verdict(figures: list[Estimate], logged: Estimate) -> str:
    """Better, worse, or not known, by the intervals of the weighted figure and of what happened."""
    mine = next((each for each in figures if each.measure.endswith("(self-normalised)")), None)
    if mine is None or not mine.measure.startswith(logged.measure) or logged.low is None or logged.high is None:
        return ""
    if mine.value is None or mine.low is None or mine.high is None:
        return "too little of the log bears on it to say anything"
    if mine.low > logged.high:
        return "better than what was shown, and that is certain"
    if mine.high < logged.low:
        return "worse than what was shown, and that is certain"
    likely = "likely better" if mine.value > (logged.value or 0.0) else "likely no better"
    return f"not certain yet ({likely}): the intervals overlap"


def _thinned(curve: Sequence[float]) -> list[tuple[int, float]]:
    step = max(1, math.ceil(len(curve) / POINTS))
    counts = list(range(len(curve), 0, -step))[::-1]
    return [(count, curve[count - 1]) for count in counts]


def _logged(own: Blueprint, values: array[float]) -> Estimate:
    loop = own.loop
    if loop.share or not values:
        return share(loop.measure, int(sum(values)), len(values))
    low, high = own.terms.reward_range
    if min(values) < low or max(values) > high:  # no rewards, but losses, say
        value, below, above = normal(values)
        return Estimate(measure=loop.measure, value=value, low=below, high=above, of=len(values))
    found = asymptotic((np.array(values) - low) / (high - low), ALPHA, N0)
    ends = (low + (high - low) * end for end in (found.value, max(0.0, found.low), min(1.0, found.high)))
    value, below, above = ends
    return Estimate(measure=loop.measure, value=value, low=below, high=above, of=len(values))
