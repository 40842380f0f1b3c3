"""One round of choosing by reward in compiled code: estimates, shares, the draw."""

from __future__ import annotations

import math
from typing import TypeAlias

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
from smidgen.state.offers import Estimates
from smidgen.state.root import LEARNT, Slots, root_learn, root_moments

#: Where things stand in a learner's array of numbers: the rounds learnt, then its settings, which only this file knows.
ROUNDS, RULE, WIDTH, GAMMA, FLOOR, MIN_SHARE, DRAWS, RIDGE, KEEP, COUNT, NUMBERS = range(11)
#: In place of an action: a number is not finite; the least shares add up to more than 1.
STRANGE, TOO_MUCH = -1, -2
#: The action, the greedy one, and the probability of the action.
Settled: TypeAlias = tuple[int, int, float]


@inlined
def draws_samples(numbers: FloatArray) -> bool:
    """Whether the shares are those of posterior samples."""
    return bool(numbers[RULE] == SAMPLES)


@inlined
def fading_of(numbers: FloatArray) -> tuple[float, float, float]:
    """The ridge, how much of the past is kept with every reward, and the rounds learnt."""
    return numbers[RIDGE], numbers[KEEP], numbers[ROUNDS]


@inlined
def settle(out: Estimates, mask: Mask, numbers: FloatArray, key: U64, number: int) -> Settled:
    """The action, the greedy one and the action's propensity, from estimates, spreads and (of samples) shares.

    Leaves the widths in place of the spreads, and the propensities.
    """
    means, widths, p = out
    if not sane(means, widths):
        return STRANGE, STRANGE, 0.0
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
        return TOO_MUCH, TOO_MUCH, 0.0
    certain = sole(p)
    action = certain if certain >= 0 else draw(p, first_uniform(key, number))
    return action, greedy, p[action]


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
    means: FloatArray,
    widths: FloatArray,
    p: FloatArray,
) -> Settled:
    """One decision with full A among the rows from the first-th on."""
    out = (means, widths, p)
    root_moments(R, slots, (idx, val, starts), first, numbers[RIDGE], out)
    return settle(out, mask, numbers, keys[:2], number)


@borrowing
def hear_root(
    R: FloatArray,
    slots: Slots,
    used: IntArray,
    idx: Indices,
    val: FloatArray,
    starts: IntArray,
    row: int,
    y: float,
    numbers: FloatArray,
) -> int:
    """Learn one row of an offer with full A, and count it."""
    why = root_learn(R, slots, used, idx, val, starts, row, y)
    if why == LEARNT:
        numbers[ROUNDS] += 1.0
    return why


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
    means: FloatArray,
    widths: FloatArray,
    p: FloatArray,
) -> Settled:
    """The same with diagonal A."""
    out = (means, widths, p)
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
    means: FloatArray,
    widths: FloatArray,
    p: FloatArray,
) -> Settled:
    """`decide_root` by posterior samples."""
    draws = (numbers[WIDTH], int(numbers[COUNT]), keys[2:], number)
    out = (means, widths, p)
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
    means: FloatArray,
    widths: FloatArray,
    p: FloatArray,
) -> Settled:
    """`decide_columns` by posterior samples."""
    draws = (numbers[WIDTH], int(numbers[COUNT]), keys[2:], number)
    out = (means, widths, p)
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
