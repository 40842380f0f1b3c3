"""The slots that a batch on PostgreSQL holds, and what it knows of them meanwhile.

A slot's row is its head: whoever locks it is the only one who writes to the slot until the batch ends. So what was read
of a slot after that stays true, and need not be asked twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from smidgen.service.refusals import Taken
from smidgen.service.store.events import Event
from smidgen.service.store.postgres_batch import Batch
from smidgen.service.store.postgres_news import News
from smidgen.service.store.postgres_reads import PostgresReads
from smidgen.service.store.postgres_wire import Sent, call
from smidgen.service.store.questions import DECISIONS
from smidgen.service.store.rows import Counts, DecisionRow
from smidgen.service.store.sql_bases import SEEN
from smidgen.service.store.sql_models import SQLModels
from smidgen.service.store.sql_reads import EVENTS, ID, decision_of, event_of

_COUNTS = "SELECT id, seq, version, decisions, late, keys, number, chain, answered FROM slots"
_SLOTS = "CAST(string_to_array(?, ',') AS BIGINT[])"
_IDS = "SELECT decode(found, 'hex') FROM unnest(string_to_array(?, ',')) AS found"
_ENTER = f"{_COUNTS} WHERE id = ANY ({_SLOTS}) ORDER BY id FOR NO KEY UPDATE"
_BOTH = "SELECT unnest({slots}) UNION SELECT slot FROM decisions WHERE id IN ({ids})"
_EITHER = _BOTH.format(slots=_SLOTS, ids=_IDS)
_ENTER_OF = f"{_COUNTS} WHERE id IN ({_EITHER}) ORDER BY id FOR NO KEY UPDATE"
_ENTER_FREE = f"{_ENTER_OF} SKIP LOCKED"
_ABOVE = "SELECT number, slot, seq FROM catalogue LEFT JOIN bases ON slot"
#: The catalogue's number, and above which event the logs of slots begin, if not with their first.
_FLOORS = f"{_ABOVE} = ANY ({_SLOTS})"
_FLOORS_OF = f"{_ABOVE} IN ({_EITHER})"
_DECISIONS = f"{DECISIONS} WHERE id IN ({_IDS}) AND {SEEN.format(table='decisions')}"
#: The events of these decisions, unless they are large: those are read one by one, if at all.
_EVENTS_OF = """
    SELECT x.slot, e.* FROM decisions x JOIN LATERAL (
        {events} WHERE slot = x.slot AND seq = x.seq AND octet_length(body) < 65536
    ) AS e ON 1 = 1 WHERE x.id IN ({ids})
