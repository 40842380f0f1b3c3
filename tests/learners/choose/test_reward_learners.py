"""The three learners against their slow twins, in every form of state; streams against the two verbs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import reference_choose as slow
import smidgen
from smidgen import Choice, ChoiceBank, LinUCB, SquareCB, ThompsonChoice
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidFeedback, InvalidRecord, NotFinite, SmidgenError
from smidgen.learners.choose.base import LARGE
from smidgen.randomness import COIN, DIRECTION, normals, uniforms

DIM = 5
LEARNERS = [LinUCB, SquareCB, ThompsonChoice]
FORMS = [(covariance, forgetting) for covariance in ("full", "diagonal") for forgetting in (1.0, 0.95)]


def world(seed: int, T: int = 60, K: int = 4, dim: int = DIM) -> tuple[Any, Any]:
    """Features T × K × dim, some zero, and rewards T × K."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(T, K, dim)) * (rng.random((T, K, dim)) < 0.7)
    w = rng.normal(size=dim) / dim
    return X, np.clip(0.5 + X @ w + 0.1 * rng.normal(size=(T, K)), 0.0, 1.0)


def twin(covariance: str, forgetting: float, ridge: float = 1.0) -> Any:
    kind = slow.Ridge if covariance == "full" else slow.DiagonalRidge
    return kind(DIM, ridge, forgetting)


@pytest.mark.parametrize(("covariance", "forgetting"), FORMS)
class TestAgainstTheTwins:
    def test_lin_ucb(self, covariance: str, forgetting: float) -> None:
        X, R = world(0)
        judge = twin(covariance, forgetting, 0.5)
        learner = LinUCB(dim=DIM, ridge=0.5, width=0.7, covariance=covariance, forgetting=forgetting, floor=0.2, seed=3)
        for t, (x, r) in enumerate(zip(X, R, strict=True), start=1):
            d = learner.decide(Choice(x))
            means, spreads = judge.moments(x)
            np.testing.assert_allclose(d.scores, means, atol=1e-10)
            np.testing.assert_allclose(d.widths, 0.7 * np.sqrt(spreads), atol=1e-10)
            p = slow.mixed(slow.ucb_shares(means, 0.7 * np.sqrt(spreads)), 0.2)
            np.testing.assert_allclose(d.propensities, p, atol=1e-12)
            assert d.action == slow.drawn(p, uniforms(3, t, 1, stream=COIN)[0])
            guesses = np.flatnonzero(slow.even(means))
            assert d.greedy == (d.action if d.action in guesses else guesses[0])
            assert d.explored == (d.action != d.greedy)
            assert d.propensity == d.propensities[d.action]
            judge.learn(x[d.action], r[d.action])
            learner.learn(d, float(r[d.action]))

    def test_square_cb(self, covariance: str, forgetting: float) -> None:
        X, R = world(1)
        judge = twin(covariance, forgetting)
        learner = SquareCB(dim=DIM, gamma=20.0, covariance=covariance, forgetting=forgetting, min_share=0.1)
        for t, (x, r) in enumerate(zip(X, R, strict=True)):
            d = learner.decide(Choice(x))
            means, _ = judge.moments(x)
            p = slow.mixed(slow.gap_shares(means, 20.0 * np.sqrt(t)), 0.0, 0.1)
            np.testing.assert_allclose(d.propensities, p, atol=1e-9)
            assert d.action == slow.drawn(p, uniforms(0, t + 1, 1, stream=COIN)[0])
            judge.learn(x[d.action], r[d.action])
            learner.learn(d, float(r[d.action]))

    def test_thompson(self, covariance: str, forgetting: float) -> None:
        """Shares against many draws of another generator: the posterior is what it should be."""
        X, R = world(2)
        judge = twin(covariance, forgetting)
        settings: dict[str, Any] = {"covariance": covariance, "forgetting": forgetting, "samples": 4000}
        learner = ThompsonChoice(dim=DIM, width=0.5, ridge=1.0, **settings)
        for x, r in zip(X, R, strict=True):
            d = learner.decide(Choice(x))
            judge.learn(x[d.action], r[d.action])
            learner.learn(d, float(r[d.action]))
        rng = np.random.default_rng(0)
        if covariance == "full":
            A, b = judge.system()
            w, spread = np.linalg.solve(A, b), np.linalg.inv(A)
        else:
            w, spread = judge.w, np.diag(1.0 / judge.a)
        for x in X[:10]:
            d = learner.decide(Choice(x))
            np.testing.assert_allclose(d.scores, x @ w, atol=1e-9)
            draws = rng.multivariate_normal(w, 0.25 * spread, size=20_000)
            np.testing.assert_allclose(d.propensities, slow.sample_shares(draws @ x.T), atol=0.04)


