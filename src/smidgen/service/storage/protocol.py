"""The protocols `Store` and `StoreReader`.

A store keeps models, events, decisions, states and tokens. Events belong to a shard; ``seq`` and versions count per
shard. A model has one shard, or several if it is keyed and asks for them. A writer works in batches (`Store.begin`,
`Store.commit`), and each command of a batch has its own savepoint. A `StoreReader` sees committed data, never waits for
the writer, and may be used from any thread.

`smidgen.testing.check_store` checks a store against this contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

from smidgen.service.log.checkpoint import CarriedDecision, Checkpoint, CheckpointState, Lineage
from smidgen.service.log.events import Event
from smidgen.service.storage.records import (
    CallRow,
    Counts,
    DecisionRow,
    LeaseRow,
    ModelRow,
    NewDecision,
    NewExpiry,
    NewFeedback,
    NewReport,
    State,
    TokenRow,
    WorkerRow,
    WriteResult,
)


class CheckpointReader(Protocol):
    """Reads retention checkpoints and lineage."""

    def checkpoint_states(self, shard: int) -> Iterator[CheckpointState]:
        """Yield the states of all learners at the checkpoint, in the order of their keys."""
        ...

    def carried_decisions(self, shard: int) -> list[CarriedDecision]:
        """The decisions that the base carries, in order."""
        ...

    def decisions_to_carry(self, shard: int, seq: int, now: float, after: int) -> list[int]:
        """Decisions up to an event that later events are about, or that are open at a time, in order.

        With ``after`` greater than ``seq``: only decisions that events after ``after`` are about.
        """
        ...

    def counts_up_to(self, shard: int, seq: int) -> tuple[int, int]:
        """Count decisions and late answers up to an event."""
        ...

    def find_erased_decision(self, id: str) -> int | None:
        """The shard of a decision that was erased with the rows under a base; None if there is none."""
        ...

    def lineage(self) -> list[Lineage]:
        """The models that began with the state of others."""
        ...


class ModelWriter(Protocol):
    """Writes retention checkpoints, lineage and names of models."""

    def revive(self, model: int) -> None:
        """Restore an archived model."""
        ...

    def rename(self, model: int, name: str) -> None:
        """Give a model another name, which no other has."""
        ...

    def derive(self, shard: int, source: int, seq: int) -> None:
        """Note that a model began with the state of another after an event."""
        ...

    def stage(self, shard: int, states: Sequence[CheckpointState]) -> None:
        """Write the states of a base that is written later; readers do not see them until then."""
        ...

    def unstage(self, shard: int) -> None:
        """Delete staged states."""
        ...

    def write_checkpoint(self, shard: int, base: Checkpoint, carried: Sequence[CarriedDecision], at: float) -> int:
        """Let the log of a shard begin after a base whose states are staged; the number of its event.

        Rows under the base are no longer visible, except carried decisions; `Store.purge` erases them.
        """
        ...

    def drop_checkpoint_state(self, shard: int, key: str, at: float) -> None:
        """Delete the state of a key, and its decisions, from the base; an event has the digest of the new base."""
        ...

    def purge(self, limit: int) -> bool:
        """Erase the rows of about ``limit`` events under a base; False if none are left."""
        ...


class SharedWriting(Protocol):
    """Locks and leases for stores with several writers; a store with one writer grants all at once."""

    @property
    def shared(self) -> bool:
        """True if others may write to it too."""
        ...

    def acquire(self, *shards: int) -> None:
        """Acquire shards for the open batch: nobody else writes to them until it ends, and their counts are fresh.

        This waits for other writers only while the batch holds no shard. If it holds some and another is busy, `Taken`
        is raised and nothing is acquired: so there is no deadlock. A shard that the batch holds or has created is
        acquired already. A write to a shard acquires it.
        """
        ...

    def trust(self, owns: Callable[[int], bool]) -> None:
        """Let batches rely on memory for shards that this worker owns, instead of locking them.

        The commit compares the last events of these shards; it raises `smidgen.service.errors.Outdated`, and commits
        nothing, if another worker has written to one of them. The next batch locks them. A batch of `try_begin` raises
        `smidgen.service.errors.NeedsDatabase` where memory does not suffice.
        """
        ...

    def trusts(self, shard: int) -> bool:
        """True if what the writer knows of a shard is true, or is compared by the commit of the open batch."""
        ...

    def prefetch(self, first: Sequence[int | str], then: Sequence[int | str] = ()) -> None:
        """Acquire shards, and those of decisions, that the open batch is going to need.

        A remote store fetches them in one round trip. Any text may be given as an id. As `acquire` does, this waits for
        the shards of ``first`` if the batch holds nothing yet; it never waits for those of ``then``.
        """
        ...

    def catalogue_number(self, *, now: bool = False) -> int:
        """A number that grows with every committed change of the rows of models and tokens, by any writer.

        Any thread may ask. Within a batch it is the number as of the last `acquire` (no round trip of its own), and
        exact for the acquired shards; with ``now`` it is read again if the batch relies on memory. In a store with one
        writer, which knows its changes, it is constant.
        """
        ...

    def event_types(self, shard: int, after: int) -> set[str]:
        """The types of the events of a shard after one, each once."""
        ...

    def lease(self, owner: str, seconds: float, *shards: int) -> dict[int, int]:
        """Acquire or renew leases; returns the epochs of those granted, without shards that another worker owns.

        An epoch grows each time the owner changes. A lease is durable at once, whatever batch is open. Any thread may
        ask.
        """
        ...

    def leases(self) -> list[LeaseRow]:
        """All leases by shard, expired ones too; from any thread."""
        ...

    def release_leases(self, owner: str, *shards: int) -> None:
        """Release leases, so that other workers need not wait; leases of others stay."""
        ...

    def join(self, worker: str, addresses: str, seconds: float) -> list[WorkerRow]:
        """Enter this worker among the living, or renew that; returns the living in the order of their names."""
        ...

    def leave(self, worker: str) -> None:
        """Delete a worker that stops."""
        ...

    def announce(self) -> None:
        """Wake all workers that wait for an announcement: workers, or owners of shards, have changed."""
        ...

    def wait_for_announcement(self, seconds: float) -> bool:
        """Wait for an announcement of any worker, at most ``seconds``; True if there was one.

        For one thread only. The first call returns True at once.
        """
        ...

    def secret(self, name: str) -> bytes:
        """The secret of this name that all workers share, created when it is first asked for; from any thread."""
        ...


#: Named questions about a shard; each returns rows.
Question = Literal[
    "learnt_blocks",
    "made_blocks",
    "waits",
    "measures",
    "latest",
    "keys",
    "tally",
    "lately",
    "ended",
    "lately_all",
    "ended_all",
    "answers",
    "pairs",
    "groups",
    "agreement",
    "answered_at",
    "settings",
    "open",
]


class LogReader(Protocol):
    """Reads the parts of a log that a replay needs."""

    def checkpoint(self, shard: int) -> Checkpoint | None:
        """The retention checkpoint of a shard; None if its log begins with its first event."""
        ...

    def checkpoint_state(self, shard: int, key: str | None) -> CheckpointState | None:
        """Read the state of a learner at the checkpoint; None if it has none."""
        ...

    def changes(self, shard: int, after: int = 0, key: str | None = None) -> Iterator[tuple[Event, Event | None]]:
        """The events that made a version or amended settings, after an event, in order, each with its decision, if any.

        Of one key, if given: its own, and those that are about the whole shard.
        """
        ...

    def undo_events(self, shard: int) -> list[Event]:
        """Retractions and rollbacks, in order (`smidgen.service.log.events.REWINDS`)."""
        ...

    def events_of_key(self, shard: int, key: str) -> Iterator[Event]:
        """The events of a key, in order."""
        ...

    def last_forgetting(self, shard: int) -> int:
        """The last event that forgot a key, 0 if there is none."""
        ...

    def version_at(self, shard: int, seq: int) -> int:
        """The version after an event."""
        ...

    def last_number(self, shard: int, key: str | None, upto: int | None = None) -> int:
        """The number of a learner's latest decision, or of the latest up to an event; 0 if there is none."""
        ...

    def states(self, shard: int, key: str | None = None) -> Iterator[State]:
        """The states that were published for a learner, newest first."""
        ...

    def query(self, question: Question, shard: int, **values: Any) -> list[tuple[Any, ...]]:
        """The rows that answer a named question about a shard.

        ``learnt_blocks(after, upto, block)``
            By version: block, n, measured, sum of measures, of their squares, placed, sum of positions, longest lag.
        ``made_blocks(after, upto, block)``
            By event: block, n, explored, asked, forwarded.
        ``waits(after)``
            Seconds from decision to feedback, of versions after this one.
        ``measures(after)``
            The measures of versions after this one, where there are any.
        ``latest(before, limit)``
            `DecisionRow` values of the decisions before an event, newest first.
        ``keys(prefix, limit)``
            Keys that have events and begin so, in order.
        ``tally()``
            One row: decisions, learnt, late, and decisions without their event.
        ``groups(limit)``
            `GroupRow` values of the latest decisions that count in the comparison with a holdout, newest first.
        ``lately(limit)``
            `Outcome` values of the latest decisions that count, newest first: of the latest five times ``limit``, those
            that were shown.
        ``ended(now, limit)``
            The same of the latest decisions whose window is over, answered or not. Windows end in the order of the
            decisions; where a window was shortened meanwhile, some may be missing until those before them have ended.
        ``lately_all(limit)``, ``ended_all(now, limit)``
            The same with those of the policy of a holdout.
        ``answers(limit)``
            The same of the latest decisions with learned feedback, by falling version; without decisions of shadows and
            challengers.
        ``pairs(after, limit)``
            The decisions of a shadow or challenger after an event, in order: seq, agreed, target, chance; and of
            what was shown: shard, seq, the end of the window, shown, forwarded, agreed, the event that answered it, the
            measure, the unit; and the share of mixed pages, if it was mixed into what was shown.
        ``answered_at(version)``
            One row: when the latest answer up to a version was learned, in seconds since 1970; none if there is none.
        ``settings(limit)``
            Seq, type and time of the latest events that changed settings or went back, newest first.
        ``agreement(limit)``
            One row: of the latest decisions that could agree with what was shown, how many there are and how many do.
        ``open(now, limit)``
            One row: of the latest decisions, how many are shown and how many are still to be shown, without an answer
            and with a window that is not over. Dropped decisions of filters, and decisions
            of shadows and challengers, are neither.
        """
        ...


