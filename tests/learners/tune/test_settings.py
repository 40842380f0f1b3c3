"""Settings of the tune learners: accepted and refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smidgen import OGD, OGDEG, ONS, ONSEG, Ball, Box, Simplex
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidFeedback, NotFinite

ONE_POINT = pytest.mark.parametrize("kind", [OGDEG, ONSEG])


class TestTheoryThatLeavesNothing:
    @ONE_POINT
    def test_is_refused_with_what_helps(self, kind: Any) -> None:
        with pytest.raises(
            InvalidArgument, match=r"1,000 rounds asks for gamma = \d.* makes the shrunk space empty"
        ) as refusal:
            kind(space=Ball(dim=33), loss_bound=1.0, horizon=1000)
        assert "horizon" in refusal.value.hint
        assert "delta=0.1" in refusal.value.hint

    @ONE_POINT
    def test_the_advice_works(self, kind: Any) -> None:
        assert kind(space=Ball(dim=33), loss_bound=1.0, horizon=1000, delta=0.1).gamma == pytest.approx(0.1)
        assert 0 < kind(space=Ball(dim=33), loss_bound=1.0, horizon=10**7).gamma < 1

    def test_a_known_slope_helps_too(self) -> None:
        learner = OGDEG(space=Ball(dim=33), loss_bound=1.0, horizon=1000, lipschitz=1.0)
        assert learner.gamma < 0.5


class TestOverrides:
    @ONE_POINT
    def test_delta_alone_sets_gamma(self, kind: Any) -> None:
        learner = kind(space=Box(low=[0.0, 0.0], high=[1.0, 4.0]), loss_bound=1.0, delta=0.1)
        assert (learner.delta, learner.gamma) == (0.1, pytest.approx(0.2))

    @ONE_POINT
    def test_gamma_alone_keeps_theorys_delta_if_it_fits(self, kind: Any) -> None:
        by_theory = kind(space=Ball(dim=2), loss_bound=1.0, horizon=100_000)
        assert kind(space=Ball(dim=2), loss_bound=1.0, horizon=100_000, gamma=0.9).delta == by_theory.delta
        assert kind(space=Ball(dim=2), loss_bound=1.0, horizon=100_000, gamma=1e-3).delta == pytest.approx(1e-3)

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"delta": 1.0}, "delta is 1.0, which makes the shrunk space empty"),
            ({"delta": 7}, "delta is 7, which makes the shrunk space empty"),
            ({"delta": 0.2, "gamma": 1.5}, "gamma is 1.5 and must be < 1"),
            ({"gamma": 1.0}, "gamma is 1.0 and must be < 1"),
            ({"delta": 0.2, "gamma": 0.1}, "must be at most gamma·r = 0.1"),
            ({"delta": 0.0}, "delta is 0.0 and must be > 0"),
            ({"delta": "small"}, "must be a number"),
            ({"gamma": -0.1}, "gamma is -0.1"),
            ({"horizon": 0}, "horizon is 0"),
            ({"horizon": 10.5}, "whole number"),
            ({"lipschitz": -1.0}, "lipschitz is -1.0"),
            ({"loss_bound": 0.0}, "loss_bound is 0.0"),
            ({"loss_bound": float("inf")}, "must be finite"),
            ({"space": 3}, "space is 3"),
        ],
    )
    @ONE_POINT
    def test_nonsense_is_refused(self, kind: Any, given: dict[str, Any], says: str) -> None:
        with pytest.raises(InvalidArgument, match=says.replace("(", r"\(")):
            kind(**{"space": Ball(dim=2), "loss_bound": 1.0, **given})

    @pytest.mark.parametrize("beta", ["theory", 0.0, -1.0, True])
    def test_beta_is_a_number_or_practical(self, beta: Any) -> None:
        with pytest.raises(InvalidArgument, match="beta"):
            ONSEG(space=Ball(dim=2), loss_bound=1.0, delta=0.1, beta=beta)

    def test_gradient_learners_refuse_nonsense(self) -> None:
        with pytest.raises(InvalidArgument, match="gradient_bound"):
            OGD(space=Ball(dim=2), gradient_bound=0.0)
        with pytest.raises(InvalidArgument, match="exp_concavity"):
            ONS(space=Ball(dim=2), gradient_bound=1.0, exp_concavity=0.0)


class TestAskAndTell:
    @ONE_POINT
    def test_are_decide_and_learn(self, kind: Any) -> None:
        first, second = (kind(space=Simplex(dim=4), loss_bound=1.0, delta=0.05) for _ in range(2))
        for t in range(20):
            asked, decided = first.ask(), second.decide()
            assert asked == decided
            first.tell(asked, np.cos(t))
            second.learn(decided, np.cos(t))
        assert (first.weights == second.weights).all()

    def test_tell_a_gradient(self) -> None:
        learner = OGD(space=Box(low=0.0, high=[1.0, 2.0]), gradient_bound=1.0)
        learner.tell(learner.ask(), [1.0, 0.0])
        assert learner.predict()[0] == 0.0
        assert learner.rounds == 1

    def test_what_goes_out_cannot_be_written_to(self) -> None:
        decision = OGDEG(space=Ball(dim=2), loss_bound=1.0, delta=0.1).ask()
        for array in (decision.action, decision.greedy):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0


class TestBadFeedback:
    @ONE_POINT
    @pytest.mark.parametrize("loss", [None, "0.3", True, np.bool_(False), [0.3], np.array(0.3), np.nan, -np.inf, 1j])
    def test_a_loss_is_one_finite_number(self, kind: Any, loss: Any) -> None:
        learner = kind(space=Ball(dim=2), loss_bound=1.0, delta=0.1)
        before, decision = learner.weights, learner.ask()
        with pytest.raises(InvalidFeedback):
            learner.tell(decision, loss)
        assert (learner.weights == before).all()
        learner.tell(decision, np.float32(0.3))
        assert learner.rounds == 1

    @pytest.mark.parametrize("gradient", [None, 0.3, [1.0], [1.0, np.nan], "ab", [[1.0], [2.0]], [1j, 2.0]])
    def test_a_gradient_has_one_finite_number_per_coordinate(self, gradient: Any) -> None:
        learner = ONS(space=Ball(dim=2), gradient_bound=1.0, exp_concavity=0.1)
        with pytest.raises(InvalidFeedback):
            learner.tell(learner.ask(), gradient)
        assert learner.rounds == 0

    @ONE_POINT
    def test_a_step_beyond_floating_point_changes_nothing(self, kind: Any) -> None:
        learner = kind(space=Ball(dim=2), loss_bound=1.0, delta=0.1, beyond="take")
        with pytest.raises(NotFinite):
            learner.tell(learner.ask(), 1e308)
        assert (learner.weights == 0.0).all()
        assert learner.rounds == 0

    def test_a_decision_without_its_direction_is_refused(self) -> None:
        import msgspec

        learner = OGDEG(space=Ball(dim=2), loss_bound=1.0, delta=0.1)
        for change in ({"perturbation": None}, {"reach": None}, {"perturbation": np.ones(3)}, {"reach": 0.0}):
            with pytest.raises(DecisionMismatch):
                learner.tell(msgspec.structs.replace(learner.ask(), **change), 0.1)
