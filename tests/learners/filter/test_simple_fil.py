"""SIMPLE-FIL against the share of relevant items, counted again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import reference_filter
from smidgen import SimpleFil
from smidgen.errors import InvalidArgument, InvalidFeatures, InvalidFeedback, NoWeights


@given(st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_it_is_section_3(seed: int, p: float) -> None:
    learner, judge = SimpleFil(), reference_filter.SimpleFil()
    truth = np.random.default_rng(seed).random(80) < p
    for t, relevant in enumerate(truth, start=1):
        decision = learner.decide()
        assert decision.margin == judge.margin()
        assert decision.action == judge.forward(None, t)
        assert decision.greedy == (judge.margin() >= 0.0)
        if decision.action:
            learner.learn(decision, bool(relevant))
            judge.learn(None, bool(relevant))
    assert learner.estimate == judge.margin()
    assert learner.rounds == len(judge.labels)


def test_it_stops_forwarding_what_nobody_wants_and_comes_back_to_look() -> None:
    actions = SimpleFil().run(range(3000), np.zeros(3000, bool)).actions
    assert actions[:30].all()
    assert 0 < actions[1000:].sum() < 100, "rarely, but for ever: ln t grows"


def test_it_goes_on_forwarding_what_is_wanted() -> None:
    assert SimpleFil().run(range(500), np.ones(500, bool)).actions.all()


@pytest.mark.parametrize("X", [range(20), [None] * 20, np.zeros((20, 3)), sparse.csr_array((20, 3))], ids=type)
def test_only_the_number_of_items_counts(X: object) -> None:
    assert len(SimpleFil().run(X, np.ones(20, bool))) == 20


@pytest.mark.parametrize("X", [[], None, 3, np.empty((0, 2))], ids=repr)
def test_no_items_are_refused(X: object) -> None:
    learner = SimpleFil()
    with pytest.raises(InvalidFeatures):
        learner.run(X, np.empty(0, bool))
    assert learner.decisions == 0


def test_a_dropped_item_has_no_label() -> None:
    learner = SimpleFil()
    learner.run(range(200), np.zeros(200, bool))
    dropped = next(d for d in (learner.decide() for _ in range(100)) if not d.action)
    before = learner.estimate, learner.rounds
    with pytest.raises(InvalidFeedback, match="its label is not known"):
        learner.learn(dropped, True)
    assert (learner.estimate, learner.rounds) == before


def test_it_has_no_weights_and_takes_one_label_per_item() -> None:
    with pytest.raises(NoWeights, match="estimate"):
        _ = SimpleFil().weights
    with pytest.raises(InvalidArgument, match="3 rows"):
        SimpleFil().run(range(3), [True])
