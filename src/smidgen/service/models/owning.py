"""Ownership: of all workers, one does what only one must do for a slot, as long as its lease lasts.

An owner learns the silence of windows, publishes states, folds what is old. Everybody decides and learns.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable

from smidgen.service.refusals import StorageFailed
from smidgen.service.store.protocol import Store

#: For how many seconds a slot is owned unless that is renewed, and how often it is.
LEASE_S, RENEW_S = 2.0, 0.5
_log = logging.getLogger("smidgen.service")


def own_name(worker: str = "0") -> str:
    """The name of this worker among all others of a store: another one each time that it is started."""
    return f"{socket.gethostname()}/{worker}/{os.getpid()}"


class Owning:
    """The slots that a worker owns.

    Parameters
    ----------
    store
        Who grants leases.
    slots
        Gives the slots that somebody should own.
    name
        Under which this worker owns.

    Attributes
    ----------
    name
        Under which this worker owns.
    """

    def __init__(self, store: Store, slots: Callable[[], Iterable[int]], name: str | None = None) -> None:
        self.name = name if name is not None else own_name()
        self._store = store
        self._slots = slots
        self._owned: dict[int, tuple[int, float]] = {}
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._warned = False

    def epoch(self, slot: int) -> int | None:
        """The epoch of the lease of a slot; None if it is not this worker's, or may be another's by now."""
        held = self._owned.get(slot)
        return held[0] if held is not None and time.monotonic() < held[1] else None

    def renew(self) -> list[int]:
        """Ask for all slots that are free, and go on owning those that are its own; those that are new."""
        until, before = time.monotonic() + LEASE_S, self._owned
        granted = self._store.lease(self.name, LEASE_S, *self._slots())
        self._owned = {slot: (epoch, until) for slot, epoch in granted.items()}
        return [slot for slot, epoch in granted.items() if slot not in before or before[slot][0] != epoch]

    def start(self, news: Callable[[list[int]], None]) -> None:
        """Renew in a thread of its own, however busy the writer is; ``news`` is told of slots that are new."""
        self._thread = threading.Thread(target=self._go_on, args=(news,), name="smidgen leases", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Own nothing any more, so that another need not wait."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        owned, self._owned = self._owned, {}
        try:
            self._store.leave(self.name, *owned)
        except StorageFailed as error:  # then they run out
            _log.warning("leases could not be given back: %s", error)

    def _go_on(self, news: Callable[[list[int]], None]) -> None:
        while not self._ended.is_set():
            try:
                if new := self.renew():
                    news(new)
                self._warned = False
            except Exception as error:  # the database is away: what is owned runs out
                if not self._warned:
                    _log.warning("leases could not be renewed: %s", error)
                self._warned = True
            self._ended.wait(RENEW_S)
