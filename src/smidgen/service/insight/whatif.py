"""What if another learner had stood here? A log, replayed through other learners and settings.

A log knows what its users did with what they were shown, and nothing of what they would have done with something else.
How far it can answer depends on the loop: see `smidgen.service.loops.evaluators`, and what `WhatIf.notes` says.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from smidgen.errors import InvalidArgument, InvalidRecord
from smidgen.service.insight.estimates import Estimate, share
from smidgen.service.insight.quality import normal
from smidgen.service.loops.evaluators import JUDGES, Judge
from smidgen.service.messages import ModelBody
from smidgen.service.models.building import Blueprint
from smidgen.service.store.recording import Recording

POINTS = 400  # of a curve

_NOTES = {
    "coactive": (
        "a learner without exploration showed what it thought best, so in its own log the better object stands above "
        "that almost never (only when feedback was late): compare other learners with one another, not with it",
        "all pairs come from where the log's learner was corrected; a learner that resembles it is at a disadvantage",
    ),
    "label": ("only decisions that were answered in time count; if people answer some kinds more often, so do these",),
    "filter": ("a log of forwarded items says nothing of the relevance of what was dropped",),
    "tune": (
        "the loss is known only at the points that were tried, and another learner would have tried others: of it, "
        "this log can say nothing",
    ),
}


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
    figures
        Estimates with 95 % intervals.
    curve
        Pairs (observations so far, the running figure), at most 400.
    notes
        What a reader of these figures must know.
    """

    learner: str
    settings: str
    measure: str
    figures: list[Estimate]
    curve: list[tuple[int, float]]
    notes: list[str]


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
    notes
        What cannot be known, and why.
    """

    log: str
    loop: str
    decisions: int
    answered: int
    logged: Estimate
    outcomes: list[Outcome]
    notes: list[str]


def what_if(recording: Recording, others: Sequence[str]) -> WhatIf:
    """Replay a log through other learners.

    Parameters
    ----------
    recording
        The log.
    others
        Learners as ``"Name"`` or ``"Name:argument=value,…"``; the features and labels are those of the log's model.

    Returns
    -------
    What can be said of each, with intervals; the log's own learner comes first.
    """
    lines = iter(recording.lines())
    first = next(lines, None)
    if first is None or first.model is None:
        raise InvalidRecord(
            f"{recording.name} does not begin with the model's settings", "export the log from its start"
        )
    body = first.model
    judges, about = _judges(body, others)
    decisions, measures = 0, []
    for event in lines:
        if event.type == "decision":
            decisions += 1
            for judge in judges.values():
                judge.decided(event)
        elif event.learnt:
            decision = recording.decision(event.decision or "")
            if decision is None:
                raise InvalidRecord(f"event {event.seq} answers a decision that is not in the log", "export all of it")
            made = decision.made()
            measures.append(_measure(body.loop, made.action, event.told(), event.feedback, decision.reply))
            for judge in judges.values():
                judge.answered(event, made)
    room = "coactive" if body.loop in ("rank", "choose") else body.loop
    return WhatIf(
        log=recording.name,
        loop=body.loop,
        decisions=decisions,
        answered=len(measures),
        logged=_logged(body.loop, [measure for measure in measures if measure is not None]),
        outcomes=[_outcome(spec, judge) for spec, judge in judges.items()],
        notes=[*_NOTES[room], *about],
    )


def other_body(body: ModelBody, spec: str) -> ModelBody:
    """The model's settings with another learner.

    Examples
    --------
    >>> from smidgen.service.messages import ModelBody
    >>> from smidgen.service.insight.whatif import other_body
    >>> model = ModelBody(loop="label", learner="Banditron", params={"dim": 2, "gamma": 0.1}, labels=["a", "b"])
    >>> other_body(model, "Confidit:eta=0.1,covariance=full").params
    {'dim': 2, 'eta': 0.1, 'covariance': 'full'}
    """
    name, _, rest = spec.partition(":")
    kept = ("dim", "n_classes", "space", "loss_bound")
    params: dict[str, Any] = {key: value for key, value in body.params.items() if key in kept}
    for part in re.split(r",(?=\s*\w+\s*=)", rest) if rest.strip() else ():
        key, equals, text = (each.strip() for each in part.partition("="))
        if not equals or not key.isidentifier():
            raise InvalidArgument(f"the learner is {spec!r}", 'write it as "Name:argument=value,argument=value"')
        params[key] = _value(text)
    return msgspec.structs.replace(body, learner=name.strip(), params=params)


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


def _judges(body: ModelBody, others: Sequence[str]) -> tuple[dict[str, Judge], list[str]]:
    """A judge for each learner, where the loop has any, and what is to be said of the log's own learner."""
    blueprints = {spec: Blueprint(other_body(body, spec)) for spec in others}  # refuses what makes no sense
    if body.loop not in JUDGES:
        return {}, []
    judge, notes = JUDGES[body.loop], []
    judges: dict[str, Judge] = {}
    if body.learner == "DuelingBandit":
        notes.append("the log's own learner, a DuelingBandit, learns from duels and is not among those compared")
    else:
        judges["as logged"] = judge(Blueprint(body))
    if body.learner == "Confidit" and body.params.get("normalize", True):
        notes.append("this log's Confidit scales features to unit length, and so the log holds them: others see that")
    return judges | {spec: judge(blueprint) for spec, blueprint in blueprints.items()}, notes


def _outcome(spec: str, judge: Judge) -> Outcome:
    figures = judge.figures()
    return Outcome(
        learner=spec,
        settings=repr(judge.blueprint.learner(None)),
        measure=judge.measure,
        figures=figures,
        curve=_thinned(judge.curve),
        notes=judge.notes,
    )


def _thinned(curve: Sequence[float]) -> list[tuple[int, float]]:
    step = max(1, math.ceil(len(curve) / POINTS))
    counts = list(range(len(curve), 0, -step))[::-1]
    return [(count, curve[count - 1]) for count in counts]


def _measure(loop: str, action: Any, told: Any, feedback: dict[str, Any], reply: dict[str, Any]) -> float | None:
    """The loop's own figure for one answered decision."""
    if loop == "rank":
        return float(list(told) == list(action))
    if loop == "choose":
        return float(feedback.get("better") == reply.get("choice"))
    if loop == "label":
        right = feedback["label"] == reply.get("label") if "label" in feedback else feedback.get("correct")
        return float(bool(right))
    if loop == "filter":
        return float(bool(told)) if action else None
    return float(told) if isinstance(told, (int, float)) else None


def _logged(loop: str, measures: Iterable[float]) -> Estimate:
    names = {"label": "accuracy", "filter": "precision", "tune": "mean loss"}
    values, name = list(measures), names.get(loop, "left unchanged")
    if loop != "tune" or not values:
        return share(name, int(sum(values)), len(values))
    value, low, high = normal(values)
    return Estimate(measure=name, value=value, low=low, high=high, of=len(values))


def _value(text: str) -> Any:
    """A number, a list, true, false or null as JSON says it; anything else is a word."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"True": True, "False": False, "None": None}.get(text, text)
