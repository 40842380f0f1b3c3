"""Compiled streams of rankings against the two verbs: every learner with every user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import smidgen
from smidgen import Box, Ranking, losses, simulate, users
from smidgen._core.ranking import write_ranked
from smidgen.errors import InvalidArgument, NotFinite
from smidgen.evaluate import QueryTable, play_rankings
from smidgen.optim import Additive, Batched, Exponentiated, Gradient, Newton, Rule

DIM = 6
RNG = np.random.default_rng(5)
SIZES = RNG.integers(1, 40, 50)
X = RNG.normal(size=(int(SIZES.sum()), DIM))
W_STAR = RNG.normal(size=DIM)
LABELS = np.clip(np.rint(X @ W_STAR + RNG.normal(size=len(X))), 0, 4)
QUERIES = QueryTable(X, np.concatenate([[0], np.cumsum(SIZES)]), LABELS)
ORDER = RNG.integers(0, len(QUERIES), 250)
BALL = smidgen.Ball(dim=DIM, radius=3.0)

LEARNERS: dict[str, Callable[[], Any]] = {
    "perceptron": lambda: smidgen.PreferencePerceptron(dim=DIM),
    "batch": lambda: smidgen.BatchPreferencePerceptron(dim=DIM, batch=7),
    "exponentiated": lambda: smidgen.ExponentiatedPreferencePerceptron(dim=DIM, bound=8.0),
    "exponentiated, horizon": lambda: smidgen.ExponentiatedPreferencePerceptron(dim=DIM, bound=8.0, horizon=300),
    "exponentiated, unsigned": lambda: smidgen.ExponentiatedPreferencePerceptron(dim=DIM, bound=8.0, signed=False),
    "convex": lambda: smidgen.ConvexPreferencePerceptron(dim=DIM, radius=3.0, lipschitz=2.0),
    "second order": lambda: smidgen.SecondOrderPreferencePerceptron(dim=DIM, radius=2.0, gamma=0.5, epsilon=2.0),
    "second order, wide": lambda: smidgen.SecondOrderPreferencePerceptron(dim=DIM),
    "batched Newton": lambda: smidgen.CoactiveLearner(rule=Batched(rule=Newton(space=BALL, scale=0.5), size=4)),
    "dueling bandit": lambda: smidgen.DuelingBandit(dim=DIM, explore=1.5, step=0.3, seed=9),
    "ranking SVM": lambda: smidgen.RankingSVM(dim=DIM, seed=2),
    "PDGD": lambda: smidgen.PDGD(dim=DIM, seed=3),
    "PDGD, normalized": lambda: smidgen.PDGD(dim=DIM, step=5.0, depth=30, normalize=True, seed=4),
    "FairPairs": lambda: smidgen.FairPairs(dim=DIM, seed=5),
    "FairPairs, alternate": lambda: smidgen.FairPairs(dim=DIM, depth=3, alternate=True, seed=6),
    "3PR": lambda: smidgen.PerturbedPreferencePerceptron(dim=DIM, swap=0.3, seed=7),
}

USERS: dict[str, Callable[[], Any]] = {
    "strict": lambda: users.StrictAlpha(w_star=W_STAR, alpha=0.5),
    "best": lambda: users.StrictAlpha(w_star=W_STAR, alpha=1.0),
    "noisy": lambda: users.NoisyDepth(labels=QUERIES.labels_of, depth=10),
    "noisy and shallow": lambda: users.NoisyDepth(labels=QUERIES.labels_of, depth=3),
    "expected": lambda: users.ExpectedAlpha(w_star=W_STAR, alpha=0.4, strict=0.6, seed=3),
    "clicks": lambda: users.ClickModel(labels=QUERIES.labels_of, model="informational", feedback="clicks", seed=4),
    "better by clicks": lambda: users.ClickModel(labels=QUERIES.labels_of, depth=10, seed=5),
    "position-based": lambda: users.PositionBased(labels=QUERIES.labels_of, seed=6),
}


def verbs(learner: Any, order: Any, user: Any, **measure: Any) -> smidgen.History:
    return simulate(learner, [QUERIES.contexts[i] for i in order], user, **measure)


def shown(history: smidgen.History, top: int = 5) -> list[list[int]]:
    return [[*action[:top], *[-1] * (top - len(action))] for action in history.actions]


@pytest.mark.parametrize("person", USERS)
@pytest.mark.parametrize("name", LEARNERS)
class TestEqualToTheVerbs:
    def test_from_the_first_round(self, name: str, person: str) -> None:
        if name == "ranking SVM":
            pytest.importorskip("sklearn", reason="the ranking SVM needs scikit-learn")
        order = ORDER[:100] if name == "ranking SVM" else ORDER
        slow, fast = LEARNERS[name](), LEARNERS[name]()
        history = verbs(slow, order, USERS[person](), utility=W_STAR, loss=losses.Quadratic(peak=20.0))
        play = play_rankings(
            fast, QUERIES, USERS[person](), order=order, w_star=W_STAR, loss=losses.Quadratic(peak=20.0)
        )
        assert play.shown.tolist() == shown(history)
        for curve in ("regret", "average_regret", "cumulative_regret", "slacks", "loss_regret", "average_loss_regret"):
            np.testing.assert_allclose(getattr(play, curve), getattr(history, curve), rtol=1e-12, atol=1e-11)
        assert np.array_equal(fast.weights, slow.weights)
        assert play.weights.tolist() == fast.weights.tolist()
        assert play.alpha == history.alpha
        assert len(play) == len(history) == fast.rounds

    def test_from_the_middle_and_on_again(self, name: str, person: str) -> None:
        """Verbs, then a played stream, then verbs: learner and user carry on as if nothing had happened."""
        if name == "ranking SVM":
            pytest.importorskip("sklearn", reason="the ranking SVM needs scikit-learn")
        slow, fast, patient, quick = LEARNERS[name](), LEARNERS[name](), USERS[person](), USERS[person]()
        for learner in (slow, fast):
            learner.decide(QUERIES.contexts[0])  # a decision that is never answered
        verbs(slow, ORDER[:60], patient)
        verbs(fast, ORDER[:11], quick)
        play_rankings(fast, QUERIES, quick, order=ORDER[11:50])
        verbs(fast, ORDER[50:60], quick)
        assert (fast.rounds, fast.decisions) == (slow.rounds, slow.decisions) == (60, 61)
        assert getattr(fast, "uninformative", 0) == getattr(slow, "uninformative", 0)
        state, expected = fast._state(), slow._state()
        assert state.keys() == expected.keys()
        for key in state:
            assert np.array_equal(state[key], expected[key])


@given(
    sizes=st.lists(st.integers(1, 25), min_size=1, max_size=6),
    top=st.integers(1, 8),
    depth=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_ties_and_short_lists(sizes: list[int], top: int, depth: int, seed: int) -> None:
    """Small whole features: equal scores and equal documents all over the place."""
    rng = np.random.default_rng(seed)
    docs = rng.integers(-1, 2, size=(sum(sizes), 3))
    queries = QueryTable(docs, np.concatenate([[0], np.cumsum(sizes)]), rng.integers(0, 3, len(docs)), top)
    order = rng.integers(0, len(sizes), 20)
    for user in (
        users.NoisyDepth(labels=queries.labels_of, depth=depth),
        users.StrictAlpha(w_star=[1.0, -2.0, 0.5], alpha=0.7),
    ):
        slow, fast = smidgen.PreferencePerceptron(dim=3), smidgen.PreferencePerceptron(dim=3)
        history = simulate(slow, [queries.contexts[i] for i in order], user)
        play = play_rankings(fast, queries, user, order=order)
        assert play.shown.tolist() == shown(history, top)
        assert fast.weights.tolist() == slow.weights.tolist()
        assert fast.uninformative == slow.uninformative


@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 1e-300]), min_size=1, max_size=120))
def test_ranked_is_a_stable_sort(scores: list[float]) -> None:
    order = np.empty(len(scores), np.int64)
    assert write_ranked(np.array(scores), order)
    assert order.tolist() == np.argsort(-np.array(scores), kind="stable").tolist()


class TestMeasures:
    def test_nothing_is_measured_without_a_utility(self) -> None:
        play = play_rankings(LEARNERS["perceptron"](), QUERIES, USERS["noisy"](), order=ORDER)
        assert len(play) == len(ORDER)
        assert len(play.utility) == len(play.best_utility) == 0
        assert repr(play) == f"History(PreferencePerceptron, {len(ORDER)} rounds)"
        with pytest.raises(InvalidArgument, match="without a utility"):
            _ = play.regret
        with pytest.raises(InvalidArgument, match="without a utility"):
            _ = play.average_slack

    def test_curves(self) -> None:
        play = play_rankings(LEARNERS["perceptron"](), QUERIES, USERS["noisy"](), w_star=W_STAR, alpha=0.3)
        t = np.arange(1, len(QUERIES) + 1)
        assert (play.regret >= -1e-12).all()
        np.testing.assert_allclose(play.average_regret * t, play.cumulative_regret)
        np.testing.assert_allclose(play.cumulative_loss_regret, play.cumulative_regret)  # the linear loss
        np.testing.assert_allclose(
            play.slacks, 0.3 * (play.best_utility - play.utility) - (play.better_utility - play.utility), atol=1e-12
        )
        np.testing.assert_allclose(play.average_slack[-1], play.slacks.mean())
        assert "average regret" in repr(play)

    def test_a_utility_other_than_the_users(self) -> None:
        """Regret goes by w_star, answers by the user's own."""
        other = np.eye(DIM)[0]
        slow, fast = LEARNERS["perceptron"](), LEARNERS["perceptron"]()
        history = verbs(slow, ORDER, USERS["strict"](), utility=other)
        play = play_rankings(fast, QUERIES, USERS["strict"](), order=ORDER, w_star=other)
        np.testing.assert_allclose(play.regret, history.regret, atol=1e-12)
        assert fast.weights.tolist() == slow.weights.tolist()


