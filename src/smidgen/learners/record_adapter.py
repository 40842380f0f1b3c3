"""Adapter between records and the learners that read rows: encode a record, and build a learner's context from it.

`RecordAdapter` has no state of its own: names and statistics belong to a `Vectorizer`. The functions below convert
decisions and feedback on records into those of the learner that reads the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from smidgen import checks, serialization
from smidgen.arrays import read_only, writable
from smidgen.decision import Decision
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidFeatures, InvalidFeedback
from smidgen.features import Encoded, Row, SparseRows, Vectorizer
from smidgen.features.frames import is_frame
from smidgen.features.parse import plain_record
from smidgen.features.rows import NO_ARMS, Direction, arm_names
from smidgen.features.vectors import from_extension, to_extension
from smidgen.learners.base import Learner
from smidgen.learners.card import Loop
from smidgen.structures import Candidates, Choice, Ranking
from smidgen.structures.slots import Page

#: Loops whose contexts are candidates, and loops whose contexts are single records.
OFFERS, SINGLES = frozenset((Loop.RANK, Loop.CHOOSE)), frozenset((Loop.LABEL, Loop.FILTER, Loop.TUNE))


class RecordAdapter:
    """Adapter between records and a learner that reads rows.

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
        self._keeps = learner.keeps_rows
        self._fills = bool(getattr(learner, "fills_slots", False))
        self._crosses = bool(getattr(learner, "takes_directions", False))  # whether it crosses vectors itself
        self._most = dim if Loop.TUNE in self.loops else None  # features of a record
        self._latest: tuple[Encoded, int] | None = None  # what was encoded last, and what was known then

    def encode(self, features: Vectorizer, context: Any, *, deciding: bool = False) -> Encoded:
        """Encode a record, or candidates, by the names and statistics known; refuse what the learner cannot decide on.

        What is encoded for a decision is remembered: feedback that comes at once need not encode it again.
        """
        if isinstance(context, Encoded) and context.dim == features.dim:
            return context  # of a decision of its own
        made = self._encoded(features, context)
        if not self._keeps and (made.names or len(made.slots) or len(made.terms) or made.vectors):
            made = structs.replace(made, source=source_of(context))
            if deciding:
                self._latest = made, features.changes
        return made

    def again(self, features: Vectorizer, encoded: Encoded) -> Encoded:
        """Encode again by the present names and statistics, to be learnt, as rows that do not change later.

        If the record is not kept, or the learner needs the rows that decided, return these rows.
        """
        if encoded.source is None or self._keeps or encoded.dim != features.dim:
            return encoded.settled()
        if self._latest is not None and self._latest[0] is encoded and self._latest[1] == features.changes:
            return encoded.settled()
        try:
            made = self._encoded(features, from_source(encoded.source))
        except InvalidFeatures as error:
            raise DecisionMismatch(
                f"the record of a decision cannot be read: {error.problem}", "give it whole"
            ) from error
        if (
            len(made) != len(encoded)
            or made.candidates != encoded.candidates
            or made.ids != encoded.ids
            or made.entries != encoded.entries
        ):
            raise DecisionMismatch("the record of a decision is not that of its rows", "give it whole")
        return made

    def _encoded(self, features: Vectorizer, context: Any) -> Encoded:
        if isinstance(context, Candidates):
            wanted = Loop.CHOOSE if context.top is None else Loop.RANK
            if wanted not in self.loops:
                raise InvalidArgument(
                    f"the context is {context!r}, and a {self._kind} supports {', '.join(self.loops)}",
                    "give top=… to rank, omit it to choose" if self.loops & OFFERS else "give one record",
                )
            if context.slots and not self._fills:
                raise InvalidArgument(
                    f"slots are given, and a {self._kind} fills none", "use a learner that chooses by reward"
                )
            return features.encode_candidates(context, self._mains, self._crosses)
        if not self.loops & SINGLES:
            raise InvalidFeatures(
                f"the context is a {type(context).__name__}, and a {self._kind} compares candidates",
                "give Candidates(records, context=…, top=…)",
            )
        encoded = features.encode(context)
        if self._most is not None and (found := len(encoded.indices) + len(encoded.names)) > self._most:
            raise InvalidFeatures(
                f"the record has {found} features, and a {self._kind} has {self._most} columns for them",
                "leave fields out, or give vectors fewer columns (the setting vectors)",
            )
        return encoded


def source_of(context: Any) -> bytes | None:
    """A record, or candidates, as bytes; None of one that says what MessagePack cannot."""
    try:
        if isinstance(context, Candidates):
            tabular = is_frame(context.records) or all(type(each) is dict for each in context.records)
            return msgspec.msgpack.encode([context.to_record(), tabular], enc_hook=to_extension)
        return msgspec.msgpack.encode(plain_record(context), enc_hook=to_extension)
    except (OverflowError, UnicodeEncodeError, TypeError):
        return None


def from_source(source: bytes) -> Any:
    """Read what `source_of` wrote."""
    try:
        found = msgspec.msgpack.decode(source, ext_hook=from_extension)
        if not isinstance(found, list):
            return found
        offer = Candidates.from_record(found[0])
        if not found[1]:  # records of other kinds than dicts are read one by one, and new names come in that order
            offer.records = [MappingProxyType(each) for each in offer.records]
        return offer
    except (*serialization.UNREADABLE, TypeError, KeyError, IndexError, AttributeError) as error:
        raise InvalidFeatures(f"it is damaged: {error}", "give what decide made") from error


