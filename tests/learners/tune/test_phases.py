"""Without a horizon: phases of doubling length, each with the constants of its length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference_tune as judges
import smidgen
from smidgen import OGDEG, ONSEG, Ball
from smidgen.theory import one_point

SPACE = Ball(dim=2)
SETTINGS: dict[str, Any] = {"space": SPACE, "loss_bound": 1.0, "lipschitz": 0.1, "seed": 3}
KINDS = {OGDEG: one_point.fkm_constants, ONSEG: one_point.onseg_constants}
every_kind = pytest.mark.parametrize("kind", KINDS)


def first_phase(kind: Any) -> int:
    return one_point.first_phase(SPACE, 1.0, 0.1, KINDS[kind])


def loss(x: np.ndarray) -> float:
    return float((x - np.array([0.5, -0.2])) @ (x - np.array([0.5, -0.2])) / 2)


@pytest.mark.parametrize("first", [1, 2, 16])
def test_phases_tile_the_rounds(first: int) -> None:
    expected, start = [], 0
    for k in range(6):
        length = first * 2**k
        expected += [one_point.Phase(k, start, length)] * length
        start += length
    assert [one_point.phase_of(rounds, first) for rounds in range(start)] == expected


@every_kind
def test_the_first_phase_is_the_shortest_that_keeps_half_of_the_space(kind: Any) -> None:
    first = first_phase(kind)
    assert KINDS[kind](SPACE, 1.0, 0.1, first)[1] <= 0.5
    assert first == 2 or KINDS[kind](SPACE, 1.0, 0.1, first // 2)[1] > 0.5


@every_kind
def test_constants_change_at_the_boundaries_and_nowhere_else(kind: Any) -> None:
    learner, first = kind(**SETTINGS), first_phase(kind)
    for rounds in range(7 * first + 1):
        phase = one_point.phase_of(rounds, first)
        assert (learner.delta, learner.gamma) == KINDS[kind](SPACE, 1.0, 0.1, phase.length)
        decision = learner.decide()
        assert decision.reach == learner.delta
        learner.learn(decision, loss(decision.action))


def test_the_base_point_is_kept_and_the_steps_begin_again() -> None:
    learner, first = OGDEG(**SETTINGS), first_phase(OGDEG)
    shape, z = judges.Ball(2, 1.0), np.zeros(2)
    for k in range(3):
        gamma = one_point.fkm_constants(SPACE, 1.0, 0.1, first * 2**k)[1]
        judge = judges.Descent(shape, SPACE.diameter, gamma, z)
        np.testing.assert_allclose(learner.weights, z, atol=1e-9)
        for _ in range(first * 2**k):
            decision = learner.decide()
            learner.learn(decision, loss(decision.action))
            judge.learn(loss(decision.action) * decision.perturbation)
        z = judge.z
    assert np.linalg.norm(z) > 0.05


def test_a_decision_of_one_phase_learnt_in_the_next_uses_its_own_reach() -> None:
    learner, first = ONSEG(**SETTINGS), first_phase(ONSEG)
    late = learner.decide()
    for _ in range(first):
        decision = learner.decide()
        learner.learn(decision, loss(decision.action))
    assert learner.delta < late.reach
    gamma = one_point.onseg_constants(SPACE, 1.0, 0.1, 2 * first)[1]
    judge = judges.NewtonSteps(judges.Ball(2, 1.0), learner.beta, SPACE.diameter, gamma, learner.weights)
    learner.learn(late, 0.8)
    judge.learn(2 / late.reach * 0.8 * late.perturbation)
    np.testing.assert_allclose(learner.weights, judge.point, atol=1e-9)


@every_kind
@pytest.mark.parametrize("extra", [-1, 0, 1, 5])
def test_saved_around_a_boundary_it_goes_on_bit_for_bit(kind: Any, extra: int, tmp_path: Path) -> None:
    learner, first = kind(**SETTINGS), first_phase(kind)
    waiting = [learner.decide() for _ in range(3)]

    def play(each: Any, n: int) -> None:
        for _ in range(n):
            decision = each.decide()
            each.learn(decision, loss(decision.action))

    play(learner, 3 * first + extra)
    learner.save(tmp_path / "knobs.smidgen")
    again = smidgen.load(tmp_path / "knobs.smidgen")
    assert isinstance(again, kind)
    assert (again.delta, again.gamma) == (learner.delta, learner.gamma)
    for each in (learner, again):
        for decision in waiting:
            each.learn(decision, 0.3)
        play(each, 4 * first)
    assert (again.weights == learner.weights).all()


def test_with_a_horizon_or_a_delta_there_are_no_phases() -> None:
    for more in ({"horizon": 20}, {"delta": 0.3}):
        learner = OGDEG(**SETTINGS, **more)
        before = learner.delta
        for _ in range(100):
            learner.tell(learner.ask(), 0.1)
        assert learner.delta == before
