"""Verdicts follow from intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from smidgen_papers.claims import Estimate, Finding, every, judge, mean, ratio, untestable


def test_the_interval_of_the_mean_is_students() -> None:
    data = np.random.default_rng(0).normal(3.0, 1.0, 12)
    low, high = stats.t.interval(0.95, 11, loc=data.mean(), scale=stats.sem(data))
    estimate = mean(data)
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((data.mean(), low, high))


def test_one_repetition_tells_nothing() -> None:
    assert judge(mean([5.0]), above=0.0, what="x").verdict == "cannot be tested here"
    assert judge(ratio([0.0], [2.0]), above=0.0, what="x").verdict == "cannot be tested here"


def test_ratio_is_exact_on_proportional_pairs_and_covers_on_others() -> None:
    exact = ratio([2.0, 4.0, 8.0], [1.0, 2.0, 4.0])
    assert (exact.low, exact.value, exact.high) == pytest.approx((2.0, 2.0, 2.0))
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        below = rng.normal(2.0, 0.3, 15)
        above = 1.5 * below + rng.normal(0.0, 0.2, 15)
        above[0] -= 0.0 if hits % 2 else 2 * above[0]  # a negative value: the jackknife's path
        estimate = ratio(above, below)
        hits += estimate.low < np.mean(above) / np.mean(below) < estimate.high
    assert hits > 180


def test_a_ratio_of_nothing_tells_nothing() -> None:
    assert judge(ratio([0.0, 0.0], [0.0, 0.0]), below=2.0, what="x").verdict == "cannot be tested here"


@pytest.mark.parametrize(
    ("estimate", "limits", "verdict"),
    [
        (Estimate(2, 1.5, 2.5), {"above": 1}, "holds"),
        (Estimate(0.5, 0.4, 0.6), {"above": 1}, "does not hold here"),
        (Estimate(1.1, 0.9, 1.3), {"above": 1}, "cannot be tested here"),
        (Estimate(0.5, 0.4, 0.6), {"below": 1}, "holds"),
        (Estimate(2, 1.5, 2.5), {"below": 1}, "does not hold here"),
        (Estimate(0.9, 0.7, 1.1), {"below": 1}, "cannot be tested here"),
        (Estimate(1.0, 0.95, 1.05), {"above": 0.9, "below": 1.1}, "holds"),
        (Estimate(2.0, 1.9, 2.1), {"above": 0.9, "below": 1.1}, "does not hold here"),
        (Estimate(1.0, 0.8, 1.2), {"above": 0.9, "below": 1.1}, "cannot be tested here"),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side(
    estimate: Estimate, limits: dict[str, float], verdict: str
) -> None:
    finding = judge(estimate, what="effect", **limits)
    assert finding.verdict == verdict
    assert finding.effect.startswith("effect: ")
    assert ("cannot tell" in finding.reason) == (verdict == "cannot be tested here")


def test_judge_needs_a_limit() -> None:
    with pytest.raises(ValueError, match="limit"):
        judge(Estimate(1, 0, 2), what="x")


def test_one_failure_fails_all_and_names_itself() -> None:
    good, bad, unknown = Finding("holds", "2"), Finding("does not hold here", "0.5"), untestable("no data")
    assert every({"a": good, "b": good}).verdict == "holds"
    assert every({"a": good, "b": unknown}).verdict == "cannot be tested here"
    mixed = every({"a": good, "b": bad, "c": unknown})
    assert mixed.verdict == "does not hold here"
    assert "b" in mixed.reason
    assert "a: 2" in mixed.effect
