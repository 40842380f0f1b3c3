"""Kernels, products of matrices, and estimators that keep their examples, against plain Python."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from smidgen._core import dual, filter, matrix, second_order, tune
from smidgen.state.dual import DualClasses, find_kernel


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (4, 16, 3), (5, 17, 300), (7, 40, 256), (9, 33, 257), (3, 0, 2), (2, 5, 0)]
)
def test_a_product_is_summed_in_the_order_of_its_terms(shape: tuple[int, int, int]) -> None:
    rows, columns, terms = shape
    rng = np.random.default_rng(shape)
    A, B = rng.normal(size=(rows, terms)), rng.normal(size=(terms + 1, columns + 2))
    C = rng.normal(size=(rows + 1, columns + 3))
    expected = C.copy()
    for k in range(terms):
        expected[:rows, :columns] += A[:, k, None] * B[k, :columns]
    matrix.add_product(A, B, columns, C)
    np.testing.assert_array_equal(C, expected)


def test_a_product_that_does_not_fit_is_refused() -> None:
    A, B, C = np.zeros((2, 3)), np.zeros((3, 4)), np.zeros((2, 4))
    for given in ((A, B, 5, C), (A, B, -1, C), (A, B[:2], 4, C), (A, B, 4, C[:1])):
        with pytest.raises(ValueError, match="need"):
            matrix.add_product(*given)


@pytest.mark.parametrize("dim", [1, 3, 8, 21])
def test_kernels_are_their_formulas(dim: int) -> None:
    rng = np.random.default_rng(dim)
    X, Z = rng.normal(size=(6, dim)), rng.normal(size=(4, dim))
    exact = [[math.fsum(x * z) for z in Z] for x in X]
    apart = [[math.fsum((x - z) ** 2) for z in Z] for x in X]
    np.testing.assert_allclose(find_kernel("linear", None)(X, Z), exact, rtol=0, atol=1e-14 * dim)
    gram = find_kernel("rbf", {"gamma": 0.3})
    argument = 0.3 * np.array(apart)
    expected = np.array([[math.exp(-one) for one in row] for row in argument])
    roundings = 4 + (dim + 4) * argument  # of exp; and of its argument, which exp turns into relative errors
    assert (np.abs(gram(X, Z) - expected) <= 2.0**-53 * roundings * expected).all()
    np.testing.assert_array_equal(np.diag(gram(X, X)), 1.0)
    for degree in (0, 1, 2, 3, 17, -1, 18):
        found = find_kernel("poly", {"degree": degree, "offset": 0.5})(X, Z)
        powers = np.array([[(one + 0.5) ** degree for one in row] for row in exact])
        np.testing.assert_allclose(found, powers, rtol=1e-10, err_msg=str(degree))


def test_a_negative_number_has_whole_powers_only() -> None:
    X, Z, out = np.array([[-2.0]]), np.array([[1.0]]), np.empty((1, 1))
    for degree, expected in ((3.0, -8.0), (2.0, 4.0), (33.0, -(2.0**33)), (40.0, 2.0**40), (-1.0, -0.5)):
        dual.poly_kernel(X, Z, degree, 0.0, out)
        assert out[0, 0] == pytest.approx(expected, rel=1e-15)
    dual.poly_kernel(X, Z, 0.5, 0.0, out)
    assert math.isnan(out[0, 0])


def plain_moments(G: Any, k: Any, own: float, start: float, lengths: Any) -> tuple[float, list[float]]:
    """xᵀA⁻¹x and G·k with loops only."""
    solved = [0.0] * len(k)
    for i in range(len(k)):
        for j in range(len(k)):
            solved[j] += k[i] * G[i, j]
    width = (own - math.fsum(a * b for a, b in zip(k, solved, strict=True))) / start
    return max(width, (1.0 - 1e-9) * own / (start + math.fsum(lengths))), solved


@pytest.mark.parametrize("n", [0, 1, 3, 4, 9, 16])
def test_a_class_asks_its_members(n: int) -> None:
    rng = np.random.default_rng(n)
    points, x = rng.normal(size=(20, 5)), rng.normal(size=5)
    members = rng.permutation(20)[:n].astype(np.int64)
    k, coefficients = points @ x, rng.normal(size=(2, 20))
    G = np.full((n + 3, n + 2), np.nan)
    G[:n, :n] = np.linalg.inv(points[members] @ points[members].T + 0.5 * np.eye(n))
    G[:n, :n] = (G[:n, :n] + G[:n, :n].T) / 2
    lengths, own, solved = (points**2).sum(axis=1), float(x @ x), np.empty(n)
    mean, width = dual.class_moments(coefficients, 1, k, members, G, own, 0.5, lengths, solved)
    expected, by_loops = plain_moments(G, k[members], own, 0.5, lengths[members])
    np.testing.assert_array_equal(solved, by_loops)
    assert width == pytest.approx(expected, rel=1e-12)
    assert mean == pytest.approx(math.fsum(coefficients[1] * k), rel=1e-12)
    grown = np.full((n + 1, n + 1), np.nan)
    grown[:n, :n] = G[:n, :n]
    after, growth = dual.class_absorb(grown, solved, 0.5, width)
    assert (after, growth) == pytest.approx((width / (1 + width), math.log1p(width)))
    pivot = 0.5 * (1.0 + width)
    np.testing.assert_array_equal(grown[:n, :n], G[:n, :n] + np.outer(solved, solved) / pivot)
    np.testing.assert_array_equal(grown[n], [*(-solved / pivot), 1.0 / pivot])


def test_scores_of_many_rows_are_those_of_each_with_long_rows_too() -> None:
    rng = np.random.default_rng(3)
    state = DualClasses(4, 3, 0.1, find_kernel("poly", {"degree": 2}))
    X = rng.normal(size=(12, 4)) * np.where(np.arange(12) % 5 == 4, 1e3, 1.0)[:, None]
    means, widths, out = np.empty(3), np.empty(3), np.empty((12, 3))
    for t, x in enumerate(X):
        solved = state.moments(x, means, widths)
        point = state.remember(x)
        state.shift(t % 3, point, solved[t % 3], 0.5)
        state.absorb(t % 3, point, solved[t % 3], widths[t % 3])
    state.scores(X, out)
    for x, row in zip(X, out, strict=True):
        state.moments(x, means, widths)
        np.testing.assert_array_equal(row, means)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_the_diagonal_of_an_inverse(n: int) -> None:
    rng = np.random.default_rng(n)
    Q = rng.normal(size=(n, n + 3))
    M, out = Q @ Q.T, np.empty(n)
    second_order.inverse_diagonal(M, out)
    np.testing.assert_allclose(out, np.diag(np.linalg.inv(M)), rtol=1e-8)


def test_rows_get_a_constant_behind_their_features() -> None:
    indices, values = np.array([2, 0, 1], np.uint32), np.array([5.0, 6.0, 7.0])
    starts = np.array([0, 1, 1, 3])
    wide = np.empty(6, np.uint32), np.empty(6), np.empty(4, np.int64)
    filter.write_rows_with_constant((indices, values, starts), 4, *wide)
    rows = [(wide[0][a:b].tolist(), wide[1][a:b].tolist()) for a, b in pairwise(wide[2])]
    assert rows == [([2, 4], [5.0, 1.0]), ([4], [1.0]), ([0, 1, 4], [6.0, 7.0, 1.0])]


def test_a_knob_in_factors_goes_there_and_back() -> None:
    for low, high in ((0.01, 10.0), (1e-300, 1e300), (3.0, 3.5)):
        for share in (0.0, 0.1, 0.5, 0.99, 1.0):
            value = tune.log_value(low, high, share)
            assert low <= value <= high
            if math.isfinite(high / low):
                assert value == pytest.approx(low * (high / low) ** share, rel=1e-14)
                assert tune.log_share(low, high, value) == pytest.approx(share, abs=1e-13)
