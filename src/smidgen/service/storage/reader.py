"""The reader of a store: every query, whatever database answers it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import msgspec

from smidgen.serialization import UNREADABLE
from smidgen.service.errors import StorageFailed
from smidgen.service.log.checkpoint import CarriedDecision, Checkpoint, CheckpointState, Lineage
from smidgen.service.log.events import Event
from smidgen.service.storage import sql
from smidgen.service.storage.protocol import Question
from smidgen.service.storage.records import CallRow, Counts, DecisionRow, GroupRow, ModelRow, Outcome, State, TokenRow
from smidgen.service.storage.snapshots import MARK
from smidgen.service.storage.sqlite_schema import RESTORE

#: An id of a decision.
ID = re.compile(r"[0-9a-f]{24}(?:[0-9a-f]{4})?")


class Statements(Protocol):
    """Runs queries: one connection, several of them, or one with a buffer of writes."""

    def rows(self, sql: str, values: Any = ()) -> list[Any]:
        """All rows."""
        ...

    def each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        """The rows one by one; about ``size`` of them are fetched at a time."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Answer all queries of this thread within the block as of one moment."""
        ...

    def stored_bytes(self) -> int:
        """Size of the database in bytes."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


#: Yields the published states of a shard, newest first. The second argument returns the mark of an event (`MARK`).
PublishedStates = Callable[[int, Callable[[int, int], str | None]], Iterator[State]]


class SqlStoreReader:
    """Answers queries by SQL, from any thread.

    Parameters
    ----------
    statements
        Runs the queries.
    published
        Yields the published states of shards.

    Attributes
    ----------
    statements
        As given.
    """

    def __init__(self, statements: Statements, published: PublishedStates) -> None:
        self.statements = statements
        self._rows, self._each, self._published = statements.rows, statements.each, published
        self.snapshot, self.stored_bytes, self.close = statements.snapshot, statements.stored_bytes, statements.close

    def _row(self, query: str, values: Any = ()) -> Any:
        rows = self._rows(query, values)
        return rows[0] if rows else None

    # Retention checkpoints and lineage

    def checkpoint(self, shard: int) -> Checkpoint | None:
        """The retention checkpoint of a shard; None if its log begins with its first event."""
        row = self._row(sql.CHECKPOINT, (shard,))
        return Checkpoint(*row) if row is not None else None

    def checkpoint_state(self, shard: int, key: str | None) -> CheckpointState | None:
        """Read the state of a learner at the checkpoint; None if it has none."""
        row = self._row(sql.CHECKPOINT_STATE, (shard, key or ""))
        return _to_checkpoint_state(row) if row is not None else None

    def checkpoint_states(self, shard: int) -> Iterator[CheckpointState]:
        """Yield the states of all learners at the checkpoint, in the order of their keys."""
        for row in self._each(sql.CHECKPOINT_STATES, (shard,), 16):
            yield _to_checkpoint_state(row)

    def carried_decisions(self, shard: int) -> list[CarriedDecision]:
        """The decisions that the base carries, in order."""
        rows = self._rows(sql.CARRIED, (shard,))
        return [CarriedDecision(*row) for row in rows]

    def decisions_to_carry(self, shard: int, seq: int, now: float, after: int) -> list[int]:
        """Decisions up to an event that later events are about, or that are open at a time, in order.

        With ``after`` beyond ``seq``: only those that events after it are about.
        """
        found = {found for (found,) in self._rows(sql.DECISIONS_OF_LATER_EVENTS, (shard, after, seq))}
        if after <= seq:
            found |= {found for (found,) in self._rows(sql.OPEN_DECISIONS, (shard, seq, now))}
        return sorted(found)

    def counts_up_to(self, shard: int, seq: int) -> tuple[int, int]:
        """Count decisions and late answers up to an event."""
        row = self._row(sql.COUNTS_UP_TO, (shard, seq))
        base = self.checkpoint(shard)
        return (row[0] + base.decisions, row[1] + base.late) if base is not None else (row[0], row[1])

    def find_erased_decision(self, id: str) -> int | None:
        """The shard of a decision that was erased with its base; None if none is known."""
        try:
            name = bytes.fromhex(id)
        except ValueError:
            return None
        row = self._row(sql.ERASED_DECISION, (name,))
        if row is None:  # its rows may still be there
            row = self._row(sql.DECISION_UNDER_CHECKPOINT, (name,))
        return int(row[0]) if row is not None else None

    def lineage(self) -> list[Lineage]:
        """The models that began with the state of others, in the order of their creation."""
        rows = self._rows(sql.LINEAGE)
        return [Lineage(*row) for row in rows]

    def floor(self, shard: int) -> int:
        """The first event of a shard whose chain is known: that of its base, else 0."""
        row = self._row(sql.FLOOR, (shard,))
        return int(row[0]) if row is not None else 0

    # Models, decisions, events and tokens

    def models(self) -> list[ModelRow]:
        """The models in the order of their creation."""
        rows = self._rows(sql.MODELS)
        return [
            ModelRow(id, name, shard, body, _resolved_settings(name, resolved), created, archived)
            for id, name, shard, body, resolved, created, archived in rows
        ]

    def counts(self, shard: int) -> Counts | None:
        """Read the counts of a shard."""
        row = self._row(sql.SHARD_COUNTS, (shard,))
        return Counts(*row) if row is not None else None

    def decision(self, id: str) -> DecisionRow | None:
        """A decision by its id."""
        if ID.fullmatch(id) is None:
            return None
        return to_decision(self._row(sql.DECISION_BY_ID, (bytes.fromhex(id),)))

    def find_request(self, shard: int, request: str, *others: int) -> DecisionRow | None:
        """The decision with this request id of the app, in a shard or in others."""
        return to_decision(self._row(sql.decision_by_request(1 + len(others)), (request, shard, *others)))

    def follower_decisions(self, decision: str) -> list[DecisionRow]:
        """The decisions of shadows and challengers for the same request, by shard."""
        if ID.fullmatch(decision) is None:
            return []
        return [
            DecisionRow(*_decision_row(row)) for row in self._rows(sql.FOLLOWER_DECISIONS, (bytes.fromhex(decision),))
        ]

    def find_call(self, shard: int, id: str) -> CallRow | None:
        """The call with this id of the app."""
        row = self._row(sql.CALL, (shard, id))
        return CallRow(*row) if row is not None and row[1] > self.floor(shard) else None

    def event(self, shard: int, seq: int) -> Event | None:
        """One event."""
        row = self._row(sql.EVENT, (shard, seq))
        return to_event(row) if row is not None else None

    def events(self, shard: int, after: int = 0, limit: int = 1000, most: int = 4 << 20) -> list[Event]:
        """The next events after one: at most ``limit``, and no more once their bodies reach ``most`` bytes."""
        found: list[Event] = []
        size = 0
        for row in self._each(sql.EVENTS_AFTER, (shard, max(after, self.floor(shard)), limit), 64):
            found.append(to_event(row))
            size += len(row[9] or b"")
            if size >= most:
                break
        return found

    def changes(self, shard: int, after: int = 0, key: str | None = None) -> Iterator[tuple[Event, Event | None]]:
        """The events after one that made a version, in order, each with its decision."""
        after = max(after, self.floor(shard))
        query, values = (sql.CHANGES, (shard, after)) if key is None else (sql.CHANGES_OF_KEY, (shard, after, key))
        for row in self._each(query, values, 256):
            yield to_event(row[:10]), to_event(row[10:]) if row[10] is not None else None

    def undo_events(self, shard: int) -> list[Event]:
        """Retractions and rollbacks, in order."""
        return [to_event(row) for row in self._rows(sql.UNDO_EVENTS, (shard, self.floor(shard)))]

    def events_of_key(self, shard: int, key: str) -> Iterator[Event]:
        """The events of a key, in order."""
        after = self.floor(shard)
        while rows := self._rows(sql.EVENTS_OF_KEY, (shard, key, after)):
            yield from map(to_event, rows)
            after = rows[-1][0]

    def last_forgetting(self, shard: int) -> int:
        """The last event that forgot a key, 0 if there is none."""
        row = self._row(sql.LAST_FORGETTING, (shard,))
        return int(row[0]) if row is not None else 0

    def version_at(self, shard: int, seq: int) -> int:
        """The version after an event."""
        base = self.checkpoint(shard)
        row = self._row(sql.VERSION_AT, (shard, seq, base.seq if base is not None else 0))
        return int(row[0]) if row is not None else base.version if base is not None else 0

    def due_decisions(self, now: float, limit: int = 1000) -> list[DecisionRow]:
        """The decisions of all shards that expired and are still to be learned from."""
        return [DecisionRow(*_decision_row(row)) for row in self._rows(sql.DUE_DECISIONS, (now, limit))]

    def last_number(self, shard: int, key: str | None, upto: int | None = None) -> int:
        """The number of a learner's latest decision, 0 if there is none."""
        if upto is not None and key is None:
            row = self._row(sql.NUMBER_UP_TO, (shard, upto))
        elif key is None:
            row = self._row(sql.SHARD_NUMBER, (shard,))
        else:
            row = self._row(sql.NUMBER_OF_KEY, (shard, key, upto if upto is not None else 1 << 62))
        based = self.checkpoint_state(shard, key) if key is not None or upto is not None else None
        return max(int(row[0]) if row is not None else 0, based.number if based is not None else 0)

    def states(self, shard: int, key: str | None = None) -> Iterator[State]:
        """The states that were published for a learner, newest first."""
        if key is None:
            yield from self._published(shard, self.mark)
        elif (row := self._row(sql.KEY_STATE, (shard, key))) is not None:
            yield State(row[0], row[1], f"the state of key {key!r}", True, len(row[1]), row[2])

    def state_keys(self, shard: int) -> list[str]:
        """The keys that have a published state."""
        return [key for (key,) in self._rows(sql.STATE_KEYS, (shard,))]

    def query(self, question: Question, shard: int, **values: Any) -> list[tuple[Any, ...]]:
        """The rows that answer a named question about a shard."""
        rows = self._rows(sql.QUESTIONS[question], {"shard": shard, **values})
        if question == "groups":
            return [
                GroupRow(seq, unit, bool(holdout), share, ends, bool(shown), *rest)
                for seq, unit, holdout, share, ends, shown, *rest in rows
            ]
        if question in ("lately", "ended", "answers"):
            return [_to_outcome(*row) for row in rows]
        return [DecisionRow(*_decision_row(row)) for row in rows] if question == "latest" else rows

    def contradictions(self, rule: str) -> Iterator[tuple[int, int]]:
        """The rows of (shard, event) that a statement of `smidgen fsck` finds."""
        return self._each(rule, (), 256)

    def rows_of(self, table: str) -> Iterator[Any]:
        """All rows of a table, in order."""
        return self._each(sql.select_all(table), (), 64)

    def count_of_rows(self, table: str) -> int:
        """Count the rows of a table."""
        return int(self._row(sql.count_rows(table))[0])

    def tokens(self) -> list[TokenRow]:
        """All tokens, in the order of their creation."""
        return [TokenRow(*row) for row in self._rows(sql.TOKENS)]

    def token(self, hash: bytes) -> TokenRow | None:
        """The token with this digest."""
        row = self._row(sql.TOKENS_BY_HASH, (hash,))
        return TokenRow(*row) if row is not None else None

    def chain(self, shard: int, seq: int) -> bytes | None:
        """The chain of a shard at an event; None if there is no such event."""
        if (base := self.checkpoint(shard)) is not None and seq <= base.seq:
            return base.chain if seq == base.seq else None
        row = self._row(sql.CHAIN, (shard, seq))
        return bytes(row[0]) if row is not None else None

    def mark(self, shard: int, seq: int) -> str | None:
        """The beginning of the chain at an event, in hexadecimal digits; None if there is no such event."""
        chain = self.chain(shard, seq)
        return chain[:MARK].hex() if chain is not None else None


