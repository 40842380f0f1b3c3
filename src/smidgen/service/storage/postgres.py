"""The PostgreSQL store: batches, shards, and events that other workers wrote.

A shard's row holds the head of its log. The batch that locks this row is the only writer of the shard until it ends, so
what it reads of the shard after that stays valid and is read once.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from smidgen.service.errors import DatabaseFailed, Taken
from smidgen.service.log.checkpoint import CarriedDecision, Checkpoint
from smidgen.service.log.events import Event
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.postgres_address import Address
from smidgen.service.storage.postgres_connection import Batch, BoundStatement, Connection, bind_statement
from smidgen.service.storage.postgres_reads import (
    Leases,
    PooledConnections,
    PostgresReaderPool,
    PostgresStoreReader,
    VacuumThread,
    read_in_pages,
)
from smidgen.service.storage.postgres_schema import prepare
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import Counts, DecisionRow, LeaseRow, State, WriteResult
from smidgen.service.storage.snapshots import KEPT, MARK
from smidgen.service.storage.sql import DECISIONS, EVENTS, ID, SEEN, TORN, WriteStatements, to_decision, to_event
from smidgen.service.storage.sql_writes import COUNTS, KEY_STATE, SqlStoreWriter
from smidgen.service.storage.transitions import LiveCounts

# What others wrote to a shard since this writer held it before, fetched with the lock where they lately did.

#: How many events of a shard are fetched, of how many shards, and how often in vain before it is left to who needs it.
_MOST, _NEWS_SHARDS, _PATIENCE = 128, 32, 16
_NUMBERS = "CAST(string_to_array(?{n}, ',') AS BIGINT[])"
_GIVEN = ", ".join(_NUMBERS.format(n=n) for n in (1, 2, 3))
# The decision belongs to what changes weights. What is large is not fetched ahead.
_SINCE = """
    SELECT f.shard, f.seq, f.type, f.version, f.at, f.decision, f.key, f.made, f.salt, f.chain, f.content,
           d.seq, d.type, d.version, d.at, d.decision, d.key, d.made, d.salt, d.chain, d.body
    FROM unnest({given}) AS asked (shard, after, known) JOIN shards s ON s.id = asked.shard AND s.seq > asked.known
    JOIN LATERAL (
        SELECT *, CASE WHEN made IS NOT NULL AND octet_length(body) < 65536 THEN body END AS content
        FROM events WHERE shard = asked.shard AND seq > asked.after ORDER BY seq LIMIT {most}
    ) AS f ON 1 = 1
    LEFT JOIN decisions x ON x.id = f.decision AND f.content IS NOT NULL
    LEFT JOIN events d ON d.shard = x.shard AND d.seq = x.seq AND octet_length(d.body) < 65536
    ORDER BY 1, 2
