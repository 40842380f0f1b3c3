"""The Store and Reading protocols.

A store keeps models, events, decisions, states and tokens. Events belong to a shard; ``seq`` and versions count per
shard, and a model has one shard unless it is keyed and asks for more. Writing happens in a batch (`Store.begin`,
`Store.commit`), every command of it under a savepoint of its own. Reading happens through a `Reading`, which sees what
is committed, never waits for the writer, and may be used from any thread.

`smidgen.testing.check_store` holds a store against this contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    WriteResult,
)

# The part of the store's door that is about bases (logs whose beginning is erased), and about models as a whole.


class CheckpointReader(Protocol):
    """Reads retention checkpoints and lineage."""

    def checkpoint_states(self, shard: int) -> Iterator[CheckpointState]:
        """Yield the states of all learners at the checkpoint, in the order of their keys."""
        ...

    def carried_decisions(self, shard: int) -> list[CarriedDecision]:
        """The decisions under the base that are kept, in order."""
        ...

    def decisions_to_carry(self, shard: int, seq: int, now: float, after: int) -> list[int]:
        """The decisions up to an event that later events are about, or that are open at a moment, in order.

        With ``after`` beyond ``seq``: only those that events after it are about.
        """
        ...

    def counts_up_to(self, shard: int, seq: int) -> tuple[int, int]:
        """Count decisions and late answers up to an event."""
        ...

    def find_erased_decision(self, id: str) -> int | None:
        """The shard of a decision that was erased since it lies under a base; None if none is known."""
        ...

    def lineage(self) -> list[Lineage]:
        """Which models began with what others had learnt."""
        ...


class ModelWriter(Protocol):
    """Writes retention checkpoints, lineage and names of models."""

    def revive(self, model: int) -> None:
        """Note that an archived model decides again."""
        ...

    def rename(self, model: int, name: str) -> None:
        """Give a model another name, which no other has."""
        ...

    def derive(self, shard: int, source: int, seq: int) -> None:
        """Note that a model began with what another had learnt up to an event."""
        ...

    def stage(self, shard: int, states: Sequence[CheckpointState]) -> None:
        """Write states of a base that is still to come; until it does, nobody sees them."""
        ...

    def unstage(self, shard: int) -> None:
        """Drop the states of a base that did not come."""
        ...

    def write_checkpoint(self, shard: int, base: Checkpoint, carried: Sequence[CarriedDecision], at: float) -> int:
        """Let a log begin after a base whose states are staged; the number of the event that says so.

        What lies under the base is not seen any more, but for the decisions that are carried; `Store.tidy` erases it.
        """
        ...

    def drop_checkpoint_state(self, shard: int, key: str, at: float) -> None:
        """Let a base hold nothing of a key, nor keep any of its decisions; an event tells of the base as it is then."""
        ...

    def purge(self, limit: int) -> bool:
        """Erase some of what lies under a base, about so many events; False if nothing is left."""
        ...


# The part of the store's door that is about others who write to the same store: shards that are taken, and leases.


class SharedWriting(Protocol):
    """Locks and leases for stores with several writers; with one writer all of it is granted at once."""

    @property
    def shared(self) -> bool:
        """True if others may write to it too."""
        ...

    def acquire(self, *shards: int) -> None:
        """Take shards for the open batch: nobody else writes to them until it ends, and their counts are fresh.

        It waits for others only while the batch holds no shard. If it holds some and another is busy, `Taken` is
        raised, and nothing is taken: so nobody ever waits in a ring. A shard that the batch holds, or has made, is
        entered already. Whoever writes to a shard that was not entered enters it by that.
        """
        ...

    def prefetch(self, first: Sequence[int | str], then: Sequence[int | str] = ()) -> None:
        """A hint: the open batch will be about these shards and about these decisions; their shards are entered.

        A store far away fetches them together, in one round trip. Any text may be given. It waits, as `enter` does, for
        what comes first, if the batch holds nothing yet, and never for what comes then.
        """
        ...

    def catalogue_number(self) -> int:
        """A number that grows with every committed change of the rows of models and of tokens, by whomever.

        Any thread may ask. Within a batch it is the number as of the last `enter` (no round trip of its own), and
        exact for the shards that are entered. Where there is one writer, who knows what it changed, it stays the same.
        """
        ...

    def event_types(self, shard: int, after: int) -> set[str]:
        """The types of the events of a shard after one, each once: what others wrote, for one who wrote that one."""
        ...

    def lease(self, owner: str, seconds: float, *shards: int) -> dict[int, int]:
        """Own shards, or go on owning them, for so long; those that somebody else owns are left out.

        The numbers are the epochs: one grows each time the owner changes, and lasts at once, whatever batch is open.
        Any thread may ask.
        """
        ...

    def leases(self) -> list[LeaseRow]:
        """Read all leases, by shard, those that have run out too; from any thread."""
        ...

    def release_leases(self, owner: str, *shards: int) -> None:
        """Own shards no more, so that another need not wait; nothing of those that somebody else owns."""
        ...


#: What can be asked of the decisions of a shard; each gives rows.
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
        """Where the log of a shard begins, if not with its first event: what lies under it is not seen any more."""
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
        """The events that take back what earlier ones did, in order (`smidgen.service.log.events.REWINDS`)."""
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
            The same of the latest decisions from which something was learnt, by falling version; not of those that
            were made beside others.
        ``pairs(after, limit)``
            The decisions that were made beside others after an event, in order: seq, agreed, target, chance; and of
            what was shown: shard, seq, the end of the window, shown, forwarded, agreed, the event that answered it, the
            measure, the unit.
        ``answered_at(version)``
            One row: when the latest answer up to a version was learned, in seconds since 1970; none if there is none.
        ``settings(limit)``
            Seq, type and time of the latest events that changed settings or went back, newest first.
        ``agreement(limit)``
            One row: of the latest decisions that could agree with what was shown, how many there are and how many do.
        ``open(now, limit)``
            One row: of the latest decisions, how many are shown and how many are still to be shown, without an answer
            and with a window that is not over. What a filter dropped, and what was made beside another, is neither.
        """
        ...


