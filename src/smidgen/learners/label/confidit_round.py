"""One round of Confidit in compiled code: confidence, choice, the two kinds of step, and whole streams of them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import kernel
from smidgen.geometry.class_constraints import constraint_shifts
from smidgen.learners.label.template import Shown, Stream
from smidgen.randomness import U64, first_uniform
from smidgen.state.classes import Block, Indices, best_class, write_unit_row
from smidgen.state.diagonal import diagonal_absorb, diagonal_moments, diagonal_shift
from smidgen.state.full import full_absorb, full_moments, full_shift
from smidgen.types import FloatArray

LEARNT, WIDTHS, LOGDET, ERRORS = 0, 1, 2, 3  # what `memory` counts


class Settings(NamedTuple):
    """The settings that the kernels read."""

    alpha: float
    eta: float
    theory: bool
    norm_bound: float
    delta: float
    project: bool
    printed: bool


@kernel
def _confidence(s: Settings, memory: FloatArray) -> float:
    """The factor of xᵀA⁻¹x in ε²: η (eq. 11), or 2η_t (eq. 9 and 10)."""
    if not s.theory:
        return s.eta
    t, seen = memory[LEARNT] + 1.0, memory[WIDTHS]
    spread = 0.5 * s.norm_bound**2 + 0.5 * seen + memory[ERRORS] + 9.0 * math.log((t + 4.0) / s.delta)
    return float(2.0 * (1.0 + s.alpha) ** 2 * spread)


@kernel
def choose(
    means: Block, widths: Block, K: int, s: Settings, memory: FloatArray, eps: FloatArray, shifts: FloatArray
) -> int:
    """ŷ = argmax Δ̂_i + ε_i, the Δ̂ projected if asked for; writes ε and the projection's shifts."""
    factor, best, highest = _confidence(s, memory), 0, -np.inf
    if s.project:
        constraint_shifts(means, widths, K, s.alpha, shifts)
    for i in range(K):
        eps[i] = np.sqrt(factor * float(widths[i]))
        bound = float(means[i]) + shifts[i] * float(widths[i]) + eps[i]
        if bound > highest:
            best, highest = i, bound
    return best


@kernel
def sign_of(right: bool, alpha: float, key: U64, number: int) -> float:
    """+1 if right; if wrong, −1 with probability (1 + α)/2, else +1."""
    if right or (alpha < 1.0 and first_uniform(key, number) >= (1.0 + alpha) / 2.0):
        return 1.0
    return -1.0


@kernel
def count_round(memory: FloatArray, errors: FloatArray, width: float, growth: float) -> None:
    """Keep what the next confidence needs: rounds, widths, log-determinants, approximation errors."""
    memory[ERRORS] += errors[min(int(memory[LEARNT]), errors.shape[0] - 1)]
    memory[LEARNT] += 1.0
    memory[WIDTHS] += width
    memory[LOGDET] += growth


@kernel
def _printed_step(S: Block, c: int, idx: Indices, val: Block, sign: float) -> None:
    """w_r ← (a_r·w_r + s·x_r)/(a_r + x_r²), the letter of step 8."""
    inverse = S.shape[1] // 2 + c  # times 1/a above and below, so that a stored zero changes nothing
    for k in range(idx.shape[0]):
        x, over = float(val[k]), float(S[idx[k], inverse])
        S[idx[k], c] = (float(S[idx[k], c]) + sign * x * over) / (1.0 + x * x * over)


@kernel
def step_diagonal(
    S: Block,
    K: int,
    x: tuple[Indices, Block],
    c: int,
    sign: float,
    s: Settings,
    moments: tuple[Block, Block, FloatArray],
) -> tuple[float, float]:
    """Steps 2 and 8 on diagonal state: shift all classes by the projection, then the shown class by the residual."""
    idx, val = x
    means, widths, shifts = moments
    if s.project:
        for i in range(K):
            diagonal_shift(S, i, idx, val, shifts[i])
    if s.printed:
        _printed_step(S, c, idx, val, sign)
    else:
        mean = float(means[c]) + shifts[c] * float(widths[c])
        diagonal_shift(S, c, idx, val, (sign - mean) / (1.0 + float(widths[c])))
    return diagonal_absorb(S, c, idx, val)


@kernel
def step_full(
    W: Block, B: Block, K: int, P: Block, c: int, sign: float, s: Settings, moments: tuple[Block, Block, FloatArray]
) -> tuple[float, float]:
    """The same on full state, given the products P_i = A_i⁻¹x."""
    means, widths, shifts = moments
    if s.project:
        for i in range(K):
            full_shift(W, i, P[i], shifts[i])
    mean = float(means[c]) + shifts[c] * float(widths[c])
    full_shift(W, c, P[c], (sign - mean) / (1.0 + float(widths[c])))
    return full_absorb(B, c, P[c], float(widths[c]))


@kernel
def stream_diagonal(
    S: Block,
    K: int,
    s: Settings,
    memory: FloatArray,
    errors: FloatArray,
    key: U64,
    stream: Stream,
    first: int,
    shown: Shown,
) -> None:
    """Whole rounds on diagonal state, as the two verbs would play them."""
    indices, values, starts, truth, order = stream
    C = S.shape[1] // 2
    means, widths, shifts, eps = np.empty(C, S.dtype), np.empty(C, S.dtype), np.zeros(C), np.empty(C)
    for i in range(order.shape[0]):
        t = order[i]
        idx, val = indices[starts[t] : starts[t + 1]], values[starts[t] : starts[t + 1]]
        diagonal_moments(S, idx, val, means, widths)
        action = choose(means, widths, K, s, memory, eps, shifts)
        shown[0][i], shown[1][i] = action, best_class(means, K)
        sign = sign_of(action == truth[t], s.alpha, key, first + i)
        width, growth = step_diagonal(S, K, (idx, val), action, sign, s, (means, widths, shifts))
        count_round(memory, errors, width, growth)


@kernel
def stream_full(
    W: Block,
    B: Block,
    K: int,
    s: Settings,
    memory: FloatArray,
    errors: FloatArray,
    key: U64,
    stream: Stream,
    first: int,
    shown: Shown,
) -> None:
    """Whole rounds on full state, as the two verbs would play them."""
    indices, values, starts, truth, order = stream
    W, B = W[:K], B[:K]  # without the padding
    means, widths, P = np.empty(K, W.dtype), np.empty(K, W.dtype), np.empty(W.shape, W.dtype)
    shifts, eps = np.zeros(K), np.empty(K)
    for i in range(order.shape[0]):
        t = order[i]
        idx, val = indices[starts[t] : starts[t + 1]], values[starts[t] : starts[t + 1]]
        full_moments(W, B, idx, val, means, widths, P)
        action = choose(means, widths, K, s, memory, eps, shifts)
        shown[0][i], shown[1][i] = action, best_class(means, K)
        sign = sign_of(action == truth[t], s.alpha, key, first + i)
        width, growth = step_full(W, B, K, P, action, sign, s, (means, widths, shifts))
        count_round(memory, errors, width, growth)


@kernel
def unit_rows(values: Block, starts: NDArray[np.int64]) -> Block:
    """Every row scaled to unit length."""
    out = np.empty_like(values)
    for i in range(starts.shape[0] - 1):
        write_unit_row(values[starts[i] : starts[i + 1]], out[starts[i] : starts[i + 1]])
    return out
