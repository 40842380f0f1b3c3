"""Streams through a filter that keeps its examples, in blocks: the two verbs, to rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import smidgen
from smidgen.data import documents, filter_stream
from smidgen.learners.filter import ridge_fil
from smidgen.state.sparse_ridge import SparseRidge
from smidgen_papers.data import tfidf_stream

DIM = 1500

FILTERS: dict[str, Callable[[], Any]] = {
    "RIDGE-FIL": lambda: smidgen.RidgeFil(dim=DIM),
    "few forwarded": lambda: smidgen.RidgeFil(dim=DIM, c=0.3),
    "weak ridge": lambda: smidgen.RidgeFil(dim=DIM, c=1.0, a=0.2),
    "scarce": lambda: smidgen.RidgeFil(dim=DIM, explore="scarce"),
    "patient": lambda: smidgen.RidgeFil(dim=DIM, explore="patient"),
    "sparing": lambda: smidgen.RidgeFil(dim=DIM, explore="sparing"),
    "found": lambda: smidgen.RidgeFil(dim=DIM, explore="found"),
    "window": lambda: smidgen.RidgeFil(dim=DIM, window=40),
    "RIDGE-FULL": lambda: smidgen.RidgeFull(dim=DIM, a=0.7),
    "apple tasting": lambda: smidgen.AppleTasting(learner=smidgen.RidgeFull(dim=DIM), seed=3),
}


@pytest.fixture(scope="module")
def wire() -> tuple[Any, Any]:
    made = documents(documents=400, words=DIM, topics=3, length=40, own=30, shares=(0.05, 0.2), seed=4)
    return tfidf_stream(made.X), made.topics[:, 0]


def ridge(learner: Any) -> SparseRidge:
    found = getattr(learner, "_inner", learner)._ridge
    assert isinstance(found, SparseRidge)
    return found


@pytest.mark.parametrize("name", FILTERS)
def test_blocks_are_the_two_verbs(monkeypatch: pytest.MonkeyPatch, wire: tuple[Any, Any], name: str) -> None:
    X, y = wire
    slow, fast = FILTERS[name](), FILTERS[name]()
    one = slow.run(X[:60], y[:60])
    monkeypatch.setattr(ridge_fil, "MANY", 10**9)
    one = slow.run(X[60:], y[60:])
    monkeypatch.setattr(ridge_fil, "MANY", 20)
    monkeypatch.setattr(ridge_fil, "BLOCK", 64)
    fast.run(X[:60], y[:60])
    other = fast.run(X[60:], y[60:])
    np.testing.assert_array_equal(other.actions, one.actions)
    np.testing.assert_array_equal(other.greedy, one.greedy)
    assert (fast.rounds, fast.decisions) == (slow.rounds, slow.decisions)
    np.testing.assert_allclose(fast.weights, slow.weights, rtol=0, atol=1e-11)
    state, expected = ridge(fast).arrays(), ridge(slow).arrays()
    for key in state:
        np.testing.assert_allclose(state[key], expected[key], rtol=0, atol=1e-10)
    np.testing.assert_allclose(fast._state().get("heard", 0.0), slow._state().get("heard", 0.0))
    assert getattr(fast, "surprises", 0) == getattr(slow, "surprises", 0)
    assert len(ridge(fast)) > 20


def test_they_begin_when_they_pay_and_take_long_and_empty_rows() -> None:
    made = filter_stream(rounds=700, dim=4, seed=1)
    X = np.where(np.arange(700)[:, None] == 600, 0.0, made.X)
    X[650] *= 1e7
    blocks = smidgen.RidgeFil(dim=4, c=400.0, covariance="dual")
    one = blocks.run(sparse.csr_matrix(X), made.y)  # forwards nearly everything
    other = smidgen.RidgeFil(dim=4, c=400.0, covariance="dual")
    for x, action, relevant in zip(X, one.actions, made.y, strict=True):
        decision = other.decide(x)
        assert decision.action == action
        if action:
            other.learn(decision, bool(relevant))
    assert one.actions.sum() > ridge_fil.MANY + ridge_fil.BLOCK
    np.testing.assert_allclose(blocks.weights, other.weights, rtol=0, atol=1e-6)
    row = blocks.decide(X[3])
    assert row.margin == pytest.approx(other.decide(X[3]).margin, abs=1e-6)
