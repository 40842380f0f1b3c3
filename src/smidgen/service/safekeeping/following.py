"""A model's events from the first to the last: the chain, the numbers, and what the counts must be at the end."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from smidgen.errors import InvalidRecord
from smidgen.service.store import bodies
from smidgen.service.store.bases import RETAINED, Base
from smidgen.service.store.events import ERASED, Chain, Event
from smidgen.service.store.rows import Counts, ModelRow

#: Types after which the first event is no longer all that is known of the settings.
_CHANGES = ("amended", "imported", "promoted")


class Following:
    """Follows the log of one model; says what is wrong as pairs of a code and words.

    Parameters
    ----------
    row
        The model as its table has it.
    counts
        How far it is, as its table has it.
    base, digest
        Where the log begins, if not with its first event, and the digest of that.
    """

    def __init__(self, row: ModelRow, counts: Counts, base: Base | None = None, digest: bytes = b"") -> None:
        self._row = row
        self._counts = counts
        self._base = base
        self._digest = digest
        self._told: bytes | None = None
        self._chain = Chain(base.seq, base.chain) if base is not None else Chain()
        self._created: Event | None = None
        self._version = base.version if base is not None else 0
        self._decisions = base.decisions if base is not None else 0
        self._late = base.late if base is not None else 0
        self._erased = False
        self._changed = False
        self.events = 0

    def take(self, event: Event) -> Iterator[tuple[str, str]]:
        """Take the next event."""
        self.events += 1
        if (problem := self._chain.take(event)) is not None:
            yield "chain", problem
        if event.seq == 1:
            self._created = event
        if event.made is not None:
            if event.made != self._version + 1:
                yield "chain", f"event {event.seq} made version {event.made} after version {self._version}"
            self._version = event.made
        self._decisions += event.type == "decision"
        self._late += event.type == "feedback" and event.made is None
        self._erased = self._erased or event.type == ERASED
        self._changed = self._changed or event.type in _CHANGES
        if event.type == RETAINED and self._base is not None:
            fields = bodies.read_fields(event.body, event.seq)
            self._told = fields.get("digest") if fields.get("base") == self._base.seq else self._told

    def end(self) -> Iterator[tuple[str, str]]:
        """There is no more; hold the counts against what there was."""
        kept = self._counts
        if self._chain.seq != kept.seq or self._chain.chain != kept.chain:
            yield "counts", f"the log ends with event {self._chain.seq} and should end with {kept.seq}"
        if kept.version != self._version:
            yield "counts", f"the version that is kept is {kept.version} and the log makes it {self._version}"
        if not self._erased:  # of what was forgotten, nobody knows what it was
            for what, count, counted in (
                ("decisions", kept.decisions, self._decisions),
                ("late answers", kept.late, self._late),
            ):
                if count != counted:
                    yield "counts", f"{count} {what} are counted and the log has {counted}"
        if self._base is not None and self._told != self._digest:
            yield "base", f"the base state at event {self._base.seq} is not the one that the log tells of"
        yield from self._settings()

    def _settings(self) -> Iterator[tuple[str, str]]:
        """The table's settings are those of the first event, which the chain covers."""
        if self._created is None or self._created.type != "created" or self._changed:
            return
        try:
            told = bodies.read_fields(self._created.body, 1)
        except InvalidRecord as error:
            yield "settings", error.problem
            return
        asked = msgspec.json.decode(self._row.body)
        if told.get("model", asked) != asked or told.get("resolved", self._row.resolved) != self._row.resolved:
            yield "settings", "the settings in the table of models are not those that it was made with"