class TestLabels:
    def test_more_documents_can_be_kept(self) -> None:
        one, two = (LEARNERS["PDGD"]() for _ in range(2))
        wide = play_rankings(one, QUERIES, USERS["clicks"](), order=ORDER, shown=12)
        narrow = play_rankings(two, QUERIES, USERS["clicks"](), order=ORDER)
        assert wide.shown.shape == (len(ORDER), 12)
        assert wide.shown[:, :5].tolist() == narrow.shown.tolist()
        with pytest.raises(InvalidArgument, match="shown"):
            play_rankings(two, QUERIES, USERS["clicks"](), shown=0)

    def test_by_another_function_of_the_context(self) -> None:
        def first_feature(context: Ranking) -> Any:
            return np.rint(context.docs[:, 0])

        user = users.NoisyDepth(labels=first_feature, depth=10)
        slow, fast = LEARNERS["perceptron"](), LEARNERS["perceptron"]()
        verbs(slow, ORDER, user)
        play_rankings(fast, QUERIES, user, order=ORDER)
        assert fast.weights.tolist() == slow.weights.tolist()

    def test_one_array_for_all(self) -> None:
        queries = QueryTable(X[:30], [0, 10, 20, 30])
        slow, fast = LEARNERS["perceptron"](), LEARNERS["perceptron"]()
        user = users.NoisyDepth(labels=np.arange(10) % 3, depth=8)
        simulate(slow, queries.contexts, user)
        play_rankings(fast, queries, user)
        assert fast.weights.tolist() == slow.weights.tolist()

    def test_labels_that_are_used_up_are_refused(self) -> None:
        user = users.NoisyDepth(labels=[LABELS[:3], LABELS[:4]], depth=3)
        with pytest.raises(InvalidArgument, match="no labels left"):
            play_rankings(LEARNERS["perceptron"](), QUERIES, user)

    def test_a_table_without_labels_has_none_to_give(self) -> None:
        queries = QueryTable(X[:10], [0, 10])
        with pytest.raises(InvalidArgument, match="made without labels"):
            queries.labels_of(queries.contexts[0])
        with pytest.raises(InvalidArgument, match="no labels for this context"):
            QUERIES.labels_of(Ranking(X[:10]))