def test_the_draws_of_thompson_belong_to_the_decision() -> None:
    """At the start A = aI: then the draws are known to the last digit."""
    x = world(3)[0][0]
    d = ThompsonChoice(dim=DIM, seed=5, ridge=4.0).decide(Choice(x))
    z = np.array([normals(5, 1, DIM, stream=DIRECTION, part=m) for m in range(100)])
    np.testing.assert_array_equal(d.propensities, slow.sample_shares(0.5 * z @ x.T))


@pytest.mark.parametrize("make", LEARNERS)
@pytest.mark.parametrize(("covariance", "forgetting"), FORMS)
def test_a_stream_is_the_two_verbs(make: Any, covariance: str, forgetting: float) -> None:
    X, R = world(4)
    masks = np.random.default_rng(0).random(R.shape) < 0.6
    masks[:, 1] = True
    verbs, stream, csr = (make(dim=DIM, covariance=covariance, forgetting=forgetting, floor=0.1) for _ in range(3))
    decisions = []
    for x, r, mask in zip(X, R, masks, strict=True):
        decisions.append(verbs.decide(Choice(x, mask)))
        verbs.learn(decisions[-1], float(r[decisions[-1].action]))
    history = stream.run(X[:20], R[:20], available=masks[:20])
    history = smidgen.RewardHistory.joined([history, stream.run(X[20:], R[20:], available=masks[20:])])
    assert history.actions.tolist() == [d.action for d in decisions]
    assert history.greedy.tolist() == [d.greedy for d in decisions]
    assert history.propensities.tolist() == [d.propensity for d in decisions]
    np.testing.assert_array_equal(history.best, np.where(masks, R, -1.0).max(axis=1))
    csr.run(sparse.csr_array(X.reshape(-1, DIM)), R, available=masks)
    assert stream.to_bytes() == verbs.to_bytes() == csr.to_bytes()
    assert history.cumulative_regret[-1] == pytest.approx(history.regret.sum())
    assert "60 rounds" in repr(history)


