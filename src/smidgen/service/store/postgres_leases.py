"""Who owns which slot, by the clock of the database: leases with epochs."""

from __future__ import annotations

from collections.abc import Sequence

from smidgen.service.store.postgres_batch import Batch
from smidgen.service.store.postgres_wire import call
from smidgen.service.store.rows import LeaseRow

_NOW = "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"
_SLOTS = "CAST(string_to_array(?3, ',') AS BIGINT[])"
# Rows are locked in the order of slots, so that nobody waits in a ring.
_RENEWAL = """
    WITH held AS (
        SELECT slot FROM leases WHERE slot = ANY ({slots}) AND owner = ?1 AND until > {now} ORDER BY slot FOR UPDATE
    ) UPDATE leases SET until = {now} + ?2 FROM held WHERE leases.slot = held.slot RETURNING leases.slot, epoch
"""
_RENEW = _RENEWAL.format(now=_NOW, slots=_SLOTS)
_GRANTING = """
    INSERT INTO leases AS l SELECT wanted, ?1, 1, {now} + ?2 FROM unnest({slots}) AS wanted WHERE NOT EXISTS (
        SELECT 1 FROM leases WHERE slot = wanted AND owner <> ?1 AND until > {now}
    ) ORDER BY wanted
    ON CONFLICT (slot) DO UPDATE
        SET owner = excluded.owner, until = excluded.until,
            epoch = l.epoch + CASE WHEN l.owner = excluded.owner THEN 0 ELSE 1 END
    WHERE l.owner = excluded.owner OR l.until <= {now} RETURNING slot, epoch
"""
_GRANT = _GRANTING.format(now=_NOW, slots=_SLOTS)
_LEAVING = """
    WITH held AS (SELECT slot FROM leases WHERE slot = ANY ({slots}) AND owner = ?1 ORDER BY slot FOR UPDATE)
    UPDATE leases SET until = ?2 FROM held WHERE leases.slot = held.slot
"""
_LEAVE = _LEAVING.format(slots=_SLOTS)


class Leases:
    """The leases, over a connection of their own: they last at once, whatever batch is open.

    Parameters
    ----------
    side
        The connection.
    """

    def __init__(self, side: Batch) -> None:
        self._side = side

    def lease(self, owner: str, seconds: float, *slots: int) -> dict[int, int]:
        """Own slots, or go on owning them, for so long; those that somebody else owns are left out."""
        if not slots:
            return {}
        given = (owner, float(seconds), _told(slots))
        renewing = (call("BEGIN"), call("SET LOCAL synchronous_commit = off"), call(_RENEW, given), call("COMMIT"))
        *_, renewed, _ = self._side.ask(*renewing)  # a renewal that a crash forgets does no harm
        epochs = dict(renewed)
        if rest := [slot for slot in slots if slot not in epochs]:
            epochs |= dict(self._side.ask(call(_GRANT, (owner, float(seconds), _told(rest))))[0])
        return epochs

    def leases(self) -> list[LeaseRow]:
        """Who owns which slot until when, by slot."""
        (rows,) = self._side.ask(call("SELECT slot, owner, epoch, until FROM leases WHERE until > 0 ORDER BY slot"))
        return [LeaseRow(*row) for row in rows]

    def leave(self, owner: str, *slots: int) -> None:
        """Own slots no more."""
        self._side.ask(call(_LEAVE, (owner, 0.0, _told(slots))))


def _told(slots: Sequence[int]) -> str:
    return ",".join(map(str, slots))
