"""Replay one log through other learners.

Replay a log through other learners and settings, and compare the results.

A log knows what its users did with what they were shown, and nothing of what they would have done with something else.
How far it can answer depends on the loop: see the evaluators in `smidgen.service.loops`, and what `WhatIf.notes` says.
"""

from __future__ import annotations

import gc
import math
import os
import re
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import msgspec
import numpy as np
from msgspec import structs

from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument, InvalidRecord
from smidgen.features import Encoded
from smidgen.features.state import Carried
from smidgen.learners import Learner
from smidgen.learners.pipeline import rows_of
from smidgen.learners.record_adapter import as_context
from smidgen.serialization import UNREADABLE
from smidgen.service.engine.blueprint import Blueprint, new_labels_of
from smidgen.service.engine.log_sources import LogSource
from smidgen.service.engine.registry import recorded_blueprint
from smidgen.service.engine.replay import (
    STEPS,
    KeptNames,
    LearningEvent,
    UndoneVersions,
    apply_event,
    keep_names,
    start_learner,
)
from smidgen.service.engine.shared_state import SharedKeyState
from smidgen.service.log.codec import EventLine, as_bytes
from smidgen.service.log.events import ANSWERED, ERASED, REWINDS
from smidgen.service.loops.estimates import FEW, Estimate, OverlapDiagnostics, Point, bounded_mean, mean_of
from smidgen.service.loops.evaluate_budgets import BudgetEvaluator, parse_budget
from smidgen.service.loops.evaluate_clicks import ClickedPages
from smidgen.service.loops.evaluator import Evaluator, SharedLogStats, Steps, TrainingSignal
from smidgen.service.loops.registry import loops
from smidgen.service.loops.slots import slot_events
from smidgen.service.schemas import ModelBody
from smidgen.service.storage import formats

__all__ = ["ExaminedPlaces", "Outcome", "WhatIf", "parse_learner_spec", "plot", "what_if"]

# The records of a log whose learners have vectorizers of their own, as rows: other learners read the same.


class RowsOfRecords:
    """The records of a log as the rows that its own vectorizers made of them: others read the same.

    The log's own learners are learnt again next to the others, so that names get the columns that they had.
    """

    def __init__(self, own: Blueprint) -> None:
        self._own = own
        self._learners: dict[str | None, Learner] = {}
        self._amendments: list[EventLine] = []

    def of(self, key: str | None, made: Decision) -> Decision:
        """A decision on rows as the vectorizer makes them: each learner scales them as it does its own."""
        return structs.replace(made, context=self.context(key, made.context))

    def context(self, key: str | None, context: Any) -> Any:
        """The context of an example on rows."""
        return rows_of(self._learner(key), context)

    def keep_names(self, event: EventLine, made: Decision | None, names: Carried) -> None:
        """Let names that a retracted event introduced keep their columns."""
        learnt = None if made is None else event.as_learnt(made)
        keep_names(self._learner(event.key), LearningEvent(event.type, learnt, event.learner_input()))

    def apply(self, event: EventLine, made: Decision | None, names: Carried = ()) -> None:
        """Learn what the log's own learner has learnt."""
        wide = event.type == "amended"
        if wide:
            self._amendments.append(event)
        for key in list(self._learners) if wide else [event.key]:
            learner = self._learner(key)
            decision = None if made is None else learner.adopt(event.as_learnt(made))
            self._learners[key] = apply_event(learner, event.type, event.seq, decision, event.learner_input(), key)

    def _learner(self, key: str | None) -> Learner:
        if key not in self._learners:
            made = self._own.learner(key)
            for event in self._amendments:
                made = apply_event(made, event.type, event.seq, None, event.learner_input(), key)
            self._learners[key] = made
        return self._learners[key]


# The records of a log whose keys share names, as the rows that were made of them: other learners read the same.

#: Notes about learners that are compared on such a log.
ALONE = "newcomers among the keys began with what the others shared; of other learners every key begins with nothing"


