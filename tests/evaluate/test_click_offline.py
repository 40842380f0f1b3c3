"""Offline estimates from clicks against what the users would really have clicked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import Clicks, Ranking, users
from smidgen.errors import InvalidArgument
from smidgen.evaluate import position_ips, replay_clicks

READ = np.array([1.0, 0.6, 0.3, 0.2])
ATTRACT = np.array([0.2, 0.9])
GRADES = np.array([0, 1, 0, 1])
QUERY = Ranking(np.eye(4))


def worth(order: Any) -> float:
    """The clicks that an order gets in expectation."""
    return float(sum(READ[k] * ATTRACT[GRADES[document]] for k, document in enumerate(order)))


def logged(n: int, learner: Any) -> list[tuple[Any, Clicks]]:
    user = users.PositionBased(labels=GRADES, read=READ, click=ATTRACT, seed=1)
    return [(d, user(QUERY, d.action)) for d in (learner.decide(QUERY) for _ in range(n))]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [1, 3, 0, 2], [2, 0, 3, 1]])
def test_the_estimate_is_what_the_order_would_get(order: list[int]) -> None:
    log = logged(6000, smidgen.PreferencePerceptron(dim=4))  # always 0, 1, 2, 3
    found = replay_clicks(log, lambda query: order, read=READ)
    assert found.n == 6000
    assert found.low < found.value < found.high
    assert abs(found.value - worth(order)) < 1.5 * (found.high - found.low) / 2
    dcg = replay_clicks(log, lambda query: order, read=READ, value="dcg")
    truth = sum(ATTRACT[GRADES[document]] / np.log2(k + 2) for k, document in enumerate(order))
    assert abs(dcg.value - truth) < 1.5 * (dcg.high - dcg.low) / 2


def test_the_old_order_is_estimated_by_its_own_clicks() -> None:
    log = logged(500, smidgen.PreferencePerceptron(dim=4))
    found = replay_clicks(log, smidgen.PreferencePerceptron(dim=4), read=READ)
    clicks = sum(len(each) for _, each in log)
    assert found.value == pytest.approx(clicks / 500)
    assert found.effective == pytest.approx(clicks)


def test_intervals_cover_as_often_as_they_say() -> None:
    rng, held = np.random.default_rng(0), []
    for _ in range(200):
        clicked = rng.random((200, 4)) < READ * ATTRACT[GRADES]
        page, old = np.nonzero(clicked)
        new = np.array([2, 0, 3, 1])[old]  # document k goes there
        found = position_ips(page, old, new, n=200, read=READ)
        held.append(found.low <= worth([1, 3, 0, 2]) <= found.high)
    assert 0.89 < np.mean(held) <= 1.0


def test_documents_that_are_not_shown_or_looked_at_are_worth_nothing() -> None:
    assert position_ips([0, 0], [0, 1], [-1, 9], n=1, read=READ).value == 0.0
    assert position_ips([], [], [], n=3, read=READ).value == 0.0
    lonely = position_ips([0], [0], [0], n=1, read=READ)
    assert (lonely.low, lonely.high, lonely.enough) == (
        0.0,
        pytest.approx(1 / 0.2 + 0.6 / 0.3 + 0.3 / 0.6 + 0.2),
        False,
    )


def test_no_click_counts_more_than_the_clip() -> None:
    assert position_ips([0], [1], [0], n=1, read=[1.0, 0.001], clip=10.0).value == 10.0
    assert position_ips([0], [5], [0], n=1, read=[1.0, 0.5]).value == 100.0, "at a place where nobody looks"


@pytest.mark.parametrize(
    "changes",
    [
        {"read": []},
        {"read": [-0.1]},
        {"read": "steep"},
        {"n": 0},
        {"pages": [1]},
        {"pages": [-1]},
        {"places": [-1]},
        {"places": [0, 1]},
        {"places": [0.5]},
        {"value": "money"},
        {"clip": 0.0},
        {"confidence": 0.0},
    ],
    ids=str,
)
def test_what_is_refused(changes: dict[str, Any]) -> None:
    given = {"pages": [0], "places": [0], "new_places": [0], "n": 1, "read": READ, **changes}
    with pytest.raises(InvalidArgument):
        position_ips(given.pop("pages"), given.pop("places"), given.pop("new_places"), **given)


def test_other_feedback_is_passed_over() -> None:
    learner = smidgen.PreferencePerceptron(dim=4)
    log = [(learner.decide(QUERY), [3, 2, 1, 0]), (learner.decide(QUERY), Clicks([0]))]
    assert replay_clicks(log, learner, read=READ).n == 1