"""
_NEWS = _SINCE.format(given=_GIVEN, most=_MOST)


class _EventsAfter(NamedTuple):
    """All events of a shard after one; what they say only if they change weights, and then with their decisions."""

    after: int
    events: list[tuple[Event, Event | None]]


class ForeignEvents:
    """Events of other workers in the shards that the open batch holds."""

    def __init__(self) -> None:
        self._entered: dict[int, int] = {}  # the last event of a shard when it was entered
        self._lively: dict[int, int] = {}  # shards that others write to, and how often that is believed
        self._since: dict[int, _EventsAfter] = {}

    def query(self, shards: Iterable[int] | None, counting: LiveCounts) -> list[BoundStatement]:
        """Make the query that is sent with the locks of shards (None: not known yet), if any."""
        wanted = [shard for shard in (self._lively if shards is None else shards) if shard in self._lively][
            :_NEWS_SHARDS
        ]
        known = {shard: live.seq for shard in wanted if (live := counting.get(shard)) is not None}
        if not known:
            return []
        after = [min(self._entered[shard], seq) for shard, seq in known.items()]
        given = [",".join(map(str, each)) for each in (known, after, known.values())]
        return [bind_statement(_NEWS, given)]

    def add(self, shard: int, before: Counts | None, now: Counts, rows: Sequence[Sequence[Any]]) -> None:
        """A shard is held: how far it was when it was left, how far it is, and what came of the question."""
        if before is not None and before.seq != now.seq:
            self._lively[shard] = _PATIENCE
        elif shard in self._lively:
            self._lively[shard] -= 1
            if not self._lively[shard]:
                del self._lively[shard]
        found = [(to_event(row[1:11]), to_event(row[11:]) if row[11] is not None else None) for row in rows]
        if found and len(found) < _MOST and all(_is_complete(*each) for each in found):
            self._since[shard] = _EventsAfter(found[0][0].seq - 1, found)
        self._entered[shard] = now.seq

    def forget(self, shard: int | None = None) -> None:
        """It is not as it was fetched: that of one shard, or of all."""
        if shard is None:
            self._since.clear()
        else:
            self._since.pop(shard, None)

    def event_types(self, shard: int, after: int) -> set[str] | None:
        """The types of the events after one, if they were fetched."""
        if (since := self._since.get(shard)) is None or after < since.after:
            return None
        return {event.type for event, _ in since.events if event.seq > after}

    def changes(self, shard: int, after: int, key: str | None) -> Iterator[tuple[Event, Event | None]] | None:
        """The events after one that made a version, if they were fetched."""
        if (since := self._since.get(shard)) is None or after < since.after:
            return None
        return (
            (event, about)
            for event, about in since.events
            if event.seq > after and event.made is not None and (key is None or event.key == key)
        )


def _is_complete(event: Event, about: Event | None) -> bool:
    """Check whether an event was fetched with all that is needed to learn it, if there is anything to learn."""
    if event.made is None:
        return event.type != "amended"
    return event.body is not None and about is not None


_COUNTS = "SELECT id, seq, version, decisions, late, keys, number, chain, answered FROM shards"
_SHARDS = "CAST(string_to_array(?, ',') AS BIGINT[])"
_IDS = "SELECT decode(found, 'hex') FROM unnest(string_to_array(?, ',')) AS found"
_ENTER = f"{_COUNTS} WHERE id = ANY ({_SHARDS}) ORDER BY id FOR NO KEY UPDATE"
_BOTH = "SELECT unnest({shards}) UNION SELECT shard FROM decisions WHERE id IN ({ids})"
_EITHER = _BOTH.format(shards=_SHARDS, ids=_IDS)
_ENTER_OF = f"{_COUNTS} WHERE id IN ({_EITHER}) ORDER BY id FOR NO KEY UPDATE"
_ENTER_FREE = f"{_ENTER_OF} SKIP LOCKED"
_ABOVE = "SELECT number, shard, seq FROM catalogue LEFT JOIN bases ON shard"
#: The catalogue's number, and above which event the logs of shards begin, if not with their first.
_FLOORS = f"{_ABOVE} = ANY ({_SHARDS})"
_FLOORS_OF = f"{_ABOVE} IN ({_EITHER})"
_DECISIONS = f"{DECISIONS} WHERE id IN ({_IDS}) AND {SEEN.format(table='decisions')}"
#: The events of these decisions, unless they are large: those are read one by one, if at all.
_EVENTS_OF = """
    SELECT x.shard, e.* FROM decisions x JOIN LATERAL (
        {events} WHERE shard = x.shard AND seq = x.seq AND octet_length(body) < 65536
    ) AS e ON 1 = 1 WHERE x.id IN ({ids})
