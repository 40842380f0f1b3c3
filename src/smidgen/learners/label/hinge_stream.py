"""Whole streams of HingeConfidit in compiled code: round for round what the two verbs would do."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from smidgen._kernel import borrowing, kernel
from smidgen.decision import FloatArray
from smidgen.learners.courses import DECIDE, Way
from smidgen.learners.follower import Noted, Trip, heard_at, row_of
from smidgen.learners.label.confidit_stream import Played, longest, scaled
from smidgen.learners.label.hinge_round import (
    add_width,
    choose,
    decide_diagonal,
    decide_full,
    learn_diagonal,
    learn_full,
    step_diagonal,
    step_full,
)
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


@kernel
def follow_diagonal(
    S: Block, K: int, numbers: FloatArray, key: U64, way: Way, trip: Trip, begin: int, end: int, noted: Noted
) -> int:
    """Steps of a course on diagonal state; returns the end, or an earlier step that cannot be taken.

    The label of highest score plus width is left in the place of the chance.
    """
    moments, scores, eps = np.empty((2, S.shape[1] // 2)), np.empty(K), np.empty(K)
    for t in range(begin, end):
        (idx, val), place, number = row_of(way, t), trip.places[t], trip.numbers[t]
        if way.actions[t] == DECIDE:
            action, optimist, greedy = decide_diagonal(S, idx, val, numbers, key, number, moments, scores, eps)
            noted.actions[place], noted.greedy[place], noted.p[place] = action, greedy, optimist
        else:
            action, reward, _ = heard_at(way, trip, noted, t)
            if not learn_diagonal(S, idx, val, action, reward, numbers, number, moments):
                return t
    return end


@kernel
def follow_full(
    W: Block,
    B: Block,
    K: int,
    numbers: FloatArray,
    key: U64,
    way: Way,
    trip: Trip,
    begin: int,
    end: int,
    noted: Noted,
    use: tuple[Slots, float],
) -> int:
    """The same on full state; a row that brings columns into use cannot be learnt here."""
    moments, P, scores, eps = np.empty((2, W.shape[0])), np.empty((K, W.shape[1])), np.empty(K), np.empty(K)
    (slots, start), most = use, longest(way.starts)
    where, kept = np.empty(most, np.uint32), np.empty(most)
    for t in range(begin, end):
        (idx, val), place, number, new, more = row_of(way, t), trip.places[t], trip.numbers[t], 0, 0.0
        if slots.shape[0]:
            n, new, beyond = take_slots(slots, idx, val, where, kept)
            idx, val, more = where[:n], kept[:n], beyond / start
        if way.actions[t] == DECIDE:
            action, optimist, greedy = decide_full(W, B, idx, val, more, numbers, key, number, moments, P, scores, eps)
            noted.actions[place], noted.greedy[place], noted.p[place] = action, greedy, optimist
        else:
            action, reward, _ = heard_at(way, trip, noted, t)
            if new or not learn_full(W, B, idx, val, action, reward, numbers, number, moments, P):
                return t
    return end