class SharedRows:
    """Follows the table of names along a log.

    Parameters
    ----------
    own
        The log's own settings.
    """

    def __init__(self, own: Blueprint) -> None:
        self._own = own
        self._group = SharedKeyState(own)

    def of(self, key: str | None, made: Decision) -> Decision:
        """A decision on rows, with new names in the columns that they would get now; each learner scales them."""
        return structs.replace(made, context=self.context(key, made.context))

    def context(self, key: str | None, context: Any) -> Any:
        """The context of an example on rows."""
        table = self._group.table
        if table is None or not isinstance(context, Encoded):
            return context
        return as_context(context, table.planned(context)[1])

    def keep_names(self, event: EventLine, made: Decision | None, names: Carried) -> None:
        """Let names that a retracted event introduced keep their columns."""
        if event.type == ERASED:
            self._group.reserve(event.places)
        elif event.group is not None:
            self._group.keep_all_names(as_bytes(event.group), f"event {event.seq}")
        else:
            self._group.keep_names(self._change(event, made, names))

    def apply(self, event: EventLine, made: Decision | None, names: Carried = ()) -> None:
        """Learn the names that the log's own learners have learnt."""
        if event.type == "amended":
            self._group.amend(event.learner_input())
        elif event.type == ERASED:
            self._group.reserve(event.places)
        elif event.group is not None:
            self._group = SharedKeyState.from_bytes(as_bytes(event.group), self._own, f"event {event.seq}")
        else:
            self._group.apply(self._change(event, made, names))

    def _change(self, event: EventLine, made: Decision | None, names: Carried) -> LearningEvent:
        learnt = None if made is None else event.as_learnt(made)
        return LearningEvent(event.type, learnt, event.learner_input(), event.places, [*names, *event.names])


# Other learners as people write them: a name, and settings behind a colon.

#: What belongs to the log's own learner, or to its place next to another.
_ALONE: dict[str, Any] = dict.fromkeys(("explore", "min_share", "shadow_of", "challenger_of"))


def parse_learner_spec(body: ModelBody, spec: str) -> ModelBody:
    """The model's settings with another learner, which explores as its own settings say.

    Examples
    --------
    >>> from smidgen.service.schemas import ModelBody
    >>> from smidgen.service.ope.whatif import parse_learner_spec
    >>> model = ModelBody(loop="label", learner="Banditron", params={"dim": 2, "gamma": 0.1}, labels=["a", "b"])
    >>> parse_learner_spec(model, "Confidit:eta=0.1,covariance=full").params
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
    return msgspec.structs.replace(body, learner=name.strip(), params=params, **_ALONE)


def _value(text: str) -> Any:
    """A number, a list, true, false or null as JSON says it; anything else is a word."""
    try:
        return msgspec.json.decode(text)
    except UNREADABLE:
        return {"True": True, "False": False, "None": None}.get(text, text)


# All learners advance together along one log: each event is read once, and passed to each of them.

#: The log's own learner.
OWN = "as logged"
#: Number of the latest decisions that are cached.
RECENT = 4096
#: Maximum number of events passed together.
TOGETHER = 512


@dataclass(frozen=True)
class KeyShard:
    """Sample of a log's keys: those that hash to one part of several."""

    part: int = 0
    of: int = 1

    def __contains__(self, key: str | None) -> bool:
        return self.of == 1 or crc32((key or "").encode()) % self.of == self.part


