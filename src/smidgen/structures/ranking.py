"""A ranking of documents as a structured object (seed paper: coactive learning, Section 6.1.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._kernel import kernel
from smidgen.errors import InvalidFeatures, InvalidFeedback
from smidgen.features import as_rows, check_dim
from smidgen.records import same, structure
from smidgen.types import FloatArray, IntArray


@kernel
def _first_fault(order: IntArray, n: int) -> int:
    """The first position that holds no document, or one seen before; -1 if there is none."""
    seen = np.zeros(n, np.bool_)
    for i in range(order.shape[0]):
        if order[i] < 0 or order[i] >= n or seen[order[i]]:
            return i
        seen[order[i]] = True
    return -1


@kernel
def _merged(better: IntArray, shown: IntArray, discounts: FloatArray, n: int) -> tuple[IntArray, FloatArray]:
    """The documents that φ(better) − φ(shown) touches, and their coefficients; those that cancel are left out."""
    weight = np.zeros(n)
    for i in range(min(better.shape[0], discounts.shape[0])):
        weight[better[i]] += discounts[i]
    for i in range(min(shown.shape[0], discounts.shape[0])):
        weight[shown[i]] -= discounts[i]
    touched = np.flatnonzero(weight)
    return touched, weight[touched]


@structure
@dataclass(frozen=True, eq=False)
class ExtendedRanking:
    """An improved ranking that also holds documents which the shown list lacked.

    ``order`` numbers the documents of the shown list as before, 0 … n−1, and the rows of ``docs`` n, n+1, …
    ``docs`` holds their features *for the query of the shown list*. See `from_chain`.
    """

    order: IntArray
    docs: Any


@structure
class Ranking:
    """Documents to be ranked for one query.

    Parameters
    ----------
    docs
        One row of features per document: a 2-D array or a scipy CSR matrix.
    top
        How many positions count in the feature map.

    Notes
    -----
    **Feature map** φ(x, y) = Σ_{i ≤ top} docs[y_i] / log2(i + 1) [1, eq. 21], so the utility w·φ is DCG@top with a
    linear relevance. **Argmax**: sort by score; equal scores keep the given order.
    **Cost**: n·d + n log n for the argmax, top·d for φ.
    **Differs**: the paper writes log; base 2 is the convention of DCG, and only scales φ.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Ranking
    >>> query = Ranking(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), top=2)
    >>> query.argmax(np.array([0.0, 1.0]))
    array([1, 2, 0])
    >>> query.phi([1, 2, 0])
    array([0.63092975, 1.63092975])

    References
    ----------
    .. [1] P. Shivaswamy, T. Joachims. Coactive Learning. JAIR 53, 2015. Section 6.1.1.
    """

    __slots__ = ("discounts", "rows", "top")

    def __init__(self, docs: Any, top: int = 5) -> None:
        self.rows = as_rows(docs, "docs")
        self.top = checks.whole("top", top, "give the number of positions that count, e.g. top=5")
        self.discounts = 1.0 / np.log2(np.arange(2, min(self.top, len(self)) + 2))  # 1/log2(i+1), i = 1 … top

    def __len__(self) -> int:
        return self.rows.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranking) and same(self, other)

    def __repr__(self) -> str:
        return f"Ranking({len(self)} docs x {self.dim} features, top={self.top})"

    @property
    def dim(self) -> int:
        """The number of features."""
        return self.rows.shape[1]

    @property
    def docs(self) -> Any:
        """The features, one row per document (read-only)."""
        return self.rows.public()

    def check_dim(self, dim: int) -> None:
        """Refuse a learner of another dimension."""
        check_dim(self.rows, dim, "docs")

    def scores(self, w: FloatArray) -> FloatArray:
        """The score w·docs[i] of each document."""
        return self.rows.scores(w)

    def best(self, scores: FloatArray) -> IntArray:
        """The ranking that given scores lead to: descending, equal scores in the given order."""
        order: IntArray = np.argsort(-scores, kind="stable")
        order.flags.writeable = False
        return order

    def argmax(self, w: FloatArray) -> IntArray:
        """The ranking of highest utility under ``w``, best first."""
        return self.best(self.rows.scores(w))

    def phi(self, y: Sequence[int] | IntArray | ExtendedRanking) -> FloatArray:
        """The joint feature vector of the ranking ``y``; its first ``top`` documents are enough."""
        if isinstance(y, ExtendedRanking):
            extended, order = self._resolve(y)
        else:
            extended, order = self, as_order(y, len(self))
            if len(order) < len(self.discounts):
                raise InvalidFeedback(
                    f"the ranking holds {len(order)} documents", f"give at least the first {len(self.discounts)}"
                )
        return extended.rows.combine(order[: len(extended.discounts)], extended.discounts)

    def check(self, y: Any) -> Any:
        """Return ``y`` if it is a ranking of all these documents (and of extra ones it brings), else refuse."""
        if isinstance(y, ExtendedRanking):
            return ExtendedRanking(self._resolve(y)[1], y.docs)
        return self._resolve(y)[1]

    def difference(self, better: Any, shown: Any) -> FloatArray:
        """φ(better) − φ(shown), each document touched once; exactly zero where both say the same."""
        extended, order = self._resolve(better)
        _, before = self._resolve(shown)
        return extended.rows.combine(*_merged(order, before, extended.discounts, len(extended)))

    def extended(self, docs: Any) -> Ranking:
        """The same query with more documents after the present ones."""
        more = as_rows(docs, "the later documents")
        if more.shape[1] != self.dim:
            raise InvalidFeatures(
                f"the later documents have {more.shape[1]} features and those of the query {self.dim}",
                "describe them for the first query, by the same features",
            )
        return Ranking(self.rows.stacked(more), self.top)

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild this ranking problem."""
        return {"docs": self.rows.to_record(), "top": self.top}

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Ranking:
        """Rebuild from `to_record`."""
        return cls(**fields)

    def _resolve(self, y: Any) -> tuple[Ranking, IntArray]:
        if isinstance(y, ExtendedRanking):
            extended = self.extended(y.docs)
            order = as_order(y.order, len(extended))
            if not np.isin(np.arange(len(self)), order).all():
                raise InvalidFeedback(
                    f"the extended ranking lacks some of the {len(self)} documents that were shown",
                    "put the extra documents in front and keep all that were shown",
                )
            return extended, order
        order = as_order(y, len(self))
        if len(order) != len(self):
            raise InvalidFeedback(
                f"the ranking holds {len(order)} documents and {len(self)} were given",
                "rank all of them; from_clicks(ranking, clicked) completes a list of clicks",
            )
        return self, order


def as_order(y: Any, n: int) -> IntArray:
    """Return ``y`` as an array of distinct document indices below ``n``, or refuse it."""
    way_out = f"give each document index 0 … {n - 1} once, best first"
    try:
        given = np.asarray(y)
    except (ValueError, TypeError) as error:
        raise InvalidFeedback(f"the ranking {y!r} is not a list of document indices", way_out) from error
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise InvalidFeedback(f"the ranking {y!r} is not a list of document indices", way_out)
    order = given.astype(np.int64, copy=False)
    if (fault := _first_fault(order, n)) >= 0:
        known = 0 <= order[fault] < n
        reason = "stands there for the second time" if known else "is not one of the documents"
        raise InvalidFeedback(f"document {given[fault]} at position {fault} {reason}", way_out)
    return order
