"""What if another learner had stood here? A log, replayed through other learners and settings.

A log knows what its users did with what they were shown, and nothing of what they would have done with something else.
How far it can answer depends on the loop: see the evaluators in `smidgen.service.loops`, and what `WhatIf.notes` says.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from smidgen.decision import Decision
from smidgen.errors import InvalidArgument, InvalidRecord
from smidgen.features import Encoded
from smidgen.learners import Learner
from smidgen.learners.records.around import on_rows
from smidgen.learners.records.front import on_columns
from smidgen.service.insight.estimates import Estimate, share
from smidgen.service.insight.intervals import normal
from smidgen.service.loops.evaluator import Evaluator
from smidgen.service.loops.loop import Loop
from smidgen.service.loops.registry import loops
from smidgen.service.messages import ModelBody
from smidgen.service.models.building import Blueprint
from smidgen.service.models.group import Group
from smidgen.service.models.keyed_rows import Lesson
from smidgen.service.models.registry import recorded
from smidgen.service.store.recording import Line, Recording

POINTS = 400  # of a curve
_ALONE = "newcomers among the keys began with what the others shared; here every key begins with nothing"


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
    own = recorded(body, first.resolved)
    evaluators, about = _evaluators(own.bare(), others)
    rows = _RowsOfRecords(own) if own.features is not None else None
    decisions, measures = 0, []
    for event in lines:
        if event.type == "decision":
            decisions += 1
            if rows is not None:
                event.__dict__["its decision"] = rows.of(event)
            for evaluator in evaluators.values():
                evaluator.decided(event)
        elif event.learnt:
            decision = recording.decision(event.decision or "")
            if decision is None:
                raise InvalidRecord(f"event {event.seq} answers a decision that is not in the log", "export all of it")
            made = decision.made()
            measures.append(own.loop.logged(made, event.told(), event.feedback, decision.reply))
            shown = made if rows is None else rows.of(decision)
            for evaluator in evaluators.values():
                evaluator.answered(event, shown)
            if rows is not None:
                rows.learn(event, decision)
    return WhatIf(
        log=recording.name,
        loop=body.loop,
        decisions=decisions,
        answered=len(measures),
        logged=_logged(own.loop, [measure for measure in measures if measure is not None]),
        outcomes=[_outcome(spec, evaluator) for spec, evaluator in evaluators.items()],
        notes=[*own.loop.caveats, *about, *([_ALONE] if own.shared.start else [])],
    )


class _RowsOfRecords:
    """The records of a log as the rows that its own vectorizers made of them: others read the same.

    The log's own learners are learnt again beside the others, so that names get the columns that they had.
    """

    def __init__(self, own: Blueprint) -> None:
        self._own = own
        self._learners: dict[str | None, Learner] = {}
        self._shared = Group(own) if own.shared.names else None

    def of(self, event: Line) -> Decision:
        """A decision on rows."""
        made, learner = event.made(), self._learner(event.key)
        if self._shared is None or self._shared.table is None or not isinstance(made.context, Encoded):
            return on_rows(learner, made)
        return on_columns(learner, made, self._shared.table.planned(made.context)[1])

    def learn(self, event: Line, decision: Line) -> None:
        """Learn what the log's own learner has learnt; of names that keys share, where they went."""
        made, told = decision.made(), event.told()
        if self._shared is None:
            self._learner(event.key).learn(made, told)
        else:
            names = (decision.shared or {}).get("names", [])
            self._shared.take(Lesson(event.type, made, told, event.places, names))

    def _learner(self, key: str | None) -> Learner:
        if key not in self._learners:
            self._learners[key] = self._own.learner(key)
        return self._learners[key]


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
    facts = loops.find(body.loop).facts
    params: dict[str, Any] = {key: value for key, value in body.params.items() if key in facts}
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


def _evaluators(own: Blueprint, others: Sequence[str]) -> tuple[dict[str, Evaluator], list[str]]:
    """An evaluator for each learner, where the loop has any, and what is to be said of the log's own learner."""
    blueprints = {spec: Blueprint(other_body(own.body, spec)) for spec in others}  # refuses what makes no sense
    for blueprint in blueprints.values():
        blueprint.guarded = own.guarded
    if (evaluator := own.loop.evaluator) is None:
        return {}, []
    found: dict[str, Evaluator] = {}
    notes = evaluator.about(own)
    if (why := evaluator.why_not(own.card, own.kind)) is None:
        found["as logged"] = evaluator(own)
    else:
        notes.append(f"the log's own learner is not among those compared: {why}")
    return found | {spec: evaluator(blueprint) for spec, blueprint in blueprints.items()}, notes


def _outcome(spec: str, evaluator: Evaluator) -> Outcome:
    figures = evaluator.figures()
    return Outcome(
        learner=spec,
        settings=repr(evaluator.blueprint.learner(None)),
        measure=evaluator.measure,
        figures=figures,
        curve=_thinned(evaluator.curve),
        notes=evaluator.notes,
    )


def _thinned(curve: Sequence[float]) -> list[tuple[int, float]]:
    step = max(1, math.ceil(len(curve) / POINTS))
    counts = list(range(len(curve), 0, -step))[::-1]
    return [(count, curve[count - 1]) for count in counts]


def _logged(loop: Loop, values: list[float]) -> Estimate:
    if loop.share or not values:
        return share(loop.measure, int(sum(values)), len(values))
    value, low, high = normal(values)
    return Estimate(measure=loop.measure, value=value, low=low, high=high, of=len(values))


def _value(text: str) -> Any:
    """A number, a list, true, false or null as JSON says it; anything else is a word."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"True": True, "False": False, "None": None}.get(text, text)
