"""Events that other workers wrote to the shards of a batch on PostgreSQL, fetched with the locks of the shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from smidgen.service.storage import sql
from smidgen.service.storage.postgres_connection import BoundStatement, bind_statement
from smidgen.service.storage.records import Counts
from smidgen.service.storage.transitions import LiveCounts

#: Of how many shards foreign events are fetched at once, and how many times without any before that stops.
_MOST_SHARDS, _PATIENCE = 32, 16


class _EventsAfter(NamedTuple):
    """All events of a shard after one, each as a row of `sql.CHANGES`; bodies only where an event changes weights."""

    after: int
    rows: list[Any]


class ForeignEvents:
    """Events that other workers wrote to the shards of the open batch since this worker held them before.

    They are fetched with the lock of a shard to which others have written recently.
    """

    def __init__(self) -> None:
        self._entered: dict[int, int] = {}  # by shard, its last event when it was locked
        self._lively: dict[int, int] = {}  # shards that others write to, and how many more times that is assumed
        self._since: dict[int, _EventsAfter] = {}

    def query(self, shards: Iterable[int] | None, counting: LiveCounts) -> list[BoundStatement]:
        """The query that is sent with the locks of shards (None: they are not known yet), if any."""
        named = self._lively if shards is None else shards
        wanted = [shard for shard in named if shard in self._lively][:_MOST_SHARDS]
        known = {shard: live.seq for shard in wanted if (live := counting.get(shard)) is not None}
        if not known:
            return []
        after = [min(self._entered[shard], seq) for shard, seq in known.items()]
        values = [",".join(map(str, each)) for each in (known, after, known.values())]
        return [bind_statement(sql.FOREIGN_EVENTS, values)]

    def add(self, shard: int, before: Counts | None, now: Counts, rows: Sequence[Any]) -> None:
        """Note that a shard was locked: its counts when it was released, its counts now, and the rows of the query."""
        if before is not None and before.seq != now.seq:
            self._lively[shard] = _PATIENCE
        elif shard in self._lively:
            self._lively[shard] -= 1
            if not self._lively[shard]:
                del self._lively[shard]
        if rows and len(rows) < sql.FOREIGN_EVENTS_LIMIT and all(map(_is_complete, rows)):
            self._since[shard] = _EventsAfter(rows[0][0] - 1, list(rows))
        self._entered[shard] = now.seq

    def is_lively(self, shard: int) -> bool:
        """True if other workers have written to a shard recently."""
        return shard in self._lively

    def forget(self, shard: int | None = None) -> None:
        """Drop what was fetched of one shard, or of all."""
        if shard is None:
            self._since.clear()
        else:
            self._since.pop(shard, None)

    def event_types(self, shard: int, after: int) -> set[str] | None:
        """The types of the events after one, if they were fetched."""
        if (since := self._since.get(shard)) is None or after < since.after:
            return None
        return {type for seq, type, *_ in since.rows if seq > after}

    def changes(self, shard: int, after: int, key: str | None = None) -> Iterator[Any] | None:
        """The rows of `sql.CHANGES` after an event, if they were fetched."""
        if (since := self._since.get(shard)) is None or after < since.after:
            return None
        return (row for row in since.rows if row[0] > after and row[6] is not None and (key is None or row[5] == key))


def _is_complete(row: Any) -> bool:
    """True if an event was fetched with all that is needed to learn from it, if there is anything to learn."""
    type, made, body, decision = row[1], row[6], row[9], row[10]
    return type != "amended" if made is None else body is not None and decision is not None
