"""The simplex: its shares, and cases with a known answer. The laws of all spaces are in test_spaces."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smidgen import Simplex
from smidgen.errors import InvalidArgument
from smidgen.geometry.simplex import nearest_shares


def test_it_knows_its_shape() -> None:
    simplex = Simplex(dim=4)
    assert (simplex.dim, simplex.free_dim, simplex.floor) == (4, 3, 0.0)
    np.testing.assert_array_equal(simplex.centre, np.full(4, 0.25))
    assert simplex.diameter == pytest.approx(math.sqrt(2))
    assert simplex.inner_radius == pytest.approx(1 / math.sqrt(12))
    assert simplex.outer_radius == pytest.approx(math.sqrt(0.75))
    assert repr(simplex) == "Simplex(dim=4)"


def test_a_shrunk_simplex_has_a_floor() -> None:
    small = Simplex(dim=4).shrunk(0.2)
    assert small.floor == pytest.approx(0.05)
    assert small.shrunk(0.5).floor == pytest.approx(0.15)
    assert small.diameter == pytest.approx(0.8 * math.sqrt(2))
    x = small.embed(small.project(small.coordinates(np.array([9.0, -1.0, -1.0, -1.0]))))
    np.testing.assert_allclose(x, [0.85, 0.05, 0.05, 0.05], rtol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 40), st.floats(0.01, 10.0), st.sampled_from([0.0, 1.0, 1e3, 1e9]))
def test_nearest_shares_solve_their_problem(seed: int, n: int, total: float, far: float) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=n), 1) + far * rng.integers(-1, 2, size=n)
    u = nearest_shares(values, total)
    assert (u >= 0).all()
    assert u.sum() == pytest.approx(total, rel=1e-12)
    shift = values - u  # the same for every positive share, and no larger for a share of zero
    tau = shift[u > 0].mean()
    np.testing.assert_allclose(shift[u > 0], tau, rtol=1e-12, atol=1e-12 * (1 + total))
    assert (values[u == 0] <= tau + 1e-12 * (abs(tau) + total)).all()


@given(st.integers(0, 10**6), st.integers(2, 60), st.floats(0.0, 9.0))
def test_a_projected_point_gives_probabilities(seed: int, dim: int, far: float) -> None:
    rng = np.random.default_rng(seed)
    simplex = Simplex(dim=dim)
    x = simplex.embed(simplex.project(simplex.coordinates(rng.normal(size=dim) * 10.0**far)))
    assert (x >= 0).all()  # not even by rounding: a loss may take the logarithm
    assert x.sum() == pytest.approx(1.0, abs=1e-13)


def test_two_shares_are_an_interval() -> None:
    simplex = Simplex(dim=2)
    z = simplex.project_in_norm(simplex.coordinates(np.array([2.0, -1.0])), np.array([[7.0]]))
    np.testing.assert_allclose(simplex.embed(z), [1.0, 0.0], atol=1e-15)


@pytest.mark.parametrize("dim", [1, 0, -3, 2.5, "2", None])
def test_a_bad_dimension_is_refused(dim: object) -> None:
    with pytest.raises(InvalidArgument, match="dim"):
        Simplex(dim=dim)


@pytest.mark.parametrize("floor", [-0.1, 0.5, 1.0, np.nan, "0", None])
def test_a_bad_floor_is_refused(floor: object) -> None:
    with pytest.raises(InvalidArgument, match="floor"):
        Simplex(dim=2, floor=floor)
