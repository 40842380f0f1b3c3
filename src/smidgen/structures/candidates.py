"""Candidates as records: their ids or positions, the context that they are offered in, and the slots that they fill."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from smidgen import checks
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, InvalidFeatures
from smidgen.features import limits
from smidgen.features.batch import listed
from smidgen.features.frames import frame_records, is_frame
from smidgen.features.parse import plain_record, shown
from smidgen.serialization import structure
from smidgen.settings import CallMeta
from smidgen.structures.choice import known_costs, written_costs
from smidgen.structures.slots import Entries, Slot, read_slots, slot_entries


@structure
class Candidates(metaclass=CallMeta):
    """Candidates described by records; a `Pipeline` ranks them or chooses one.

    Parameters
    ----------
    records
        A mapping of ids (strings or ints) to records, or a list of records, or a frame with one row per candidate.
        Candidates of a mapping have an id, which is a category like any other; those of a list have none.
    context
        A record of what is the same for all of them: the device, the hour, the user.
    top
        How many places of a ranking count. With it a ranking is decided, without it one item is chosen.
    costs
        What each candidate costs, for learners with a `Budget`: as in `Choice`, or a mapping of ids to amounts by
        currency. Left out, a field ``costs`` of a record that is an object of numbers is taken, and is no feature:
        ``{"small": {"costs": {"usd": 0.001}}}``.
    slots
        Several places that are filled in one decision, in this order, no candidate twice: ids, or mappings with the
        fields ``id``, ``features`` (a record) and ``exclude`` (ids of candidates). Left out: one item is chosen.

    Examples
    --------
    >>> import smidgen
    >>> banners = smidgen.Candidates({"a": {"topic": "art"}, "b": {"topic": "cars"}}, context={"device": "ios"})
    >>> banners
    Candidates(2 by id, with a context, to choose from)
    >>> banners.ids
    ('a', 'b')
    >>> smidgen.Candidates({"a": {}, "b": {}, "c": {}}, slots=["hero", {"id": "side", "exclude": ["a"]}])
    Candidates(3 by id, to fill 2 slots)
    """

    __slots__ = ("context", "costs", "ids", "records", "slots", "top")

    def __init__(
        self, records: Any, context: Any = None, top: int | None = None, costs: Any = None, slots: Any = None
    ) -> None:
        self.ids: tuple[str | int, ...] | None = None
        if isinstance(records, Mapping):
            self.ids = _as_ids(tuple(records))
            self.records: list[Any] = [{} if record is None else record for record in records.values()]
        else:
            self.records = listed(records)
        self.context = context
        self.top = None if top is None else checks.whole("top", top, "give the number of places that count, e.g. top=5")
        if not 1 <= len(self.records) <= limits.CANDIDATES:
            raise InvalidFeatures(
                f"there are {len(self.records):,} candidates", f"give 1 to {limits.CANDIDATES:,} of them"
            )
        #: By currency, what each candidate costs; NaN where it is not known.
        self.costs: dict[str, FloatArray] | None = None
        if costs is None:
            self._take_costs()
        elif costs:
            if self.ids is not None and isinstance(costs, Mapping) and any(each in costs for each in self.ids):
                costs = [costs.get(each) for each in self.ids]
            self.costs = known_costs(costs, len(self))
        #: The places that are filled; empty where one item is chosen, or all are ranked.
        self.slots: tuple[Slot, ...] = () if slots is None else read_slots(slots)
        if self.slots and top is not None:
            raise InvalidArgument("top and slots are given", "give top to rank, or slots to fill several places")
        if self.slots:
            slot_entries(self.slots, self.ids, len(self))

    @property
    def entries(self) -> Entries:
        """The slots as a decision keeps them."""
        return slot_entries(self.slots, self.ids, len(self)) if self.slots else ()

    def for_slots(self) -> list[Candidates]:
        """For each slot the same candidates, with the slot in their context."""
        found = []
        for slot in self.slots:
            made = copy(self)
            made.context, made.slots = slot.context(self.context), ()
            found.append(made)
        return found

    def _take_costs(self) -> None:
        """Take the field ``costs`` of records, where it is an object, as what the candidates cost."""
        if type(self.records) is not list or not any(
            type(each) is dict and type(each.get("costs")) is dict for each in self.records
        ):
            return
        costs = [each.get("costs") if type(each) is dict else None for each in self.records]
        found = [each if type(each) is dict else None for each in costs]
        self.costs = known_costs(found, len(self))
        self.records = [
            each if cost is None else {name: value for name, value in each.items() if name != "costs"}
            for each, cost in zip(self.records, found, strict=True)
        ]

    def __len__(self) -> int:
        return len(self.records)

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild these candidates: their records as JSON would say them."""
        about = None if self.context is None else plain_record(self.context)
        ids = None if self.ids is None else list(self.ids)
        costs = {} if self.costs is None else {"costs": written_costs(self.costs)}
        slots = {"slots": [slot.to_record() for slot in self.slots]} if self.slots else {}
        return {
            "records": [
                plain_record(each) for each in (frame_records(self.records) if is_frame(self.records) else self.records)
            ],
            "ids": ids,
            "context": about,
            "top": self.top,
            **costs,
            **slots,
        }

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Candidates:
        """Rebuild from `to_record`."""
        records, ids = fields["records"], fields["ids"]
        given = records if ids is None else dict(zip(ids, records, strict=True))
        return cls(
            given,
            context=fields["context"],
            top=fields["top"],
            costs=fields.get("costs") or (),
            slots=fields.get("slots"),
        )

    def __repr__(self) -> str:
        by = "id" if self.ids is not None else "position"
        about = ", with a context" if self.context is not None else ""
        what = "to choose from" if self.top is None else f"to rank, top={self.top}"
        if self.slots:
            what = f"to fill {len(self.slots)} slot{'s' if len(self.slots) > 1 else ''}"
        return f"Candidates({len(self)} by {by}{about}, {what})"


def _as_ids(ids: tuple[Any, ...]) -> tuple[str | int, ...]:
    for each in ids:
        if not isinstance(each, str) and not checks.is_whole(each):
            raise InvalidFeatures(f"a candidate's id is {shown(each)}", "give a string or a whole number")
        if len(str(each)) > limits.KEY:
            raise InvalidFeatures(f"a candidate's id is {shown(each)}", f"give at most {limits.KEY} characters")
    if len({str(each) for each in ids}) < len(ids):
        twice = next(each for each in ids if isinstance(each, str) and any(str(o) == each and o != each for o in ids))
        raise InvalidFeatures(f"{twice!r} and {int(twice)} are both ids", "give each candidate its own id")
    return tuple(each if isinstance(each, str) else int(each) for each in ids)
