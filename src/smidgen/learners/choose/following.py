"""Courses of decisions and rewards in compiled code: step for step what the two verbs would do."""

from __future__ import annotations

import numpy as np

from smidgen._kernel import kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.learners.choose.round import (
    ROUNDS,
    decide_columns,
    decide_root,
    draws_samples,
    fading_of,
    hear_root,
    sample_columns,
    sample_root,
)
from smidgen.learners.courses import Way
from smidgen.learners.follower import Noted, Trip
from smidgen.randomness import U64
from smidgen.state.columns import column_learn
from smidgen.state.root import LEARNT, Slots


@kernel
def follow_root(
    R: FloatArray,
    slots: Slots,
    used: IntArray,
    numbers: FloatArray,
    keys: U64,
    way: Way,
    trip: Trip,
    begin: int,
    end: int,
    noted: Noted,
) -> int:
    """Steps with full A that forgets nothing; returns the end, or an earlier step that cannot be taken."""
    idx, val, starts, mask, sampled = way.indices, way.values, way.starts, np.empty(0, np.bool_), draws_samples(numbers)
    widths = np.empty(noted.shares.shape[0])
    for t in range(begin, end):
        a, b, number = way.first[t], way.first[t] + way.counts[t], trip.numbers[t]
        if way.actions[t] >= 0:
            if hear_root(R, slots, used, idx, val, starts, a + way.actions[t], way.rewards[t], numbers) != LEARNT:
                return t
            continue
        out = (noted.scores[a:b], widths[a:b], noted.shares[a:b])
        if sampled:
            found = sample_root(R, slots, used, idx, val, starts, a, mask, numbers, keys, number, *out)
        else:
            found = decide_root(R, slots, idx, val, starts, a, mask, numbers, keys, number, *out)
        if found[0] < 0:
            return t
        noted.actions[trip.places[t]], noted.greedy[trip.places[t]], noted.p[trip.places[t]] = found
    return end


@kernel
def follow_columns(
    D: FloatArray,
    marks: Slots,
    numbers: FloatArray,
    keys: U64,
    way: Way,
    trip: Trip,
    begin: int,
    end: int,
    noted: Noted,
) -> int:
    """The same with diagonal A."""
    idx, val, starts, mask, sampled = way.indices, way.values, way.starts, np.empty(0, np.bool_), draws_samples(numbers)
    widths = np.empty(noted.shares.shape[0])
    for t in range(begin, end):
        a, b, number = way.first[t], way.first[t] + way.counts[t], trip.numbers[t]
        if way.actions[t] >= 0:
            if column_learn(D, idx, val, starts, a + way.actions[t], way.rewards[t], fading_of(numbers)) != LEARNT:
                return t
            numbers[ROUNDS] += 1.0
            continue
        out = (noted.scores[a:b], widths[a:b], noted.shares[a:b])
        if sampled:
            found = sample_columns(D, marks, idx, val, starts, a, mask, numbers, keys, number, *out)
        else:
            found = decide_columns(D, idx, val, starts, a, mask, numbers, keys, number, *out)
        if found[0] < 0:
            return t
        noted.actions[trip.places[t]], noted.greedy[trip.places[t]], noted.p[trip.places[t]] = found
    return end