class LearnerStore(LogReader, Protocol):
    """A log to replay, and a place for snapshots of learners."""

    @property
    def shared(self) -> bool:
        """True if others may write to it too."""
        ...

    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep what a learner has become after an event (`Store.publish`)."""
        ...


class StoreReader(LogReader, CheckpointReader, Protocol):
    """Reads committed data, from any thread."""

    def snapshot(self) -> AbstractContextManager[None]:
        """All that this thread asks within the block is answered as of one moment, whatever is committed meanwhile."""
        ...

    def models(self) -> list[ModelRow]:
        """The models in the order of their making."""
        ...

    def counts(self, shard: int) -> Counts | None:
        """Read the counts of a shard; None if there is no such shard."""
        ...

    def decision(self, id: str) -> DecisionRow | None:
        """A decision by its id; any text may be asked for."""
        ...

    def find_request(self, shard: int, request: str, *others: int) -> DecisionRow | None:
        """The decision that the app asked for under this id of its own, in a shard or in others."""
        ...

    def follower_decisions(self, decision: str) -> list[DecisionRow]:
        """The decisions that other models made beside this one, by shard; any text may be asked for."""
        ...

    def find_call(self, shard: int, id: str) -> CallRow | None:
        """The call that the app made under this id of its own, if it made an event about no decision."""
        ...

    def event(self, shard: int, seq: int) -> Event | None:
        """One event."""
        ...

    def events(self, shard: int, after: int = 0, limit: int = 1000, most: int = 4 << 20) -> list[Event]:
        """The next events after one: at most so many, and no more once their bodies reach so many bytes."""
        ...

    def due_decisions(self, now: float, limit: int = 1000) -> list[DecisionRow]:
        """The decisions of all shards whose windows are over and whose silence is still to be learnt.

        In the order of (expires_at, shard, seq).
        """
        ...

    def state_keys(self, shard: int) -> list[str]:
        """The keys that have a published state."""
        ...

    def tokens(self) -> list[TokenRow]:
        """All tokens, in the order of their making."""
        ...

    def token(self, hash: bytes) -> TokenRow | None:
        """The token with this digest."""
        ...

    def stored_bytes(self) -> int:
        """Size of the database in bytes; snapshots in files and the write-ahead log are not part of it."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...


