"""The compiled stream of the tune loop against the two verbs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import OGD, OGDEG, ONS, ONSEG, Ball, Box
from smidgen.errors import InvalidArgument, NotFinite
from smidgen_papers.players import play_tuning

ROWS, ROUNDS = 40, 300


def _losses(kind: str, dim: int) -> Any:
    rng = np.random.default_rng(dim)
    Z = rng.normal(size=(ROWS, dim))
    w = rng.normal(size=dim)
    if kind == "regression":
        return smidgen.losses.LeastSquares(Z=Z, y=Z @ w)
    if kind == "classification":
        return smidgen.losses.Logistic(Z=Z, y=np.where(Z @ w > 0.0, 1.0, -1.0))
    return smidgen.losses.Portfolio(returns=Z)


def _space(kind: str, dim: int) -> Any:
    if kind == "ball":
        return smidgen.Ball(dim=dim, radius=0.7)
    if kind == "box":
        return smidgen.Box(low=np.full(dim, -0.3), high=np.linspace(0.4, 0.9, dim))
    if kind == "simplex":
        return smidgen.Simplex(dim=dim)
    return smidgen.L1Ball(dim=dim, radius=0.7)


LEARNERS: dict[str, Callable[[Any], Any]] = {
    "OGD": lambda space: smidgen.OGD(space=space, gradient_bound=2.0, seed=3),
    "ONS": lambda space: smidgen.ONS(space=space, gradient_bound=2.0, exp_concavity=0.1, beta=0.05, seed=3),
    "OGDEG": lambda space: smidgen.OGDEG(space=space, loss_bound=1.0, delta=0.3 * space.inner_radius, seed=3),
    "ONSEG": lambda space: smidgen.ONSEG(
        space=space, loss_bound=1.0, delta=0.3 * space.inner_radius, beta="practical", seed=3
    ),
}


def _by_verbs(learner: Any, loss: Any, order: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values, base, wrong = [], [], []
    for t in order:
        d = learner.decide()
        values.append(loss(t, d.action))
        base.append(loss(t, d.greedy))
        wrong.append(loss.Z[t] @ d.action * getattr(loss, "y", np.zeros(ROWS))[t] <= 0.0)
        by_gradient = isinstance(learner, (smidgen.OGD, smidgen.ONS))
        learner.learn(d, loss.gradient(t, d.action) if by_gradient else values[-1])
    return np.array(values), np.array(base), np.array(wrong)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("space", ["ball", "box", "simplex", "L1 ball"])
@pytest.mark.parametrize("kind", ["regression", "classification", "portfolio"])
def test_it_is_what_the_two_verbs_do(name: str, space: str, kind: str) -> None:
    dim = 5
    loss, order = _losses(kind, dim), np.random.default_rng(7).integers(0, ROWS, ROUNDS)
    slow, fast = LEARNERS[name](_space(space, dim)), LEARNERS[name](_space(space, dim))
    values, base, wrong = _by_verbs(slow, loss, order)
    run = play_tuning(fast, loss, order=order, checkpoints=[1, 100, ROUNDS])
    means = [[each[:t].mean() for t in (1, 100, ROUNDS)] for each in (values, base, wrong)]
    np.testing.assert_allclose(run.losses, means[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.base_losses, means[1], rtol=0, atol=1e-12)
    if kind == "classification":
        np.testing.assert_allclose(run.mistakes, means[2], rtol=0, atol=1e-15)
    else:
        assert np.isnan(run.mistakes).all()
    np.testing.assert_allclose(fast.weights, slow.weights, rtol=0, atol=1e-12)
    # and both go on alike: the same number, the same state
    np.testing.assert_allclose(fast.decide().action, slow.decide().action, rtol=0, atol=1e-12)
    assert (fast.rounds, fast.decisions) == (ROUNDS, ROUNDS + 1)


@pytest.mark.parametrize("dim", [1, 2, 7, 33])
@pytest.mark.parametrize("name", LEARNERS)
def test_any_dimension(name: str, dim: int) -> None:
    loss = _losses("regression", dim)
    slow, fast = LEARNERS[name](_space("ball", dim)), LEARNERS[name](_space("ball", dim))
    values, _, _ = _by_verbs(slow, loss, [t % ROWS for t in range(100)])
    run = play_tuning(fast, loss, rounds=100)  # the rows in their order, again and again
    np.testing.assert_allclose(run.losses[-1], values.mean(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(fast.weights, slow.weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [smidgen.OGDEG, smidgen.ONSEG])
def test_phases_of_doubling_length(kind: Any) -> None:
    loss = _losses("regression", 2)
    slow, fast = (kind(space=smidgen.Ball(dim=2), loss_bound=5.0, lipschitz=5.0, seed=1) for _ in range(2))
    values, _, _ = _by_verbs(slow, loss, [t % ROWS for t in range(700)])
    run = play_tuning(fast, loss, rounds=700, checkpoints=[650, 700])
    assert slow.delta == fast.delta
    assert fast._phase.number >= 1
    np.testing.assert_allclose(run.losses[-1], values.mean(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(fast.weights, slow.weights, rtol=0, atol=1e-12)


def test_a_run_in_two_pieces_is_one_run() -> None:
    loss = _losses("regression", 4)
    one, two = (LEARNERS["ONSEG"](_space("ball", 4)) for _ in range(2))
    order = np.arange(200) % ROWS
    play_tuning(one, loss, order=order)
    play_tuning(two, loss, order=order[:77])
    play_tuning(two, loss, order=order[77:])
    assert (one.weights == two.weights).all()
    assert one.rounds == two.rounds == 200


def test_a_saved_learner_goes_on(tmp_path: Any) -> None:
    loss, path = _losses("regression", 3), tmp_path / "tuner"
    learner = LEARNERS["ONSEG"](_space("ball", 3))
    play_tuning(learner, loss, rounds=50)
    learner.save(path)
    twin = smidgen.load(path)
    play_tuning(learner, loss, rounds=50)
    play_tuning(twin, loss, rounds=50)
    assert (learner.weights == twin.weights).all()


def test_steps_that_explode_are_refused() -> None:
    loss = smidgen.losses.LeastSquares(Z=[[1e250, 0.0]], y=[1.0])
    learner = smidgen.OGD(space=smidgen.Ball(dim=2), gradient_bound=1e-99)
    with pytest.raises(NotFinite, match="last checkpoint"):
        play_tuning(learner, loss, rounds=10)
    assert learner.rounds == 0
    assert (learner.weights == 0.0).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"order": [0, ROWS]},
        {"order": [[0, 1]]},
        {"order": [0.5]},
        {"order": [-1]},
        {"rounds": 0},
        {"checkpoints": [10, 5]},
        {"checkpoints": [ROWS + 1]},
        {"checkpoints": [0, ROWS]},
    ],
)
def test_wrong_orders_and_checkpoints_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        play_tuning(LEARNERS["OGD"](_space("ball", 3)), _losses("regression", 3), **wrong)


def test_other_things_are_refused() -> None:
    loss, learner = _losses("regression", 3), LEARNERS["OGD"](_space("ball", 3))
    with pytest.raises(InvalidArgument, match="tune loop"):
        play_tuning(smidgen.PreferencePerceptron(dim=3), loss)
    with pytest.raises(InvalidArgument, match="LeastSquares"):
        play_tuning(learner, abs)
    with pytest.raises(InvalidArgument, match="features"):
        play_tuning(learner, _losses("regression", 4))


MAKERS: dict[str, Any] = {
    "OGD": lambda: OGD(space=Ball(dim=3), gradient_bound=2.0),
    "ONS": lambda: ONS(space=Box(low=np.zeros(3), high=1.0), gradient_bound=2.0, exp_concavity=0.5),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_compiled_stream_clips_and_counts_alike(make: Any) -> None:
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(60, 3)) * 10.0 ** rng.uniform(-1, 2, size=(60, 1))
    loss = smidgen.losses.LeastSquares(Z=Z, y=Z @ [0.5, 0.2, 0.1])
    learner, twin = make(), make()
    play_tuning(learner, loss)
    for t in range(len(loss)):
        decision = twin.decide()
        twin.learn(decision, loss.gradient(t, decision.action))
    assert 0 < learner.clipped == twin.clipped < 60
    np.testing.assert_allclose(learner.weights, twin.weights, atol=1e-9)


VALUES: dict[str, Any] = {
    "OGDEG": lambda **more: OGDEG(space=Ball(dim=3), loss_bound=2.0, delta=0.2, **more),
    "ONSEG": lambda **more: ONSEG(space=Box(low=np.zeros(3), high=1.0), loss_bound=2.0, delta=0.1, beta=0.02, **more),
    "phases": lambda **more: OGDEG(space=Ball(dim=3), loss_bound=2.0, lipschitz=1.0, **more),
}


@pytest.mark.parametrize("beyond", ["clip", "take"])
@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES)
def test_a_compiled_stream_of_losses_clips_and_counts_alike(make: Any, beyond: str) -> None:
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(300, 3)) * rng.choice([0.5, 4.0], size=(300, 1), p=[0.8, 0.2])
    loss = smidgen.losses.LeastSquares(Z=Z, y=Z @ [0.5, 0.2, 0.1])
    learner, twin = make(beyond=beyond), make(beyond=beyond)
    play_tuning(learner, loss)
    for t in range(len(loss)):
        decision = twin.decide()
        twin.learn(decision, loss(t, decision.action))
    assert 0 < learner.clipped == twin.clipped < 300
    np.testing.assert_allclose(learner.weights, twin.weights, atol=1e-9)
    assert smidgen.Learner.from_bytes(learner.to_bytes()).clipped == learner.clipped
