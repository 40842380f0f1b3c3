"""Fold old events into a retention checkpoint.

Retention: old events are folded into a base state, which is data from then on, and erased.

What a base holds is what the log led to, all that was taken back left out. Decisions that later events are about, or
that are still open, are carried: they stay where they are. Folding is done aside, over what is committed; the command
that puts a base in force only adds what came meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from smidgen.errors import InvalidRecord
from smidgen.learners import Learner
from smidgen.service.engine import recovery
from smidgen.service.engine.context import Commands
from smidgen.service.engine.model import Served, names_in
from smidgen.service.engine.recovery import first_of, read, state_of
from smidgen.service.engine.replay import Undone, find_begun, follow, rewinds, undone
from smidgen.service.engine.undo import Progress
from smidgen.service.errors import Busy
from smidgen.service.log import codec
from smidgen.service.log.base import RETAINED, Base, BaseState, Carried, state_digest
from smidgen.service.log.events import ERASED, present_digest
from smidgen.service.schemas import RetainedReply, ShardRetained
from smidgen.service.storage.protocol import Reading


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

    base: Base
    carried: tuple[Carried, ...]
    keys: tuple[str | None, ...]
    seen: int
    rewritten: int


@dataclass
class _Passed:
    """What there is between the old base and the new one."""

    keys: set[str] = field(default_factory=set)
    amendments: list[bytes] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)
    anything: bool = False
    last: int = 0


def planned(reading: Reading, model: Served, before: float, now: float) -> Plan | None:
    """Where a base would be that has all events before a time under it; None if there are none.

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
    counts, old = reading.counts(shard), reading.base(shard)
    first, last = old.seq if old is not None else 0, counts.seq if counts is not None else 0
    passed = _passed(reading, shard, first, last_before(reading, shard, first, last, before))
    seq = passed.last
    made = reading.event(shard, seq) if seq > first and passed.anything else None
    if made is None:
        return None
    version = reading.version_at(shard, seq)
    reaching = [each.by for each in rewinds(reading, shard) if each.first <= version < each.by]
    decisions, late = reading.under(shard, seq)
    body = _settings(reading, shard, old, passed)
    base = Base(seq, version, made.chain, now, decisions, late, max([version, *reaching]), body)
    keys: tuple[str | None, ...] = (None,)
    if model.keyed:
        known = {key for (key,) in reading.look("keys", shard, prefix="", limit=1 << 31)}
        keys = tuple(sorted(known & passed.keys if not passed.amendments else known))
        keys = (*keys, None) if model.origin.grouped else keys  # what they share
    carried = tuple(carry(reading, shard, reading.crossing(shard, seq, now, seq)))
    return Plan(base, carried, keys, last, rewritten)


def carry(reading: Reading, shard: int, seqs: list[int]) -> Iterator[Carried]:
    """These decisions with the digests of their events."""
    for seq in seqs:
        if (event := reading.event(shard, seq)) is not None:
            yield Carried(seq, present_digest(event))


def states(reading: Reading, model: Served, plan: Plan, progress: Progress) -> Iterator[BaseState]:
    """What the learners are at a base, one after the other.

    Parameters
    ----------
    reading
        What is committed.
    model
        The model.
    plan
        The base.
    progress
        Told how far it is.
    """
    gone, seq = undone(reading, model.shard), plan.base.seq
    for count, key in enumerate(plan.keys):
        if progress.stopped:
            raise Busy("the service is stopping", "try again in a moment")
        if model.keyed and key is None:
            content, number = recovery.at(reading, model, gone, seq).to_bytes(), 0
        else:
            learner = _folded(reading, model, key, gone, seq, Progress(progress.what) if model.keyed else progress)
            number = reading.last_number(model.shard, key, seq)
            learner.reserve(number)
            content = learner.to_bytes()
        yield BaseState(key, seq, number, state_digest(key, seq, number, content), content)
        if model.keyed:
            progress.done, progress.of = count + 1, len(plan.keys)


def _folded(reading: Reading, model: Served, key: str | None, gone: Undone, seq: int, progress: Progress) -> Learner:
    """A learner as it is after an event, all that was taken back until now left out."""
    found, start = state_of(reading, model, key, gone, seq), None
    learner, first, fresh = (*found, False) if found is not None else first_of(reading, model, key)
    if fresh and key is not None and model.origin.shared_start is not None:
        start = find_begun(reading.of_key(model.shard, key), gone.begins_anew)
    changes = progress.watch(reading.changes(model.shard, first, key), first, seq)
    return follow(learner, changes, gone, key, start)[0]


