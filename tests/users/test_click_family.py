"""The family of click users: do the clicks come as often as the models say?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smidgen import Clicks, Ranking, from_clicks, users
from smidgen.errors import InvalidArgument
from smidgen.users.clicks import MODELS

TRIALS = 2000
QUERY = Ranking(np.ones((4, 1)))
SHOWN = [2, 0, 3, 1]
GRADES = np.array([1, 0, 2, 0])
CLICK = [0.1, 0.4, 0.8]


def pages(user: Any) -> list[list[int]]:
    return [list(user(QUERY, SHOWN)) for _ in range(TRIALS)]


def near(count: int, trials: int, probability: float) -> bool:
    return abs(count - trials * probability) <= 4.5 * np.sqrt(trials * probability * (1.0 - probability)) + 1e-9


def test_position_based_people_click_by_place_and_grade() -> None:
    read = [1.0, 0.5, 0.25]
    found = pages(users.PositionBased(labels=GRADES, read=read, click=CLICK, seed=1))
    for place, look in enumerate(read):
        document = SHOWN[place]
        assert near(sum(document in page for page in found), TRIALS, look * CLICK[GRADES[document]])
    assert not any(SHOWN[3] in page for page in found), "nobody looks further than the curve"
    both = sum(SHOWN[0] in page and SHOWN[1] in page for page in found)
    assert near(both, TRIALS, 0.8 * 0.5 * 0.4), "places are looked at independently"


def test_by_default_places_are_read_by_one_over_their_number() -> None:
    user = users.PositionBased(labels=GRADES, grades=3)
    np.testing.assert_allclose(user.read, 1.0 / np.arange(1, 11))
    np.testing.assert_allclose(user.click, [0.1, 0.1 + 0.9 / 3, 1.0])
    assert len(users.PositionBased(labels=GRADES, depth=4).read) == 4


def test_trust_raises_clicks_on_what_stands_high() -> None:
    found = pages(users.TrustBias(labels=GRADES, read=[1.0, 1.0, 1.0, 1.0], click=CLICK, trust=0.6, seed=2))
    for place, document in enumerate(SHOWN):
        own = CLICK[GRADES[document]]
        assert near(sum(document in page for page in found), TRIALS, own + 0.6 / (place + 1) * (1.0 - own))
    plain, trusting = (users.TrustBias(labels=GRADES, click=CLICK, trust=t) for t in (0.0, 1.0))
    np.testing.assert_allclose(plain.attract, np.outer(plain.read, CLICK))
    np.testing.assert_allclose(trusting.attract[0], 1.0)


def test_the_cascade_ends_with_its_first_click() -> None:
    found = pages(users.Cascade(labels=GRADES, click=CLICK, seed=3))
    assert all(len(page) <= 1 for page in found)
    reach = 1.0
    for document in SHOWN:
        own = CLICK[GRADES[document]]
        assert near(sum(page == [document] for page in found), TRIALS, reach * own)
        reach *= 1.0 - own


def test_dependent_clicks_go_on_by_place() -> None:
    found = pages(users.DependentClick(labels=GRADES, click=[0.0, 1.0, 1.0], go_on=[0.7, 0.0], seed=4))
    assert near(sum(page == [2, 0] for page in found), TRIALS, 0.7)
    assert near(sum(page == [2] for page in found), TRIALS, 0.3)
    below = users.DependentClick(labels=np.ones(4, int), click=[0.0, 1.0], go_on=[1.0, 1.0])
    assert list(below(QUERY, SHOWN)) == SHOWN, "below the last place of go_on that one holds"


def test_the_named_models_are_members() -> None:
    for grades, table in MODELS.items():
        for model, (click, stop) in table.items():
            user = users.ClickModel(labels=[0], model=model, grades=grades)
            assert isinstance(user, users.ClickUser)
            assert (user.attract.tolist(), user.stopping.tolist()) == ([list(click)], [list(stop)])
            assert (user.click.tolist(), user.stop.tolist()) == (list(click), list(stop))


@pytest.mark.parametrize(
    "make",
    [
        lambda **s: users.PositionBased(labels=GRADES, click=CLICK, **s),
        lambda **s: users.TrustBias(labels=GRADES, click=CLICK, **s),
        lambda **s: users.Cascade(labels=GRADES, click=CLICK, **s),
        lambda **s: users.DependentClick(labels=GRADES, click=CLICK, **s),
        lambda **s: users.ClickModel(labels=GRADES, grades=3, **s),
    ],
    ids=["position-based", "trust", "cascade", "dependent", "named"],
)
def test_either_form_of_feedback(make: Any) -> None:
    given, better = make(feedback="clicks", seed=5), make(feedback="better", seed=5)
    for _ in range(30):
        clicks = given(QUERY, SHOWN)
        assert isinstance(clicks, Clicks)
        assert better(QUERY, SHOWN).tolist() == from_clicks(SHOWN, clicks).tolist()
    with pytest.raises(InvalidArgument, match="feedback"):
        make(feedback="both")


@pytest.mark.parametrize(
    "make",
    [
        lambda: users.PositionBased(labels=[0], read=[1.2]),
        lambda: users.PositionBased(labels=[0], read=[]),
        lambda: users.PositionBased(labels=[0], grades=1),
        lambda: users.PositionBased(labels=[0], depth=0),
        lambda: users.TrustBias(labels=[0], trust=1.5),
        lambda: users.DependentClick(labels=[0], go_on=[-0.1]),
        lambda: users.DependentClick(labels=[0], go_on="often"),
        lambda: users.Cascade(labels=[0], click=[[0.1]]),
        lambda: users.ClickUser(labels=[0], attract=[0.1], stop=[0.1]),
        lambda: users.ClickUser(labels=[0], attract=[[0.1]], stop=[[0.1, 0.2]]),
        lambda: users.ClickUser(labels=[0], attract=[["x"]], stop=[[0.1]]),
        lambda: users.ClickUser(labels=[0], attract=[[np.nan]], stop=[[0.1]]),
    ],
)
def test_settings_that_are_refused(make: Any) -> None:
    with pytest.raises(InvalidArgument):
        make()
