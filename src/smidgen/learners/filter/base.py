"""Base class of filters: forward or drop is the action, the relevance is received only if forwarded.

`Exploring` says when a filter forwards against its margin, to learn.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import filter as core
from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument, InvalidFeedback
from smidgen.features import LONGEST, Row, as_row, as_stream
from smidgen.history import History
from smidgen.learners.base import Learner, kept_row
from smidgen.randomness import U64

#: A stream for compiled code: CSR indices, values and row starts; relevance; the order of play.
Stream: TypeAlias = tuple[NDArray[np.uint32], NDArray[Any], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]
#: What was forwarded in each round, and what the margin alone would have forwarded.
Shown: TypeAlias = tuple[NDArray[np.bool_], NDArray[np.bool_]]


class Filter(Learner):
    """Forward or drop; receive the relevance of forwarded items."""

    #: True if the relevance of dropped items is received too.
    sees_everything: ClassVar[bool] = False

    def run(self, X: Any, y: Any, *, epochs: int = 1) -> History:
        """Play a labelled stream: round for round what the two verbs would do.

        The filter receives the relevance of forwarded items only (a full-information one receives all).

        Parameters
        ----------
        X
            One row of features per item: a 2-D array or a CSR matrix.
        y
            Whether each item is relevant: bools, or ±1.
        epochs
            How many passes.
        """
        csr, truth = self._stream(X), as_relevance(y)
        if len(truth) != len(csr[2]) - 1:
            raise InvalidArgument(f"X has {len(csr[2]) - 1} rows and y {len(truth)} labels", "give one label per row")
        parts, order = [], np.arange(len(truth))
        for _ in range(checks.whole("epochs", epochs, "give the number of passes")):
            actions, greedy = np.empty(len(order), np.bool_), np.empty(len(order), np.bool_)
            self._play((*csr, truth, order), self._decided + 1, (actions, greedy))
            labeled = np.flatnonzero(actions | self.sees_everything) + self._decided + 1
            for start, stop in _ranges(labeled):
                self._learnt.add_range(int(start), int(stop))
            self._decided += len(order)
            parts.append(History(actions, greedy, truth, learner=self._kind, loop="filter"))
        return History.joined(parts)

    @property
    def exact_stream(self) -> bool:
        """True if `run` equals the two verbs to the last bit, for any length of the stream."""
        return True

    def _stream(self, X: Any) -> tuple[NDArray[np.uint32], NDArray[Any], NDArray[np.int64]]:
        return as_stream(X, self.dim, np.float64)

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        """Play the stream in rounds numbered from ``first``; by the two verbs where there is no compiled stream."""
        indices, values, starts, truth, order = stream
        before = {name: array.copy() for name, array in self._state().items()}
        try:
            for i, t in enumerate(order):
                part = slice(starts[t], starts[t + 1])
                decision = self._decide(Row(indices[part], values[part], self.dim), first + i)
                shown[0][i], shown[1][i] = decision.action, decision.greedy
                if decision.action or self.sees_everything:
                    self._learn(decision, bool(truth[t]))
        except BaseException:  # a kernel of the user's may fail half-way
            self._restore(before)
            raise

    dim: int

    def _row(self, context: Any) -> Any:
        return as_row(context, self.dim, longest=LONGEST)

    def _take_row(self, decision: Decision) -> Row:
        return kept_row(decision, self.dim)

    def _record(
        self,
        number: int,
        context: Any,
        forward: bool,
        greedy: bool,
        margin: float,
        threshold: float | None,
        propensity: float | None = None,
    ) -> Decision:
        return Decision(
            kind=self._kind,
            settings=self._settings,
            number=number,
            action=forward,
            greedy=greedy,
            context=context,
            explored=forward and not greedy,
            margin=margin,
            threshold=threshold,
            propensity=propensity,
        )

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        relevant = as_relevant(answer)
        self._learn_relevance(self._record(number, self._row(context), True, True, 0.0, None), relevant)

    def _learn(self, decision: Decision, feedback: Any) -> None:
        relevant = as_relevant(feedback)
        if not decision.action and not self.sees_everything:
            raise InvalidFeedback(
                f"decision {decision.id} dropped its item, so its label is not known",
                "give feedback on forwarded items only",
            )
        self._learn_relevance(decision, relevant)

    @abstractmethod
    def _learn_relevance(self, decision: Decision, relevant: bool) -> None:
        """Learn the relevance of an item."""


class FullInformationFilter(Filter):
    """A filter that receives the relevance of every item, forwarded or not, and learns from its features alone."""

    sees_everything = True

    @abstractmethod
    def _margin(self, row: Row) -> float:
        """Estimated relevance of the item."""

    @abstractmethod
    def _step(self, row: Row, relevant: bool) -> None:
        """Learn the relevance of an item with these features."""

    def _decide(self, context: Any, number: int) -> Decision:
        row = self._row(context)
        margin = self._margin(row)
        greedy = margin >= 0.0
        return self._record(number, row, greedy, greedy, margin, 0.0)

    def _learn_relevance(self, decision: Decision, relevant: bool) -> None:
        self._step(self._take_row(decision), relevant)

    def _predict(self, context: Any) -> bool:
        return self._margin(self._row(context)) >= 0.0


def as_relevant(feedback: Any) -> bool:
    """Check the feedback on one item."""
    if feedback is not True and feedback is not False and not isinstance(feedback, np.bool_):
        raise InvalidFeedback(f"the feedback is {feedback!r}", "give True (relevant) or False")
    return bool(feedback)


def as_relevance(y: Any) -> NDArray[np.bool_]:
    """Check labels: bools, or ±1."""
    hint = "give one bool per item (relevant or not), or +1 and -1"
    try:
        given = np.asarray(y)
    except ValueError as error:
        raise InvalidArgument(f"y is not a list of labels: {error}", hint) from error
    if given.ndim != 1 or given.dtype.kind not in "bif":
        raise InvalidArgument(f"y has shape {given.shape} and dtype {given.dtype}", hint)
    if given.dtype.kind != "b" and not np.isin(given, (-1, 1)).all():
        raise InvalidArgument(f"y holds {given[~np.isin(given, (-1, 1))][0]}", hint)
    return given.astype(np.bool_) if given.dtype.kind == "b" else given > 0


def _ranges(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rising numbers as rows of (first, last + 1)."""
    breaks = np.flatnonzero(np.diff(numbers) > 1)
    firsts = numbers[np.concatenate([[0], breaks + 1])] if len(numbers) else numbers
    lasts = numbers[np.concatenate([breaks, [len(numbers) - 1]])] if len(numbers) else numbers
    return np.column_stack([firsts, lasts + 1])


