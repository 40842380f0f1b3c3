"""QuadraticTuner against its formulas in plain numpy; units, offsets, far losses; knobs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_tune
from smidgen import Ball, Box, Knobs, QuadraticTuner, knobs
from smidgen._core import tune
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidFeedback
from smidgen.learners.tune import quadratic_tuner
from smidgen.randomness import COIN, DIRECTION, stream_key

LOW, HIGH = [0.0, -1.0, 10.0], [1.0, 1.0, 50.0]


def candidates(seed: int, stream: int, number: int, best: np.ndarray) -> np.ndarray:
    """The candidates that the tuner draws, by its own generator: one row each."""
    Z = np.empty((len(best), quadratic_tuner.COUNT))
    tune.candidates(best, stream_key(seed, stream), number, Z)
    return Z.T[: 2 * quadratic_tuner.EACH + 1].copy()


@pytest.mark.parametrize("forgetting", [0.998, 0.9, 1.0])
@pytest.mark.parametrize("dim", [1, 3, 5])
def test_it_is_the_formulas(dim: int, forgetting: float) -> None:
    rng = np.random.default_rng(dim)
    low, high = -rng.random(dim), 1 + rng.random(dim)
    tuner = QuadraticTuner(space=Box(low=low, high=high), forgetting=forgetting, width=1.5, seed=4)
    judge = reference_tune.Quadratic(dim, 1.5, forgetting)
    for t in range(1, 31):
        decision = tuner.ask()
        z = 2 * (decision.action - low) / (high - low) - 1
        expected = judge.choose(candidates(4, DIRECTION, t, judge.best))
        np.testing.assert_allclose(z, expected, atol=1e-9)
        np.testing.assert_allclose(decision.greedy, low + (high - low) * (judge.best + 1) / 2, atol=1e-9)
        loss = float(((z - 0.3) ** 2).sum() + 0.1 * rng.normal()) * (50.0 if t in (15, 20, 21) else 1.0)
        tuner.tell(decision, loss)
        judge.learn(z, loss, candidates(4, COIN, t, judge.best))
    told = tuner.best()
    mean, width = judge.expect()
    assert told.loss == pytest.approx(mean, abs=1e-8)
    assert told.high - told.low == pytest.approx(2 * width, abs=1e-8)


def regret(multiplier: float, offset: float, seed: int = 0, rounds: int = 400) -> float:
    tuner, rng, total = QuadraticTuner(space=Box(low=LOW, high=HIGH), seed=seed), np.random.default_rng(seed), 0.0
    target = np.array([0.3, 0.4, 18.0])
    for _ in range(rounds):
        decision = tuner.ask()
        cost = float((((decision.action - target) / (np.array(HIGH) - LOW)) ** 2).sum())
        total += cost
        tuner.tell(decision, multiplier * (cost + 0.1 * rng.normal()) + offset)
    return total / rounds


def test_units_and_offsets_do_not_matter() -> None:
    plain = regret(1.0, 0.0)
    assert plain < 0.04
    assert regret(0.001, 0.0) == pytest.approx(plain, rel=0.05)
    assert regret(1.0, 1000.0) == pytest.approx(plain, rel=0.05)
    assert regret(1e6, -1e7) == pytest.approx(plain, rel=0.05)


def test_one_absurd_loss_is_survived() -> None:
    tuner = QuadraticTuner(space=Box(low=0.0, high=1.0))
    for t in range(600):
        decision = tuner.ask()
        tuner.tell(decision, 1e6 if t == 50 else float((decision.action[0] - 0.3) ** 2))
    assert abs(tuner.weights[0] - 0.3) < 0.1


def test_losses_that_are_all_the_same_at_first() -> None:
    tuner = QuadraticTuner(space=Box(low=0.0, high=1.0))
    for t in range(400):
        decision = tuner.ask()
        tuner.tell(decision, 7.0 if t < 12 else 7.0 + float((decision.action[0] - 0.8) ** 2))
    assert abs(tuner.weights[0] - 0.8) < 0.2, "the first twelve still count"


def test_every_point_lies_in_the_space() -> None:
    tuner = QuadraticTuner(space=Box(low=LOW, high=HIGH))
    for _ in range(200):
        decision = tuner.ask()
        assert (decision.action >= LOW).all()
        assert (decision.action <= HIGH).all()
        tuner.tell(decision, float(decision.action.sum()))
    assert tuner.best().point[1] < -0.9


def test_knobs_speak_in_their_own_units() -> None:
    space = Knobs({"threads": knobs.Integer(1, 64), "wait": knobs.Log(0.01, 10), "ratio": (0, 1)})
    tuner, rng = QuadraticTuner(space=space), np.random.default_rng(0)
    for _ in range(400):
        decision = tuner.ask()
        assert isinstance(decision.action["threads"], int)
        assert 0.01 <= decision.action["wait"] <= 10
        cost = (decision.action["threads"] / 64 - 0.25) ** 2 + (np.log10(decision.action["wait"]) + 1) ** 2 / 9
        tuner.tell(decision, 100 + float(cost + (decision.action["ratio"] - 0.9) ** 2 + 0.02 * rng.normal()))
    best = tuner.best()
    assert abs(best.point["threads"] - 16) < 8
    assert 0.03 < best.point["wait"] < 0.3
    assert best.point["ratio"] > 0.75
    assert best.low <= best.loss <= best.high
    assert best.loss == pytest.approx(100, abs=0.1)
    np.testing.assert_allclose(tuner.weights, list(best.point.values()))


@pytest.mark.parametrize(
    ("space", "says"),
    [(Ball(dim=2), "Box"), (Box(low=[0.0] * 6, high=1.0), "at most 5"), ("box", "space"), (None, "space")],
)
def test_other_spaces_are_refused(space: Any, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        QuadraticTuner(space=space)


@pytest.mark.parametrize("bad", [{"width": -1.0}, {"forgetting": 0.0}, {"forgetting": 1.1}, {"width": "wide"}])
def test_bad_settings_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(bad))):
        QuadraticTuner(space=Box(low=0.0, high=1.0), **bad)


def test_losses_and_points_beyond_use_are_refused() -> None:
    tuner = QuadraticTuner(space=Box(low=0.0, high=1.0))
    decision = tuner.ask()
    with pytest.raises(InvalidFeedback, match="at most"):
        tuner.tell(decision, 1e200)
    import msgspec

    with pytest.raises(DecisionMismatch, match="outside"):
        tuner.tell(msgspec.structs.replace(decision, action=np.array([3.0])), 1.0)
    with pytest.raises(DecisionMismatch, match="where it went"):
        tuner.tell(msgspec.structs.replace(decision, action="there"), 1.0)
    tuner.tell(decision, 1.0)
