"""One round of Confidit in compiled code: confidence, choice, the two kinds of step."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from smidgen._kernel import inlined, kernel
from smidgen.geometry.class_constraints import constraint_shifts
from smidgen.randomness import U64, first_uniform
from smidgen.state.classes import Block, Indices, best_class
from smidgen.state.diagonal import diagonal_absorb, diagonal_moments, diagonal_shift
from smidgen.state.full import full_absorb, full_moments, full_shift
from smidgen.types import FloatArray

LEARNT, WIDTHS, LOGDET, ERRORS, MEMORY = 0, 1, 2, 3, 4  # what `memory` counts, and its size


class Settings(NamedTuple):
    """The settings that the kernels read."""

    alpha: float
    eta: float
    theory: bool
    norm_bound: float
    delta: float
    project: bool
    printed: bool


#: What is shown, and what has the highest score.
Labels: TypeAlias = tuple[int, int]


def pack(s: Settings, errors: FloatArray) -> FloatArray:
    """Memory, zero at first, settings and approximation errors: one array, which numba takes sooner than three."""
    return np.concatenate([np.zeros(MEMORY), np.array(s, np.float64), errors])


@inlined
def unpack(numbers: FloatArray) -> tuple[FloatArray, Settings, FloatArray]:
    """Memory, settings and approximation errors."""
    n = numbers[MEMORY : MEMORY + 7]
    s = Settings(n[0], n[1], n[2] != 0.0, n[3], n[4], n[5] != 0.0, n[6] != 0.0)
    return numbers[:MEMORY], s, numbers[MEMORY + 7 :]


@inlined
def _confidence(s: Settings, memory: FloatArray) -> float:
    """The factor of xᵀA⁻¹x in ε²: η (eq. 11), or 2η_t (eq. 9 and 10)."""
    if not s.theory:
        return s.eta
    t, seen = memory[LEARNT] + 1.0, memory[WIDTHS]
    spread = 0.5 * s.norm_bound**2 + 0.5 * seen + memory[ERRORS] + 9.0 * math.log((t + 4.0) / s.delta)
    return float(2.0 * (1.0 + s.alpha) ** 2 * spread)


@inlined
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


@inlined
def sign_of(right: bool, alpha: float, key: U64, number: int) -> float:
    """+1 if right; if wrong, −1 with probability (1 + α)/2, else +1."""
    if right or (alpha < 1.0 and first_uniform(key, number) >= (1.0 + alpha) / 2.0):
        return 1.0
    return -1.0


@inlined
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


@inlined
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
        return diagonal_absorb(S, c, idx, val, 0.0)
    mean = float(means[c]) + shifts[c] * float(widths[c])
    return diagonal_absorb(S, c, idx, val, (sign - mean) / (1.0 + float(widths[c])))


@inlined
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
def show(means: Block, widths: Block, s: Settings, memory: FloatArray, scores: FloatArray, eps: FloatArray) -> Labels:
    """ŷ and ỹ of one decision; writes the scores and ε of every class."""
    K = scores.shape[0]
    action = choose(means, widths, K, s, memory, eps, np.zeros(K))
    for i in range(K):
        scores[i] = means[i]
    return action, best_class(means, K)


@kernel
def decide_diagonal(
    S: Block, idx: Indices, val: Block, numbers: FloatArray, scores: FloatArray, eps: FloatArray
) -> Labels:
    """One decision on diagonal state."""
    C, (memory, s, _) = S.shape[1] // 2, unpack(numbers)
    moments = np.empty((2, C), S.dtype)
    diagonal_moments(S, idx, val, moments[0], moments[1])
    return show(moments[0], moments[1], s, memory, scores, eps)


@kernel
def decide_full(
    W: Block, B: Block, idx: Indices, val: Block, numbers: FloatArray, scores: FloatArray, eps: FloatArray
) -> Labels:
    """The same on full state."""
    C, (memory, s, _) = W.shape[0], unpack(numbers)
    means, widths, P = np.empty(C, W.dtype), np.empty(C, W.dtype), np.empty(W.shape, W.dtype)
    full_moments(W, B, idx, val, means, widths, P)
    return show(means, widths, s, memory, scores, eps)


@kernel
def _prepare(means: Block, widths: Block, K: int, s: Settings, shifts: FloatArray) -> bool:
    """Write the projection's shifts, if asked for; whether everything is finite."""
    for i in range(means.shape[0]):
        if not (np.isfinite(means[i]) and np.isfinite(widths[i])):
            return False
    shifts[:] = 0.0
    if s.project:
        constraint_shifts(means, widths, K, s.alpha, shifts)
    return True


@kernel
def learn_diagonal(
    S: Block, idx: Indices, val: Block, K: int, c: int, right: bool, numbers: FloatArray, key: U64, number: int
) -> bool:
    """Learn whether class c was right, on diagonal state; says no, and changes nothing, where that is not finite."""
    C, (memory, s, errors) = S.shape[1] // 2, unpack(numbers)
    moments, shifts = np.empty((2, C), S.dtype), np.empty(C)
    means, widths = moments[0], moments[1]
    diagonal_moments(S, idx, val, means, widths)
    if not _prepare(means, widths, K, s, shifts):
        return False
    sign = sign_of(right, s.alpha, key, number)
    width, growth = step_diagonal(S, K, (idx, val), c, sign, s, (means, widths, shifts))
    count_round(memory, errors, width, growth)
    return True


@kernel
def learn_full(
    W: Block,
    B: Block,
    x: tuple[Indices, Block],
    K: int,
    c: int,
    right: bool,
    numbers: FloatArray,
    key: U64,
    number: int,
) -> bool:
    """The same on full state."""
    C, (memory, s, errors) = W.shape[0], unpack(numbers)
    means, widths, shifts, P = np.empty(C, W.dtype), np.empty(C, W.dtype), np.empty(C), np.empty(W.shape, W.dtype)
    full_moments(W, B, x[0], x[1], means, widths, P)
    if not _prepare(means, widths, K, s, shifts):
        return False
    sign = sign_of(right, s.alpha, key, number)
    width, growth = step_full(W, B, K, P, c, sign, s, (means, widths, shifts))
    count_round(memory, errors, width, growth)
    return True
