"""The store in memory, for tests that need no disk: the same contract, where "lasts" means "was committed"."""

from __future__ import annotations

import time
from typing import Any

from service.memory.checkpoint_writes import MemoryCheckpointWriter
from service.memory.reads import MemoryReader
from service.memory.tables import Tables
from service.memory.writes import CommittedTables
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import Counts, ModelRow, State, TokenRow
from smidgen.service.storage.sqlite import SingleWriter

__all__ = ["CommittedTables", "MemoryStore"]


class MemoryStore(SingleWriter, MemoryCheckpointWriter):
    """Everything in dictionaries. A batch is a list of changes, made to a copy now and to the shelf at the commit.

    Parameters
    ----------
    shelf
        Where what is committed stays; a new one, if left out.

    Examples
    --------
    >>> from service.memory import MemoryStore, CommittedTables
    >>> shelf = CommittedTables()
    >>> store = MemoryStore(shelf)
    >>> store.begin(); model = store.create("news", b"{}", {}, 0.0); len(store.reader().models())
    0
    >>> store.commit(); len(MemoryStore(shelf).models())
    1
    """

    # The batch

    @property
    def in_batch(self) -> bool:
        """True if a batch is open."""
        return self._changes is not None

    def begin(self) -> None:
        """Open a batch."""
        if self._changes is not None:
            raise RuntimeError("a batch is open already")
        self._changes = []

    def try_begin(self) -> bool:
        """Open a batch: nobody has to be waited for, unless others write too."""
        if self.shared:
            return False
        self.begin()
        return True

    def commit(self) -> None:
        """Make the batch last."""
        with self.shelf.lock:
            for change in self._open():
                change(self.shelf.tables)
        self._changes = None

    def rollback(self) -> None:
        """Undo the batch, if one is open."""
        if self._changes is not None:
            self._back_to(0)
            self._changes = None

    def savepoint(self) -> None:
        """Begin a command within the batch."""
        self._marked = len(self._open())

    def release(self) -> None:
        """The command is done; it lasts if the batch does."""
        self._marked = len(self._open())

    def rollback_to_savepoint(self) -> None:
        """Undo the command, and nothing else of the batch."""
        self._back_to(self._marked)

    # What is written

    def create(self, name: str, body: bytes, resolved: dict[str, Any], at: float) -> ModelRow:
        """Enter a model with one shard; its first event is appended by the caller."""
        number = max((model.id for model in self._tables.models.values()), default=0) + 1
        row = ModelRow(number, name, number, body, resolved, at)

        def enter(tables: Tables) -> None:
            tables.models[row.id] = row
            tables.counts[row.shard] = Counts()
            tables.events[row.shard] = []

        self._do(enter)
        return row

    def archive(self, model: int, at: float) -> None:
        """Note that a model decides no more."""
        self._note_model(model, archived_at=at)

    def amend(self, model: int, resolved: dict[str, Any]) -> None:
        """Put other settings in force; the event is appended by the caller."""
        self._note_model(model, resolved=resolved)

    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep what a learner has become after an event; without a key at once, as a file would be."""
        place = f"the state of key {key!r}" if key is not None else f"the state after event {seq}"
        state = State(seq, content, place, True, len(content), time.time())
        if key is not None:
            self._do(lambda tables: tables.states.__setitem__((shard, key), [state]))
            return True
        with self.shelf.lock:
            for tables in (self.shelf.tables, self._tables):
                older = [kept for kept in tables.states.get((shard, None), []) if kept.seq < seq]
                tables.states[shard, None] = [state, *older][:3]
        return True

    def drop_states(self, shard: int, before: int) -> None:
        """Between batches: keep no state of the shard itself from before an event."""
        with self.shelf.lock:
            for tables in (self.shelf.tables, self._tables):
                found = tables.states.get((shard, None), [])
                tables.states[shard, None] = [state for state in found if state.seq >= before]

    def add_token(self, token: TokenRow) -> None:
        """Enter a token."""
        self._do(lambda tables: tables.tokens.__setitem__(token.id, token))

    def revoke_token(self, id: str, at: float) -> bool:
        """End a token; False if there is no valid one of this id."""
        token = self._tables.tokens.get(id)
        if token is None or token.revoked_at is not None:
            return False
        ended = token._replace(revoked_at=at)
        self._do(lambda tables: tables.tokens.__setitem__(id, ended))
        return True

    def use_token(self, id: str, at: float) -> None:
        """Note the last use of a token."""
        token = self._tables.tokens.get(id)
        if token is not None and (token.used_at is None or token.used_at < at):
            used = token._replace(used_at=at)
            self._do(lambda tables: tables.tokens.__setitem__(id, used))

    # Reading, as the writer needs it

    def probe(self) -> None:
        """Memory takes what it is given."""

    def seems_writable(self) -> bool:
        """Memory always is."""
        return True

    def reader(self) -> StoreReader:
        """A reading view of its own."""
        return MemoryReader(self.shelf.tables, self.shelf.lock)

    def close(self) -> None:
        """Leave the batch that is open behind; the shelf keeps what was committed."""
        self._changes = None
