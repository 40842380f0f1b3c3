"""Statistics of numbers, against a slow and obvious twin; and that nothing spoils them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smidgen._core.records import count_numbers, standardize
from smidgen.features.state import Scaling

#: Largest |z|, and the number of values between the extremes that is needed before mean and spread are theirs alone.
REACH, ENOUGH = 4.0, 8


class Twin:
    """All values kept; the lowest and the highest of them held back."""

    def __init__(self) -> None:
        self.between: list[float] = []
        self.low = self.high = 0.0
        self.n = 0

    def learn(self, v: float) -> None:
        self.n += 1
        if self.n == 1:
            self.low = self.high = v
        elif self.n == 2:
            self.low, self.high = min(v, self.low), max(v, self.high)
        else:
            if v < self.low:
                v, self.low = self.low, v
            elif v > self.high:
                v, self.high = self.high, v
            if len(self.between) >= ENOUGH and np.std(self.between) > 0.0:
                mean, sd = np.mean(self.between), np.std(self.between)
                v = float(min(max(v, mean - REACH * sd), mean + REACH * sd))
            self.between.append(v)

    def z(self, v: float) -> float:
        if self.n < 2:
            return 0.0
        values = self.between
        if len(values) < ENOUGH or np.std(values) == 0.0:
            values = [*values, self.low, self.high]
        sd = float(np.std(values))
        return 0.0 if sd == 0.0 else float(np.clip((v - np.mean(values)) / sd, -REACH, REACH))


def fed(values: Any) -> Scaling:
    scaling = Scaling(16)
    scaling.add("v", 0)
    for value in values:
        count_numbers(scaling.lines, np.zeros(1, np.int64), np.array([float(value)]))
    return scaling


def z(scaling: Scaling, *values: float) -> list[float]:
    out = np.empty(len(values))
    standardize(scaling.lines, np.zeros(len(values), np.int64), np.array(values, np.float64), out)
    return out.tolist()


@settings(max_examples=60)
@given(st.lists(st.integers(-50, 50).map(lambda n: n / 4), max_size=40), st.integers(-60, 60))
def test_it_is_what_the_twin_says(values: list[float], probe: int) -> None:
    scaling, twin = fed(values), Twin()
    for value in values:
        twin.learn(value)
    assert z(scaling, probe)[0] == pytest.approx(twin.z(float(probe)), abs=1e-6)


def test_nothing_is_known_of_one_value_or_of_equal_ones() -> None:
    assert z(fed([]), 3.0) == z(fed([3.0]), 9.0) == z(fed([3.0] * 50), 9.0) == [0.0]
    assert z(fed([3.0] * 50 + [4.0]), 4.0, 3.0) == pytest.approx([REACH, -0.14], abs=0.01)


@pytest.mark.parametrize("where", [0, 1, 2, 5, 9, 10, 11, 50])
@pytest.mark.parametrize("far", [1e100, -1e100])
def test_one_value_far_out_spoils_nothing_wherever_it_comes(where: int, far: float) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(100.0, 15.0, 60).tolist()
    clean, spoilt = fed(values), fed([*values[:where], far, *values[where:]])
    probes = rng.normal(100.0, 15.0, 20).tolist()
    np.testing.assert_allclose(z(spoilt, *probes), z(clean, *probes), atol=0.25)


def test_statistics_widen_but_do_not_jump() -> None:
    scaling = fed(np.random.default_rng(0).normal(size=1000))
    centre, spread = 0.0, 1.0
    for value in (50.0, 51.0, 52.0):
        count_numbers(scaling.lines, np.zeros(1, np.int64), np.array([value]))
    assert abs(z(scaling, centre + spread)[0] - 1.0) < 0.1, "three strange values hardly count"
    for _ in range(2000):
        count_numbers(scaling.lines, np.zeros(1, np.int64), np.array([50.0]))
    assert z(scaling, 50.0)[0] < 2.0, "after two thousand they are the rule"


def test_far_values_are_clipped_and_counted() -> None:
    scaling = fed([1.0, 2.0, 3.0] * 10)
    out = np.empty(3)
    assert standardize(scaling.lines, np.zeros(3, np.int64), np.array([2.0, 1e50, -1e50]), out) == 2
    assert out.tolist() == pytest.approx([0.0, REACH, -REACH])
    assert math.isfinite(scaling.lines.sum())
