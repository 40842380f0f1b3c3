"""The user who says which of two is better."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import reference
from smidgen import Choice, Ranking
from smidgen.errors import InvalidArgument
from smidgen.users import BetterOfTwo
from strategies import ChoiceProblem, choice_problems


@given(choice_problems())
def test_by_utility(p: ChoiceProblem) -> None:
    menu, user = Choice(p.items), BetterOfTwo(w_star=p.w)
    score = reference.scores(p.items, p.w)
    near = 1e-9 * (1.0 + np.abs(p.items).max() * np.abs(p.w).sum())
    for other in range(len(p.items)):
        if abs(score[other] - score[p.shown]) > near:
            assert user(menu, (p.shown, other)) == int(score[other] > score[p.shown])


@pytest.mark.parametrize(
    ("pair", "expected"), [((0, 1), 1), ((1, 0), 0), ((0, 2), 0), ((2, 0), 0), ((1, 1), 0)], ids=str
)
def test_by_rounded_rating(pair: tuple[int, int], expected: int) -> None:
    """2.6 and 3.4 are both three stars: the second is not strictly better."""
    assert BetterOfTwo(ratings=[2.6, 4.0, 3.4])(Choice(np.eye(3)), pair) == expected


def test_equals_are_not_better() -> None:
    assert BetterOfTwo(w_star=[1.0])(Choice(np.array([[0.5], [0.5]])), (0, 1)) == 0


def test_rankings_are_compared_by_utility() -> None:
    query = Ranking(np.array([[0.0], [1.0]]), top=1)
    assert BetterOfTwo(w_star=[1.0])(query, ([0, 1], [1, 0])) == 1
    assert BetterOfTwo(w_star=[1.0])(query, ([1, 0], [0, 1])) == 0


@pytest.mark.parametrize(
    "settings", [{}, {"w_star": [1.0], "ratings": [1.0]}, {"w_star": [np.nan]}, {"ratings": [[1.0]]}], ids=str
)
def test_refused(settings: Any) -> None:
    with pytest.raises(InvalidArgument):
        BetterOfTwo(**settings)
