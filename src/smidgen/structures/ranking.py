"""A ranking of documents as a structured object, and clicks with the better ranking that they stand for.

Both are those of coactive learning, Sections 6.1.1 and 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core import ranking as core
from smidgen.arrays import writable
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidFeatures, InvalidFeedback
from smidgen.features import DenseRows, all_rows, as_rows, check_dim
from smidgen.features.rows import longest_row
from smidgen.serialization import same, structure
from smidgen.structures.base import Structure


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
        self.discounts = discounts_of(min(self.top, len(self))).copy()

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
        if not core.write_ranked(np.ascontiguousarray(scores, dtype=np.float64), order):
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
        if isinstance(shown, ExtendedRanking):  # never shown twice: each has later documents of its own
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
            if core.write_difference(rows.array, order, before, discounts, out):
                return out
        else:
            touched, weights = np.empty(2 * len(discounts), np.int64), np.empty(2 * len(discounts))
            if core.write_merged(order, before, discounts, rows.shape[0], touched, weights):
                return rows.combine(touched, weights)
        self._resolve(better)
        self._resolve(shown)
        raise InvalidFeedback("one of the two rankings holds documents that are not in the query", _hint(n))

    def longest(self) -> float:
        """The length of its longest document."""
        return longest_row(self.rows)

    def scaled(self, factor: float, /) -> Ranking:
        """Copy with all features multiplied by a factor."""
        with np.errstate(under="ignore"):
            return Ranking(self.rows.scaled(factor), top=self.top)

    def extended(self, docs: Any) -> Ranking:
        """Copy of the query with more documents after the present ones."""
        more = as_rows(docs, "the later documents")
        if more.shape[1] != self.dim:
            raise InvalidFeatures(
                f"the later documents have {more.shape[1]} features and the documents of the query have {self.dim}",
                "give the later documents the same features",
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
def discounts_of(count: int) -> FloatArray:
    """1/log2(i+1), i = 1 … count, with correctly rounded logarithms: numpy's differ from processor to processor."""
    with localcontext(prec=25):
        two = Decimal(2).ln()
        return 1.0 / np.array([float(Decimal(n).ln() / two) for n in range(2, count + 2)])


def as_order(y: Any, n: int) -> IntArray:
    """Return ``y`` as an array of distinct document indices below ``n``, or refuse it."""
    order = _as_indices(y, n)
    if (fault := core.first_fault(order, n)) >= 0:
        known = 0 <= order[fault] < n
        reason = "appears twice" if known else "is not one of the documents"
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


