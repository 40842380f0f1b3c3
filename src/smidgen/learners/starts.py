"""What a newcomer begins with where others have learnt: in few bytes, for a log that says it once for every key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import records
from smidgen.errors import InvalidRecord

#: The form of the bytes.
VERSION = 1
#: So many numbers of one array are kept at most, the largest ones: half a megabyte.
MOST = 1 << 16
_HINT = "restore the database from a backup"


def write(start: Mapping[str, NDArray[Any]], fresh: Mapping[str, NDArray[Any]]) -> bytes:
    """A start (`Learner.start`) as bytes: where it differs from that of a fresh learner, in single precision.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.learners import starts
    >>> fresh = {"w": np.zeros(100_000)}
    >>> content = starts.write({"w": fresh["w"] + (np.arange(100_000) == 7)}, fresh)
    >>> len(content) < 64
    True
    >>> float(starts.read(content, fresh)["w"][7])
    1.0
    """
    told: dict[str, Any] = {}
    for name, array in start.items():
        with np.errstate(over="ignore"):
            change = (array - _widened(fresh[name], array.shape)).astype(np.float32).ravel()
        change = np.nan_to_num(change)
        places = np.flatnonzero(change)
        if len(places) > MOST:
            places = np.sort(places[np.argpartition(-np.abs(change[places]), MOST)[:MOST]])
        told[name] = [list(array.shape), places.astype(np.uint32), change[places]]
    return records.encode([VERSION, told])


def empty(start: Mapping[str, NDArray[Any]], fresh: Mapping[str, NDArray[Any]]) -> bool:
    """Whether a start is that of a fresh learner, so that nothing need be said."""
    return all(np.array_equal(array, _widened(fresh[name], array.shape)) for name, array in start.items())


def read(content: bytes, fresh: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float64]]:
    """What `write` gave, for a learner whose fresh start is this; it may have more classes by now."""
    try:
        version, told = records.decode(content)
        if version != VERSION or told.keys() != fresh.keys():
            raise InvalidRecord(f"it is of version {version} and has {sorted(told)}", _HINT)
        found = {}
        for name, (shape, places, values) in told.items():
            like = fresh[name]
            part = np.zeros(tuple(shape))
            part.ravel()[places] = values
            whole = np.zeros(like.shape)
            whole[tuple(slice(extent) for extent in part.shape)] = part
            found[name] = like + whole
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise InvalidRecord(f"the start of a learner cannot be read: {error}", _HINT) from error
    return found


def _widened(fresh: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The part of a fresh array that an older one had."""
    return fresh[tuple(slice(extent) for extent in shape)]
