"""Every INSERT, UPDATE and DELETE of the stores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import msgspec

from smidgen.service.log.checkpoint import RETAINED, CarriedDecision, Checkpoint, CheckpointState, checkpoint_body
from smidgen.service.log.events import Event, original_digest
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.records import Counts, ModelRow, NewDecision, NewExpiry, NewFeedback, TokenRow
from smidgen.service.storage.sql import OF_KEY, SqlStoreReader, WriteStatements, insert_row, to_event
from smidgen.service.storage.transitions import EventWriter, Fields, LiveCounts

# Writing events and decisions, within the batch that is open.

EVENT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
DECISION = """
    INSERT INTO decisions (
        id, shard, seq, number, expires_at, request, request_hash, explored, forwarded, waits, shown,
        beside, agreed, target, chance, unit, holdout, share
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_NOTE = "UPDATE decisions SET {columns} WHERE id = ?"
CLOSE = """
    UPDATE decisions SET feedback_seq = ?, feedback_hash = ?, version = ?, measure = ?, position = ?, shown = 1
    WHERE id = ? AND feedback_seq IS NULL
"""
#: What is told of the decisions of a key, and what goes with it; ``?3`` is the base, under which there are none.
_DECISIONS_OF_KEY = """
    SELECT count(*), count(*) FILTER (
            WHERE (feedback_hash IS NOT NULL OR late_hash IS NOT NULL OR reported = 1) AND beside IS NULL
        ),
        (
            SELECT count(*) FROM events f INDEXED BY event_keys
            WHERE f.shard = ?1 AND f.key = ?2 AND f.seq > ?3 AND f.type = 'feedback' AND f.made IS NULL
        )
    FROM decisions WHERE id IN (
        SELECT e.decision FROM events e INDEXED BY event_keys
        WHERE e.shard = ?1 AND e.key = ?2 AND e.seq > ?3 AND e.type IN ('decision', 'held_out')
    )
"""
_LEAVE_KEY = (
    """
    DELETE FROM decisions WHERE id IN (
        SELECT e.decision FROM events e INDEXED BY event_keys
        WHERE e.shard = ?1 AND e.key = ?2 AND e.seq > ?3 AND e.type IN ('decision', 'held_out')
    )
    """,
    """
    DELETE FROM calls WHERE shard = ?1 AND seq IN (
        SELECT e.seq FROM events e INDEXED BY event_keys
        WHERE e.shard = ?1 AND e.key = ?2 AND e.seq > ?3 AND e.decision IS NULL
    )
    """,
)
_ERASE = """
    UPDATE events SET type = 'erased', version = 0, at = 0.0, decision = NULL, key = NULL, salt = NULL, body = ?
    WHERE shard = ? AND seq = ?
"""
_REWRITE = "UPDATE events SET salt = ?, body = ? WHERE shard = ? AND seq = ?"

# Writing bases, and erasing what lies under them.

_BASE = """
    INSERT INTO bases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (shard) DO UPDATE SET seq = excluded.seq,
        version = excluded.version, chain = excluded.chain, at = excluded.at, decisions = excluded.decisions,
        late = excluded.late, floor = excluded.floor, body = excluded.body, erased = excluded.erased
"""
#: Late answers after the base are counted with the events of their key, not with the decisions that it keeps.
_LATE_ABOVE = """
    SELECT 1 FROM events INDEXED BY event_keys
    WHERE shard = ? AND key = ? AND seq > ? AND type = 'feedback' AND made IS NULL AND decision = ? LIMIT 1
"""
_DIGESTS = """
    SELECT digest FROM base_states s WHERE shard = ?1 AND seq = (
        SELECT max(t.seq) FROM base_states t WHERE t.shard = ?1 AND t.key = s.key AND t.seq <= ?2
    ) ORDER BY key
"""
_CARRIED_OF = """
    SELECT e.seq, e.decision FROM events e INDEXED BY event_keys JOIN carried c ON c.shard = e.shard AND c.seq = e.seq
    WHERE e.shard = ? AND e.key = ?
"""
_UNFINISHED = "SELECT shard FROM bases WHERE erased < seq ORDER BY shard LIMIT 1"
#: What of a range is not carried; ``?1`` is the shard, ``?2`` and ``?3`` are the ends.
_LAST_OF_NEXT = """
    SELECT max(seq) FROM (
        SELECT e.seq FROM events e WHERE e.shard = ?1 AND e.seq > ?2 AND e.seq <= ?3
            AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.shard = e.shard AND c.seq = e.seq)
        ORDER BY e.seq LIMIT ?4
    ) AS next
"""
_REMEMBER = """
    INSERT INTO gone SELECT x.id, x.shard FROM decisions x INDEXED BY decision_order
    WHERE x.shard = ?1 AND x.seq > ?2 AND x.seq <= ?3
        AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.shard = x.shard AND c.seq = x.seq)
    ON CONFLICT DO NOTHING
"""
_ERASE_DECISIONS = """
    DELETE FROM decisions INDEXED BY decision_order WHERE shard = ?1 AND seq > ?2 AND seq <= ?3
        AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.shard = decisions.shard AND c.seq = decisions.seq)
"""
_ERASE_EVENTS = """
    DELETE FROM events WHERE shard = ?1 AND seq > ?2 AND seq <= ?3
        AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.shard = events.shard AND c.seq = events.seq)
"""
_ERASE_CALLS = "DELETE FROM calls WHERE shard = ?1 AND seq > ?2 AND seq <= ?3"
_ERASE_STATES = """
    DELETE FROM base_states WHERE shard = ?1 AND seq < ?2 AND EXISTS (
        SELECT 1 FROM base_states t WHERE t.shard = ?1 AND t.key = base_states.key
            AND t.seq > base_states.seq AND t.seq <= ?2
    )
"""

# Writing what is known of models as a whole, and tokens.

_MODEL = """
    INSERT INTO models (id, name, body, resolved, created_at)
    SELECT coalesce(max(id), 0) + 1, ?, ?, ?, ? FROM models RETURNING id
"""
_SHARD = """
    INSERT INTO shards (id, model, place, seq, version, decisions, late, keys, number, chain, answered)
    SELECT coalesce(max(id), 0) + 1, ?, 0, 0, 0, 0, 0, 0, 0, ?, 0 FROM shards RETURNING id
"""
#: The counts of a shard, as they are when a batch ends.
COUNTS = """
    UPDATE shards SET seq = :seq, version = :version, decisions = :decisions, late = :late, keys = :keys,
        number = :number, chain = :chain, answered = :answered WHERE id = :shard
"""
KEY_STATE = """
    INSERT INTO key_states VALUES (?, ?, ?, ?, ?) ON CONFLICT (shard, key) DO UPDATE
        SET seq = excluded.seq, at = excluded.at, state = excluded.state
"""
_LINEAGE = "INSERT INTO lineage VALUES (?, ?, ?) ON CONFLICT (shard, source) DO UPDATE SET seq = excluded.seq"
_REVOKE = "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id"
_USE = "UPDATE tokens SET used_at = ?1 WHERE id = ?2 AND (used_at IS NULL OR used_at < ?1)"


class SqlStoreWriter(SqlStoreReader, EventWriter):
    """The verbs that a store writes by SQL: models and tokens, checkpoints, and the rows of events and decisions.

    What an event does to counts and decisions is `EventWriter`'s.

    Parameters
    ----------
    statements
        Runs them.
    """

    def __init__(self, statements: WriteStatements) -> None:
        SqlStoreReader.__init__(self, statements)
        EventWriter.__init__(self)
        self._run, self._run_many, self._run_for = statements.run, statements.run_many, statements.run_for
        self._counting = LiveCounts()

    @abstractmethod
    def acquire(self, *shards: int) -> None:
        """Take shards for the open batch, where others write too."""

    # Rows of events and decisions

    def cancel_expiries(self, shard: int) -> None:
        """Let the silence of the open decisions of a shard mean nothing any more."""
        self.acquire(shard)
        self._run("UPDATE decisions SET waits = 0 WHERE shard = ? AND waits = 1 AND feedback_seq IS NULL", (shard,))

    def _replace_events(self, shard: int, events: Sequence[Event]) -> None:
        self._run_many(_REWRITE, [(event.salt, event.body, shard, event.seq) for event in events])
        keys = {event.key for event in events if event.key is not None}
        self._run_many("DELETE FROM key_states WHERE shard = ? AND key = ?", [(shard, key) for key in sorted(keys)])

    # Reading, as the writer needs it

    def counts(self, shard: int) -> Counts | None:
        """Counts of a shard with those of the open batch; one object as long as the store is open."""
        if (held := self._counting.get(shard)) is None and (held := super().counts(shard)) is not None:
            self._counting.add(shard, held)
        return held

    def last_number(self, shard: int, key: str | None, upto: int | None = None) -> int:
        """The number of a learner's latest decision, the open batch included."""
        if key is None and upto is None and (held := self.counts(shard)) is not None:
            return held.number
        return super().last_number(shard, key, upto)

    def _is_new_key(self, shard: int, key: str) -> bool:
        """Check that a key has no events; those under a checkpoint that are not erased yet do not count."""
        sql = "SELECT 1 FROM events INDEXED BY event_keys WHERE shard = ? AND key = ? AND seq > ? LIMIT 1"
        return self._row(sql, (shard, key, self.floor(shard))) is None and self.checkpoint_state(shard, key) is None

    def _counts_to_change(self, shard: int) -> Counts:
        counts = self.counts(shard)
        if counts is None:
            raise KeyError(f"there is no shard {shard}")
        self._counting.touch(shard)
        return counts

    def _insert_event(self, shard: int, counts: Counts, event: Fields) -> None:
        seq, type, version, at, decision, key, made, salt, chain, body = event
        named = bytes.fromhex(decision) if decision is not None else None
        self._run(EVENT, (shard, seq, type, version, at, named, key, made, salt, chain, body))

    def _insert_decision(self, shard: int, seq: int, row: NewDecision) -> None:
        if row.request is not None and self.floor(shard):  # a decision under a base may have it until that is erased
            self._run("UPDATE decisions SET request = NULL WHERE shard = ? AND request = ?", (shard, row.request))
        self._run(
            DECISION,
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

    def _insert_call(self, shard: int, id: str, hash: bytes, seq: int) -> None:
        if self.floor(shard):
            self._run("DELETE FROM calls WHERE shard = ? AND id = ?", (shard, id))
        self._run("INSERT INTO calls VALUES (?, ?, ?, ?)", (shard, id, hash, seq))

    def _close_decision(self, row: NewFeedback | NewExpiry, seq: int, hash: bytes | None, version: int | None) -> None:
        self._run(CLOSE, (seq, hash, version, row.measure, row.position, bytes.fromhex(row.decision)))

    def _update_decision(self, decision: str, **changed: Any) -> None:
        sql = _NOTE.format(columns=", ".join(f"{name} = ?" for name in changed))
        self._run(sql, (*changed.values(), bytes.fromhex(decision)))

    def _clear_measures(self, shard: int, version: int) -> None:
        self._run(
            "UPDATE decisions INDEXED BY decision_versions SET measure = NULL, position = NULL"
            " WHERE shard = ? AND version > ?",
            (shard, version),
        )

    def _delete_key(self, shard: int, key: str) -> tuple[int, int, int, int]:
        count, after = 0, self.floor(shard)
        decisions, answered, late = self._row(_DECISIONS_OF_KEY, (shard, key, after))
        for sql in _LEAVE_KEY:
            self._run(sql, (shard, key, after))
        while rows := self._rows(OF_KEY, (shard, key, after)):
            events = [to_event(row) for row in rows]
            self._run_many(_ERASE, [(original_digest(event), shard, event.seq) for event in events])
            count, after = count + len(events), events[-1].seq
        self._run("DELETE FROM key_states WHERE shard = ? AND key = ?", (shard, key))
        self._run("DELETE FROM base_states WHERE shard = ? AND key = ?", (shard, key))  # of a base that did not come
        return count, decisions, answered, late

    # Checkpoints

    def stage(self, shard: int, states: Sequence[CheckpointState]) -> None:
        """Write states of a base that is still to come; until it does, nobody sees them."""
        self.acquire(shard)
        for state in states:
            self._run(
                "DELETE FROM base_states WHERE shard = ? AND key = ? AND seq >= ?", (shard, state.key or "", state.seq)
            )
            self._run("INSERT INTO base_states VALUES (?, ?, ?, ?, ?, ?)", (shard, state.key or "", *state[1:]))
        crash_point("base-staged")

    def unstage(self, shard: int) -> None:
        """Drop the states of a base that did not come."""
        self.acquire(shard)
        self._run(
            "DELETE FROM base_states WHERE shard = ?1 AND seq > coalesce((SELECT seq FROM bases WHERE shard = ?1), 0)",
            (shard,),
        )

    def write_checkpoint(self, shard: int, base: Checkpoint, carried: Sequence[CarriedDecision], at: float) -> int:
        """Let a log begin after a base whose states are staged; the number of the event that says so."""
        self.acquire(shard)
        old = self.floor(shard)
        self._run("DELETE FROM carried WHERE shard = ?", (shard,))
        for kept in carried:
            self._run("INSERT INTO carried VALUES (?, ?, ?)", (shard, *kept))
        self._run(_BASE, (shard, *base[:8], 0))
        seq = self._append_checkpoint(shard, base, base.seq - old, at)
        crash_point("base-made")
        return seq

    def drop_checkpoint_state(self, shard: int, key: str, at: float) -> None:
        """Let a base hold nothing of a key, nor keep any of its decisions."""
        self.acquire(shard)
        if (base := self.checkpoint(shard)) is None:
            return
        counts, kept = self._counts_to_change(shard), self._rows(_CARRIED_OF, (shard, key))
        for seq, decision in kept:
            row = self.decision(decision.hex())
            counts.decisions -= 1
            counts.answered -= row is not None and row.answered
            counts.late -= (
                row is not None and row.late and self._row(_LATE_ABOVE, (shard, key, base.seq, decision)) is None
            )
            self._run("DELETE FROM carried WHERE shard = ? AND seq = ?", (shard, seq))
        self._run("DELETE FROM base_states WHERE shard = ? AND key = ?", (shard, key))
        counts.keys -= self._is_new_key(shard, key)
        base = base._replace(decisions=base.decisions - len(kept))
        self._run(_BASE, (shard, *base[:8], 0))
        self._append_checkpoint(shard, base, 0, at)

    def _append_checkpoint(self, shard: int, base: Checkpoint, events: int, at: float) -> int:
        """Write the event that has the digest of a base."""
        states = [digest for (digest,) in self._rows(_DIGESTS, (shard, base.seq))]
        told = checkpoint_body(base, events, states, self.carried_decisions(shard))
        return self._append(shard, self._counts_to_change(shard), RETAINED, at, told)

    def purge(self, limit: int) -> bool:
        """Erase some of what lies under a base; False if nothing is left."""
        row = self._row(_UNFINISHED)
        if row is None:
            return False
        (shard,) = row
        self.acquire(shard)
        seq, erased = self._row("SELECT seq, erased FROM bases WHERE shard = ?", (shard,))
        last = self._row(_LAST_OF_NEXT, (shard, erased, seq, limit))[0]
        upto = seq if last is None else last
        for sql in (_REMEMBER, _ERASE_DECISIONS, _ERASE_CALLS, _ERASE_EVENTS):
            self._run(sql, (shard, erased, upto))
        if upto == seq:
            self._run(_ERASE_STATES, (shard, seq))
        self._run("UPDATE bases SET erased = ? WHERE shard = ?", (upto, shard))
        crash_point("base-tidied")
        return True

    # Models and tokens; each verb moves the catalogue, where there is one

    def create(self, name: str, body: bytes, resolved: dict[str, Any], at: float) -> ModelRow:
        """Enter a model with one shard; its first event is appended by the caller."""
        self._change_catalogue(name)
        told = msgspec.json.encode(resolved, order="deterministic")
        ((model,),) = self._run_for(_MODEL, (name, body, told, at))
        ((shard,),) = self._run_for(_SHARD, (model, Counts().chain))
        self._counting.add(shard, Counts(), new=True)
        self._on_new_shard(shard)
        return ModelRow(model, name, shard, body, resolved, at)

    def archive(self, model: int, at: float) -> None:
        """Note that a model decides no more."""
        self._change_catalogue()
        self._run("UPDATE models SET archived_at = ? WHERE id = ?", (at, model))

    def amend(self, model: int, resolved: dict[str, Any]) -> None:
        """Put other settings in force; the event is appended by the caller."""
        self._change_catalogue()
        told = msgspec.json.encode(resolved, order="deterministic")
        self._run("UPDATE models SET resolved = ? WHERE id = ?", (told, model))

    def revive(self, model: int) -> None:
        """Note that a model decides again."""
        self._change_catalogue()
        self._run("UPDATE models SET archived_at = NULL WHERE id = ?", (model,))

    def rename(self, model: int, name: str) -> None:
        """Give a model another name, which no other has."""
        self._change_catalogue(name)
        self._run("UPDATE models SET name = ? WHERE id = ?", (name, model))

    def derive(self, shard: int, source: int, seq: int) -> None:
        """Note that a model began with what another had learnt up to an event."""
        self._run(_LINEAGE, (shard, source, seq))

    def add_token(self, token: TokenRow) -> None:
        """Enter a token."""
        self._change_catalogue()
        self._run(insert_row("tokens"), tuple(token))

    def revoke_token(self, id: str, at: float) -> bool:
        """End a token; False if there is no valid one of this id."""
        self._change_catalogue()
        return bool(self._run_for(_REVOKE, (at, id)))

    def use_token(self, id: str, at: float) -> None:
        """Note the last use of a token."""
        self._run(_USE, (at, id))

    def add_row(self, table: str, row: Sequence[Any]) -> None:
        """Write a row as it was elsewhere."""
        self._run(insert_row(table), tuple(row))

    def acquire_catalogue(self) -> None:
        """Let nobody else make models while the batch is open."""
        self._change_catalogue()

    def _change_catalogue(self, name: str | None = None) -> None:
        """Note a change of the rows of models or tokens; refuse a name that is taken."""

    def _on_new_shard(self, shard: int) -> None:
        """A shard is new, and nobody else knows it yet."""
