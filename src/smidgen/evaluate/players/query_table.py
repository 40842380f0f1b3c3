"""Many queries in three arrays, checked once: what whole streams of rankings are played from."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.features import as_rows, dense_scores
from smidgen.features.rows import as_weights
from smidgen.structures import Ranking
from smidgen.users import ClickUser, NoisyDepth


class QueryTable:
    """Queries with their documents, one below the other, and the relevance of each.

    Parameters
    ----------
    X
        The features of all documents, one row each: a 2-D array, or a scipy CSR matrix, which is made dense. Copied,
        unless nobody can write to it.
    starts
        Where the documents of each query begin, and where those of the last end: query i has the rows
        ``starts[i]`` … ``starts[i + 1] - 1``, at least one.
    labels
        The relevance of each document, for users that go by labels.
    top
        How many positions count, as in `Ranking`.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.evaluate import QueryTable
    >>> queries = QueryTable(np.eye(5), starts=[0, 2, 5], labels=[1, 0, 0, 2, 1], top=2)
    >>> len(queries)
    2
    >>> queries.contexts[1]
    Ranking(3 docs x 5 features, top=2)
    >>> queries.labels_of(queries.contexts[1])
    array([0., 2., 1.])
    """

    def __init__(self, X: Any, starts: Any, labels: Any = None, top: int = 5) -> None:
        self.X: FloatArray = as_rows(X, "X").dense()
        self.starts = _as_starts(starts, len(self.X))
        self.labels = None if labels is None else _as_labels(labels, len(self.X))
        self.top = checks.whole("top", top, "give the number of positions that count, e.g. top=5")
        self._contexts: list[Ranking] = []
        self._numbers: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __repr__(self) -> str:
        return f"QueryTable({len(self)} queries, {len(self.X)} docs x {self.dim} features, top={self.top})"

    @property
    def dim(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    @property
    def contexts(self) -> list[Ranking]:
        """The queries as problem instances for the two verbs: made once, then kept; ``X`` is read-only from then on."""
        if not self._contexts:
            self.X.flags.writeable = False
            blocks = zip(self.starts[:-1], self.starts[1:], strict=True)
            self._contexts = [Ranking(self.X[first:last], self.top) for first, last in blocks]
            self._numbers = {id(context): i for i, context in enumerate(self._contexts)}
        return self._contexts

    def labels_of(self, context: Any) -> FloatArray:
        """The labels of one of the `contexts`, for a user: ``NoisyDepth(labels=queries.labels_of, depth=10)``."""
        i = self._numbers.get(id(context))
        if self.labels is None or i is None:
            raise InvalidArgument(
                "there are no labels for this context" if i is None else "the queries were made without labels",
                "make the table with labels, and ask for one of its contexts",
            )
        return self.labels[self.starts[i] : self.starts[i + 1]]

    def labels_for(self, user: Any) -> FloatArray:
        """The label that a simulated user gives to each document; none, if it does not go by labels."""
        if not isinstance(user, (NoisyDepth, ClickUser)):
            return np.empty(0)
        labels = user._labels
        if labels._find == self.labels_of and self.labels is not None:
            found = self.labels
        elif labels._find is None and labels._fixed is None:
            raise InvalidArgument("the user's labels are used up in order", "make it with labels=queries.labels_of")
        else:
            found = np.concatenate([labels(context) for context in self.contexts]).astype(np.float64)
        if isinstance(user, ClickUser):
            user.grades(found, slice(None))  # refuses labels that its tables do not know
        return found

    def scores(self, w: Any) -> FloatArray:
        """The score w·x of every document."""
        return dense_scores(self.X, as_weights(w, self.dim))


def _as_starts(starts: Any, n: int) -> IntArray:
    given = np.asarray(starts)
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) < 2:
        raise InvalidArgument(
            f"starts has shape {given.shape} and dtype {given.dtype}", "give one whole number more than queries"
        )
    whole = given.astype(np.int64)
    if whole[0] != 0 or whole[-1] != n or (np.diff(whole) < 1).any():
        raise InvalidArgument(
            f"starts runs from {whole[0]} to {whole[-1]} and there are {n} documents",
            f"let it rise from 0 to {n}, by one document or more per query",
        )
    return whole


def _as_labels(labels: Any, n: int) -> FloatArray:
    given = np.asarray(labels)
    if given.shape != (n,) or given.dtype.kind not in "fiub" or not np.isfinite(given).all():
        raise InvalidArgument(
            f"labels has shape {given.shape} and dtype {given.dtype}", f"give one finite number per document, {n} here"
        )
    return given.astype(np.float64)
