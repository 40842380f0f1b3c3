"""Whole streams of Confidit in compiled code: round for round what the two verbs would do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import inlined, kernel
from smidgen.features.row import over_length
from smidgen.learners.label.confidit_round import choose, count_round, sign_of, step_diagonal, step_full, unpack
from smidgen.learners.label.template import Shown, Stream
from smidgen.randomness import U64
from smidgen.state.classes import Block, best_class
from smidgen.state.diagonal import diagonal_moments
from smidgen.state.full import full_moments
from smidgen.types import FloatArray


@kernel
def stream_diagonal(
    S: Block, K: int, numbers: FloatArray, key: U64, stream: Stream, scales: FloatArray, first: int, shown: Shown
) -> None:
    """Rounds on diagonal state; every row is scaled first."""
    indices, values, starts, truth, order = stream
    C, (memory, s, errors) = S.shape[1] // 2, unpack(numbers)
    means, widths, shifts, eps = np.empty(C, S.dtype), np.empty(C, S.dtype), np.zeros(C), np.empty(C)
    room = np.empty(_longest(starts), S.dtype)
    for i in range(order.shape[0]):
        t = order[i]
        idx, val = indices[starts[t] : starts[t + 1]], _scaled(values[starts[t] : starts[t + 1]], scales[t], room)
        diagonal_moments(S, idx, val, means, widths)
        action = choose(means, widths, K, s, memory, eps, shifts)
        shown[0][i], shown[1][i] = action, best_class(means, K)
        sign = sign_of(action == truth[t], s.alpha, key, first + i)
        width, growth = step_diagonal(S, K, (idx, val), action, sign, s, (means, widths, shifts))
        count_round(memory, errors, width, growth)


@kernel
def stream_full(
    state: tuple[Block, Block],
    K: int,
    numbers: FloatArray,
    key: U64,
    stream: Stream,
    scales: FloatArray,
    first: int,
    shown: Shown,
) -> None:
    """The same on full state."""
    indices, values, starts, truth, order = stream
    (W, B), (memory, s, errors) = state, unpack(numbers)
    means, widths, P = np.empty(K, W.dtype), np.empty(K, W.dtype), np.empty((K, W.shape[1]), W.dtype)
    shifts, eps, room = np.zeros(K), np.empty(K), np.empty(_longest(starts), W.dtype)
    for i in range(order.shape[0]):
        t = order[i]
        idx, val = indices[starts[t] : starts[t + 1]], _scaled(values[starts[t] : starts[t + 1]], scales[t], room)
        full_moments(W, B, idx, val, means, widths, P)
        action = choose(means, widths, K, s, memory, eps, shifts)
        shown[0][i], shown[1][i] = action, best_class(means, K)
        sign = sign_of(action == truth[t], s.alpha, key, first + i)
        width, growth = step_full(W, B, K, P, action, sign, s, (means, widths, shifts))
        count_round(memory, errors, width, growth)


@kernel
def _longest(starts: NDArray[np.int64]) -> int:
    """The number of values in the longest row."""
    longest = 0
    for i in range(starts.shape[0] - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    return longest


@inlined
def _scaled(val: Block, scale: float, room: Block) -> Block:
    """A row times a number, written into ``room``."""
    for k in range(val.shape[0]):
        room[k] = float(val[k]) * scale
    return room[: val.shape[0]]


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
