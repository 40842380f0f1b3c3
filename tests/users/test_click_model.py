"""Click models: do the clicks come as often as the tables say?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference
from smidgen import Ranking
from smidgen.errors import InvalidArgument
from smidgen.users import ClickModel

#: P(click | grade) and P(stop | click, grade), as printed by Hofmann (2013) and in Lerot.
PRINTED = {
    (2, "perfect"): ([0.0, 1.0], [0.0, 0.0]),
    (2, "navigational"): ([0.05, 0.95], [0.2, 0.9]),
    (2, "informational"): ([0.4, 0.9], [0.1, 0.5]),
    (2, "almost random"): ([0.4, 0.6], [0.5, 0.5]),
    (3, "perfect"): ([0.0, 0.5, 1.0], [0.0, 0.0, 0.0]),
    (3, "navigational"): ([0.05, 0.5, 0.95], [0.2, 0.5, 0.9]),
    (3, "informational"): ([0.4, 0.7, 0.9], [0.1, 0.3, 0.5]),
    (3, "almost random"): ([0.4, 0.5, 0.6], [0.5, 0.5, 0.5]),
    (5, "perfect"): ([0.0, 0.2, 0.4, 0.8, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0]),
    (5, "navigational"): ([0.05, 0.3, 0.5, 0.7, 0.95], [0.2, 0.3, 0.5, 0.7, 0.9]),
    (5, "informational"): ([0.4, 0.6, 0.7, 0.8, 0.9], [0.1, 0.2, 0.3, 0.4, 0.5]),
    (5, "almost random"): ([0.4, 0.45, 0.5, 0.55, 0.6], [0.5, 0.5, 0.5, 0.5, 0.5]),
}
LONG = Ranking(np.ones((40, 1)))
DOWN = list(range(40))


def near(count: int, trials: int, probability: float) -> bool:
    """Within four standard deviations of what is expected."""
    return abs(count - trials * probability) <= 4.0 * np.sqrt(trials * probability * (1.0 - probability))


class TestFrequencies:
    @pytest.mark.parametrize(("grades", "model"), PRINTED, ids=str)
    def test_clicks_and_stops_are_as_frequent_as_the_table_says(self, grades: int, model: str) -> None:
        """Two documents of the grade: the first shows the clicks; the second is reached unless the user stopped."""
        click, stop = PRINTED[grades, model]
        query, trials = Ranking(np.ones((2, 1))), 1500
        for grade in range(grades):
            user = ClickModel(labels=[grade, grade], model=model, grades=grades, seed=grade)
            clicks = [user.clicks(query, [0, 1]) for _ in range(trials)]
            first = [0 in clicked for clicked in clicks]
            assert near(sum(first), trials, click[grade])
            both = sum(clicked == [0, 1] for clicked in clicks)
            assert near(both, sum(first), (1.0 - stop[grade]) * click[grade])
            second_only = sum(clicked == [1] for clicked in clicks)
            assert near(second_only, trials - sum(first), click[grade]), "without a click nobody stops"

    def test_clicks_of_ones_own(self) -> None:
        user = ClickModel(labels=[0, 1], click=[0.25, 0.75], stop=[0.6, 0.0], seed=1)
        query, trials = Ranking(np.ones((2, 1))), 4000
        clicks = [user.clicks(query, [0, 1]) for _ in range(trials)]
        first = sum(0 in clicked for clicked in clicks)
        assert near(first, trials, 0.25)
        assert near(sum(clicked == [0, 1] for clicked in clicks), first, 0.4 * 0.75)


class TestTheCascade:
    @pytest.mark.parametrize("grades", [2, 3, 5])
    def test_perfect_never_stops(self, grades: int) -> None:
        labels = np.where(np.arange(40) % 3 == 0, grades - 1, 0)
        user = ClickModel(labels=labels, model="perfect", grades=grades, seed=2)
        for _ in range(50):
            assert user.clicks(LONG, DOWN) == list(range(0, 40, 3)), "all of the best grade, none of the worst"

    @pytest.mark.parametrize("model", ["navigational", "informational", "almost random"])
    def test_the_others_stop(self, model: str) -> None:
        user = ClickModel(labels=np.full(40, 4), model=model, seed=3)
        assert all(len(user.clicks(LONG, DOWN)) < 40 for _ in range(50))

    @pytest.mark.parametrize("depth", [1, 4, 10])
    def test_nothing_below_the_depth_is_clicked(self, depth: int) -> None:
        user = ClickModel(labels=np.full(40, 1), model="perfect", grades=2, depth=depth)
        shown = DOWN[::-1]
        assert user.clicks(LONG, shown) == shown[:depth]

    def test_a_depth_beyond_the_list_is_all_of_it(self) -> None:
        user = ClickModel(labels=[1, 1], model="perfect", grades=2, depth=10)
        assert user.clicks(Ranking(np.ones((2, 1))), [1, 0]) == [1, 0]

    def test_a_user_who_stops_at_once_clicks_once(self) -> None:
        user = ClickModel(labels=np.arange(40) % 2, click=[0.0, 1.0], stop=[0.0, 1.0], seed=4)
        assert user.clicks(LONG, DOWN[::-1]) == [39]

    def test_the_answer_is_the_ranking_that_the_clicks_stand_for(self) -> None:
        labels = np.arange(40) % 5
        asked, answered = (ClickModel(labels=labels, model="informational", seed=5) for _ in range(2))
        rng = np.random.default_rng(0)
        moved = 0
        for _ in range(50):
            shown = rng.permutation(40)
            clicks = asked.clicks(LONG, shown)
            assert answered(LONG, shown).tolist() == reference.from_clicks(shown.tolist(), clicks)
            places = [shown.tolist().index(document) for document in clicks]
            assert places == sorted(places), "clicks come in the order shown"
            moved += bool(clicks)
        assert moved > 25

    def test_the_same_seed_the_same_clicks(self) -> None:
        def clicks(seed: int) -> list[list[int]]:
            user = ClickModel(labels=np.arange(40) % 5, model="informational", seed=seed)
            return [user.clicks(LONG, DOWN) for _ in range(20)]

        assert clicks(1) == clicks(1)
        assert clicks(1) != clicks(2)


class TestRefused:
    @pytest.mark.parametrize(
        ("labels", "grades"),
        [([0, 2], 2), ([0, 3], 3), ([0, 5], 5), ([-1, 0], 5), ([0.5, 1.0], 5), ([-0.5, 0.0], 2)],
    )
    def test_grades_that_the_model_does_not_know(self, labels: Any, grades: int) -> None:
        user = ClickModel(labels=labels, grades=grades)
        with pytest.raises(InvalidArgument, match=f"whole grades 0 … {grades - 1}"):
            user(Ranking(np.eye(2)), [0, 1])

    @pytest.mark.parametrize(
        "settings",
        [
            {"model": "drunk"},
            {"grades": 4},
            {"click": [0.1, 0.9]},
            {"stop": [0.1, 0.9]},
            {"click": [0.1, 1.1], "stop": [0.0, 0.0]},
            {"click": [0.1, -0.1], "stop": [0.0, 0.0]},
            {"click": [0.1, np.nan], "stop": [0.0, 0.0]},
            {"click": [], "stop": []},
            {"click": [0.1, 0.9], "stop": [0.0]},
            {"depth": 0},
            {"seed": -1},
        ],
        ids=str,
    )
    def test_settings(self, settings: Any) -> None:
        with pytest.raises(InvalidArgument):
            ClickModel(labels=[0, 1], **settings)
