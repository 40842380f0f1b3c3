"""Reading from memory: the questions of the store, answered over plain dictionaries."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from service.memory.checkpoints import MemoryCheckpointReader
from service.memory.tables import Tables
from smidgen.service.log.events import DECIDED, ERASED, REWINDS, Event
from smidgen.service.storage.protocol import Question
from smidgen.service.storage.records import CallRow, Counts, DecisionRow, GroupRow, ModelRow, Outcome, State, TokenRow


class MemoryReader(MemoryCheckpointReader):
    """The questions, over tables.

    Parameters
    ----------
    tables
        What is looked at.
    lock
        Held while looking.
    """

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Answer all questions within the block as of one moment: a commit waits for its end."""
        with self._lock:
            yield

    def models(self) -> list[ModelRow]:
        """The models in the order of their making."""
        with self._lock:
            return [self._tables.models[id] for id in sorted(self._tables.models)]

    def counts(self, shard: int) -> Counts | None:
        """The position of a shard."""
        with self._lock:
            return copy.copy(self._tables.counts.get(shard))

    def decision(self, id: str) -> DecisionRow | None:
        """A decision by its id."""
        with self._lock:
            row = self._tables.decisions.get(id)
            return row if row is not None and self._tables.seen(row.shard, row.seq) else None

    def find_request(self, shard: int, request: str, *others: int) -> DecisionRow | None:
        """The decision that the app asked for under this id of its own, in a shard or in others."""
        with self._lock:
            ids = (self._tables.requests.get((each, request)) for each in (shard, *others))
            return next((found for id in ids if id is not None and (found := self.decision(id)) is not None), None)

    def follower_decisions(self, decision: str) -> list[DecisionRow]:
        """The decisions that were made next to this one, by shard."""
        with self._lock:
            rows = [row for row in self._tables.decisions.values() if row.beside == decision]
            found = [row for row in rows if self._tables.seen(row.shard, row.seq)]
        return sorted(found, key=lambda row: row.shard)

    def find_call(self, shard: int, id: str) -> CallRow | None:
        """The call that the app made under this id of its own."""
        with self._lock:
            row = self._tables.calls.get((shard, id))
            return row if row is not None and row.seq > self._tables.floor(shard) else None

    def event(self, shard: int, seq: int) -> Event | None:
        """One event."""
        with self._lock:
            events = self._tables.events.get(shard, [])
            return events[seq - 1] if 0 < seq <= len(events) and self._tables.seen(shard, seq) else None

    def events(self, shard: int, after: int = 0, limit: int = 1000, most: int = 4 << 20) -> list[Event]:
        """The next events after one: at most ``limit``, and no more once their bodies reach a number of bytes."""
        with self._lock:
            found: list[Event] = []
            size = 0
            after = max(after, self._tables.floor(shard))
            for event in self._tables.events.get(shard, [])[after : after + limit]:
                found.append(event)
                size += len(event.body or b"")
                if size >= most:
                    break
            return found

    def changes(self, shard: int, after: int = 0, key: str | None = None) -> Iterator[tuple[Event, Event | None]]:
        """The events that made a version, after an event, in order, each with the decision that it is about."""
        with self._lock:
            events = list(self._tables.events.get(shard, []))
            found = [
                (event, self._about(event, events))
                for event in events[max(after, self._tables.floor(shard)) :]
                if event.made is not None or event.type == "amended"
                if key is None or event.key == key or (event.key is None and event.decision is None)
            ]
        yield from found

    def _about(self, event: Event, events: list[Event]) -> Event | None:
        row = self._tables.decisions.get(event.decision) if event.decision is not None else None
        return events[row.seq - 1] if row is not None else None

    def undo_events(self, shard: int) -> list[Event]:
        """The events that take back what earlier ones did, in order."""
        with self._lock:
            events = self._tables.events.get(shard, [])[self._tables.floor(shard) :]
        return [event for event in events if event.type in REWINDS]

    def events_of_key(self, shard: int, key: str) -> Iterator[Event]:
        """The events of a key, in order."""
        with self._lock:
            events = self._tables.events.get(shard, [])[self._tables.floor(shard) :]
        yield from [event for event in events if event.key == key]

    def last_forgetting(self, shard: int) -> int:
        """The last event that forgot a key, 0 if there is none."""
        with self._lock:
            events = self._tables.events.get(shard, [])
            return next((event.seq for event in reversed(events) if event.type == ERASED and event.salt is not None), 0)

    def version_at(self, shard: int, seq: int) -> int:
        """The version after an event."""
        with self._lock:
            base, floor = self._tables.bases.get(shard), self._tables.floor(shard)
            events = self._tables.events.get(shard, [])[floor : max(seq, 0)]
        start = base.version if base is not None else 0
        return next((event.made for event in reversed(events) if event.made is not None), start)

    def due_decisions(self, now: float, limit: int = 1000) -> list[DecisionRow]:
        """The decisions of all shards whose windows are over and whose silence is still to be learnt."""
        with self._lock:
            found = [row for row in self._tables.decisions.values() if row.is_due and row.expires_at < now]
        return sorted(found, key=lambda row: (row.expires_at, row.shard, row.seq))[:limit]

    def last_number(self, shard: int, key: str | None, upto: int | None = None) -> int:
        """The number of a learner's latest decision, or of the latest up to an event; 0 if there is none."""
        with self._lock:
            if upto is None:
                return self._tables.numbers.get((shard, key), 0)
            events = self._tables.events.get(shard, [])[:upto]
            made = [event for event in events if event.type == "decision" and event.key == key]
            based = self.checkpoint_state(shard, key)
            last = self._tables.given.get(made[-1].decision or "", 0) if made else 0
        return max(last, based.number if based is not None else 0)

    def states(self, shard: int, key: str | None = None) -> Iterator[State]:
        """The states that were published for a learner, newest first."""
        with self._lock:
            found = list(self._tables.states.get((shard, key), []))
        yield from found

    def state_keys(self, shard: int) -> list[str]:
        """The keys that have a published state."""
        with self._lock:
            return sorted(key for where, key in self._tables.states if where == shard and key is not None)

    def query(self, question: Question, shard: int, **values: Any) -> list[tuple[Any, ...]]:
        """The rows that answer a named question about a shard."""
        with self._lock:
            return _ANSWERS[question](self._tables, shard, **values)

    def tokens(self) -> list[TokenRow]:
        """All tokens, in the order of their making."""
        with self._lock:
            return sorted(self._tables.tokens.values(), key=lambda token: (token.created_at, token.id))

    def token(self, hash: bytes) -> TokenRow | None:
        """The token with this digest."""
        with self._lock:
            return next((token for token in self._tables.tokens.values() if token.hash == hash), None)

    def stored_bytes(self) -> int:
        """Nothing is on a disk."""
        return 0

    def close(self) -> None:
        """Nothing is open."""
        return


