"""Whole streams of Confidit in compiled code: round for round what the two verbs would do."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import borrowing, inlined, kernel
from smidgen.decision import FloatArray
from smidgen.features.row import over_length
from smidgen.learners.courses import DECIDE, Way
from smidgen.learners.follower import Noted, Trip, heard_at, row_of
from smidgen.learners.label.base import Shown, Stream
from smidgen.learners.label.confidit_round import (
    choose,
    decide_diagonal,
    decide_full,
    learn_diagonal,
    learn_full,
    settings_in,
    sign_of,
    step_diagonal,
    step_full,
)
from smidgen.randomness import U64
from smidgen.state.classes import Block, best_class
from smidgen.state.diagonal import diagonal_moments
from smidgen.state.full import full_moments

#: What is played: the stream, what each row is multiplied by, the number of the first round, and what was shown.
Played: TypeAlias = tuple[Stream, FloatArray, int, Shown]
#: Space for w·x and xᵀA⁻¹x of every class, for ε, and for a row.
Scratch: TypeAlias = tuple[Block, FloatArray, Block]


@borrowing
def _rounds_diagonal(S: Block, K: int, numbers: FloatArray, key: U64, played: Played, scratch: Scratch) -> None:
    (indices, values, starts, truth, order), scales, first, shown = played
    (moments, eps, buffer), s = scratch, settings_in(numbers)
    for i in range(order.shape[0]):
        t = order[i]
        idx, val = indices[starts[t] : starts[t + 1]], buffer[: starts[t + 1] - starts[t]]
        scaled(values[starts[t] : starts[t + 1]], scales[t], val)
        diagonal_moments(S, idx, val, moments)
        action = choose(moments, K, s, numbers, eps)
        shown[0][i], shown[1][i] = action, best_class(moments[0], K)
        sign = sign_of(1.0 if action == truth[t] else 0.0, s.alpha, key, first + i)
        step_diagonal(S, K, (idx, val), action, sign, s, moments, numbers)


@borrowing
def _rounds_full(
    W: Block, B: Block, K: int, numbers: FloatArray, key: U64, played: Played, scratch: Scratch, P: Block
) -> None:
    (indices, values, starts, truth, order), scales, first, shown = played
    (moments, eps, buffer), s = scratch, settings_in(numbers)
    for i in range(order.shape[0]):
        t = order[i]
        idx, val = indices[starts[t] : starts[t + 1]], buffer[: starts[t + 1] - starts[t]]
        scaled(values[starts[t] : starts[t + 1]], scales[t], val)
        full_moments(W, B, idx, val, moments[0], moments[1], P)
        action = choose(moments, K, s, numbers, eps)
        shown[0][i], shown[1][i] = action, best_class(moments[0], K)
        sign = sign_of(1.0 if action == truth[t] else 0.0, s.alpha, key, first + i)
        step_full(W, B, K, P, action, sign, s, moments, numbers)


@kernel
def stream_diagonal(S: Block, K: int, numbers: FloatArray, key: U64, played: Played) -> None:
    """Rounds on diagonal state; every row is scaled first."""
    scratch = np.empty((2, S.shape[1] // 2), S.dtype), np.empty(K), np.empty(longest(played[0][2]), S.dtype)
    _rounds_diagonal(S, K, numbers, key, played, scratch)


@kernel
def stream_full(W: Block, B: Block, K: int, numbers: FloatArray, key: U64, played: Played) -> None:
    """The same on full state."""
    scratch = np.empty((2, W.shape[0]), W.dtype), np.empty(K), np.empty(longest(played[0][2]), W.dtype)
    _rounds_full(W, B, K, numbers, key, played, scratch, np.empty((K, W.shape[1]), W.dtype))


@kernel
def follow_diagonal(
    S: Block, K: int, numbers: FloatArray, key: U64, way: Way, trip: Trip, begin: int, end: int, noted: Noted
) -> int:
    """Steps of a course on diagonal state; returns the end, or an earlier step that cannot be taken."""
    moments, scores, eps = np.empty((2, S.shape[1] // 2)), np.empty(K), np.empty(K)
    for t in range(begin, end):
        (idx, val), place, number = row_of(way, t), trip.places[t], trip.numbers[t]
        if way.actions[t] == DECIDE:
            found = decide_diagonal(S, idx, val, numbers, number, moments, scores, eps)
            noted.actions[place], noted.greedy[place] = found
        else:
            action, reward, _ = heard_at(way, trip, noted, t)
            if not learn_diagonal(S, idx, val, K, action, reward, numbers, key, number, moments):
                return t
    return end


@kernel
def follow_full(
    W: Block, B: Block, K: int, numbers: FloatArray, key: U64, way: Way, trip: Trip, begin: int, end: int, noted: Noted
) -> int:
    """The same on full state."""
    moments, P, scores, eps = np.empty((2, W.shape[0])), np.empty((K, W.shape[1])), np.empty(K), np.empty(K)
    for t in range(begin, end):
        (idx, val), place, number = row_of(way, t), trip.places[t], trip.numbers[t]
        if way.actions[t] == DECIDE:
            found = decide_full(W, B, idx, val, numbers, number, moments, P, scores, eps)
            noted.actions[place], noted.greedy[place] = found
        else:
            action, reward, _ = heard_at(way, trip, noted, t)
            if not learn_full(W, B, idx, val, K, action, reward, numbers, key, number, moments, P):
                return t
    return end


@kernel
def longest(starts: NDArray[np.int64]) -> int:
    """The number of values in the longest row."""
    longest = 0
    for i in range(starts.shape[0] - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    return longest


@borrowing
def scaled(row: Block, scale: float, out: Block) -> None:
    """A row times a number."""
    for k in range(row.shape[0]):
        out[k] = float(row[k]) * scale


@kernel
def row_scales(values: Block, starts: NDArray[np.int64], out: FloatArray) -> None:
    """1 / ‖x‖ of every row: what `write_unit_row` scales by, but for four rows at once, so that no sum waits."""
    n = out.shape[0]
    for i in range(0, n - n % 4, 4):
        a, b, c, d = starts[i], starts[i + 1], starts[i + 2], starts[i + 3]
        common = min(b - a, c - b, d - c, starts[i + 4] - d)
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for k in range(common):
            v0, v1, v2, v3 = float(values[a + k]), float(values[b + k]), float(values[c + k]), float(values[d + k])
            s0, s1, s2, s3 = s0 + v0 * v0, s1 + v1 * v1, s2 + v2 * v2, s3 + v3 * v3
        out[i] = over_length(_more_squares(s0, values[a + common : b]))
        out[i + 1] = over_length(_more_squares(s1, values[b + common : c]))
        out[i + 2] = over_length(_more_squares(s2, values[c + common : d]))
        out[i + 3] = over_length(_more_squares(s3, values[d + common : starts[i + 4]]))
    for i in range(n - n % 4, n):
        out[i] = over_length(_more_squares(0.0, values[starts[i] : starts[i + 1]]))


@inlined
def _more_squares(total: float, values: Block) -> float:
    """A sum of squares, gone on with."""
    for k in range(values.shape[0]):
        total += float(values[k]) * float(values[k])
    return total
