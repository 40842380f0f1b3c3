"""Base class of learners of the label loop: rows in, labels out, whole streams in compiled code."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import label as core_label
from smidgen._core import second_order
from smidgen.arrays import aligned, zeros
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import InvalidArgument, InvalidFeedback, InvalidRecord, NotFinite
from smidgen.features import LONGEST, Row, as_row, as_stream
from smidgen.features.row import DOUBLE
from smidgen.history import History
from smidgen.learners.base import kept_row
from smidgen.learners.log_batch import BatchArrays, BatchLearner, LogBatch
from smidgen.settings import refuse_large
from smidgen.state.second_order import Block, DiagonalClasses, FullClasses, padded

SMALL = 2**16
MOST = 2**24  # classes


def _listed(labels: Any) -> bool:
    """True if the value holds several: text is one, and so is an array without extent."""
    one = isinstance(labels, (str, bytes)) or (isinstance(labels, np.ndarray) and labels.ndim == 0)
    return isinstance(labels, Iterable) and not one


class Classes:
    """A growing list of distinct labels.

    Parameters
    ----------
    n_classes
        How many there are; without ``labels`` they are the ints 0 … n_classes−1.
    labels
        Their names: strings, ints, tuples, anything hashable.
    """

    __slots__ = ("_bools", "_index", "_type", "labels", "named")

    def __init__(self, n_classes: int | None, labels: Sequence[Hashable] | None) -> None:
        hint = "give n_classes=3, or labels=['bug', 'question', 'praise']"
        if labels is None:
            if n_classes is None:
                raise InvalidArgument("neither n_classes nor labels was given", hint)
            labels = range(checks.whole("n_classes", n_classes, hint, at_least=2, below=MOST))
            self.named = False
        else:
            self.named = True
            if not _listed(labels):
                raise InvalidArgument(f"labels is {labels!r} and must be a list", hint)
        self.labels: list[Any] = []
        self._index: dict[Any, int] = {}
        self.grow(labels)
        if len(self.labels) < 2:
            raise InvalidArgument(f"there is {len(self.labels)} class and there must be at least 2", hint)
        if n_classes is not None and n_classes != len(self.labels):
            raise InvalidArgument(f"n_classes is {n_classes} and there are {len(self.labels)} labels", hint)

    def __len__(self) -> int:
        return len(self.labels)

    def grow(self, labels: Iterable[Hashable]) -> None:
        """Announce more labels; all of them, or none if one is known already."""
        plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
        known = set(self._index)
        for label in plain:
            try:
                taken = label in known
            except TypeError as error:
                hint = "use strings, ints or tuples"
                if isinstance(label, (list, set)):
                    several = ", ".join(map(checks.shown, list(label)[:3])) + (", …" if len(label) > 3 else "")
                    hint = f"give labels as separate arguments: add_classes({several}), or add_classes(*labels)"
                raise InvalidArgument(f"the label {checks.shown(label)} is not hashable", hint) from error
            if label != label:
                raise InvalidArgument(f"the label {label!r} is not equal to itself", "use strings, ints or tuples")
            if taken:
                raise InvalidArgument(f"the label {label!r} is already known", "add each label once")
            known.add(label)
        for label in plain:
            self._index[label] = len(self.labels)
            self.labels.append(label)
        self._bools = any(isinstance(label, bool) for label in self.labels[:2])
        types = {type(label) for label in self.labels}
        self._type = types.pop() if len(types) == 1 else None  # of all labels, if they have one

    def index(self, label: Any) -> int:
        """The number of an announced label."""
        if type(label) is self._type and (found := self._index.get(label)) is not None:
            return found
        plain = label.item() if isinstance(label, np.generic) else label
        try:
            found = self._index.get(plain) if isinstance(plain, bool) is self._bools else None
        except TypeError:
            found = None
        if found is None:
            raise InvalidFeedback(
                f"the label is {checks.shown(label)}, which is not one of the {len(self)} labels",
                f"{checks.suggest(label, self.labels)}; add_classes adds a new one",
            )
        return found

    def indices(self, labels: Any) -> IntArray:
        """The numbers of a whole array of labels."""
        if not isinstance(labels, np.ndarray) and len({type(label) for label in labels} - {str, int, float, bool}) == 0:
            labels = np.asarray(labels) if len({type(label) for label in labels}) == 1 else list(labels)
        if isinstance(labels, np.ndarray) and labels.dtype != object:
            if labels.ndim != 1:
                raise InvalidArgument(f"y has shape {labels.shape} and must be 1-D", "give one label per row of X")
            if labels.dtype.kind in "iu" and labels.size and labels.min() >= 0 and labels.max() < SMALL:
                return self._small_indices(labels.astype(np.int64))
            values, inverse = np.unique(labels, return_inverse=True)
            return np.array([self.index(value) for value in values], dtype=np.int64)[inverse]
        return np.array([self.index(label) for label in labels], dtype=np.int64)  # tuples, mixtures: one by one

    def _small_indices(self, labels: IntArray) -> IntArray:
        """Indices of ints from 0 to SMALL, by a table: sorting them would take longer."""
        counts = np.bincount(labels)
        table = np.zeros(len(counts), np.int64)
        for label in np.flatnonzero(counts):
            table[label] = self.index(label)
        return table[labels]


#: Rows for compiled code: CSR indices, values and row starts.
Csr: TypeAlias = tuple[NDArray[np.uint32], NDArray[Any], NDArray[np.int64]]
#: A labelled stream for compiled code: CSR indices, values and row starts; true labels; the order of play.
Stream: TypeAlias = tuple[NDArray[np.uint32], NDArray[Any], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
#: What was shown in each round, and what had the highest score.
Shown: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]

DTYPES = {name: np.dtype(name) for name in ("float64", "float32")}


class LabelLearner(BatchLearner):
    """Base of learners that predict one of K labels and receive correct/incorrect, or the true label."""

    #: What comes back: "one-bit" (a bool: was it right) or "full" (the true label).
    feedback: ClassVar[str]

    def __init__(
        self,
        *,
        dim: int,
        n_classes: int | None,
        labels: Sequence[Hashable] | None,
        dtype: str | None,
        params: Mapping[str, Any],
        seed: int,
    ) -> None:
        self.dim = checks.dimension(dim)
        self._classes = Classes(n_classes, labels)
        self._dtype = DOUBLE if dtype is None else DTYPES[checks.one_of("dtype", dtype, DTYPES)]
        named = {"labels": list(self._classes.labels)} if self._classes.named else {"n_classes": len(self._classes)}
        numbers = {} if dtype is None else {"dtype": dtype}  # None: it has no such argument
        super().__init__(params={"dim": self.dim, **named, **numbers, **params}, seed=seed)

    @property
    def n_classes(self) -> int:
        """K, the number of labels."""
        return len(self._classes.labels)

    @property
    def labels(self) -> list[Any]:
        """The labels, in the order of the rows of `weights`."""
        return list(self._classes.labels)

    def add_classes(self, *labels: Hashable) -> None:
        """Announce labels that were not known before; their weights start as all weights started.

        Earlier decisions stay valid. A learner that replays the log must receive the call at the same place.
        """
        refuse_large(type(self), {**self._params, "n_classes": self.n_classes + len(labels)})
        self._classes.grow(labels)
        if padded(self.n_classes) > self._columns:
            self._widen(padded(self.n_classes))

    def run(
        self,
        X: Any,
        y: Any,
        *,
        feedback: str | None = None,
        epochs: int = 1,
        shuffle: bool = False,
    ) -> History:
        """Play the protocol on a labelled data set in compiled code: round for round what the two verbs would do.

        The learner sees only what the protocol reveals: whether its label was right ("one-bit"), or the true label
        ("full"). What it learns, it keeps; call it again to go on.

        Parameters
        ----------
        X
            One row of features per example: a 2-D array or a CSR matrix.
        y
            The true labels.
        feedback
            "one-bit" or "full": what this learner takes (`LabelLearner.feedback`), said again for the reader.
        epochs
            How many passes.
        shuffle
            Whether each pass goes in an order of its own, drawn from the seed and the number of decisions so far.
        """
        if feedback not in (None, self.feedback):
            raise InvalidArgument(
                f"feedback is {feedback!r} and a {type(self).__name__} takes {self.feedback!r}",
                f"omit it, or use a learner of {feedback} feedback",
            )
        csr = as_stream(X, self.dim, self._dtype)
        truth = self._classes.indices(y)
        if len(truth) != len(csr[2]) - 1:
            raise InvalidArgument(f"X has {len(csr[2]) - 1} rows and y {len(truth)} labels", "give one label per row")
        histories = []
        for _ in range(checks.whole("epochs", epochs, "give the number of passes")):
            order = np.arange(len(truth))
            if checks.flag("shuffle", shuffle, "give True or False"):
                np.random.default_rng([self._seed, self._decided]).shuffle(order)
            actions, greedy = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
            self._play((*csr, truth, order), self._decided + 1, (actions, greedy))
            self._learnt_next(len(order))
            shown = History(actions, greedy, truth[order], self.labels, learner=self._kind, loop="label")
            histories.append(shown)
        return History.joined(histories)

    def scores(self, X: Any) -> FloatArray:
        """The score of every class for many rows at once: what `decide` would write into ``decision.scores``.

        Changes nothing. The greedy label of row t is ``labels[scores(X)[t].argmax()]``.

        Parameters
        ----------
        X
            One row of features per example: a 2-D array or a CSR matrix, which stays sparse.

        Returns
        -------
        An array of shape (rows, n_classes), its columns in the order of `labels`.

        Examples
        --------
        >>> import numpy as np, smidgen
        >>> learner = smidgen.MulticlassPerceptron(dim=2, labels=["bug", "question"])
        >>> learner.learn(learner.decide(np.array([0.0, 1.0])), "question")
        >>> learner.scores(np.array([[0.0, 1.0], [0.0, -2.0], [1.0, 0.0]]))
        array([[-1.,  1.],
               [ 2., -2.],
               [ 0.,  0.]])
        """
        rows = as_stream(X, self.dim, self._dtype)
        out = np.zeros((len(rows[2]) - 1, self._columns), self._dtype)
        self._score_rows(rows, out)
        if not np.isfinite(out).all():
            raise NotFinite("the features lead to scores that are not finite", "scale them down")
        return np.ascontiguousarray(out[:, : self.n_classes], dtype=np.float64)

    def _notes(self) -> dict[str, Any]:
        return {"labels": self._classes.labels}

    def _take_notes(self, notes: Mapping[str, Any]) -> None:
        labels = notes["labels"]
        if not isinstance(labels, list) or labels[: self.n_classes] != self._classes.labels:
            raise InvalidRecord("the labels are not those of the settings", "use a file that Learner.save wrote")
        if len(labels) > self.n_classes:
            self.add_classes(*labels[self.n_classes :])

    def _row(self, context: Any) -> Row:
        return as_row(context, self.dim, self._dtype, LONGEST)

    def _takes(self, batch: LogBatch) -> BatchArrays | None:
        return super()._takes(batch) if batch.labels and self._dtype == DOUBLE else None

    def _note(self, decision: Decision) -> tuple[int, int]:
        action = self._classes.index(decision.action)
        return action, action if decision.greedy is decision.action else self._classes.index(decision.greedy)

    def _as_decided(self, context: Any, number: int, action: int, greedy: int, chance: float | None) -> Decision:
        return self._record(number, self._row(context), action, greedy, None, chance)

    def _record(
        self,
        number: int,
        row: Row,
        action: int,
        greedy: int,
        scores: FloatArray | None,
        propensity: float | None = None,
        widths: FloatArray | None = None,
        propensities: FloatArray | None = None,
    ) -> Decision:
        label = self._classes.labels
        return Decision(
            kind=self._kind,
            settings=self._settings,
            number=number,
            action=label[action],
            greedy=label[greedy],
            context=row,
            explored=action != greedy,
            propensity=propensity,
            propensities=propensities,
            scores=scores,
            widths=widths,
        )

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        """Learn an example.

        Bandit learners: as a correct guess of the true label. Others: as the label received after a guess.
        """
        self._classes.index(answer)
        decision = self._decide(context, number)
        if self.feedback == "one-bit":
            self._learn(structs.replace(decision, action=answer), True)
        else:
            self._learn(decision, answer)

    def _right(self, feedback: Any) -> bool:
        if feedback is True or feedback is False:
            return feedback
        if not isinstance(feedback, np.bool_):
            raise InvalidFeedback(
                f"the feedback is {feedback!r} and must be True (the label was correct) or False",
                "compare the label with the truth, or use a full-information learner to give the label itself",
            )
        return bool(feedback)

    @property
    @abstractmethod
    def _columns(self) -> int:
        """Number of classes that it can hold."""

    @abstractmethod
    def _widen(self, columns: int) -> None:
        """Make places for more classes."""

    @abstractmethod
    def _score_rows(self, rows: Csr, out: Block) -> None:
        """Write the score of every row and class into ``out``, which is zero."""

    @abstractmethod
    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        """Play the stream in rounds numbered from ``first``; write what was shown."""

    def _play_by_verbs(self, stream: Stream, first: int, shown: Shown) -> None:
        """The stream by the two verbs, for states that have no compiled stream of their own."""
        indices, values, starts, truth, order = stream
        for i, t in enumerate(order):
            part = slice(starts[t], starts[t + 1])
            decision = self._decide(Row(indices[part], values[part], self.dim), first + i)
            shown[0][i], shown[1][i] = self._classes.index(decision.action), self._classes.index(decision.greedy)
            true = self._classes.labels[truth[t]]
            self._learn(decision, decision.action == true if self.feedback == "one-bit" else true)


class PlainLabelLearner(LabelLearner):
    """W, by feature and class, and nothing else."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._W: Block = zeros((self.dim, padded(self.n_classes)), self._dtype)

    def _score_rows(self, rows: Csr, out: Block) -> None:
        core_label.scores_by_feature(self._W, rows, out)

    def _predict(self, context: Any) -> Any:
        row = self._row(context)
        return self._classes.labels[
            core_label.score_classes(self._W, row.indices, row.values, np.empty(self.n_classes))
        ]

    @property
    def weights(self) -> FloatArray:
        """The weights, one row per class."""
        return np.ascontiguousarray(self._W[:, : self.n_classes].T, dtype=np.float64)

    @property
    def _columns(self) -> int:
        return int(self._W.shape[1])

    def _widen(self, columns: int) -> None:
        grown = zeros((self.dim, columns), self._dtype)
        grown[:, : self._columns] = self._W
        self._W = grown

    @property
    def shared_start(self) -> str | None:
        """With the mean of the others' weights."""
        return "mean"

    def _start_from(self, start: Mapping[str, NDArray[Any]]) -> None:
        self._W[:, : self.n_classes] = start["w"].T

    def _state(self) -> dict[str, NDArray[Any]]:
        return {"W": self._W}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._W = aligned(state["W"])


