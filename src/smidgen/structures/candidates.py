"""Candidates as people have them: records, by id or by position, and the context that they are offered in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smidgen import checks
from smidgen.errors import InvalidFeatures
from smidgen.features import limits
from smidgen.features.batch import listed
from smidgen.features.parse import as_record, plain, shown
from smidgen.records import structure


@structure
class Candidates:
    """What may be shown, described by records; a `Pipeline` ranks them or chooses one.

    Parameters
    ----------
    records
        A mapping of ids (strings or ints) to records, or a list of records, or a frame with one row per candidate.
        Candidates of a mapping have an id, which is a category like any other; those of a list have none.
    context
        A record of what is the same for all of them: the device, the hour, the user.
    top
        How many places of a ranking count. With it a ranking is decided, without it one item is chosen.

    Examples
    --------
    >>> import smidgen
    >>> banners = smidgen.Candidates({"a": {"topic": "art"}, "b": {"topic": "cars"}}, context={"device": "ios"})
    >>> banners
    Candidates(2 by id, with a context, to choose from)
    >>> banners.ids
    ('a', 'b')
    """

    __slots__ = ("context", "ids", "records", "top")

    def __init__(self, records: Any, context: Any = None, top: int | None = None) -> None:
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

    def __len__(self) -> int:
        return len(self.records)

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild these candidates: their records as JSON would say them."""
        about = None if self.context is None else _plain(as_record(self.context))
        ids = None if self.ids is None else list(self.ids)
        return {
            "records": [_plain(as_record(each)) for each in self.records],
            "ids": ids,
            "context": about,
            "top": self.top,
        }

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Candidates:
        """Rebuild from `to_record`."""
        records, ids = fields["records"], fields["ids"]
        given = records if ids is None else dict(zip(ids, records, strict=True))
        return cls(given, context=fields["context"], top=fields["top"])

    def __repr__(self) -> str:
        by = "id" if self.ids is not None else "position"
        about = ", with a context" if self.context is not None else ""
        what = "to choose from" if self.top is None else f"to rank, top={self.top}"
        return f"Candidates({len(self)} by {by}{about}, {what})"


def _plain(value: Any) -> Any:
    """A record's values as JSON would say them, objects inside objects too."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else plain(value)


def _as_ids(ids: tuple[Any, ...]) -> tuple[str | int, ...]:
    for each in ids:
        if not isinstance(each, str) and not checks.is_whole(each):
            raise InvalidFeatures(f"a candidate's id is {shown(each)}", "give a string or a whole number")
        if len(str(each)) > limits.KEY:
            raise InvalidFeatures(f"a candidate's id is {shown(each)}", f"give at most {limits.KEY} characters")
    if len({str(each) for each in ids}) < len(ids):
        twice = next(each for each in ids if isinstance(each, str) and any(str(o) == each and o != each for o in ids))
        raise InvalidFeatures(f"{twice!r} and {int(twice)} are both ids", "give each candidate an id of its own")
    return tuple(each if isinstance(each, str) else int(each) for each in ids)