def _of(tables: Tables, shard: int) -> list[DecisionRow]:
    return [row for row in tables.decisions.values() if row.shard == shard]


def _learnt(tables: Tables, shard: int, after: int) -> list[tuple[int, int, DecisionRow]]:
    """Version, event of the feedback, and the decision, of versions after one."""
    rows = [
        (row.version, row.feedback_seq, row)
        for row in _of(tables, shard)
        if row.version is not None and row.feedback_seq is not None and row.version > after
    ]
    return sorted(rows, key=lambda row: row[0])


def _learnt_blocks(tables: Tables, shard: int, *, after: int, upto: int, block: int) -> list[tuple[Any, ...]]:
    out: dict[int, list[Any]] = {}
    for version, answered, row in _learnt(tables, shard, after):
        if version > upto:
            break
        sums = out.setdefault((version - 1) // block, [0, 0, 0.0, 0.0, 0, 0.0, 0])
        sums[0] += 1
        if row.measure is not None:
            sums[1], sums[2], sums[3] = sums[1] + 1, sums[2] + row.measure, sums[3] + row.measure**2
        if row.position is not None:
            sums[4], sums[5] = sums[4] + 1, sums[5] + row.position
        sums[6] = max(sums[6], min(answered - row.seq - 1, version - 1))
    return [(number, *sums) for number, sums in sorted(out.items())]


def _made_blocks(tables: Tables, shard: int, *, after: int, upto: int, block: int) -> list[tuple[Any, ...]]:
    out: dict[int, list[Any]] = {}
    for row in _of(tables, shard):
        if after < row.seq <= upto:
            sums = out.setdefault((row.seq - 1) // block, [0, 0.0, 0, 0.0])
            sums[0], sums[1] = sums[0] + 1, sums[1] + row.explored
            if row.forwarded is not None:
                sums[2], sums[3] = sums[2] + 1, sums[3] + row.forwarded
    return [(number, *sums) for number, sums in sorted(out.items())]


def _waits(tables: Tables, shard: int, *, after: int) -> list[tuple[Any, ...]]:
    events = tables.events[shard]
    return [(events[answered - 1].at - events[row.seq - 1].at,) for _, answered, row in _learnt(tables, shard, after)]


def _measures(tables: Tables, shard: int, *, after: int) -> list[tuple[Any, ...]]:
    return [(row.measure,) for _, _, row in _learnt(tables, shard, after) if row.measure is not None]


def _latest(tables: Tables, shard: int, *, before: int, limit: int) -> list[tuple[Any, ...]]:
    rows = sorted((row for row in _of(tables, shard) if row.seq < before), key=lambda row: -row.seq)
    return list(rows[:limit])


def _keys(tables: Tables, shard: int, *, prefix: str, limit: int) -> list[tuple[Any, ...]]:
    keys = {event.key for event in tables.events[shard] if event.key is not None and event.key.startswith(prefix)}
    keys |= {key for where, key in tables.base_states if where == shard and key is not None and key.startswith(prefix)}
    return [(key,) for key in sorted(keys, key=str.encode)[:limit]]


def _tally(tables: Tables, shard: int) -> list[tuple[Any, ...]]:
    base, floor, events = tables.bases.get(shard), tables.floor(shard), tables.events[shard]
    rows = [row for row in _of(tables, shard) if tables.seen(shard, row.seq)]
    start = base.version if base is not None else 0
    learnt = sum(row.version is not None and row.version > start for row in rows)
    late = sum(row.status == "late" and (row.feedback_seq or 0) > floor for row in rows)
    lost = sum(events[row.seq - 1].decision != row.id or events[row.seq - 1].type not in DECIDED for row in rows)
    return [(len(rows), learnt, late, lost)]


def _outcomes(tables: Tables, rows: list[DecisionRow]) -> list[tuple[Any, ...]]:
    out: list[tuple[Any, ...]] = []
    for row in rows:
        events, place = tables.events[row.shard], row.feedback_seq
        made = events[row.seq - 1]
        how = (events[place - 1].type, events[place - 1].at) if place is not None else (None, None)
        head = (row.seq, made.at, made.key, row.expires_at, row.explored, row.forwarded, place, row.version)
        out.append(Outcome(*head, row.measure, *how, row.reported))
    return out


def _lately(tables: Tables, shard: int, *, limit: int, now: float = math.inf) -> list[tuple[Any, ...]]:
    rows = sorted((row for row in _of(tables, shard) if row.expires_at < now), key=lambda row: -row.seq)
    return _outcomes(tables, [row for row in rows[: 5 * limit] if row.shown and not row.holdout][:limit])


def _all_lately(tables: Tables, shard: int, *, limit: int, now: float = math.inf) -> list[tuple[Any, ...]]:
    rows = sorted((row for row in _of(tables, shard) if row.expires_at < now), key=lambda row: -row.seq)
    return _outcomes(tables, [row for row in rows[: 5 * limit] if row.shown][:limit])


def _answers(tables: Tables, shard: int, *, limit: int) -> list[tuple[Any, ...]]:
    return _outcomes(tables, [row for _, _, row in reversed(_learnt(tables, shard, 0)) if row.beside is None][:limit])


def _later(tables: Tables, shard: int, after: int) -> list[DecisionRow]:
    return sorted((row for row in _of(tables, shard) if row.seq > after), key=lambda row: row.seq)


def _pairs(tables: Tables, shard: int, *, after: int, limit: int) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for row in _later(tables, shard, after):
        shown = tables.decisions.get(row.beside) if row.beside is not None else None
        if shown is not None:
            head = (row.seq, row.agreed, *tables.shares[row.id])
            end = (shown.shown, shown.forwarded, shown.agreed, shown.feedback_seq, shown.measure)
            end = (*end, tables.groups[shown.id][0] if shown.id in tables.groups else None)
            end = (*end, tables.groups[row.id][1] if row.id in tables.groups else None)
            found.append((*head, shown.shard, shown.seq, shown.expires_at, *end))
    return found[:limit]


def _groups(tables: Tables, shard: int, *, limit: int) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for row in reversed(_later(tables, shard, 0)):
        shown = tables.decisions.get(row.beside or row.id)
        if row.holdout is None or shown is None:
            continue
        unit, share = tables.groups[row.id]
        end = (shown.expires_at, shown.shown, shown.feedback_seq, shown.feedback_hash, shown.measure, shown.version)
        found.append(GroupRow(row.seq, unit, row.holdout, share or 0.0, *end, shown.reports))
    return found[:limit]


def _answered_at(tables: Tables, shard: int, *, version: int) -> list[tuple[Any, ...]]:
    rows = [row for _, _, row in _learnt(tables, shard, 0) if (row.version or 0) <= version]
    events = {event.seq: event for event in tables.events[shard]}
    return [(events[rows[-1].feedback_seq or 0].at,)] if rows else []


def _settings(tables: Tables, shard: int, *, limit: int) -> list[tuple[Any, ...]]:
    kinds = ("amended", "promoted", "rolled_back")
    found = [each for each in tables.events[shard] if each.type in kinds and each.key is None]
    return [(each.seq, each.type, each.at) for each in reversed(found)][:limit]


def _agreement(tables: Tables, shard: int, *, limit: int) -> list[tuple[Any, ...]]:
    rows = [row.agreed for row in _later(tables, shard, 0) if row.agreed is not None][-limit:]
    return [(len(rows), float(sum(rows)))]


def _open(tables: Tables, shard: int, *, now: float, limit: int) -> list[tuple[Any, ...]]:
    rows = [row for row in _later(tables, shard, 0)[-limit:] if row.feedback_seq is None and row.beside is None]
    rows = [row for row in rows if not row.reported and row.expires_at >= now and row.forwarded is not False]
    return [(sum(row.shown for row in rows), sum(not row.shown for row in rows))]


_ANSWERS: dict[Question, Callable[..., list[tuple[Any, ...]]]] = {
    "learnt_blocks": _learnt_blocks,
    "made_blocks": _made_blocks,
    "waits": _waits,
    "measures": _measures,
    "latest": _latest,
    "keys": _keys,
    "tally": _tally,
    "lately": _lately,
    "ended": _lately,
    "lately_all": _all_lately,
    "ended_all": _all_lately,
    "answers": _answers,
    "pairs": _pairs,
    "groups": _groups,
    "agreement": _agreement,
    "answered_at": _answered_at,
    "settings": _settings,
    "open": _open,
}
