"""Retention: old events are folded into a base state, which is data from then on, and erased.

What a base holds is what the log led to, all that was taken back left out. Decisions that later events are about, or
that are still open, are carried: they stay where they are. Folding is done aside, over what is committed; the command
that puts a base in force only adds what came meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from smidgen.errors import InvalidRecord
from smidgen.service.models.fold import follow, rewinds, undone
from smidgen.service.models.progress import Progress
from smidgen.service.models.served import LearnerCache, Served
from smidgen.service.models.starts import begin, read
from smidgen.service.refusals import Busy
from smidgen.service.store import bodies
from smidgen.service.store.bases import RETAINED, Base, BaseState, Carried, state_digest
from smidgen.service.store.events import ERASED, digest_of
from smidgen.service.store.protocol import Reading


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
    anything: bool = False


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
    slot, rewritten = model.slot, model.rewritten
    counts, old = reading.counts(slot), reading.base(slot)
    first, last = old.seq if old is not None else 0, counts.seq if counts is not None else 0
    seq = _last_before(reading, slot, first, last, before)
    made = reading.event(slot, seq) if seq > first else None
    if made is None:
        return None
    passed = _passed(reading, slot, first, seq)
    if not passed.anything:
        return None
    version = reading.version_at(slot, seq)
    reaching = [
        by
        for type, by, named in rewinds(reading, slot)
        if by > version and (named if type == "retracted" else named + 1) <= version
    ]
    decisions, late = reading.under(slot, seq)
    body = _settings(reading, slot, old, passed.amendments)
    base = Base(seq, version, made.chain, now, decisions, late, max([version, *reaching]), body)
    keys: tuple[str | None, ...] = (None,)
    if model.keyed:
        known = {key for (key,) in reading.look("keys", slot, prefix="", limit=1 << 31)}
        keys = tuple(sorted(known & passed.keys if not passed.amendments else known))
    carried = tuple(carry(reading, slot, reading.crossing(slot, seq, now, seq)))
    return Plan(base, carried, keys, last, rewritten)


def carry(reading: Reading, slot: int, seqs: list[int]) -> Iterator[Carried]:
    """These decisions with the digests of their events."""
    for seq in seqs:
        if (event := reading.event(slot, seq)) is not None:
            yield Carried(seq, digest_of(event))


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
    gone, seq = undone(reading, model.slot), plan.base.seq
    for count, key in enumerate(plan.keys):
        if progress.stopped:
            raise Busy("the service is stopping", "try again in a moment")
        own = Progress(progress.what) if model.keyed else progress
        found = LearnerCache.state_of(reading, model, key, gone, seq)
        learner, start = found if found is not None else begin(reading, model, key)
        learner, _ = follow(learner, own.watch(reading.changes(model.slot, start, key), start, seq), gone)
        number = reading.last_number(model.slot, key, seq)
        learner.reserve(number)
        content = learner.to_bytes()
        yield BaseState(key, seq, number, state_digest(key, seq, number, content), content)
        if model.keyed:
            progress.done, progress.of = count + 1, len(plan.keys)


def _last_before(reading: Reading, slot: int, first: int, last: int, before: float) -> int:
    """The last event before a time, by halving; the times of erased events are not known."""
    low, high = first, last + 1  # up to low all are older, from high on none
    while high - low > 1:
        middle = (low + high) // 2
        told = next(
            (event for event in reading.events(slot, middle - 1, 64) if event.type != ERASED or event.salt is not None),
            None,
        )
        if told is not None and told.seq < high and told.at < before:
            low = told.seq
        elif told is None and middle + 63 < last:
            low = middle + 63  # a long row of erased events: as good as old
        else:
            high = middle
    return low


def _passed(reading: Reading, slot: int, first: int, last: int) -> _Passed:
    found, after = _Passed(), first
    while after < last:
        chunk = reading.events(slot, after, min(1000, last - after))
        for event in chunk:
            if event.key is not None:
                found.keys.add(event.key)
            if event.type == "amended":
                told = bodies.read_fields(event.body, event.seq).get("learn")
                found.amendments += [told] if isinstance(told, bytes) else []
            found.anything = found.anything or event.type != RETAINED
        after = chunk[-1].seq
    return found


def _settings(reading: Reading, slot: int, old: Base | None, amendments: list[bytes]) -> bytes:
    """What the first event said, and the amendments since."""
    told: dict[str, Any]
    if old is not None:
        told = read(old)
    else:
        created = reading.event(slot, 1)
        if created is None or created.type != "created":
            raise InvalidRecord("the log does not begin with the model's settings", "restore it from a backup")
        told = bodies.read_fields(created.body, 1)
    return msgspec.msgpack.encode(
        {
            "model": told.get("model"),
            "resolved": told.get("resolved"),
            "amendments": [*told.get("amendments", []), *amendments],
        }
    )
