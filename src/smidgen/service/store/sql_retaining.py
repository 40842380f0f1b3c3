"""Writing bases, and erasing what lies under them."""

from __future__ import annotations

from collections.abc import Sequence

from smidgen.service.store.bases import RETAINED, Base, BaseState, Carried, said
from smidgen.service.store.crash_points import reach
from smidgen.service.store.sql_writes import SQLWrites

_BASE = """
    INSERT INTO bases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (slot) DO UPDATE SET seq = excluded.seq,
        version = excluded.version, chain = excluded.chain, at = excluded.at, decisions = excluded.decisions,
        late = excluded.late, floor = excluded.floor, body = excluded.body, erased = excluded.erased
"""
_DIGESTS = """
    SELECT digest FROM base_states s WHERE slot = ?1 AND seq = (
        SELECT max(t.seq) FROM base_states t WHERE t.slot = ?1 AND t.key = s.key AND t.seq <= ?2
    ) ORDER BY key
"""
_CARRIED_OF = """
    SELECT e.seq, e.decision FROM events e INDEXED BY event_keys JOIN carried c ON c.slot = e.slot AND c.seq = e.seq
    WHERE e.slot = ? AND e.key = ?
"""
_UNFINISHED = "SELECT slot FROM bases WHERE erased < seq ORDER BY slot LIMIT 1"
#: What of a range is not carried; ``?1`` is the slot, ``?2`` and ``?3`` are the ends.
_LAST_OF_NEXT = """
    SELECT max(seq) FROM (
        SELECT e.seq FROM events e WHERE e.slot = ?1 AND e.seq > ?2 AND e.seq <= ?3
            AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.slot = e.slot AND c.seq = e.seq)
        ORDER BY e.seq LIMIT ?4
    ) AS next
"""
_REMEMBER = """
    INSERT INTO gone SELECT x.id, x.slot FROM decisions x INDEXED BY decision_order
    WHERE x.slot = ?1 AND x.seq > ?2 AND x.seq <= ?3
        AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.slot = x.slot AND c.seq = x.seq)
    ON CONFLICT DO NOTHING
"""
_ERASE_DECISIONS = """
    DELETE FROM decisions INDEXED BY decision_order WHERE slot = ?1 AND seq > ?2 AND seq <= ?3
        AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.slot = decisions.slot AND c.seq = decisions.seq)
"""
_ERASE_EVENTS = """
    DELETE FROM events WHERE slot = ?1 AND seq > ?2 AND seq <= ?3
        AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.slot = events.slot AND c.seq = events.seq)
"""
_ERASE_CALLS = "DELETE FROM calls WHERE slot = ?1 AND seq > ?2 AND seq <= ?3"
_ERASE_STATES = """
    DELETE FROM base_states WHERE slot = ?1 AND seq < ?2 AND EXISTS (
        SELECT 1 FROM base_states t WHERE t.slot = ?1 AND t.key = base_states.key
            AND t.seq > base_states.seq AND t.seq <= ?2
    )
"""


class SQLRetaining(SQLWrites):
    """The verbs that write bases."""

    def stage(self, slot: int, states: Sequence[BaseState]) -> None:
        """Write states of a base that is still to come; until it does, nobody sees them."""
        self.enter(slot)
        for state in states:
            self._run(
                "DELETE FROM base_states WHERE slot = ? AND key = ? AND seq >= ?", (slot, state.key or "", state.seq)
            )
            self._run("INSERT INTO base_states VALUES (?, ?, ?, ?, ?, ?)", (slot, state.key or "", *state[1:]))
        reach("base-staged")

    def unstage(self, slot: int) -> None:
        """Drop the states of a base that did not come."""
        self.enter(slot)
        self._run(
            "DELETE FROM base_states WHERE slot = ?1 AND seq > coalesce((SELECT seq FROM bases WHERE slot = ?1), 0)",
            (slot,),
        )

    def rebase(self, slot: int, base: Base, carried: Sequence[Carried], at: float) -> int:
        """Let a log begin after a base whose states are staged; the number of the event that says so."""
        self.enter(slot)
        old = self.floor(slot)
        self._run("DELETE FROM carried WHERE slot = ?", (slot,))
        for kept in carried:
            self._run("INSERT INTO carried VALUES (?, ?, ?)", (slot, *kept))
        self._run(_BASE, (slot, *base[:8], 0))
        seq = self._tell(slot, base, base.seq - old, at)
        reach("base-made")
        return seq

    def drop_base_state(self, slot: int, key: str, at: float) -> None:
        """Let a base hold nothing of a key, nor keep any of its decisions."""
        self.enter(slot)
        if (base := self.base(slot)) is None:
            return
        counts, kept = self._touched(slot), self._rows(_CARRIED_OF, (slot, key))
        for seq, decision in kept:
            row = self.decision(decision.hex())
            counts.decisions -= 1
            counts.answered -= row is not None and row.answered
            counts.late -= row is not None and row.late
            self._run("DELETE FROM carried WHERE slot = ? AND seq = ?", (slot, seq))
        self._run("DELETE FROM base_states WHERE slot = ? AND key = ?", (slot, key))
        base = base._replace(decisions=base.decisions - len(kept))
        self._run(_BASE, (slot, *base[:8], 0))
        self._tell(slot, base, 0, at)

    def _tell(self, slot: int, base: Base, events: int, at: float) -> int:
        """Write the event that has the digest of a base."""
        states = [digest for (digest,) in self._rows(_DIGESTS, (slot, base.seq))]
        told = said(base, events, states, self.carried(slot))
        return self._append(slot, self._touched(slot), RETAINED, at, told)

    def tidy(self, limit: int) -> bool:
        """Erase some of what lies under a base; False if nothing is left."""
        row = self._row(_UNFINISHED)
        if row is None:
            return False
        (slot,) = row
        self.enter(slot)
        seq, erased = self._row("SELECT seq, erased FROM bases WHERE slot = ?", (slot,))
        last = self._row(_LAST_OF_NEXT, (slot, erased, seq, limit))[0]
        upto = seq if last is None else last
        for sql in (_REMEMBER, _ERASE_DECISIONS, _ERASE_CALLS, _ERASE_EVENTS):
            self._run(sql, (slot, erased, upto))
        if upto == seq:
            self._run(_ERASE_STATES, (slot, seq))
        self._run("UPDATE bases SET erased = ? WHERE slot = ?", (upto, slot))
        reach("base-tidied")
        return True