class TestRefusals:
    @pytest.mark.parametrize(
        ("order", "problem"),
        [([], "shape"), ([0.5], "dtype"), ([0, 50], "runs from 0 to 50"), ([-1], "runs from -1"), ([[0]], "shape")],
    )
    def test_order(self, order: Any, problem: str) -> None:
        with pytest.raises(InvalidArgument, match=problem):
            play_rankings(LEARNERS["perceptron"](), QUERIES, USERS["strict"](), order=order)

    def test_another_dimension(self) -> None:
        with pytest.raises(InvalidArgument, match="dim=3"):
            play_rankings(smidgen.PreferencePerceptron(dim=3), QUERIES, USERS["strict"]())

    @pytest.mark.parametrize(
        "user", [users.StrictAlpha(w_star=[1.0], alpha=0.5), users.ExpectedAlpha(w_star=[1.0], alpha=0.5)]
    )
    def test_a_user_of_another_dimension(self, user: Any) -> None:
        with pytest.raises(smidgen.SmidgenError, match="6 features"):
            play_rankings(LEARNERS["perceptron"](), QUERIES, user)

    def test_rules_that_are_not_compiled(self) -> None:
        learner = smidgen.CoactiveLearner(rule=Gradient(space=Box(low=[-1.0] * DIM, high=[1.0] * DIM)))
        with pytest.raises(InvalidArgument, match=r"is not compiled.*simulate"):
            play_rankings(learner, QUERIES, USERS["strict"]())
        nested = smidgen.CoactiveLearner(rule=Batched(rule=Batched(rule=Additive(dim=DIM), size=2), size=2))
        with pytest.raises(InvalidArgument, match="is not compiled"):
            play_rankings(nested, QUERIES, USERS["strict"]())

    def test_strangers(self) -> None:
        learner: Any = smidgen.Banditron(dim=DIM, n_classes=2)
        adversary: Any = users.Adversary(horizon=3)
        table: Any = X
        with pytest.raises(InvalidArgument, match="Banditron"):
            play_rankings(learner, QUERIES, USERS["strict"]())
        with pytest.raises(InvalidArgument, match="Adversary"):
            play_rankings(LEARNERS["perceptron"](), QUERIES, adversary)
        with pytest.raises(InvalidArgument, match="whole grades 0 … 1"):
            play_rankings(LEARNERS["perceptron"](), QUERIES, users.Cascade(labels=QUERIES.labels_of, click=[0.1, 0.9]))
        with pytest.raises(InvalidArgument, match="QueryTable"):
            play_rankings(LEARNERS["perceptron"](), table, USERS["strict"]())

    @pytest.mark.parametrize("scale", [1e-100, 1e-80])
    def test_a_step_out_of_the_finite_numbers_changes_nothing(self, scale: float) -> None:
        queries = QueryTable(X[:30] * 1e250, [0, 10, 20, 30])
        learner = smidgen.SecondOrderPreferencePerceptron(dim=DIM, epsilon=scale)
        user = users.ExpectedAlpha(w_star=W_STAR, alpha=0.5, seed=1)
        twin = users.ExpectedAlpha(w_star=W_STAR, alpha=0.5, seed=1)
        with pytest.raises(NotFinite):
            simulate(learner, queries.contexts, twin)
        learner = smidgen.SecondOrderPreferencePerceptron(dim=DIM, epsilon=scale)
        with pytest.raises(NotFinite):
            play_rankings(learner, queries, user)
        assert (learner.rounds, learner.decisions) == (0, 0)
        assert not learner.weights.any()
        fresh = users.ExpectedAlpha(w_star=W_STAR, alpha=0.5, seed=1)
        menu = QUERIES.contexts[3]
        assert user(menu, np.arange(len(menu))).tolist() == fresh(menu, np.arange(len(menu))).tolist()

    @pytest.mark.parametrize("name", ["PDGD", "FairPairs", "3PR"])
    def test_drawn_rankings_that_overflow(self, name: str) -> None:
        queries = QueryTable(X[:30] * 1e307, [0, 10, 20, 30], LABELS[:30])
        learner, user = LEARNERS[name](), users.PositionBased(labels=queries.labels_of, seed=1)
        with pytest.raises(NotFinite):
            play_rankings(learner, queries, user, order=[0, 1, 2] * 20)
        assert (learner.rounds, learner.decisions) == (0, 0)
        assert not learner.weights.any()

    @pytest.mark.parametrize(
        "rule", [Gradient(space=BALL, scale=1e100), Exponentiated(dim=DIM, bound=1e-100)], ids=["gradient", "exponents"]
    )
    def test_weights_that_overflow(self, rule: Rule) -> None:
        queries = QueryTable(X[:30] * 1e250, [0, 10, 20, 30])
        learner = smidgen.CoactiveLearner(rule=rule)
        with pytest.raises(NotFinite):
            play_rankings(learner, queries, users.StrictAlpha(w_star=W_STAR, alpha=0.5))
        assert learner.rounds == 0