"""
_EVENTS = _EVENTS_OF.format(events=EVENTS, ids=_IDS)
_KINDS = "SELECT DISTINCT type FROM events WHERE shard = ? AND seq > ?"
_OF_ONE = re.compile(r"WHERE id = \?[^?]*$")
_WRITTEN = re.compile(r"^\s*(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")


class PostgresStatements(WriteStatements):
    """Statements of the writer: those of the open batch go to its connection, others to readers.

    Parameters
    ----------
    batch
        The writer's connection.
    readers
        The connections of readers.
    invalidate
        Is called with each statement that changes something, and its values.
    """

    def __init__(self, batch: Batch, readers: PooledConnections, invalidate: Callable[[str, Any], None]) -> None:
        self._batch = batch
        self._readers = readers
        self._invalidate = invalidate

    def rows(self, sql: str, values: Any = ()) -> list[Any]:
        """All rows."""
        if not self._batch.is_open_here:
            return self._readers.rows(sql, values)
        return self._batch.ask(bind_statement(sql, values))[0]

    def each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        """The rows one by one, read some at a time."""
        if not self._batch.is_open_here:
            return self._readers.each(sql, values, size)
        return read_in_pages(self._batch.ask, sql, values, size)

    def run(self, sql: str, values: Any = ()) -> None:
        """Run a statement with the next one whose rows are needed."""
        self._invalidate(sql, values)
        self._batch.run(bind_statement(sql, values))

    def run_many(self, sql: str, values: Sequence[Any]) -> None:
        """Run a statement once for each of the values."""
        for each in values:
            self.run(sql, each)

    def run_for(self, sql: str, values: Any = ()) -> list[Any]:
        """Run a statement now; the rows that it returns."""
        self._invalidate(sql, values)
        return self._batch.run_for(bind_statement(sql, values))


class PostgresShards(SqlStoreWriter):
    """Shards that are entered, their counts, and decisions that are about to be answered.

    Parameters
    ----------
    batch
        The writer's connection.
    readers
        Answers what is asked outside of a batch.
    """

    def __init__(self, batch: Batch, readers: PostgresReaderPool) -> None:
        statements = PostgresStatements(batch, readers.connections, self._invalidate)
        super().__init__(statements)
        self._batch = batch
        self._reads = PostgresStoreReader(statements)
        self._held: set[int] = set()
        self._floors: dict[int, int] = {}
        self._decisions: dict[str, DecisionRow | None] = {}
        self._events: dict[tuple[int, int], Event] = {}
        self._number: int | None = None
        self._cataloguing = False
        self._news = ForeignEvents()

    def acquire(self, *shards: int) -> None:
        """Take shards for the open batch; waits only if it holds none."""
        wanted = sorted(set(shards) - self._held)
        if not wanted:
            return
        if not self._batch.open:  # there is nothing to be held for; but whoever looks sees how far they are
            for shard in wanted:
                self.counts(shard)
            return
        told = (",".join(map(str, wanted)),)
        self._lock_shards(
            [bind_statement(self._with_lock_timeout(_ENTER), told)], bind_statement(_FLOORS, told), wanted
        )
        busy = [shard for shard in wanted if shard not in self._held]
        if busy and (len(self._held) > len(wanted) - len(busy) or self._cataloguing):
            raise Taken(f"another worker is writing to shard {busy[0]}", "retry in the next batch")

    def prefetch(self, first: Sequence[int | str], then: Sequence[int | str] = ()) -> None:
        """Fetch decisions that the open batch will be about, and enter their shards and others, in one round trip."""
        if not self._batch.is_open_here:
            return
        ahead, after = self._unknown(first), self._unknown(then)
        if ahead or after:
            shards, ids = _as_parameters([*ahead, *after])
            entering = [bind_statement(self._with_lock_timeout(_ENTER_OF), _as_parameters(ahead))] if ahead else []
            entering += [bind_statement(_ENTER_FREE, _as_parameters(after))] if after else []
            more = (bind_statement(_DECISIONS, (ids,)), bind_statement(_EVENTS, (ids,))) if ids else ()
            answers = self._lock_shards(entering, bind_statement(_FLOORS_OF, (shards, ids)), None, *more)
            if ids:
                self._keep_fetched(ids.split(","), *answers)

    def _unknown(self, named: Sequence[int | str]) -> list[int | str]:
        """Those of shards and decisions of which the batch does not know yet what it could."""

        def new(each: int | str) -> bool:
            if isinstance(each, int):
                return each not in self._held
            return ID.fullmatch(each) is not None and each not in self._decisions

        return [each for each in dict.fromkeys(named) if new(each)]

    def _keep_fetched(self, ids: Sequence[str], rows: Sequence[Any], events: Sequence[Any]) -> None:
        found = {made.id: made for made in map(to_decision, rows) if made is not None}
        for id in ids:
            if (made := found.get(id)) is None or made.shard in self._held:
                self._decisions[id] = made
        self._events.update({(shard, row[0]): to_event(row) for shard, *row in events if shard in self._held})

    def _with_lock_timeout(self, sql: str) -> str:
        """Wait for a lock only where nobody can be waiting for us."""
        return f"{sql} SKIP LOCKED" if self._held or self._cataloguing else sql

    def _lock_shards(
        self,
        entering: list[BoundStatement],
        floors: BoundStatement,
        shards: Sequence[int] | None,
        *more: BoundStatement,
    ) -> list[list[tuple[Any, ...]]]:
        """Lock shards, which are these or not known; what is asked after that is answered as of then."""
        asked = self._news.query(shards, self._counting)
        answers = self._batch.ask(*entering, floors, *asked, *more)
        locked, (above, *rest) = answers[: len(entering)], answers[len(entering) :]
        self._number = above[0][0]
        based, told = {shard: seq for _, shard, seq in above}, dict[int, list[Any]]()
        for row in rest.pop(0) if asked else ():
            told.setdefault(row[0], []).append(row)
        for shard, *counts in (row for rows in locked for row in rows):
            if shard not in self._held:
                self._held.add(shard)
                self._floors[shard] = based.get(shard, 0)
                now = Counts(*counts)
                self._news.add(shard, self._counting.get(shard), now, told.get(shard, ()))
                self._counting.replace(shard, now)
        return rest

    def _release_shards(self, shards: Iterable[int] | None = None) -> None:
        """Hold no shards any more: all, if none are named; nothing that is known of them can be relied on."""
        self._held -= set(shards) if shards is not None else self._held.copy()
        self._floors.clear()
        self._decisions.clear()
        self._events.clear()
        self._news.forget()
        if shards is None:
            self._number, self._cataloguing = None, False

    def event_types(self, shard: int, after: int) -> set[str]:
        """The types of the events of a shard after one, each once."""
        known = self._news.event_types(shard, after) if self._batch.is_open_here else None
        return known if known is not None else {kind for (kind,) in self._rows(_KINDS, (shard, after))}

    def changes(self, shard: int, after: int = 0, key: str | None = None) -> Iterator[tuple[Event, Event | None]]:
        """The events that made a version, after an event, in order, each with the decision that it is about."""
        after = max(after, self.floor(shard))
        known = self._news.changes(shard, after, key) if self._batch.is_open_here else None
        return known if known is not None else super().changes(shard, after, key)

    # Reading, as the writer needs it

    def counts(self, shard: int) -> Counts | None:
        """Counts of a shard, fresh; one object as long as the store is open."""
        live = self._counting.get(shard)
        if live is not None and shard in self._held:
            return live
        row = self._reads.counts(shard)
        return self._counting.replace(shard, row) if row is not None else None

    def decision(self, id: str) -> DecisionRow | None:
        """A decision by its id; a batch that holds nothing yet enters its shard by that."""
        if not self._batch.is_open_here or ID.fullmatch(id) is None:
            return super().decision(id)
        if id not in self._decisions and not self._held and not self._cataloguing:
            self.prefetch([id])
        if id not in self._decisions:
            made = super().decision(id)
            if made is None or made.shard not in self._held:
                return made
            self._decisions[id] = made
        return self._decisions[id]

    def event(self, shard: int, seq: int) -> Event | None:
        """One event."""
        known = self._events.get((shard, seq)) if self._batch.is_open_here else None
        return known if known is not None else super().event(shard, seq)

    def _counts_to_change(self, shard: int) -> Counts:
        self.acquire(shard)
        return super()._counts_to_change(shard)

    def floor(self, shard: int) -> int:
        """The first event of a shard whose chain is known."""
        if self._batch.is_open_here and (known := self._floors.get(shard)) is not None:
            return known
        return super().floor(shard)

    def _on_new_shard(self, shard: int) -> None:
        self._held.add(shard)
        self._floors[shard] = 0

    def _invalidate(self, sql: str, values: Any) -> None:
        """Invalidate cached rows that a statement changes."""
        table, place = _written_table(sql)
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


def _as_parameters(named: Sequence[int | str]) -> tuple[str, str]:
    """Shards and decisions as a statement takes them."""
    shards = ",".join(str(each) for each in named if isinstance(each, int))
    return shards, ",".join(each for each in named if isinstance(each, str))


@lru_cache(maxsize=256)
def _written_table(sql: str) -> tuple[str, int | None]:
    """Which table a statement changes, and where among its values the decision is that it is about, if about one."""
    found = _WRITTEN.match(sql)
    table = found[1] if found is not None else ""
    if sql.lstrip().startswith("INSERT"):
        return table, 0
    return table, -1 if _OF_ONE.search(sql) is not None else None


# The store in PostgreSQL: as many workers as there are, ordered by the row locks of the shards.

_PROBE = 8192  # bytes, at random: nothing makes them smaller
_STATE_OF = """
    INSERT INTO states SELECT ?1, ?2, ?3, substr(found.chain, 1, {mark}), ?4 FROM (
        SELECT chain FROM events WHERE shard = ?1 AND seq = ?2
        UNION ALL SELECT chain FROM bases WHERE shard = ?1 AND seq = ?2
    ) AS found LIMIT 1
    ON CONFLICT (shard, seq) DO UPDATE SET at = excluded.at, mark = excluded.mark, state = excluded.state
