"""Where each decision stands in a long log: sixteen bytes for each, however long its id."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

#: So many are kept as they come, before they are sorted in.
FRESH = 1 << 16

Run = tuple[NDArray[np.uint64], NDArray[np.uint64]]


class Places:
    """A map from ids to whole numbers, which only grows.

    Ids are known by 64 bits of their hash, so a look-up may give more than one place: the reader sees which is right.
    Sorted runs are merged when they are alike in size, so that there are never many.

    Examples
    --------
    >>> from smidgen.service.replay.places import Places
    >>> places = Places()
    >>> for number in range(100_000):
    ...     places.put(f"d{number}", number)
    >>> list(places.find("d70000")), list(places.find("nobody"))
    ([70000], [])
    """

    def __init__(self) -> None:
        self._fresh: dict[int, list[int]] = {}
        self._count = 0
        self._runs: list[Run] = []

    def put(self, id: str, place: int) -> None:
        """Enter an id."""
        self._fresh.setdefault(_hash(id), []).append(place)
        self._count += 1
        if self._count >= FRESH:
            self._settle()

    def find(self, id: str) -> Iterator[int]:
        """The places where it may be, the latest first."""
        key = _hash(id)
        yield from reversed(self._fresh.get(key, []))
        for hashes, places in reversed(self._runs):
            first, last = (
                np.searchsorted(hashes, np.uint64(key), "left"),
                np.searchsorted(hashes, np.uint64(key), "right"),
            )
            yield from (int(place) for place in places[first:last][::-1])

    def _settle(self) -> None:
        """Sort the fresh ones into a run, and merge runs of like size."""
        pairs = [(key, place) for key, places in self._fresh.items() for place in places]
        run = _sorted(
            np.array([pair[0] for pair in pairs], np.uint64), np.array([pair[1] for pair in pairs], np.uint64)
        )
        while self._runs and len(self._runs[-1][0]) <= len(run[0]):
            older = self._runs.pop()
            run = _sorted(np.concatenate([older[0], run[0]]), np.concatenate([older[1], run[1]]))
        self._runs.append(run)
        self._fresh, self._count = {}, 0


def _sorted(hashes: NDArray[np.uint64], places: NDArray[np.uint64]) -> Run:
    order = np.argsort(hashes, kind="stable")
    return hashes[order], places[order]


def _hash(id: str) -> int:
    return int.from_bytes(blake2b(id.encode(), digest_size=8).digest(), "little")