class TestTable:
    @pytest.mark.parametrize("starts", [[0], [1, 30], [0, 29], [0, 10, 10, 30], [0, 20, 10, 30], [0.0, 30.0], 30])
    def test_starts(self, starts: Any) -> None:
        with pytest.raises(InvalidArgument, match="starts"):
            QueryTable(X[:30], starts)

    @pytest.mark.parametrize("labels", [np.zeros(29), ["a"] * 30, np.full(30, np.nan), np.zeros((30, 1))])
    def test_labels(self, labels: Any) -> None:
        with pytest.raises(InvalidArgument, match="labels"):
            QueryTable(X[:30], [0, 30], labels)

    def test_what_it_holds(self) -> None:
        docs = X[:30].copy()
        queries = QueryTable(docs, [0, 12, 30], np.arange(30) % 2 == 0, top=3)
        docs[:] = 0.0  # the table keeps what it was given
        assert repr(queries) == "QueryTable(2 queries, 30 docs x 6 features, top=3)"
        assert [len(context) for context in queries.contexts] == [12, 18]
        assert queries.contexts[1].docs.tolist() == X[12:30].tolist()
        assert queries.contexts[1] is queries.contexts[1]
        assert queries.labels_of(queries.contexts[0]).tolist() == [1.0, 0.0] * 6
        np.testing.assert_allclose(queries.scores(W_STAR), X[:30] @ W_STAR)

    def test_it_cannot_be_written_to(self) -> None:
        with pytest.raises(ValueError, match="read-only"):
            QUERIES.X[0, 0] = 1.0
