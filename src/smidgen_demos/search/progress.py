"""Quality of the ranking over time: means over the latest clicks, from the first click on."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.decision import FloatArray
from smidgen.service.monitoring.curves import BLOCK

#: Number of blocks of clicks of which a point is the mean.
BLOCKS = 50 // BLOCK
MOST_POINTS = 60


def progress(rows: FloatArray) -> list[dict[str, Any]]:
    """Points of the curve: after each block of clicks, the means over the last fifty.

    Parameters
    ----------
    rows
        The sums of learnt feedback, as `curve.Curves` reads them.
    """
    if not len(rows):
        return []
    sums = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
    ends = np.arange(1, len(sums))
    last = sums[ends] - sums[np.maximum(0, ends - BLOCKS)]
    step = -(-len(ends) // MOST_POINTS)
    points = []
    for end in sorted({0, *range(len(ends) - 1, -1, -step)}):
        _, measured, unchanged, _, placed, position, _ = last[end].tolist()
        points.append(
            {
                "to": int(sums[end + 1, 0]),
                "position": position / placed if placed else None,
                "unchanged": unchanged / measured if measured else None,
            }
        )
    return points
