"""Inner products, sums and copies of vectors, and arrays that lie well in memory for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smidgen.decision import FloatArray
from smidgen_papers.compiled.kernel import inlined
from smidgen_papers.compiled.lanes import fill, load, store, total

LINE = 64  # bytes


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


@inlined
def dot(x: FloatArray, y: FloatArray) -> float:
    """The inner product of two contiguous vectors, summed in lanes."""
    n = x.shape[0]
    whole, rest = n - n % 8, 0.0
    s, t = fill(0.0), fill(0.0)
    for i in range(0, whole - 8, 16):
        s, t = s + load(x, i) * load(y, i), t + load(x, i + 8) * load(y, i + 8)
    if whole % 16 != 0:
        s = s + load(x, whole - 8) * load(y, whole - 8)
    for i in range(whole, n):
        rest += float(x[i]) * float(y[i])
    return float(total(s + t)) + rest


@inlined
def shift(out: FloatArray, x: FloatArray, y: FloatArray, factor: float) -> None:
    """Out = x + factor·y, of contiguous vectors."""
    n, lanes = out.shape[0], fill(factor)
    whole = n - n % 8
    for i in range(0, whole, 8):
        store(out, i, load(x, i) + lanes * load(y, i))
    for i in range(whole, n):
        out[i] = x[i] + factor * y[i]


@inlined
def copy(out: FloatArray, x: FloatArray) -> None:
    """Out = x."""
    for i in range(out.shape[0]):
        out[i] = x[i]


@inlined
def clear(out: FloatArray) -> None:
    """Out = 0."""
    n = out.shape[0]
    whole = n - n % 8
    for i in range(0, whole, 8):
        store(out, i, fill(0.0))
    for i in range(whole, n):
        out[i] = 0.0


@inlined
def scale(out: FloatArray, x: FloatArray, factor: float) -> None:
    """Out = factor·x, of contiguous vectors."""
    n, lanes = out.shape[0], fill(factor)
    whole = n - n % 8
    for i in range(0, whole, 8):
        store(out, i, lanes * load(x, i))
    for i in range(whole, n):
        out[i] = factor * x[i]
