"""What a learner that draws its rankings remembers, as the compiled stream reads and writes it."""

from __future__ import annotations

from typing import NamedTuple

from smidgen.decision import FloatArray, IntArray

DECIDED, SILENT = range(2)  # what `DrawnMemory.counts` counts


class DrawnMemory(NamedTuple):
    """What a learner remembers; the stream writes to it."""

    w: FloatArray
    squares: FloatArray
    total: FloatArray
    counts: IntArray
