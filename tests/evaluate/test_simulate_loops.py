"""Simulated users in the loops that are not coactive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen.errors import InvalidArgument


def labelled(n: int = 300) -> tuple[list[np.ndarray], dict[bytes, int]]:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=n)
    rows = [np.eye(3)[c] + 0.1 * rng.normal(size=3) for c in truth]
    return rows, {row.tobytes(): int(c) for row, c in zip(rows, truth, strict=True)}


def test_one_bit_from_a_user() -> None:
    rows, truth = labelled()
    learner = smidgen.Confidit(dim=3, n_classes=3, eta=0.1)
    history = smidgen.simulate(learner, rows, lambda x, action: action == truth[x.tobytes()])
    assert learner.rounds == 300
    expected = [a != truth[x.tobytes()] for a, x in zip(history.actions, rows, strict=True)]
    np.testing.assert_array_equal(history.mistakes, expected)
    assert history.mistakes[-100:].mean() < 0.05
    assert history.bound is None
    with pytest.raises(InvalidArgument, match="utility"):
        _ = history.regret


def test_the_true_label_from_a_user() -> None:
    rows, truth = labelled()
    history = smidgen.simulate(smidgen.AROW(dim=3, n_classes=3), rows, lambda x, action: truth[x.tobytes()])
    assert history.mistakes[-100:].mean() < 0.05


def test_a_filter_hears_nothing_of_what_it_drops() -> None:
    rows, truth = labelled()
    learner = smidgen.RidgeFil(dim=3, c=0.5)

    def user(x: Any, forwarded: bool) -> bool | None:
        return truth[x.tobytes()] == 0 if forwarded else None

    history = smidgen.simulate(learner, rows, user)
    assert learner.rounds == sum(history.actions) < 300
    assert history.mistakes.sum() == sum(f is False for f in history.feedback)


def test_a_tuner_and_its_bill() -> None:
    learner = smidgen.OGDEG(space=smidgen.Ball(dim=2), loss_bound=1.0, delta=0.1)
    seen: list[int] = []
    history = smidgen.simulate(learner, [None] * 50, lambda _, x: float(x @ x), progress=seen.append)
    assert seen == list(range(1, 51))
    assert history.loop == "tune"
    with pytest.raises(InvalidArgument, match="no mistakes"):
        _ = history.mistakes


def test_a_utility_belongs_to_coactive_learners() -> None:
    with pytest.raises(InvalidArgument, match="coactive"):
        smidgen.simulate(smidgen.Banditron(dim=3, n_classes=3), [], lambda x, a: True, utility=np.ones(3))
