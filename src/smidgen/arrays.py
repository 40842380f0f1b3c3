"""Arrays in the form that compiled code takes: contiguous and aligned.

The processor reads memory in lines of 64 bytes. numpy's large arrays begin 16 bytes into one, so that rows and vector
registers lie across more lines than they must; `zeros`, `empty` and `aligned` make arrays that begin at a line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

A = TypeVar("A", bound=np.generic)

LINE = 64  # bytes


def read_only(array: NDArray[A]) -> NDArray[A]:
    """The array itself if it is contiguous, aligned and may not be written to, else a view or a copy that is."""
    flags = array.flags
    if flags.writeable or not flags.c_contiguous or not flags.aligned:
        array = np.require(array, requirements=["C", "A"]).view()
        array.flags.writeable = False
    return array


def writable(array: NDArray[A]) -> NDArray[A]:
    """The array itself if it is contiguous, aligned and may be written to, else a copy that is."""
    return array if array.flags.carray else array.copy()


def zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An array of zeros, at the beginning of a line."""
    return _placed(np.zeros, shape, dtype)


def empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An array of anything, at the beginning of a line."""
    return _placed(np.empty, shape, dtype)


def aligned(array: NDArray[Any]) -> NDArray[Any]:
    """A copy at the beginning of a line."""
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def _placed(make: Callable[..., NDArray[Any]], shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    size = math.prod(shape) * np.dtype(dtype).itemsize
    block = make(size + LINE, np.uint8)
    start = -block.__array_interface__["data"][0] % LINE
    return block[start : start + size].view(dtype).reshape(shape)
