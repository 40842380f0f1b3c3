"""Several slots in one request: which candidate may go where, and the rewards by slot.

A page has a hero and two sides. One request fills all of them, no candidate twice, slot by slot in the order given:
each slot is a choice among the candidates that are left. A slot's id and features are part of the context of its
choice, in its field ``slot``: the feature ``context.slot.id=hero`` and its crosses with the candidates tell the slots
apart, and all other features are shared by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from smidgen import checks
from smidgen.decision import Decision, IntArray
from smidgen.errors import InvalidArgument, InvalidFeatures, InvalidFeedback
from smidgen.features.parse import plain_record, shown
from smidgen.features.rows import DenseRows, Direction, Rows, SparseRows, longest_row
from smidgen.serialization import same, structure
from smidgen.structures.choice import Choice, Mask

#: The most slots of one request, and characters of a slot's id.
MOST_SLOTS, LONGEST_ID = 50, 256
#: The field of a context that holds the id and the features of a slot.
FIELD = "slot"
#: Slots as a decision keeps them: the id of each, and the positions of the candidates that it must not show.
Entries: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]


class Slot(NamedTuple):
    """A place of a page.

    Attributes
    ----------
    id
        Its name.
    features
        A record of what is known of it; None is an empty one.
    exclude
        Ids of candidates that it must not show; positions, if the candidates have no ids.
    """

    id: str
    features: Any = None
    exclude: tuple[str | int, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """The fields that are given, as JSON would say them."""
        own = {} if self.features is None else {"features": plain_record(self.features)}
        return {"id": self.id, **own, **({"exclude": list(self.exclude)} if self.exclude else {})}

    def context(self, context: Any) -> dict[str, Any]:
        """The context of the choice for this slot."""
        about = {} if context is None else dict(plain_record(context))
        own = {} if self.features is None else dict(plain_record(self.features))
        if FIELD in about:
            raise InvalidFeatures(
                f'the context has a field "{FIELD}"', "give it another name: the slot's id and features stand there"
            )
        if _has_vector(own):
            raise InvalidFeatures(
                "the features of a slot hold a vector", "put vectors into the context or the candidates"
            )
        if "id" in own:
            raise InvalidFeatures('the features of a slot have a field "id"', "give it another name")
        return {**about, FIELD: {"id": self.id, **own}}


def _has_vector(value: Any) -> bool:
    """Check whether a record holds a list of numbers."""
    if isinstance(value, Mapping):
        return any(map(_has_vector, value.values()))
    return isinstance(value, np.ndarray) or (isinstance(value, list) and any(not isinstance(x, str) for x in value))


def read_slots(given: Any) -> tuple[Slot, ...]:
    """Check slots: ids, or mappings with the fields of `Slot`."""
    hint = f'give 1 to {MOST_SLOTS} slots, e.g. slots=["hero", {{"id": "side", "exclude": ["a"]}}]'
    if isinstance(given, str | Mapping) or not hasattr(given, "__iter__"):
        raise InvalidArgument(f"slots is {shown(given)}", hint)
    found = [_slot(each, i) for i, each in enumerate(given)]
    if not 1 <= len(found) <= MOST_SLOTS:
        raise InvalidArgument(f"there are {len(found)} slots", hint)
    ids = [slot.id for slot in found]
    if len(set(ids)) < len(ids):
        twice = next(id for id in ids if ids.count(id) > 1)
        raise InvalidArgument(f"two slots have the id {twice!r}", "give each slot its own id")
    return tuple(found)


def _slot(given: Any, i: int) -> Slot:
    place = f"slots[{i}]"
    if isinstance(given, Slot):
        given = given._asdict()
    fields = {"id": given} if isinstance(given, str) else given
    if not isinstance(fields, Mapping) or "id" not in fields:
        raise InvalidArgument(f"{place} is {shown(given)}", 'give an id, or a mapping, e.g. {"id": "hero"}')
    for name in fields:
        if name not in Slot._fields:
            raise InvalidArgument(f"{place} has the unknown field {name!r}", checks.suggest(name, Slot._fields))
    id, exclude = fields["id"], fields.get("exclude") or ()
    if not isinstance(id, str) or not 1 <= len(id) <= LONGEST_ID:
        raise InvalidArgument(f"{place}.id is {shown(id)}", f"give a string of 1 to {LONGEST_ID} characters")
    if isinstance(exclude, str | Mapping) or not isinstance(exclude, Sequence | np.ndarray):
        raise InvalidArgument(f"{place}.exclude is {shown(exclude)}", "give a list of ids of candidates")
    return Slot(id, fields.get("features"), tuple(exclude))


def slot_entries(slots: Sequence[Slot], ids: Sequence[str | int] | None, n: int) -> Entries:
    """Slots as decisions keep them, for ``n`` candidates; refuse slots that cannot all be filled."""
    places = range(n) if ids is None else ids
    index = {str(id): i for i, id in enumerate(places)}
    out: list[tuple[str, tuple[int, ...]]] = []
    for i, slot in enumerate(slots):
        for each in slot.exclude:
            if str(each) not in index:
                raise InvalidArgument(
                    f"slots[{i}].exclude names {each!r}, which is not a candidate", checks.suggest(each, index)
                )
        out.append((slot.id, tuple(sorted({index[str(each)] for each in slot.exclude}))))
    Layout(tuple(out), n)
    return tuple(out)


class Layout:
    """Candidates that each slot may show.

    A candidate that a later slot cannot do without is kept for it.

    Parameters
    ----------
    entries
        The slots.
    n
        The number of candidates.

    Examples
    --------
    >>> from smidgen.structures.slots import Layout
    >>> layout = Layout((("hero", ()), ("side", (0, 1))), 3)
    >>> layout.open(0, []).tolist(), layout.open(1, [0]).tolist()
    ([True, True, False], [False, False, True])
    """

    def __init__(self, entries: Entries, n: int) -> None:
        self._excluded, self._n = [list(excluded) for _, excluded in entries], n
        many = len(entries)
        # a slot that may show as many candidates as there are slots can always be filled last
        self._tight = {
            i: set(range(n)).difference(excluded)
            for i, excluded in enumerate(self._excluded)
            if n - len(excluded) < many
        }
        if n < many or self._match(-1, []) is None:
            why = "slots exclude too many of them" if n >= many else "no candidate is shown twice"
            places = "1 slot" if many == 1 else f"{many} slots"
            raise InvalidArgument(
                f"{places} cannot be filled with {n} candidate{'s' if n != 1 else ''}: {why}",
                "send more candidates, or fewer slots",
            )

    def open(self, i: int, taken: Sequence[int]) -> Mask:
        """The candidates that slot i may show once the slots before it show others."""
        mask = np.ones(self._n, np.bool_)
        mask[self._excluded[i]] = False
        mask[np.asarray(taken, np.int64)] = False
        for candidate in self._match(i, taken) or {}:
            if mask[candidate] and self._match(i, [*taken, candidate]) is None:
                mask[candidate] = False
        return mask

    def _match(self, i: int, taken: Sequence[int]) -> dict[int, int] | None:
        """One way to fill the slots after slot i that have few candidates: slots by candidate; None if none does."""
        gone, matched = set(taken), dict[int, int]()
        sets = {j: allowed - gone for j, allowed in self._tight.items() if j > i}
        return matched if all(_fill(sets, matched, j, set()) for j in sets) else None


def _fill(sets: Mapping[int, set[int]], matched: dict[int, int], j: int, tried: set[int]) -> bool:
    """Find a candidate for a slot, moving other slots where that helps."""
    for candidate in sets[j]:
        if candidate not in tried:
            tried.add(candidate)
            if candidate not in matched or _fill(sets, matched, matched[candidate], tried):
                matched[candidate] = j
                return True
    return False


@structure
class Page:
    """Rows of candidates for several slots: a `Choice` for each.

    Parameters
    ----------
    choices
        For each slot, all candidates as that slot sees them.
    entries
        The slots.
    """

    __slots__ = ("choices", "entries", "layout")

    def __init__(self, choices: Sequence[Choice], entries: Entries) -> None:
        self.choices, self.entries = tuple(choices), entries
        self.layout = Layout(entries, len(self.choices[0]))

    def __len__(self) -> int:
        return len(self.choices)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Page) and same(self.to_record(), other.to_record())

    def __repr__(self) -> str:
        return f"Page({len(self)} slots, {len(self.choices[0])} candidates x {self.choices[0].dim} features)"

    @property
    def slot_ids(self) -> tuple[str, ...]:
        """The ids of the slots."""
        return tuple(id for id, _ in self.entries)

    def at(self, i: int, kept: IntArray) -> Choice:
        """The choice of one slot among some of the candidates."""
        choice = self.choices[i]
        made = Choice(pick_rows(choice.rows, kept))
        if choice.costs is not None:
            made.costs = {name: amounts[kept] for name, amounts in choice.costs.items()}
        return made

    def all_rows(self) -> Rows:
        """The rows of all slots, those of the first slot first."""
        first, *others = [choice.rows for choice in self.choices]
        rows = first
        for more in others:
            rows = rows.stacked(more)
        rows.arms = np.tile(first.arms, len(self)) if len(first.arms) else first.arms
        return rows

    def longest(self) -> float:
        """The length of the longest row."""
        return max(longest_row(choice.rows) for choice in self.choices)

    def scaled(self, factor: float, /) -> Page:
        """Copy with all features multiplied by a factor."""
        return Page([choice.scaled(factor) for choice in self.choices], self.entries)

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild it."""
        return {"choices": [choice.to_record() for choice in self.choices], "entries": self.entries}

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Page:
        """Rebuild from `to_record`."""
        return cls([Choice.from_record(each) for each in fields["choices"]], fields["entries"])


