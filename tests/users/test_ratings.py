"""Users who go by rounded ratings."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smidgen import Choice, Ranking
from smidgen.errors import InvalidArgument, InvalidFeedback
from smidgen.users import BestRating, BetterRating

both = pytest.mark.parametrize("make", [BetterRating, BestRating])


@st.composite
def rated_menus(draw: Any) -> tuple[list[float], list[int], int]:
    ratings = draw(st.lists(st.floats(0.0, 6.0), min_size=1, max_size=8))
    available = draw(st.sets(st.sampled_from(range(len(ratings))), min_size=1).map(sorted))
    return ratings, available, draw(st.sampled_from(available))


def whole_stars(ratings: list[float]) -> list[int]:
    """Rounded half to even, one by one."""
    return [round(rating) for rating in ratings]


class TestWhatTheyAnswer:
    @given(rated_menus())
    def test_better_is_the_next_higher_rating_on_offer(self, case: tuple[list[float], list[int], int]) -> None:
        ratings, available, shown = case
        answer = BetterRating(ratings=ratings)(Choice(np.eye(len(ratings)), available), shown)
        stars = whole_stars(ratings)
        higher = [stars[item] for item in available if stars[item] > stars[shown]]
        assert answer in available
        assert (stars[answer] == min(higher)) if higher else (answer == shown)

    @given(rated_menus())
    def test_best_is_the_highest_rating_on_offer(self, case: tuple[list[float], list[int], int]) -> None:
        ratings, available, shown = case
        answer = BestRating(ratings=ratings)(Choice(np.eye(len(ratings)), available), shown)
        stars = whole_stars(ratings)
        highest = max(stars[item] for item in available)
        assert answer in available
        assert stars[answer] == highest
        assert answer == shown or stars[shown] < highest

    def test_rounding_hides_small_differences(self) -> None:
        """3.4 and 2.6 are both three stars, so neither is better than the other."""
        menu = Choice(np.eye(3))
        assert BetterRating(ratings=[2.6, 3.4, 1.0])(menu, 0) == 0
        assert BestRating(ratings=[2.6, 3.4, 1.0])(menu, 0) == 0

    @both
    def test_legal_ratings_are_clipped_to(self, make: Any) -> None:
        """Without limits 7.2 beats 5.1; on a scale of one to five they are equal."""
        menu = Choice(np.eye(2))
        assert make(ratings=[5.1, 7.2])(menu, 0) == 1
        assert make(ratings=[5.1, 7.2], legal=(1, 5))(menu, 0) == 0
        assert make(ratings=[-3.0, 1.2], legal=(1, 5))(menu, 0) == 0


class TestTies:
    """Tolerance: 3000 draws from three, so a share has the standard deviation 0.0086; 0.035 is four of them."""

    @both
    def test_are_drawn_uniformly(self, make: Any) -> None:
        user = make(ratings=[1, 4, 2, 4, 4, 1] if make is BestRating else [1, 3, 5, 3, 3, 5], seed=11)
        menu = Choice(np.eye(6))
        counts = Counter(user(menu, 0) for _ in range(3000))
        assert set(counts) == {1, 3, 4}
        for count in counts.values():
            assert abs(count / 3000 - 1 / 3) < 0.035

    @both
    def test_items_not_on_offer_take_no_part(self, make: Any) -> None:
        user = make(ratings=[1, 4, 4, 4], seed=12)
        menu = Choice(np.eye(4), [0, 1, 3])
        counts = Counter(user(menu, 0) for _ in range(2000))
        assert set(counts) == {1, 3}
        assert abs(counts[1] / 2000 - 0.5) < 0.045

    @both
    def test_the_same_seed_the_same_answers(self, make: Any) -> None:
        menu = Choice(np.eye(6))

        def answers(seed: int) -> list[int]:
            user = make(ratings=[1, 4, 4, 4, 4, 4], seed=seed)
            return [user(menu, 0) for _ in range(40)]

        assert answers(1) == answers(1)
        assert answers(1) != answers(2)


class TestRefused:
    @both
    @pytest.mark.parametrize("ratings", [[[1, 2]], ["a", "b"], [1.0, np.nan], [np.inf, 0.0], 3.0, None], ids=repr)
    def test_ratings(self, make: Any, ratings: Any) -> None:
        with pytest.raises(InvalidArgument, match="ratings"):
            make(ratings=ratings)

    @both
    def test_as_many_ratings_as_items(self, make: Any) -> None:
        with pytest.raises(InvalidArgument, match="2 ratings"):
            make(ratings=[1, 2])(Choice(np.eye(3)), 0)

    @both
    def test_other_contexts_and_items_not_on_offer(self, make: Any) -> None:
        user = make(ratings=[1, 2, 3])
        with pytest.raises(InvalidArgument, match="items only"):
            user(Ranking(np.eye(3)), [0, 1, 2])
        with pytest.raises(InvalidFeedback, match="not available"):
            user(Choice(np.eye(3)).without(0), 0)