class ReplayRun:
    """The learners that are compared, and their state after the events so far.

    Parameters
    ----------
    own
        The log's own settings.
    others
        Other learners, as people write them.
    recording
        The log, for decisions long ago, and for what was taken back.
    own_too
        Whether the log's own learner is among those compared.
    looked
        Whose decisions are looked at.

    Attributes
    ----------
    own
        The log's own settings.
    evaluators
        By what was asked for; the log's own first.
    companion
        What they share.
    decisions, answered
        How many there were.
    measures
        The loop's own figure of each answered decision.
    tape
        Receiver of the figures if another process counts them; None keeps them here.
    back, elsewhere
        How many answers were taken back, and how often the log's learner was replaced.
    """

    def __init__(
        self,
        own: Blueprint,
        others: Sequence[str],
        recording: LogSource,
        *,
        own_too: bool = True,
        looked: KeyShard | None = None,
    ) -> None:
        self.own = own
        self._recording = recording
        self._looked = KeyShard() if looked is None else looked
        self._whole = self._looked.of == 1
        self._undone: dict[int | None, tuple[UndoneVersions, KeptNames]] = {}
        self.tape: Callable[[str, tuple[Any, ...]], None] | None = None
        self._recent: OrderedDict[str, EventLine] = OrderedDict()
        self.evaluators, self._about = _evaluators(own, others)
        if not own_too:
            self.evaluators.pop(OWN, None)
        evaluator = own.loop.evaluator
        self.companion = SharedLogStats() if evaluator is None else evaluator.make_shared_stats(own)
        for each in self.evaluators.values():
            each.shared_stats, each.moves = self.companion, own.features is not None
        self._tables: dict[int | None, RowsOfRecords | SharedRows] = {}
        self.decisions = self.answered = self.back = self.elsewhere = self._labels = 0
        self.measures = array("d")
        self._steps = Steps()
        self._priced = any(isinstance(each, BudgetEvaluator) for each in self.evaluators.values())
        self._patient = evaluator is not None and evaluator.patient and own.features is None

    def apply(self, event: EventLine) -> None:
        """Apply the next event; evaluators may receive it later, in a batch (`settle`)."""
        type = event.type
        if type == "decision":
            self._on_decision(event)
            return
        is_answer = type in ANSWERED
        if (costs := event.feedback.get("costs")) and type in (*ANSWERED, "reported"):
            self._on_costs(event, costs)
        if not is_answer:
            self.flush()
        if type == "amended":
            self._on_amendment(event)
        elif event.model_version is None:
            return
        elif event.model_version in self._undone_in(event.shard)[0]:
            self.back += is_answer
            self._keep_names(event)
        elif is_answer:
            self._on_feedback(event)
        elif type == "taught":
            self._on_examples(event)
        elif type in ("imported", "promoted") or (type == ERASED and event.places is not None):
            self.elsewhere += type != ERASED
            if type in STEPS and (rows := self._rows(event.shard)) is not None:
                rows.apply(event, None)

    def _on_costs(self, event: EventLine, costs: Any) -> None:
        """Pass on what a decision has cost, to those that keep to a budget."""
        if event.key not in self._looked or not self._priced:
            return
        self.flush()
        line, made = self._made(event)
        if line is None or made is None or line.type != "decision":
            return
        rows = self._rows(event.shard)
        for evaluator in self.evaluators.values():
            evaluator.on_costs(event, made if rows is None else rows.of(event.key, made), costs)

    def _undone_in(self, shard: int | None) -> tuple[UndoneVersions, KeptNames]:
        """Retracted and remaining events of a shard."""
        if shard not in self._undone:
            undone = self._recording.undone_versions(shard)
            self._undone[shard] = undone, KeptNames(undone)
        return self._undone[shard]

    def _keep_names(self, event: EventLine) -> None:
        """Let names that a retracted event introduced keep their columns."""
        kept, rows = self._undone_in(event.shard)[1], self._rows(event.shard)
        if kept.has(event.type, event.model_version or 0) and rows is not None:
            line, made = self._made(event)
            rows.keep_names(event, made, _names(event, line))

    def _made(self, event: EventLine) -> tuple[EventLine | None, Decision | None]:
        """The decision that an event is about, if any."""
        if event.decision is None or event.type in REWINDS:
            return None, None
        line = self._recent.get(event.decision) or self._recording.decision(event.decision)
        return line, None if line is None else line.__dict__.get("as it was made") or line.record_bytes()

    def _rows(self, shard: int | None) -> RowsOfRecords | SharedRows | None:
        """The rows of a shard's records, if the log has records."""
        if self.own.features is None:
            return None
        if shard not in self._tables:
            self._tables[shard] = SharedRows(self.own) if self.own.shared.names else RowsOfRecords(self.own)
        return self._tables[shard]

    def flush(self) -> None:
        """Pass all pending events to the evaluators."""
        if not self._steps:
            return
        steps, self._steps = self._steps, Steps()
        self.companion.follow(steps)
        for evaluator in self.evaluators.values():
            evaluator.follow(steps)

    def _forward(self, event: EventLine, made: Decision | None) -> None:
        """Pass a decision, or an answer to one, to the evaluators; at once if another process counts."""
        self._steps.extend(_parts(event, made))
        if not self._patient or self.tape is not None or len(self._steps) >= TOGETHER:
            self.flush()

    def notes(self) -> list[str]:
        """Notes about the log."""
        found = [*self._about, *([ALONE] if self.own.shared.start else [])]
        if self.back:
            found.append(f"{self.back} answers were taken back later (retracted, or rolled back) and are left out")
        if self.elsewhere:
            found.append(
                "the log's learner was once replaced by one from elsewhere; others know nothing of what it knew"
            )
        return found

    @property
    def _needs_all_keys(self) -> bool:
        """True if decisions of other keys must be read too, for the shared state."""
        return self.companion.listens or (self.own.features is not None and self.own.shared.names)

    def _on_decision(self, event: EventLine) -> None:
        if event.beside is not None:  # never shown
            return
        self.decisions += 1
        looked = self._whole or event.key in self._looked
        if not looked:
            for evaluator in self.evaluators.values():
                evaluator.on_other_key(event.decision or "", answered=False)
            if not self._needs_all_keys:
                return
        made = event.record_bytes()
        event.__dict__["its decision"] = made
        event.__dict__["as it was made"] = made
        if (rows := self._rows(event.shard)) is not None:
            event.__dict__["its decision"] = rows.of(event.key, made)
        self._recent[event.decision or ""] = event
        if len(self._recent) > RECENT:
            self._recent.popitem(last=False)
        if not looked:
            self.flush()
            for part, _ in _parts(event, None):
                self.companion.on_decision(part)
            return
        if event.shared is not None and (start := event.shared.get("start")) is not None and OWN in self.evaluators:
            self.flush()
            start_learner(self.evaluators[OWN].learner(event.key), as_bytes(start))
        self._forward(event, None)

    def _on_feedback(self, event: EventLine) -> None:
        looked = self._whole or event.key in self._looked
        if not looked:
            for evaluator in self.evaluators.values():
                evaluator.on_other_key(event.decision or "", answered=True)
            if not self._needs_all_keys:
                self.answered += 1
                return
        decision = self._recent.pop(event.decision or "", None)
        if decision is None:
            decision = self._recording.decision(event.decision or "")
        if decision is None:
            raise InvalidRecord(
                f"event {event.seq} is feedback for a decision that is not in the log", "export the whole log"
            )
        made: Decision = decision.__dict__.get("as it was made") or decision.record_bytes()
        said = event.learner_input()
        if isinstance(said, TrainingSignal) and said.answer is None:  # it taught nobody, and has no figure
            self.answered += 1
            return
        feedback = event.__dict__["its feedback"] = _plain(said)
        self.answered += 1
        measure = self._measure(event, made, feedback, decision) if looked else None
        if measure is not None and self.tape is not None:
            self.tape("measure", (measure,))
        elif measure is not None:
            self.measures.append(measure)
        rows = self._rows(event.shard)
        shown = made if rows is None else rows.of(event.key, made)
        if looked:
            self._forward(event, shown)
        else:
            self.flush()
            for part, single in _parts(event, shown):
                self.companion.on_feedback(part, single or shown)
        if rows is not None:
            event.__dict__["its feedback"] = said
            rows.apply(event, made, _names(event, decision))

    def _measure(self, event: EventLine, made: Decision, feedback: Any, decision: EventLine) -> float | None:
        if event.type == "expired":
            return float(event.feedback.get("default_reward", feedback))
        return self.own.loop.measure_of(made, feedback, event.feedback, decision.reply)

    def _on_examples(self, event: EventLine) -> None:
        examples, (line, made) = event.learner_input(), self._made(event)
        rows = self._rows(event.shard)
        shown = made if made is None or rows is None else rows.of(event.key, made)
        for evaluator in self.evaluators.values() if event.key in self._looked else ():
            if isinstance(examples, TrainingSignal):
                evaluator.on_signal(event.key, examples, shown)
            else:
                read = [each if rows is None else rows.context(event.key, each) for each, _ in examples]
                evaluator.on_examples(event.key, list(zip(read, (answer for _, answer in examples), strict=True)))
        if rows is not None:
            rows.apply(event, made, _names(event, line))

    def _on_amendment(self, event: EventLine) -> None:
        amendment = event.learner_input()
        if isinstance(amendment, dict) and amendment.get("labels") is not None:
            names = event.amended.get("add_labels", [])
            numbers = list(new_labels_of(amendment))
            if numbers and numbers[0] >= self._labels:  # each shard tells of them
                self._labels = numbers[-1] + 1
                for evaluator in self.evaluators.values():
                    evaluator.on_new_labels(numbers, names[-len(numbers) :])
        if (rows := self._rows(event.shard)) is not None:
            rows.apply(event, None)


