"""Ownership of shards: of all workers, one does what only one must do for a shard, as long as its lease lasts.

Each worker enters itself into the store and renews that. The owner of a shard follows from the names of the living
workers by rendezvous hashing: every worker computes the same owner, and if one comes or goes, only its own shards move.
A worker asks for the leases of its own shards only, and hands over those that have become another's.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b

from smidgen.service.errors import StorageFailed
from smidgen.service.storage.protocol import Store

#: For how many seconds a shard is owned, and a worker known, unless that is renewed; and how often it is.
LEASE_S, RENEW_S = 2.0, 0.5
#: Seconds that a batch may take to end before its shards are handed over nevertheless.
HANDOVER_S = 1.0
_log = logging.getLogger("smidgen.service")


def unique_worker_name(worker: str = "0") -> str:
    """The name of this worker among all others of a store: another one each time that it is started."""
    return f"{socket.gethostname()}-{secrets.token_hex(4)}/{worker}/{os.getpid()}"


def choose_owner(shard: int, workers: Sequence[str]) -> str:
    """Choose the owner of a shard among the living workers, by rendezvous hashing.

    Examples
    --------
    >>> from smidgen.service.engine.leases import choose_owner
    >>> [choose_owner(shard, ["web-1/0/7", "web-2/0/7"]) for shard in (1, 2, 3, 4)]
    ['web-2/0/7', 'web-1/0/7', 'web-2/0/7', 'web-2/0/7']
    >>> choose_owner(2, ["web-1/0/7"])
    'web-1/0/7'
    """
    return max(workers, key=lambda name: blake2b(f"{shard} {name}".encode(), digest_size=8).digest())


class ShardLeases:
    """The shards that a worker owns.

    Parameters
    ----------
    store
        Grants leases, and knows the workers.
    shards
        Returns the shards that need an owner.
    name
        Under which this worker owns.

    Attributes
    ----------
    name
        Under which this worker owns.
    addresses
        Where other machines reach this worker; empty if they do not.
    workers
        The addresses of the living workers by their names, as of the last renewal.
    """

    def __init__(self, store: Store, shards: Callable[[], Iterable[int]], name: str | None = None) -> None:
        self.name = name if name is not None else unique_worker_name()
        self.addresses = ""
        self.workers: Mapping[str, str] = {}
        self._store = store
        self._shards = shards
        self._owned: dict[int, tuple[int, float]] = {}
        self._living: list[str] = []
        self._owners: dict[int, str] = {}  # by shard, its owner among the living
        self._member_until = 0.0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._warned = False

    def epoch(self, shard: int) -> int | None:
        """The epoch of the lease of a shard; None if it is not this worker's, or may be another's by now."""
        held = self._owned.get(shard)
        return held[0] if held is not None and time.monotonic() < held[1] else None

    def renew(self, finish: Callable[[], None] = lambda: None) -> list[int]:
        """Renew the leases of this worker's shards, ask for those that are new, and hand over those of others.

        Parameters
        ----------
        finish
            Returns when the batch that is open now has ended; called before shards are handed over.

        Returns
        -------
        The shards that are newly leased.
        """
        until, before = time.monotonic() + LEASE_S, self._owned
        is_new = time.monotonic() >= self._member_until or self.addresses != self.workers.get(self.name)
        self.workers = {each.name: each.addresses for each in self._store.join(self.name, self.addresses, LEASE_S)}
        if (living := list(self.workers)) != self._living:
            self._living, self._owners = living, {}
        wanted = [shard for shard in self._shards() if self._is_own(shard)]
        granted = self._store.lease(self.name, LEASE_S, *wanted)
        self._member_until = until
        self._owned = {shard: (epoch, until) for shard, epoch in granted.items()}
        news = [shard for shard, epoch in granted.items() if shard not in before or before[shard][0] != epoch]
        leaving = [shard for shard in before if not self._is_own(shard)]
        if leaving:
            finish()
            self._store.release_leases(self.name, *leaving)
        if is_new or news or leaving:
            self._store.announce()
        return news

    def _is_own(self, shard: int) -> bool:
        owner = self._owners.get(shard)
        if owner is None:
            owner = self._owners[shard] = choose_owner(shard, self._living)
        return owner == self.name

    def start(self, news: Callable[[list[int]], None], finish: Callable[[], None], changed: Callable[[], None]) -> None:
        """Renew leases in a separate thread, independent of the writer, and at once when another worker comes or goes.

        Parameters
        ----------
        news
            Called with newly leased shards.
        finish
            As for `renew`.
        changed
            Called when owners have changed.
        """
        self._thread = threading.Thread(
            target=self._renew_loop, args=(news, finish, changed), name="smidgen leases", daemon=True
        )
        self._thread.start()

    def hand_over(self, finish: Callable[[], None]) -> None:
        """Leave all shards to the other workers, if there are any; for a worker that stops."""
        if len(self._living) > 1:
            self._end(finish)

    def stop(self) -> None:
        """Own nothing any more, so that another need not wait."""
        self._end(lambda: None)

    def _end(self, finish: Callable[[], None]) -> None:
        if self._ended.is_set():
            return
        self._ended.set()
        try:
            if self._thread is not None:
                self._store.announce()  # this wakes the thread
                self._thread.join()
            owned, self._owned = self._owned, {}
            finish()
            self._store.leave(self.name)
            self._store.release_leases(self.name, *owned)
            self._store.announce()
        except StorageFailed as error:  # then they run out
            _log.warning("leases could not be given back: %s", error)

    def _renew_loop(
        self, news: Callable[[list[int]], None], finish: Callable[[], None], changed: Callable[[], None]
    ) -> None:
        woken = False
        while not self._ended.is_set():
            try:
                if new := self.renew(finish):
                    news(new)
                if woken:
                    changed()
                self._warned = False
                woken = self._store.wait_for_announcement(RENEW_S)
            except Exception as error:  # the database is away: what is owned runs out
                if not self._warned:
                    _log.warning("leases could not be renewed: %s", error)
                self._warned = True
                self._ended.wait(RENEW_S)
