"""What the compiled core and the learners that choose by reward tell each other (_core/choose.cpp)."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import FloatArray, IntArray
from smidgen.state.offers import Offer

Mask = NDArray[np.bool_]
#: Rules: the highest upper confidence bound, inverse gaps, the argmaxes of posterior samples.
UCB, GAPS, SAMPLES = 0, 1, 2
#: Where things stand in a learner's array of numbers: the rounds learnt, then its settings.
ROUNDS, RULE, WIDTH, GAMMA, FLOOR, MIN_SHARE, DRAWS, RIDGE, KEEP, COUNT, NUMBERS = range(11)
#: In place of an action: the least shares add up to more than 1. (−1: a number is not finite.)
TOO_MUCH = -2
#: The action, the greedy one, and the probability of the action.
Settled: TypeAlias = tuple[int, int, float]
#: What is played: the rows of all candidates; how many rows lie between one round and the next (0: the same again);
#: which candidates are on offer, a row for each round, or one for all, or none; the rewards, a row for each round.
Played: TypeAlias = tuple[Offer, int, Mask, FloatArray]
#: What was shown in each round, what had the highest estimate, and the probability of what was shown.
Shown: TypeAlias = tuple[IntArray, IntArray, FloatArray]


def pack(
    rule: int,
    *,
    width: float = 1.0,
    gamma: float = 0.0,
    floor: float,
    min_share: float,
    draws: bool,
    ridge: float,
    keep: float,
    count: int = 0,
) -> FloatArray:
    """The numbers of a learner that has not learnt yet."""
    numbers = np.zeros(NUMBERS)
    numbers[RULE:] = rule, width, gamma, floor, min_share, draws, ridge, keep, count
    return numbers