def _parts(event: EventLine, made: Decision | None) -> Iterable[tuple[EventLine, Decision | None]]:
    """An event as evaluators take it: those of decisions with several slots slot by slot."""
    decision = event.record_bytes() if made is None else made
    return [(event, made)] if decision.slots is None else slot_events(event, made)


def _names(event: EventLine, made: EventLine | None) -> Carried:
    """Names of features that an event, or the decision it belongs to, repeats."""
    return event.names if made is None else (made.shared or {}).get("names", ())


def _plain(feedback: Any) -> Any:
    """Input of a learner; for a lesson from another model's decision, the outcome of that."""
    if not isinstance(feedback, TrainingSignal):
        return feedback
    if isinstance(feedback.answer, dict):
        return {slot: each[1] for slot, each in feedback.answer.items()}
    return (
        feedback.answer[1]
        if isinstance(feedback.answer, tuple | list) and len(feedback.answer) == 2
        else feedback.answer
    )


def _evaluators(own: Blueprint, others: Sequence[str]) -> tuple[dict[str, Evaluator], list[str]]:
    """An evaluator for each learner, where the loop has any, and notes about the log's own learner."""
    bare = own.row_learner()
    budgets = {spec: budget for spec in others if (budget := parse_budget(spec)) is not None}
    blueprints = {
        spec: Blueprint(parse_learner_spec(bare.body, spec)) for spec in others if spec not in budgets
    }  # refuses what makes no sense
    for blueprint in blueprints.values():
        blueprint.guarded = bare.guarded
    priced = {spec: BudgetEvaluator(bare, budget) for spec, budget in budgets.items()}
    if (evaluator := bare.loop.evaluator) is None:
        return {}, []
    found: dict[str, Evaluator] = {}
    notes = evaluator.about(own)
    if (why := evaluator.why_not(bare.card, bare.kind)) is None:
        found[OWN] = evaluator(bare)
    else:
        notes.append(f"the log's own learner is not among those compared: {why}")
    if own.body.budget is not None:
        notes.append("learners are compared without the budget of the model; give one with --budget")
    compared = {spec: evaluator(blueprint) for spec, blueprint in blueprints.items()}
    return found | {spec: (compared | priced)[spec] for spec in others}, notes


