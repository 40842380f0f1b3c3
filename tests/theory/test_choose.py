"""The bounds of choosing by reward: above what is measured, in both units, and refused where no theorem speaks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smidgen import Choice, LinUCB, SquareCB, ThompsonChoice, bounds
from smidgen.errors import InvalidArgument

DIM, K, T = 3, 4, 3000


def world(seed: int) -> tuple[Any, Any, Any]:
    """Unit features, mean rewards w*·x in [0, 1], and coins with them."""
    rng = np.random.default_rng(seed)
    X = np.abs(rng.normal(size=(T, K, DIM)))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    w = np.abs(rng.normal(size=DIM))
    means = X @ (w / np.linalg.norm(w))
    return X, means, (rng.random((T, K)) < means).astype(float)


def regret(history: Any, means: Any) -> Any:
    return np.cumsum(means.max(axis=1) - means[np.arange(T), history.actions])


def test_linucb_stays_below() -> None:
    X, means, table = world(0)
    width = bounds.linucb_width(T=T, dim=DIM, delta=0.05)
    history = LinUCB(dim=DIM, width=width, floor=0.0).run(X, table)
    t = np.arange(1, T + 1)
    bound = bounds.linucb(T=t, dim=DIM, delta=0.05, width=width)
    assert (regret(history, means) <= bound).all()
    assert bound[-1] < T


def test_linucb_stays_below_with_late_rewards() -> None:
    X, means, table = world(1)
    lag = 20
    width = bounds.linucb_width(T=T, dim=DIM, delta=0.05)
    learner, waiting, shown = LinUCB(dim=DIM, width=width, floor=0.0), [], []
    for x, r in zip(X, table, strict=True):
        decision = learner.decide(Choice(x))
        shown.append(decision.action)
        waiting.append((decision, float(r[decision.action])))
        if len(waiting) > lag:
            learner.learn(*waiting.pop(0))
    total = (means.max(axis=1) - means[np.arange(T), shown]).sum()
    late, prompt = (bounds.linucb(T=T, dim=DIM, delta=0.05, width=width, lag=tau) for tau in (lag, 0))
    assert total <= prompt < late


def test_squarecb_and_thompson_stay_below() -> None:
    X, means, table = world(2)
    estimates = SquareCB(dim=DIM, gamma=2.0).run(X, table)
    reg = bounds.ridge_regret(T=T, dim=DIM)
    assert regret(estimates, means)[-1] <= bounds.squarecb(T=T, n_actions=K, regression=reg, gamma=2.0)
    samples = ThompsonChoice(dim=DIM, width=0.5, samples=20).run(X, table)
    assert regret(samples, means)[-1] <= bounds.thompson(T=T, dim=DIM, delta=0.001)


def test_ridge_regret_holds_for_any_numbers() -> None:
    rng = np.random.default_rng(3)
    X, r = rng.normal(size=(500, DIM)), rng.random(500)
    learner, errors = LinUCB(dim=DIM, floor=0.0), []
    for x, y in zip(X, r, strict=True):
        d = learner.decide(Choice(x[None, :]))
        errors.append(y - d.scores[0])
        learner.learn(d, float(y))
    best = np.linalg.lstsq(X, r, rcond=None)[0]
    over = np.square(errors).sum() - np.square(r - X @ best).sum()
    L, Y = np.linalg.norm(X, axis=1).max(), np.abs(errors).max()
    bound = bounds.ridge_regret(
        T=500, dim=DIM, w_norm=float(np.linalg.norm(best)), row_norm=float(L), residual=float(Y)
    )
    assert 0.0 < over <= bound


def test_units_are_said_outright() -> None:
    for bound in (
        lambda **unit: bounds.linucb(T=1000, dim=DIM, floor=0.02, **unit),
        lambda **unit: bounds.thompson(T=1000, dim=DIM, floor=0.02, **unit),
        lambda **unit: bounds.squarecb(T=1000, n_actions=K, regression=2.0, floor=0.02, **unit),
    ):
        assert bound() == bound(per_round=False) == bound(per_round=None)
        assert bound(per_round=True) == pytest.approx(bound() / 1000)


@pytest.mark.parametrize(
    "call",
    [
        lambda: bounds.linucb(T=0, dim=DIM),
        lambda: bounds.linucb(T=10, dim=0),
        lambda: bounds.linucb(T=10, dim=DIM, width=0.1),
        lambda: bounds.linucb(T=10, dim=DIM, lag=-1),
        lambda: bounds.linucb(T=10, dim=DIM, delta=0.0),
        lambda: bounds.linucb(T=10, dim=DIM, floor=2.0),
        lambda: bounds.linucb(T=10, dim=DIM, w_norm=-1.0),
        lambda: bounds.linucb(T=10, dim=DIM, per_round="yes"),
        lambda: bounds.squarecb(T=10, n_actions=0, regression=1.0),
        lambda: bounds.squarecb(T=10, n_actions=2, regression=float("nan")),
        lambda: bounds.squarecb(T=10, n_actions=2, regression=1.0, gamma=0.0),
        lambda: bounds.thompson(T=10, dim=DIM, ridge=0.0),
        lambda: bounds.ridge_regret(T=10, dim=DIM, residual=-1.0),
    ],
)
def test_nonsense_is_refused(call: Any) -> None:
    with pytest.raises(InvalidArgument):
        call()
