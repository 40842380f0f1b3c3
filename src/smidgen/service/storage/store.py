"""The facade of the stores on SQL: each verb of `Store` belongs to the reader, the writer, or the writer of events."""

from __future__ import annotations

from smidgen.service.storage.reader import SqlStoreReader
from smidgen.service.storage.writer import SqlStoreWriter


class SqlStore:
    """Binds the verbs that are the same for every database; `SQLiteStore` and `PostgresStore` add the others.

    Parameters
    ----------
    reads
        The reader, which sees the open batch.
    writes
        The writer.
    """

    def __init__(self, reads: SqlStoreReader, writes: SqlStoreWriter) -> None:
        events = writes.events
        self._events = events
        # Reading
        self.snapshot, self.states, self.state_keys = reads.snapshot, reads.states, reads.state_keys
        self.models, self.tokens, self.token, self.lineage = reads.models, reads.tokens, reads.token, reads.lineage
        self.event, self.events, self.events_of_key = reads.event, reads.events, reads.events_of_key
        self.changes, self.undo_events, self.version_at = reads.changes, reads.undo_events, reads.version_at
        self.chain, self.last_forgetting, self.find_call = reads.chain, reads.last_forgetting, reads.find_call
        self.decision, self.find_request, self.due_decisions = reads.decision, reads.find_request, reads.due_decisions
        self.follower_decisions, self.find_erased_decision = reads.follower_decisions, reads.find_erased_decision
        self.checkpoint, self.floor, self.counts_up_to = reads.checkpoint, reads.floor, reads.counts_up_to
        self.checkpoint_state, self.checkpoint_states = reads.checkpoint_state, reads.checkpoint_states
        self.carried_decisions, self.decisions_to_carry = reads.carried_decisions, reads.decisions_to_carry
        self.query, self.contradictions, self.stored_bytes = reads.query, reads.contradictions, reads.stored_bytes
        self.rows_of, self.count_of_rows = reads.rows_of, reads.count_of_rows
        # Reading, with the counts of the open batch
        self.counts, self.last_number = writes.counts, writes.last_number
        # Events
        self.append, self.write_decisions, self.write_feedback = (
            events.append,
            events.write_decisions,
            events.write_feedback,
        )
        self.write_expiries, self.write_follower_update = events.write_expiries, events.write_follower_update
        self.write_report, self.withdraw_reports = events.write_report, events.withdraw_reports
        self.mark_shown, self.write_retraction, self.write_rollback = (
            events.mark_shown,
            events.write_retraction,
            events.write_rollback,
        )
        self.cancel_expiries = writes.cancel_expiries
        # Retention checkpoints
        self.stage, self.unstage, self.drop_checkpoint_state = (
            writes.stage,
            writes.unstage,
            writes.drop_checkpoint_state,
        )
        # Models and tokens
        self.create, self.archive, self.amend, self.revive = writes.create, writes.archive, writes.amend, writes.revive
        self.rename, self.derive, self.add_row = writes.rename, writes.derive, writes.add_row
        self.add_token, self.revoke_token, self.use_token = writes.add_token, writes.revoke_token, writes.use_token
        self.acquire_catalogue = writes.acquire_catalogue

    @property
    def author(self) -> str | None:
        """The id of the token whose call causes the events (`EventWriter.author`)."""
        return self._events.author

    @author.setter
    def author(self, id: str | None) -> None:
        self._events.author = id