POINTS = 400  # of a curve


class Outcome(msgspec.Struct, kw_only=True):
    """Results of one learner.

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
    overlap: OverlapDiagnostics | None = None
    verdict: str = ""
    notes: list[str]


class ExaminedPlaces(msgspec.Struct, kw_only=True):
    """Examination probability of each position of a ranking, the first position first.

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
    recording: LogSource,
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
        ``"budget usd=0.002"`` is the log's own learner under this budget.
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
    bench, lines = start_replay(recording, others, examined, own_too=own_too)
    for seq in run_replay(bench, lines):
        if progress is not None:
            progress(seq)
    return results_of(bench, recording.name)


def start_replay(
    recording: LogSource,
    others: Sequence[str],
    examined: FloatArray | None = None,
    *,
    own_too: bool = True,
    looked: KeyShard | None = None,
) -> tuple[ReplayRun, Iterator[EventLine]]:
    """The learners at the beginning of a log, and the events that follow its settings."""
    lines = iter(recording.lines())
    first = next(lines, None)
    if first is None or first.model is None:
        raise InvalidRecord(
            f"the first event of {recording.name} does not hold the model's settings", "export the log from its start"
        )
    formats.check(first.format, recording.name)
    own = recorded_blueprint(first.model, first.resolved)
    bench = ReplayRun(own, others, recording, own_too=own_too, looked=looked)
    if isinstance(bench.companion, ClickedPages):
        bench.companion.given = examined
    elif examined is not None:
        raise InvalidArgument(
            "examined is given and the log holds no rankings",
            "remove examined: it corrects for position bias in rankings",
        )
    return bench, lines


