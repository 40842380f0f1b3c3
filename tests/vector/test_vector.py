"""Vector instructions: what kernels run and what their plain twins say must be the same, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smidgen._kernel import JIT, kernel
from smidgen.vector import lanes, short_scores
from smidgen.vector.arrays import clear, dot, scale, shift
from smidgen.vector.lanes import (
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
from smidgen.vector.memory import aligned, zeros
from smidgen.vector.short_scores import (
    highest_score,
    move_scores,
    move_scores_by,
    places_from,
    write_peaks,
    write_products,
    write_scores,
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


@kernel
def _scores(near: Any, plus: Any, minus: Any, peaks: Any, places: Any) -> tuple[int, int, int]:
    before = highest_score(near, 32, 128)
    move_scores(near, plus, minus, 0, 96, peaks, 0)
    move_scores_by(near, plus, minus, 12345, 32, 128, peaks, 32)
    write_peaks(near, 0, 128, peaks, 64)
    return before, highest_score(peaks, 0, 96), places_from(near, 32, 128, 100, places)


@kernel
def _products(features: Any, w: Any, near: Any, products: Any) -> int:
    top = write_products(features, w, near, -8100, products)
    write_scores(products, np.float32(top), np.float32(1e-3), 3900, 20_500, -20_000, near)
    return top


def plain(function: Any) -> Any:
    """The kernel as plain Python, on the plain twins of the instructions."""
    source = getattr(function, "py_func", getattr(function, "function", function))
    twins = {name: getattr(lanes, name) for name in lanes.__all__}
    scores = {name: getattr(short_scores, name) for name in source.__code__.co_names if hasattr(short_scores, name)}
    return type(source)(source.__code__, source.__globals__ | twins | scores)


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


def test_short_scores() -> None:
    rng = np.random.default_rng(1)
    near = rng.integers(-20_000, 20_000, 128).astype(np.int16)
    plus, minus = rng.integers(-127, 128, (2, 128)).astype(np.int8)
    quick, slow = ([near.copy(), plus, minus, np.zeros(96, np.int16), np.zeros(128, np.int32)] for _ in range(2))
    assert _scores(*quick) == plain(_scores)(*slow)
    for got, expected in zip(quick, slow, strict=True):
        np.testing.assert_array_equal(got, expected)
    moved = near.astype(int)
    moved[:96] += (plus.astype(int) - minus)[:96]
    moved[32:] += np.floor(12345 / 2**15 * (plus.astype(int) - minus)[32:] + 0.5).astype(int)
    np.testing.assert_array_equal(quick[0], moved)


@pytest.mark.parametrize("pairs", [1, 3, 10])
def test_products_of_short_numbers(pairs: int) -> None:
    rng = np.random.default_rng(pairs)
    features = rng.integers(-9000, 9000, (3, pairs, 256)).astype(np.int16)
    w = rng.integers(-9000, 9000, 2 * pairs).astype(np.int16)
    near = rng.choice([5000, -9000], 384).astype(np.int16)
    quick, slow = ([features, w, near.copy(), np.zeros(384, np.int32)] for _ in range(2))
    assert _products(*quick) == plain(_products)(*slow)
    for got, expected in zip(quick, slow, strict=True):
        np.testing.assert_array_equal(got, expected)
    by_item = features.reshape(3, pairs, 128, 2).transpose(0, 2, 1, 3).reshape(384, -1)
    sums = by_item.astype(int) @ w.astype(int)
    np.testing.assert_array_equal(quick[3][near > 0], sums[near > 0])
    assert quick[2].max() == 20_500
    assert (quick[2][near < 0] == -20_000).all()


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
