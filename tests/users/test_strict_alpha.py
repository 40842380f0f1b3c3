"""The strictly informative user against its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import reference
from smidgen import Choice, Ranking, bounds
from smidgen.errors import InvalidArgument, InvalidFeedback, SmidgenError
from smidgen.users import StrictAlpha
from strategies import ChoiceProblem, RankingProblem, choice_problems, ranking_problems

alphas = st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])


class Plans:
    """A structure of its own that can list its objects."""

    def __init__(self, rows: Any) -> None:
        self.rows = np.asarray(rows)

    def candidates(self) -> list[str]:
        return [f"plan {i}" for i in range(len(self.rows))]

    def phi(self, y: str) -> Any:
        return self.rows[int(y.removeprefix("plan "))]

    def argmax(self, w: Any) -> str:
        return f"plan {int(np.argmax(self.rows @ w))}"


class Sealed:
    """A structure that cannot list its objects."""

    def phi(self, y: int) -> Any:
        return np.eye(3)[y]

    def argmax(self, w: Any) -> int:
        return int(np.argmax(w))


class TestRankings:
    @given(ranking_problems(), alphas)
    def test_against_the_judge(self, p: RankingProblem, alpha: float) -> None:
        better = StrictAlpha(w_star=p.w, alpha=alpha)(Ranking(p.docs, p.top), p.shown)
        score = reference.scores(p.docs, p.w)
        assert better.tolist() == reference.strict_alpha_ranking(score, p.shown, p.top, alpha)

    @given(ranking_problems(), alphas)
    def test_feedback_is_always_informative(self, p: RankingProblem, alpha: float) -> None:
        query = Ranking(p.docs, p.top)
        better = StrictAlpha(w_star=p.w, alpha=alpha)(query, p.shown)
        shown, after, best = (float(p.w @ query.phi(y)) for y in (p.shown, better, query.argmax(p.w)))
        slack = bounds.slack(alpha=alpha, shown=shown, better=after, best=best)
        assert slack <= 1e-9 * (1.0 + abs(shown) + abs(best) + np.abs(p.docs).max() * np.abs(p.w).sum())

    @given(ranking_problems())
    def test_alpha_one_reaches_the_optimum(self, p: RankingProblem) -> None:
        query = Ranking(p.docs, p.top)
        better = StrictAlpha(w_star=p.w, alpha=1.0)(query, p.shown)
        best, after = p.w @ query.phi(query.argmax(p.w)), p.w @ query.phi(better)
        assert after == pytest.approx(best, rel=1e-9, abs=1e-9 * (1.0 + np.abs(p.docs).max() * np.abs(p.w).sum()))

    @given(ranking_problems(), alphas)
    def test_sparse_equals_dense(self, p: RankingProblem, alpha: float) -> None:
        user = StrictAlpha(w_star=p.w, alpha=alpha)
        dense = user(Ranking(p.docs, p.top), p.shown)
        np.testing.assert_array_equal(user(Ranking(sparse.csr_array(p.docs), p.top), p.shown), dense)

    def test_an_optimal_ranking_comes_back_as_it_is(self) -> None:
        rng = np.random.default_rng(0)
        w = rng.normal(size=4)
        query = Ranking(rng.normal(size=(12, 4)))
        for alpha in (0.1, 1.0):
            np.testing.assert_array_equal(StrictAlpha(w_star=w, alpha=alpha)(query, query.argmax(w)), query.argmax(w))

    def test_a_small_alpha_looks_at_less_than_a_large_one(self) -> None:
        """Scores 0, 1, 2, …, shown worst first: the first step up is enough for little, the last for all."""
        query = Ranking(np.arange(6.0)[:, None], top=2)
        shown = [0, 1, 2, 3, 4, 5]
        user = {alpha: StrictAlpha(w_star=[1.0], alpha=alpha) for alpha in (0.05, 1.0)}
        assert user[0.05](query, shown).tolist() == [1, 0, 2, 3, 4, 5]
        assert user[1.0](query, shown).tolist() == [5, 4, 0, 1, 2, 3]


class TestChoices:
    @given(choice_problems(), alphas)
    def test_against_the_judge(self, p: ChoiceProblem, alpha: float) -> None:
        better = StrictAlpha(w_star=p.w, alpha=alpha)(Choice(p.items, p.available), p.shown)
        score = reference.scores(p.items, p.w)
        assert better == reference.strict_alpha_choice(score, p.shown, p.available, alpha)
        assert better in p.available

    @given(choice_problems(), alphas)
    def test_feedback_is_always_informative_and_alpha_one_is_optimal(self, p: ChoiceProblem, alpha: float) -> None:
        menu, score = Choice(p.items, p.available), reference.scores(p.items, p.w)
        best = max(score[item] for item in p.available)
        better = StrictAlpha(w_star=p.w, alpha=alpha)(menu, p.shown)
        assert reference.informative(score[p.shown], score[better], best, alpha)
        assert score[StrictAlpha(w_star=p.w, alpha=1.0)(menu, p.shown)] == pytest.approx(best, rel=1e-11)

    def test_the_least_useful_that_is_enough(self) -> None:
        menu = Choice(np.array([[0.0], [0.2], [0.5], [0.7], [1.0]]))
        answers = [StrictAlpha(w_star=[1.0], alpha=alpha)(menu, 0) for alpha in (0.1, 0.2, 0.3, 0.5, 0.6, 0.8)]
        assert answers == [1, 1, 2, 2, 3, 4]


class TestOtherStructures:
    def test_the_least_useful_candidate_that_is_enough(self) -> None:
        plans = Plans([[0.0], [0.2], [0.5], [0.7], [1.0]])
        assert StrictAlpha(w_star=[1.0], alpha=0.4)(plans, "plan 0") == "plan 2"
        assert StrictAlpha(w_star=[1.0], alpha=0.4)(plans, "plan 4") == "plan 4"

    def test_without_a_list_of_candidates_the_best(self) -> None:
        assert StrictAlpha(w_star=[0.0, 1.0, 0.5], alpha=0.1)(Sealed(), 0) == 1


class TestRefused:
    @pytest.mark.parametrize("alpha", [0.0, -0.5, 1.1, np.nan, np.inf, "half", None, True])
    def test_alphas(self, alpha: Any) -> None:
        with pytest.raises(InvalidArgument, match="alpha"):
            StrictAlpha(w_star=[1.0], alpha=alpha)

    @pytest.mark.parametrize("w_star", [[], 1.0, [[1.0, 2.0]], [np.nan], [np.inf], ["a"], [1j], None], ids=str)
    def test_utilities(self, w_star: Any) -> None:
        with pytest.raises(InvalidArgument, match="w_star"):
            StrictAlpha(w_star=w_star, alpha=0.5)

    @pytest.mark.parametrize("dim", [2, 4], ids=["short", "long"])
    @pytest.mark.parametrize("context", [Ranking(np.eye(3)), Choice(np.eye(3))], ids=["ranking", "choice"])
    def test_a_utility_of_another_dimension(self, context: Any, dim: int) -> None:
        action = context.argmax(np.ones(3))
        with pytest.raises(SmidgenError):
            StrictAlpha(w_star=np.ones(dim), alpha=0.5)(context, action)

    def test_actions_that_were_not_possible(self) -> None:
        user = StrictAlpha(w_star=np.ones(3), alpha=0.5)
        with pytest.raises(InvalidFeedback):
            user(Ranking(np.eye(3)), [0, 1])
        with pytest.raises(InvalidFeedback, match="not available"):
            user(Choice(np.eye(3)).without(1), 1)

    def test_the_utility_is_a_copy(self) -> None:
        w = np.array([1.0, 0.0])
        user = StrictAlpha(w_star=w, alpha=1.0)
        w[:] = [0.0, 1.0]
        assert user(Choice(np.eye(2)), 1) == 0
