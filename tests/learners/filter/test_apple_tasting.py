"""Apple tasting against the plain rule, around every inner filter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference_filter
import smidgen
from smidgen import AppleTasting, PerceptronFilter, RidgeFil, RidgeFull
from smidgen.data import filter_stream
from smidgen.errors import InvalidArgument, InvalidFeedback
from smidgen.randomness import COIN, uniforms

DIM = 4
INNER: list[tuple[Any, Any]] = [
    (RidgeFull(dim=DIM), lambda: reference_filter.RidgeFull(DIM)),
    (RidgeFull(dim=DIM, window=6), lambda: reference_filter.RidgeFull(DIM, window=6)),
    (RidgeFull(dim=DIM, forgetting=0.9), lambda: reference_filter.RidgeFull(DIM, forgetting=0.9)),
    (PerceptronFilter(dim=DIM), lambda: reference_filter.Perceptron(DIM)),
]


@pytest.mark.parametrize(("inner", "judged"), INNER, ids=[repr(inner) for inner, _ in INNER])
@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_the_transformation(inner: Any, judged: Any, seed: int) -> None:
    stream = filter_stream(rounds=150, dim=DIM, seed=seed)
    learner = AppleTasting(learner=inner, seed=seed)
    judge = reference_filter.Stap(judged(), lambda t: uniforms(seed, t, 1, stream=COIN)[0])
    explored = 0
    for t, (x, relevant) in enumerate(zip(stream.X, stream.y, strict=True), start=1):
        decision = learner.decide(x)
        margin, chance = judge.margin(x), judge.chance(t)
        assert decision.margin == pytest.approx(margin, abs=1e-9)
        assert decision.action == judge.forward(x, t)
        expected = 1.0 if margin >= 0 else chance if decision.action else 1.0 - chance
        assert decision.propensity == pytest.approx(expected)
        explored += decision.explored
        if decision.action:
            learner.learn(decision, bool(relevant))
            judge.learn(x, bool(relevant))
    assert learner.surprises == judge.surprises > 0
    assert explored > learner.surprises


def test_the_inner_filter_gives_its_settings_not_its_state() -> None:
    inner = RidgeFull(dim=2)
    inner.run(np.eye(2), [True, False])
    taster = AppleTasting(learner=inner)
    np.testing.assert_array_equal(taster.weights, np.zeros(2))
    taster.run(np.eye(2), [True, False])
    assert (inner.rounds, taster.dim) == (2, 2)


def test_it_is_saved_with_its_inner_filter(tmp_path: Path) -> None:
    stream = filter_stream(rounds=100, dim=DIM, seed=3)
    taster = AppleTasting(learner=RidgeFull(dim=DIM, window=9))
    taster.run(stream.X[:50], stream.y[:50])
    taster.save(tmp_path / "taster")
    again = smidgen.load(tmp_path / "taster")
    assert again.surprises == taster.surprises
    for learner in (taster, again):
        learner.run(stream.X[50:], stream.y[50:])
    np.testing.assert_array_equal(again.weights, taster.weights)


def test_a_dropped_item_has_no_label() -> None:
    taster = AppleTasting(learner=PerceptronFilter(dim=2))
    x = np.array([1.0, 0.0])
    taster.learn(taster.decide(x), False)
    dropped = next(d for d in (taster.decide(x) for _ in range(200)) if not d.action)
    with pytest.raises(InvalidFeedback, match="its label is not known"):
        taster.learn(dropped, True)
    assert (taster.rounds, taster.surprises) == (1, 0)


@pytest.mark.parametrize("bad", [None, "RidgeFull", RidgeFil(dim=2), RidgeFull], ids=repr)
def test_only_full_information_filters_can_be_inside(bad: Any) -> None:
    with pytest.raises(InvalidArgument, match="full-information"):
        AppleTasting(learner=bad)