def vectors_in(encoded: Encoded) -> list[tuple[str, NDArray[np.float32]]]:
    """Return the vectors of what was encoded, as they were sent: path and numbers; none where that is not kept."""
    if encoded.source is None:
        return []
    found: list[tuple[str, NDArray[np.float32]]] = []

    def collect(value: Any, path: str) -> None:
        if isinstance(value, np.ndarray):
            found.append((path, value))
        elif isinstance(value, dict):
            for name, each in value.items():
                collect(each, f"{path}.{name}" if path else name)

    try:
        content = msgspec.msgpack.decode(encoded.source, ext_hook=from_extension)
    except (*serialization.UNREADABLE, ValueError):
        return []
    if isinstance(content, list):
        for each in content[0]["records"]:
            collect(each, "")
        collect(content[0]["context"], "context")
    else:
        collect(content, "")
    return found


def loops_read(learner: Any, dim: int) -> frozenset[str]:
    """The loops that an inner learner serves."""
    loops = frozenset(learner.card.loops) & (OFFERS | SINGLES)
    if not loops or not hasattr(learner, "dim"):
        raise InvalidArgument(
            f"learner is a {type(learner).__name__}, which uses no features",
            "give one of the rank, choose, label or filter loop that has a dim",
        )
    if learner.dim != dim:
        raise InvalidArgument(
            f"the learner has dim={learner.dim} and the vectorizer dim={dim}", "give both the same dim"
        )
    return loops


def encoded_in(decision: Decision, dim: int) -> Encoded:
    """The encoded record, or candidates, of a decision."""
    if not isinstance(decision, Decision):
        raise InvalidArgument(f"{checks.shown(decision)} is not a Decision", "pass what decide returned")
    encoded = decision.context
    if not isinstance(encoded, Encoded) or encoded.dim != dim:
        raise DecisionMismatch(
            f"decision {decision.id} holds a {type(encoded).__name__}, not an encoded record",
            "pass the decision as decide returned it",
        )
    return encoded


def as_context(encoded: Encoded, columns: NDArray[np.uint32]) -> Any:
    """The learner's context, with the new names in these columns: a row, a ranking problem or a choice."""
    if encoded.entries:
        every = np.arange(len(encoded) // len(encoded.entries))
        slots = [as_context(encoded.at(i, every), columns) for i in range(len(encoded.entries))]
        return Page(slots, encoded.entries)
    starts, indices, values = encoded.with_columns(columns)
    if not encoded.candidates:
        return Row(read_only(indices), writable(values), encoded.dim)
    rows = SparseRows(read_only(values), read_only(indices.astype(np.int64)), read_only(starts), encoded.dim)
    if encoded.ids is not None:
        rows.arms = arm_names(encoded.ids)
    if len(encoded.direction):
        n = len(encoded)
        where, groups = encoded.direction_with(columns), encoded.groups.reshape(n, len(encoded.groups) // n)
        names = NO_ARMS if encoded.ids is None else rows.arms
        values = encoded.direction
        if len(set(where.tolist())) < len(where):  # features that share a column are added up
            where, place = np.unique(where, return_inverse=True)
            values = np.zeros(len(where))
            np.add.at(values, place, encoded.direction)
        rows.direction = Direction(where, values, groups, names)
    return Choice(rows) if encoded.top is None else Ranking(rows, encoded.top)


def with_costs(offer: Any, context: Any) -> Any:
    """Rows to choose from, with the costs that the candidates of a context have."""
    if isinstance(context, Candidates) and isinstance(offer, Choice | Page):
        for choice in offer.choices if isinstance(offer, Page) else (offer,):
            choice.costs = context.costs
    return offer


def known_rows(encoded: Encoded) -> SparseRows:
    """The rows of candidates, without names that had no column when they were encoded."""
    indices = read_only(encoded.indices.astype(np.int64))
    rows = SparseRows(read_only(encoded.values), indices, read_only(encoded.starts), encoded.dim)
    if encoded.ids is not None:
        rows.arms = np.tile(arm_names(encoded.ids), max(len(encoded.entries), 1))
    return rows


def prepared(inner: Learner, context: Any) -> Any:
    """A context as the inner learner keeps it in a decision: a row is checked, and scaled, by its own entrance."""
    return inner._row(context) if isinstance(context, Row) and hasattr(inner, "_row") else context


def on_columns(inner: Learner, decision: Decision, columns: NDArray[np.uint32]) -> Decision:
    """A decision on records as the learner that reads rows has it, the new names in these columns."""
    context = prepared(inner, as_context(decision.context, columns))
    return structs.replace(decision, kind=inner._kind, settings=inner._settings, context=context)


def by_position(feedback: Any, encoded: Encoded) -> Any:
    """Feedback by ids (one, a list, or one with its reward) as feedback by positions."""
    if encoded.entries and isinstance(feedback, Mapping):
        single = structs.replace(encoded, entries=())
        return {slot: by_position(each, single) for slot, each in feedback.items()}
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
