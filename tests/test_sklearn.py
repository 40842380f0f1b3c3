"""The scikit-learn classifiers, and the scores of many rows that they stand on."""

from __future__ import annotations

import importlib
import pickle
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import smidgen
from laws.loops import CASES, DIM
from smidgen.errors import InvalidArgument, InvalidFeatures, InvalidFeedback, MissingExtra, NotFinite
from smidgen.learners import learners
from smidgen.learners.label import LabelLearner, confidit
from smidgen.sklearn import FullInformationClassifier, OneBitClassifier
from smidgen.testing import Case

LABEL_CASES = [case for case in CASES if issubclass(learners[case.name], LabelLearner)]
every_label_case = pytest.mark.parametrize("case", LABEL_CASES, ids=str)
KINDS = [
    (OneBitClassifier, "Confidit"),
    (OneBitClassifier, "Banditron"),
    (FullInformationClassifier, "AROW"),
    (FullInformationClassifier, "MulticlassPerceptron"),
    (FullInformationClassifier, "SecondOrderPerceptron"),
]
every_kind = pytest.mark.parametrize(("make", "learner"), KINDS, ids=[name for _, name in KINDS])
SETTINGS: dict[str, dict[str, Any]] = {"Confidit": {"eta": 0.1}, "Banditron": {"gamma": 0.2}}

WORDS = {"bug": "crash error screen broken", "money": "invoice refund card price", "praise": "love great thanks nice"}