def last_before(reading: Reading, shard: int, first: int, last: int, before: float) -> int:
    """The last event before a time, by halving; the times of erased events are not known."""
    low, high = first, last + 1  # up to low all are older, from high on none
    while high - low > 1:
        middle = (low + high) // 2
        told = next(
            (
                event
                for event in reading.events(shard, middle - 1, 64)
                if event.type != ERASED or event.salt is not None
            ),
            None,
        )
        if told is not None and told.seq < high and told.at < before:
            low = told.seq
        elif told is None and middle + 63 < last:
            low = middle + 63  # a long row of erased events: as good as old
        else:
            high = middle
    return low


def _passed(reading: Reading, shard: int, first: int, last: int) -> _Passed:
    found, after = _Passed(last=first), first
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
                told = codec.read_fields(event.body, event.seq).get("learn")
                found.amendments += [told] if isinstance(told, bytes) else []
            found.anything = found.anything or event.type != RETAINED
        after = chunk[-1].seq
    return found


def _settings(reading: Reading, shard: int, old: Base | None, passed: _Passed) -> bytes:
    """What the first event said, and the amendments since."""
    told: dict[str, Any]
    if old is not None:
        told = read(old)
    else:
        created = reading.event(shard, 1)
        if created is None or created.type != "created":
            raise InvalidRecord("the log does not begin with the model's settings", "restore it from a backup")
        told = codec.read_fields(created.body, 1)
    return msgspec.msgpack.encode(
        {
            "format": told.get("format"),
            "model": told.get("model"),
            "resolved": told.get("resolved"),
            "amendments": [*told.get("amendments", []), *passed.amendments],
            "hashed": list(dict.fromkeys([*told.get("hashed", []), *passed.names])),
        }
    )


# The commands of retention: states are staged, a base is put in force, what lies under it is erased bit by bit.

#: How many learners are staged in one command, and about how many events are erased in one batch.
STAGED, TIDIED = 64, 500


class Retention(Commands):
    """The bases of all models."""

    def stage(self, model: Served, plan: Plan, states: Sequence[BaseState], *, first: bool) -> None:
        """Write states aside; the first ones drop what an attempt that failed has left.

        States that were folded before a key was forgotten are refused: nobody may come to erase them.
        """
        self._models.hold(model)
        _refuse_changed(model, plan)
        if first:
            self._store.unstage(model.shard)
        self._store.stage(model.shard, states)

    def take(self, model: Served, plan: Plan) -> RetainedReply:
        """Put a base in force whose states are staged."""
        self._models.hold(model)
        base = plan.base
        _refuse_changed(model, plan)
        old = self._store.base(model.shard)
        carried = self._carried(model, plan)
        self._store.rebase(model.shard, base, carried, self._clock())
        self._recent.clear()
        model.rewritten += 1
        return RetainedReply(
            base=base.seq,
            base_version=base.version,
            folded=base.seq - (old.seq if old is not None else 0),
            kept=len(carried),
            model_version=model.version,
        )

    def nothing(self, model: Served) -> RetainedReply:
        """There is nothing old enough."""
        self._models.hold(model)
        base = self._store.base(model.shard)
        return RetainedReply(
            base=base.seq if base is not None else 0,
            base_version=base.version if base is not None else 0,
            folded=0,
            kept=len(self._store.carried(model.shard)),
            model_version=model.version,
        )

    @staticmethod
    def together(shards: Sequence[RetainedReply]) -> RetainedReply:
        """Where the log of a model begins, told from its shards."""
        if len(shards) == 1:
            return shards[0]
        each = [msgspec.convert(shard, ShardRetained, from_attributes=True) for shard in shards]
        sums = {name: sum(getattr(one, name) for one in each) for name in ShardRetained.__struct_fields__}
        return RetainedReply(shards=each, **sums)

    def _carried(self, model: Served, plan: Plan) -> list[Carried]:
        """What the plan carries, and what events that came since are about."""
        known = {kept.seq for kept in plan.carried}
        later = self._store.crossing(model.shard, plan.base.seq, plan.base.at, plan.seen)
        new = carry(self._store, model.shard, [seq for seq in later if seq not in known])
        return sorted([*plan.carried, *new])


def _refuse_changed(model: Served, plan: Plan) -> None:
    if model.rewritten != plan.rewritten:
        raise Busy(f"the past of {model.name!r} was changed meanwhile", "try again")
