"""Times as people and programs read them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import lru_cache


def stamp(seconds: float) -> str:
    """Seconds since 1970 in ISO 8601, UTC, to the millisecond.

    Examples
    --------
    >>> from smidgen.service.clock import stamp
    >>> stamp(0.25)
    '1970-01-01T00:00:00.250Z'
    """
    part, whole = math.modf(seconds)
    millions, micros = divmod(round(part * 1e6), 1_000_000)  # as `datetime` rounds
    return f"{_second(int(whole) + millions)}.{micros // 1000:03}Z"


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    """A whole second; the times of a moment, and the ends of windows that they open, share a few of them."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").removesuffix("+00:00")
