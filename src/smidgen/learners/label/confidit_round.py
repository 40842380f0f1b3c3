"""One round of Confidit in compiled code: confidence, choice, the two kinds of step."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smidgen._kernel import borrowing, kernel
from smidgen.decision import FloatArray
from smidgen.geometry.class_constraints import constraint_shifts
from smidgen.randomness import U64, first_uniform
from smidgen.state.classes import Block, Indices, best_class
from smidgen.state.diagonal import diagonal_absorb, diagonal_moments, diagonal_shift, diagonal_width
from smidgen.state.full import full_absorb, full_moments, full_shift, full_width

#: Where things stand in a learner's one array of numbers (numba takes one array sooner than many). First what is
#: remembered: rounds learnt, widths, log-determinants, approximation errors so far. Then the settings; the number of
#: the decision whose moments stand ready (0: none); space for the projection's shifts, one per class.
#: Last the approximation errors q_1, q_2, …
LEARNT, WIDTHS, LOGDET, ERRORS, MEMORY = 0, 1, 2, 3, 4


class Settings(NamedTuple):
    """The settings that the kernels read."""

    alpha: float
    eta: float
    theory: bool
    norm_bound: float
    delta: float
    project: bool
    printed: bool


FRESH = MEMORY + len(Settings._fields)
SHIFTS = FRESH + 1


def forget_moments(numbers: FloatArray) -> None:
    """No decision's moments stand ready any more."""
    numbers[FRESH] = 0.0


def shifts_in(numbers: FloatArray) -> FloatArray:
    """The projection's shifts, one per class, and what stands behind them."""
    return numbers[SHIFTS:]


def memory_in(numbers: FloatArray) -> FloatArray:
    """What the confidence needs of the past: a view of the first of the numbers."""
    return numbers[:MEMORY]


def pack(s: Settings, columns: int, errors: FloatArray) -> FloatArray:
    """The numbers of a learner that has not learnt yet."""
    return np.concatenate([np.zeros(MEMORY), np.array(s, np.float64), np.zeros(1 + columns), errors])


@borrowing
def settings_in(numbers: FloatArray) -> Settings:
    """The settings among the numbers."""
    n = numbers[MEMORY:FRESH]
    return Settings(n[0], n[1], n[2] != 0.0, n[3], n[4], n[5] != 0.0, n[6] != 0.0)


@borrowing
def _confidence(s: Settings, numbers: FloatArray) -> float:
    """The factor of xᵀA⁻¹x in ε²: η (eq. 11), or 2η_t (eq. 9 and 10)."""
    if not s.theory:
        return s.eta
    t, seen = numbers[LEARNT] + 1.0, numbers[WIDTHS]
    spread = 0.5 * s.norm_bound**2 + 0.5 * seen + numbers[ERRORS] + 9.0 * math.log((t + 4.0) / s.delta)
    return float(2.0 * (1.0 + s.alpha) ** 2 * spread)


@borrowing
def choose(moments: Block, K: int, s: Settings, numbers: FloatArray, eps: FloatArray) -> int:
    """ŷ = argmax Δ̂_i + ε_i, the Δ̂ projected if asked for; writes ε and the projection's shifts."""
    means, widths, shifts = moments[0], moments[1], numbers[SHIFTS : SHIFTS + moments.shape[1]]
    factor, best, highest = _confidence(s, numbers), 0, -np.inf
    if s.project:
        constraint_shifts(means, widths, K, s.alpha, shifts)
    for i in range(K):
        eps[i] = np.sqrt(factor * max(float(widths[i]), 0.0))
        bound = float(means[i]) + shifts[i] * float(widths[i]) + eps[i]
        if bound > highest:
            best, highest = i, bound
    return best


@borrowing
def sign_of(reward: float, alpha: float, key: U64, number: int) -> float:
    """+1 if right (1); if wrong (0), −1 with probability (1 + α)/2, else +1; between them (1 + α)·r − α."""
    if 0.0 < reward < 1.0:
        return (1.0 + alpha) * reward - alpha
    if reward == 1.0 or (alpha < 1.0 and first_uniform(key, number) >= (1.0 + alpha) / 2.0):
        return 1.0
    return -1.0


@borrowing
def count_round(numbers: FloatArray, columns: int, width: float, growth: float) -> None:
    """Keep what the next confidence needs: rounds, widths, log-determinants, approximation errors."""
    first = SHIFTS + columns
    numbers[ERRORS] += numbers[min(first + int(numbers[LEARNT]), numbers.shape[0] - 1)]
    numbers[LEARNT] += 1.0
    numbers[WIDTHS] += width
    numbers[LOGDET] += growth


@kernel
def _printed_step(S: Block, c: int, idx: Indices, val: Block, sign: float) -> None:
    """w_r ← (a_r·w_r + s·x_r)/(a_r + x_r²), the letter of step 8."""
    inverse = S.shape[1] // 2 + c  # times 1/a above and below, so that a stored zero changes nothing
    for k in range(idx.shape[0]):
        x, over = float(val[k]), float(S[idx[k], inverse])
        S[idx[k], c] = (float(S[idx[k], c]) + sign * x * over) / (1.0 + x * x * over)


