"""When a filter forwards against its margin, to learn: thresholds by what was heard; and the constant feature."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import constant, kernel
from smidgen.decision import FloatArray
from smidgen.features import Row
from smidgen.randomness import U64, first_uniform

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
#: After so many labels items of a mean width above this share of the widest are taken for text: something in them is
#: always new.
SOME, NEW = 50, 0.3
#: Where less than this share of what was heard is irrelevant, a sparing filter explores less.
MOSTLY = 0.75


class Exploring(NamedTuple):
    """When a filter forwards, for compiled streams: the rule, its c (see `threshold_of`), the key of its coins."""

    rule: int
    c: float = 0.0
    key: U64 = np.zeros(2, np.uint64)


@kernel
def threshold(c: float, t: int, N: float) -> float:
    """−√(c·ln t / N), and −∞ while nothing has been heard."""
    return -math.sqrt(c * math.log(t) / N) if N > 0.0 else -math.inf


@kernel
def tasting_chance(surprises: float, t: int) -> float:
    """How likely item t is forwarded in spite of its margin, after so many relevant items found that way."""
    return min(1.0, math.sqrt((1.0 + surprises) / (t + 1.0)))


@kernel
def margin_of(mean: float, width: float) -> float:
    """b·A⁻¹x / (1 + xᵀA⁻¹x): the estimate w·x with x itself already counted in (eq. 3)."""
    return mean / (1.0 + width)


@kernel
def threshold_of(rule: int, c: float, t: int, heard: FloatArray) -> float:
    """The margin that item t must reach; −∞ while nothing has been heard. Of the last three rules, c is the ridge."""
    N = heard[HEARD]
    if rule == 0 or N <= 0.0:
        return threshold(c, t, N)
    found = math.sqrt(0.1 * math.log(t) / (heard[RELEVANT] + 1.0))
    if rule == 1:
        return -max(found, math.sqrt(math.log(t) / N))
    width = heard[WIDTH]
    if N >= SOME and c * width > NEW:  # margins are small where widths are large: so is the threshold
        return float(-max(found, math.sqrt(math.log(t) / N)) * (1.0 + c * width) / (1.0 + width))
    if rule == 2:
        return -max(found, math.sqrt(2.0 * math.log(t) / N))
    patient = max(math.sqrt(0.15 * math.log(t) / (heard[RELEVANT] + 1.0)), math.sqrt(3.0 * math.log(t) / N))
    if rule == 3 or c * width > NEW:
        return -patient
    irrelevant = min(1.0, (1.0 - heard[RELEVANT] / (N + 1.0)) / MOSTLY)
    return float(-patient * irrelevant)


@kernel
def count_label(heard: FloatArray, relevant: bool, keep: float, width: float) -> None:
    """One more label heard; the older ones fade by ``keep``."""
    heard[HEARD] = keep * heard[HEARD] + 1.0
    if heard.shape[0] > RELEVANT:
        heard[RELEVANT] = keep * heard[RELEVANT] + relevant
    if heard.shape[0] > WIDTH:
        heard[WIDTH] += max(0.2, 1.0 / heard[HEARD]) * (width - heard[WIDTH])


@kernel
def forwards(e: Exploring, margin: float, t: int, heard: FloatArray, tasted: FloatArray) -> bool:
    """Whether item t is forwarded; of a filter that tastes, ``tasted`` counts the surprises."""
    if e.rule == EVERYTHING:
        return margin >= 0.0
    if e.rule == TASTING:
        return margin >= 0.0 or first_uniform(e.key, t) < tasting_chance(tasted[0], t)
    return margin >= threshold_of(e.rule, e.c, t, heard)


@kernel
def hear(heard: FloatArray, tasted: FloatArray, margin: float, relevant: bool, width: float) -> None:
    """One more label of a stream."""
    count_label(heard, relevant, 1.0, width)
    tasted[0] += relevant and margin < 0.0


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
