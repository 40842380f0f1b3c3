"""The door of the store: what the rest of the service may ask of it, whatever stands behind.

A store keeps models, events, decisions, states and tokens. Events belong to a slot; a model has one slot today, so that
``seq`` and versions count per model. Writing happens in a batch (`Store.begin`, `Store.commit`), every command of it
under a savepoint of its own. Reading happens through a `Reading`, which sees what is committed, never waits for the
writer, and may be used from any thread.

`smidgen.testing.check_store` holds a store against this contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

from smidgen.service.store.base_protocol import BaseReading, Retaining
from smidgen.service.store.events import Event
from smidgen.service.store.rows import (
    Asked,
    CallRow,
    Counts,
    DecisionRow,
    Expiry,
    ModelRow,
    State,
    TokenRow,
    Told,
    Verdict,
)
from smidgen.service.store.sharing_protocol import Sharing

#: What can be asked of the decisions of a slot; each gives rows.
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
    "answers",
    "pairs",
    "agreement",
]


class Reading(BaseReading, Protocol):
    """What is committed, for readers in any thread."""

    def moment(self) -> AbstractContextManager[None]:
        """All that this thread asks within the block is answered as of one moment, whatever is committed meanwhile."""
        ...

    def models(self) -> list[ModelRow]:
        """The models in the order of their making."""
        ...

    def counts(self, slot: int) -> Counts | None:
        """How far a slot is; None if there is no such slot."""
        ...

    def decision(self, id: str) -> DecisionRow | None:
        """A decision by its id; any text may be asked for."""
        ...

    def requested(self, slot: int, request: str, *others: int) -> DecisionRow | None:
        """The decision that the app asked for under this id of its own, in a slot or in others."""
        ...

    def beside(self, decision: str) -> list[DecisionRow]:
        """The decisions that other models made beside this one, by slot; any text may be asked for."""
        ...

    def called(self, slot: int, id: str) -> CallRow | None:
        """The call that the app made under this id of its own, if it made an event about no decision."""
        ...

    def event(self, slot: int, seq: int) -> Event | None:
        """One event."""
        ...

    def events(self, slot: int, after: int = 0, limit: int = 1000, most: int = 4 << 20) -> list[Event]:
        """The next events after one: at most so many, and no more once their bodies reach so many bytes."""
        ...

    def changes(self, slot: int, after: int = 0, key: str | None = None) -> Iterator[tuple[Event, Event | None]]:
        """The events that made a version or amended settings, after an event, in order, each with its decision, if any.

        Of one key, if given: its own, and those that are about the whole slot.
        """
        ...

    def rewinds(self, slot: int) -> list[Event]:
        """The events that take back what earlier ones did, in order (`smidgen.service.store.events.REWINDS`)."""
        ...

    def of_key(self, slot: int, key: str) -> Iterator[Event]:
        """The events of a key, in order."""
        ...

    def forgotten(self, slot: int) -> int:
        """The last event that forgot a key, 0 if there is none."""
        ...

    def version_at(self, slot: int, seq: int) -> int:
        """The version after an event."""
        ...

    def due(self, now: float, limit: int = 1000) -> list[DecisionRow]:
        """The decisions of all slots whose windows are over and whose silence is still to be learnt.

        In the order of (expires_at, slot, seq).
        """
        ...

    def last_number(self, slot: int, key: str | None, upto: int | None = None) -> int:
        """The number of a learner's latest decision, or of the latest up to an event; 0 if there is none."""
        ...

    def states(self, slot: int, key: str | None = None) -> Iterator[State]:
        """The states that were published for a learner, newest first."""
        ...

    def state_keys(self, slot: int) -> list[str]:
        """The keys that have a published state."""
        ...

    def look(self, question: Question, slot: int, **values: Any) -> list[tuple[Any, ...]]:
        """The rows that answer a named question about a slot.

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
        ``lately(limit)``
            `Outcome` values of the latest decisions that count, newest first: of the latest five times ``limit``, those
            that were shown.
        ``ended(now, limit)``
            The same of the latest decisions whose window is over, answered or not. Windows end in the order of the
            decisions; where a window was shortened meanwhile, some may be missing until those before them have ended.
        ``answers(limit)``
            The same of the latest decisions from which something was learnt, by falling version; not of those that
            were made beside others.
        ``pairs(after, limit)``
            The decisions that were made beside others after an event, in order: seq, agreed, target, chance; and of
            what was shown: slot, seq, the end of the window, shown, forwarded, agreed, the event that answered it, the
            measure.
        ``agreement(limit)``
            One row: of the latest decisions that could agree with what was shown, how many there are and how many do.
        """
        ...

    def tokens(self) -> list[TokenRow]:
        """All tokens, in the order of their making."""
        ...

    def token(self, hash: bytes) -> TokenRow | None:
        """The token with this digest."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...


class Store(Reading, Retaining, Sharing, Protocol):
    """One who writes. What it reads includes what it has written in the open batch."""

    @property
    def in_batch(self) -> bool:
        """Whether a batch is open."""
        ...

    def begin(self) -> None:
        """Open a batch."""
        ...

    def begin_at_once(self) -> bool:
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

    def undo(self) -> None:
        """Undo the command, and nothing else of the batch."""
        ...

    def create(self, name: str, body: bytes, resolved: dict[str, Any], at: float) -> ModelRow:
        """Enter a model with one slot, which the batch holds; its first event is appended by the caller.

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
        slot: int,
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

    def decided(self, slot: int, rows: Sequence[Asked]) -> int:
        """Write decisions, in order; the number of the first one's event."""
        ...

    def answered(self, slot: int, rows: Sequence[Told]) -> list[Verdict]:
        """Write feedback, in order, where it is the first to its decision, and say what became of each."""
        ...

    def expired(self, slot: int, rows: Sequence[Expiry]) -> list[Verdict]:
        """Write that windows closed without feedback, where that is so and still to be learnt.

        The verdict of one that is not due is ``"duplicate"``, of one that was refused ``"late"``.
        """
        ...

    def taught(self, slot: int, row: Told) -> Verdict:
        """Write that a decision beside another was taught what came of that one, if it is open; this closes it.

        The verdict is ``"duplicate"`` if it is closed, ``"unknown"`` if there is no such decision beside another.
        """
        ...

    def unwait(self, slot: int) -> None:
        """Let the silence of the open decisions of a slot mean nothing any more."""
        ...

    def shown(self, slot: int, decision: str, at: float, key: str | None) -> bool | None:
        """Let a decision count; False if it does already, None if its window is over or it is not of this slot."""
        ...

    def retracted(self, slot: int, decision: str, at: float, key: str | None) -> Verdict:
        """Take back what was learnt of a decision, which is open again; ``"unknown"`` if nothing was."""
        ...

    def rolled_back(self, slot: int, version: int, at: float) -> Verdict:
        """Go back to what was learnt at a version: the answers after it stay in the log, closed, and are not measured.

        The verdict is ``"unknown"`` if there is no such version.
        """
        ...

    def forget(self, slot: int, key: str, at: float, places: tuple[int, int] | None = None) -> tuple[int, Verdict]:
        """Erase the events of a key: what they say, its decisions, its state. How many, and the version that it makes.

        ``places`` are how many places of names and of numbers are taken, where keys share them: its event says so, so
        that nobody else gets the places of names that are gone.

        Numbers keep no gap: an erased event keeps its number, the digest of its content, and so the chain. After the
        commit nothing of the content is left in the store's files (`Store.cleanse`).
        """
        ...

    def cleanse(self) -> bool:
        """Between batches: let nothing that was erased stay in the files; False if somebody's reading is in the way."""
        ...

    def publish(self, slot: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep what a learner has become after an event. A key's state joins the open batch.

        With the epoch of a lease: False if somebody else owns the slot since, and nothing is kept.
        """
        ...

    def erase(self, slot: int, seq: int) -> None:
        """Erase what one event says, as `forget` does; its number, its version and the chain stay."""
        ...

    def drop_states(self, slot: int, before: int) -> None:
        """Between batches: keep no state of the slot itself from before an event; what keys became is kept."""
        ...

    def add_token(self, token: TokenRow) -> None:
        """Enter a token."""
        ...

    def revoke_token(self, id: str, at: float) -> bool:
        """End a token; False if there is no valid one of this id."""
        ...

    def probe(self) -> None:
        """Write something that means nothing: whether the batch lasts says whether anything would."""
        ...

    def reader(self) -> Reading:
        """A reading view of its own."""
        ...
