"""RIDGE-FIL, RIDGE-FULL and apple tasting over whole streams of documents, exactly, in blocks.

With n documents learnt from, the ridge estimate costs n² per question in any exact form, and n goes into the thousands.
One document at a time that is a walk through a large matrix; a block of documents at a time it is a product of
matrices, some thirty times quicker. The arithmetic is that of the learners: with the Cholesky factor L of Gram + aI
over the documents learnt from, and z = L⁻¹y,

    v = L⁻¹k(x),    w·x = v·z,    xᵀA⁻¹x = (x·x − v·v)/a,

and a document that is learnt adds the row (v, √(a + x·x − v·v)) to L and (y − w·x)/√(a + x·x − v·v) to z.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from smidgen._kernel import kernel
from smidgen.decision import FloatArray
from smidgen.learners.filter import FilterHistory
from smidgen.learners.filter.exploring import RIDGES, RULES, count_label, threshold_of
from smidgen.randomness import COIN, U64, first_uniform, stream_key

Flags = NDArray[np.bool_]
BLOCK = 192


#: When to forward. The number of the rule of exploration (see `RULES`) and its c (or the ridge); whether to taste
#: instead, that is to forward by the sign of the margin and otherwise with probability √((1 + m)/(t + 1)); the key of
#: its coins.
Rule: TypeAlias = tuple[int, float, bool, U64]


def ridge_fil(X: Any, y: Flags, *, c: float = 5.0, a: float = 1.0, explore: str = "paper") -> FilterHistory:
    """What `smidgen.RidgeFil` does on a stream of sparse rows, to rounding."""
    ridge = RIDGES[explore] * a
    rule = (RULES[explore], ridge if explore == "scarce" else c, False, stream_key(0, COIN))
    return _filtered(X, y, ridge, rule, constant=explore != "paper")


def apple_tasting(X: Any, y: Flags, *, seed: int, a: float = 1.0) -> FilterHistory:
    """What `smidgen.AppleTasting` around a `smidgen.RidgeFull` does on a stream of sparse rows, to rounding."""
    return _filtered(X, y, a, (0, 0.0, True, stream_key(seed, COIN)))


def ridge_full(X: Any, Y: Flags, *, a: float = 1.0, single: bool = False) -> list[FilterHistory]:
    """What `smidgen.RidgeFull` does on a stream of sparse rows, for each column of labels.

    The matrix does not depend on the labels, so that one factor serves all topics: n³/3 operations for n documents.
    ``single`` halves memory and time by single precision.
    """
    n, kind = X.shape[0], np.float32 if single else np.float64
    gram = np.empty((n, n), kind, order="F")
    for start in range(0, n, BLOCK):
        gram[:, start : start + BLOCK] = (X @ X[start : start + BLOCK].T.tocsr()).toarray()
    gram.flat[:: n + 1] += kind(a)
    factor = cholesky(gram, lower=True, overwrite_a=True, check_finite=False)
    truth = np.asarray(Y, np.bool_)
    z = solve_triangular(factor, np.where(truth, 1.0, -1.0).astype(kind), lower=True, check_finite=False)
    factor.flat[:: n + 1] = 0.0
    forwarded = factor @ z >= 0.0
    return [FilterHistory(forwarded[:, k], forwarded[:, k], truth[:, k]) for k in range(truth.shape[1])]


@kernel
def _block(
    V: FloatArray, z: FloatArray, near: FloatArray, first: int, rule: Rule, counts: FloatArray, told: Any
) -> Any:
    """Play a block in order.

    V has a row L⁻¹k(x) per document, with room; counts are a, learnt from, found by tasting, and what was heard.
    """
    (kind, c, tasting, key), (truth, actions, greedy) = rule, told
    heard = counts[3:]
    for i in range(V.shape[0]):
        a, n, v = counts[0], int(counts[1]), V[i]
        mean = np.dot(v[:n], z[:n])
        pivot = a + max(near[i, i] - np.dot(v[:n], v[:n]), 0.0)
        greedy[i] = actions[i] = mean >= 0.0
        if tasting:
            chance = math.sqrt((1.0 + counts[2]) / (first + i + 1.0))
            actions[i] = greedy[i] or first_uniform(key, first + i) < chance
        else:
            actions[i] = mean * a / pivot >= threshold_of(kind, c, first + i, heard)
        if not actions[i]:
            continue
        counts[1] += 1.0
        count_label(heard, truth[i], 1.0, pivot / a - 1.0)
        if truth[i] and not greedy[i]:
            counts[2] += 1.0
        root = math.sqrt(pivot)
        z[n] = ((1.0 if truth[i] else -1.0) - mean) / root
        for j in range(i + 1, V.shape[0]):
            V[j, n] = (near[i, j] - np.dot(v[:n], V[j, :n])) / root
        v[n] = root


def _filtered(X: Any, y: Flags, a: float, rule: Rule, *, constant: bool = False) -> FilterHistory:
    n, truth = X.shape[0], np.ascontiguousarray(y, np.bool_)
    actions, greedy = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    counts, one = np.array([a, 0.0, 0.0, 0.0, 0.0, 0.0]), float(constant)
    room = 1024
    factor, z = np.zeros((room, room)), np.zeros(room)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        learnt = int(counts[1])
        if learnt + BLOCK > room:
            room = min(2 * room, n + BLOCK)
            factor, z = _larger(factor, room), np.concatenate([z, np.zeros(room - len(z))])
        block = X[start:stop]
        across = block.T.tocsr()
        V = np.zeros((stop - start, learnt + BLOCK))
        if learnt:
            k = (X[np.flatnonzero(actions[:start])] @ across).toarray() + one
            V[:, :learnt] = solve_triangular(factor[:learnt, :learnt], k, lower=True, check_finite=False).T
        told = truth[start:stop], actions[start:stop], greedy[start:stop]
        _block(V, z, (block @ across).toarray() + one, start + 1, rule, counts, told)
        new = np.flatnonzero(actions[start:stop])
        factor[learnt : learnt + len(new), : learnt + len(new)] = np.tril(V[new, : learnt + len(new)], learnt)
    return FilterHistory(actions, greedy, truth)


def _larger(factor: FloatArray, room: int) -> FloatArray:
    grown = np.zeros((room, room))
    grown[: len(factor), : len(factor)] = factor
    return grown