def _to_checkpoint_state(row: Any) -> CheckpointState:
    key, *rest = row
    return CheckpointState(key or None, *rest)


def _resolved_settings(name: str, resolved: bytes) -> dict[str, Any]:
    """Decode the resolved settings of a model."""
    try:
        return msgspec.json.decode(resolved, type=dict[str, Any])
    except (TypeError, *UNREADABLE) as error:
        raise StorageFailed(f"the settings of the model {name!r} cannot be read: {error}", RESTORE) from error


def to_event(row: Any) -> Event:
    """An event from the columns of its row."""
    seq, type, version, at, decision, key, made, salt, chain, body = row
    return Event(seq, type, version, at, decision.hex() if decision is not None else None, key, made, salt, chain, body)


def to_decision(row: Any) -> DecisionRow | None:
    """A decision from the columns of its row, if there is one."""
    return DecisionRow(*_decision_row(row)) if row is not None else None


def _to_outcome(
    seq: int, at: float, key: str | None, ends: float, explored: int, sent: int | None, *rest: Any
) -> Outcome:
    answer: Any = rest[:-1]
    found = Outcome(seq, at, key, ends, bool(explored), None if sent is None else bool(sent), *answer)
    return found._replace(reported=bool(rest[-1]))


def _decision_row(row: Any) -> Any:
    (id, shard, seq, expires_at, request_hash, explored, forwarded, *answer) = row[:12]
    waits, shown, late_hash, beside, agreed, holdout, reported, reports = row[12:]
    went = bool(forwarded) if forwarded is not None else None
    return (
        id.hex(),
        shard,
        seq,
        expires_at,
        request_hash,
        bool(explored),
        went,
        *answer,
        bool(waits),
        bool(shown),
        late_hash,
        beside.hex() if beside is not None else None,
        bool(agreed) if agreed is not None else None,
        bool(holdout) if holdout is not None else None,
        bool(reported),
        reports,
    )
