"""Connections for readers: some, shared, with a bound."""

from __future__ import annotations

import threading

from smidgen.service.store.postgres_address import Address
from smidgen.service.store.postgres_wire import Wire, refusal

_WAIT_S = 60.0


class Wires:
    """Connections for readers: as many as are needed at once, up to a bound; whoever comes then waits.

    Parameters
    ----------
    address
        Where.
    most
        The bound.
    """

    def __init__(self, address: Address, most: int = 8) -> None:
        self._address = address
        self._free: list[Wire] = []
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(most)
        self._closed = False

    def take(self) -> Wire:
        """A connection that is nobody else's until it is given back."""
        if not self._places.acquire(timeout=_WAIT_S):
            raise refusal("all connections for readers are busy", self._address)
        try:
            with self._lock:
                while self._free:
                    wire = self._free.pop()
                    if wire.open and wire.quiet:
                        return wire
                    wire.close()
            return Wire(self._address, reading=True)
        except BaseException:
            self._places.release()
            raise

    def give(self, wire: Wire) -> None:
        """Give a connection back."""
        with self._lock:
            if self._closed or not wire.open:
                wire.close()
            else:
                self._free.append(wire)
        self._places.release()

    def close(self) -> None:
        """Let go of all that are free, and of the others when they come back."""
        with self._lock:
            self._closed = True
            while self._free:
                self._free.pop().close()