@pytest.mark.parametrize("make", LEARNERS)
@pytest.mark.parametrize("forgetting", [1.0, 0.99])
class TestColumnsInUse:
    """``auto`` with many features: full as long as few are in use, then the diagonal."""

    def rows(self, seed: int, T: int, columns: int, dim: int) -> tuple[Any, Any]:
        rng = np.random.default_rng(seed)
        dense = np.zeros((T * 3, dim))
        for row in dense:
            row[rng.choice(columns, size=4, replace=False)] = rng.normal(size=4)
        return dense, rng.random((T, 3))

    def test_is_full_while_they_are_few(self, make: Any, forgetting: float) -> None:
        dense, R = self.rows(0, 40, 60, 400)
        small, auto = make(dim=60, forgetting=forgetting), make(dim=400, forgetting=forgetting)
        for x, r in zip(dense.reshape(40, 3, 400), R, strict=True):
            d, e = auto.decide(Choice(x)), small.decide(Choice(x[:, :60]))
            np.testing.assert_allclose(d.scores, e.scores, atol=1e-10)
            np.testing.assert_allclose(d.widths, e.widths, atol=1e-10)
            if make is not ThompsonChoice:
                np.testing.assert_allclose(d.propensities, e.propensities, atol=1e-10)
            small.teach(Choice(x[:, :60]), (d.action, float(r[d.action])))
            auto.learn(d, float(r[d.action]))
        assert auto.covariance == "full"
        np.testing.assert_allclose(auto.weights[:60], small.weights, atol=1e-9)
        assert not auto.weights[60:].any()

    def test_becomes_the_diagonal_once_and_replays(self, make: Any, forgetting: float) -> None:
        dense, R = self.rows(1, 150, 390, 400)
        X = dense.reshape(150, 3, 400)
        verbs, stream, csr = (make(dim=400, forgetting=forgetting) for _ in range(3))
        forms, log = [], []
        for x, r in zip(X, R, strict=True):
            d = verbs.decide(Choice(sparse.csr_array(x)))
            before = verbs.weights
            verbs.learn(d, float(r[d.action]))
            log.append((d, float(r[d.action])))
            forms.append(verbs.covariance)
            if forms[-2:] == ["full", "diagonal"]:
                untouched = x[d.action] == 0.0
                if forgetting == 1.0:
                    np.testing.assert_array_equal(verbs.weights[untouched], before[untouched])
        turn = forms.index("diagonal")
        assert set(forms[turn:]) == {"diagonal"}
        met = np.array([(d.context.items.toarray()[d.action] != 0.0) for d, _ in log])
        assert met[:turn].any(axis=0).sum() <= LARGE < met[: turn + 1].any(axis=0).sum()
        stream.run(X, R)
        csr.run(sparse.csr_array(dense), R)
        replayed = make(dim=400, forgetting=forgetting)
        for entry in log:
            replayed.learn(*entry)
        revived = smidgen.Learner.from_bytes(verbs.to_bytes())
        assert verbs.to_bytes() == stream.to_bytes() == csr.to_bytes() == replayed.to_bytes() == revived.to_bytes()
        assert revived.decide(Choice(X[0])) == verbs.decide(Choice(X[0]))

    def test_a_refused_stream_changes_nothing(self, make: Any, forgetting: float) -> None:
        dense, R = self.rows(2, 150, 390, 400)
        learner = make(dim=400, forgetting=forgetting)
        learner.run(dense[:30], R[:10])
        before = learner.to_bytes()
        dense[440] *= 1e200
        dense[441] *= 1e200
        dense[442] *= 1e200
        with pytest.raises(NotFinite, match="scale them down"):
            learner.run(dense, R)
        assert learner.to_bytes() == before


@pytest.mark.parametrize("forgetting", [1.0, 0.99])
def test_a_saved_learner_whose_columns_were_tampered_with_is_refused(forgetting: float) -> None:
    learner = LinUCB(dim=400, forgetting=forgetting)
    learner.run(np.eye(3, 400), np.ones((5, 3)))
    good = learner._state()
    for change in (
        {"slots": np.where(good["slots"] == 0, 999, good["slots"]).astype(np.int32)},
        {"slots": np.where(good["slots"] == 0, -7, good["slots"]).astype(np.int32)},
        {"slots": np.zeros(400, np.int32)},
        {"slots": good["slots"][:-1]},
        {"used": np.array([17])},
        {"used": np.array([1, 2])},
        {"R": good["R"][:2]},
        {"R": np.zeros((1000, 1008))},
    ):
        with pytest.raises(InvalidRecord):
            LinUCB(dim=400, forgetting=forgetting)._check_state({**good, **change})
    with pytest.raises(InvalidRecord):
        LinUCB(dim=400, forgetting=forgetting)._check_state({"rounds": good["rounds"], "D": np.zeros((400, 9))})
    LinUCB(dim=400, forgetting=forgetting)._check_state(good)


def test_what_to_begin_with() -> None:
    learner = smidgen.recommended(loop="choose", feedback="reward", dim=7)
    assert isinstance(learner, ChoiceBank)
    assert (learner.params["width"], learner.params["floor"]) == (0.3, 0.02)
    assert (ThompsonChoice(dim=7).params["width"], ThompsonChoice(dim=7).params["ridge"]) == (0.1, 0.1)


