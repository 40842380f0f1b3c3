"""Whole streams in compiled code: what the two verbs would do, round for round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from laws.loops import CASES
from smidgen import AROW, Banditron, Confidit, MulticlassPerceptron
from smidgen.errors import InvalidArgument, InvalidFeatures, InvalidFeedback, SmidgenError
from smidgen.testing import Case
from smidgen.testing.laws import snapshot

LABEL_CASES = [case for case in CASES if case.form.name == "rows"]
every_case = pytest.mark.parametrize("case", LABEL_CASES, ids=str)


def stream(seed: int, n: int, dim: int = 4, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, dim)) * (rng.random((n, dim)) < 0.7), rng.integers(classes, size=n)


@every_case
@pytest.mark.parametrize("as_csr", [False, True], ids=["dense", "csr"])
def test_run_is_the_two_verbs(case: Case, as_csr: bool) -> None:
    X, y = stream(0, 120)
    by_verbs, by_run = case.make(), case.make()
    actions, greedy = [], []
    for x, true in zip(X, y, strict=True):
        decision = by_verbs.decide(x)
        by_verbs.learn(decision, bool(decision.action == true) if by_verbs.feedback == "one-bit" else int(true))
        actions.append(decision.action)
        greedy.append(decision.greedy)
    history = by_run.run(sparse.csr_matrix(X) if as_csr else X, y)
    np.testing.assert_array_equal(history.actions, actions)
    np.testing.assert_array_equal(history.greedy, greedy)
    np.testing.assert_array_equal(history.mistakes, np.array(actions) != y)
    assert snapshot(by_run) == snapshot(by_verbs)
    assert by_run.rounds == 120


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


def test_shuffling_goes_by_the_seed() -> None:
    X, y = stream(2, 50)
    one, two, other = (Banditron(dim=4, n_classes=3, seed=s) for s in (1, 1, 2))
    histories = [learner.run(X, y, epochs=2, shuffle=True) for learner in (one, two, other)]
    np.testing.assert_array_equal(histories[0].truth, histories[1].truth)
    assert not np.array_equal(histories[0].truth, histories[2].truth)
    assert not np.array_equal(histories[0].truth[:50], histories[0].truth[50:])
    assert sorted(histories[0].truth[:50]) == sorted(y)


def test_float32_is_close_to_float64() -> None:
    X, y = stream(3, 300)
    for cls in (Confidit, AROW, MulticlassPerceptron):
        double, single = cls(dim=4, n_classes=3), cls(dim=4, n_classes=3, dtype="float32")
        double.run(X[:50], y[:50])
        single.run(X[:50], y[:50])
        np.testing.assert_allclose(single.weights, double.weights, atol=1e-3)


def test_decisions_before_a_run_stay_valid_after_it() -> None:
    X, y = stream(4, 30)
    learner = Confidit(dim=4, n_classes=3)
    waiting = learner.decide(X[0])
    learner.run(X, y)
    learner.learn(waiting, True)
    assert learner.rounds == 31
    assert learner.decide(X[0]).number == 32


def test_history_counts() -> None:
    X, y = stream(5, 200)
    history = Banditron(dim=4, n_classes=3, gamma=0.5).run(X, y)
    assert len(history) == 200
    assert history.error_rate == pytest.approx(history.mistakes.mean())
    assert history.cumulative_mistakes[-1] == history.mistakes.sum()
    at = history.at([50, 200])
    assert at["mistakes"][0] == pytest.approx(history.mistakes[:50].mean())
    assert at["explored"][1] == pytest.approx(history.explored.mean())
    assert "200 rounds" in repr(history)


@pytest.mark.parametrize("cls", [Confidit, MulticlassPerceptron])
def test_labels_may_be_any_hashable_values(cls: Any) -> None:
    X, y = stream(6, 60)
    names = ["spam", ("a", "tuple"), 42]
    named, numbered = cls(dim=4, labels=names), cls(dim=4, n_classes=3)
    for x, true in zip(X[:30], y[:30], strict=True):
        a, b = named.decide(x), numbered.decide(x)
        assert a.action == names[b.action]
        named.learn(a, a.action == names[true] if cls is Confidit else names[true])
        numbered.learn(b, bool(b.action == true) if cls is Confidit else int(true))
    np.testing.assert_array_equal(named.weights, numbered.weights)
    assert named.labels == names


def test_string_labels_in_a_run() -> None:
    X, y = stream(7, 60)
    names = np.array(["bug", "praise", "question"])
    named, numbered = Confidit(dim=4, labels=names.tolist()), Confidit(dim=4, n_classes=3)
    a, b = named.run(X, names[y]), numbered.run(X, y)
    np.testing.assert_array_equal(a.actions, b.actions)
    assert a.labels == ["bug", "praise", "question"]


@pytest.mark.parametrize("case", LABEL_CASES, ids=str)
def test_classes_can_be_added(case: Case) -> None:
    X, y = stream(8, 60)
    grown, known = case.make(), case.make(n_classes=9)
    waiting = grown.decide(X[0])
    grown.add_classes(*range(3, 9))
    assert grown.n_classes == 9
    with pytest.raises(InvalidArgument, match="already"):
        grown.add_classes(9, 3)
    assert grown.n_classes == 9
    feedback = case.form.feedback(grown, waiting, 0)
    grown.learn(waiting, feedback)
    twin = case.make()
    twin.add_classes(*range(3, 9))
    truth = (y * 3) % 9
    a, b = twin.run(X, truth), known.run(X, truth)
    np.testing.assert_array_equal(a.actions, b.actions)
    assert {k: v for k, v in snapshot(twin).items() if k != "decided"}.keys() == snapshot(known).keys() - {"decided"}


def test_added_classes_survive_saving(tmp_path: Any) -> None:
    import smidgen

    X, y = stream(9, 40)
    learner = Confidit(dim=4, labels=["a", "b"])
    learner.add_classes("c", "d", "e")
    learner.run(X, np.array(["a", "c", "e"])[y])
    learner.save(tmp_path / "learner")
    revived = smidgen.load(tmp_path / "learner")
    assert revived.labels == ["a", "b", "c", "d", "e"]
    np.testing.assert_array_equal(revived.weights, learner.weights)
    assert revived.decide(X[0]) == learner.decide(X[0])


def test_an_unannounced_class_is_refused() -> None:
    learner = MulticlassPerceptron(dim=2, labels=["a", "b"])
    decision = learner.decide(np.ones(2))
    with pytest.raises(InvalidFeedback, match="add_classes"):
        learner.learn(decision, "c")
    with pytest.raises(InvalidFeedback, match="'c'"):
        learner.run(np.ones((2, 2)), ["a", "c"])
    assert learner.rounds == 0


@pytest.mark.parametrize(
    ("X", "y", "error"),
    [
        (np.ones((3, 3)), [0, 1, 1], InvalidFeatures),
        (np.ones(2), [0], InvalidFeatures),
        (np.ones((2, 2)), [0], InvalidArgument),
        (np.full((2, 2), np.nan), [0, 1], InvalidFeatures),
        (sparse.csr_matrix(np.full((2, 2), np.inf)), [0, 1], InvalidFeatures),
        (np.ones((2, 2)), [0, 5], InvalidFeedback),
        (np.ones((2, 2)), [[0, 1], [1, 0]], InvalidFeedback),
        (np.ones((2, 2)), np.zeros((2, 1), int), InvalidArgument),
        (np.array([["a", "b"]]), [0], InvalidFeatures),
    ],
)
def test_bad_streams_are_refused_and_change_nothing(X: Any, y: Any, error: type[SmidgenError]) -> None:
    learner = Confidit(dim=2, n_classes=2)
    with pytest.raises(error):
        learner.run(X, y)
    assert learner.decisions == 0
    np.testing.assert_array_equal(learner.weights, np.zeros((2, 2)))


def test_a_sparse_matrix_with_wild_indices_cannot_reach_outside() -> None:
    wild = sparse.csr_matrix((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 4))
    wild.indices[1] = 10**6
    with pytest.raises(InvalidFeatures):
        Confidit(dim=4, n_classes=2).run(wild, [0, 1])


def test_tuple_and_mixed_labels_in_a_run() -> None:
    X, y = stream(11, 30)
    for names in ([("a", 1), ("b", 2), ("c", 3)], ["a", 1, 2.5]):
        named, numbered = Confidit(dim=4, labels=names), Confidit(dim=4, n_classes=3)
        a, b = named.run(X, [names[i] for i in y]), numbered.run(X.tolist(), y.tolist())
        np.testing.assert_array_equal(a.actions, b.actions)


@pytest.mark.parametrize("case", LABEL_CASES, ids=str)
@pytest.mark.parametrize("size", [1e101, 1e200, 1.7e308])
@pytest.mark.parametrize("as_csr", [False, True], ids=["dense", "csr"])
def test_rows_too_long_for_floating_point_are_refused_as_by_the_verbs(case: Case, size: float, as_csr: bool) -> None:
    X = np.vstack([np.eye(4), np.full((1, 4), size)])
    learner = case.make()
    before = snapshot(learner)
    with pytest.raises(SmidgenError):
        learner.run(sparse.csr_matrix(X) if as_csr else X, [0, 1, 2, 0, 1])
    assert snapshot(learner) == before
    with pytest.raises(SmidgenError):
        learner.decide(X[-1])


def test_a_kernel_that_fails_half_way_leaves_the_learner_as_it_was() -> None:
    def moody(X: Any, Z: Any) -> Any:
        if len(X) > 3:
            raise RuntimeError("enough")
        return X @ Z.T

    learner = Confidit(dim=4, n_classes=3, covariance="kernel", kernel=moody)
    X, y = stream(12, 20)
    before = snapshot(learner)
    with pytest.raises(RuntimeError, match="enough"):
        learner.run(X, y)
    assert snapshot(learner) == before


def test_an_empty_stream_is_refused() -> None:
    for empty in (np.empty((0, 4)), sparse.csr_matrix((0, 4))):
        with pytest.raises(InvalidFeatures):
            Confidit(dim=4, n_classes=3).run(empty, [])


def test_the_protocol_must_fit_the_learner() -> None:
    X, y = stream(10, 5)
    assert len(Confidit(dim=4, n_classes=3).run(X, y, feedback="one-bit")) == 5
    with pytest.raises(InvalidArgument, match="one-bit"):
        Confidit(dim=4, n_classes=3).run(X, y, feedback="full")
    with pytest.raises(InvalidArgument, match="full"):
        AROW(dim=4, n_classes=3).run(X, y, feedback="one-bit")