@structure
class Clicks:
    """Feedback on a ranking: the documents that were clicked.

    Parameters
    ----------
    documents
        Their indices (not their positions), in the order of the clicks. A second click on the same document changes
        nothing. None at all is feedback too: the user looked and left.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.PDGD(dim=2)
    >>> decision = learner.decide(smidgen.Ranking(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])))
    >>> learner.learn(decision, smidgen.Clicks([1]))
    >>> bool(learner.weights[1] > learner.weights[0])
    True
    """

    __slots__ = ("documents",)

    def __init__(self, documents: Iterable[int] = ()) -> None:
        self.documents: IntArray = _as_documents(documents)

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[int]:
        return iter(self.documents.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Clicks) and self.documents.tolist() == other.documents.tolist()

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Clicks({self.documents.tolist()})"

    def better(self, ranking: Sequence[int] | IntArray) -> IntArray:
        """The improved ranking that these clicks on a shown one stand for, see `from_clicks`."""
        return from_clicks(ranking, self)

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild these clicks."""
        return {"documents": self.documents.tolist()}

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Clicks:
        """Rebuild from `to_record`."""
        return cls(**fields)


def from_clicks(ranking: Sequence[int] | IntArray, clicked: Iterable[int]) -> IntArray:
    """The improved ranking that clicks on a shown one stand for.

    Parameters
    ----------
    ranking
        The shown ranking: document indices, best first.
    clicked
        The clicked documents (their indices, not their positions), in the order of the clicks. A second click on the
        same document changes nothing.

    Returns
    -------
    numpy.ndarray
        The clicked documents in the order of the clicks, then the others in the order shown.

    Examples
    --------
    The example of the paper: A, B, C, D are shown, B and D are clicked.

    >>> from smidgen import from_clicks
    >>> from_clicks([0, 1, 2, 3], clicked=[1, 3])
    array([1, 3, 0, 2])
    """
    shown = _as_shown(ranking)
    front = _distinct(clicked, known=set(shown.tolist()), where="the shown ranking")
    return np.concatenate([np.array(front, dtype=np.int64), shown[~np.isin(shown, front)]])


def from_chain(
    ranking: Sequence[int] | IntArray, clicks: Iterable[Iterable[int]], *, later: Any = None
) -> IntArray | ExtendedRanking:
    """The improved ranking that a whole chain of queries stands for.

    A user who reformulates a query is still after the answer to the first one. So everything clicked in the whole
    chain is put in front of the ranking of the *first* query, also documents that only a later query showed.

    Parameters
    ----------
    ranking
        The ranking shown for the first query.
    clicks
        One list of clicked documents per query of the chain, in the order of the clicks. Documents of the first
        ranking go by their index there, 0 … n−1; documents that only later queries showed are n, n+1, … in the
        order of the rows of ``later``.
    later
        Features of those later documents, *for the first query*. Only needed if there are any.

    Returns
    -------
    numpy.ndarray or ExtendedRanking
        What to hand to ``learn`` together with the decision of the first query.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import PreferencePerceptron, Ranking, from_chain
    >>> learner = PreferencePerceptron(dim=2)
    >>> first = learner.decide(Ranking(np.array([[1.0, 0.0], [0.5, 0.0], [0.2, 0.1]])))
    >>> better = from_chain(first.action, [[2], [3]], later=np.array([[0.0, 1.0]]))
    >>> better.order
    array([2, 3, 0, 1])
    >>> learner.learn(first, better)
    """
    queries = [_listed(query, "the clicks of a query") for query in _listed(clicks, "the clicks")]
    everything_clicked = [document for query in queries for document in query]
    if later is None:
        return from_clicks(ranking, everything_clicked)
    shown = _as_shown(ranking)
    shown = as_order(shown, len(shown))
    rows = as_rows(later, "later")
    known = set(range(len(shown) + rows.shape[0]))
    front = _distinct(everything_clicked, known=known, where="the whole chain")
    rest = shown[~np.isin(shown, front)]
    return ExtendedRanking(np.concatenate([np.array(front, dtype=np.int64), rest]), rows.public())


def _as_documents(documents: Any) -> IntArray:
    """Distinct document indices in the order of the clicks, read-only."""
    front: dict[int, None] = {}
    for document in _listed(documents, "the clicks"):
        if not checks.is_whole(document) or not 0 <= document < 2**63:
            raise InvalidFeedback(f"the click {document!r} is not a document index", "give indices 0, 1, …, or nothing")
        front[int(document)] = None
    found = np.array(list(front), dtype=np.int64)
    found.flags.writeable = False
    return found


def _as_shown(ranking: Any) -> IntArray:
    hint = "give the shown ranking, e.g. d.action"
    try:
        shown = np.asarray(ranking)
    except ValueError as error:
        raise InvalidFeedback(f"the ranking {ranking!r} is not a list of documents", hint) from error
    if shown.ndim != 1 or shown.dtype.kind not in "iu" or len(np.unique(shown)) != len(shown):
        raise InvalidFeedback(f"the ranking {ranking!r} is not a list of distinct documents", hint)
    if len(shown) and not (shown.min() >= 0 and shown.max() < 2**63):
        raise InvalidFeedback(f"the ranking holds document {shown.min()}", "document indices start at 0")
    return shown.astype(np.int64)


def _listed(value: Any, name: str) -> list[Any]:
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes, dict)):
        raise InvalidFeedback(f"{name} is {value!r}, not a list", "give a list of documents, e.g. [3, 1]")
    return list(value)


def _distinct(clicked: Any, *, known: set[int], where: str) -> list[int]:
    front: dict[int, None] = {}
    for document in _listed(clicked, "the clicks"):
        if not checks.is_whole(document):
            raise InvalidFeedback(f"the click {document!r} is not a document index", "give indices, not positions")
        if int(document) not in known:
            raise InvalidFeedback(
                f"document {document} was clicked but is not in {where}",
                "give indices of shown documents; for documents of later queries use from_chain(…, later=features)",
            )
        front[int(document)] = None
    return list(front)
