"""What others wrote to a slot since this writer held it before, fetched with the lock where they lately did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from smidgen.service.store.counting import Counting
from smidgen.service.store.events import Event
from smidgen.service.store.postgres_wire import Sent, call
from smidgen.service.store.rows import Counts
from smidgen.service.store.sql_reads import event_of

#: How many events of a slot are fetched, of how many slots, and how often in vain before it is left to who needs it.
_MOST, _SLOTS, _PATIENCE = 128, 32, 16
_NUMBERS = "CAST(string_to_array(?{n}, ',') AS BIGINT[])"
_GIVEN = ", ".join(_NUMBERS.format(n=n) for n in (1, 2, 3))
# The decision belongs to what changes weights. What is large is not fetched ahead.
_SINCE = """
    SELECT f.slot, f.seq, f.type, f.version, f.at, f.decision, f.key, f.made, f.salt, f.chain, f.content,
           d.seq, d.type, d.version, d.at, d.decision, d.key, d.made, d.salt, d.chain, d.body
    FROM unnest({given}) AS asked (slot, after, known) JOIN slots s ON s.id = asked.slot AND s.seq > asked.known
    JOIN LATERAL (
        SELECT *, CASE WHEN made IS NOT NULL AND octet_length(body) < 65536 THEN body END AS content
        FROM events WHERE slot = asked.slot AND seq > asked.after ORDER BY seq LIMIT {most}
    ) AS f ON 1 = 1
    LEFT JOIN decisions x ON x.id = f.decision AND f.content IS NOT NULL
    LEFT JOIN events d ON d.slot = x.slot AND d.seq = x.seq AND octet_length(d.body) < 65536
    ORDER BY 1, 2
"""
_NEWS = _SINCE.format(given=_GIVEN, most=_MOST)


class _Since(NamedTuple):
    """All events of a slot after one; what they say only if they change weights, and then with their decisions."""

    after: int
    events: list[tuple[Event, Event | None]]


class News:
    """What others wrote, of the slots that the open batch holds."""

    def __init__(self) -> None:
        self._entered: dict[int, int] = {}  # the last event of a slot when it was entered
        self._lively: dict[int, int] = {}  # slots that others write to, and how often that is believed
        self._since: dict[int, _Since] = {}

    def asked(self, slots: Iterable[int] | None, counting: Counting) -> list[Sent]:
        """What to ask with the locks of slots, None if it is not known which: a question, or nothing."""
        wanted = [slot for slot in (self._lively if slots is None else slots) if slot in self._lively][:_SLOTS]
        known = {slot: live.seq for slot in wanted if (live := counting.get(slot)) is not None}
        if not known:
            return []
        after = [min(self._entered[slot], seq) for slot, seq in known.items()]
        given = [",".join(map(str, each)) for each in (known, after, known.values())]
        return [call(_NEWS, given)]

    def entered(self, slot: int, before: Counts | None, now: Counts, rows: Sequence[Sequence[Any]]) -> None:
        """A slot is held: how far it was when it was left, how far it is, and what came of the question."""
        if before is not None and before.seq != now.seq:
            self._lively[slot] = _PATIENCE
        elif slot in self._lively:
            self._lively[slot] -= 1
            if not self._lively[slot]:
                del self._lively[slot]
        found = [(event_of(row[1:11]), event_of(row[11:]) if row[11] is not None else None) for row in rows]
        if found and len(found) < _MOST and all(_whole(*each) for each in found):
            self._since[slot] = _Since(found[0][0].seq - 1, found)
        self._entered[slot] = now.seq

    def forget(self, slot: int | None = None) -> None:
        """It is not as it was fetched: that of one slot, or of all."""
        if slot is None:
            self._since.clear()
        else:
            self._since.pop(slot, None)

    def kinds(self, slot: int, after: int) -> set[str] | None:
        """The types of the events after one, if they were fetched."""
        if (since := self._since.get(slot)) is None or after < since.after:
            return None
        return {event.type for event, _ in since.events if event.seq > after}

    def changes(self, slot: int, after: int, key: str | None) -> Iterator[tuple[Event, Event | None]] | None:
        """The events after one that made a version, if they were fetched."""
        if (since := self._since.get(slot)) is None or after < since.after:
            return None
        return (
            (event, about)
            for event, about in since.events
            if event.seq > after and event.made is not None and (key is None or event.key == key)
        )


def _whole(event: Event, about: Event | None) -> bool:
    """Whether an event was fetched with all that is needed to learn it, if there is anything to learn."""
    if event.made is None:
        return event.type != "amended"
    return event.body is not None and about is not None