class SecondOrderLabelLearner(LabelLearner):
    """Show the label of highest score; receive the true one; step."""

    def __init__(self, *, covariance: str, start: float, params: Mapping[str, Any], **settings: Any) -> None:
        checks.one_of("covariance", covariance, ("diagonal", "full"))
        super().__init__(params={**params, "covariance": covariance}, **settings)
        diagonal = covariance == "diagonal"
        made: Any = (DiagonalClasses if diagonal else FullClasses)(self.dim, padded(self.n_classes), start, self._dtype)
        self._blocks: DiagonalClasses | FullClasses = made
        self._diagonal: DiagonalClasses | None = made if diagonal else None
        self._full: FullClasses = made

    @abstractmethod
    def _scores(self, row: Row) -> Block:
        """The score of every class."""

    @abstractmethod
    def _step(self, row: Row, action: int, true: int) -> bool:
        """Learn that ``true`` was right where ``action`` was shown; say no where the scores are not finite."""

    def _decide(self, context: Any, number: int) -> Decision:
        row, scores = self._row(context), np.empty(self.n_classes)
        action = second_order.pick(self._scores(row), scores)
        return self._record(number, row, action, action, scores)

    def _learn(self, decision: Decision, feedback: Any) -> None:
        true, row = self._classes.index(feedback), kept_row(decision, self.dim, self._dtype)
        if not self._step(row, self._classes.index(decision.action), true):
            raise NotFinite("the features lead to scores that are not finite", "scale them down")

    def _predict(self, context: Any) -> Any:
        return self._classes.labels[second_order.pick(self._scores(self._row(context)), np.empty(self.n_classes))]

    @property
    def weights(self) -> FloatArray:
        """The weights, one row per class."""
        return self._blocks.weights(self.n_classes)

    @property
    def _columns(self) -> int:
        return self._blocks.columns

    def _widen(self, columns: int) -> None:
        self._blocks.widen(columns)

    @property
    def shared_start(self) -> str | None:
        """With the weights of one that was taught everything; A begins as it always does."""
        return "pooled"

    def _start_from(self, start: Mapping[str, NDArray[Any]]) -> None:
        self._blocks.begin(start["w"])

    def _state(self) -> dict[str, NDArray[Any]]:
        return self._blocks.arrays()

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._blocks.restore(state)
