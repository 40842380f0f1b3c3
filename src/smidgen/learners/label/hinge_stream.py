"""Whole streams of HingeConfidit in compiled code: round for round what the two verbs would do."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from smidgen._kernel import borrowing, kernel
from smidgen.decision import FloatArray
from smidgen.learners.label.confidit_stream import Played, longest, scaled
from smidgen.learners.label.hinge_round import add_width, choose, step_diagonal, step_full
from smidgen.randomness import U64
from smidgen.state.classes import Block, Indices, best_class
from smidgen.state.diagonal import diagonal_moments
from smidgen.state.full import full_moments
from smidgen.state.in_use import Slots, give_slots, take_slots

#: Columns in use: their slots (empty: all features are), the column of each slot, how many there are, and A₀.
Used: TypeAlias = tuple[Slots, Indices, int, float]


@borrowing
def _rounds_diagonal(
    S: Block, K: int, numbers: FloatArray, key: U64, played: Played, moments: Block, buffer: Block
) -> None:
    (indices, values, starts, truth, order), scales, first, shown = played
    for i in range(order.shape[0]):
        t = order[i]
        idx, val = indices[starts[t] : starts[t + 1]], buffer[: starts[t + 1] - starts[t]]
        scaled(values[starts[t] : starts[t + 1]], scales[t], val)
        diagonal_moments(S, idx, val, moments)
        action = choose(moments, K, numbers, key, first + i)[0]
        shown[0][i], shown[1][i] = action, best_class(moments[0], K)
        step_diagonal(S, idx, val, action, 1.0 if action == truth[t] else 0.0, numbers, moments)


@borrowing
def _rounds_full(
    W: Block,
    B: Block,
    K: int,
    numbers: FloatArray,
    key: U64,
    played: Played,
    scratch: tuple[Block, Block, Block, Indices, Block],
    use: Used,
) -> int:
    (indices, values, starts, truth, order), scales, first, shown = played
    (moments, P, buffer, where, kept), (slots, columns, used, start) = scratch, use
    for i in range(order.shape[0]):
        t, new = order[i], 0
        idx, val = indices[starts[t] : starts[t + 1]], buffer[: starts[t + 1] - starts[t]]
        scaled(values[starts[t] : starts[t + 1]], scales[t], val)
        if slots.shape[0]:
            n, new, beyond = take_slots(slots, idx, val, where, kept)
            full_moments(W, B, where[:n], kept[:n], moments[0], moments[1], P)
            add_width(moments, beyond / start)
        else:
            full_moments(W, B, idx, val, moments[0], moments[1], P)
        action = choose(moments, K, numbers, key, first + i)[0]
        shown[0][i], shown[1][i] = action, best_class(moments[0], K)
        if new:
            used = give_slots(slots, columns, used, idx, val)
            n = take_slots(slots, idx, val, where, kept)[0]
            full_moments(W, B, where[:n], kept[:n], moments[0], moments[1], P)
        step_full(W, B, P, action, 1.0 if action == truth[t] else 0.0, numbers, moments)
    return used


@kernel
def stream_diagonal(S: Block, K: int, numbers: FloatArray, key: U64, played: Played) -> None:
    """Rounds on diagonal state; every row is scaled first."""
    moments, buffer = np.empty((2, S.shape[1] // 2), S.dtype), np.empty(longest(played[0][2]), S.dtype)
    _rounds_diagonal(S, K, numbers, key, played, moments, buffer)


@kernel
def stream_full(W: Block, B: Block, K: int, numbers: FloatArray, key: U64, played: Played, use: Used) -> int:
    """The same on full state; how many columns are in use then."""
    n = longest(played[0][2])
    moments, P = np.empty((2, W.shape[0]), W.dtype), np.empty((K, W.shape[1]), W.dtype)
    scratch = moments, P, np.empty(n, W.dtype), np.empty(n, np.uint32), np.empty(n, W.dtype)
    return _rounds_full(W, B, K, numbers, key, played, scratch, use)
