"""Symmetric matrices by their lower half, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smidgen.geometry.symmetric import mirror, multiply, shrink, shrink_and_multiply


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
    quadratic = multiply(kept, x, out)
    np.testing.assert_allclose(out, B @ x, atol=1e-12)
    assert quadratic == pytest.approx(x @ B @ x, abs=1e-10)
    quadratic = shrink_and_multiply(kept, v, x, out)
    np.testing.assert_allclose(out, after @ x, atol=1e-11)
    assert quadratic == pytest.approx(x @ after @ x, abs=1e-9)
    mirror(kept)
    np.testing.assert_array_equal(kept, after)


@pytest.mark.parametrize("n", [1, 7, 8, 20, 24, 100, 131])
def test_one_pass_or_two_give_the_same_bits(n: int) -> None:
    _, one, x, v = halves(n, n)
    two, in_one, in_two = one.copy(), np.empty(n), np.empty(n)
    first = shrink_and_multiply(one, v, x, in_one)
    shrink(two, v)
    assert multiply(two, x, in_two) == first
    np.testing.assert_array_equal(in_one, in_two)
    np.testing.assert_array_equal(np.tril(one), np.tril(two))
