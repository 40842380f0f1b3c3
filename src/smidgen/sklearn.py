"""The label learners as scikit-learn classifiers, for pipelines, grid searches and cross-validation.

`OneBitClassifier` turns a labeled data set into one-bit feedback: in each round the learner shows a label and receives
only correct or incorrect. `FullInformationClassifier` is for the relatives that see the label itself. Both keep the
learner in ``learner_``: use it to continue with real feedback by the two verbs.

Needs scikit-learn 1.6 or newer, which the extra ``svm`` brings.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, MissingExtra, NoWeights
from smidgen.features import Vectorizer
from smidgen.features.batch import listed
from smidgen.features.frames import frame_records, is_frame
from smidgen.learners import Pipeline, learners
from smidgen.learners.label import LabelHistory, LabelLearner

try:
    from sklearn import base
    from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise MissingExtra("smidgen.sklearn needs scikit-learn, 1.6 or newer", 'pip install "smidgen[svm]"') from error

__all__ = ["FullInformationClassifier", "OneBitClassifier"]

FEATURES: dict[str, Any] = {"accept_sparse": "csr", "dtype": (np.float64, np.float32)}
FIXED = ("dim", "n_classes", "labels", "seed")

_F = TypeVar("_F", bound=Callable[..., Any])

if TYPE_CHECKING:  # scikit-learn has no types; this is what we take from it

    class _Classifier:
        def __sklearn_tags__(self) -> Any: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    def available_if(check: Callable[[Any], bool]) -> Callable[[_F], _F]: ...

else:
    from sklearn.utils.metaestimators import available_if

    class _Classifier(base.ClassifierMixin, base.BaseEstimator):
        pass


def _has_probabilities(classifier: Any) -> bool:
    """True if the model of a classifier has probabilities; determined from its name, before it is fitted."""
    try:
        return classifier.features is None and hasattr(classifier._kind(), "probabilities")
    except InvalidArgument:
        return False


class _LabelClassifier(_Classifier):
    """Base of both classifiers: the labels of a data set become the feedback of a stream."""

    _feedback: ClassVar[str]
    learner: str | type[LabelLearner]
    params: Mapping[str, Any] | None
    features: Vectorizer | None
    epochs: int
    shuffle: bool
    random_state: Any

    classes_: NDArray[Any]
    n_features_in_: int
    learner_: LabelLearner | Pipeline
    history_: LabelHistory

    def fit(self, X: Any, y: Any) -> Self:
        """Start a new learner and play the data ``epochs`` times.

        Parameters
        ----------
        X
            One row of features per example: a 2-D array or a sparse matrix, which stays sparse.
        y
            The labels: ints, strings or bools, of at least two classes.
        """
        X, y = self._checked(X, y, reset=True)
        classes = np.unique(y)
        learner = self._begin(classes)
        if isinstance(learner, Pipeline):
            self.history_ = self._passes(learner, X, y)
        else:
            self.history_ = learner.run(X, y, epochs=self.epochs, shuffle=self.shuffle)
        self.learner_, self.classes_ = learner, classes
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on with more examples: once through them, in the order given.

        Parameters
        ----------
        X, y
            As in `fit`.
        classes
            All labels that can ever come; required on the first call, optional later.
        """
        first = not hasattr(self, "learner_")
        if first and classes is None:
            raise InvalidArgument("classes is None on the first call of partial_fit", "give all labels there can be")
        if not first and classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise InvalidArgument(
                f"classes is {classes!r} and was {self.classes_!r} before", "omit it, or make a new classifier"
            )
        X, y = self._checked(X, y, reset=first)
        known = np.unique(classes) if first else self.classes_
        learner = self._begin(known) if first else self.learner_
        self.history_ = learner.run(X, y)
        self.learner_, self.classes_ = learner, known
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of highest score for every row."""
        best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def decision_function(self, X: Any) -> FloatArray:
        """The score of every class, in the order of ``classes_``; of two classes, the second's minus the first's."""
        scores = self._scores(X)
        return scores if scores.shape[1] > 2 else scores[:, 1] - scores[:, 0]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of every class, of learners whose model has one: `Confidit` on rows of numbers."""
        check_is_fitted(self)
        learner: Any = self.learner_
        found: FloatArray = learner.probabilities(validate_data(self, X, reset=False, **FEATURES))
        return found

    @property
    def coef_(self) -> FloatArray:
        """The weights, one row per class; of two classes, the second's minus the first's in one row."""
        check_is_fitted(self)
        try:
            weights = self.learner_.weights
        except NoWeights as error:
            raise AttributeError(f"there is no coef_: {error.problem}") from error
        return weights if len(weights) > 2 else weights[1:] - weights[:1]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Settings by name; with ``deep`` also the learner's own, so that a search may set them as they are called."""
        own = super().get_params(deep)
        return {**self._inner(), **own} if deep else own

    def set_params(self, **params: Any) -> Self:
        """Set settings of the classifier, and, by their own names, those of its learner."""
        own = super().get_params(deep=False)
        super().set_params(**{name: value for name, value in params.items() if name.partition("__")[0] in own})
        rest = {name: value for name, value in params.items() if name.partition("__")[0] not in own}
        if rest:
            if unknown := sorted(rest.keys() - self._inner().keys()):
                raise ValueError(
                    f"there is no parameter {unknown[0]!r}; {checks.suggest(unknown[0], self.get_params())}"
                )
            self.params = {**(self.params or {}), **rest}
        return self

    def _inner(self) -> dict[str, Any]:
        """The learner's own settings as they are now."""
        try:
            accepted = inspect.signature(self._kind()).parameters
        except InvalidArgument:  # `fit` says so
            return {}
        usual = {name: it.default for name, it in accepted.items() if name not in FIXED}
        given = dict(self.params) if isinstance(self.params, Mapping) else {}
        return {name: value for name, value in usual.items() if value is not inspect.Parameter.empty} | given

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _scores(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        if isinstance(self.learner_, Pipeline):
            return self.learner_.scores(X)
        return self.learner_.scores(validate_data(self, X, reset=False, **FEATURES))

    def _passes(self, learner: Pipeline, records: list[Any], y: Any) -> LabelHistory:
        """Records through a pipeline, as often and in such orders as rows through its inner learner."""
        histories = []
        for _ in range(checks.whole("epochs", self.epochs, "give the number of passes")):
            order = np.arange(len(records))
            if checks.flag("shuffle", self.shuffle, "give True or False"):
                np.random.default_rng([learner.learner.params["seed"], learner.decisions]).shuffle(order)
            histories.append(learner.run([records[t] for t in order], y[order]))
        return LabelHistory.joined(histories)

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        if self.features is not None:
            X, y = frame_records(X) if is_frame(X) else listed(X), column_or_1d(y)
            check_consistent_length(X, y)
            self.n_features_in_ = self.features.dim
        else:
            X, y = validate_data(self, X, y, reset=reset, **FEATURES)
        check_classification_targets(y)
        return X, y

    def _begin(self, classes: NDArray[Any]) -> LabelLearner | Pipeline:
        if len(classes) < 2:
            raise InvalidArgument(f"there is {len(classes)} class in y and there must be at least 2", "give more data")
        kind, params = self._kind(), dict(self.params or {})
        allowed = [name for name in inspect.signature(kind).parameters if name not in FIXED]
        if unknown := sorted(params.keys() - set(allowed)):
            raise InvalidArgument(
                f"params holds {', '.join(unknown)}, which {kind.__name__} does not accept here",
                checks.suggest(unknown[0], allowed),
            )
        learner = kind(dim=self.n_features_in_, labels=classes.tolist(), seed=self._seed(), **params)
        return learner if self.features is None else Pipeline(features=self.features, learner=learner)

    def _kind(self) -> type[LabelLearner]:
        """The class of the learner."""
        given: Any = self.learner
        if isinstance(given, type) and issubclass(given, LabelLearner) and given.feedback == self._feedback:
            return given
        labellers = {name: kind for name, kind in learners.items() if issubclass(kind, LabelLearner)}
        fitting = {name: kind for name, kind in labellers.items() if kind.feedback == self._feedback}
        if not isinstance(given, str) or given not in fitting:
            raise InvalidArgument(
                f"learner is {given!r}, which is not a label learner for {self._feedback} feedback",
                f"{checks.suggest(given, fitting)}, or give its class",
            )
        return fitting[given]

    def _seed(self) -> int:
        """An int is the learner's seed; all else is asked for one."""
        if isinstance(self.random_state, Integral):
            return checks.seed(int(self.random_state))
        return int(check_random_state(self.random_state).randint(2**31 - 1))


class OneBitClassifier(_LabelClassifier):
    """A classifier that learns from right or wrong: one bit per example, whatever the number of classes.

    Parameters
    ----------
    learner
        The name of a registered one-bit label learner, or its class: "Confidit" or "Banditron".
    params
        Its arguments beyond ``dim``, ``n_classes``, ``labels`` and ``seed``, e.g. ``{"eta": 0.1}``. A search may also
        name them directly: ``GridSearchCV(OneBitClassifier(), {"eta": [0.1, 1.0]})``.
    features
        A `Vectorizer`: then X is records (a list, or a frame of pandas or polars), and the learner is a `Pipeline`.
    epochs
        How often `fit` goes through the data.
    shuffle
        Whether `fit` draws an order of its own for each pass. `partial_fit` keeps the order given.
    random_state
        An int is the seed of the learner; None or a RandomState draws one.

    Attributes
    ----------
    classes_
        The labels, sorted.
    n_features_in_
        The number of features.
    learner_
        The learner. It has everything that a learner has: the two verbs, `save`, `scores`.
    history_
        A `LabelHistory`: the rounds of the latest `fit` or `partial_fit`, mistakes and exploration.

    Notes
    -----
    `predict` is greedy. The mistakes made while learning, which a live system pays for, are in ``history_``.
    The learners have no intercept; add a constant feature where the classes need one.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.sklearn import OneBitClassifier
    >>> X = np.tile(np.eye(3), (20, 1))
    >>> y = np.tile(["bug", "praise", "question"], 20)
    >>> classifier = OneBitClassifier(params={"eta": 0.1}, random_state=0).fit(X, y)
    >>> classifier.predict(np.eye(3)).tolist()
    ['bug', 'praise', 'question']
    >>> classifier.score(X, y)
    1.0
    >>> classifier.history_
    History(Confidit, 60 rounds, error rate 0.06667, explored 0)
    """

    _feedback = "one-bit"

    def __init__(
        self,
        learner: str | type[LabelLearner] = "Confidit",
        params: Mapping[str, Any] | None = None,
        epochs: int = 1,
        shuffle: bool = True,
        random_state: Any = None,
        features: Vectorizer | None = None,
    ) -> None:
        self.learner = learner
        self.params = params
        self.features = features
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state


class FullInformationClassifier(_LabelClassifier):
    """A classifier that sees the true label of every example: the baseline that one bit is measured against.

    Parameters
    ----------
    learner
        The name of a registered full-information label learner, or its class: "AROW", "MulticlassPerceptron" or
        "SecondOrderPerceptron".
    params
        Its arguments beyond ``dim``, ``n_classes``, ``labels`` and ``seed``, e.g. ``{"r": 0.1}``.
    features
        A `Vectorizer`: then X is records (a list, or a frame of pandas or polars), and the learner is a `Pipeline`.
    epochs
        How often `fit` goes through the data.
    shuffle
        Whether `fit` draws an order of its own for each pass. `partial_fit` keeps the order given.
    random_state
        An int is the seed of the learner, from which the order is drawn; None or a RandomState draws one.

    Attributes
    ----------
    classes_
        The labels, sorted.
    n_features_in_
        The number of features.
    learner_
        The learner. It has everything that a learner has: the two verbs, `save`, `scores`.
    history_
        A `LabelHistory`: the rounds of the latest `fit` or `partial_fit`.

    Notes
    -----
    The learners have no intercept; add a constant feature where the classes need one.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.sklearn import FullInformationClassifier
    >>> X, y = np.tile(np.eye(3), (20, 1)), np.tile([0, 1, 2], 20)
    >>> classifier = FullInformationClassifier("SecondOrderPerceptron", params={"a": 0.5}).fit(X, y)
    >>> classifier.predict(np.eye(3))
    array([0, 1, 2])
    >>> classifier.decision_function(np.eye(3)).shape
    (3, 3)
    """

    _feedback = "full"

    def __init__(
        self,
        learner: str | type[LabelLearner] = "AROW",
        params: Mapping[str, Any] | None = None,
        epochs: int = 1,
        shuffle: bool = True,
        random_state: Any = None,
        features: Vectorizer | None = None,
    ) -> None:
        self.learner = learner
        self.params = params
        self.features = features
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state
