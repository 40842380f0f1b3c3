"""A gradient or a loss beyond the bound that was declared counts as one of that size, and is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import OGD, OGDEG, ONS, ONSEG, Ball, Box

MAKERS: dict[str, Any] = {
    "OGD": lambda: OGD(space=Ball(dim=3), gradient_bound=2.0),
    "ONS": lambda: ONS(space=Box(low=np.zeros(3), high=1.0), gradient_bound=2.0, exp_concavity=0.5),
}


@pytest.mark.parametrize("size", [3.0, 1e10, 1e200, 1e307])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_long_gradient_counts_as_one_of_the_bound(make: Any, size: float) -> None:
    learner, twin = make(), make()
    rng = np.random.default_rng(0)
    for _ in range(10):
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        learner.learn(learner.decide(), size * direction)
        twin.learn(twin.decide(), 2.0 * direction * (1.0 - 1e-15))
    assert learner.clipped == 10
    assert twin.clipped == 0
    np.testing.assert_allclose(learner.weights, twin.weights, atol=1e-9)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_count_is_saved(make: Any) -> None:
    learner = make()
    assert smidgen.Learner.from_bytes(learner.to_bytes()).clipped == 0
    learner.learn(learner.decide(), np.full(3, 1e5))
    again = smidgen.Learner.from_bytes(learner.to_bytes())
    assert again.clipped == 1
    assert again.to_bytes() == learner.to_bytes()


def test_one_wild_gradient_is_forgotten() -> None:
    learner = OGD(space=Ball(dim=2), gradient_bound=4.0)
    target = np.array([0.2, 0.4])
    learner.learn(learner.decide(), np.array([1e100, -1e100]))
    for _ in range(200):
        decision = learner.decide()
        learner.learn(decision, 2 * (decision.action - target))
    assert learner.clipped == 1
    np.testing.assert_allclose(learner.weights, target, atol=1e-3)


VALUES: dict[str, Any] = {
    "OGDEG": lambda **more: OGDEG(space=Ball(dim=3), loss_bound=2.0, delta=0.2, **more),
    "ONSEG": lambda **more: ONSEG(space=Box(low=np.zeros(3), high=1.0), loss_bound=2.0, delta=0.1, beta=0.02, **more),
    "phases": lambda **more: OGDEG(space=Ball(dim=3), loss_bound=2.0, lipschitz=1.0, **more),
}


@pytest.mark.parametrize("size", [2.1, 1e10, 1e200, 1.7e308])
@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES)
def test_a_large_loss_counts_as_one_of_the_bound(make: Any, size: float) -> None:
    learner, twin = make(), make()
    for t in range(10):
        learner.tell(learner.ask(), size * (-1) ** t)
        twin.tell(twin.ask(), 2.0 * (-1) ** t)
    assert (learner.clipped, twin.clipped) == (10, 0)
    np.testing.assert_array_equal(learner.weights, twin.weights)
    again = smidgen.Learner.from_bytes(learner.to_bytes())
    assert again.to_bytes() == learner.to_bytes()
    assert again.clipped == 10


def test_what_was_made_before_losses_were_clipped_takes_them_as_they_are() -> None:
    old = OGDEG.at(1, space=Ball(dim=3), loss_bound=2.0, delta=0.2)
    new = OGDEG(space=Ball(dim=3), loss_bound=2.0, delta=0.2, beyond="take")
    for learner in (old, new):
        for loss in (1.0, 50.0, 1.0):
            learner.tell(learner.ask(), loss)
    np.testing.assert_array_equal(old.weights, new.weights)
    again = smidgen.Learner.from_bytes(old.to_bytes())
    assert again.to_bytes() == old.to_bytes()
    again.tell(again.ask(), 50.0)
    old.tell(old.ask(), 50.0)
    np.testing.assert_array_equal(old.weights, again.weights)


def test_beyond_is_one_of_two() -> None:
    with pytest.raises(smidgen.errors.InvalidArgument, match="beyond"):
        OGDEG(space=Ball(dim=3), loss_bound=2.0, delta=0.2, beyond="ignore")