#: The rules by name, as kernels know them.
RULES = {"paper": 0, "found": 1, "scarce": 2, "patient": 3, "sparing": 4}
#: Instead of a rule: forward by the sign of the margin, and receive every label; or sample items that would be dropped.
EVERYTHING, TASTING = -1, -2
#: What the ridge is multiplied with, by rule.
RIDGES = {"paper": 1.0, "found": 1.0, "scarce": 0.1, "patient": 0.1, "sparing": 0.1}
#: Indexes in the counters: labels N, relevant ones among them m, and the recent mean of widths xᵀA⁻¹x.
HEARD, RELEVANT, WIDTH = 0, 1, 2
#: Number of them that a rule remembers.
MEMORY = {"paper": 1, "found": 2, "scarce": 3, "patient": 3, "sparing": 3}


class Exploring(NamedTuple):
    """Forwarding rule of a filter for compiled streams: rule, c (see `threshold_of`), key of its random numbers."""

    rule: int
    c: float = 0.0
    key: U64 = np.zeros(2, np.uint64)


def margin_of(mean: float, width: float) -> float:
    """b·A⁻¹x / (1 + xᵀA⁻¹x): the estimate w·x with x itself already counted in (eq. 3)."""
    return mean / (1.0 + width)


def with_constant(row: Row) -> Row:
    """A row with a 1 behind its features."""
    n = len(row.indices)
    indices, values = np.empty(n + 1, np.uint32), np.empty(n + 1)
    indices[:n], values[:n], indices[n], values[n] = row.indices, row.values, row.dim, 1.0
    return Row(indices, values, row.dim + 1)


def rows_with_constant(
    indices: NDArray[np.uint32], values: FloatArray, starts: NDArray[np.int64], dim: int
) -> tuple[NDArray[np.uint32], FloatArray, NDArray[np.int64]]:
    """Rows of a stream, each with the constant feature."""
    size = len(values) + len(starts) - 1
    wide = np.empty(size, np.uint32), np.empty(size), np.empty_like(starts)
    core.write_rows_with_constant((indices, values, starts), dim, *wide)
    return wide