class TestShares:
    def test_without_a_floor_the_highest_bound_has_propensity_one(self) -> None:
        x = world(5)[0][0]
        d = LinUCB(dim=DIM, floor=0.0).decide(Choice(x))
        assert d.propensity == 1.0
        assert d.propensities.sum() == 1.0

    @pytest.mark.parametrize("make", [SquareCB, ThompsonChoice])
    def test_without_draws_too(self, make: Any) -> None:
        X, R = world(6)
        learner = make(dim=DIM, draw=False)
        history = learner.run(X, R)
        assert (history.propensities == 1.0).all()
        assert make is ThompsonChoice or (history.actions == history.greedy).all()

    def test_what_is_not_on_offer_has_none(self) -> None:
        for make in LEARNERS:
            d = make(dim=DIM, floor=0.5).decide(Choice(world(7)[0][0], [1, 3]))
            assert d.propensities[[0, 2]].tolist() == [0.0, 0.0]
            assert d.propensities.sum() == pytest.approx(1.0)
            assert d.propensities[[1, 3]].min() >= 0.25

    def test_the_larger_of_floor_and_least_share_holds(self) -> None:
        x = Choice(world(8)[0][0])
        assert LinUCB(dim=DIM, floor=0.2, min_share=0.01).decide(x).propensities.min() == pytest.approx(0.05)
        assert LinUCB(dim=DIM, floor=0.2, min_share=0.1).decide(x).propensities.min() == pytest.approx(0.1)
        assert LinUCB(dim=DIM, min_share=0.25).decide(x).propensities == pytest.approx([0.25] * 4)

    def test_least_shares_above_one_are_refused(self) -> None:
        learner = LinUCB(dim=DIM, min_share=0.3)
        with pytest.raises(InvalidArgument, match="min_share"):
            learner.decide(Choice(world(8)[0][0]))
        with pytest.raises(InvalidArgument, match="min_share"):
            learner.run(*world(8))
        assert learner.decide(Choice(world(8)[0][0][:3])).number == 1

    def test_shares_are_what_is_drawn(self) -> None:
        x = Choice(world(9)[0][0])
        learner = SquareCB(dim=DIM)
        learner.run(*world(9))
        shown = np.array([learner.decide(x).action for _ in range(4000)])
        d = learner.decide(x)
        np.testing.assert_allclose(np.bincount(shown, minlength=4) / 4000, d.propensities, atol=0.03)

    def test_the_first_round_of_square_cb_is_even(self) -> None:
        assert SquareCB(dim=DIM).decide(Choice(world(9)[0][0])).propensities == pytest.approx([0.25] * 4)


class TestTeaching:
    def test_an_example_is_learnt_as_if_shown(self) -> None:
        X, R = world(10)
        live, taught = LinUCB(dim=DIM), LinUCB(dim=DIM)
        for x, r in zip(X, R, strict=True):
            d = live.decide(Choice(x))
            live.learn(d, float(r[d.action]))
            taught.teach(Choice(x), (d.action, float(r[d.action])))
        np.testing.assert_array_equal(live.weights, taught.weights)

    @pytest.mark.parametrize("answer", [None, 0, (0,), (4, 0.5), (0, 1.5), ("a", 0.5), (0, None), (2, 0.5), (-1, 0.1)])
    def test_bad_answers_are_refused(self, answer: Any) -> None:
        learner = LinUCB(dim=DIM)
        with pytest.raises(InvalidFeedback):
            learner.teach(Choice(world(11)[0][0], [0, 1, 3]), answer)
        assert not learner.weights.any()