"""
_STATE = _STATE_OF.format(mark=MARK)
_NEWEST = """
    DELETE FROM states WHERE shard = ?1 AND seq < ALL (
        SELECT s.seq FROM states s WHERE s.shard = ?1 ORDER BY s.seq DESC LIMIT {kept}
    )
"""
_KEEP = _NEWEST.format(kept=KEPT)
_MOVE = "UPDATE catalogue SET number = number + 1"
_SOIL = "UPDATE catalogue SET unclean = unclean + 1"


class PostgresStore(PostgresShards):
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
        wire = Connection(self.address)
        try:
            prepare(wire)
        except BaseException:
            wire.close()
            raise
        self._readers = PostgresReaderPool(self.address, 2)
        super().__init__(Batch(self.address, wire), self._readers)
        self._side = Batch(self.address)
        self._leases = Leases(self._side)
        self._vacuum_thread = VacuumThread(self._side)
        self._most = readers
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
    def round_trips(self) -> int:
        """Number of round trips of its batches to the database."""
        return self._batch.round_trips

    @property
    def in_batch(self) -> bool:
        """True if a batch is open."""
        return self._batch.open

    def begin(self) -> None:
        """Open a batch; nothing is sent yet."""
        crash_point("before-begin")
        self._release_shards()
        self._batch.begin()
        crash_point("after-begin")

    def try_begin(self) -> bool:
        """Never: the database may be far away, and others write to it."""
        return False

    def commit(self) -> None:
        """Make the batch last: returns when it is on the server's disk."""
        for shard, counts in self._counting.changed().items():
            self._run(COUNTS, {"shard": shard, **msgspec.structs.asdict(counts)})
        self._batch.commit()
        self._counting.commit()
        self._release_shards()

    def rollback(self) -> None:
        """Undo the batch, if one is open."""
        self._counting.rollback()
        self._batch.rollback()
        self._release_shards()

    def savepoint(self) -> None:
        """Begin a command within the batch."""
        self._batch.savepoint()
        self._counting.savepoint()
        self._before = frozenset(self._held), self._cataloguing

    def release(self) -> None:
        """The command is done; it lasts if the batch does."""
        self._batch.release()
        self._counting.release()

    def rollback_to_savepoint(self) -> None:
        """Undo the command, and nothing else of the batch."""
        self._counting.rollback_to_savepoint()
        held, self._cataloguing = self._before
        self._release_shards(self._held - held if self._batch.rollback_to_savepoint() else ())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """The open batch, or one of its own."""
        if self._batch.is_open_here:
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

    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep what a learner has become after an event, as a row; of a shard that another is writing to, nothing."""
        with self._transaction():
            if epoch is not None:
                rows = self._rows("SELECT 1 FROM leases WHERE shard = ? AND epoch > ?", (shard, epoch))
                if rows:
                    return False
            try:
                self.acquire(shard)  # rows of states are locked in the order of shards, too
            except Taken:
                return False
            if key is not None:
                self._run(KEY_STATE, (shard, key, seq, time.time(), content))
                crash_point("key-state-written")
            else:
                self._run(_STATE, (shard, seq, time.time(), content))
                self._run(_KEEP, (shard,))
        return True

    def drop_states(self, shard: int, before: int) -> None:
        """Between batches: keep no state of the shard itself from before an event."""
        with self._transaction():
            if self._run_for("DELETE FROM states WHERE shard = ? AND seq < ? RETURNING seq", (shard, before)):
                self._run(_SOIL)

    def forget(
        self,
        shard: int,
        key: str,
        at: float,
        places: tuple[int, int] | None = None,
        rewrites: Mapping[int, bytes] | None = None,
    ) -> tuple[int, WriteResult]:
        """Erase the events of a key, and let events of others say something else (`Store.forget`)."""
        told = super().forget(shard, key, at, places, rewrites)
        self._run(_SOIL)
        return told

    def write_checkpoint(self, shard: int, base: Checkpoint, carried: Sequence[CarriedDecision], at: float) -> int:
        """Let a log begin after a base whose states are staged; what was published of earlier moments goes."""
        told = super().write_checkpoint(shard, base, carried, at)
        self._run("DELETE FROM states WHERE shard = ? AND seq < ?", (shard, base.seq))
        return told

    def purge(self, limit: int) -> bool:
        """Erase some of what lies under a base; False if nothing is left."""
        more = super().purge(limit)
        if more:
            self._run(_SOIL)
        return more

    def vacuum(self) -> bool:
        """Between batches: have the tables vacuumed if something was erased; False while that goes on."""
        return self._vacuum_thread.is_done()

    @property
    def is_fragmented(self) -> bool:
        """The files are the server's."""
        return False

    def compact(self) -> None:
        """Vacuuming is all that a client can do (`cleanse`)."""

    def probe(self) -> None:
        """Write something of its own: whether the batch lasts says whether anything would."""
        sql = "INSERT INTO probe VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET content = excluded.content"
        self._run(sql, (os.getpid(), os.urandom(_PROBE)))

    def _change_catalogue(self, name: str | None = None) -> None:
        """Move the catalogue, whose row is locked by that until the batch ends; so a name that is free stays free."""
        if not self._cataloguing:
            self._run(_MOVE)
            self._cataloguing = True
        if name is not None and self._row("SELECT 1 FROM models WHERE name = ?", (name,)) is not None:
            raise Taken(f"another worker has just created a model {name!r}", "retry in the next batch")

    # Others who write

    def catalogue_number(self) -> int:
        """A number that grows with every committed change of the rows of models and of tokens."""
        if self._batch.is_open_here:
            if self._number is None:
                ((self._number,),) = self._rows("SELECT number FROM catalogue")
            return self._number
        (((number,),),) = self._side.ask(bind_statement("SELECT number FROM catalogue"))
        return int(number)

    def lease(self, owner: str, seconds: float, *shards: int) -> dict[int, int]:
        """Own shards, or go on owning them, for so long; those that somebody else owns are left out."""
        return self._leases.lease(owner, seconds, *shards)

    def leases(self) -> list[LeaseRow]:
        """Read all leases, by shard."""
        return self._leases.leases()

    def release_leases(self, owner: str, *shards: int) -> None:
        """Own shards no more."""
        self._leases.release_leases(owner, *shards)

    # Reading

    def snapshot(self) -> AbstractContextManager[None]:
        """Answer all questions within the block as of one moment; an open batch is one already."""
        return nullcontext() if self._batch.is_open_here else self._readers.snapshot()

    def states(self, shard: int, key: str | None = None) -> Iterator[State]:
        """The states that were published for a learner, newest first."""
        return self._reads.states(shard, key)

    def stored_bytes(self) -> int:
        """Size of the database in bytes."""
        return self._reads.stored_bytes()

    def reader(self) -> StoreReader:
        """A reading view of its own."""
        return PostgresReaderPool(self.address, self._most)

    def close(self) -> None:
        """Close the connections; a batch that is open is undone by that."""
        self._vacuum_thread.close()
        self._batch.close()
        self._side.close()
        self._readers.close()

    def _refuse_torn(self) -> None:
        """Refuse a log that does not end where the head of its shard says."""
        for shard, seq in self._rows(TORN):
            raise DatabaseFailed(
                f"the log of shard {shard} in {self.address} does not end with event {seq}, the event of its head",
                "restore the whole database from a backup",
            )
