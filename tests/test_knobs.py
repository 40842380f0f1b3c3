"""Knobs: own units to shares of the way and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import smidgen
from smidgen import Knobs, knobs, serialization
from smidgen.errors import InvalidArgument

SPACE = Knobs({"threads": knobs.Integer(1, 64), "wait": knobs.Log(0.01, 10), "ratio": (0, 1)})


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_there_and_back(shares: list[float]) -> None:
    point = SPACE.point(shares)
    assert SPACE.point(SPACE.shares(point)) == pytest.approx(point)
    assert type(point["threads"]) is int
    np.testing.assert_allclose(SPACE.shares(point)[1:], shares[1:], atol=1e-9)


def test_every_whole_number_has_the_same_share() -> None:
    values = [knobs.Integer(-1, 2).value(share) for share in np.linspace(0, 1, 4001)[:-1]]
    assert {value: values.count(value) for value in set(values)} == {-1: 1000, 0: 1000, 1: 1000, 2: 1000}


def test_they_survive_json() -> None:
    again = serialization.from_json(serialization.to_json(SPACE))
    assert repr(again) == repr(SPACE)
    assert again.names == ["threads", "wait", "ratio"]


@pytest.mark.parametrize(
    "bad",
    [
        {},
        [],
        None,
        {"a": (1, 0)},
        {"a": (0, float("inf"))},
        {"a": "red"},
        {"a": ["red", "green", "blue"]},
        {1: (0, 1)},
        {"": (0, 1)},
        {"a": (True, 2)},
    ],
    ids=repr,
)
def test_bad_knobs_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidArgument):
        Knobs(bad)


@pytest.mark.parametrize("make", [lambda: knobs.Log(0, 1), lambda: knobs.Log(-1, 1), lambda: knobs.Integer(0.5, 2)])
def test_bad_limits_are_refused(make: Any) -> None:
    with pytest.raises(InvalidArgument):
        make()


@pytest.mark.parametrize("bad", [{}, {"threads": 1, "wait": 1.0}, {"threads": 65, "wait": 1.0, "ratio": 0.0}, 3])
def test_points_of_other_knobs_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidArgument):
        SPACE.shares(bad)


def test_gradients_have_no_units_of_their_own() -> None:
    space: Any = SPACE
    with pytest.raises(InvalidArgument, match="Box"):
        smidgen.OGD(space=space, gradient_bound=1.0)
