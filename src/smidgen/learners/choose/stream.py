"""Whole streams of choices with a table of rewards in compiled code: round for round what the two verbs would do."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import inlined, kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.learners.choose.round import (
    ROUNDS,
    decide_columns,
    draws_samples,
    fading_of,
    sample_columns,
    sample_root,
    settle,
)
from smidgen.randomness import U64
from smidgen.state.columns import column_learn
from smidgen.state.offers import Offer, row_indices, row_values
from smidgen.state.root import LEARNT, Slots, fading_learn, scratch_for, write_known_step, write_moments, write_step

#: What is played: the rows of all candidates; how many rows lie between one round and the next (0: the same again);
#: which candidates are on offer, a row for each round, or one for all, or none; the rewards, a row for each round.
Played: TypeAlias = tuple[Offer, int, NDArray[np.bool_], FloatArray]
#: What was shown in each round, what had the highest estimate, and the probability of what was shown.
Shown: TypeAlias = tuple[IntArray, IntArray, FloatArray]
#: The number of the first round, and the one to begin with.
Place: TypeAlias = tuple[int, int]


@inlined
def _mask(masks: NDArray[np.bool_], t: int, K: int) -> NDArray[np.bool_]:
    """Which candidates are on offer in round t; empty: all."""
    first = min(t * K, masks.shape[0] - K)
    return masks[max(first, 0) : max(first + K, 0)]


@kernel
def play_root(
    R: FloatArray,
    slots: Slots,
    used: IntArray,
    F: FloatArray,
    numbers: FloatArray,
    keys: U64,
    played: Played,
    place: Place,
    shown: Shown,
) -> tuple[int, int]:
    """Rounds with full A, until they are over or one cannot be played: which that is, and why (an action below 0)."""
    offer, stride, masks, rewards = played
    (idx, val, starts), (first, begin), (T, K) = offer, place, rewards.shape
    ridge, keep, _ = fading_of(numbers)
    known = (
        slots.shape[0] == 0 and keep == 1.0 and not draws_samples(numbers)
    )  # then what deciding found serves to learn
    scratch, leans, why = scratch_for(R, slots, idx), np.empty((K if known else 1, R.shape[1])), 0
    out = (np.empty(K), np.empty(K), np.empty(K))
    for t in range(begin, T):
        mask, number, row = _mask(masks, t, K), first + t, t * stride
        if draws_samples(numbers):
            action, greedy, p = sample_root(R, slots, used, idx, val, starts, row, mask, numbers, keys, number, *out)
        else:
            write_moments(R, slots, offer, row, ridge, scratch, leans, out)
            action, greedy, p = settle(out, mask, numbers, keys[:2], number)
        if action < 0:
            return t, action
        shown[0][t], shown[1][t], shown[2][t] = action, greedy, p
        x, indices = row_values(idx, val, starts, row + action), row_indices(idx, starts, row + action)
        if known:
            why = write_known_step(R, slots, indices, x, rewards[t, action], out[0][action], leans[action])
        elif keep < 1.0:
            why = fading_learn(R, slots, used, F, indices, x, rewards[t, action], ridge, keep)
        else:
            why = write_step(R, slots, used, indices, x, rewards[t, action], scratch, leans[0])
        if why != LEARNT:
            return t, why
        numbers[ROUNDS] += 1.0
    return T, 0


@kernel
def play_columns(
    D: FloatArray, marks: Slots, numbers: FloatArray, keys: U64, played: Played, place: Place, shown: Shown
) -> tuple[int, int]:
    """The same with diagonal A."""
    (idx, val, starts), stride, masks, rewards = played
    first, begin = place
    T, K = rewards.shape
    out, why = (np.empty(K), np.empty(K), np.empty(K)), 0
    for t in range(begin, T):
        mask, number, row = _mask(masks, t, K), first + t, t * stride
        if draws_samples(numbers):
            action, greedy, p = sample_columns(D, marks, idx, val, starts, row, mask, numbers, keys, number, *out)
        else:
            action, greedy, p = decide_columns(D, idx, val, starts, row, mask, numbers, keys, number, *out)
        if action < 0:
            return t, action
        shown[0][t], shown[1][t], shown[2][t] = action, greedy, p
        why = column_learn(D, idx, val, starts, row + action, rewards[t, action], fading_of(numbers))
        if why != LEARNT:
            return t, why
        numbers[ROUNDS] += 1.0
    return T, 0
