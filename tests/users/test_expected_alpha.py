"""The user who is informative on average only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smidgen import Choice, Ranking
from smidgen.errors import InvalidArgument
from smidgen.users import ExpectedAlpha

DRAWS = 4000


def gains(user: ExpectedAlpha, context: Any, action: Any, draws: int = DRAWS) -> Any:
    """Gain of each of many answers to the same action."""
    w = user.w_star
    before = w @ context.phi(action)
    return np.array([w @ context.phi(user(context, action)) - before for _ in range(draws)])


def gap(user: ExpectedAlpha, context: Any, action: Any) -> float:
    w = user.w_star
    return float(w @ context.phi(context.argmax(w)) - w @ context.phi(action))


def menu() -> Choice:
    """One great item, a good one (number 1), and many poor ones: a random answer is never enough."""
    rng = np.random.default_rng(0)
    return Choice(np.concatenate([[1.0, 0.5], rng.uniform(-1.0, 0.0, size=30)])[:, None])


def query() -> tuple[Ranking, Any, Any]:
    """Documents, a utility, and a ranking so good that random ones lose against it."""
    rng = np.random.default_rng(1)
    w, docs = rng.normal(size=5), rng.normal(size=(20, 5))
    ranking = Ranking(docs, top=4)
    return ranking, w, ranking.argmax(w + 0.4 * rng.normal(size=5))


class TestOnAverage:
    """Tolerance: four standard errors of the mean of 4000 draws."""

    @pytest.mark.parametrize("alpha", [0.1, 0.4, 0.8])
    def test_choices_gain_the_share_alpha(self, alpha: float) -> None:
        user = ExpectedAlpha(w_star=[1.0], alpha=alpha, seed=3)
        found = gains(user, menu(), 1)
        assert abs(found.mean() - alpha * gap(user, menu(), 1)) < 4.0 * found.std() / np.sqrt(DRAWS)
        assert (found < 0.0).any(), "some answers are worse than what was shown"

    @pytest.mark.parametrize(("alpha", "strict"), [(0.2, 0.5), (0.6, 1.0)])
    def test_rankings_gain_the_share_alpha(self, alpha: float, strict: float) -> None:
        ranking, w, shown = query()
        user = ExpectedAlpha(w_star=w, alpha=alpha, strict=strict, seed=4)
        assert gap(user, ranking, shown) > 0.1
        found = gains(user, ranking, shown)
        assert abs(found.mean() - alpha * gap(user, ranking, shown)) < 4.0 * found.std() / np.sqrt(DRAWS)
        assert (found < 0.0).any()

    def test_where_random_answers_are_enough_it_gains_at_least_that(self) -> None:
        """The worst item is shown, so that almost anything is better."""
        items = Choice(np.linspace(0.0, 1.0, 11)[:, None])
        user = ExpectedAlpha(w_star=[1.0], alpha=0.3, seed=5)
        found = gains(user, items, 0)
        assert found.mean() > 0.3 - 4.0 * found.std() / np.sqrt(DRAWS)
        assert found.mean() < 0.55, "and not more than the random answers that it draws"


class TestTheMixture:
    def test_alpha_one_leaves_no_room_for_random_answers(self) -> None:
        user = ExpectedAlpha(w_star=[1.0], alpha=1.0, seed=6)
        assert {user(menu(), 1) for _ in range(200)} == {0}

    def test_what_is_optimal_comes_back(self) -> None:
        user = ExpectedAlpha(w_star=[1.0], alpha=0.5, seed=7)
        assert {user(menu(), 0) for _ in range(200)} == {0}

    def test_only_items_on_offer(self) -> None:
        user = ExpectedAlpha(w_star=[1.0], alpha=0.1, seed=8)
        offer = menu().only([1, 4, 5])
        assert {user(offer, 4) for _ in range(200)} <= {1, 4, 5}

    def test_the_same_seed_the_same_answers(self) -> None:
        ranking, w, shown = query()

        def answers(seed: int) -> list[list[int]]:
            user = ExpectedAlpha(w_star=w, alpha=0.3, seed=seed)
            return [user(ranking, shown).tolist() for _ in range(50)]

        assert answers(1) == answers(1)
        assert answers(1) != answers(2)

    def test_structures_that_list_their_candidates(self) -> None:
        class Plans:
            def candidates(self) -> list[int]:
                return [0, 1, 2, 3]

            def phi(self, y: int) -> Any:
                return np.array([[0.0], [0.6], [-0.5], [1.0]])[y]

            def argmax(self, w: Any) -> int:
                return 3 if w[0] > 0 else 2

        user = ExpectedAlpha(w_star=[1.0], alpha=0.25, seed=9)
        found = gains(user, Plans(), 1)
        assert found.mean() > 0.25 * 0.4 - 4.0 * found.std() / np.sqrt(DRAWS)
        assert set(np.round(found, 9)) <= {-0.6, 0.0, -1.1, 0.4}

    def test_equal_utilities_that_differ_by_rounding(self) -> None:
        """Documents 0 and 1 tie, so two rankings are best, and their utilities differ in the last bit."""
        tied = np.array([-0.1, -0.4, -0.4, 0.8])
        query = Ranking(np.array([tied, tied[[0, 1, 3, 2]], tied - 1.0]), top=2)
        for seed in range(100):
            user = ExpectedAlpha(w_star=np.full(4, 0.5), alpha=1.0, randoms=1, seed=seed)
            assert sorted(user(query, [2, 1, 0]).tolist()[:2]) == [0, 1]


class TestRefused:
    def test_a_strict_answer_that_is_less_than_the_average(self) -> None:
        with pytest.raises(InvalidArgument, match="strict"):
            ExpectedAlpha(w_star=[1.0], alpha=0.5, strict=0.4)

    @pytest.mark.parametrize(("name", "value"), [("alpha", 0.0), ("strict", 1.5), ("randoms", 0), ("seed", -1)])
    def test_settings(self, name: str, value: Any) -> None:
        settings = {"w_star": [1.0], "alpha": 0.5} | {name: value}
        with pytest.raises(InvalidArgument):
            ExpectedAlpha(**settings)

    def test_a_structure_that_cannot_be_drawn_from(self) -> None:
        class Sealed:
            def phi(self, y: int) -> Any:
                return np.eye(2)[y]

            def argmax(self, w: Any) -> int:
                return int(np.argmax(w))

        with pytest.raises(InvalidArgument, match="candidates"):
            ExpectedAlpha(w_star=[0.0, 1.0], alpha=0.5)(Sealed(), 0)
