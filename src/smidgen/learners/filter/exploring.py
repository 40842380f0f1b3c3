"""When a filter forwards against its margin, to learn: thresholds by what was heard; and the constant feature."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._core.filter import write_rows_with_constant
from smidgen.decision import FloatArray
from smidgen.features import Row
from smidgen.randomness import U64

#: The rules by name, as kernels know them.
RULES = {"paper": 0, "found": 1, "scarce": 2, "patient": 3, "sparing": 4}
#: In the place of a rule: forward by the sign of the margin, and hear every label; or taste what would be dropped.
EVERYTHING, TASTING = -1, -2
#: What the ridge is multiplied with, by rule.
RIDGES = {"paper": 1.0, "found": 1.0, "scarce": 0.1, "patient": 0.1, "sparing": 0.1}
#: Where things stand in what was heard: labels N, relevant ones among them m, and the recent mean of widths xᵀA⁻¹x.
HEARD, RELEVANT, WIDTH = 0, 1, 2
#: How many of them a rule remembers.
MEMORY = {"paper": 1, "found": 2, "scarce": 3, "patient": 3, "sparing": 3}


class Exploring(NamedTuple):
    """When a filter forwards, for compiled streams: the rule, its c (see `threshold_of`), the key of its coins."""

    rule: int
    c: float = 0.0
    key: U64 = np.zeros(2, np.uint64)


def margin_of(mean: float, width: float) -> float:
    """b·A⁻¹x / (1 + xᵀA⁻¹x): the estimate w·x with x itself already counted in (eq. 3)."""
    return mean / (1.0 + width)


def with_constant(row: Row) -> Row:
    """A row with a 1 behind its features."""
    n = len(row.indices)
    indices, values = np.empty(n + 1, np.uint32), np.empty(n + 1)
    indices[:n], values[:n], indices[n], values[n] = row.indices, row.values, row.dim, 1.0
    return Row(indices, values, row.dim + 1)


def rows_with_constant(
    indices: NDArray[np.uint32], values: FloatArray, starts: NDArray[np.int64], dim: int
) -> tuple[NDArray[np.uint32], FloatArray, NDArray[np.int64]]:
    """The same for all rows of a stream."""
    size = len(values) + len(starts) - 1
    wide = np.empty(size, np.uint32), np.empty(size), np.empty_like(starts)
    write_rows_with_constant((indices, values, starts), dim, *wide)
    return wide
