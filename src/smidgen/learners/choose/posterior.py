"""Draws from the posterior of a ridge estimator, and how often each candidate comes out best in them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.learners.choose.shares import Mask, on_offer
from smidgen.randomness import U64, direction_scratch, fill_normals
from smidgen.state.classes import Indices
from smidgen.state.columns import Fading, column
from smidgen.state.offers import Estimates, Offer, row_indices, row_values
from smidgen.state.root import Slots, lean, scratch_for
from smidgen.vector.arrays import dot

#: Entries of candidates that have no row in a root: by candidate, which of the extra normals, and how much of it.
Loose = tuple[IntArray, NDArray[np.int32], FloatArray]


@kernel
def _count_best(
    means: FloatArray,
    leans: FloatArray,
    n: int,
    loose: Loose,
    extra: int,
    mask: Mask,
    draws: tuple[float, int, U64, int],
    p: FloatArray,
) -> None:
    """p_a = the share of M draws f + v·(lean·z) in which a is best, the first of equals; z is normal.

    The first n normals go with the leans, the others with what is loose. ``draws`` is (v, M, key, decision number).
    """
    (starts, which, much), (width, M, key, number), K = loose, draws, means.shape[0]
    z, tied = np.empty(n + extra), np.zeros(leans.shape[1])
    words, scratch = direction_scratch(n + extra)
    for k in range(K):
        p[k] = 0.0
    for m in range(M):
        fill_normals(key, np.uint64(number), m, z, words, scratch)
        for j in range(n):
            tied[j] = z[j]
        best, top = -1, 0.0
        for k in range(K):
            if on_offer(mask, k):
                noise = dot(leans[k], tied)
                for e in range(starts[k], starts[k + 1]):
                    noise += much[e] * z[n + which[e]]
                score = means[k] + width * noise
                if best < 0 or score > top:
                    best, top = k, score
        p[best] += 1.0
    for k in range(K):
        p[k] /= M


@kernel
def _loose(idx: Indices, starts: IntArray, first: int, K: int) -> Loose:
    """Space for all entries of K rows."""
    entries = K * idx.shape[0] if starts.shape[0] == 0 else starts[first + K] - starts[first]
    return np.zeros(K + 1, np.int64), np.empty(entries, np.int32), np.empty(entries)


@kernel
def root_samples(
    R: FloatArray,
    slots: Slots,
    used: IntArray,
    offer: Offer,
    first: int,
    ridge: float,
    mask: Mask,
    draws: tuple[float, int, U64, int],
    out: Estimates,
) -> None:
    """Estimates, spreads and shares of the rows from the first-th on, with full A."""
    (idx, val, starts), K, over, extra = offer, out[0].shape[0], 1.0 / math.sqrt(ridge), 0
    leans, scratch = np.empty((K, R.shape[1])), scratch_for(R, slots, idx)
    loose = _loose(idx, starts, first, K if slots.shape[0] > 0 else 0)
    begins, which, much = loose if slots.shape[0] > 0 else (np.zeros(K + 1, np.int64), loose[1], loose[2])
    for k in range(K):
        x, indices = row_values(idx, val, starts, first + k), row_indices(idx, starts, first + k)
        mean, rest = lean(R, slots, indices, x, scratch, leans[k])
        out[0][k], out[1][k] = mean, dot(leans[k], leans[k]) + rest / ridge
        at = begins[k]
        if slots.shape[0] > 0:
            for e in range(x.shape[0]):
                slot = slots[indices[e]]
                if x[e] != 0.0 and slot < 0:
                    if slot == -1:  # met for the first time: it gets a normal number of its own
                        slots[indices[e]] = slot = np.int32(-2 - extra)
                        extra += 1
                    which[at], much[at] = -2 - slot, x[e] * over
                    at += 1
        begins[k + 1] = at
    if slots.shape[0] > 0:
        _unmark(slots, idx, starts, first, K)
    _count_best(out[0], leans, used[0], (begins, which, much), extra, mask, draws, out[2])


@kernel
def _unmark(marks: Slots, idx: Indices, starts: IntArray, first: int, K: int) -> None:
    """Leave no mark on the columns that were given a normal number."""
    for k in range(K):
        indices = row_indices(idx, starts, first + k)
        for e in range(indices.shape[0]):
            if marks[indices[e]] < -1:
                marks[indices[e]] = -1


@kernel
def column_samples(
    D: FloatArray,
    marks: Slots,
    offer: Offer,
    first: int,
    fading: Fading,
    mask: Mask,
    draws: tuple[float, int, U64, int],
    out: Estimates,
) -> None:
    """The same with diagonal A. ``marks`` is −1 for every column, before and after."""
    (idx, val, starts), K, extra, (ridge, keep, now) = offer, out[0].shape[0], 0, fading
    begins, which, much = _loose(idx, starts, first, K)
    for k in range(K):
        x, indices = row_values(idx, val, starts, first + k), row_indices(idx, starts, first + k)
        at, mean, spread = begins[k], 0.0, 0.0
        for e in range(x.shape[0]):
            w, a = column(D, indices[e], ridge, keep, now)
            mean += x[e] * w
            spread += x[e] * x[e] / a
            if x[e] != 0.0:
                mark = marks[indices[e]]
                if mark == -1:
                    marks[indices[e]] = mark = np.int32(-2 - extra)
                    extra += 1
                which[at], much[at] = -2 - mark, x[e] / math.sqrt(a)
                at += 1
        out[0][k], out[1][k], begins[k + 1] = mean, spread, at
    _unmark(marks, idx, starts, first, K)
    _count_best(out[0], np.empty((K, 0)), 0, (begins, which, much), extra, mask, draws, out[2])
