"""Offline estimates: what they say of a known truth, how often their intervals hold, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_choose as slow
from smidgen import LinUCB, SquareCB, offline
from smidgen.errors import InvalidArgument

LONG = pytest.mark.long


def spiky(rng: Any, n: int, weight: float, share: float) -> Any:
    """Terms that are 0 or the weight."""
    return weight * (rng.random(n) < share)


def missed(draw: Any, mean: float, runs: int, bound: float) -> float:
    """The share of the runs whose sequence ever missed the mean."""
    out = 0
    for run in range(runs):
        x = draw(np.random.default_rng([7, run]))
        looks = [offline.confidence_sequence(x[: len(x) >> k], bound=bound) for k in range(4)]
        out += any(not look.low <= mean <= look.high for look in looks)
    return out / runs


class TestSequence:
    @pytest.mark.parametrize("alpha", [0.05, 0.2])
    def test_the_asymptotic_one_is_the_formula(self, alpha: float) -> None:
        x = np.random.default_rng(0).beta(2.0, 3.0, size=400)
        estimate = offline.confidence_sequence(x, alpha=alpha, n0=50)
        assert (estimate.low, estimate.high) == pytest.approx(slow.asymptotic_sequence(x, alpha, 50), rel=1e-12)
        assert estimate.n == estimate.effective == 400
        assert estimate.enough

    def test_the_asymptotic_one_holds_for_rewards_while_people_look(self) -> None:
        rng, out = np.random.default_rng(1), 0
        for _ in range(200):
            x = (rng.random(1000) < 0.3).astype(float)
            looks = [offline.confidence_sequence(x[:n]) for n in range(100, 1001, 100)]
            out += any(not look.low <= 0.3 <= look.high for look in looks)
        assert out / 200 <= 0.05

    def test_the_asymptotic_one_is_too_sure_of_weighted_terms(self) -> None:
        """Why there is another: terms of 50 with mean ½, of which it knows nothing until the first one comes."""
        rng, out = np.random.default_rng(2), 0
        for _ in range(100):
            x = spiky(rng, 200, 50.0, 0.01)
            low, high = slow.asymptotic_sequence(x, 0.05, 100)
            out += not low <= 0.5 <= high
        assert out / 100 > 0.1

    @pytest.mark.parametrize(("weight", "share"), [(50.0, 0.01), (100.0, 0.005), (10.0, 0.02)])
    def test_bounded_values_hold_for_weights(self, weight: float, share: float) -> None:
        assert missed(lambda rng: spiky(rng, 4000, weight, share), weight * share, 100, weight) <= 0.05

    @LONG
    @pytest.mark.parametrize(("weight", "share"), [(50.0, 0.01), (50.0, 0.1), (200.0, 0.003), (10.0, 0.02), (1.0, 0.5)])
    def test_bounded_values_hold_for_weights_in_many_runs(self, weight: float, share: float) -> None:
        assert missed(lambda rng: spiky(rng, 20_000, weight, share), weight * share, 2000, weight) <= 0.05

    def test_bounded_values_narrow(self) -> None:
        x = np.random.default_rng(3).beta(2.0, 3.0, size=20_000)
        estimates = [offline.confidence_sequence(x[:n], bound=1.0) for n in (500, 5000, 20_000)]
        sizes = [e.high - e.low for e in estimates]
        assert sizes[0] > sizes[1] > sizes[2]
        assert sizes[2] < 0.02
        assert all(e.low <= e.value <= e.high for e in estimates)

    def test_the_bound_is_a_unit(self) -> None:
        x = np.random.default_rng(4).random(300)
        one, ten = offline.confidence_sequence(x, bound=1.0), offline.confidence_sequence(10.0 * x, bound=10.0)
        assert ten.low == pytest.approx(10.0 * one.low)
        assert ten.high == pytest.approx(10.0 * one.high)

    def test_nothing_is_said_before_thirty_terms(self) -> None:
        x = np.zeros(5000)
        x[:29] = 7.0
        early = offline.confidence_sequence(x, bound=10.0)
        assert (early.low, early.high, early.enough) == (0.0, 10.0, False)
        assert "not enough" in str(early)
        x[29] = 7.0
        later = offline.confidence_sequence(x, bound=10.0)
        assert later.enough
        later = offline.confidence_sequence(np.random.default_rng(0).permutation(x), bound=10.0)
        assert 0.0 < later.low < later.value < later.high < 10.0
        assert "5000 rounds" in str(later)

    @pytest.mark.parametrize(
        ("values", "more"),
        [
            ([], {}),
            ([0.5, 1.5], {}),
            ([-0.1], {}),
            ([float("nan")], {}),
            (["a"], {}),
            ([[0.5]], {}),
            (None, {}),
            ([[1], [1, 2]], {}),
            ([3.0], {"bound": 2.0}),
            ([0.5], {"bound": 0.0}),
            ([0.5], {"bound": float("inf")}),
            ([0.5], {"alpha": 0.0}),
            ([0.5], {"alpha": 1.0}),
            ([0.5], {"alpha": 0.95}),
            ([0.5], {"n0": 0}),
        ],
    )
    def test_nonsense_is_refused(self, values: Any, more: dict[str, Any]) -> None:
        with pytest.raises(InvalidArgument):
            offline.confidence_sequence(values, **more)


class World:
    """Contexts of two kinds, three candidates, rewards that depend on both; a logger that explores."""

    means = np.array([[0.2, 0.5, 0.7], [0.8, 0.3, 0.4]])

    def __init__(self, seed: int, n: int = 3000, floor: float = 0.3) -> None:
        rng = np.random.default_rng(seed)
        self.n, self.kinds = n, rng.integers(2, size=n)
        best = np.array([1, 2])[self.kinds]
        self.logged = np.full((n, 3), floor / 3)
        self.logged[np.arange(n), best] += 1.0 - floor
        self.actions = (rng.random(n)[:, None] > np.cumsum(self.logged, axis=1)).sum(axis=1)
        every = np.arange(n)
        self.p = self.logged[every, self.actions]
        self.rewards = (rng.random(n) < self.means[self.kinds, self.actions]).astype(float)
        self.target = np.eye(3)[np.array([2, 0])[self.kinds]]
        self.pi = self.target[every, self.actions]
        self.value = 0.75


class TestPolicies:
    def test_each_finds_the_value_of_another_policy(self) -> None:
        for seed in range(5):
            w = World(seed)
            good, bad = w.means[w.kinds], np.full((w.n, 3), 0.5)
            estimates = {
                "ips": offline.ips(w.rewards, w.p, w.pi),
                "snips": offline.snips(w.rewards, w.p, w.pi),
                "dr": offline.doubly_robust(w.rewards, w.p, w.actions, w.target, good),
                "dr, bad model": offline.doubly_robust(w.rewards, w.p, w.actions, w.target, bad),
            }
            for name, estimate in estimates.items():
                assert estimate.low <= w.value <= estimate.high, name
                assert abs(estimate.value - w.value) < 0.15, name
                assert estimate.effective < estimate.n == w.n
            assert offline.direct(w.target, good).value == pytest.approx(w.value, abs=0.02)
            assert offline.direct(w.target, bad).value == pytest.approx(0.5)

    def test_a_good_model_and_its_own_mean_help(self) -> None:
        errors: dict[str, list[float]] = {"ips": [], "snips": [], "dr": []}
        for seed in range(30):
            w = World(seed, n=500)
            errors["ips"].append(offline.ips(w.rewards, w.p, w.pi).value - w.value)
            errors["snips"].append(offline.snips(w.rewards, w.p, w.pi).value - w.value)
            dr = offline.doubly_robust(w.rewards, w.p, w.actions, w.target, w.means[w.kinds])
            errors["dr"].append(dr.value - w.value)
        spread = {name: float(np.std(error)) for name, error in errors.items()}
        assert spread["dr"] < spread["snips"] < spread["ips"]

    @pytest.mark.parametrize("runs", [40, pytest.param(1000, marks=LONG)])
    def test_intervals_hold_with_weights_of_fifty(self, runs: int) -> None:
        """The logger shows what the new policy wants in one round of fifty."""
        out = dict.fromkeys(("ips", "snips", "dr"), 0)
        for run in range(runs):
            rng = np.random.default_rng([11, run])
            n = 4000
            actions = (rng.random(n) < 0.02).astype(int)
            p = np.where(actions == 1, 0.02, 0.98)
            r = (rng.random(n) < np.array([0.4, 0.6])[actions]).astype(float)
            target = np.tile([0.0, 1.0], (n, 1))
            estimates = {
                "ips": offline.ips(r, p, actions.astype(float)),
                "snips": offline.snips(r, p, actions.astype(float)),
                "dr": offline.doubly_robust(r, p, actions, target, np.full((n, 2), 0.5)),
            }
            for name, e in estimates.items():
                out[name] += e.enough and not e.low <= 0.6 <= e.high
        assert max(out.values()) / runs <= 0.05

    def test_the_bound_may_be_given(self) -> None:
        w = World(0)
        plain, tight, wide = (offline.ips(w.rewards, w.p, w.pi, bound=bound) for bound in (None, 10.0, 100.0))
        assert plain == tight == wide  # its interval needs none
        with pytest.raises(InvalidArgument, match="bound"):
            offline.ips(w.rewards, w.p, w.pi, bound=2.0)
        with pytest.raises(InvalidArgument, match="different numbers of rounds"):
            offline.ips(w.rewards, w.p, w.pi, bound=[10.0, 10.0])

    def test_all_propensities_give_the_bound(self) -> None:
        w = World(2)
        most = offline.largest_weights(w.logged, w.target)
        assert most == pytest.approx(1.0 / w.logged[w.target == 1.0])
        predicted = w.means[w.kinds]
        known = offline.doubly_robust(w.rewards, w.logged, w.actions, w.target, predicted)
        assert known == offline.doubly_robust(w.rewards, w.p, w.actions, w.target, predicted, bound=most)
        plain = offline.doubly_robust(w.rewards, w.p, w.actions, w.target, predicted)
        assert known.high - known.low < 0.8 * (plain.high - plain.low)
        for wrong in (w.logged[:, :2], w.logged * 2.0, w.logged[:5]):
            with pytest.raises(InvalidArgument):
                offline.doubly_robust(w.rewards, wrong, w.actions, w.target, predicted)
            with pytest.raises(InvalidArgument):
                offline.largest_weights(wrong, w.target)

    def test_the_direct_method_has_no_interval(self) -> None:
        found = offline.direct([[1.0, 0.0]] * 50, [[0.7, 0.2]] * 50)
        assert found.value == pytest.approx(0.7)
        assert np.isnan([found.low, found.high, found.single_low, found.single_high]).all()
        assert "no interval" in str(found)

    def test_values_stay_within_the_rewards(self) -> None:
        w = World(1, n=200)
        e = offline.snips(w.rewards, w.p, w.pi)
        assert 0.0 <= e.low <= e.value <= e.high <= 1.0

    def test_a_policy_that_was_never_shown(self) -> None:
        e = offline.snips([1.0] * 50, [0.5] * 50, [0.0] * 50)
        assert (e.value, e.low, e.high, e.effective, e.enough) == (0.0, 0.0, 1.0, 0.0, False)

    def test_the_log_of_a_learner(self) -> None:
        """Decisions of one learner judge another; the truth is known here."""
        rng = np.random.default_rng(0)
        items, T = np.eye(4), 3000
        table = (rng.random((T, 4)) < [0.2, 0.4, 0.5, 0.7]).astype(float)
        h = SquareCB(dim=4, floor=0.4, seed=1).run(items, table)
        e = offline.snips(h.rewards, h.propensities, (h.actions == 2).astype(float))
        assert e.low <= 0.5 <= e.high
        assert e.high - e.low < 0.4
        trained = LinUCB(dim=4, floor=0.0).run(items, table)
        assert trained.average_reward > e.value

    @pytest.mark.parametrize(
        ("rewards", "propensities", "target"),
        [
            ([0.5], [0.0], [1.0]),
            ([0.5], [1.5], [1.0]),
            ([0.5], [0.5], [1.5]),
            ([2.0], [0.5], [1.0]),
            ([0.5, 0.5], [0.5], [1.0]),
            ([float("nan")], [0.5], [1.0]),
            ([0.5], [float("nan")], [1.0]),
            ([0.5], [0.5], [None]),
            ([], [], []),
            ([[0.5]], [0.5], [1.0]),
            ("r", "p", "t"),
            ([0.5], [1e-320], [1.0]),
        ],
    )
    def test_nonsense_is_refused(self, rewards: Any, propensities: Any, target: Any) -> None:
        for estimate in (offline.ips, offline.snips):
            with pytest.raises(InvalidArgument):
                estimate(rewards, propensities, target)

    def test_nonsense_of_the_doubly_robust(self) -> None:
        r, p, a, pi, f = [0.5, 0.5], [0.5, 0.5], [0, 1], [[1.0, 0.0]] * 2, [[0.5, 0.5]] * 2
        assert offline.doubly_robust(r, p, a, pi, f).n == 2
        for wrong in (
            (r, p, [0, 2], pi, f),
            (r, p, [0.0, 1.0], pi, f),
            (r, p, [0], pi, f),
            (r, p, None, pi, f),
            (r, p, a, [[0.6, 0.6]] * 2, f),
            (r, p, a, pi, [[0.5, np.nan]] * 2),
            (r, p, a, pi, [[0.5] * 3] * 2),
            (r[:1], p[:1], a, pi, f),
            (r, p, a, [1.0, 0.0], f),
        ):
            with pytest.raises(InvalidArgument):
                offline.doubly_robust(*wrong)
        with pytest.raises(InvalidArgument):
            offline.direct(pi, f[:1])
        with pytest.raises(InvalidArgument):
            offline.direct(pi, [[0.5] * 3] * 2)


class TestOverlap:
    def test_a_log_of_the_same_policy_is_worth_itself(self) -> None:
        found = offline.overlap([0.3, 0.7] * 50, [0.3, 0.7] * 50)
        assert (found.effective, found.share, found.largest, found.mean) == pytest.approx((100.0, 1.0, 1.0, 1.0))
        assert len(found.words) == 1

    def test_too_few(self) -> None:
        found = offline.overlap([0.5] * 100, [0.0] * 90 + [1.0] * 10)
        assert found.matched == 10
        assert "too few" in str(found)

    def test_thin(self) -> None:
        rng = np.random.default_rng(0)
        rare = rng.random(4000) < 0.01
        found = offline.overlap(np.where(rare, 0.01, 0.99), rare.astype(float))
        assert "few rounds" in found.words[0]
        assert found.effective == pytest.approx(rare.sum())

    def test_propensities_that_cannot_be_right(self) -> None:
        rng = np.random.default_rng(0)
        shown = rng.random(2000) < 0.5
        found = offline.overlap(np.full(2000, 0.25), shown.astype(float))
        assert found.mean == pytest.approx(2.0, abs=0.1)
        assert "should be near 1" in found.words[0]

    def test_nonsense_is_refused(self) -> None:
        for wrong in (([0.0], [1.0]), ([0.5], [2.0]), ([0.5], [1.0, 1.0]), (None, None)):
            with pytest.raises(InvalidArgument):
                offline.overlap(*wrong)
