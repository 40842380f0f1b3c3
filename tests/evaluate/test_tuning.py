"""Whole runs of the tune loop: what is played, what is measured, and that regret stays below the bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import OGD, OGDEG, ONS, ONSEG, Ball, Box, L1Ball, Simplex, bounds, losses
from smidgen.errors import InvalidArgument
from smidgen.geometry import Space

SPACES: list[Space] = [Ball(dim=3), Box(low=[0.0, -1.0, 0.5], high=1.0), Simplex(dim=3), L1Ball(dim=3)]


def regression(space: Space, rounds: int, seed: int = 0) -> losses.LeastSquares:
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(rounds, space.dim))
    return losses.LeastSquares(Z=Z, y=Z @ space.sample(rng) + 0.3 * rng.normal(size=rounds))


class TestTune:
    def test_value_learners_hear_the_loss_and_gradient_learners_the_gradient(self) -> None:
        space = Ball(dim=3)
        loss = regression(space, 30)
        for make in (
            lambda: OGD(space=space, gradient_bound=5.0),
            lambda: ONS(space=space, gradient_bound=5.0, exp_concavity=0.1),
            lambda: OGDEG(space=space, loss_bound=5.0, delta=0.1),
            lambda: ONSEG(space=space, loss_bound=5.0, delta=0.1),
        ):
            learner, by_hand = make(), make()
            history = smidgen.tune(learner, loss)
            for t in range(30):
                d = by_hand.decide()
                np.testing.assert_array_equal(history.points[t], d.action)
                np.testing.assert_array_equal(history.base_points[t], d.greedy)
                assert history.losses[t] == loss(t, d.action)
                assert history.base_losses[t] == loss(t, d.greedy)
                by_hand.learn(d, loss.gradient(t, d.action) if d.perturbation is None else loss(t, d.action))
            assert (learner.weights == by_hand.weights).all()
            assert (len(history), history.learner) == (30, type(learner).__name__)

    def test_what_is_measured(self) -> None:
        space = Box(low=[0.0], high=[1.0])
        loss = losses.LeastSquares(Z=[[1.0]] * 4, y=[0.0, 0.0, 1.0, 1.0])
        history = smidgen.tune(OGD(space=space, gradient_bound=1.0), loss)
        np.testing.assert_allclose(history.best, [0.5], atol=1e-6)
        np.testing.assert_allclose(history.best_losses, 0.125, atol=1e-6)
        np.testing.assert_allclose(history.regret, history.losses - 0.125, atol=1e-6)
        assert history.cumulative_regret[-1] == pytest.approx(history.losses.sum() - 0.5)
        assert history.average_loss[1] == pytest.approx(history.losses[:2].mean())
        assert "OGD, 4 rounds" in repr(history)

    def test_fewer_rounds(self) -> None:
        space = Ball(dim=3)
        history = smidgen.tune(OGD(space=space, gradient_bound=5.0), regression(space, 30), 10)
        assert len(history) == len(history.best_losses) == 10

    def test_a_function_needs_its_rounds(self) -> None:
        space, loss = Ball(dim=2), losses.Repeated(lambda x: float(x @ x))
        with pytest.raises(InvalidArgument, match="rounds"):
            smidgen.tune(OGDEG(space=space, loss_bound=1.0, delta=0.1), loss)
        assert len(smidgen.tune(OGDEG(space=space, loss_bound=1.0, delta=0.1), loss, rounds=5)) == 5

    def test_progress(self, capsys: Any) -> None:
        space, seen = Ball(dim=3), []
        smidgen.tune(OGD(space=space, gradient_bound=5.0), regression(space, 3), progress=seen.append)
        assert seen == [1, 2, 3]
        pytest.importorskip("rich")
        smidgen.tune(OGD(space=space, gradient_bound=5.0), regression(space, 3), progress=True)
        assert capsys.readouterr().out

    @pytest.mark.parametrize("rounds", [None, 5])
    def test_plot(self, rounds: int | None, tmp_path: Path) -> None:
        pytest.importorskip("matplotlib")
        space = Ball(dim=3)
        for learner in (OGD(space=space, gradient_bound=5.0), OGDEG(space=space, loss_bound=5.0, delta=0.1)):
            axes = smidgen.tune(learner, regression(space, 10), rounds).plot(tmp_path / "run.png")
            assert (tmp_path / "run.png").stat().st_size > 1000
            assert len(axes.lines) == (2 if isinstance(learner, OGD) else 3)

    def test_nonsense_is_refused_before_anything_is_learnt(self) -> None:
        space = Ball(dim=3)
        learner = OGD(space=space, gradient_bound=5.0)
        loss = regression(space, 3)
        with pytest.raises(InvalidArgument, match="Confidit"):
            smidgen.tune(smidgen.Confidit(dim=3, n_classes=2), loss)
        with pytest.raises(InvalidArgument, match="Repeated"):
            smidgen.tune(learner, lambda t, x: 0.0)
        with pytest.raises(InvalidArgument, match="dim=3"):
            smidgen.tune(learner, regression(Ball(dim=2), 3))
        with pytest.raises(InvalidArgument, match="rounds is 4"):
            smidgen.tune(learner, loss, 4)
        with pytest.raises(InvalidArgument, match="rounds"):
            smidgen.tune(learner, loss, 0)
        assert learner.rounds == learner.decisions == 0


class Backwards:
    """A learner that receives every gradient, and every loss, with the wrong sign."""

    def _learn(self, decision: Any, feedback: Any) -> None:
        super()._learn(decision, -feedback)


class BackwardsOGD(Backwards, OGD):
    pass


class BackwardsONS(Backwards, ONS):
    pass


class BackwardsOGDEG(Backwards, OGDEG):
    pass


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("seed", range(2))
def test_ogd_stays_below_its_bound_in_every_round(space: Space, seed: int) -> None:
    for loss in (regression(space, 400, seed), losses.Portfolio(returns=regression(space, 400, seed).Z)):
        G = loss.lipschitz(space)
        history = smidgen.tune(OGD(space=space, gradient_bound=G), loss)
        bound = bounds.ogd(T=np.arange(1, 401), D=space.diameter, G=G)
        assert (history.cumulative_regret <= bound).all()


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("seed", range(2))
def test_ons_stays_below_its_bound_in_every_round(space: Space, seed: int) -> None:
    stream = regression(space, 300, seed)
    for loss in (stream, losses.Logistic(Z=stream.Z, y=np.where(stream.y > 0, 1, -1))):
        settings = {"gradient_bound": loss.lipschitz(space), "exp_concavity": loss.exp_concavity(space)}
        history = smidgen.tune(ONS(space=space, **settings), loss)
        N, T = space.free_dim, np.arange(1, 301)
        bound = bounds.ons(
            T=T, dim=N, D=space.diameter, G=loss.lipschitz(space), exp_concavity=loss.exp_concavity(space)
        )
        assert (history.cumulative_regret <= bound)[N * np.log(T) >= 4.0].all()


def test_gradient_learners_that_step_the_wrong_way_exceed_their_bounds() -> None:
    space = Ball(dim=1)
    loss = losses.LeastSquares(Z=np.ones((600, 1)), y=-np.ones(600))  # the best point is −1
    G, alpha = loss.lipschitz(space), loss.exp_concavity(space)
    right = smidgen.tune(OGD(space=space, gradient_bound=G), loss)
    wrong = smidgen.tune(BackwardsOGD(space=space, gradient_bound=G), loss)
    bound = bounds.ogd(T=600, D=2.0, G=G)
    assert right.cumulative_regret[-1] < bound < wrong.cumulative_regret[-1]
    right = smidgen.tune(ONS(space=space, gradient_bound=G, exp_concavity=alpha), loss)
    wrong = smidgen.tune(BackwardsONS(space=space, gradient_bound=G, exp_concavity=alpha), loss)
    bound = bounds.ons(T=600, dim=1, D=2.0, G=G, exp_concavity=alpha)
    assert right.cumulative_regret[-1] < bound < wrong.cumulative_regret[-1]


@pytest.mark.parametrize("lipschitz", [None, 1.0])
def test_ogdeg_stays_below_its_bound_in_the_mean_and_backwards_it_does_not(lipschitz: float | None) -> None:
    space, T = Ball(dim=1), 10_000
    loss = losses.Repeated(lambda x: float(x[0]), lambda x: np.ones(1), bound=1.0, lipschitz=1.0)
    settings: dict[str, Any] = {"space": space, "loss_bound": 1.0, "horizon": T, "lipschitz": lipschitz}

    def mean(kind: Any) -> float:
        runs = [smidgen.tune(kind(**settings, seed=seed), loss, T) for seed in range(2)]
        return float(np.mean([run.cumulative_regret[-1] for run in runs]))

    numbers = {"T": T, "dim": 1, "F": 1.0, "R": 1.0, "r": 1.0, "lipschitz": lipschitz}
    assert mean(OGDEG) < bounds.ogdeg(**numbers)  # even the printed one
    assert mean(BackwardsOGDEG) > bounds.ogdeg(**numbers)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_ogdeg_stays_below_its_bound_on_regression(space: Space) -> None:
    T, loss = 1000, regression(space, 1000)
    F, L = loss.bound(space), loss.lipschitz(space)
    regrets = [
        smidgen.tune(OGDEG(space=space, loss_bound=F, lipschitz=L, horizon=T, seed=seed), loss).cumulative_regret[-1]
        for seed in range(3)
    ]
    R, r = space.outer_radius, space.inner_radius
    assert np.mean(regrets) < bounds.ogdeg(T=T, dim=space.free_dim, F=F, R=R, r=r, lipschitz=L)


def test_doubling_phases_learn_without_a_horizon() -> None:
    space = Box(low=[0.0], high=[1.0])
    loss = losses.Repeated(lambda x: float((x[0] - 0.3) ** 2), bound=0.5, lipschitz=1.4)
    history = smidgen.tune(OGDEG(space=space, loss_bound=0.5, lipschitz=1.4), loss, 8000)
    assert history.base_losses[-500:].mean() < 0.5 * history.base_losses[:100].mean()
    assert history.regret[-500:].mean() < 0.25 * history.regret[:50].mean()
