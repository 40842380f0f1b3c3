"""The relevance model of Section 2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smidgen.data import filter_stream
from smidgen.errors import InvalidArgument


@given(st.integers(0, 10**6), st.integers(2, 40), st.floats(0.0, 1.0))
def test_the_model_is_well_defined(seed: int, dim: int, margin: float) -> None:
    stream = filter_stream(rounds=50, dim=dim, margin=margin, seed=seed)
    assert (stream.X.shape, stream.y.shape, stream.u.shape) == ((50, dim), (50,), (dim,))
    assert stream.y.dtype == np.bool_
    np.testing.assert_allclose(np.linalg.norm(stream.X, axis=1), 1.0)
    assert np.linalg.norm(stream.u) == pytest.approx(1.0)
    assert (np.abs(stream.margins) >= margin - 1e-12).all()
    np.testing.assert_array_equal(stream.bayes, stream.X @ stream.u >= 0)


def test_relevance_comes_with_its_probability() -> None:
    stream = filter_stream(rounds=60_000, dim=3, seed=1)
    p = (1 + stream.margins) / 2
    for low in np.arange(0.0, 1.0, 0.2):
        part = (p >= low) & (p < low + 0.2)
        assert stream.y[part].mean() == pytest.approx(p[part].mean(), abs=0.02)


def test_items_are_uniform_on_the_sphere() -> None:
    stream = filter_stream(rounds=60_000, dim=5, seed=2)
    np.testing.assert_allclose(stream.X.mean(axis=0), 0.0, atol=0.01)
    np.testing.assert_allclose(stream.X.T @ stream.X / 60_000, np.eye(5) / 5, atol=0.005)


@pytest.mark.parametrize(("dim", "margin"), [(3, 0.4), (8, 0.2)])
def test_a_margin_leaves_the_rest_as_it_was(dim: int, margin: float) -> None:
    """Constructed margins are distributed as resampled ones."""
    free = np.abs(filter_stream(rounds=60_000, dim=dim, seed=3).margins)
    bounded = np.abs(filter_stream(rounds=30_000, dim=dim, margin=margin, seed=4).margins)
    quantiles = np.linspace(0.05, 0.95, 10)
    np.testing.assert_allclose(
        np.quantile(bounded, quantiles), np.quantile(free[free >= margin], quantiles), atol=0.015
    )


def test_regret_is_counted_where_the_action_is_not_the_best() -> None:
    stream = filter_stream(rounds=4, dim=3, seed=5)
    actions = stream.bayes.copy()
    actions[[1, 3]] = ~actions[[1, 3]]
    size = np.abs(stream.margins)
    np.testing.assert_allclose(stream.regret(actions), np.cumsum([0.0, size[1], 0.0, size[3]]))
    assert stream.regret(stream.bayes).sum() == 0.0


def test_regret_is_the_expected_number_of_further_mistakes() -> None:
    stream = filter_stream(rounds=100_000, dim=4, seed=6)
    always = np.ones(100_000, bool)
    further = (always != stream.y).sum() - (stream.bayes != stream.y).sum()
    assert further == pytest.approx(stream.regret(always)[-1], rel=0.03)


def test_the_same_seed_gives_the_same_stream() -> None:
    one, two, other = (filter_stream(rounds=20, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.y, two.y)
    assert not np.array_equal(one.X, other.X)


@pytest.mark.parametrize("bad", [{"rounds": 0}, {"dim": 1}, {"margin": -0.1}, {"margin": 1.1}, {"seed": -1}], ids=str)
def test_bad_arguments_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        filter_stream(**bad)
