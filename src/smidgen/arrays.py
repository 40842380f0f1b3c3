"""Arrays in the form that compiled code takes, contiguous and aligned; and scipy, where it is asked for.

The processor reads memory in lines of 64 bytes. numpy's large arrays begin 16 bytes into one, so that rows and vector
registers lie across more lines than they must; `zeros`, `empty` and `aligned` make arrays that begin at a line.

This is the only place that imports scipy. The library and the service do without: rows of features are three arrays of
our own (`smidgen.features`). scipy is for people who hand its matrices over, and have it then, or want them back; and
for data sets made from texts, ratings and distributions. It comes with the extra ``smidgen[scipy]``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smidgen.errors import MissingExtra

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


def scipy(part: str, purpose: str) -> Any:
    """A part of scipy, such as ``"sparse"``; or a refusal that names the purpose and how to get it.

    Parameters
    ----------
    part
        The name of the part.
    purpose
        What it is needed for, as the subject of a sentence.
    """
    try:
        return import_module(f"scipy.{part}")
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{purpose} needs scipy, which is not installed", 'pip install "smidgen[scipy]"') from error


def is_sparse_type(kind: type) -> bool:
    """Return True if a class is one of scipy's sparse matrices or arrays, without importing scipy."""
    return kind.__module__.startswith("scipy.sparse")