class LearnerStore(LogReader, Protocol):
    """Reads the log for replays, and keeps snapshots of learners."""

    @property
    def shared(self) -> bool:
        """True if others may write to it too."""
        ...

    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep the state of a learner after an event (`Store.publish`)."""
        ...


class StoreReader(LogReader, CheckpointReader, Protocol):
    """Reads committed data, from any thread."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Answer all queries of this thread within the block as of one moment."""
        ...

    def models(self) -> list[ModelRow]:
        """The models in the order of their creation."""
        ...

    def counts(self, shard: int) -> Counts | None:
        """Read the counts of a shard; None if there is no such shard."""
        ...

    def decision(self, id: str) -> DecisionRow | None:
        """A decision by its id; any text may be asked for."""
        ...

    def find_request(self, shard: int, request: str, *others: int) -> DecisionRow | None:
        """The decision with this request id of the app, in a shard or in others."""
        ...

    def follower_decisions(self, decision: str) -> list[DecisionRow]:
        """The decisions of shadows and challengers for the same request, by shard; any text may be asked for."""
        ...

    def find_call(self, shard: int, id: str) -> CallRow | None:
        """The call with this id of the app, if it wrote an event about no decision."""
        ...

    def event(self, shard: int, seq: int) -> Event | None:
        """One event."""
        ...

    def events(self, shard: int, after: int = 0, limit: int = 1000, most: int = 4 << 20) -> list[Event]:
        """The next events after one: at most ``limit``, and no more once their bodies reach ``most`` bytes."""
        ...

    def due_decisions(self, now: float, limit: int = 1000) -> list[DecisionRow]:
        """The decisions of all shards that expired and are still to be learned from.

        In the order of (expires_at, shard, seq).
        """
        ...

    def state_keys(self, shard: int) -> list[str]:
        """The keys that have a published state."""
        ...

    def tokens(self) -> list[TokenRow]:
        """All tokens, in the order of their creation."""
        ...

    def token(self, hash: bytes) -> TokenRow | None:
        """The token with this digest."""
        ...

    def stored_bytes(self) -> int:
        """Size of the database in bytes; snapshots in files and the write-ahead log are not part of it."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class Store(StoreReader, ModelWriter, SharedWriting, Protocol):
    """A writer. What it reads includes what it has written in the open batch.

    Attributes
    ----------
    author
        The id of the token whose call causes the events, or None. Events that operators cause
        (`smidgen.service.log.events.SIGNED`) keep it as the field ``token_id`` of their bodies.
    """

    author: str | None

    @property
    def in_batch(self) -> bool:
        """True if a batch is open."""
        ...

    def begin(self) -> None:
        """Open a batch."""
        ...

    def try_begin(self) -> bool:
        """Open a batch if that, and its writes, wait for nobody; else False."""
        ...

    def commit(self) -> None:
        """Commit the batch; returns when it is durable."""
        ...

    def rollback(self) -> None:
        """Undo the batch, if one is open."""
        ...

    def savepoint(self) -> None:
        """Begin a command within the batch."""
        ...

    def release(self) -> None:
        """End the command."""
        ...

    def rollback_to_savepoint(self) -> None:
        """Undo the command and nothing else of the batch."""
        ...

    def create(self, name: str, body: bytes, resolved: dict[str, Any], at: float) -> ModelRow:
        """Enter a model with one shard, which the batch holds; its first event is appended by the caller.

        If another writer has just made one of this name, `Taken` is raised.
        """
        ...

    def archive(self, model: int, at: float) -> None:
        """Archive a model."""
        ...

    def amend(self, model: int, resolved: dict[str, Any]) -> None:
        """Change settings; the event is appended by the caller."""
        ...

    def append(
        self,
        shard: int,
        type: str,
        at: float,
        body: bytes | None,
        version: int = 1,
        *,
        key: str | None = None,
        changes: bool = False,
        call: tuple[str, bytes] | None = None,
    ) -> int:
        """Write an event that is about no decision; its number.

        One that changes weights makes a version. ``call`` is the app's own id of the call and the digest of its body;
        an id is entered once.
        """
        ...

    def write_decisions(self, shard: int, rows: Sequence[NewDecision]) -> int:
        """Write decisions, in order; the number of the first one's event."""
        ...

    def write_feedback(self, shard: int, rows: Sequence[NewFeedback]) -> list[WriteResult]:
        """Write feedback, in order, where it is the first of its decision; the result of each."""
        ...

    def write_expiries(self, shard: int, rows: Sequence[NewExpiry]) -> list[WriteResult]:
        """Write that windows closed without feedback, or the reward of reports, where a decision is to be learned from.

        The verdict of one that is not due is ``"duplicate"``, of one that was refused ``"late"``.
        """
        ...

    def write_report(self, shard: int, row: NewReport) -> WriteResult:
        """Write a report that does not close its decision; the decision counts as shown."""
        ...

    def withdraw_reports(self, shard: int, decision: str, at: float, key: str | None) -> WriteResult:
        """Drop the reports on an open decision; ``"unknown"`` if there are none. This makes no version."""
        ...

    def write_follower_update(self, shard: int, row: NewFeedback) -> WriteResult:
        """Write that a shadow learned from the feedback of what was shown; this closes the decision of the shadow.

        The status is ``"duplicate"`` if it is closed, ``"unknown"`` if there is no such decision of a shadow.
        """
        ...

    def cancel_expiries(self, shard: int) -> None:
        """Cancel what the open decisions of a shard would learn when they expire."""
        ...

    def mark_shown(self, shard: int, decision: str, at: float, key: str | None) -> bool | None:
        """Mark a decision as shown; False if it is already, None if its window is over or it is not of this shard."""
        ...

    def write_retraction(self, shard: int, decision: str, at: float, key: str | None) -> WriteResult:
        """Retract what was learned of a decision, which is open again; ``"unknown"`` if nothing was."""
        ...

    def write_rollback(self, shard: int, version: int, at: float) -> WriteResult:
        """Roll back to a version; later feedback stays in the log, closed, and is not measured.

        The verdict is ``"unknown"`` if there is no such version.
        """
        ...

    def forget(
        self,
        shard: int,
        key: str | None,
        at: float,
        places: tuple[int, int] | None = None,
        rewrites: Mapping[int, bytes] | None = None,
        own: Sequence[int] = (),
    ) -> tuple[int, WriteResult]:
        """Erase the events of a key, its decisions and its state; the number of events, and the result.

        Without a key, the events ``own`` are erased, and the decisions that they made.

        ``places`` are the numbers of places of names and of numbers in use, where keys share them; the event keeps
        them, so that the places of erased names are not used again. ``rewrites`` are new bodies of events of other
        keys, by number; the states of their keys are deleted. The last event has the digest of each.

        Numbers keep no gap: an erased event keeps its number and the digest of its content, and so the chain. After
        `vacuum` the content is not in the store's files any more.
        """
        ...

    def vacuum(self) -> bool:
        """Between batches: remove erased data from the files; False if a reader is in the way.

        A large file is not rewritten here: see `is_fragmented`.
        """
        ...

    @property
    def is_fragmented(self) -> bool:
        """True if unused parts of the file may still hold parts of rows that were erased."""
        ...

    def compact(self) -> None:
        """Between batches: rewrite a fragmented file; nobody can write meanwhile."""
        ...

    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep the state of a learner after an event. The state of a key joins the open batch.

        With the epoch of a lease: False, and nothing is kept, if another worker owns the shard since.
        """
        ...

    def drop_states(self, shard: int, before: int) -> None:
        """Between batches: delete the states of the shard itself from before an event; states of keys stay."""
        ...

    def add_token(self, token: TokenRow) -> None:
        """Enter a token."""
        ...

    def revoke_token(self, id: str, at: float) -> bool:
        """Revoke a token; False if there is no valid one of this id."""
        ...

    def use_token(self, id: str, at: float) -> None:
        """Note that a token was used at a time; an earlier time than the stored one changes nothing."""
        ...

    def probe(self) -> None:
        """Write data without meaning: the commit shows whether the store accepts writes."""
        ...

    def seems_writable(self) -> bool:
        """Report without a write that nothing known prevents the next one; False calls for `probe`. Any thread.

        Raises
        ------
        DatabaseFailed
            If the database cannot be reached.
        """
        ...

    def reader(self) -> StoreReader:
        """A reading view of its own."""
        ...
