"""The PostgreSQL store: batches, slots, and events that other workers wrote.

The slots that a batch on PostgreSQL holds, and what it knows of them meanwhile.

A slot's row is its head: whoever locks it is the only one who writes to the slot until the batch ends. So what was read
of a slot after that stays true, and need not be asked twice.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from smidgen.service.errors import DatabaseFailed, Taken
from smidgen.service.log.base import Base, Carried
from smidgen.service.log.events import Event
from smidgen.service.storage.crash_points import reach
from smidgen.service.storage.postgres_address import Address
from smidgen.service.storage.postgres_connection import Batch, Sent, Wire, call
from smidgen.service.storage.postgres_reads import Cleansing, Leases, PostgresReaders, PostgresReads, in_parts
from smidgen.service.storage.postgres_schema import prepare
from smidgen.service.storage.protocol import Reading
from smidgen.service.storage.records import Counts, DecisionRow, LeaseRow, Verdict
from smidgen.service.storage.snapshots import KEPT, MARK
from smidgen.service.storage.sql import DECISIONS, EVENTS, ID, SEEN, TORN, decision_of, event_of
from smidgen.service.storage.sql_writes import COUNTS, KEY_STATE, SQLModels
from smidgen.service.storage.transitions import Counting

# What others wrote to a slot since this writer held it before, fetched with the lock where they lately did.

#: How many events of a slot are fetched, of how many slots, and how often in vain before it is left to who needs it.
_MOST, _NEWS_SLOTS, _PATIENCE = 128, 32, 16
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
        wanted = [slot for slot in (self._lively if slots is None else slots) if slot in self._lively][:_NEWS_SLOTS]
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


# The store in PostgreSQL: as many workers as there are, ordered by the row locks of the slots.

_PROBE = 8192  # bytes, at random: nothing makes them smaller
_STATE_OF = """
    INSERT INTO states SELECT ?1, ?2, ?3, substr(found.chain, 1, {mark}), ?4 FROM (
        SELECT chain FROM events WHERE slot = ?1 AND seq = ?2
        UNION ALL SELECT chain FROM bases WHERE slot = ?1 AND seq = ?2
    ) AS found LIMIT 1
    ON CONFLICT (slot, seq) DO UPDATE SET at = excluded.at, mark = excluded.mark, state = excluded.state
"""
_STATE = _STATE_OF.format(mark=MARK)
_NEWEST = """
    DELETE FROM states WHERE slot = ?1 AND seq < ALL (
        SELECT s.seq FROM states s WHERE s.slot = ?1 ORDER BY s.seq DESC LIMIT {kept}
    )
