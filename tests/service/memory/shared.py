"""A store in memory that several workers share: what another has committed is seen, shards are taken for a batch."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from service.memory import CommittedTables, MemoryStore
from service.memory.tables import Tables
from smidgen.service.errors import NeedsDatabase, Outdated, Taken
from smidgen.service.storage.records import (
    Counts,
    DecisionRow,
    LeaseRow,
    ModelRow,
    NewExpiry,
    NewFeedback,
    TokenRow,
    WorkerRow,
)
from smidgen.service.storage.transitions import copy_counts


@dataclass
class Exchange(CommittedTables):
    """State shared by all workers.

    Attributes
    ----------
    version, number
        How many commits there were, and how many of them changed rows of models or tokens.
    made
        The number of the last model that was entered.
    held, names
        Whose batch holds a shard, or a name.
    leases, workers, secrets
        By shard; by name, each with its end; by name.
    waits
        True if a caller that holds nothing waits for a shard; else it is refused, so that one thread can play
        all workers.
    """

    version: int = 0
    number: int = 0
    made: int = 0
    held: dict[int, SharedMemoryStore] = field(default_factory=dict)
    names: dict[str, SharedMemoryStore] = field(default_factory=dict)
    leases: dict[int, LeaseRow] = field(default_factory=dict)
    workers: dict[str, tuple[WorkerRow, float]] = field(default_factory=dict)
    announced: int = 0
    secrets: dict[str, bytes] = field(default_factory=dict)
    waits: bool = False
    free: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self.free = threading.Condition(self.lock)


class SharedMemoryStore(MemoryStore):
    """One worker's view of the shared state."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self._seen = -1
        self._listed = False
        self._owns: Callable[[int], bool] | None = None
        self._beliefs: dict[int, bool] = {}  # by shard: whether this batch relies on memory
        self._trusted: dict[int, int] = {}  # by shard: its last event, as this worker knows it
        self._trusting = self._doubts = self._local = False
        self._number = self._heard = -1
        super().__init__(exchange)

    def _renew(self) -> None:
        """See what others have committed; a batch that relies on memory reads as of its beginning."""
        with self.exchange.lock:
            if not self._trusted and self._seen != self.exchange.version:
                self._seen, self._tables = self.exchange.version, self.exchange.tables.fork()
                for change in self._changes or ():
                    change(self._tables)

    def _back_to(self, mark: int) -> None:
        with self.exchange.lock:
            self._seen = -1
            super()._back_to(mark)

    # Sharing

    @property
    def shared(self) -> bool:
        return True

    def trust(self, owns: Callable[[int], bool]) -> None:
        self._owns = owns

    def trusts(self, shard: int) -> bool:
        if not self._trusting or self._owns is None or shard not in self._live:
            return False
        if shard not in self._beliefs:
            self._beliefs[shard] = self.exchange.held.get(shard) is not self and self._owns(shard)
        return self._beliefs[shard]

    def _knows(self, shard: int) -> bool:
        return self.trusts(shard)

    def acquire(self, *shards: int) -> None:
        self._open()
        if all(shard in self._trusted or self.trusts(shard) for shard in shards):
            for shard in shards:
                self._trusted.setdefault(shard, self._live[shard].seq)
            return
        self._lock_trusted()
        self._lock_shards(*shards)

    def _lock_trusted(self) -> None:
        """Continue on the lock path."""
        self._beliefs.clear()
        if self._local:
            raise NeedsDatabase("the catalogue has to be locked", "try again")
        trusted, self._trusted, self._trusting = self._trusted, {}, False
        if trusted:
            self._refuse_outdated(trusted)
            self.exchange.held |= dict.fromkeys(trusted, self)

    def _refuse_outdated(self, trusted: dict[int, int]) -> None:
        """Raise Outdated if another worker has written, or is writing, to shards, or has changed the catalogue."""
        exchange = self.exchange
        busy = any(exchange.held.get(shard) not in (None, self) for shard in trusted)
        moved = any(exchange.tables.counts[shard].seq != seq for shard, seq in trusted.items())
        if busy or moved or exchange.number != self._number:
            self._doubts = True
            raise Outdated("another worker has written to the same shards", "try again")

    def _lock_shards(self, *shards: int) -> None:
        exchange, new = self.exchange, [shard for shard in sorted(shards) if self.exchange.held.get(shard) is not self]
        with exchange.free:
            waits = exchange.waits and self not in exchange.held.values()
            for shard in new:
                while shard in exchange.held and waits:
                    if not exchange.free.wait(30):
                        raise TimeoutError(f"shard {shard} is held for ever")
                if shard in exchange.held:
                    for taken in new[: new.index(shard)]:
                        del exchange.held[taken]
                    exchange.free.notify_all()
                    raise Taken(f"shard {shard} is taken", "try again")
                exchange.held[shard] = self
            self._renew()
            for shard in shards:
                copy_counts(self._tables.counts[shard], self._live.setdefault(shard, Counts()))

    def catalogue_number(self, *, now: bool = False) -> int:
        self._renew()
        self._number = self.exchange.number
        return self._number

    def event_types(self, shard: int, after: int) -> set[str]:
        if self._trusted:
            self._lock_trusted()
        return {event.type for event in self._tables.events[shard][after:]}

    def lease(self, owner: str, seconds: float, *shards: int) -> dict[int, int]:
        epochs, now = dict[int, int](), time.time()
        with self.exchange.lock:
            for shard in shards:
                held = self.exchange.leases.get(shard)
                if held is None or held.owner == owner or held.until <= now:
                    epochs[shard] = 1 if held is None else held.epoch + (held.owner != owner)
                    self.exchange.leases[shard] = LeaseRow(shard, owner, epochs[shard], now + seconds)
        return epochs

    def leases(self) -> list[LeaseRow]:
        return [self.exchange.leases[shard] for shard in sorted(self.exchange.leases)]

    def release_leases(self, owner: str, *shards: int) -> None:
        with self.exchange.lock:
            for shard in shards:
                held = self.exchange.leases.get(shard)
                if held is not None and held.owner == owner:
                    self.exchange.leases[shard] = held._replace(until=0.0)

    def join(self, worker: str, addresses: str, seconds: float) -> list[WorkerRow]:
        with self.exchange.lock:
            self.exchange.workers[worker] = WorkerRow(worker, addresses), time.time() + seconds
            return sorted(row for row, until in self.exchange.workers.values() if until > time.time())

    def leave(self, worker: str) -> None:
        with self.exchange.lock:
            self.exchange.workers.pop(worker, None)

    def announce(self) -> None:
        with self.exchange.lock:
            self.exchange.announced += 1

    def wait_for_announcement(self, seconds: float) -> bool:
        ends = time.monotonic() + seconds
        while self.exchange.announced == self._heard and time.monotonic() < ends:
            time.sleep(0.005)
        heard, self._heard = self._heard, self.exchange.announced
        return heard != self._heard

    def secret(self, name: str) -> bytes:
        with self.exchange.lock:
            return self.exchange.secrets.setdefault(name, os.urandom(32))

    # The batch

    def begin(self) -> None:
        super().begin()
        self._listed = self._local = False
        self._trusting, self._doubts = not self._doubts, False
        self._renew()

    def try_begin(self) -> bool:
        if self._doubts or self._owns is None:
            return False
        self.begin()
        self._local = True
        return True

    def commit(self) -> None:
        with self.exchange.free:
            if self._trusted:
                self._refuse_outdated(self._trusted)
            super().commit()
            self._end()
            self.exchange.version += 1
            self.exchange.number += self._listed
            self._release()

    def rollback(self) -> None:
        self._end()
        super().rollback()
        self._release()

    def _end(self) -> None:
        self._trusted.clear()
        self._beliefs.clear()
        self._trusting = self._local = False

    def close_decision(self, row: NewFeedback | NewExpiry, seq: int, hash: bytes | None, version: int | None) -> None:
        made = self._tables.decisions.get(row.decision)
        if made is None or made.feedback_seq is not None:
            self._doubts = True
            raise Outdated("another worker has taken feedback on the decision", "try again")
        super().close_decision(row, seq, hash, version)

    def close(self) -> None:
        self._end()
        self._release()
        super().close()

    def _release(self) -> None:
        with self.exchange.free:
            for table in (self.exchange.held, self.exchange.names):
                for place in [place for place, holder in table.items() if holder is self]:
                    del table[place]
            self.exchange.free.notify_all()

    def counts_to_change(self, shard: int) -> Counts:
        self.acquire(shard)
        return super().counts_to_change(shard)

    # Rows of models and tokens

    def create(self, name: str, body: bytes, resolved: dict[str, Any], at: float) -> ModelRow:
        self._lock_trusted()
        with self.exchange.free:
            self._renew()
            holder = self.exchange.names.setdefault(name, self)
            if holder is not self or name in {row.name for row in self._tables.models.values()}:
                raise Taken(f"the name {name!r} is taken", "try again")
            self.exchange.made += 1
            row = ModelRow(self.exchange.made, name, self.exchange.made, body, resolved, at)
            self.exchange.held[row.shard], self._listed = self, True

        def enter(tables: Tables) -> None:
            tables.models[row.id] = row
            tables.counts[row.shard] = Counts()
            tables.events[row.shard] = []

        self._do(enter)
        return row

    def archive(self, model: int, at: float) -> None:
        self._lock_trusted()
        self._listed = True
        super().archive(model, at)

    def revive(self, model: int) -> None:
        self._lock_trusted()
        self._listed = True
        super().revive(model)

    def rename(self, model: int, name: str) -> None:
        self._lock_trusted()
        self._listed = True
        super().rename(model, name)

    def amend(self, model: int, resolved: dict[str, Any]) -> None:
        self._lock_trusted()
        self._listed = True
        super().amend(model, resolved)

    def add_token(self, token: TokenRow) -> None:
        self._lock_trusted()
        self._listed = True
        super().add_token(token)

    def revoke_token(self, id: str, at: float) -> bool:
        self._lock_trusted()
        self._listed = True
        return super().revoke_token(id, at)

    # States and reading

    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        with self.exchange.lock:
            lease = self.exchange.leases.get(shard)
            if epoch is not None and (lease is None or lease.epoch != epoch):
                return False
            super().publish(shard, key, seq, content)
            self.exchange.version += 1
            return True

    def drop_states(self, shard: int, before: int) -> None:
        with self.exchange.lock:
            super().drop_states(shard, before)
            self.exchange.version += 1

    def models(self) -> list[ModelRow]:
        self._renew()
        return super().models()

    def decision(self, id: str) -> DecisionRow | None:
        if self._local:
            raise NeedsDatabase("a decision has to be read", "try again")
        self._renew()
        return super().decision(id)

    def due_decisions(self, now: float, limit: int = 1000) -> list[DecisionRow]:
        self._renew()
        return super().due_decisions(now, limit)


def _with_locks(name: str) -> Any:
    """A query for which a batch that relies on memory locks its shards: learners are recovered from the answer."""

    def query(self: SharedMemoryStore, *arguments: Any, **options: Any) -> Any:
        if self._trusted:
            self._lock_trusted()
        return getattr(super(SharedMemoryStore, self), name)(*arguments, **options)

    return query


for _name in (
    "changes",
    "checkpoint",
    "checkpoint_state",
    "checkpoint_states",
    "events",
    "events_of_key",
    "last_forgetting",
    "query",
    "states",
    "undo_events",
    "version_at",
):
    setattr(SharedMemoryStore, _name, _with_locks(_name))
