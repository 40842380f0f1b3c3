"""The box: its limits, and cases with a known answer. The laws of all spaces are in test_spaces."""

from __future__ import annotations

import numpy as np
import pytest

from smidgen import Box
from smidgen.errors import InvalidArgument


def test_it_knows_its_shape() -> None:
    box = Box(low=[0, 10], high=[6, 18])
    assert (box.dim, box.free_dim) == (2, 2)
    np.testing.assert_array_equal(box.centre, [3.0, 14.0])
    assert (box.diameter, box.inner_radius, box.outer_radius) == (10.0, 3.0, 5.0)
    assert repr(box) == "Box(low=[0, 10], high=[6, 18])"
    assert repr(Box(low=np.zeros(9), high=1.0)) == "Box(low=[0, 0, 0, 0, …], high=[1, 1, 1, 1, …])"


def test_one_number_stands_for_all_limits() -> None:
    np.testing.assert_array_equal(Box(low=0, high=[1.0, 2.0]).low, [0.0, 0.0])
    np.testing.assert_array_equal(Box(low=[0.0, 1.0], high=2).high, [2.0, 2.0])
    assert Box(low=-1, high=1).dim == 1


def test_the_limits_are_its_own() -> None:
    low = np.zeros(2)
    box = Box(low=low, high=1.0)
    low[:] = 5.0
    np.testing.assert_array_equal(box.low, [0.0, 0.0])
    with pytest.raises(ValueError, match="read-only"):
        box.high[0] = 3.0


def test_a_correlated_norm_does_not_clip() -> None:
    # A = [[1, −1], [−1, 2]]: with u_1 = 1 the best u_2 is −1, although 0 was inside
    box, inverse = Box(low=[-1.0, -5.0], high=[1.0, 5.0]), np.array([[2.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(box.project_in_norm(np.array([3.0, 0.0]), inverse), [1.0, -1.0], atol=1e-14)


@pytest.mark.parametrize("seed", range(20))
def test_a_point_of_the_border_does_not_leave_the_limits_by_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.normal(size=50)
    box = Box(low=low, high=low + rng.random(50) + 0.1)
    for sign in (-1, 1):
        x = box.embed(box.project(np.full(50, sign * 10.0)))
        assert (box.low <= x).all()
        assert (x <= box.high).all()
        np.testing.assert_allclose(x, box.low if sign < 0 else box.high, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(
    ("low", "high", "problem"),
    [
        ([0.0, 1.0], [1.0, 1.0], r"low\[1\] .*must be below high\[1\]"),
        (2.0, 1.0, r"low\[0\]"),
        ([0.0, 0.0], [1.0, 1.0, 1.0], "the same number"),
        ([0.0, np.nan], 1.0, "low .*finite"),
        (0.0, np.inf, "high .*finite"),
        ("a", 1.0, "low .*number"),
        (None, 1.0, "low .*number"),
        (True, 2.0, "low .*number"),
        ([[0.0]], 1.0, "low .*number"),
        ([[0.0], [1.0, 2.0]], 1.0, "low .*number"),
        ([], 1.0, "low .*number"),
        (0.0, 1j, "high .*number"),
        (-1e308, 1e308, "diameter"),
    ],
)
def test_bad_limits_are_refused(low: object, high: object, problem: str) -> None:
    with pytest.raises(InvalidArgument, match=problem):
        Box(low=low, high=high)