"""
_KEEP = _NEWEST.format(kept=KEPT)
_MOVE = "UPDATE catalogue SET number = number + 1"
_SOIL = "UPDATE catalogue SET unclean = unclean + 1"


class PostgresStore(PostgresSlots):
    """A schema of a PostgreSQL database, for one of its writers.

    The tables are made if they are not there. Every commit is on the server's disk when it returns. A connection that
    is lost fails the batch that is open, which was acknowledged to nobody; the next one connects anew.

    Parameters
    ----------
    url
        ``postgresql://user:password@host/database``, with libpq's options and our own (`Address`).
    readers
        How many connections those who read may have at once.
    """

    def __init__(self, url: str, *, readers: int = 8) -> None:
        self.address = Address.of(url)
        wire = Wire(self.address)
        try:
            prepare(wire)
        except BaseException:
            wire.close()
            raise
        super().__init__(Batch(self.address, wire))
        self._side = Batch(self.address)
        self._leases = Leases(self._side)
        self._cleansing = Cleansing(self._side)
        self._most = readers
        self._readers = PostgresReaders(self.address, 2)
        try:
            self._refuse_torn()
        except BaseException:
            self.close()
            raise

    # The batch

    @property
    def shared(self) -> bool:
        """Others may write to it too."""
        return True

    @property
    def trips(self) -> int:
        """How often its batches have waited for the database."""
        return self._batch.trips

    @property
    def in_batch(self) -> bool:
        """Whether a batch is open."""
        return self._batch.open

    def begin(self) -> None:
        """Open a batch; nothing is sent yet."""
        reach("before-begin")
        self._let_go()
        self._batch.begin()
        reach("after-begin")

    def begin_at_once(self) -> bool:
        """Never: the database may be far away, and others write to it."""
        return False

    def commit(self) -> None:
        """Make the batch last: returns when it is on the server's disk."""
        for slot, counts in self._counting.moved().items():
            self._run(COUNTS, {"slot": slot, **msgspec.structs.asdict(counts)})
        self._batch.commit()
        self._counting.keep()
        self._let_go()

    def rollback(self) -> None:
        """Undo the batch, if one is open."""
        self._counting.restore()
        self._batch.rollback()
        self._let_go()

    def savepoint(self) -> None:
        """Begin a command within the batch."""
        self._batch.savepoint()
        self._counting.mark()
        self._before = frozenset(self._held), self._cataloguing

    def release(self) -> None:
        """The command is done; it lasts if the batch does."""
        self._batch.release()
        self._counting.release()

    def undo(self) -> None:
        """Undo the command, and nothing else of the batch."""
        self._counting.back()
        held, self._cataloguing = self._before
        self._let_go(self._held - held if self._batch.undo() else ())

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """The open batch, or one of its own."""
        if self._batch.mine:
            yield
            return
        self.begin()
        try:
            yield
            self.commit()
        except BaseException:
            self.rollback()
            raise

    # What is written

    def publish(self, slot: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep what a learner has become after an event, as a row; of a slot that another is writing to, nothing."""
        with self._whole():
            if epoch is not None:
                rows = self._rows("SELECT 1 FROM leases WHERE slot = ? AND epoch > ?", (slot, epoch))
                if rows:
                    return False
            try:
                self.enter(slot)  # rows of states are locked in the order of slots, too
            except Taken:
                return False
            if key is not None:
                self._run(KEY_STATE, (slot, key, seq, time.time(), content))
                reach("key-state-written")
            else:
                self._run(_STATE, (slot, seq, time.time(), content))
                self._run(_KEEP, (slot,))
        return True

    def drop_states(self, slot: int, before: int) -> None:
        """Between batches: keep no state of the slot itself from before an event."""
        with self._whole():
            if self._run_for("DELETE FROM states WHERE slot = ? AND seq < ? RETURNING seq", (slot, before)):
                self._run(_SOIL)

    def forget(
        self,
        slot: int,
        key: str,
        at: float,
        places: tuple[int, int] | None = None,
        rewrites: Mapping[int, bytes] | None = None,
    ) -> tuple[int, Verdict]:
        """Erase the events of a key, and let events of others say something else (`Store.forget`)."""
        told = super().forget(slot, key, at, places, rewrites)
        self._run(_SOIL)
        return told

    def rebase(self, slot: int, base: Base, carried: Sequence[Carried], at: float) -> int:
        """Let a log begin after a base whose states are staged; what was published of earlier moments goes."""
        told = super().rebase(slot, base, carried, at)
        self._run("DELETE FROM states WHERE slot = ? AND seq < ?", (slot, base.seq))
        return told

    def tidy(self, limit: int) -> bool:
        """Erase some of what lies under a base; False if nothing is left."""
        more = super().tidy(limit)
        if more:
            self._run(_SOIL)
        return more

    def cleanse(self) -> bool:
        """Between batches: have the tables vacuumed if something was erased; False while that goes on."""
        return self._cleansing.done()

    @property
    def fragmented(self) -> bool:
        """The files are the server's."""
        return False

    def compact(self) -> None:
        """Vacuuming is all that a client can do (`cleanse`)."""

    def probe(self) -> None:
        """Write something of its own: whether the batch lasts says whether anything would."""
        sql = "INSERT INTO probe VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET content = excluded.content"
        self._run(sql, (os.getpid(), os.urandom(_PROBE)))

    def _catalogued(self, name: str | None = None) -> None:
        """Move the catalogue, whose row is locked by that until the batch ends; so a name that is free stays free."""
        if not self._cataloguing:
            self._run(_MOVE)
            self._cataloguing = True
        if name is not None and self._row("SELECT 1 FROM models WHERE name = ?", (name,)) is not None:
            raise Taken(f"there is a model {name!r}, made by another worker", "do it again in the next batch")

    # Others who write

    def catalogue(self) -> int:
        """A number that grows with every committed change of the rows of models and of tokens."""
        if self._batch.mine:
            if self._number is None:
                ((self._number,),) = self._rows("SELECT number FROM catalogue")
            return self._number
        (((number,),),) = self._side.ask(call("SELECT number FROM catalogue"))
        return int(number)

    def lease(self, owner: str, seconds: float, *slots: int) -> dict[int, int]:
        """Own slots, or go on owning them, for so long; those that somebody else owns are left out."""
        return self._leases.lease(owner, seconds, *slots)

    def leases(self) -> list[LeaseRow]:
        """Who owns which slot until when, by slot."""
        return self._leases.leases()

    def leave(self, owner: str, *slots: int) -> None:
        """Own slots no more."""
        self._leases.leave(owner, *slots)

    # Reading

    def moment(self) -> AbstractContextManager[None]:
        """Answer all questions within the block as of one moment; an open batch is one already."""
        return nullcontext() if self._batch.mine else self._readers.moment()

    def reader(self) -> Reading:
        """A reading view of its own."""
        return PostgresReaders(self.address, self._most)

    def close(self) -> None:
        """Close the connections; a batch that is open is undone by that."""
        self._cleansing.close()
        self._batch.close()
        self._side.close()
        self._readers.close()

    # How statements get there

    def _rows(self, sql: str, values: Any = ()) -> list[Any]:
        if not self._batch.mine:
            return self._readers._rows(sql, values)
        return self._batch.ask(call(sql, values))[0]

    def _each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        if not self._batch.mine:
            return self._readers._each(sql, values, size)
        return in_parts(self._batch.ask, sql, values, size)

    def _run(self, sql: str, values: Any = ()) -> None:
        self._forget(sql, values)
        self._batch.run(call(sql, values))

    def _run_many(self, sql: str, values: Sequence[Any]) -> None:
        for each in values:
            self._run(sql, each)

    def _run_for(self, sql: str, values: Any = ()) -> list[Any]:
        self._forget(sql, values)
        return self._batch.run_for(call(sql, values))

    def _refuse_torn(self) -> None:
        """Refuse a log that does not end where the head of its slot says."""
        for slot, seq in self._rows(TORN):
            raise DatabaseFailed(
                f"the log of slot {slot} in {self.address} does not end with event {seq}, as its head says",
                "put the whole database back from a backup",
            )