def pick_rows(rows: Rows, kept: IntArray) -> Rows:
    """Some of the rows, with the names of their candidates."""
    if isinstance(rows, DenseRows):
        out: Rows = DenseRows(rows.array[kept])
    else:
        parts = [np.arange(rows.indptr[i], rows.indptr[i + 1]) for i in kept.tolist()]
        where = np.concatenate(parts) if parts else np.empty(0, np.int64)
        ends = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        out = SparseRows(rows.data[where], rows.indices[where], ends, rows.dim)
    if len(rows.arms):
        out.arms = rows.arms[kept]
    if (way := rows.direction) is not None:
        names = way.names[kept] if len(way.names) else way.names
        out.direction = Direction(way.columns, way.values, way.groups[kept], names)
    return out


def slot_feedback(slots: Sequence[str], feedback: Any) -> list[tuple[int, Any]]:
    """Feedback of each slot, in the order of the slots: by its id, or one value for all."""
    if not isinstance(feedback, Mapping):
        return [(i, feedback) for i in range(len(slots))]
    if not feedback:
        raise InvalidFeedback("there are no rewards", f'give rewards by slot, e.g. {{"{slots[0]}": 1.0}}')
    for id in feedback:
        if id not in slots:
            raise InvalidFeedback(f"{id!r} is not a slot of this decision", checks.suggest(id, slots))
    return [(i, feedback[id]) for i, id in enumerate(slots) if id in feedback]


