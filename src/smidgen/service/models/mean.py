"""The mean of what the keys of a slot have learnt, in whole numbers: whoever leaves, leaves nothing behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A weight counts in steps of one sixteen-millionth, up to this size; so a sum of four million keys is exact.
STEP, LARGEST = 2.0**-24, 65_536.0


class Mean:
    """Sums of the keys' starts (`Learner.start`), and how many keys there are.

    The sums are of whole numbers. They depend on what the keys are now, not on how they came to it, to the last bit.

    Parameters
    ----------
    sums, keys
        What was saved.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.service.models.mean import Mean
    >>> mean, fresh = Mean(), {"w": np.zeros(2)}
    >>> mean.move(None, {"w": np.array([1.0, 0.5])})
    >>> mean.move(None, {"w": np.array([3.0, 0.5])})
    >>> mean.values(fresh)["w"].tolist()
    [2.0, 0.5]
    >>> mean.move({"w": np.array([3.0, 0.5])}, None)
    >>> mean.values(fresh)["w"].tolist()
    [1.0, 0.5]
    """

    def __init__(self, sums: Mapping[str, NDArray[np.int64]] | None = None, keys: int = 0) -> None:
        self.sums: dict[str, NDArray[np.int64]] = {name: np.array(array) for name, array in (sums or {}).items()}
        self.keys = keys

    def move(self, before: Mapping[str, NDArray[Any]] | None, after: Mapping[str, NDArray[Any]] | None) -> None:
        """Let a key count as it is now in the place of what it was; None where it had, or has, learnt nothing."""
        for start, sign in ((before, -1), (after, 1)):
            if start is not None:
                self.keys += sign
                for name, array in start.items():
                    self._add(name, sign * _whole(array))

    def values(self, fresh: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float64]]:
        """The mean, in the form of a fresh start; that, if there is no key."""
        if not self.keys:
            return dict(fresh)
        found = {name: np.array(array, dtype=np.float64) for name, array in fresh.items()}
        for name, array in self.sums.items():
            found[name][tuple(slice(extent) for extent in array.shape)] = array * (STEP / self.keys)
        return found

    def _add(self, name: str, array: NDArray[np.int64]) -> None:
        known = self.sums.get(name)
        if known is None or known.shape != array.shape:  # labels were added
            wide = tuple(map(max, array.shape, known.shape)) if known is not None else array.shape
            self.sums[name] = _widened(known, wide)
            array = _widened(array, wide)
        self.sums[name] += array


def _whole(array: NDArray[Any]) -> NDArray[np.int64]:
    out: NDArray[np.int64] = np.rint(np.clip(array, -LARGEST, LARGEST) / STEP).astype(np.int64)
    return out


def _widened(array: NDArray[np.int64] | None, shape: tuple[int, ...]) -> NDArray[np.int64]:
    out = np.zeros(shape, np.int64)
    if array is not None:
        out[tuple(slice(extent) for extent in array.shape)] = array
    return out
