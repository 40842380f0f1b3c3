"""Clicks, and the better ranking that they stand for (coactive learning, Section 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.decision import IntArray
from smidgen.errors import InvalidFeedback
from smidgen.features import as_rows
from smidgen.records import structure
from smidgen.structures.ranking import ExtendedRanking, as_order


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
        raise InvalidFeedback(f"{name} are {value!r}, not a list", "give a list of documents, e.g. [3, 1]")
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
