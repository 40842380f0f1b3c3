"""Fold old events into a retention checkpoint.

Retention: old events are folded into a base state, which is data from then on, and erased.

A checkpoint holds the state that the log led to, without everything that was undone. Decisions that later events are
about, or that are still open, are carried: they stay where they are. Folding runs in the background, over committed
events; the command that puts a checkpoint in force only adds the events since.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from smidgen.errors import InvalidRecord
from smidgen.learners import Learner
from smidgen.service.engine import recovery
from smidgen.service.engine.context import CommandHandler
from smidgen.service.engine.model import ServedModel, names_in
from smidgen.service.engine.recovery import initial_learner, latest_usable_snapshot, read_checkpoint
from smidgen.service.engine.replay import UndoneVersions, find_key_start, read_undo_events, read_undone, replay
from smidgen.service.engine.spending import Spending, columns_of
from smidgen.service.engine.undo import Progress
from smidgen.service.errors import Busy
from smidgen.service.log import codec
from smidgen.service.log.checkpoint import RETAINED, CarriedDecision, Checkpoint, CheckpointState, state_digest
from smidgen.service.log.events import ERASED, present_digest
from smidgen.service.schemas import RetainedReply, ShardRetained
from smidgen.service.storage.protocol import StoreReader


@dataclass(frozen=True)
class Plan:
    """A base that is to be.

    Attributes
    ----------
    base
        Where it is.
    carried
        The decisions under it that stay.
    keys
        Whose learners have to be folded; None is the key of a model without keys.
    seen
        The last event that was looked at.
    rewritten
        How often the model's past had been changed then.
    """

    base: Checkpoint
    carried: tuple[CarriedDecision, ...]
    keys: tuple[str | None, ...]
    seen: int
    rewritten: int


@dataclass
class _FoldedEvents:
    """Summary of the events between the old checkpoint and the new one."""

    keys: set[str] = field(default_factory=set)
    amendments: list[bytes] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)
    anything: bool = False
    last: int = 0


def plan_checkpoint(reading: StoreReader, model: ServedModel, before: float, now: float) -> Plan | None:
    """Checkpoint that folds all events before a time; None if there are none.

    Parameters
    ----------
    reading
        What is committed.
    model
        The model.
    before, now
        Seconds since 1970.
    """
    shard, rewritten = model.shard, model.rewritten
    counts, old = reading.counts(shard), reading.checkpoint(shard)
    first, last = old.seq if old is not None else 0, counts.seq if counts is not None else 0
    passed = _read_folded_events(reading, shard, first, last_before(reading, shard, first, last, before))
    seq = passed.last
    last_event = reading.event(shard, seq) if seq > first and passed.anything else None
    if last_event is None:
        return None
    version = reading.version_at(shard, seq)
    reaching = [each.by for each in read_undo_events(reading, shard) if each.first <= version < each.by]
    decisions, late = reading.counts_up_to(shard, seq)
    budgets = any(each.terms.budget is not None for each in (model.blueprint, *(era.blueprint for era in model.past)))
    spending = (
        Spending.read(reading, shard, columns_of(model), passed.last) if budgets and model.leader is None else None
    )
    body = _settings(reading, shard, old, passed, spending)
    checkpoint = Checkpoint(seq, version, last_event.chain, now, decisions, late, max([version, *reaching]), body)
    keys: tuple[str | None, ...] = (None,)
    if model.keyed:
        known = {key for (key,) in reading.query("keys", shard, prefix="", limit=1 << 31)}
        keys = tuple(sorted(known & passed.keys if not passed.amendments else known))
        keys = (*keys, None) if model.origin.grouped else keys  # what they share
    carried = tuple(carried_over(reading, shard, reading.decisions_to_carry(shard, seq, now, seq)))
    return Plan(checkpoint, carried, keys, last, rewritten)


def carried_over(reading: StoreReader, shard: int, seqs: list[int]) -> Iterator[CarriedDecision]:
    """These decisions with the digests of their events."""
    for seq in seqs:
        if (event := reading.event(shard, seq)) is not None:
            yield CarriedDecision(seq, present_digest(event))


def checkpoint_states(
    reading: StoreReader, model: ServedModel, plan: Plan, progress: Progress
) -> Iterator[CheckpointState]:
    """Yield the states of the learners at a checkpoint.

    Parameters
    ----------
    reading
        What is committed.
    model
        The model.
    plan
        The retention checkpoint that is planned.
    progress
        Receives the progress.
    """
    undone, seq = read_undone(reading, model.shard), plan.base.seq
    for count, key in enumerate(plan.keys):
        if progress.stopped:
            raise Busy("the service is stopping", "try again in a moment")
        if model.keyed and key is None:
            content, number = recovery.shared_state_at(reading, model, undone, seq).to_bytes(), 0
        else:
            learner = _fold_to(reading, model, key, undone, seq, Progress(progress.what) if model.keyed else progress)
            number = reading.last_number(model.shard, key, seq)
            learner.reserve(number)
            content = learner.to_bytes()
        yield CheckpointState(key, seq, number, state_digest(key, seq, number, content), content)
        if model.keyed:
            progress.done, progress.of = count + 1, len(plan.keys)


def _fold_to(
    reading: StoreReader, model: ServedModel, key: str | None, undone: UndoneVersions, seq: int, progress: Progress
) -> Learner:
    """A learner as it is after an event, all that was taken back until now left out."""
    found, start = latest_usable_snapshot(reading, model, key, undone, seq), None
    learner, first, fresh = (*found, False) if found is not None else initial_learner(reading, model, key)
    if fresh and key is not None and model.origin.shared_start is not None:
        start = find_key_start(reading.events_of_key(model.shard, key), undone.restarts_key)
    changes = progress.watch(reading.changes(model.shard, first, key), first, seq)
    return replay(learner, changes, undone, key, start)[0]


def last_before(reading: StoreReader, shard: int, first: int, last: int, before: float) -> int:
    """The last event before a time, by halving; the times of erased events are not known."""
    low, high = first, last + 1  # up to low all are older, from high on none
    while high - low > 1:
        middle = (low + high) // 2
        found = next(
            (
                event
                for event in reading.events(shard, middle - 1, 64)
                if event.type != ERASED or event.salt is not None
            ),
            None,
        )
        if found is not None and found.seq < high and found.at < before:
            low = found.seq
        elif found is None and middle + 63 < last:
            low = middle + 63  # a long row of erased events: as good as old
        else:
            high = middle
    return low


def _read_folded_events(reading: StoreReader, shard: int, first: int, last: int) -> _FoldedEvents:
    found, after = _FoldedEvents(last=first), first
    while after < last:
        chunk = reading.events(shard, after, min(1000, last - after))
        for event in chunk:
            if event.type == "promoted":  # the settings before it are its own: a base lies before it, or not at all
                return found
            found.last = event.seq
            found.names |= dict.fromkeys(names_in(event))
            if event.key is not None:
                found.keys.add(event.key)
            if event.type == "amended":
                amendment = codec.read_fields(event.body, event.seq).get("learn")
                found.amendments += [amendment] if isinstance(amendment, bytes) else []
            found.anything = found.anything or event.type != RETAINED
        after = chunk[-1].seq
    return found


def _settings(
    reading: StoreReader, shard: int, old: Checkpoint | None, passed: _FoldedEvents, spending: Spending | None
) -> bytes:
    """Read the settings of the first event, and the amendments since."""
    settings: dict[str, Any]
    if old is not None:
        settings = read_checkpoint(old)
    else:
        created = reading.event(shard, 1)
        if created is None or created.type != "created":
            raise InvalidRecord(
                "the first event of the log does not hold the model's settings", "restore it from a backup"
            )
        settings = codec.read_fields(created.body, 1)
    return msgspec.msgpack.encode(
        {
            "format": settings.get("format"),
            "model": settings.get("model"),
            "resolved": settings.get("resolved"),
            "amendments": [*settings.get("amendments", []), *passed.amendments],
            "hashed": list(dict.fromkeys([*settings.get("hashed", []), *passed.names])),
            "budget": spending.to_bytes() if spending is not None else None,
        }
    )


# The commands of retention: states are staged, a base is put in force, what lies under it is erased bit by bit.

#: Number of learners that are staged in one command, and about how many events are erased in one batch.
STAGED, TIDIED = 64, 500


class RetentionHandler(CommandHandler):
    """The bases of all models."""

    def stage(self, model: ServedModel, plan: Plan, states: Sequence[CheckpointState], *, first: bool) -> None:
        """Stage states. The first call drops those of a failed attempt.

        States that were folded before a key was forgotten are refused: nobody may come to erase them.
        """
        self._models.acquire(model)
        _refuse_changed(model, plan)
        if first:
            self._store.unstage(model.shard)
        self._store.stage(model.shard, states)

    def handle(self, model: ServedModel, plan: Plan) -> RetainedReply:
        """Put a base in force whose states are staged."""
        self._models.acquire(model)
        checkpoint = plan.base
        _refuse_changed(model, plan)
        old = self._store.checkpoint(model.shard)
        carried = self._decisions_to_carry(model, plan)
        self._store.write_checkpoint(model.shard, checkpoint, carried, self._clock())
        self._open_decisions.clear()
        model.rewritten += 1
        return RetainedReply(
            base=checkpoint.seq,
            base_version=checkpoint.version,
            folded=checkpoint.seq - (old.seq if old is not None else 0),
            kept=len(carried),
            model_version=model.version,
        )

    def unchanged_reply(self, model: ServedModel) -> RetainedReply:
        """There is nothing old enough."""
        self._models.acquire(model)
        checkpoint = self._store.checkpoint(model.shard)
        return RetainedReply(
            base=checkpoint.seq if checkpoint is not None else 0,
            base_version=checkpoint.version if checkpoint is not None else 0,
            folded=0,
            kept=len(self._store.carried_decisions(model.shard)),
            model_version=model.version,
        )

    @staticmethod
    def combined_reply(shards: Sequence[RetainedReply]) -> RetainedReply:
        """Beginning of a model's log, combined from its shards."""
        if len(shards) == 1:
            return shards[0]
        each = [msgspec.convert(shard, ShardRetained, from_attributes=True) for shard in shards]
        sums = {name: sum(getattr(one, name) for one in each) for name in ShardRetained.__struct_fields__}
        return RetainedReply(shards=each, **sums)

    def _decisions_to_carry(self, model: ServedModel, plan: Plan) -> list[CarriedDecision]:
        """Decisions that the plan carries, and those that later events are about."""
        known = {kept.seq for kept in plan.carried}
        later = self._store.decisions_to_carry(model.shard, plan.base.seq, plan.base.at, plan.seen)
        new = carried_over(self._store, model.shard, [seq for seq in later if seq not in known])
        return sorted([*plan.carried, *new])


def _refuse_changed(model: ServedModel, plan: Plan) -> None:
    if model.rewritten != plan.rewritten:
        raise Busy(f'the log of "{model.name}" was changed at the same time', "try again")
