"""Tables of queries and records of rounds, as the compiled streams of rankings read and write them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from smidgen._core.ranking import write_best_utilities
from smidgen.decision import FloatArray, IntArray


class Queries(NamedTuple):
    """What is read of a table; arrays that nobody asks for are empty."""

    X: FloatArray
    starts: IntArray
    labels: FloatArray
    taste: FloatArray  # the score of every document under the user's own w*
    truth: FloatArray  # the same under the w* that regret is measured by
    discounts: FloatArray


class Record(NamedTuple):
    """What is written down, one row per round: the first documents shown; the utilities of y and ȳ, if measured."""

    shown: IntArray
    utilities: FloatArray


def best_utilities(starts: IntArray, truth: FloatArray, discounts: FloatArray) -> FloatArray:
    """The utility of the best ranking of every query."""
    out = np.empty(len(starts) - 1)
    write_best_utilities(starts, truth, discounts, out)
    return out
