"""Vector instructions: what kernels run and what their plain twins say must be the same, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smidgen._kernel import kernel
from smidgen.vector import lanes, single_scores
from smidgen.vector.arrays import clear, dot, scale, shift
from smidgen.vector.lanes import add_to, add_words, fill, load, multiply_words, root, shuffled, store, total, totals
from smidgen.vector.single_scores import highest_score, move_scores


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
    return float(total(b))


@kernel
def _words(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    high, low = multiply_words(a, b)
    return high, low, add_words(a, b)


@kernel
def _scores(near: Any, plus: Any, minus: Any) -> tuple[float, float, float]:
    before = highest_score(near, 16, 64)
    return before, move_scores(near, plus, minus, np.float32(0.25), 0, 48), highest_score(near, 0, 64)


def plain(function: Any) -> Any:
    """The kernel as plain Python, on the plain twins of the instructions."""
    source = getattr(function, "py_func", getattr(function, "function", function))
    twins = {name: getattr(lanes, name) for name in lanes.__all__}
    scores = {name: getattr(single_scores, name) for name in ("highest_score", "move_scores")}
    return type(source)(source.__code__, source.__globals__ | twins | scores)


def test_lanes() -> None:
    A = np.random.default_rng(0).normal(size=(8, 8))
    compiled, written = np.zeros(40), np.zeros(40)
    expected = plain(_everything)(A, written)
    assert _everything(A, compiled) == expected
    np.testing.assert_array_equal(compiled, written)
    assert expected == pytest.approx(A.reshape(-1)[24:32].sum())
    np.testing.assert_allclose(written[36:40], A.reshape(4, 16)[2:].reshape(4, 8).sum(axis=1))


@pytest.mark.parametrize(("a", "b"), [(0, 5), (2**64 - 1, 2**64 - 1), (0xD2E7470EE14C6C93, 0x9E3779B97F4A7C15)])
def test_words(a: int, b: int) -> None:
    high, low, added = (int(word) for word in _words(np.uint64(a), np.uint64(b)))
    assert (high << 64) + low == a * b
    assert added == (a + b) % 2**64
    assert plain(_words)(np.uint64(a), np.uint64(b)) == (high, low, added)


def test_single_scores() -> None:
    rng = np.random.default_rng(1)
    near = rng.normal(size=64).astype(np.float32)
    near[5] = -np.inf
    plus, minus = rng.integers(-32768, 32768, (2, 64)).astype(np.int16)
    slow = near.copy()
    expected = plain(_scores)(slow, plus, minus)
    assert _scores(near, plus, minus) == expected
    np.testing.assert_array_equal(near, slow)
    assert near[5] == -np.inf


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
