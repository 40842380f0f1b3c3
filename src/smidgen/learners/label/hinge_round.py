"""One round of HingeConfidit in compiled code: the choice, and the one step, on full and on diagonal state."""

from __future__ import annotations

import math

import numpy as np

from smidgen._kernel import borrowing
from smidgen.decision import FloatArray
from smidgen.randomness import U64, first_uniform
from smidgen.state.classes import Block, Indices, best_class
from smidgen.state.diagonal import diagonal_absorb, diagonal_moments
from smidgen.state.full import full_absorb, full_moments, full_shift, full_width

#: Where things stand in a learner's one array of numbers (numba takes one array sooner than many): the number of the
#: decision whose moments stand ready (0: none); then the settings in force.
FRESH, WRONG, KAPPA, FLOOR, NUMBERS = 0, 1, 2, 3, 4


def packed(*, wrong: float, width: float, floor: float) -> FloatArray:
    """The numbers of a learner with these settings in force."""
    numbers = np.zeros(NUMBERS)
    numbers[WRONG], numbers[KAPPA], numbers[FLOOR] = wrong, width, floor
    return numbers


def forget_moments(numbers: FloatArray) -> None:
    """No decision's moments stand ready any more."""
    numbers[FRESH] = 0.0


@borrowing
def settled(mean: float, reward: float, wrong: float) -> bool:
    """Whether the estimate says already what the bit says, and more: no step then. In between there is always one."""
    return (reward >= 1.0 and mean >= 1.0) or (reward <= 0.0 and mean <= wrong)


@borrowing
def rate_of(mean: float, width: float, reward: float, wrong: float) -> float:
    """(y − w·x)/(1 + xᵀA⁻¹x), y = wrong + (1 − wrong)·r."""
    return (wrong + (1.0 - wrong) * reward - mean) / (1.0 + width)


@borrowing
def step_diagonal(
    S: Block, idx: Indices, val: Block, c: int, reward: float, numbers: FloatArray, moments: Block
) -> None:
    """The step of the shown class on diagonal state, if there is one to take."""
    mean, width = float(moments[0, c]), float(moments[1, c])
    if not settled(mean, reward, numbers[WRONG]):
        diagonal_absorb(S, c, idx, val, rate_of(mean, width, reward, numbers[WRONG]))


@borrowing
def step_full(W: Block, B: Block, P: Block, c: int, reward: float, numbers: FloatArray, moments: Block) -> None:
    """The same on full state, given the products P_i = A_i⁻¹x."""
    mean, width = float(moments[0, c]), float(moments[1, c])
    if not settled(mean, reward, numbers[WRONG]):
        width = full_width(B, c, P[c], width)
        full_shift(W, c, P[c], rate_of(mean, width, reward, numbers[WRONG]))
        full_absorb(B, c, P[c], width)


@borrowing
def choose(moments: Block, K: int, numbers: FloatArray, key: U64, number: int) -> tuple[int, int]:
    """ŷ, and argmax w_i·x + κ√(xᵀA_i⁻¹x), which it is but for the floor."""
    best, highest = 0, -np.inf
    for i in range(K):
        bound = float(moments[0, i]) + numbers[KAPPA] * math.sqrt(max(float(moments[1, i]), 0.0))
        if bound > highest:
            best, highest = i, bound
    floor = numbers[FLOOR]
    if floor > 0.0:
        u = first_uniform(key, number)
        if u >= 1.0 - floor:
            return min(int((u - (1.0 - floor)) / floor * K), K - 1), best
    return best, best


@borrowing
def show(
    moments: Block, numbers: FloatArray, key: U64, number: int, scores: FloatArray, eps: FloatArray
) -> tuple[int, int, int]:
    """ŷ, the label of highest score plus width, and ỹ; writes the scores and widths of every class."""
    K = scores.shape[0]
    for i in range(K):
        scores[i] = moments[0, i]
        eps[i] = numbers[KAPPA] * math.sqrt(max(float(moments[1, i]), 0.0))
    action, optimist = choose(moments, K, numbers, key, number)
    return action, optimist, best_class(moments[0], K)


@borrowing
def add_width(moments: Block, more: float) -> None:
    """What features that are not in use add to every width."""
    if more > 0.0:
        for i in range(moments.shape[1]):
            moments[1, i] += more


@borrowing
def usable(moments: Block) -> bool:
    """Whether everything is finite."""
    strange = 0
    for i in range(moments.shape[1]):
        strange += not (np.isfinite(moments[0, i]) and np.isfinite(moments[1, i]))
    return strange == 0


@borrowing
def decide_diagonal(
    S: Block,
    idx: Indices,
    val: Block,
    numbers: FloatArray,
    key: U64,
    number: int,
    moments: Block,
    scores: FloatArray,
    eps: FloatArray,
) -> tuple[int, int, int]:
    """One decision on diagonal state; leaves its moments ready."""
    diagonal_moments(S, idx, val, moments)
    numbers[FRESH] = number
    return show(moments, numbers, key, number, scores, eps)


@borrowing
def decide_full(
    W: Block,
    B: Block,
    idx: Indices,
    val: Block,
    more: float,
    numbers: FloatArray,
    key: U64,
    number: int,
    moments: Block,
    P: Block,
    scores: FloatArray,
    eps: FloatArray,
) -> tuple[int, int, int]:
    """The same on full state; ``more`` is what features that are not in use add to the widths."""
    full_moments(W, B, idx, val, moments[0], moments[1], P)
    add_width(moments, more)
    numbers[FRESH] = 0.0 if more > 0.0 else number
    return show(moments, numbers, key, number, scores, eps)


@borrowing
def learn_diagonal(
    S: Block, idx: Indices, val: Block, c: int, reward: float, numbers: FloatArray, number: int, moments: Block
) -> bool:
    """Learn the reward of class c on diagonal state; says no, and changes nothing, where that is not finite."""
    if numbers[FRESH] != number:
        diagonal_moments(S, idx, val, moments)
    numbers[FRESH] = 0.0
    finite = usable(moments)
    if finite:
        step_diagonal(S, idx, val, c, reward, numbers, moments)
    return finite


@borrowing
def learn_full(
    W: Block,
    B: Block,
    idx: Indices,
    val: Block,
    c: int,
    reward: float,
    numbers: FloatArray,
    number: int,
    moments: Block,
    P: Block,
) -> bool:
    """The same on full state."""
    if numbers[FRESH] != number:
        full_moments(W, B, idx, val, moments[0], moments[1], P)
    numbers[FRESH] = 0.0
    finite = usable(moments)
    if finite:
        step_full(W, B, P, c, reward, numbers, moments)
    return finite


@borrowing
def finite_full(W: Block, B: Block, idx: Indices, val: Block, more: float, moments: Block, P: Block) -> bool:
    """Whether a row could be learnt, before its new features are taken into use."""
    full_moments(W, B, idx, val, moments[0], moments[1], P)
    add_width(moments, more)
    return usable(moments)
