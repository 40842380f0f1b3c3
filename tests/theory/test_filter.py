"""Theorems 1 and 3 of the filtering paper, and filters on its relevance model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from smidgen import PRidgeFil, RidgeFil, RidgeFull, SimpleFil, bounds
from smidgen.data import FilterStream, filter_stream
from smidgen.errors import SmidgenError


def expected_regret(make: Callable[[int], Any], streams: list[FilterStream]) -> np.ndarray:
    """The mean of the cumulative regret over streams."""
    runs = [stream.regret(make(seed).run(stream.X, stream.y).actions) for seed, stream in enumerate(streams)]
    return np.mean(runs, axis=0)


def test_the_formulas() -> None:
    assert bounds.simple_fil(n=1, delta=0.1) == 4.0
    assert bounds.simple_fil(n=100, delta=-0.25) == pytest.approx((32 / 0.25 + 2) * np.log(100) + 4)
    assert bounds.simple_fil(n=100, delta=0.25) == bounds.simple_fil(n=100, delta=-0.25)
    value = bounds.p_ridge_fil(n=400, dim=3, margin=0.5, a=2.0)
    assert value == pytest.approx(2 * 2 * 20 / 0.5 + 8 * 20 * 3 * np.log(1 + 400 / 6) / 0.5 + 10 + 0.5)


def test_curves_are_their_points() -> None:
    n = np.array([1, 10, 1000])
    np.testing.assert_allclose(bounds.simple_fil(n=n, delta=0.2), [bounds.simple_fil(n=k, delta=0.2) for k in n])
    settings = {"dim": 4, "margin": 0.3, "a": 0.7}
    np.testing.assert_allclose(bounds.p_ridge_fil(n=n, **settings), [bounds.p_ridge_fil(n=k, **settings) for k in n])
    assert isinstance(bounds.simple_fil(n=5, delta=0.1), float)
    assert isinstance(bounds.p_ridge_fil(n=5, dim=2, margin=0.1), float)


@pytest.mark.parametrize("bad", [{"n": 0}, {"n": 1.5}, {"n": "many"}, {"delta": 0.0}, {"delta": 0.6}], ids=str)
def test_bad_arguments_of_theorem_1_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(SmidgenError):
        bounds.simple_fil(**{"n": 10, "delta": 0.1, **bad})


@pytest.mark.parametrize(
    "bad", [{"n": 0}, {"dim": 0}, {"margin": 0.0}, {"margin": 1.5}, {"a": 0.0}, {"a": float("nan")}], ids=str
)
def test_bad_arguments_of_theorem_3_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(SmidgenError):
        bounds.p_ridge_fil(**{"n": 10, "dim": 2, "margin": 0.1, "a": 1.0, **bad})


@pytest.mark.parametrize("p", [0.0, 0.1, 0.3, 0.45, 0.6, 0.9])
def test_simple_fil_stays_below_theorem_1(p: float) -> None:
    n, delta = 3000, p - 0.5
    regrets = []
    for seed in range(50):
        relevant = np.random.default_rng(seed).random(n) < p
        actions = SimpleFil().run(range(n), relevant).actions
        regrets.append(np.cumsum(2 * abs(delta) * (actions != (delta >= 0))))
    curve = np.mean(regrets, axis=0)
    assert (curve <= bounds.simple_fil(n=np.arange(1, n + 1), delta=delta)).all()
    if p == 0.1:
        assert curve[-1] - curve[n // 2] < 0.2 * curve[n // 2], "logarithmic"


@pytest.mark.parametrize(("dim", "margin"), [(2, 0.05), (4, 0.2), (6, 0.6)])
def test_p_ridge_fil_stays_below_theorem_3(dim: int, margin: float) -> None:
    for n in (1, 10, 100, 1000):
        streams = [filter_stream(rounds=n, dim=dim, margin=margin, seed=seed) for seed in range(10)]
        regret = expected_regret(lambda seed, n=n: PRidgeFil(dim=dim, horizon=n, seed=seed), streams)[-1]
        assert regret <= bounds.p_ridge_fil(n=n, dim=dim, margin=margin)


def test_p_ridge_fil_pays_about_the_root_of_n() -> None:
    regrets = []
    for n in (500, 8000):
        streams = [filter_stream(rounds=n, dim=4, margin=0.3, seed=seed) for seed in range(10)]
        regrets.append(expected_regret(lambda seed, n=n: PRidgeFil(dim=4, horizon=n, seed=seed), streams)[-1])
    assert np.log(regrets[1] / regrets[0]) / np.log(16) < 0.65


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_the_regret_of_ridge_fil_per_round_falls(margin: float) -> None:
    streams = [filter_stream(rounds=8000, dim=4, margin=margin, seed=seed) for seed in range(6)]
    regret = expected_regret(lambda seed: RidgeFil(dim=4), streams)
    pace = np.diff(regret[[0, 500, 2000, 7999]]) / [500, 1500, 5999]
    assert pace[0] > 2 * pace[1] > 4 * pace[2]


def topics(seed: int, n: int = 6000) -> FilterStream:
    """Items of four topics that teach nothing about each other; two of them are relevant in three of four cases."""
    rng = np.random.default_rng(seed)
    u = np.array([0.5, 0.5, -0.5, -0.5])
    X = np.eye(4)[rng.integers(4, size=n)]
    return FilterStream(X, rng.random(n) < (1 + X @ u) / 2, u)


def test_without_the_threshold_a_filter_gets_stuck() -> None:
    """A topic with a bad first impression is never forwarded again."""
    late: dict[str, list[float]] = {"bold": [], "greedy": [], "full": []}
    total: dict[str, list[float]] = {"bold": [], "greedy": [], "full": []}
    for stream in map(topics, range(12)):
        filters = {"bold": RidgeFil(dim=4), "greedy": RidgeFil(dim=4, c=0.0), "full": RidgeFull(dim=4)}
        for name, each in filters.items():
            regret = stream.regret(each.run(stream.X, stream.y).actions)
            late[name].append(regret[-1] - regret[3000])
            total[name].append(regret[-1])
        assert [filters["bold"].predict(x) for x in np.eye(4)] == [True, True, False, False]
        stuck = late["greedy"][-1] > 300  # a quarter of the items, at half an item of regret each
        assert stuck != all(filters["greedy"].predict(x) for x in np.eye(4)[:2])
    assert 3 <= sum(value > 300 for value in late["greedy"]) < 12
    assert max(late["bold"] + late["full"]) < 10
    assert np.mean(total["greedy"]) > 2 * np.mean(total["bold"])
