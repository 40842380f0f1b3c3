"""A store in memory that several workers share: what another has committed is seen, shards are taken for a batch."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from service.memory import CommittedTables, MemoryStore
from service.memory.tables import Tables
from smidgen.service.errors import Taken
from smidgen.service.storage.records import Counts, DecisionRow, LeaseRow, ModelRow, TokenRow
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
    leases
        By shard.
    waits
        Whether whoever holds nothing waits for a shard; else he is told that it is taken, so that one thread can play
        all workers.
    """

    version: int = 0
    number: int = 0
    made: int = 0
    held: dict[int, SharedMemoryStore] = field(default_factory=dict)
    names: dict[str, SharedMemoryStore] = field(default_factory=dict)
    leases: dict[int, LeaseRow] = field(default_factory=dict)
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
        super().__init__(exchange)

    def _renew(self) -> None:
        """See what others have committed."""
        with self.exchange.lock:
            if self._seen != self.exchange.version:
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

    def acquire(self, *shards: int) -> None:
        self._open()
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

    def catalogue_number(self) -> int:
        self._renew()
        return self.exchange.number

    def event_types(self, shard: int, after: int) -> set[str]:
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

    # The batch

    def begin(self) -> None:
        super().begin()
        self._listed = False
        self._renew()

    def commit(self) -> None:
        with self.exchange.free:
            super().commit()
            self.exchange.version += 1
            self.exchange.number += self._listed
            self._release()

    def rollback(self) -> None:
        super().rollback()
        self._release()

    def close(self) -> None:
        self._release()
        super().close()

    def _release(self) -> None:
        with self.exchange.free:
            for table in (self.exchange.held, self.exchange.names):
                for place in [place for place, holder in table.items() if holder is self]:
                    del table[place]
            self.exchange.free.notify_all()

    def _counts_to_change(self, shard: int) -> Counts:
        self.acquire(shard)
        return super()._counts_to_change(shard)

    # Rows of models and tokens

    def create(self, name: str, body: bytes, resolved: dict[str, Any], at: float) -> ModelRow:
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
        self._listed = True
        super().archive(model, at)

    def revive(self, model: int) -> None:
        self._listed = True
        super().revive(model)

    def rename(self, model: int, name: str) -> None:
        self._listed = True
        super().rename(model, name)

    def amend(self, model: int, resolved: dict[str, Any]) -> None:
        self._listed = True
        super().amend(model, resolved)

    def add_token(self, token: TokenRow) -> None:
        self._listed = True
        super().add_token(token)

    def revoke_token(self, id: str, at: float) -> bool:
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
        self._renew()
        return super().decision(id)

    def due_decisions(self, now: float, limit: int = 1000) -> list[DecisionRow]:
        self._renew()
        return super().due_decisions(now, limit)
