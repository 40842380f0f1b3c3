"""Learnt numbers against a plain set."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from smidgen.state import LearntNumbers


@given(st.lists(st.integers(1, 60), unique=True))
def test_it_is_a_set(numbers: list[int]) -> None:
    learnt, judge = LearntNumbers(), set()
    for number in numbers:
        assert number not in learnt
        learnt.add(number)
        judge.add(number)
    assert {n for n in range(70) if n in learnt} == judge
    assert len(learnt) == len(judge)
    ranges = learnt.ranges()
    assert ranges.shape == (len(ranges), 2)
    assert all(a < b for a, b in ranges)
    assert all(before[1] < after[0] for before, after in pairwise(ranges)), "no two touch"
    again = LearntNumbers.from_ranges(ranges)
    assert again.ranges().tolist() == ranges.tolist()
    assert len(again) == len(learnt)


def test_a_long_run_without_gaps_is_one_range() -> None:
    learnt = LearntNumbers()
    for number in range(1, 10_001):
        learnt.add(number)
    assert learnt.ranges().tolist() == [[1, 10_001]]


def test_gaps_close_when_late_feedback_comes() -> None:
    learnt = LearntNumbers()
    for number in [*range(1, 1000, 2), *range(2, 1000, 2)]:
        learnt.add(number)
    assert learnt.ranges().tolist() == [[1, 1000]]