@borrowing
def step_diagonal(
    S: Block, K: int, x: tuple[Indices, Block], c: int, sign: float, s: Settings, moments: Block, numbers: FloatArray
) -> None:
    """Steps 2 and 8 on diagonal state: shift all classes by the projection, then the shown class by the residual."""
    idx, val = x
    shift, width = numbers[SHIFTS + c], float(moments[1, c])
    if s.project:
        for i in range(K):
            diagonal_shift(S, i, idx, val, numbers[SHIFTS + i])
    if s.printed:
        _printed_step(S, c, idx, val, sign)
        diagonal_absorb(S, c, idx, val, 0.0)
    else:
        mean = float(moments[0, c]) + shift * width
        diagonal_absorb(S, c, idx, val, (sign - mean) / (1.0 + width))
    seen = diagonal_width(S, c, idx, val) if s.theory else 0.0  # of use to the theory's confidence only
    count_round(numbers, moments.shape[1], seen, 0.0)  # log|A| is in S, for whoever asks


@borrowing
def step_full(
    W: Block, B: Block, K: int, P: Block, c: int, sign: float, s: Settings, moments: Block, numbers: FloatArray
) -> None:
    """The same on full state, given the products P_i = A_i⁻¹x."""
    shift, width = numbers[SHIFTS + c], full_width(B, c, P[c], float(moments[1, c]))
    if s.project:
        for i in range(K):
            full_shift(W, i, P[i], numbers[SHIFTS + i])
    mean = float(moments[0, c]) + shift * width
    full_shift(W, c, P[c], (sign - mean) / (1.0 + width))
    seen, growth = full_absorb(B, c, P[c], width)
    count_round(numbers, moments.shape[1], seen, growth)


@borrowing
def show(moments: Block, s: Settings, numbers: FloatArray, scores: FloatArray, eps: FloatArray) -> tuple[int, int]:
    """ŷ and ỹ of one decision; writes the scores and ε of every class."""
    K = scores.shape[0]
    action = choose(moments, K, s, numbers, eps)
    for i in range(K):
        scores[i] = moments[0, i]
    return action, best_class(moments[0], K)


@borrowing
def prepare(moments: Block, K: int, s: Settings, numbers: FloatArray) -> bool:
    """Write the projection's shifts, if asked for; whether everything is finite."""
    for i in range(moments.shape[1]):
        if not (np.isfinite(moments[0, i]) and np.isfinite(moments[1, i])):
            return False
    if s.project:
        constraint_shifts(moments[0], moments[1], K, s.alpha, numbers[SHIFTS : SHIFTS + moments.shape[1]])
    return True


@borrowing
def decide_diagonal(
    S: Block,
    idx: Indices,
    val: Block,
    numbers: FloatArray,
    number: int,
    moments: Block,
    scores: FloatArray,
    eps: FloatArray,
) -> tuple[int, int]:
    """One decision on diagonal state; leaves its moments ready."""
    diagonal_moments(S, idx, val, moments)
    numbers[FRESH] = number
    return show(moments, settings_in(numbers), numbers, scores, eps)


@borrowing
def decide_full(
    W: Block,
    B: Block,
    idx: Indices,
    val: Block,
    numbers: FloatArray,
    number: int,
    moments: Block,
    P: Block,
    scores: FloatArray,
    eps: FloatArray,
) -> tuple[int, int]:
    """The same on full state; leaves the products too."""
    full_moments(W, B, idx, val, moments[0], moments[1], P)
    numbers[FRESH] = number
    return show(moments, settings_in(numbers), numbers, scores, eps)


@borrowing
def learn_diagonal(
    S: Block,
    idx: Indices,
    val: Block,
    K: int,
    c: int,
    reward: float,
    numbers: FloatArray,
    key: U64,
    number: int,
    moments: Block,
) -> bool:
    """Learn how right class c was, on diagonal state; says no, and changes nothing, where that is not finite."""
    s = settings_in(numbers)
    if numbers[FRESH] != number:
        diagonal_moments(S, idx, val, moments)
    numbers[FRESH] = 0.0
    finite = prepare(moments, K, s, numbers)
    if finite:
        step_diagonal(S, K, (idx, val), c, sign_of(reward, s.alpha, key, number), s, moments, numbers)
    return finite


@borrowing
def learn_full(
    W: Block,
    B: Block,
    idx: Indices,
    val: Block,
    K: int,
    c: int,
    reward: float,
    numbers: FloatArray,
    key: U64,
    number: int,
    moments: Block,
    P: Block,
) -> bool:
    """The same on full state."""
    s = settings_in(numbers)
    if numbers[FRESH] != number:
        full_moments(W, B, idx, val, moments[0], moments[1], P)
    numbers[FRESH] = 0.0
    finite = prepare(moments, K, s, numbers)
    if finite:
        step_full(W, B, K, P, c, sign_of(reward, s.alpha, key, number), s, moments, numbers)
    return finite
