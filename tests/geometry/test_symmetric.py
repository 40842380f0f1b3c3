"""Symmetric matrices by their lower half, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smidgen._core.geometry import mirror, multiply, settle, shrink_and_multiply


def halves(seed: int, n: int) -> tuple[Any, Any, Any, Any]:
    """A symmetric matrix, the same with rubbish where nobody may look, and two vectors."""
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(n, n))
    B = (G + G.T) / 2
    blocks = np.arange(n) // 8
    unseen = (np.arange(n)[:, None] < np.arange(n)) & ((blocks[:, None] != blocks) | (blocks == n // 8))
    return B, np.where(unseen, 1e9, B), rng.normal(size=n), rng.normal(size=n)


@given(st.integers(0, 10**6), st.integers(1, 40))
def test_products_and_rank_one_steps(seed: int, n: int) -> None:
    B, kept, x, v = halves(seed, n)
    out, after = np.full(n, np.nan), B - np.outer(v, v)
    quadratic = multiply(kept, x, out, seed % 2 == 0)
    np.testing.assert_allclose(out, B @ x, atol=1e-12)
    assert quadratic == pytest.approx(x @ B @ x, abs=1e-10)
    waiting = np.stack([v, np.full(n, np.nan)])
    quadratic = shrink_and_multiply(kept, waiting, x, out, seed % 2 == 0)
    np.testing.assert_allclose(out, after @ x, atol=1e-11)
    np.testing.assert_array_equal(waiting, np.stack([v, after.diagonal()]))
    assert quadratic == pytest.approx(x @ after @ x, abs=1e-9)
    mirror(kept)
    np.testing.assert_array_equal(kept, after)


@pytest.mark.parametrize("n", [129, 260, 383, 512])
def test_many_panels(n: int) -> None:
    test_products_and_rank_one_steps.hypothesis.inner_test(seed=n, n=n)


@pytest.mark.parametrize("n", [1, 7, 8, 20, 24, 100, 131, 256, 300, 644])
@pytest.mark.parametrize("back", [False, True])
def test_one_pass_or_two_forth_or_back_give_the_same_bits(n: int, back: bool) -> None:
    _, one, x, v = halves(n, n)
    two, in_one, in_two = one.copy(), np.empty(n), np.empty(n)
    first = shrink_and_multiply(one, np.stack([v, v]), x, in_one, back)
    settle(two, waiting := np.stack([v, v]))
    np.testing.assert_array_equal(waiting, np.stack([0.0 * v, v]))
    assert multiply(two, x, in_two, not back) == first
    np.testing.assert_array_equal(in_one, in_two)
    np.testing.assert_array_equal(np.tril(one), np.tril(two))


@pytest.mark.parametrize("n", [3, 4, 12, 20])
def test_zeros_at_the_end_may_be_left_out(n: int) -> None:
    """Vectors are filled up to whole blocks of eight with zeros; the last four rows of B need not be there."""
    B, _, x, v = halves(n, n)
    full, wide = n + -n % 4, n + -n % 8
    kept, whole, out, expected = np.zeros((full, wide)), np.zeros((wide, wide)), np.empty(wide), np.empty(wide)
    kept[:n, :n], whole[:n, :n] = B, B
    x, v = np.pad(x, (0, wide - n)), np.pad(v, (0, wide - n))
    assert multiply(kept, x, out, False) == multiply(whole, x, expected, False)
    rows, more = np.stack([v, np.zeros(wide)]), np.stack([v, np.zeros(wide)])
    assert shrink_and_multiply(kept, rows, x, out, False) == shrink_and_multiply(whole, more, x, expected, False)
    np.testing.assert_array_equal(rows, more)
    np.testing.assert_array_equal(out, expected)
    settle(kept, rows)
    settle(whole, more)
    mirror(kept)
    mirror(whole)
    np.testing.assert_array_equal(kept, whole[:full])