def examples(n: int = 300, classes: int = 3, seed: int = 0) -> tuple[Any, Any]:
    """Blobs that a line through the origin can tell apart, much of the noise zero."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    noise = 0.2 * rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.6)
    return np.eye(classes, 6)[y] + noise, y


def messages(n: int = 120) -> tuple[list[str], Any]:
    rng = np.random.default_rng(1)
    y = rng.choice(sorted(WORDS), size=n)
    return [" ".join(rng.choice([*WORDS[label].split(), "the", "my"], size=5)) for label in y], y


class TestScores:
    @every_label_case
    def test_are_those_of_the_decisions(self, case: Case) -> None:
        learner: Any = case.make()
        case.play(learner, case.form.contexts(1, 30))
        contexts = case.form.contexts(2, 11)
        expected = np.array([learner.decide(x).scores for x in contexts])
        greedy = [learner.predict(x) for x in contexts]
        for X in (np.array(contexts), sparse.csr_array(contexts), sparse.csc_matrix(contexts)):
            scores = learner.scores(X)
            assert scores.dtype == np.float64
            assert scores.flags.c_contiguous
            if case.variant.startswith("kernel") or case.name.endswith("Bank"):  # sums in another order
                np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
            else:
                np.testing.assert_array_equal(scores, expected)
            assert [learner.labels[i] for i in scores.argmax(axis=1)] == greedy

    @every_label_case
    def test_change_nothing_and_start_at_zero(self, case: Case) -> None:
        learner: Any = case.make()
        X = np.array(case.form.contexts(3, 5))
        np.testing.assert_array_equal(learner.scores(X), np.zeros((5, 3)))
        case.play(learner, list(X))
        before = {name: array.tobytes() for name, array in learner._state().items()}
        learner.scores(X)
        assert {name: array.tobytes() for name, array in learner._state().items()} == before
        assert learner.decisions == 5

    @every_label_case
    def test_of_a_class_announced_later(self, case: Case) -> None:
        learner: Any = case.make()
        case.play(learner, case.form.contexts(4, 20))
        X = np.array(case.form.contexts(5, 4))
        before = learner.scores(X)
        learner.add_classes(3, 4)
        np.testing.assert_allclose(learner.scores(X), np.hstack([before, np.zeros((4, 2))]), rtol=1e-12, atol=1e-15)

    @every_label_case
    def test_refuse_what_decide_refuses(self, case: Case) -> None:
        learner: Any = case.make()
        case.play(learner, case.form.contexts(6, 5))
        for bad in (None, np.zeros(DIM), np.zeros((2, DIM + 1)), np.full((1, DIM), np.nan), np.full((1, DIM), 1j)):
            with pytest.raises(InvalidFeatures):
                learner.scores(bad)
        for huge in (np.full((2, DIM), 1e300), sparse.csr_array(np.full((2, DIM), 1e300))):
            with pytest.raises((NotFinite, InvalidFeatures)), np.errstate(over="ignore"):
                learner.scores(huge)

    def test_of_a_kernel_learner_go_by_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        X, y = examples(50)
        learner = smidgen.Confidit(dim=6, n_classes=3, covariance="kernel")
        learner.run(X[:20], y[:20])
        whole = learner.scores(sparse.csr_array(X))
        monkeypatch.setattr(confidit, "GRAM_BLOCK", 6 * 7)
        np.testing.assert_allclose(learner.scores(sparse.csr_array(X)), whole, rtol=1e-12, atol=1e-12)


@parametrize_with_checks([make(learner) for make, learner in KINDS])
def test_obeys_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@every_kind
class TestClassifier:
    def test_fit_is_run(self, make: Any, learner: str) -> None:
        X, y = examples()
        settings = SETTINGS.get(learner)
        classifier = make(learner, params=settings, epochs=2, random_state=5).fit(X, y)
        twin: Any = learners[learner](dim=6, labels=[0, 1, 2], seed=5, **(settings or {}))
        history = twin.run(X, y, epochs=2, shuffle=True)
        np.testing.assert_array_equal(classifier.learner_.weights, twin.weights)
        np.testing.assert_array_equal(classifier.history_.actions, history.actions)
        assert len(classifier.history_) == 600
        assert classifier.score(X, y) > 0.9

    def test_partial_fit_is_the_same_stream(self, make: Any, learner: str) -> None:
        X, y = examples()
        classifier = make(learner, random_state=5)
        for part in np.split(np.arange(300), [1, 2, 40, 200]):
            classifier.partial_fit(X[part], y[part], classes=[2, 1, 0])
            assert len(classifier.history_) == len(part)
        twin: Any = learners[learner](dim=6, labels=[0, 1, 2], seed=5)
        twin.run(X, y)
        np.testing.assert_array_equal(classifier.learner_.weights, twin.weights)
        assert classifier.learner_.rounds == 300
        np.testing.assert_array_equal(classifier.classes_, [0, 1, 2])

    def test_partial_fit_goes_on_where_fit_stopped(self, make: Any, learner: str) -> None:
        X, y = examples()
        classifier = make(learner, shuffle=False, random_state=0).fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
        whole = make(learner, shuffle=False, random_state=0).fit(X, y)
        np.testing.assert_array_equal(classifier.learner_.weights, whole.learner_.weights)

    def test_sparse_equals_dense(self, make: Any, learner: str) -> None:
        X, y = examples()
        dense = make(learner, random_state=0).fit(X, y)
        for S in (sparse.csr_array(X), sparse.csr_matrix(X), sparse.csc_array(X)):
            csr = make(learner, random_state=0).fit(S, y)
            np.testing.assert_array_equal(csr.learner_.weights, dense.learner_.weights)
            np.testing.assert_array_equal(csr.decision_function(S), dense.decision_function(X))

    def test_sparse_is_never_made_dense(self, make: Any, learner: str) -> None:
        X = sparse.random_array((2_000, 1_000_000), density=5e-6, format="csr", rng=0)  # 16 GB if it were dense
        y = np.arange(2_000) % 2
        tracemalloc.start()
        classifier = make(learner, params={"dtype": "float32"}).fit(X, y)  # 16 or 32 MB of state
        fitting = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        classifier.score(X, y)
        scoring = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        assert fitting < 100e6
        assert scoring < 10e6

    def test_two_classes_have_one_score(self, make: Any, learner: str) -> None:
        X, y = examples(classes=2)
        classifier = make(learner, random_state=0).fit(X, y == 1)
        scores = classifier.learner_.scores(X)
        np.testing.assert_array_equal(classifier.decision_function(X), scores[:, 1] - scores[:, 0])
        np.testing.assert_array_equal(classifier.predict(X), classifier.decision_function(X) > 0)
        assert classifier.predict(X).dtype == bool

    def test_text_in_a_pipeline(self, make: Any, learner: str) -> None:
        texts, y = messages()
        pipeline = make_pipeline(TfidfVectorizer(), make(learner, epochs=3, random_state=0))
        assert cross_val_score(pipeline, texts, y, cv=3).mean() > 0.8
        pipeline.fit(texts, y)
        assert pipeline.predict(["refund the invoice", "great thanks"]).tolist() == ["money", "praise"]
        assert pipeline[-1].learner_.labels == ["bug", "money", "praise"]
        assert pipeline.decision_function(texts).shape == (120, 3)

    def test_clone_and_pickle(self, make: Any, learner: str) -> None:
        X, y = examples()
        given = {"dtype": "float32"}
        classifier = make(learners[learner], params=given, epochs=2, shuffle=False, random_state=3).fit(X, y)
        copy = clone(classifier)
        assert copy.get_params() == classifier.get_params()
        assert copy.params is not given
        assert not hasattr(copy, "learner_")
        again = pickle.loads(pickle.dumps(classifier))  # what joblib does between processes
        np.testing.assert_array_equal(again.decision_function(X), classifier.decision_function(X))

    def test_random_states(self, make: Any, learner: str) -> None:
        X, y = examples()
        one, two = (make(learner, random_state=np.random.RandomState(4)).fit(X, y) for _ in range(2))
        assert one.learner_.params == two.learner_.params
        assert make(learner, random_state=np.int64(7)).fit(X, y).learner_.params["seed"] == 7
        free = make(learner)
        assert free.fit(X, y).learner_.params["seed"] != free.fit(X, y).learner_.params["seed"]

    def test_refusals(self, make: Any, learner: str) -> None:
        X, y = examples()
        with pytest.raises(InvalidArgument, match="AROW" if make is FullInformationClassifier else "Confidit"):
            make("PreferencePerceptron").fit(X, y)
        other = "AROW" if make is OneBitClassifier else "Banditron"
        for wrong in (other, learners[other], None, ["Confidit"]):
            with pytest.raises(InvalidArgument, match="feedback"):
                make(wrong).fit(X, y)
        for name in ("dim", "seed", "labels", "colour"):
            with pytest.raises(InvalidArgument, match=name):
                make(learner, params={name: 1}).fit(X, y)
        with pytest.raises(InvalidArgument, match="1 class"):
            make(learner).fit(X, np.zeros(300))
        with pytest.raises(InvalidArgument, match="epochs"):
            make(learner, epochs=0).fit(X, y)
        with pytest.raises(NotFittedError):
            make(learner).predict(X)

    def test_a_refused_partial_fit_changes_nothing(self, make: Any, learner: str) -> None:
        X, y = examples()
        with pytest.raises(InvalidArgument, match="first call"):
            make(learner).partial_fit(X, y)
        with pytest.raises(InvalidFeedback, match="not one of"):
            make(learner).partial_fit(X, y, classes=[0, 1])
        classifier = make(learner, random_state=0).partial_fit(X, y, classes=[0, 1, 2])
        before = classifier.learner_.weights
        with pytest.raises(InvalidArgument, match="before"):
            classifier.partial_fit(X, y, classes=[0, 1, 2, 3])
        with pytest.raises(InvalidFeedback, match="not one of"):
            classifier.partial_fit(X, y + 1)
        np.testing.assert_array_equal(classifier.learner_.weights, before)
        assert classifier.learner_.rounds == 300


def test_grid_search_over_settings_and_passes() -> None:
    texts, y = messages()
    pipeline = make_pipeline(TfidfVectorizer(), OneBitClassifier(random_state=0))
    grid = {
        "onebitclassifier__params": [{"eta": 0.01}, {"eta": 100.0}, None],
        "onebitclassifier__epochs": [1, 3],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(texts, y)
    assert len(search.cv_results_["params"]) == 6
    assert search.best_score_ > 0.8
    assert search.best_params_.keys() == grid.keys()


def test_grid_search_over_the_learners_own_settings() -> None:
    X, y = examples()
    search = GridSearchCV(OneBitClassifier(random_state=0), {"eta": [0.01, 0.1, 100.0]}, cv=3).fit(X, y)
    assert search.best_params_["eta"] in (0.01, 0.1, 100.0)
    assert search.best_estimator_.learner_.params["eta"] == search.best_params_["eta"]
    classifier = OneBitClassifier(params={"alpha": 0.5}).set_params(eta=0.2, epochs=3)
    assert (classifier.params, classifier.epochs) == ({"alpha": 0.5, "eta": 0.2}, 3)
    assert classifier.get_params()["eta"] == 0.2
    assert "eta" not in classifier.get_params(deep=False)
    assert clone(classifier).get_params() == classifier.get_params()
    with pytest.raises(ValueError, match="there is no parameter 'gamma'"):
        classifier.set_params(gamma=0.1)
    assert classifier.set_params(learner="Banditron", params=None, gamma=0.1).params == {"gamma": 0.1}


class TestCoefficients:
    @every_kind
    def test_are_the_weights(self, make: Any, learner: str) -> None:
        X, y = examples()
        classifier = make(learner, params=SETTINGS.get(learner), random_state=0).fit(X, y)
        assert classifier.coef_.shape == (3, 6)
        two = make(learner, params=SETTINGS.get(learner), random_state=0).fit(*examples(classes=2))
        assert two.coef_.shape == (1, 6)

    def test_say_what_the_scores_say(self) -> None:
        X, y = examples(classes=2)
        classifier = FullInformationClassifier("MulticlassPerceptron", random_state=0).fit(X, y)
        np.testing.assert_allclose(X @ classifier.coef_[0], classifier.decision_function(X), atol=1e-9)

    def test_a_kernel_learner_has_none(self) -> None:
        X, y = examples(60)
        classifier = OneBitClassifier(params={"covariance": "kernel", "kernel": "rbf"}, random_state=0)
        with pytest.raises(NotFittedError):
            assert classifier.coef_ is not None
        assert not hasattr(classifier.fit(X, y), "coef_")


class TestProbabilities:
    def test_of_confidit_are_those_of_its_model(self) -> None:
        X, y = examples()
        classifier = OneBitClassifier(params={"eta": 0.1}, random_state=0).fit(X, y)
        shares = classifier.predict_proba(X)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        assert (shares >= 0.0).all()
        np.testing.assert_array_equal(classifier.classes_[shares.argmax(axis=1)], classifier.predict(X))

    def test_others_have_none(self) -> None:
        assert not hasattr(OneBitClassifier("Banditron"), "predict_proba")
        assert not hasattr(FullInformationClassifier(), "predict_proba")


def test_grid_search_over_learners() -> None:
    X, y = examples()
    grid = {"learner": ["AROW", smidgen.MulticlassPerceptron], "shuffle": [True, False]}
    search = GridSearchCV(FullInformationClassifier(random_state=0), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("covariance", ["full", "kernel"])
def test_other_covariances(covariance: str) -> None:
    X, y = examples()
    classifier = OneBitClassifier(params={"covariance": covariance, "eta": 0.1}, random_state=0).fit(X, y)
    assert classifier.score(X, y) > 0.9
    np.testing.assert_allclose(classifier.decision_function(X), classifier.learner_.scores(X))


def test_the_learner_goes_on_by_the_two_verbs() -> None:
    X, y = examples()
    classifier = OneBitClassifier(random_state=0).fit(X, y)
    decision = classifier.learner_.decide(X[0])
    assert decision.number == 301
    classifier.learner_.learn(decision, decision.action == y[0])
    assert classifier.learner_.rounds == 301


def test_a_mistake_costs_one_bit_and_no_more() -> None:
    """A one-bit learner's update does not depend on which other label was the true one."""
    X, y = examples()
    history = OneBitClassifier(shuffle=False, random_state=0).fit(X, y).history_
    first = int(np.flatnonzero(history.mistakes)[0])
    other = ({0, 1, 2} - {int(history.actions[first]), int(y[first])}).pop()
    changed = y.copy()
    changed[first] = other
    again = OneBitClassifier(shuffle=False, random_state=0).fit(X, changed).history_
    np.testing.assert_array_equal(again.actions, history.actions)


def test_without_scikit_learn_the_advice_is_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "smidgen.sklearn")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtra, match=r'pip install "smidgen\[svm\]"'):
        importlib.import_module("smidgen.sklearn")
