"""One round of choosing by reward in compiled code: estimates, shares, the draw."""

from __future__ import annotations

import math

import numpy as np

from smidgen._kernel import borrowing, inlined, kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.learners.choose.posterior import column_samples, root_samples
from smidgen.learners.choose.shares import (
    GAPS,
    SAMPLES,
    UCB,
    Mask,
    draw,
    highest,
    mix,
    only_the_largest,
    sane,
    share_by_bound,
    share_by_gap,
    sole,
)
from smidgen.randomness import U64, first_uniform
from smidgen.state.classes import Indices
from smidgen.state.columns import column_moments
from smidgen.state.root import Slots, root_moments

#: Where things stand in a learner's array of numbers: the rounds learnt, then its settings, which only this file knows.
ROUNDS, RULE, WIDTH, GAMMA, FLOOR, MIN_SHARE, DRAWS, RIDGE, KEEP, COUNT, NUMBERS = range(11)
#: In place of an action: a number is not finite; the least shares add up to more than 1.
STRANGE, TOO_MUCH = -1, -2


@inlined
def draws_samples(numbers: FloatArray) -> bool:
    """Whether the shares are those of posterior samples."""
    return bool(numbers[RULE] == SAMPLES)


@inlined
def fading_of(numbers: FloatArray) -> tuple[float, float, float]:
    """The ridge, how much of the past is kept with every reward, and the rounds learnt."""
    return numbers[RIDGE], numbers[KEEP], numbers[ROUNDS]


@inlined
def settle(out: FloatArray, mask: Mask, numbers: FloatArray, key: U64, number: int) -> tuple[int, int]:
    """The action and the greedy one, from estimates, spreads and (of samples) shares in the rows of ``out``.

    Leaves the widths in the second row, and the propensities in the third.
    """
    means, widths, p = out[0], out[1], out[2]
    if not sane(means, widths):
        return STRANGE, STRANGE
    for k in range(widths.shape[0]):
        widths[k] = numbers[WIDTH] * math.sqrt(widths[k])
    greedy, rule = highest(means, mask), int(numbers[RULE])
    if rule == UCB:
        share_by_bound(means, widths, mask, p)
    elif rule == GAPS:
        share_by_gap(means, mask, greedy, numbers[GAMMA] * math.sqrt(numbers[ROUNDS]), p)
    if numbers[DRAWS] == 0.0:
        only_the_largest(p)
    if not mix(p, mask, numbers[FLOOR], numbers[MIN_SHARE]):
        return TOO_MUCH, TOO_MUCH
    certain = sole(p)
    return certain if certain >= 0 else draw(p, first_uniform(key, number)), greedy


@borrowing
def decide_root(
    R: FloatArray,
    slots: Slots,
    idx: Indices,
    val: FloatArray,
    starts: IntArray,
    first: int,
    mask: Mask,
    numbers: FloatArray,
    keys: U64,
    number: int,
    out: FloatArray,
) -> tuple[int, int]:
    """One decision with full A among the rows from the first-th on: estimates, widths and propensities into ``out``."""
    root_moments(R, slots, (idx, val, starts), first, numbers[RIDGE], out)
    return settle(out, mask, numbers, keys[:2], number)


@borrowing
def decide_columns(
    D: FloatArray,
    idx: Indices,
    val: FloatArray,
    starts: IntArray,
    first: int,
    mask: Mask,
    numbers: FloatArray,
    keys: U64,
    number: int,
    out: FloatArray,
) -> tuple[int, int]:
    """The same with diagonal A."""
    column_moments(D, (idx, val, starts), first, fading_of(numbers), out)
    return settle(out, mask, numbers, keys[:2], number)


@kernel
def sample_root(
    R: FloatArray,
    slots: Slots,
    used: IntArray,
    idx: Indices,
    val: FloatArray,
    starts: IntArray,
    first: int,
    mask: Mask,
    numbers: FloatArray,
    keys: U64,
    number: int,
    out: FloatArray,
) -> tuple[int, int]:
    """`decide_root` by posterior samples."""
    draws = (numbers[WIDTH], int(numbers[COUNT]), keys[2:], number)
    root_samples(R, slots, used, (idx, val, starts), first, numbers[RIDGE], mask, draws, out)
    return settle(out, mask, numbers, keys[:2], number)


@kernel
def sample_columns(
    D: FloatArray,
    marks: Slots,
    idx: Indices,
    val: FloatArray,
    starts: IntArray,
    first: int,
    mask: Mask,
    numbers: FloatArray,
    keys: U64,
    number: int,
    out: FloatArray,
) -> tuple[int, int]:
    """`decide_columns` by posterior samples."""
    draws = (numbers[WIDTH], int(numbers[COUNT]), keys[2:], number)
    column_samples(D, marks, (idx, val, starts), first, fading_of(numbers), mask, draws, out)
    return settle(out, mask, numbers, keys[:2], number)


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
