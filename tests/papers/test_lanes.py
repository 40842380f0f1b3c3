"""Vector instructions: what kernels run and what their plain twins say must be the same, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smidgen.arrays import aligned, zeros
from smidgen_papers.compiled import lanes
from smidgen_papers.compiled.arrays import clear, dot, scale, shift
from smidgen_papers.compiled.kernel import JIT, kernel
from smidgen_papers.compiled.lanes import (
    add_to,
    add_words,
    fill,
    load,
    multiply_words,
    only,
    prefetch,
    prefetch_later,
    root,
    shuffled,
    store,
    total,
    totals,
)


@kernel
def _everything(A: Any, out: Any) -> float:
    a, b = load(A, 3), load(A, 24)
    store(out, 0, a + b * fill(3.0) - a / b)
    store(out, 8, root(a * a))
    first, second = shuffled(a, b)
    store(out, 16, first)
    store(out, 24, second)
    rows = totals(a, b, load(A, 16), load(A, 17), load(A, 32), load(A, 40), load(A, 48), load(A, 56))
    store(out, 32, rows)
    add_to(out, 0, rows)
    prefetch(A, 9)
    prefetch_later(A, 10**6)
    for count in range(10):
        store(out, 40 + 8 * count, only(b, count))
    return float(total(b))


@kernel
def _words(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    high, low = multiply_words(a, b)
    return high, low, add_words(a, b)


def plain(function: Any) -> Any:
    """The kernel as plain Python, on the plain twins of the instructions."""
    source = getattr(function, "py_func", getattr(function, "function", function))
    twins = {name: getattr(lanes, name) for name in lanes.__all__}
    return type(source)(source.__code__, source.__globals__ | twins)


def test_lanes() -> None:
    A = np.random.default_rng(0).normal(size=(8, 8))
    compiled, written = np.zeros(120), np.zeros(120)
    expected = plain(_everything)(A, written)
    assert _everything(A, compiled) == expected
    np.testing.assert_array_equal(compiled, written)
    assert expected == pytest.approx(A.reshape(-1)[24:32].sum())
    np.testing.assert_array_equal(written[64:72], [*A.reshape(-1)[24:27], 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(written[112:], A.reshape(-1)[24:32])
    np.testing.assert_allclose(written[36:40], A.reshape(4, 16)[2:].reshape(4, 8).sum(axis=1))


@pytest.mark.parametrize(("a", "b"), [(0, 5), (2**64 - 1, 2**64 - 1), (0xD2E7470EE14C6C93, 0x9E3779B97F4A7C15)])
def test_words(a: int, b: int) -> None:
    high, low, added = (int(word) for word in _words(np.uint64(a), np.uint64(b)))
    assert (high << 64) + low == a * b
    assert added == (a + b) % 2**64
    assert plain(_words)(np.uint64(a), np.uint64(b)) == (high, low, added)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 16, 17, 24, 100])
def test_vectors(n: int) -> None:
    x, y = np.random.default_rng(n).normal(size=(2, n))
    out = np.full(n, np.nan)
    assert dot(x, y) == pytest.approx(float(x @ y), abs=1e-12)
    shift(out, x, y, 0.3)
    np.testing.assert_array_equal(out, x + 0.3 * y)
    scale(out, x, -1.7)
    np.testing.assert_array_equal(out, -1.7 * x)
    clear(out)
    np.testing.assert_array_equal(out, 0.0)


@pytest.mark.skipif(not JIT, reason="numba is switched off")
def test_lanes_of_an_array_with_gaps_are_refused_rather_than_misread() -> None:
    with pytest.raises(Exception, match=r"load|No implementation|Invalid use"):
        dot(np.arange(32.0)[::2], np.arange(16.0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(7,), (500, 40)])
def test_arrays_begin_at_a_line_of_memory(shape: tuple[int, ...], dtype: str) -> None:
    array = zeros(shape, np.dtype(dtype))
    assert array.shape == shape
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert array.ctypes.data % 64 == 0
    assert not array.any()
    copy = aligned(np.arange(array.size).reshape(shape).astype(dtype))
    assert copy.ctypes.data % 64 == 0
    assert copy.ravel().tolist() == list(range(array.size))
