"""Stretches of a log in compiled code against the two verbs, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import Decision, Learner, Ranking
from smidgen.errors import SmidgenError
from smidgen.learners.coactive import Coactive
from smidgen.learners.coactive.base import RankingBatch, RankingStep
from smidgen.learners.guard import MEMORY, Guard, Lengths

LEARNERS: dict[str, Any] = {
    "additive": lambda: smidgen.PreferencePerceptron(dim=4),
    "batch": lambda: smidgen.BatchPreferencePerceptron(dim=4, batch=7),
    "gradient": lambda: smidgen.ConvexPreferencePerceptron(dim=4, radius=2.0),
    "exponentiated": lambda: smidgen.ExponentiatedPreferencePerceptron(dim=4, bound=1.0),
    "newton": lambda: smidgen.SecondOrderPreferencePerceptron(dim=4, radius=2.0),
    "soft": lambda: smidgen.SoftPreferencePerceptron(dim=4),
}


def log_of(seed: int, count: int, wild: float = 1.0) -> list[tuple[Any, Any, Any]]:
    """Rankings of several lengths, with a shown and a better order; None: only decided on. Some rows are wild."""
    rng = np.random.default_rng(seed)
    out: list[tuple[Any, Any, Any]] = []
    for i in range(count):
        n = int(rng.integers(1, 9))
        docs = rng.normal(size=(n, 4)) * (wild if i % 40 == 39 else 1.0)
        context = Ranking(docs, top=int(rng.integers(1, 6)))
        answer = rng.random() < 0.7 or i % 40 == 39
        out.append((context, rng.permutation(n) if answer else None, rng.permutation(n)))
    return out


def by_verbs(learner: Coactive, log: list[Any]) -> tuple[list[bytes], list[bytes]]:
    orders, weights = [], []
    for context, better, shown in log:
        made = learner.decide(context)
        orders.append(made.action.tobytes())
        if better is not None:
            weights.append(learner.weights.tobytes())
            as_shown = Decision(**{**made._fields(), "action": shown})
            learner.learn(as_shown, better)
    return orders, weights


def by_stretches(learner: Coactive, log: list[Any], size: int) -> tuple[list[bytes], list[bytes]]:
    orders, weights = [], []
    for start in range(0, len(log), size):
        steps, numbers, number = [], [], learner.decisions
        for context, better, shown in log[start : start + size]:
            steps.append(RankingStep(context))
            number += 1
            if better is not None:
                steps.append(RankingStep(context, True, better, shown))
                numbers.append(number)
        found = learner.follow(RankingBatch(steps), numbers)
        orders += [order.tobytes() for order in found.orders]
        weights += [each.tobytes() for each in found.weights]
    return orders, weights


@pytest.mark.parametrize("wild", [1.0, 1e4])
@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_a_stretch_is_the_two_verbs(name: str, guarded: bool, wild: float) -> None:
    log = log_of(3, 120, wild)
    for size in (1, 3, 50, 120):
        verbs, stretches = LEARNERS[name](), LEARNERS[name]()
        assert stretches.compiled
        if guarded:
            verbs.guard()
            stretches.guard()
        assert by_stretches(stretches, log, size) == by_verbs(verbs, log)
        assert stretches.rounds == verbs.rounds
        assert stretches.decisions == verbs.decisions
        assert (stretches.guarded, stretches.uninformative) == (verbs.guarded, verbs.uninformative)
        if guarded and wild > 1.0:
            assert stretches.guarded


def test_kernels_are_really_gone_by(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = smidgen.PreferencePerceptron(dim=4)
    monkeypatch.setattr(Coactive, "_learn", None)  # the verb
    monkeypatch.setattr(Coactive, "_decide", None)
    by_stretches(learner, log_of(1, 40), 40)
    assert learner.rounds > 10


class Twice(smidgen.PreferencePerceptron):
    """A learner with another step and no kernels."""

    def _learn(self, decision: Decision, feedback: Any) -> None:
        super()._learn(decision, feedback)
        super()._learn(decision, feedback)


def test_who_steps_otherwise_goes_by_the_verbs() -> None:
    log = log_of(5, 30)
    verbs, stretches = Twice(dim=4), Twice(dim=4)
    assert not stretches.compiled
    assert by_stretches(stretches, log, 30) == by_verbs(verbs, log)


def test_sparse_rows_mixed_dimensions_and_other_structures_go_by_the_verbs() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    log = [(Ranking(sparse.csr_array(context.docs), top=2), better, shown) for context, better, shown in log_of(6, 20)]
    assert RankingBatch([RankingStep(context) for context, *_ in log]).arrays is None
    verbs, stretches = smidgen.PreferencePerceptron(dim=4), smidgen.PreferencePerceptron(dim=4)
    assert by_stretches(stretches, log, 20) == by_verbs(verbs, log)
    mixed = [RankingStep(Ranking(np.ones((2, d)))) for d in (4, 4, 3, 4)]
    assert RankingBatch(mixed).arrays is None
    assert RankingBatch([RankingStep(smidgen.Choice(np.ones((2, 4))))] * 5).arrays is None


@pytest.mark.parametrize("bad", [np.array([0, 0]), np.array([0, 7]), np.array([0]), "better", None])
def test_a_refusal_comes_where_the_verbs_have_it(bad: Any) -> None:
    context = Ranking(np.eye(2))
    learner, twin = smidgen.PreferencePerceptron(dim=2), smidgen.PreferencePerceptron(dim=2)
    decisions = [twin.decide(context) for _ in range(10)]
    listed = [np.array([1, 0])] * 6 + [bad] + [np.array([1, 0])] * 3
    with pytest.raises(SmidgenError) as by_verb:
        Learner.learn_many(twin, decisions, listed)
    with pytest.raises(type(by_verb.value)) as at_once:
        learner.learn_many(decisions, listed)
    assert str(at_once.value) == str(by_verb.value)
    assert learner.rounds == twin.rounds == 6
    assert learner.weights.tobytes() == twin.weights.tobytes()


def test_steps_beyond_floating_point_are_left_to_the_verbs() -> None:
    huge = Ranking(np.array([[1.7e308, 0.0], [-1.7e308, 0.0]]), top=1)
    learner, twin = smidgen.PreferencePerceptron(dim=2), smidgen.PreferencePerceptron(dim=2)
    decisions = [twin.decide(context) for context in [*[Ranking(np.eye(2))] * 5, huge, huge]]
    listed = [np.array([1, 0])] * 7
    with pytest.raises(SmidgenError):
        Learner.learn_many(twin, decisions, listed)
    with pytest.raises(SmidgenError):
        learner.learn_many(decisions, listed)
    assert learner.rounds == twin.rounds
    assert learner.weights.tobytes() == twin.weights.tobytes()


@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_lengths_counted_together_are_those_counted_one_by_one(scale: float) -> None:
    rng = np.random.default_rng(4)
    lengths = np.abs(rng.normal(size=3 * MEMORY)) * np.where(rng.random(3 * MEMORY) < 0.02, scale, 1.0)
    one, many = Lengths(), Lengths()
    for start in range(0, len(lengths), 700):
        some = lengths[start : start + 700]
        many.add_all(some)
        for length in some.tolist():
            one.add(length)
        assert one.pairs() == many.pairs()
        assert one.quantile() == many.quantile() >= many.least()


def test_the_guard_says_how_far_nothing_is_scaled() -> None:
    guard = Guard()
    guard.passed(Lengths.of([(8, 30)]))
    usual = guard._lengths.quantile()
    count, seen = guard.unbounded(np.array([usual, 0.0, 5 * usual, 12.0 * usual, usual]))
    assert (count, sum(n for _, n in seen.pairs())) == (3, 32)
    assert sum(n for _, n in guard._lengths.pairs()) == 30
    assert guard.unbounded(np.zeros(3))[0] == 3
