"""The writer of a store: rows of events and decisions, retention checkpoints, models and tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from smidgen.service.log.checkpoint import RETAINED, CarriedDecision, Checkpoint, CheckpointState, checkpoint_body
from smidgen.service.log.events import DECIDED, Event, original_digest
from smidgen.service.storage import sql, sql_writes
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.reader import SqlStoreReader, Statements, to_event
from smidgen.service.storage.records import Counts, DecisionRow, ModelRow, NewDecision, NewExpiry, NewFeedback, TokenRow
from smidgen.service.storage.transitions import EventWriter, Fields, LiveCounts


class WriteStatements(Statements, Protocol):
    """Runs statements of the open batch."""

    def run(self, sql: str, values: Any = ()) -> None:
        """Run a statement that returns no rows; the database may receive it later, but in order."""
        ...

    def run_many(self, sql: str, values: Sequence[Any]) -> None:
        """Run a statement once for each of the values."""
        ...

    def run_for(self, sql: str, values: Any = ()) -> list[Any]:
        """Run a statement now; the rows that it returns."""
        ...


class ShardLocks(Protocol):
    """Locks of shards and of the catalogue, for the open batch."""

    def acquire(self, *shards: int) -> None:
        """Acquire shards (`SharedWriting.acquire`)."""
        ...

    def is_held(self, shard: int) -> bool:
        """True if nobody else can change the counts of a shard while the batch is open."""
        ...

    def on_new_shard(self, shard: int) -> None:
        """Hold a shard that the batch has created."""
        ...

    def change_catalogue(self, name: str | None = None) -> None:
        """Lock the catalogue before a change of the rows of models or tokens; refuse a name that is taken."""
        ...


class SqlStoreWriter:
    """Writes rows by SQL. The effect of each event is decided by its `EventWriter`, which gets the rows from here.

    Parameters
    ----------
    statements
        Runs the statements.
    reads
        Answers queries over the same statements.
    counting
        The counts of shards that the batch changes.
    locks
        Locks shards.
    trusts
        As of `EventWriter`.

    Attributes
    ----------
    events
        The writer of events.
    """

    def __init__(
        self,
        statements: WriteStatements,
        reads: SqlStoreReader,
        counting: LiveCounts,
        locks: ShardLocks,
        *,
        trusts: Callable[[int], bool],
    ) -> None:
        self._rows, self._run, self._run_many, self._run_for = (
            statements.rows,
            statements.run,
            statements.run_many,
            statements.run_for,
        )
        self._reads, self._counting, self._locks = reads, counting, locks
        self.decision, self.event, self._floor = reads.decision, reads.event, reads.floor
        self.events = EventWriter(self, trusts)

    # Rows of events and decisions

    def counts(self, shard: int) -> Counts | None:
        """Counts of a shard with those of the open batch; one object as long as the store is open."""
        if self._locks.is_held(shard) and (live := self._counting.get(shard)) is not None:
            return live
        row = self._reads.counts(shard)
        return self._counting.replace(shard, row) if row is not None else None

    def last_number(self, shard: int, key: str | None, upto: int | None = None) -> int:
        """The number of a learner's latest decision, the open batch included."""
        if key is None and upto is None and (held := self.counts(shard)) is not None:
            return held.number
        return self._reads.last_number(shard, key, upto)

    def counts_to_change(self, shard: int) -> Counts:
        """The counts of a shard, which the caller is about to change into those after an event."""
        self._locks.acquire(shard)
        counts = self.counts(shard)
        if counts is None:
            raise KeyError(f"there is no shard {shard}")
        self._counting.touch(shard)
        return counts

    def is_new_key(self, shard: int, key: str) -> bool:
        """True if a key has no events; those under a checkpoint that are not erased yet do not count."""
        rows = self._rows(sql.KEY_HAS_EVENTS, (shard, key, self._floor(shard)))
        return not rows and self._reads.checkpoint_state(shard, key) is None

    def insert_event(self, shard: int, counts: Counts, event: Fields) -> None:
        """Write an event."""
        seq, type, version, at, decision, key, made, salt, chain, body = event
        id = bytes.fromhex(decision) if decision is not None else None
        self._run(sql_writes.INSERT_EVENT, (shard, seq, type, version, at, id, key, made, salt, chain, body))

    def replace_events(self, shard: int, events: Sequence[Event]) -> None:
        """Write events in the place of those with their numbers, and delete the states of their keys."""
        self._run_many(sql_writes.REWRITE_EVENT, [(event.salt, event.body, shard, event.seq) for event in events])
        keys = {event.key for event in events if event.key is not None}
        self._run_many(sql_writes.DELETE_KEY_STATE, [(shard, key) for key in sorted(keys)])

    def insert_decision(self, shard: int, seq: int, row: NewDecision) -> None:
        """Write the row of a decision."""
        if row.request is not None and self._floor(shard):
            self._run(sql_writes.RELEASE_REQUEST, (shard, row.request))
        self._run(
            sql_writes.INSERT_DECISION,
            (
                bytes.fromhex(row.decision),
                shard,
                seq,
                row.number,
                row.expires_at,
                row.request,
                row.request_hash,
                row.explored,
                row.forwarded,
                row.waits,
                row.shown,
                bytes.fromhex(row.beside) if row.beside is not None else None,
                row.agreed,
                row.target,
                row.chance,
                row.unit,
                row.holdout,
                row.share,
            ),
        )

    def insert_call(self, shard: int, id: str, hash: bytes, seq: int) -> None:
        """Write the app's id of a call and its event."""
        if self._floor(shard):
            self._run(sql_writes.DELETE_CALL, (shard, id))
        self._run(sql_writes.INSERT_CALL, (shard, id, hash, seq))

    def close_decision(self, row: NewFeedback | NewExpiry, seq: int, hash: bytes | None, version: int | None) -> None:
        """Write the feedback of an open decision."""
        values = (seq, hash, version, row.measure, row.position, bytes.fromhex(row.decision))
        self._run(sql_writes.CLOSE_DECISION, values)

    def update_decision(self, decision: str, **changed: Any) -> None:
        """Change columns of a decision."""
        self._run(sql_writes.update_decision(tuple(changed)), (*changed.values(), bytes.fromhex(decision)))

    def clear_measures(self, shard: int, version: int) -> None:
        """Delete the measures of feedback after a version."""
        self._run(sql_writes.CLEAR_MEASURES, (shard, version))

    def cancel_expiries(self, shard: int) -> None:
        """Cancel what the open decisions of a shard would learn when they expire."""
        self._locks.acquire(shard)
        self._run(sql_writes.CANCEL_EXPIRIES, (shard,))

    def delete_key(self, shard: int, key: str) -> tuple[int, int, int, int]:
        """Erase a key; its number of events, and of decisions, those with feedback, and those with late feedback."""
        count, after = 0, self._floor(shard)
        ((decisions, answered, late),) = self._rows(sql.KEY_TOTALS, (shard, key, after))
        self._run(sql_writes.DELETE_DECISIONS_OF_KEY, (shard, key, after))
        self._run(sql_writes.DELETE_CALLS_OF_KEY, (shard, key, after))
        while rows := self._rows(sql.EVENTS_OF_KEY, (shard, key, after)):
            events = [to_event(row) for row in rows]
            self._run_many(sql_writes.ERASE_EVENT, [(original_digest(event), shard, event.seq) for event in events])
            count, after = count + len(events), events[-1].seq
        self._run(sql_writes.DELETE_KEY_STATE, (shard, key))
        self._run(sql_writes.DELETE_CHECKPOINT_STATES_OF_KEY, (shard, key))  # staged for a base that was not written
        return count, decisions, answered, late

    def delete_events(self, shard: int, own: Sequence[int]) -> tuple[int, int, int, int]:
        """Erase events, and decisions that they made; the same numbers as of a key."""
        decisions = answered = late = 0
        for seq in own:
            if (event := self.event(shard, seq)) is None:
                continue
            if event.type in DECIDED and event.decision is not None:
                row = self.decision(event.decision)
                decisions += 1
                answered += row is not None and row.answered and row.beside is None
                self._run(sql_writes.DELETE_DECISION, (bytes.fromhex(event.decision),))
            late += event.type == "feedback" and event.made is None
            self._run_many(sql_writes.ERASE_EVENT, [(original_digest(event), shard, seq)])
        return len(own), decisions, answered, late

    # Retention checkpoints

    def stage(self, shard: int, states: Sequence[CheckpointState]) -> None:
        """Write the states of a base that is written later; readers do not see them until then."""
        self._locks.acquire(shard)
        for state in states:
            self._run(sql_writes.DELETE_CHECKPOINT_STATE_FROM, (shard, state.key or "", state.seq))
            self._run(sql_writes.INSERT_CHECKPOINT_STATE, (shard, state.key or "", *state[1:]))
        crash_point("base-staged")

    def unstage(self, shard: int) -> None:
        """Delete staged states."""
        self._locks.acquire(shard)
        self._run(sql_writes.DELETE_STAGED_STATES, (shard,))

    def write_checkpoint(self, shard: int, base: Checkpoint, carried: Sequence[CarriedDecision], at: float) -> int:
        """Let the log of a shard begin after a base whose states are staged; the number of its event."""
        self._locks.acquire(shard)
        old = self._floor(shard)
        self._run(sql_writes.DELETE_ALL_CARRIED, (shard,))
        for each in carried:
            self._run(sql_writes.INSERT_CARRIED, (shard, *each))
        self._run(sql_writes.UPSERT_CHECKPOINT, (shard, *base[:8], 0))
        seq = self._append_checkpoint(shard, base, base.seq - old, at)
        crash_point("base-made")
        return seq

    def drop_checkpoint_state(self, shard: int, key: str, at: float) -> None:
        """Delete the state of a key, and its decisions, from the base."""
        self._locks.acquire(shard)
        if (base := self._reads.checkpoint(shard)) is None:
            return
        counts, kept = self.counts_to_change(shard), self._rows(sql.CARRIED_OF_KEY, (shard, key))
        for seq, decision in kept:
            row = self.decision(decision.hex())
            counts.decisions -= 1
            counts.answered -= row is not None and row.answered
            counts.late -= row is not None and self._is_late_under(row, shard, key, base.seq, decision)
            self._run(sql_writes.DELETE_CARRIED, (shard, seq))
        self._run(sql_writes.DELETE_CHECKPOINT_STATES_OF_KEY, (shard, key))
        counts.keys -= self.is_new_key(shard, key)
        base = base._replace(decisions=base.decisions - len(kept))
        self._run(sql_writes.UPSERT_CHECKPOINT, (shard, *base[:8], 0))
        self._append_checkpoint(shard, base, 0, at)

    def _is_late_under(self, row: DecisionRow, shard: int, key: str, base: int, decision: bytes) -> bool:
        """True if late feedback of a decision lies under the base."""
        return row.late and not self._rows(sql.LATE_AFTER_CHECKPOINT, (shard, key, base, decision))

    def _append_checkpoint(self, shard: int, base: Checkpoint, events: int, at: float) -> int:
        """Write the event that has the digest of a base."""
        states = [digest for (digest,) in self._rows(sql.CHECKPOINT_DIGESTS, (shard, base.seq))]
        body = checkpoint_body(base, events, states, self._reads.carried_decisions(shard))
        return self.events.write_event(shard, self.counts_to_change(shard), RETAINED, at, body)

    def purge(self, limit: int) -> bool:
        """Erase rows of about ``limit`` events under a base; False if none are left."""
        unfinished = self._rows(sql.UNFINISHED_PURGE)
        if not unfinished:
            return False
        ((shard,),) = unfinished
        self._locks.acquire(shard)
        ((seq, erased),) = self._rows(sql.PURGE_PROGRESS, (shard,))
        ((last,),) = self._rows(sql.PURGE_UP_TO, (shard, erased, seq, limit))
        upto = seq if last is None else last
        self._run(sql_writes.REMEMBER_ERASED, (shard, erased, upto))
        self._run(sql_writes.PURGE_DECISIONS, (shard, erased, upto))
        self._run(sql_writes.PURGE_CALLS, (shard, erased, upto))
        self._run(sql_writes.PURGE_EVENTS, (shard, erased, upto))
        if upto == seq:
            self._run(sql_writes.PURGE_CHECKPOINT_STATES, (shard, seq))
        self._run(sql_writes.SET_PURGE_PROGRESS, (upto, shard))
        crash_point("base-tidied")
        return True

    # Models and tokens: all but the last use of a token change the catalogue

    def create(self, name: str, body: bytes, resolved: dict[str, Any], at: float) -> ModelRow:
        """Enter a model with one shard; its first event is appended by the caller."""
        self._locks.change_catalogue(name)
        settings = msgspec.json.encode(resolved, order="deterministic")
        ((model,),) = self._run_for(sql_writes.INSERT_MODEL, (name, body, settings, at))
        ((shard,),) = self._run_for(sql_writes.INSERT_SHARD, (model, Counts().chain))
        self._counting.add(shard, Counts(), new=True)
        self._locks.on_new_shard(shard)
        return ModelRow(model, name, shard, body, resolved, at)

    def archive(self, model: int, at: float) -> None:
        """Archive a model."""
        self._locks.change_catalogue()
        self._run(sql_writes.ARCHIVE_MODEL, (at, model))

    def amend(self, model: int, resolved: dict[str, Any]) -> None:
        """Change settings; the event is appended by the caller."""
        self._locks.change_catalogue()
        self._run(sql_writes.UPDATE_SETTINGS, (msgspec.json.encode(resolved, order="deterministic"), model))

    def revive(self, model: int) -> None:
        """Restore an archived model."""
        self._locks.change_catalogue()
        self._run(sql_writes.REVIVE_MODEL, (model,))

    def rename(self, model: int, name: str) -> None:
        """Give a model another name, which no other has."""
        self._locks.change_catalogue(name)
        self._run(sql_writes.RENAME_MODEL, (name, model))

    def derive(self, shard: int, source: int, seq: int) -> None:
        """Note that a model began with the state of another after an event."""
        self._run(sql_writes.UPSERT_LINEAGE, (shard, source, seq))

    def add_token(self, token: TokenRow) -> None:
        """Enter a token."""
        self._locks.change_catalogue()
        self._run(sql_writes.insert_row("tokens"), tuple(token))

    def revoke_token(self, id: str, at: float) -> bool:
        """Revoke a token; False if there is no valid one of this id."""
        self._locks.change_catalogue()
        return bool(self._run_for(sql_writes.REVOKE_TOKENS, (at, id)))

    def use_token(self, id: str, at: float) -> None:
        """Note the last use of a token."""
        self._run(sql_writes.USE_TOKENS, (at, id))

    def add_row(self, table: str, row: Sequence[Any]) -> None:
        """Write a row of another store unchanged."""
        self._run(sql_writes.insert_row(table), tuple(row))

    def acquire_catalogue(self) -> None:
        """Lock the catalogue: nobody else creates models while the batch is open."""
        self._locks.change_catalogue()