class SlotDecision(NamedTuple):
    """Decision for one slot.

    Attributes
    ----------
    slot
        The slot's id.
    kept
        The positions of the candidates that were left for it.
    decision
        A decision among these, as if there were no other slots: its propensity is conditional on the slots before.
    """

    slot: str
    kept: IntArray
    decision: Decision


def by_slot(decision: Decision) -> Iterator[SlotDecision]:
    """A decision with several slots as single decisions, one after the other."""
    context, actions = decision.context, decision.actions or ()
    entries: Entries = context.entries
    layout = Layout(entries, n_candidates(context))
    for i, (slot, _) in enumerate(entries):
        kept = np.flatnonzero(layout.open(i, actions[:i]))
        places = {int(candidate): place for place, candidate in enumerate(kept)}
        chances = _row(decision.propensities, i, kept)
        action, scores = places[actions[i]], _row(decision.scores, i, kept)
        best = action if scores is None or not decision.explored else int(np.argmax(scores))
        costs = {name: _row(each, i, kept) for name, each in (decision.costs or {}).items()}
        single = structs.replace(
            decision,
            action=action,
            greedy=best,
            context=context.at(i, kept),
            explored=action != best,
            propensity=None if chances is None else float(chances[action]),
            propensities=chances,
            scores=scores,
            widths=_row(decision.widths, i, kept),
            costs=costs or None,
        )
        yield SlotDecision(slot, kept, single)


def n_candidates(context: Any) -> int:
    """The number of candidates of a request with several slots."""
    return len(context.choices[0]) if isinstance(context, Page) else len(context) // len(context.entries)


def _row(table: NDArray[Any] | None, i: int, kept: IntArray) -> Any:
    return None if table is None else table[i][kept]
