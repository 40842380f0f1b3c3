"""A ranking of documents as a structured object (seed paper: coactive learning, Section 6.1.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core.ranking import first_fault, write_difference, write_merged, write_ranked
from smidgen.arrays import writable
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidFeatures, InvalidFeedback
from smidgen.features import DenseRows, all_rows, as_rows, check_dim
from smidgen.features.rows import longest_row
from smidgen.records import same, structure
from smidgen.structures.structure import Structure


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
class Ranking(Structure):
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
        self.discounts = _discounts(min(self.top, len(self))).copy()

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
        order: IntArray = np.empty(len(scores), np.int64)
        if not write_ranked(np.ascontiguousarray(scores, dtype=np.float64), order):
            order = np.argsort(-scores, kind="stable")
        order.setflags(write=False)
        return order

    def argmax(self, w: FloatArray) -> IntArray:
        """The ranking of highest utility under ``w``, best first."""
        return self.best(self.rows.scores(w))

    def present(self, w: FloatArray, /) -> tuple[IntArray, FloatArray]:
        """The ranking of highest utility, and the score of each document."""
        scores = self.rows.scores(w)
        return self.best(scores), scores

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
        n = self.rows.shape[0]
        if isinstance(shown, ExtendedRanking):  # nobody shows one: each has later documents of its own
            return self.phi(better) - self.phi(shown)
        if isinstance(better, ExtendedRanking):
            (extended, order), (_, before) = self._resolve(better), self._resolve(shown)
        else:
            extended, order, before = self, _as_indices(better, n), _as_indices(shown, n)
            if len(order) != n or len(before) != n:
                order, before = self._resolve(better)[1], self._resolve(shown)[1]  # one of them is refused
        rows, discounts = extended.rows, extended.discounts
        if isinstance(rows, DenseRows):
            out = np.empty(rows.shape[1])
            if write_difference(rows.array, order, before, discounts, out):
                return out
        else:
            touched, weights = np.empty(2 * len(discounts), np.int64), np.empty(2 * len(discounts))
            if write_merged(order, before, discounts, rows.shape[0], touched, weights):
                return rows.combine(touched, weights)
        self._resolve(better)
        self._resolve(shown)
        raise InvalidFeedback("one of the two rankings holds strange documents", _hint(n))

    def longest(self) -> float:
        """The length of its longest document."""
        return longest_row(self.rows)

    def scaled(self, factor: float, /) -> Ranking:
        """The same query with all features times a factor."""
        with np.errstate(under="ignore"):
            return Ranking(self.rows.scaled(factor), top=self.top)

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

    @classmethod
    def from_records(cls, many: Sequence[dict[str, Any]]) -> list[Ranking]:
        """Rebuild many from `to_record`."""
        out: list[Ranking] = []
        for fields, rows in zip(many, all_rows([fields["docs"] for fields in many], "docs"), strict=True):
            last = out[-1] if out and cls is Ranking and len(fields) == 2 else None
            if (
                last is None
                or type(fields["top"]) is not int
                or (fields["top"], rows.shape[0]) != (last.top, len(last))
            ):
                out.append(cls(**{**fields, "docs": rows}))
                continue
            like = cls.__new__(cls)  # as the one before it, but for the documents
            like.rows, like.top, like.discounts = rows, last.top, last.discounts
            out.append(like)
        return out

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


@lru_cache(maxsize=64)
def _discounts(count: int) -> FloatArray:
    """1/log2(i+1), i = 1 … count."""
    discounts: FloatArray = 1.0 / np.log2(np.arange(2, count + 2))
    return discounts


def as_order(y: Any, n: int) -> IntArray:
    """Return ``y`` as an array of distinct document indices below ``n``, or refuse it."""
    order = _as_indices(y, n)
    if (fault := first_fault(order, n)) >= 0:
        known = 0 <= order[fault] < n
        reason = "stands there for the second time" if known else "is not one of the documents"
        raise InvalidFeedback(f"document {np.asarray(y)[fault]} at position {fault} {reason}", _hint(n))
    return order


def _as_indices(y: Any, n: int) -> IntArray:
    """Return ``y`` as an array of whole numbers, or refuse it."""
    if type(y) is np.ndarray and y.dtype == np.int64 and y.ndim == 1:
        return y if y.flags.carray else y.copy()  # `writable`, without a call
    try:
        given = np.asarray(y)
    except (ValueError, TypeError) as error:
        raise InvalidFeedback(f"the ranking {y!r} is not a list of document indices", _hint(n)) from error
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise InvalidFeedback(f"the ranking {y!r} is not a list of document indices", _hint(n))
    return writable(given.astype(np.int64, copy=False))


def _hint(n: int) -> str:
    return f"give each document index 0 … {n - 1} once, best first"
