"""Times as people and programs read them."""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(seconds: float) -> str:
    """Seconds since 1970 in ISO 8601, UTC, to the millisecond.

    Examples
    --------
    >>> from smidgen.service.clock import stamp
    >>> stamp(0.25)
    '1970-01-01T00:00:00.250Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
