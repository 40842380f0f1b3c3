"""Who owns which slot, by the clock of the database: leases with epochs."""

from __future__ import annotations

from smidgen.service.store.postgres_batch import Batch
from smidgen.service.store.postgres_wire import call
from smidgen.service.store.rows import LeaseRow

_NOW = "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"
_RENEWAL = "UPDATE leases SET until = {now} + ?3 WHERE slot = ?1 AND owner = ?2 AND until > {now} RETURNING epoch"
_RENEW = _RENEWAL.format(now=_NOW)
_GRANTING = """
    INSERT INTO leases AS l VALUES (?1, ?2, 1, {now} + ?3) ON CONFLICT (slot) DO UPDATE
        SET owner = excluded.owner, until = excluded.until,
            epoch = l.epoch + CASE WHEN l.owner = excluded.owner THEN 0 ELSE 1 END
    WHERE l.owner = excluded.owner OR l.until <= {now} RETURNING epoch
"""
_GRANT = _GRANTING.format(now=_NOW)
_LEAVE = "UPDATE leases SET until = 0 WHERE slot = ? AND owner = ?"


class Leases:
    """The leases, over a connection of their own: they last at once, whatever batch is open.

    Parameters
    ----------
    side
        The connection.
    """

    def __init__(self, side: Batch) -> None:
        self._side = side

    def lease(self, slot: int, owner: str, seconds: float) -> int | None:
        """Own a slot, or go on owning it, for so long; None while somebody else does."""
        given = (slot, owner, float(seconds))
        renewing = (call("BEGIN"), call("SET LOCAL synchronous_commit = off"), call(_RENEW, given), call("COMMIT"))
        *_, renewed, _ = self._side.ask(*renewing)  # a renewal that a crash forgets does no harm
        rows = renewed or self._side.ask(call(_GRANT, given))[0]
        return int(rows[0][0]) if rows else None

    def leases(self) -> list[LeaseRow]:
        """Who owns which slot until when, by slot."""
        (rows,) = self._side.ask(call("SELECT slot, owner, epoch, until FROM leases WHERE until > 0 ORDER BY slot"))
        return [LeaseRow(*row) for row in rows]

    def leave(self, slot: int, owner: str) -> None:
        """Own a slot no more."""
        self._side.ask(call(_LEAVE, (slot, owner)))
