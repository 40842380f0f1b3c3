"""Check that a log is complete: nothing missing, nothing twice, and a replay gives the exact bits of the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from smidgen import serialization
from smidgen.errors import InvalidRecord, SmidgenError
from smidgen.learners import Learner
from smidgen.learners.saving import decode_learner
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import TYPES, LogSource, StoreSource
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.rebuild import Rebuilder
from smidgen.service.engine.recovery import current_states, state_problem
from smidgen.service.log.codec import EventLine
from smidgen.service.log.events import ANSWERS, DECIDED, HELD_OUT, Chain
from smidgen.service.storage.records import State


@dataclass
class Audit:
    """Findings.

    Attributes
    ----------
    name
        The model or the file.
    problems
        What is wrong, in words; nothing if all is well.
    events, decisions, learnt, late
        How many there are; what was taken back is not learnt.
    late_open
        How many of the late answers were the first word on their decisions.
    under, late_under
        Number of decisions, and of late answers, that the retention checkpoint has folded and that are not listed here.
    version
        The model's version.
    passed_over
        How many events are of types that this smidgen does not know; they are no fault.
    keys
        How many keys have decided; None for a model without keys.
    compared
        What the replayed learner was held against, bit for bit.
    """

    name: str
    problems: list[str] = field(default_factory=list)
    events: int = 0
    decisions: int = 0
    learnt: int = 0
    late: int = 0
    late_open: int = 0
    under: int = 0
    late_under: int = 0
    version: int = 0
    passed_over: int = 0
    keys: int | None = None
    compared: list[str] = field(default_factory=list)


def audit_file(recording: LogSource) -> Audit:
    """Check an exported log by itself."""
    shards: dict[int | None, _Auditor] = {}
    shard = None
    try:
        for event in recording.lines():
            if (shard := event.shard) not in shards:
                shards[shard] = _Auditor(recording, shard=shard)
            shards[shard].check(event)
    except InvalidRecord as error:
        shards.setdefault(shard, _Auditor(recording, shard=shard)).stop(error.problem)
    shards = shards or {None: _Auditor(recording)}
    return combine_audits(recording.name, {shard: each.end() for shard, each in shards.items()})


def combine_audits(name: str, shards: Mapping[int | None, Audit]) -> Audit:
    """Findings in the shards of a model."""
    if (only := shards.get(None)) is not None:
        return only
    found = Audit(name, keys=0)
    for shard, each in shards.items():
        found.problems += [f"shard {shard}: {problem}" for problem in each.problems]
        found.compared += [f"{what} of shard {shard}" for what in each.compared]
        for count in ("events", "decisions", "learnt", "late", "version", "passed_over"):
            setattr(found, count, getattr(found, count) + getattr(each, count))
        found.keys = (found.keys or 0) + (each.keys or 0)
    return found


def audit_model(seen: Inspection, model: ServedModel, passed: Callable[[int], None] = lambda count: None) -> Audit:
    """Check the log of a shard, its table of decisions, and its saved states.

    A state of another arithmetic is not compared: it is not used.

    Parameters
    ----------
    seen
        The data folder.
    model
        The model.
    passed
        Called from time to time with the number of events done.
    """
    reading = seen.reading
    snapshots = {state.seq: state for state in current_states(reading, model.shard) if state.own}
    states = {
        key: state
        for key in reading.state_keys(model.shard)
        for state in reading.states(model.shard, key)
        if not state.is_outdated
    }
    recording = StoreSource(seen, model)
    found = _Auditor(recording, snapshots, states, passed).run()
    base = seen.reading.checkpoint(model.shard)
    chain = Chain(base.seq, base.chain) if base is not None else Chain()
    if (problem := chain.check_all(recording.events())) is not None:
        found.problems.append(problem)
    _compare_tables(seen, model, found)
    return found


class _Auditor:
    def __init__(
        self,
        recording: LogSource,
        snapshots: dict[int, State] | None = None,
        states: dict[str, State] | None = None,
        passed: Callable[[int], None] = lambda count: None,
        shard: int | None = None,
    ) -> None:
        self._passed = passed
        self._recording = recording
        self._snapshots = snapshots or {}
        self._states = states or {}
        self._rebuilding = Rebuilder(recording, shard)
        self._replays = True
        self._waiting: set[str] = set()
        self._held_out: set[str] = set()
        self._reported: set[str] = set()  # open decisions with reports
        self._answered: dict[str, str] = {}
        self._before: set[str] = set()  # decisions that were answered under the base
        self._base = 0
        self._beginning = False  # whether states of the base may still come
        self._found = Audit(recording.name)

    def run(self) -> Audit:
        """Go through the log once."""
        try:
            for event in self._recording.lines():
                self.check(event)
        except InvalidRecord as error:
            self.stop(error.problem)
        return self.end()

    def stop(self, problem: str) -> None:
        """The log cannot be read further."""
        self._problem(problem)
        self._replays = False

    def check(self, event: EventLine) -> None:
        """Check the next event."""
        self._check_event(event)
        if self._found.events % 1000 == 0:
            self._passed(self._found.events)

    def end(self) -> Audit:
        """Findings."""
        found = self._found
        self._compare_checkpoint()
        if not found.events:
            self._problem("there are no events")
        blueprint = self._rebuilding.blueprint
        if blueprint is not None and blueprint.body.keyed:
            found.keys = len(self._rebuilding.numbers)
        return found

    def _check_event(self, event: EventLine) -> None:
        found = self._found
        if event.type in ("base", "base_state"):
            self._check_checkpoint(event)
            return
        if event.type in DECIDED and event.seq <= self._base:
            self._check_carried(event)
            return
        found.events += 1
        if event.seq != found.events:
            self._problem(f"event {found.events} has the number {event.seq}")
            found.events = event.seq
        if (event.type == "created") != (event.seq == 1):
            self._problem(f"event {event.seq} is {event.type!r}; the first, and only that, creates the model")
        if event.type == "decision":
            self._check_decision(event)
            if event.number <= self._rebuilding.numbers.get(event.key, 0):
                self._problem(f"event {event.seq} has the learner's number {event.number}, which does not rise")
        elif event.type == HELD_OUT:
            self._check_decision(event)
        elif event.type in ANSWERS:
            self._check_feedback(event)
        elif event.type == "reported":
            self._check_report(event)
        elif event.type == "withdrawn":
            self._check_withdrawal(event)
        elif event.type == "taught" and event.decision is not None:
            self._check_follower_update(event)
        elif event.type == "retracted":
            self._check_retraction(event)
        elif event.type not in TYPES:
            found.passed_over += 1
        if event.changes:
            if event.model_version != found.version + 1:
                self._problem(f"event {event.seq} made version {event.model_version} after version {found.version}")
            found.version = event.model_version or 0
        self._replay(event)

    def _check_checkpoint(self, event: EventLine) -> None:
        """First event of the log."""
        found = self._found
        if event.type == "base":
            if found.events:
                self._problem(f"the base at event {event.seq} is not the beginning")
            self._base, self._beginning = event.seq, True
            found.events = event.seq
            found.version, found.under, found.late_under = event.version, event.decisions, event.late
        self._replay(event)

    def _check_carried(self, event: EventLine) -> None:
        """A decision under the base, which is kept."""
        self._check_decision(event)
        self._found.under -= 1
        if event.status is not None and event.decision is not None:
            self._answered[event.decision] = "expired" if event.status in ("expired", "refused") else "feedback"
            self._before.add(event.decision)
            self._waiting.discard(event.decision)

    def _check_decision(self, event: EventLine) -> None:
        self._found.decisions += 1
        id = event.decision or ""
        if id in self._waiting or id in self._answered:
            self._problem(f"event {event.seq}: the decision {id} was made before")
        self._waiting.add(id)
        try:
            if event.type == HELD_OUT:
                self._held_out.add(id)
            if (number := event.record_bytes().number) != event.number:
                self._problem(f"event {event.seq} has the number {event.number} and its record {number}")
        except SmidgenError as error:
            self._problem(f"event {event.seq} holds a record that cannot be read: {error.problem}")

    def _check_feedback(self, event: EventLine) -> None:
        """Feedback, or expiry; feedback after that is late and changes nothing."""
        found, id = self._found, event.decision or ""
        closed = self._answered.get(id) in ("expired", "settled") or id in self._before
        after_silence = event.type == "feedback" and event.status == "late" and closed
        if id in self._answered and not after_silence:
            self._problem(f"event {event.seq} answers the decision {id} for the second time")
        elif id not in self._waiting and not after_silence:
            self._problem(f"event {event.seq} answers the decision {id}, which was not made before")
        self._waiting.discard(id)
        if event.type == "settled" and id not in self._reported and not self._base:
            self._problem(f"event {event.seq} settles the decision {id}, which has no reports")
        self._reported.discard(id)
        if event.type == "settled":
            if (event.status == "recorded") > (id in self._held_out):
                self._problem(f"event {event.seq} (settled) is recorded, and no holdout made the decision {id}")
        elif (event.type == "recorded" or event.changes) and (event.type == "recorded") is not (id in self._held_out):
            self._problem(f"event {event.seq} ({event.type}) answers the decision {id}: only a holdout's is recorded")
        if event.status == "late":
            found.late += 1
            found.late_open += not after_silence
            if event.changes:
                self._problem(f"event {event.seq} is late and yet has the version {event.model_version}")
        elif event.status == "learnt":
            found.learnt += 1
            if not event.changes:
                self._problem(f"event {event.seq} was learnt and yet has no version")
        elif event.status in ("refused", "recorded") and event.type != "feedback":
            if event.changes:
                self._problem(f"event {event.seq} was refused and yet has the version {event.model_version}")
        else:
            self._problem(f"event {event.seq} has the status {event.status!r}")
        self._answered[id] = "late answer" if after_silence else event.type

    def _check_report(self, event: EventLine) -> None:
        """A report that does not close its decision."""
        id = event.decision or ""
        if id not in self._waiting and id not in self._answered:
            self._problem(f"event {event.seq} reports on the decision {id}, which was not made before")
        if id in self._waiting and event.feedback.keys() & {"reward", "rewards"}:
            self._reported.add(id)

    def _check_withdrawal(self, event: EventLine) -> None:
        """The reports on an open decision are dropped."""
        id = event.decision or ""
        if id not in self._reported and not self._base:
            self._problem(f"event {event.seq} withdraws reports on the decision {id}, which has none")
        self._reported.discard(id)

    def _check_follower_update(self, event: EventLine) -> None:
        """Outcome of the decision that was shown in place of one of these."""
        id = event.decision or ""
        if id not in self._waiting:
            self._problem(f"event {event.seq} teaches the decision {id}, which is not open")
        self._waiting.discard(id)
        self._answered[id] = event.type
        self._found.learnt += 1

    def _check_retraction(self, event: EventLine) -> None:
        id = event.decision or ""
        if id not in self._answered and self._base:
            self._waiting.add(id)  # the answer lies under the base
        elif id not in self._answered:
            self._problem(f"event {event.seq} takes back the answer to the decision {id}, which has none")
        elif self._answered.pop(id) is not None:
            self._found.learnt -= id not in self._before
            self._waiting.add(id)

    def _replay(self, event: EventLine) -> None:
        """Learn the event again, and compare where a state was saved."""
        if event.type not in ("base", "base_state"):
            self._compare_checkpoint()
        if not self._replays:
            return
        try:
            self._rebuilding.apply(event)
        except SmidgenError as error:
            self._problem(f"event {event.seq} cannot be replayed: {error.problem}")
            self._replays = False
            return
        if event.type == "base":
            return  # its states are still to come
        if event.type == "base_state" and self._rebuilding.group is not None:
            return  # what keys share is complete when all of them have come
        if self._rebuilding.undone.is_stale(self._found.version):
            return  # a state of this version holds what was taken back later, and is not used
        if (snapshot := self._snapshots.get(event.seq)) is not None:
            self._compare_snapshot(snapshot)
        if event.key is not None and (state := self._states.get(event.key)) is not None and state.seq == event.seq:
            self._compare(f"the state of key {event.key!r}", event.key, state.content)

    def _compare_checkpoint(self) -> None:
        """Compare the shared state and the keys with the saved states, once the retention checkpoint is read."""
        if not self._beginning or not self._replays:
            return
        self._beginning = False
        if self._rebuilding.group is None or self._rebuilding.undone.is_stale(self._rebuilding.version):
            return  # the version of the checkpoint: the event after it is counted and not replayed yet
        if (snapshot := self._snapshots.get(self._base)) is not None:
            self._compare_snapshot(snapshot)
        for key, state in self._states.items():
            if state.seq == self._base and key in self._rebuilding.learners:
                self._compare(f"the state of key {key!r}", key, state.content)

    def _compare_snapshot(self, snapshot: State) -> None:
        name = Path(snapshot.place).name
        if (problem := state_problem(snapshot)) is not None:
            self._problem(f"the snapshot {name} cannot be used: {problem}")
        elif self._rebuilding.group is not None:
            self._compare_shared(f"the snapshot {name}", snapshot.content)
        else:
            self._compare(f"the snapshot {name}", None, snapshot.content)

    def _compare_shared(self, what: str, content: bytes) -> None:
        """Shared state of the keys: saved, and as replayed from the log."""
        if (group := self._rebuilding.group) is not None:
            self._compare_with(what, content, group.to_bytes)

    def _compare(self, what: str, key: str | None, content: bytes) -> None:
        learner = self._rebuilding.learner(key)

        def replayed() -> bytes:
            learner.reserve(Learner.from_bytes(content, what).decisions)
            return learner.to_bytes()

        self._compare_with(what, content, replayed)

    def _compare_with(self, what: str, content: bytes, replayed: Callable[[], bytes]) -> None:
        try:
            same = serialization.same(
                list(decode_learner(content, what)), list(decode_learner(replayed(), "the replay"))
            )
        except (SmidgenError, ValueError, KeyError, TypeError) as error:
            self._problem(f"{what} cannot be read: {error}")
            return
        self._found.compared.append(what)
        if not same:
            self._problem(f"{what} is not what the log leads to")

    def _problem(self, text: str) -> None:
        self._found.problems.append(text)


def _compare_tables(seen: Inspection, model: ServedModel, found: Audit) -> None:
    """The table of decisions says the same as the events."""
    ((decisions, learnt, late, lost),) = seen.reading.query("tally", model.shard)
    tables = (
        ("decisions", decisions, found.decisions),
        ("learnt", learnt, found.learnt),
        ("late", late, found.late_open),
    )
    for what, table, events in tables:
        if table != events:
            found.problems.append(f"the table of decisions counts {table} ({what}) and the events {events}")
    kept = (
        ("decisions", model.decisions, found.decisions + found.under),
        ("version", model.version, found.version),
        ("late", model.late, found.late + found.late_under),
        ("events", model.seq, found.events),
    )
    for what, count, events in kept:
        if count != events:
            found.problems.append(f"the count that is kept is {count} ({what}) and the events are {events}")
    if lost:
        found.problems.append(f"{lost} decisions of the table have no event")
