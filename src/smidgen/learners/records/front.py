"""From records to what a learner reads, and back to names: the part of a pipeline that keeps nothing of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from smidgen.arrays import read_only, writable
from smidgen.decision import Decision
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidFeatures, InvalidFeedback
from smidgen.features import Encoded, Row, SparseRows, Vectorizer
from smidgen.learners.base import Learner
from smidgen.learners.card import Loop
from smidgen.learners.records.explanation import Explanation, Named, of_candidates, of_record
from smidgen.structures import Candidates, Choice, Ranking

#: Loops whose contexts are candidates, and loops whose contexts are single records.
OFFERS, SINGLES = frozenset((Loop.RANK, Loop.CHOOSE)), frozenset((Loop.LABEL, Loop.FILTER))


class Front:
    """What stands between records and a learner that reads rows.

    Parameters
    ----------
    learner
        One of the learners that read: its card and its settings count.
    dim
        How many columns the rows have.
    """

    def __init__(self, learner: Learner, dim: int) -> None:
        self.loops = loops_read(learner, dim)
        self._kind = type(learner).__name__
        self._mains = "reward" in learner.card.kinds  # whether what all candidates share matters

    def encode(self, features: Vectorizer, context: Any) -> Encoded:
        """A record, or candidates, by the names and statistics known; refused if the learner decides on no such."""
        if isinstance(context, Encoded) and context.dim == features.dim:
            return context  # of a decision of its own
        if isinstance(context, Candidates):
            wanted = Loop.CHOOSE if context.top is None else Loop.RANK
            if wanted not in self.loops:
                raise InvalidArgument(
                    f"the context is {context!r}, and a {self._kind} serves {', '.join(self.loops)}",
                    "give top=… to rank, leave it out to choose" if self.loops & OFFERS else "give one record",
                )
            return features.encode_candidates(context, self._mains)
        if not self.loops & SINGLES:
            raise InvalidFeatures(
                f"the context is a {type(context).__name__}, and a {self._kind} compares candidates",
                "give Candidates(records, context=…, top=…)",
            )
        return features.encode(context)


def loops_read(learner: Any, dim: int) -> frozenset[str]:
    """The loops that an inner learner serves."""
    loops = frozenset(learner.card.loops) & (OFFERS | SINGLES)
    if not loops or not hasattr(learner, "dim"):
        raise InvalidArgument(
            f"learner is a {type(learner).__name__}, which reads no features",
            "give one of the rank, choose, label or filter loop that has a dim",
        )
    if learner.dim != dim:
        raise InvalidArgument(
            f"the learner has dim={learner.dim} and the vectorizer dim={dim}", "give both the same dim"
        )
    return loops


def encoded_in(decision: Decision, dim: int) -> Encoded:
    """What a decision on records holds."""
    encoded = decision.context
    if not isinstance(encoded, Encoded) or encoded.dim != dim:
        raise DecisionMismatch(
            f"decision {decision.id} holds a {type(encoded).__name__}, not an encoded record", "give it whole"
        )
    return encoded


def as_context(encoded: Encoded, columns: NDArray[np.uint32]) -> Any:
    """What a learner decides on, the new names in these columns: a row, a ranking problem or a choice."""
    starts, indices, values = encoded.with_columns(columns)
    if not encoded.candidates:
        return Row(read_only(indices), writable(values), encoded.dim)
    rows = SparseRows(read_only(values), read_only(indices.astype(np.int64)), read_only(starts), encoded.dim)
    return Choice(rows) if encoded.top is None else Ranking(rows, encoded.top)


def prepared(inner: Learner, context: Any) -> Any:
    """A context as the inner learner keeps it in a decision: a row is checked, and scaled, by its own entrance."""
    return inner._row(context) if isinstance(context, Row) and hasattr(inner, "_row") else context


def on_columns(inner: Learner, decision: Decision, columns: NDArray[np.uint32]) -> Decision:
    """A decision on records as the learner that reads rows has it, the new names in these columns."""
    context = prepared(inner, as_context(decision.context, columns))
    return structs.replace(decision, kind=inner._kind, settings=inner._settings, context=context)


def explained(features: Vectorizer, inner: Learner, decision: Decision) -> Explanation:
    """What each feature adds to the answer's score and to its nearest rival's, under the present weights."""
    encoded = encoded_in(decision, features.dim)
    columns = features.planned(encoded)[1]
    names = dict(zip(columns.tolist(), encoded.names, strict=True)) | dict(features.named_columns())
    starts, indices, values = encoded.with_columns(columns)
    weights = inner.weights
    if encoded.candidates:
        seen = getattr(inner, "seen_rows", None)
        if seen is not None:  # as the inner learner scales them
            rows = seen(as_context(encoded, columns))
            starts, indices, values = rows.indptr, rows.indices, rows.data
        return of_candidates(decision, Named(starts, indices, values, names), weights)
    row = prepared(inner, Row(read_only(indices), writable(values), features.dim))  # as the inner learner scales it
    labels = list(getattr(inner, "labels", ()))
    return of_record(decision, Named(starts, row.indices, row.values, names), weights, labels)


def by_position(feedback: Any, encoded: Encoded) -> Any:
    """Feedback by ids (one, a list, or one with its reward) as feedback by positions."""
    if encoded.ids is None or not isinstance(feedback, (str, list, tuple)):
        return feedback
    places = {each: place for place, each in enumerate(encoded.ids)}
    try:
        if isinstance(feedback, str):
            return places[feedback]
        if len(feedback) == 2 and isinstance(feedback[0], str) and isinstance(feedback[1], (int, float)):
            return places[feedback[0]], feedback[1]
        if feedback and all(isinstance(each, str) for each in feedback):
            return np.array([places[each] for each in feedback], np.int64)
    except KeyError as error:
        raise InvalidFeedback(
            f"{error.args[0]!r} is not the id of a candidate", "name candidates that were offered"
        ) from None
    return feedback
