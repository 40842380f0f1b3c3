"""When a filter forwards against its margin, to learn: thresholds by what was heard; and the constant feature."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import constant, kernel
from smidgen.decision import FloatArray
from smidgen.features import Row

#: The rules by name, as kernels know them.
RULES = {"paper": 0, "found": 1, "scarce": 2}
#: What the ridge is multiplied with, by rule.
RIDGES = {"paper": 1.0, "found": 1.0, "scarce": 0.1}
#: Where things stand in what was heard: labels N, relevant ones among them m, and the recent mean of widths xᵀA⁻¹x.
HEARD, RELEVANT, WIDTH = 0, 1, 2
#: How many of them a rule remembers.
MEMORY = {"paper": 1, "found": 2, "scarce": 3}
#: After so many labels items of a mean width above this share of the widest are taken for text: something in them is
#: always new.
SOME, NEW = 50, 0.3


@kernel
def threshold_of(rule: int, c: float, t: int, heard: FloatArray) -> float:
    """The margin that item t must reach; −∞ while nothing has been heard. For "scarce", c is the ridge."""
    N = heard[HEARD]
    if N <= 0.0:
        return -math.inf
    if rule == 0:
        return -math.sqrt(c * math.log(t) / N)
    found = math.sqrt(0.1 * math.log(t) / (heard[RELEVANT] + 1.0))
    if rule == 1:
        return -max(found, math.sqrt(math.log(t) / N))
    width = heard[WIDTH]
    if N >= SOME and c * width > NEW:  # margins are small where widths are large: so is the threshold
        return float(-max(found, math.sqrt(math.log(t) / N)) * (1.0 + c * width) / (1.0 + width))
    return -max(found, math.sqrt(2.0 * math.log(t) / N))


@kernel
def count_label(heard: FloatArray, relevant: bool, keep: float, width: float) -> None:
    """One more label heard; the older ones fade by ``keep``."""
    heard[HEARD] = keep * heard[HEARD] + 1.0
    if heard.shape[0] > RELEVANT:
        heard[RELEVANT] = keep * heard[RELEVANT] + relevant
    if heard.shape[0] > WIDTH:
        heard[WIDTH] += max(0.2, 1.0 / heard[HEARD]) * (width - heard[WIDTH])


def with_constant(row: Row) -> Row:
    """A row with a 1 behind its features."""
    n = len(row.indices)
    indices, values = np.empty(n + 1, np.uint32), np.empty(n + 1)
    indices[:n], values[:n], indices[n], values[n] = row.indices, row.values, row.dim, 1.0
    return Row(constant(indices), values, row.dim + 1)


@kernel
def rows_with_constant(
    indices: NDArray[np.uint32], values: NDArray[Any], starts: NDArray[np.int64], dim: int
) -> tuple[NDArray[np.uint32], NDArray[Any], NDArray[np.int64]]:
    """The same for all rows of a stream."""
    n = starts.shape[0] - 1
    wide = np.empty(indices.shape[0] + n, np.uint32), np.empty(values.shape[0] + n, values.dtype), starts.copy()
    for i in range(n):
        for k in range(starts[i], starts[i + 1]):
            wide[0][k + i], wide[1][k + i] = indices[k], values[k]
        end = starts[i + 1] + i
        wide[0][end], wide[1][end], wide[2][i + 1] = dim, 1.0, end + 1
    return wide
