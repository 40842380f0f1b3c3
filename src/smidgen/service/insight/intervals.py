"""95 % intervals of shares and means."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: Of the normal law: 95 % lie within so many standard deviations.
Z = 1.959964


def wilson(hits: float, n: float) -> tuple[float, float, float]:
    """A share with Wilson's 95 % interval.

    Examples
    --------
    >>> from smidgen.service.insight.intervals import wilson
    >>> tuple(round(x, 3) for x in wilson(8, 10))
    (0.8, 0.49, 0.943)
    """
    p = hits / n
    centre = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    return p, max(0.0, centre - half), min(1.0, centre + half)


def normal(values: Sequence[float]) -> tuple[float, float, float]:
    """A mean with the normal 95 % interval."""
    n = len(values)
    mean = sum(values) / n
    spread = math.sqrt(sum((x - mean) ** 2 for x in values) / max(1, n - 1) / n)
    return mean, mean - Z * spread, mean + Z * spread