"""
_EVENTS = _EVENTS_OF.format(events=EVENTS, ids=_IDS)
_KINDS = "SELECT DISTINCT type FROM events WHERE slot = ? AND seq > ?"
_OF_ONE = re.compile(r"WHERE id = \?[^?]*$")
_WRITTEN = re.compile(r"^\s*(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")


class PostgresSlots(PostgresReads, SQLModels):
    """Slots that are entered, their counts, and decisions that are about to be answered.

    Parameters
    ----------
    batch
        The writer's connection.
    """

    def __init__(self, batch: Batch) -> None:
        SQLModels.__init__(self)
        self._batch = batch
        self._held: set[int] = set()
        self._floors: dict[int, int] = {}
        self._decisions: dict[str, DecisionRow | None] = {}
        self._events: dict[tuple[int, int], Event] = {}
        self._number: int | None = None
        self._cataloguing = False
        self._news = News()

    def enter(self, *slots: int) -> None:
        """Take slots for the open batch; waits only if it holds none."""
        wanted = sorted(set(slots) - self._held)
        if not wanted:
            return
        if not self._batch.open:  # there is nothing to be held for; but whoever looks sees how far they are
            for slot in wanted:
                self.counts(slot)
            return
        told = (",".join(map(str, wanted)),)
        self._take([call(self._patient(_ENTER), told)], call(_FLOORS, told), wanted)
        busy = [slot for slot in wanted if slot not in self._held]
        if busy and (len(self._held) > len(wanted) - len(busy) or self._cataloguing):
            raise Taken(f"slot {busy[0]} is being written to by another worker", "do it again in the next batch")

    def expect(self, first: Sequence[int | str], then: Sequence[int | str] = ()) -> None:
        """Fetch decisions that the open batch will be about, and enter their slots and others, in one round trip."""
        if not self._batch.mine:
            return
        ahead, after = self._unknown(first), self._unknown(then)
        if ahead or after:
            slots, ids = _told([*ahead, *after])
            entering = [call(self._patient(_ENTER_OF), _told(ahead))] if ahead else []
            entering += [call(_ENTER_FREE, _told(after))] if after else []
            more = (call(_DECISIONS, (ids,)), call(_EVENTS, (ids,))) if ids else ()
            answers = self._take(entering, call(_FLOORS_OF, (slots, ids)), None, *more)
            if ids:
                self._fetched(ids.split(","), *answers)

    def _unknown(self, named: Sequence[int | str]) -> list[int | str]:
        """Those of slots and decisions of which the batch does not know yet what it could."""

        def new(each: int | str) -> bool:
            if isinstance(each, int):
                return each not in self._held
            return ID.fullmatch(each) is not None and each not in self._decisions

        return [each for each in dict.fromkeys(named) if new(each)]

    def _fetched(self, ids: Sequence[str], rows: Sequence[Any], events: Sequence[Any]) -> None:
        found = {made.id: made for made in map(decision_of, rows) if made is not None}
        for id in ids:
            if (made := found.get(id)) is None or made.slot in self._held:
                self._decisions[id] = made
        self._events.update({(slot, row[0]): event_of(row) for slot, *row in events if slot in self._held})

    def _patient(self, sql: str) -> str:
        """Wait for a lock only where nobody can be waiting for us."""
        return f"{sql} SKIP LOCKED" if self._held or self._cataloguing else sql

    def _take(
        self, entering: list[Sent], floors: Sent, slots: Sequence[int] | None, *more: Sent
    ) -> list[list[tuple[Any, ...]]]:
        """Lock slots, which are these or not known; what is asked after that is answered as of then."""
        asked = self._news.asked(slots, self._counting)
        answers = self._batch.ask(*entering, floors, *asked, *more)
        locked, (above, *rest) = answers[: len(entering)], answers[len(entering) :]
        self._number = above[0][0]
        based, told = {slot: seq for _, slot, seq in above}, dict[int, list[Any]]()
        for row in rest.pop(0) if asked else ():
            told.setdefault(row[0], []).append(row)
        for slot, *counts in (row for rows in locked for row in rows):
            if slot not in self._held:
                self._held.add(slot)
                self._floors[slot] = based.get(slot, 0)
                now = Counts(*counts)
                self._news.entered(slot, self._counting.get(slot), now, told.get(slot, ()))
                self._counting.renew(slot, now)
        return rest

    def _let_go(self, slots: Iterable[int] | None = None) -> None:
        """Hold no slots any more: all, if none are named; nothing that is known of them can be relied on."""
        self._held -= set(slots) if slots is not None else self._held.copy()
        self._floors.clear()
        self._decisions.clear()
        self._events.clear()
        self._news.forget()
        if slots is None:
            self._number, self._cataloguing = None, False

    def kinds(self, slot: int, after: int) -> set[str]:
        """The types of the events of a slot after one, each once."""
        known = self._news.kinds(slot, after) if self._batch.mine else None
        return known if known is not None else {kind for (kind,) in self._rows(_KINDS, (slot, after))}

    def changes(self, slot: int, after: int = 0, key: str | None = None) -> Iterator[tuple[Event, Event | None]]:
        """The events that made a version, after an event, in order, each with the decision that it is about."""
        after = max(after, self.floor(slot))
        known = self._news.changes(slot, after, key) if self._batch.mine else None
        return known if known is not None else super().changes(slot, after, key)

    # Reading, as the writer needs it

    def counts(self, slot: int) -> Counts | None:
        """How far a slot is: the same object as long as the store is open, and fresh."""
        live = self._counting.get(slot)
        if live is not None and slot in self._held:
            return live
        row = PostgresReads.counts(self, slot)
        return self._counting.renew(slot, row) if row is not None else None

    def decision(self, id: str) -> DecisionRow | None:
        """A decision by its id; a batch that holds nothing yet enters its slot by that."""
        if not self._batch.mine or ID.fullmatch(id) is None:
            return super().decision(id)
        if id not in self._decisions and not self._held and not self._cataloguing:
            self.expect([id])
        if id not in self._decisions:
            made = super().decision(id)
            if made is None or made.slot not in self._held:
                return made
            self._decisions[id] = made
        return self._decisions[id]

    def event(self, slot: int, seq: int) -> Event | None:
        """One event."""
        known = self._events.get((slot, seq)) if self._batch.mine else None
        return known if known is not None else super().event(slot, seq)

    def _touched(self, slot: int) -> Counts:
        self.enter(slot)
        return super()._touched(slot)

    def floor(self, slot: int) -> int:
        """The first event of a slot whose chain is known."""
        if self._batch.mine and (known := self._floors.get(slot)) is not None:
            return known
        return super().floor(slot)

    def _made(self, slot: int) -> None:
        self._held.add(slot)
        self._floors[slot] = 0

    def _forget(self, sql: str, values: Any) -> None:
        """What is about to be written is not as it was read."""
        table, place = _written(sql)
        if table == "decisions":
            if place is None:
                self._decisions.clear()
            else:
                self._decisions.pop(values[place].hex(), None)
        elif table == "events" and place == 0:
            self._news.forget(values[0])
        elif table == "events":
            self._events.clear()
            self._news.forget()
        elif table in ("bases", "carried"):
            self._floors.clear()
            self._decisions.clear()
            self._news.forget()


def _told(named: Sequence[int | str]) -> tuple[str, str]:
    """Slots and decisions as a statement takes them."""
    slots = ",".join(str(each) for each in named if isinstance(each, int))
    return slots, ",".join(each for each in named if isinstance(each, str))


@lru_cache(maxsize=256)
def _written(sql: str) -> tuple[str, int | None]:
    """Which table a statement changes, and where among its values the decision is that it is about, if about one."""
    found = _WRITTEN.match(sql)
    table = found[1] if found is not None else ""
    if sql.lstrip().startswith("INSERT"):
        return table, 0
    return table, -1 if _OF_ONE.search(sql) is not None else None
