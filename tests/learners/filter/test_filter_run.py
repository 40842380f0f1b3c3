"""Whole streams: what the two verbs would do, round for round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from laws.loops import CASES
from smidgen import AppleTasting, FilterHistory, PRidgeFil, RidgeFil, RidgeFull, SimpleFil
from smidgen.errors import InvalidArgument, InvalidFeatures, SmidgenError
from smidgen.learners import cards, learners
from smidgen.learners.filter import Filter
from smidgen.testing import Case
from smidgen.testing.laws import snapshot

FILTER_CASES = [case for case in CASES if issubclass(learners[case.name], Filter)]
WITH_ROWS = [case for case in FILTER_CASES if case.name != "SimpleFil"]
every_case = pytest.mark.parametrize("case", FILTER_CASES, ids=str)


def stream(seed: int, n: int, dim: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, dim)) * (rng.random((n, dim)) < 0.7)
    return X, rng.random(n) < 0.5 + 0.3 * np.sign(X[:, 0])


def test_every_filter_is_here() -> None:
    assert {case.name for case in FILTER_CASES} == {name for name, card in cards.items() if card.loops == ("filter",)}
    assert len(FILTER_CASES) > 12


@every_case
@pytest.mark.parametrize("as_csr", [False, True], ids=["dense", "csr"])
def test_run_is_the_two_verbs(case: Case, as_csr: bool) -> None:
    X, y = stream(0, 120)
    by_verbs, by_run = case.make(), case.make()
    actions, greedy = [], []
    for x, relevant in zip(X, y, strict=True):
        decision = by_verbs.decide(x)
        if decision.action or by_verbs.sees_everything:
            by_verbs.learn(decision, bool(relevant))
        actions.append(decision.action)
        greedy.append(decision.greedy)
    history = by_run.run(sparse.csr_matrix(X) if as_csr else X, y)
    np.testing.assert_array_equal(history.actions, actions)
    np.testing.assert_array_equal(history.greedy, greedy)
    np.testing.assert_array_equal(history.truth, y)
    assert snapshot(by_run) == snapshot(by_verbs)
    assert by_run.rounds == (120 if by_run.sees_everything else sum(actions))
    assert by_run.decisions == 120
    assert by_run.decide(X[0]) == by_verbs.decide(X[0])


@every_case
def test_run_in_pieces_and_epochs(case: Case) -> None:
    X, y = stream(1, 40)
    whole, pieces, twice = case.make(), case.make(), case.make()
    first = whole.run(np.vstack([X, X]), np.concatenate([y, y]))
    pieces.run(X[:15], y[:15])
    pieces.run(X[15:], y[15:])
    pieces.run(X, y)
    second = twice.run(X, y, epochs=2)
    assert snapshot(whole) == snapshot(pieces) == snapshot(twice)
    np.testing.assert_array_equal(first.actions, second.actions)
    np.testing.assert_array_equal(first.truth, second.truth)


@every_case
def test_relevance_may_be_bools_or_signs(case: Case) -> None:
    X, y = stream(2, 40)
    signs = np.where(y, 1, -1)
    learners = []
    for labels in (y, y.tolist(), signs, signs.astype(float), signs.tolist()):
        learners.append(case.make())
        history = learners[-1].run(X, labels)
        assert history.truth.dtype == np.bool_
        np.testing.assert_array_equal(history.truth, y)
    assert all(snapshot(learner) == snapshot(learners[0]) for learner in learners)


@every_case
def test_decisions_before_a_run_stay_valid_after_it(case: Case) -> None:
    X, y = stream(3, 30)
    learner = case.make()
    waiting = learner.decide(X[0])
    assert waiting.action, "nothing is known yet"
    learner.run(X, y)
    before = learner.rounds
    learner.learn(waiting, True)
    assert learner.rounds == before + 1
    assert learner.decide(X[0]).number == 32


@pytest.mark.parametrize("case", WITH_ROWS, ids=str)
@pytest.mark.parametrize(
    ("X", "y", "error"),
    [
        (np.ones((3, 5)), [True] * 3, InvalidFeatures),
        (np.ones(4), [True], InvalidFeatures),
        (np.empty((0, 4)), [], InvalidFeatures),
        (sparse.csr_matrix((0, 4)), [], InvalidFeatures),
        (np.full((2, 4), np.nan), [True, False], InvalidFeatures),
        (sparse.csr_matrix(np.full((2, 4), np.inf)), [True, False], InvalidFeatures),
        (np.full((2, 4), 1e200), [True, False], InvalidFeatures),
        (np.ones((2, 4)), [True], InvalidArgument),
        (np.ones((2, 4)), [0, 1], InvalidArgument),
        (np.ones((2, 4)), [1, 2], InvalidArgument),
        (np.ones((2, 4)), [1.0, float("nan")], InvalidArgument),
        (np.ones((2, 4)), ["yes", "no"], InvalidArgument),
        (np.ones((2, 4)), [[True], [False]], InvalidArgument),
        (np.ones((2, 4)), [[True], [False, True]], InvalidArgument),
        (np.ones((2, 4)), None, InvalidArgument),
    ],
)
def test_bad_streams_are_refused_and_change_nothing(case: Case, X: Any, y: Any, error: type[SmidgenError]) -> None:
    learner = case.make()
    learner.run(*stream(4, 10))
    before = snapshot(learner)
    with pytest.raises(error):
        learner.run(X, y)
    assert snapshot(learner) == before


@pytest.mark.parametrize("epochs", [0, -1, 1.5, True, None])
def test_bad_epochs_are_refused(epochs: Any) -> None:
    learner = RidgeFil(dim=4)
    with pytest.raises(InvalidArgument, match="epochs"):
        learner.run(*stream(5, 10), epochs=epochs)
    assert learner.decisions == 0


@pytest.mark.parametrize("wrapped", [False, True], ids=["RidgeFil", "AppleTasting"])
def test_a_kernel_that_fails_half_way_leaves_the_learner_as_it_was(wrapped: bool) -> None:
    def moody(X: Any, Z: Any) -> Any:
        if len(X) > 8:
            raise RuntimeError("enough")
        return X @ Z.T

    X, y = stream(6, 40)
    learner = (
        AppleTasting(learner=RidgeFull(dim=4, kernel=moody)) if wrapped else RidgeFil(dim=4, kernel=moody, c=100.0)
    )
    learner.run(X[:3], y[:3])
    before = snapshot(learner)
    with pytest.raises(RuntimeError, match="enough"):
        learner.run(X, y)
    assert snapshot(learner) == before


def test_a_forgetting_filter_that_runs_out_of_precision_goes_on_without_it() -> None:
    learner = RidgeFil(dim=2, forgetting=0.9)
    X, y = stream(7, 20, dim=2)
    learner.run(X, y)
    far = np.array([1e60, 1e60])  # next to its square the ridge is nothing, and A has no inverse but by rounding
    learner.learn(learner.decide(far), True)
    learner.run(np.vstack([X, far]), np.append(y, True))
    assert all(np.isfinite(array).all() for array in learner._state().values())
    assert learner.predict(far)


def test_history_counts_by_hand() -> None:
    actions = np.array([True, True, True, False, False, True])
    greedy = np.array([True, False, True, False, False, False])
    truth = np.array([True, True, False, True, False, False])
    history = FilterHistory(actions, greedy, truth)
    assert len(history) == 6
    counts = history.true_positives, history.false_positives, history.false_negatives, history.true_negatives
    assert counts == (2, 2, 1, 1)
    assert history.explored.tolist() == [False, True, False, False, False, True]
    assert history.mistakes.tolist() == [False, False, True, True, False, True]
    assert history.cumulative_mistakes.tolist() == [0, 0, 1, 2, 2, 3]
    assert history.precision == 2 / 4
    assert history.recall == 2 / 3
    assert history.f_measure == pytest.approx(2 * 0.5 * (2 / 3) / (0.5 + 2 / 3))
    assert repr(history).startswith("History(6 rounds, error rate 0.5, forwarded 0.6667, precision 0.5, recall 0.6667,")
    joined = FilterHistory.joined([history, history])
    assert (len(joined), joined.true_positives) == (12, 4)


def test_a_history_of_nothing_found_has_no_division_by_zero() -> None:
    no, yes = np.zeros(3, bool), np.ones(3, bool)
    dropped, empty = FilterHistory(no, no, yes), FilterHistory(no, no, no)
    assert (dropped.precision, dropped.recall, dropped.f_measure) == (0.0, 0.0, 0.0)
    assert (empty.precision, empty.recall, empty.f_measure) == (0.0, 0.0, 0.0)


def test_only_what_was_forwarded_can_matter() -> None:
    """Turn the labels of all dropped items around: nothing changes."""
    X, y = stream(8, 400)
    for make in (lambda: RidgeFil(dim=4, c=0.1), lambda: PRidgeFil(dim=4, p=0.2), SimpleFil):
        learner, deceived = make(), make()
        history = learner.run(X, y)
        lies = np.where(history.actions, y, ~y)
        assert np.array_equal(deceived.run(X, lies).actions, history.actions)
        assert snapshot(deceived) == snapshot(learner)
        if not isinstance(learner, SimpleFil):
            assert not history.actions.all()
