"""Lift between two groups: coverage and false alarms under many looks, covariates, sample ratios, constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smidgen import offline
from smidgen.errors import InvalidArgument, InvalidRecord
from smidgen.evaluate.confidence import lower_ends
from smidgen.evaluate.lift import (
    FEW_UNITS,
    MeanSequence,
    Split,
    best_constant,
    decisions_to_go,
    lift,
    lift_of_units,
    looks_note,
    predictions,
    sample_ratio,
    verdict,
)

LONG = pytest.mark.long


def people(rng: Any, share: float, mean: float, count: int = 1500, icc: float = 0.3) -> tuple[Any, Any, Any]:
    """Person and reward of each decision in order of time, and the group of each person; 1 to 50 decisions each."""
    spread = 1.0 / icc - 1.0
    rate = rng.beta(mean * spread, (1.0 - mean) * spread, size=count)
    who = np.repeat(np.arange(count), rng.integers(1, 51, size=count))
    when = 0.8 * rng.random(count)[who] + rng.exponential(0.1, size=len(who))
    who = who[np.argsort(when)]
    return who, (rng.random(len(who)) < rate[who]).astype(float), (rng.random(count) < share).astype(float)


def alarms(seed: int, share: float, mean: float, looks: int) -> tuple[bool, bool]:
    """True if a verdict and a sample-ratio alarm were raised although nothing differs."""
    who, r, group = people(np.random.default_rng([35, seed]), share, mean)
    sums, counts, before = np.zeros(len(group)), np.zeros(len(group)), 0
    decided = wrong = False
    for end in np.unique(np.linspace(100, len(who), looks).astype(int)):
        np.add.at(sums, who[before:end], r[before:end])
        np.add.at(counts, who[before:end], 1.0)
        before, seen = end, counts > 0.0
        found = lift_of_units(sums[seen], counts[seen], group[seen])
        decided = decided or found.verdict != "not yet"
        wrong = wrong or not sample_ratio(int(group[seen].sum()), int(seen.sum()), share).ok
    return decided, wrong


@pytest.mark.parametrize(
    ("runs", "looks", "most"), [(30, 60, 4), pytest.param(300, 1000, 22, marks=LONG)], ids=["short", "long"]
)
@pytest.mark.parametrize(("share", "mean"), [(0.5, 0.5), (0.95, 0.5), (0.95, 0.05)])
def test_persons_without_a_difference(share: float, mean: float, runs: int, looks: int, most: int) -> None:
    """A/A, intra-class correlation .3, 1 to 50 decisions a person: few runs of many looks have an alarm."""
    found = [alarms(run, share, mean, looks) for run in range(runs)]
    assert sum(decided for decided, _ in found) <= most
    assert sum(wrong for _, wrong in found) <= 2


def test_decisions_as_observations_would_alarm() -> None:
    """Why persons are counted: decisions of one person are correlated."""
    out = 0
    for run in range(30):
        who, r, group = people(np.random.default_rng([35, run]), 0.5, 0.5)
        mine = group[who]
        out += lift_of_units(r, np.ones(len(r)), mine).verdict != "not yet"
    assert out > 3


@pytest.mark.parametrize("runs", [40, pytest.param(300, marks=LONG)])
@pytest.mark.parametrize(("share", "effect"), [(0.5, 0.1), (0.95, 0.2), (0.95, 0.0)])
def test_decisions_with_a_known_difference(share: float, effect: float, runs: int) -> None:
    missed = found = 0
    looks = np.unique(np.geomspace(100, 4000, 26).astype(int)).tolist()
    for run in range(runs):
        rng = np.random.default_rng([36, run])
        group = (rng.random(4000) < share).astype(float)
        y = (rng.random(4000) < 0.3 + effect * group).astype(float)
        below = Split(y, group, np.full(4000, share), *predictions(y, group))
        low = lower_ends(below, 0.025, looks)
        high = -lower_ends(below._replace(sign=-1.0), 0.025, looks)
        missed += bool(((low > effect) | (high < effect)).any())
        found += bool((low > 0.0).any())
    assert missed <= (22 if runs == 300 else 5)
    assert found >= 0.9 * runs if effect else found <= 0.05 * runs


def test_the_lift_of_persons_of_known_size() -> None:
    missed = better = 0
    for run in range(40):
        rng = np.random.default_rng([37, run])
        decisions, group = rng.integers(1, 51, size=3000), (rng.random(3000) < 0.8).astype(float)
        rate = np.clip(rng.beta(0.7, 1.6, size=3000) + 0.1 * group, 0.0, 1.0)
        found = lift_of_units(rng.binomial(decisions, rate), decisions, group)
        base = rng.beta(0.7, 1.6, size=200_000)
        truth, ratio = np.clip(base + 0.1, 0, 1).mean() - base.mean(), np.clip(base + 0.1, 0, 1).mean() / base.mean()
        missed += not found.difference.low <= truth <= found.difference.high
        missed += not found.ratio.low <= ratio <= found.ratio.high
        better += found.verdict == "better"
        assert found.difference.low < found.difference.single_low < found.difference.value
    assert missed <= 4
    assert better >= 30


def test_the_ratio_and_the_difference_agree() -> None:
    rng = np.random.default_rng(1)
    group = (rng.random(5000) < 0.5).astype(float)
    y = (rng.random(5000) < 0.2 + 0.2 * group).astype(float)
    found = lift(y, group, share=0.5)
    assert found.difference.low < 0.2 < found.difference.high
    assert found.ratio.low < 2.0 < found.ratio.high
    assert found.ratio.value == pytest.approx(y[group == 1].mean() / y[group == 0].mean())
    assert (found.verdict, found.to_go) == ("better", 0)
    assert lift(1.0 - y, group, share=0.5).verdict == "worse"
    nothing = lift(np.zeros(200), np.arange(200) % 2, share=0.5)
    assert not nothing.ratio.enough
    assert nothing.verdict == "not yet"


def needed(y: Any, group: Any, x: Any, share: float) -> int:
    looks = np.unique(np.geomspace(60, len(y), 400).astype(int)).tolist()
    low = lower_ends(Split(y, group, np.full(len(y), share), *predictions(y, group, x)), 0.025, looks)
    first = np.flatnonzero(low > 0.0)
    return int(looks[first[0]]) if len(first) else len(y)


@pytest.mark.parametrize("runs", [12, pytest.param(60, marks=LONG)])
def test_covariates_save_decisions(runs: int) -> None:
    """With R² = .5 at most .65 of the decisions, with none at most 1.02."""
    totals = {(r2, adjusted): 0 for r2 in (0.5, 0.0) for adjusted in (True, False)}
    for run in range(runs):
        for r2 in (0.5, 0.0):
            rng = np.random.default_rng([38, run])
            x, group = rng.normal(size=(8000, 5)), (rng.random(8000) < 0.5).astype(float)
            found = x @ np.array([0.8, 0.4, -0.4, 0.2, 0.0])
            noise = np.sqrt(r2) * found + np.sqrt(1.0 - r2) * rng.normal(size=8000)
            y = np.clip(0.45 + 0.04 * group + 0.2 * noise, 0.0, 1.0)
            totals[r2, True] += needed(y, group, x, 0.5)
            totals[r2, False] += needed(y, group, None, 0.5)
    assert totals[0.5, True] <= 0.65 * totals[0.5, False]
    assert totals[0.0, True] <= 1.02 * totals[0.0, False]


def test_predictions_know_nothing_of_what_comes() -> None:
    rng = np.random.default_rng(2)
    y, group, x = rng.random(400), (rng.random(400) < 0.5).astype(float), rng.normal(size=(400, 3))
    other = y.copy()
    other[250:] = 0.0
    for one, two in zip(predictions(y, group, x), predictions(other, group, x), strict=True):
        assert (one[:251] == two[:251]).all()
        assert (one[251:] != two[251:]).any()


class TestSampleRatio:
    def test_it_holds_under_every_look(self) -> None:
        out = 0
        for run in range(400):
            members = np.cumsum(np.random.default_rng([39, run]).random(3000) < 0.05)
            out += any(sample_ratio(int(members[n - 1]), n, 0.05).p < 0.05 for n in range(10, 3001, 30))
        assert out <= 28

    def test_a_wrong_split_is_found(self) -> None:
        members = np.cumsum(np.random.default_rng(0).random(20_000) < 0.07)
        found = sample_ratio(int(members[-1]), 20_000, 0.05)
        assert not found.ok
        assert found.expected == 0.05
        assert found.observed == pytest.approx(0.07, abs=0.01)

    def test_nonsense_is_refused(self) -> None:
        assert sample_ratio(0, 0, 0.5).ok
        for wrong in ((5, 4, 0.5), (-1, 4, 0.5), (1, 4, 0.0), (1, 4, 1.0)):
            with pytest.raises(InvalidArgument):
                sample_ratio(*wrong)


class TestConstant:
    @staticmethod
    def log(seed: int, means: list[float], greedy: int, n: int = 2000) -> tuple[Any, Any, Any]:
        rng, K = np.random.default_rng([40, seed]), len(means)
        p = np.full(K, 0.2 / K)
        p[greedy] += 0.8
        actions = rng.choice(K, size=n, p=p)
        return (rng.random(n) < np.array(means)[actions]).astype(float), p[actions], actions

    def test_a_better_constant_is_named(self) -> None:
        r, p, a = self.log(0, [0.3, 0.8, 0.3], greedy=0)
        found = best_constant(r, p, a, candidates=3)
        assert found is not None
        assert found.action == 1
        assert 0.0 < found.low < found.value < 1.0

    def test_a_good_model_is_left_alone(self) -> None:
        named = sum(best_constant(*self.log(k, [0.5] * 10, greedy=3), candidates=10) is not None for k in range(40))
        assert named <= 4
        r, p, a = self.log(0, [0.3, 0.8], greedy=1)
        assert best_constant(r, p, a, candidates=2, explored=a != 1) is None  # it costs what exploration costs
        named = best_constant(r, p, a, candidates=2)
        assert named is not None
        assert named.action == 1
        r, p, a = self.log(0, [0.8, 0.3], greedy=1)
        named = best_constant(r, p, a, candidates=2, explored=a != 1)
        assert named is not None
        assert named.action == 0


class TestMeanSequence:
    def test_is_the_batch(self) -> None:
        values = np.random.default_rng(0).beta(2.0, 5.0, size=700)
        kept = MeanSequence()
        for value in values:
            kept.add(value)
        batch, one = offline.confidence_sequence(values, bound=1.0), kept.estimate()
        assert (one.value, one.low, one.high) == pytest.approx((batch.value, batch.low, batch.high), abs=1e-9)
        again = MeanSequence.from_record(kept.to_record())
        assert again.estimate() == one

    def test_merging_covers(self) -> None:
        out = 0
        for run in range(60):
            rng, parts = np.random.default_rng([41, run]), [MeanSequence(), MeanSequence(), MeanSequence()]
            for value in (rng.random(600) < 0.3).astype(float):
                parts[int(rng.integers(3))].add(value)
            parts[0].merge(parts[1])
            parts[0].merge(parts[2])
            found = parts[0].estimate()
            assert found.n == 600
            assert found.high - found.low < 0.2
            out += not found.low <= 0.3 <= found.high
        assert out <= 6

    def test_few_and_nonsense(self) -> None:
        kept = MeanSequence()
        assert not kept.estimate().enough
        kept.add(1.0)
        assert (kept.estimate().value, kept.estimate().enough) == (1.0, False)
        with pytest.raises(InvalidArgument):
            kept.add(1.5)
        for wrong in ({}, {**kept.to_record(), "below": [0.0]}, {**kept.to_record(), "total": 5.0}):
            with pytest.raises(InvalidRecord):
                MeanSequence.from_record(wrong)


def test_verdicts_and_what_is_left() -> None:
    assert verdict(-0.2, -0.1) == "worse"
    assert verdict(float("nan"), float("nan")) == "not yet"
    assert decisions_to_go(0.25, -0.25, 0.75, 100) == 300
    assert decisions_to_go(1e-9, -0.2, 0.2, 100) is None
    assert "40 intervals" in looks_note(40)


@pytest.mark.parametrize(
    "change",
    [{"rewards": [2.0] * 4}, {"treated": [0.5] * 4}, {"treated": [1] * 3}, {"share": 0.0}, {"share": [0.5] * 3},
     {"covariates": [[1.0]] * 3}, {"alpha": 0.0}],
)  # fmt: skip
def test_nonsense_is_refused(change: dict[str, Any]) -> None:
    given: dict[str, Any] = {"rewards": [0.0, 1.0, 0.0, 1.0], "treated": [0, 1, 0, 1], "share": 0.5}
    assert lift(**given).verdict == "not yet"
    with pytest.raises(InvalidArgument):
        lift(**{**given, **change})


def test_nonsense_of_units_is_refused() -> None:
    assert lift_of_units([1.0, 0.0], [2, 1], [1, 0]).verdict == "not yet"
    few = lift_of_units(np.ones(50), np.ones(50), (np.arange(50) < FEW_UNITS - 1).astype(float))
    assert not few.difference.enough
    for wrong in (([1.0, 0.0], [0, 1], [1, 0]), ([3.0, 0.0], [2, 1], [1, 0]), ([1.0], [2, 1], [1, 0])):
        with pytest.raises(InvalidArgument):
            lift_of_units(*wrong)