class Store(StoreReader, ModelWriter, SharedWriting, Protocol):
    """One who writes. What it reads includes what it has written in the open batch.

    Attributes
    ----------
    author
        The id of the token by whose call events are being written, or None: events that operators cause
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
        """Open a batch if nobody has to be waited for, now or while it is written; else False."""
        ...

    def commit(self) -> None:
        """Make the batch last; returns when it does."""
        ...

    def rollback(self) -> None:
        """Undo the batch, if one is open."""
        ...

    def savepoint(self) -> None:
        """Begin a command within the batch."""
        ...

    def release(self) -> None:
        """The command is done; it lasts if the batch does."""
        ...

    def rollback_to_savepoint(self) -> None:
        """Undo the command, and nothing else of the batch."""
        ...

    def create(self, name: str, body: bytes, resolved: dict[str, Any], at: float) -> ModelRow:
        """Enter a model with one shard, which the batch holds; its first event is appended by the caller.

        If another writer has just made one of this name, `Taken` is raised.
        """
        ...

    def archive(self, model: int, at: float) -> None:
        """Note that a model decides no more."""
        ...

    def amend(self, model: int, resolved: dict[str, Any]) -> None:
        """Put other settings in force; the event is appended by the caller."""
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
        """Write feedback, in order, where it is the first to its decision, and say what became of each."""
        ...

    def write_expiries(self, shard: int, rows: Sequence[NewExpiry]) -> list[WriteResult]:
        """Write that windows closed without feedback, or what reports come to, where that is still to be learnt.

        The verdict of one that is not due is ``"duplicate"``, of one that was refused ``"late"``.
        """
        ...

    def write_report(self, shard: int, row: NewReport) -> WriteResult:
        """Write a report that does not close its decision; the decision counts as shown."""
        ...

    def withdraw_reports(self, shard: int, decision: str, at: float, key: str | None) -> WriteResult:
        """Drop what was reported on an open decision; ``"unknown"`` if nothing was. It makes no version."""
        ...

    def write_follower_update(self, shard: int, row: NewFeedback) -> WriteResult:
        """Write that a decision beside another was taught what came of that one, if it is open; this closes it.

        The verdict is ``"duplicate"`` if it is closed, ``"unknown"`` if there is no such decision beside another.
        """
        ...

    def cancel_expiries(self, shard: int) -> None:
        """Let the silence of the open decisions of a shard mean nothing any more."""
        ...

    def mark_shown(self, shard: int, decision: str, at: float, key: str | None) -> bool | None:
        """Let a decision count; False if it does already, None if its window is over or it is not of this shard."""
        ...

    def write_retraction(self, shard: int, decision: str, at: float, key: str | None) -> WriteResult:
        """Take back what was learnt of a decision, which is open again; ``"unknown"`` if nothing was."""
        ...

    def write_rollback(self, shard: int, version: int, at: float) -> WriteResult:
        """Go back to what was learnt at a version: the answers after it stay in the log, closed, and are not measured.

        The verdict is ``"unknown"`` if there is no such version.
        """
        ...

    def forget(
        self,
        shard: int,
        key: str,
        at: float,
        places: tuple[int, int] | None = None,
        rewrites: Mapping[int, bytes] | None = None,
    ) -> tuple[int, WriteResult]:
        """Erase the events of a key: what they say, its decisions, its state. How many, and the version that it makes.

        ``places`` are how many places of names and of numbers are taken, where keys share them: its event says so, so
        that nobody else gets the places of names that are gone. ``rewrites`` are events of others, by number, that
        say something else from now on, and what; the states of their keys go. The event that ends it has the digest of
        each.

        Numbers keep no gap: an erased event keeps its number, the digest of its content, and so the chain. After the
        commit nothing of the content is left in the store's files (`Store.cleanse`).
        """
        ...

    def vacuum(self) -> bool:
        """Between batches: let nothing that was erased stay in the files; False if somebody's reading is in the way.

        A file that is large is not written anew here: see `fragmented`.
        """
        ...

    @property
    def is_fragmented(self) -> bool:
        """True if unused parts of the file may still hold parts of rows that were erased."""
        ...

    def compact(self) -> None:
        """Between batches: write a file anew that is fragmented; nobody can write meanwhile."""
        ...

    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep what a learner has become after an event. A key's state joins the open batch.

        With the epoch of a lease: False if somebody else owns the shard since, and nothing is kept.
        """
        ...

    def drop_states(self, shard: int, before: int) -> None:
        """Between batches: keep no state of the shard itself from before an event; what keys became is kept."""
        ...

    def add_token(self, token: TokenRow) -> None:
        """Enter a token."""
        ...

    def revoke_token(self, id: str, at: float) -> bool:
        """End a token; False if there is no valid one of this id."""
        ...

    def use_token(self, id: str, at: float) -> None:
        """Note that a token was used at a time; an earlier time than the stored one changes nothing."""
        ...

    def probe(self) -> None:
        """Write something that means nothing: whether the batch lasts says whether anything would."""
        ...

    def reader(self) -> StoreReader:
        """A reading view of its own."""
        ...
