"""A running mean in the place of an offset, a running bound, and losses beyond a declared one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_tune
from smidgen import OGDEG, ONSEG, Ball, Box, Knobs, Simplex, knobs
from smidgen.errors import InvalidArgument

BOX: dict[str, Any] = {"space": Box(low=[0.0, 0.0], high=[1.0, 1.0]), "delta": 0.1}


def test_it_is_ogdeg_on_what_is_above_the_mean() -> None:
    learner = OGDEG(**BOX, baseline="mean", seed=2)
    space = learner.space
    judge = reference_tune.Descent(reference_tune.Box([0.0, 0.0], [1.0, 1.0]), space.diameter, gamma=0.2)
    rng, mean, largest = np.random.default_rng(0), None, 0.0
    for t in range(1, 60):
        decision = learner.ask()
        loss = float(rng.normal() + 100.0)
        residual = 0.0 if mean is None else loss - mean
        mean = loss if mean is None else mean + max(0.02, 1 / t) * residual
        largest = max(largest, abs(residual))
        learner.tell(decision, loss)
        if largest:
            judge.learn(residual / largest * decision.perturbation)
        np.testing.assert_allclose(learner.weights, judge.point, atol=1e-9)
    assert learner.best().loss == pytest.approx(mean)


@pytest.mark.parametrize("kind", [OGDEG, ONSEG])
def test_offsets_and_units_do_not_matter(kind: Any) -> None:
    more = {"beta": "practical"} if kind is ONSEG else {}
    ends = []
    for multiplier, offset in ((1.0, 0.0), (1000.0, 0.0), (1.0, 64.0)):
        learner = kind(**BOX, baseline="mean", **more)
        for _ in range(300):
            decision = learner.ask()
            learner.tell(decision, multiplier * float(((decision.action - 0.3) ** 2).sum()) + offset)
        ends.append(learner.weights)
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)
    np.testing.assert_allclose(ends[2], ends[0], atol=1e-6)


def test_losses_beyond_the_bound_are_counted() -> None:
    clipped, plain = OGDEG(**BOX, loss_bound=1.0, baseline="mean"), OGDEG(**BOX, loss_bound=1.0)
    for learner in (clipped, plain):
        for loss in (0.5, 0.4, 30.0, 0.5):
            learner.tell(learner.ask(), loss)
        assert learner.clipped == 1
    taken = OGDEG(**BOX, loss_bound=1.0, beyond="take")
    for loss in (0.5, 0.4, 30.0, 0.5):
        taken.tell(taken.ask(), loss)
    assert taken.clipped == 1
    assert np.linalg.norm(taken.weights - plain.weights) > 0.1, "it moved as far as it was allowed"
    inside = OGDEG(**BOX, loss_bound=1.0, baseline="mean")
    for loss in (0.5, 0.4):
        inside.tell(inside.ask(), loss)
    step = np.linalg.norm(inside.weights - 0.5)
    decision = inside.ask()
    inside.tell(decision, 1e9)
    assert np.linalg.norm(inside.weights - 0.5) < step + inside.space.diameter
    assert inside.clipped == 1


def test_no_step_is_taken_while_all_losses_are_the_same() -> None:
    learner = OGDEG(**BOX, baseline="mean")
    for _ in range(10):
        learner.tell(learner.ask(), 5.0)
    np.testing.assert_array_equal(learner.weights, [0.5, 0.5])
    assert learner.rounds == 10


def test_without_the_new_arguments_nothing_changes() -> None:
    learner = OGDEG(**BOX, loss_bound=2.0)
    learner.tell(learner.ask(), 1.0)
    assert learner.params.keys() == {"space", "loss_bound", "delta", "beyond", "seed"}
    assert set(learner._state()) == {"w", "t"}


def test_knobs_are_a_space() -> None:
    space = Knobs({"threads": knobs.Integer(1, 64), "ratio": (0, 1)})
    learner = OGDEG(space=space, delta=0.1, baseline="mean")
    for _ in range(200):
        decision = learner.ask()
        learner.tell(decision, (decision.action["threads"] / 64 - 0.2) ** 2 + decision.action["ratio"])
    best = learner.best()
    assert best.point["ratio"] < 0.4
    assert learner.predict() == best.point
    assert learner.weights.shape == (2,)


@pytest.mark.parametrize(
    "bad", [{"baseline": "median"}, {"baseline": True}, {"lipschitz": 1.0}, {"loss_bound": 0.0}], ids=str
)
def test_bad_settings_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        OGDEG(**{**BOX, "baseline": "mean", **bad})


@pytest.mark.parametrize("space", [Ball(dim=3), Simplex(dim=3)])
def test_every_space_takes_a_baseline(space: Any) -> None:
    learner = OGDEG(space=space, delta=0.1, baseline="mean")
    for _ in range(300):
        decision = learner.ask()
        learner.tell(decision, 10.0 + float(decision.action[0]))
    assert learner.weights[0] < space.centre[0]
