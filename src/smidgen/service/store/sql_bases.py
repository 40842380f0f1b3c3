"""Reading the bases of logs, and where copies are from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smidgen.service.store.bases import Base, BaseState, Carried, Lineage
from smidgen.service.store.sql_asking import SQLAsking

#: Whether a row of events or decisions lies above the base, or is kept although it does not. While what lies under a
#: new base is being erased, some of it is still there.
SEEN = """
    ({table}.seq > coalesce((SELECT b.seq FROM bases b WHERE b.slot = {table}.slot), 0)
        OR EXISTS (SELECT 1 FROM carried c WHERE c.slot = {table}.slot AND c.seq = {table}.seq))
"""
_STATES = "SELECT key, seq, number, digest, state FROM base_states"
_IN_FORCE = "(SELECT seq FROM bases WHERE slot = ?1)"
_NEWEST = "seq = (SELECT max(t.seq) FROM base_states t WHERE t.slot = ?1 AND t.key = s.key AND t.seq <= {base})"
_ALL_STATES = f"{_STATES} s WHERE slot = ?1 AND {_NEWEST.format(base=_IN_FORCE)} ORDER BY key"
# The order of the join is said outright: from the few later events to their decisions.
_CROSSING = """
    SELECT DISTINCT x.seq FROM events e CROSS JOIN decisions x ON x.id = e.decision
    WHERE e.slot = ?1 AND e.seq > ?2 AND e.type <> 'decision' AND x.slot = ?1 AND x.seq <= ?3
"""
_OPEN = """
    SELECT seq FROM decisions INDEXED BY decision_order WHERE slot = ?1 AND seq <= ?2 AND feedback_seq IS NULL
        AND (expires_at >= ?3 OR (waits = 1 AND shown = 1))
"""


class SQLBases(SQLAsking):
    """What is asked about bases and lineage."""

    def base(self, slot: int) -> Base | None:
        """Where the log of a slot begins, if not with its first event."""
        sql = "SELECT seq, version, chain, at, decisions, late, floor, body, erased FROM bases WHERE slot = ?"
        row = self._row(sql, (slot,))
        return Base(*row) if row is not None else None

    def base_state(self, slot: int, key: str | None) -> BaseState | None:
        """What a learner had become at the base; None if it was not there yet."""
        sql = f"{_STATES} WHERE slot = ?1 AND key = ?2 AND seq <= {_IN_FORCE} ORDER BY seq DESC LIMIT 1"
        row = self._row(sql, (slot, key or ""))
        return _state(row) if row is not None else None

    def base_states(self, slot: int) -> Iterator[BaseState]:
        """What all learners had become at the base, in the order of their keys."""
        for row in self._each(_ALL_STATES, (slot,), 16):
            yield _state(row)

    def carried(self, slot: int) -> list[Carried]:
        """The decisions under the base that are kept, in order."""
        rows = self._rows("SELECT seq, digest FROM carried WHERE slot = ? ORDER BY seq", (slot,))
        return [Carried(*row) for row in rows]

    def crossing(self, slot: int, seq: int, now: float, after: int) -> list[int]:
        """The decisions up to an event that later events are about, or that are open at a moment, in order.

        With ``after`` beyond ``seq``: only those that events after it are about.
        """
        found = {found for (found,) in self._rows(_CROSSING, (slot, after, seq))}
        if after <= seq:
            found |= {found for (found,) in self._rows(_OPEN, (slot, seq, now))}
        return sorted(found)

    def under(self, slot: int, seq: int) -> tuple[int, int]:
        """How many decisions and late answers there were up to an event."""
        row = self._row(
            "SELECT count(*) FILTER (WHERE type = 'decision'),"
            " count(*) FILTER (WHERE type = 'feedback' AND made IS NULL) FROM events WHERE slot = ?1 AND seq <= ?2"
            " AND seq > coalesce((SELECT seq FROM bases WHERE slot = ?1), 0)",
            (slot, seq),
        )
        base = self.base(slot)
        return (row[0] + base.decisions, row[1] + base.late) if base is not None else (row[0], row[1])

    def erased_decision(self, id: str) -> int | None:
        """The slot of a decision that was erased with its base; None if none is known."""
        try:
            name = bytes.fromhex(id)
        except ValueError:
            return None
        row = self._row("SELECT slot FROM gone WHERE id = ?", (name,))
        if row is None:  # not yet, perhaps
            row = self._row(
                "SELECT x.slot FROM decisions x JOIN bases b ON b.slot = x.slot AND b.seq >= x.seq WHERE x.id = ?"
                " AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.slot = x.slot AND c.seq = x.seq)",
                (name,),
            )
        return int(row[0]) if row is not None else None

    def lineage(self) -> list[Lineage]:
        """Which models began with what others had learnt, in the order of their making."""
        rows = self._rows("SELECT slot, source, seq FROM lineage ORDER BY slot, source")
        return [Lineage(*row) for row in rows]

    def floor(self, slot: int) -> int:
        """The first event of a slot whose chain is known: that of its base, else 0."""
        row = self._row("SELECT seq FROM bases WHERE slot = ?", (slot,))
        return int(row[0]) if row is not None else 0


def _state(row: Any) -> BaseState:
    key, *rest = row
    return BaseState(key or None, *rest)