class TestEntrance:
    def test_things_like_a_choice_are_taken(self) -> None:
        class Menu:
            def __init__(self, choice: Choice) -> None:
                self.rows, self.available = choice.rows, choice.available

        x = Choice(world(12)[0][0], [0, 2])
        d, e = (LinUCB(dim=DIM).decide(context) for context in (Menu(x), x))
        assert (d.action, d.propensities.tolist()) == (e.action, e.propensities.tolist())

    def test_a_ranking_is_not_a_choice(self) -> None:
        with pytest.raises(InvalidArgument, match="Ranking"):
            LinUCB(dim=DIM).decide(smidgen.Ranking(world(12)[0][0]))

    def test_a_forged_decision_is_refused(self) -> None:
        learner = LinUCB(dim=DIM)
        d = learner.decide(Choice(world(13)[0][0], [0, 1]))
        fields = {name: getattr(d, name) for name in d.__struct_fields__}
        for change in ({"action": 9}, {"action": 3}, {"action": "0"}, {"context": None}, {"context": 3}):
            with pytest.raises((InvalidFeedback, DecisionMismatch)):
                learner.learn(smidgen.Decision(**{**fields, **change}), 0.5)
        assert not learner.weights.any()

    @pytest.mark.parametrize(
        "settings",
        [
            {"ridge": 0.0},
            {"ridge": -1},
            {"width": -0.1},
            {"width": "wide"},
            {"floor": 1.1},
            {"floor": -0.1},
            {"min_share": 2},
            {"forgetting": 0.0},
            {"forgetting": 1.1},
            {"covariance": "dual"},
            {"covariance": None},
            {"dim": 0},
        ],
    )
    def test_settings_that_make_no_sense(self, settings: dict[str, Any]) -> None:
        with pytest.raises(InvalidArgument, match=next(iter(settings))):
            LinUCB(**{"dim": DIM, **settings})

    def test_those_of_the_relatives(self) -> None:
        for make, settings in (
            (SquareCB, {"gamma": 0.0}),
            (SquareCB, {"draw": 1}),
            (ThompsonChoice, {"samples": 0}),
            (ThompsonChoice, {"samples": 10**9}),
            (ThompsonChoice, {"draw": None}),
        ):
            with pytest.raises(InvalidArgument, match=next(iter(settings))):
                make(dim=DIM, **settings)

    @pytest.mark.parametrize(
        ("items", "rewards", "available"),
        [
            (np.zeros((2, 3, DIM)), np.zeros((3, 3)), None),
            (np.zeros((3, 3, DIM + 1)), np.zeros((3, 3)), None),
            (np.zeros((4, DIM)), np.zeros((3, 3)), None),
            (np.full((3, DIM), np.nan), np.zeros((3, 3)), None),
            (np.zeros((3, DIM)), np.full((3, 3), 1.5), None),
            (np.zeros((3, DIM)), np.full((3, 3), np.nan), None),
            (np.zeros((3, DIM)), np.zeros(3), None),
            (np.zeros((3, DIM)), [["a"] * 3] * 3, None),
            (np.zeros((3, DIM)), [[1], [1, 2]], None),
            ("items", np.zeros((3, 3)), None),
            (np.zeros((3, DIM)), np.zeros((3, 3)), np.zeros(3, bool)),
            (np.zeros((3, DIM)), np.zeros((3, 3)), [0, 1]),
            (np.zeros((3, DIM)), np.zeros((3, 3)), np.ones((2, 3), bool)),
            (sparse.csr_array(np.zeros((5, DIM))), np.zeros((3, 3)), None),
        ],
    )
    def test_streams_that_make_no_sense(self, items: Any, rewards: Any, available: Any) -> None:
        learner = LinUCB(dim=DIM)
        with pytest.raises(SmidgenError):
            learner.run(items, rewards, available=available)
        assert learner.decisions == 0

    def test_one_round_with_its_own_items(self) -> None:
        X, R = world(14, T=1)
        assert len(LinUCB(dim=DIM).run(X, R)) == 1


def test_a_column_in_milliseconds_does_no_harm() -> None:
    """Widths stay numbers and weights finite, where a plain inverse would have lost its sign."""
    rng = np.random.default_rng(0)
    learner = LinUCB(dim=3)
    for t in range(300):
        x = np.column_stack([np.ones(4), np.full(4, 1.7e12 + t), rng.normal(size=4)])
        d = learner.decide(Choice(x))
        learner.learn(d, float(rng.random()))
        assert np.isfinite(d.widths).all()
    assert np.isfinite(learner.weights).all()


def test_rewards_that_change_are_followed_with_forgetting() -> None:
    items, T = np.eye(3), 1500
    rewards = np.tile([0.2, 0.5, 0.8], (2 * T, 1))
    rewards[T:] = rewards[T:, ::-1]
    late = {keep: LinUCB(dim=3, forgetting=keep, floor=0.05).run(items, rewards).rewards[-T:] for keep in (1.0, 0.98)}
    assert late[0.98].mean() > 0.7 > late[1.0].mean()