def run_replay(bench: ReplayRun, lines: Iterable[EventLine]) -> Iterator[int]:
    """Follow a log to its end; now and then the number of the event is given."""
    over = set[int | None]()
    gc.freeze()  # many short-lived objects come now: the collector need not look at all that stays, again and again
    try:
        for count, event in enumerate(lines):
            if event.shard in over:
                continue
            bench.apply(event)
            if event.type == "promoted":  # what follows was decided by the learner of another model
                over.add(event.shard)
                if event.shard is None:
                    break
            if count % 500 == 0:
                yield event.seq
        bench.flush()
    finally:
        gc.unfreeze()


def results_of(bench: ReplayRun, name: str) -> WhatIf:
    """Results of the learners of a bench for the log of this name."""
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
    from smidgen.history.plots import COLOURS, figure_type

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
        curve=_thin_out(evaluator.curve),
        band=evaluator.band(),
        overlap=evaluator.overlap(),
        verdict="" if spec == OWN else _verdict(figures, logged),
        notes=evaluator.remarks(),
    )


#: The verdict rests on the first of these figures that there is; the direct method has no interval.
_JUDGES = ("doubly robust", "self-normalised")
_WEIGHTED = ("IPS", *_JUDGES[::-1])


def _verdict(figures: list[Estimate], logged: Estimate) -> str:
    """Say better, worse, or not known, by the intervals of the weighted figure and of what happened.

    Where estimators disagree about the direction, neither is called likely.
    """
    known = {how: each for each in figures for how in (*_WEIGHTED, "direct") if each.measure.endswith(f"({how})")}
    mine = next((known[how] for how in _JUDGES if how in known), None)
    if mine is None or not mine.measure.startswith(logged.measure) or logged.low is None or logged.high is None:
        return ""
    if mine.value is None or mine.low is None or mine.high is None:
        return "the log holds too few relevant decisions for an estimate"
    if mine.low > logged.high:
        return "better than what was shown, and that is certain"
    if mine.high < logged.low:
        return "worse than what was shown, and that is certain"
    above = {each.value > (logged.value or 0.0) for each in known.values() if each.value is not None}
    if len(above) > 1:
        return "not certain yet: the intervals overlap, and the estimators disagree"
    likely = "likely better" if above == {True} else "likely no better"
    return f"not certain yet ({likely}): the intervals overlap"


def _thin_out(curve: Sequence[float]) -> list[tuple[int, float]]:
    step = max(1, math.ceil(len(curve) / POINTS))
    counts = list(range(len(curve), 0, -step))[::-1]
    return [(count, curve[count - 1]) for count in counts]


def _logged(own: Blueprint, values: array[float]) -> Estimate:
    loop = own.loop
    low, high = (0.0, 1.0) if loop.share else own.terms.reward_range
    if len(values) < FEW or min(values) < low or max(values) > high:  # no rewards, but losses, say
        value, below, above = mean_of(list(values), None)
        return Estimate(measure=loop.measure, value=value, low=below, high=above, of=len(values))
    return bounded_mean(loop.measure, np.array(values), low, high)
