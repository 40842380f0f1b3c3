"""Rounds of the tune loop in compiled code: a point, its loss or its gradient, a step, a projection."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smidgen._kernel import kernel
from smidgen.evaluate.tune_region import BALL, Region, along, embed, inside, to_nearest, to_nearest_in_norm
from smidgen.geometry.rank_one import _downdate
from smidgen.randomness import U64, _unit_vector
from smidgen.types import FloatArray, IntArray

LEAST_SQUARES, LOGISTIC, PORTFOLIO = 0, 1, 2
#: What a stretch of rounds adds up: losses and wrong signs, of the points and of the base points; projections.
LOSS, BASE_LOSS, WRONG, BASE_WRONG, PROJECTED = 0, 1, 2, 3, 4
SUMS = 5


class Rows(NamedTuple):
    """Losses of the inner product of the point with a row: their kind, the rows, the targets."""

    kind: int
    Z: FloatArray
    y: FloatArray


class Pace(NamedTuple):
    """How a learner steps.

    Attributes
    ----------
    newton
        Whether A is kept.
    scale
        The factor of the step; a gradient rule divides it by √t.
    reach
        δ; 0 if the gradient is heard.
    gain
        What the loss is multiplied with, to estimate a gradient.
    key
        Of the stream of directions.
    """

    newton: bool
    scale: float
    reach: float
    gain: float
    key: U64


class Memory(NamedTuple):
    """What a learner remembers: the base point, A⁻¹, and two counts, steps of the rule and decisions."""

    w: FloatArray
    inverse: FloatArray
    counts: IntArray


@kernel
def _cost(kind: int, score: float, target: float) -> tuple[float, float]:
    """The loss of a score, and its slope."""
    if kind == LEAST_SQUARES:
        off = score - target
        return 0.5 * (off * off), off
    if kind == PORTFOLIO:
        return -score, -1.0
    margin = target * score
    return _softplus(-margin), -target * math.exp(-_softplus(margin))


@kernel
def _softplus(x: float) -> float:
    """log(1 + exp(x)), without overflow."""
    return x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))


@kernel
def _product(B: FloatArray, u: FloatArray, c: float, g: FloatArray, out: FloatArray) -> float:
    """B ← B − c·u·uᵀ and out = B·g in one pass, B being symmetric; gives gᵀBg."""
    n = g.shape[0]
    for j in range(n):
        out[j] = 0.0
    for i in range(n):
        ui, gi = u[i], g[i]  # out of the loop: three times as fast in few dimensions
        for j in range(n):
            b = B[i, j] - c * (ui * u[j])
            B[i, j] = b
            out[j] += b * gi
    quadratic = 0.0
    for i in range(n):
        quadratic += g[i] * out[i]
    return quadratic


@kernel
def play(
    rows: Rows, regions: tuple[Region, Region], pace: Pace, memory: Memory, order: IntArray, sums: FloatArray
) -> bool:
    """Play the rows in this order; False, and nothing to be kept, if numbers cease to be finite.

    The points lie in the first region, the base points in the second one, which is the first one shrunk.
    """
    whole, kept = regions
    Z, targets, w, B, counts = rows.Z, rows.y, memory.w, memory.inverse, memory.counts
    ball, radius, hears = whole.kind == BALL, kept.bounds[0], pace.reach == 0.0
    n, d = w.shape[0], Z.shape[1]
    v, g, product, end, waiting = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    x, y, scratch = np.zeros(d), np.zeros(d), np.zeros(d)
    share = 0.0  # the last growth of A waits until the next product: B − share·waiting·waitingᵀ is A⁻¹
    for t in range(order.shape[0]):
        row = order[t]
        target, score, base_score = targets[row], 0.0, 0.0
        counts[0] += 1
        counts[1] += 1
        if not hears:
            _unit_vector(pace.key, np.uint64(counts[1]), v)
            for i in range(n):
                end[i] = w[i] + pace.reach * v[i]
        if ball:  # its free coordinates are the point itself
            for i in range(n):
                base_score += Z[row, i] * w[i]
                score += Z[row, i] * end[i]
        else:
            embed(whole, w, y)
            embed(whole, end, x)
            for i in range(d):
                base_score += Z[row, i] * y[i]
                score += Z[row, i] * x[i]
        if hears:
            score = base_score
        loss, slope = _cost(rows.kind, score, target)
        if hears:
            sums[BASE_LOSS] += loss
            if ball:
                for i in range(n):
                    g[i] = -(slope * Z[row, i])
            else:
                for i in range(d):
                    x[i] = -(slope * Z[row, i])
                along(whole, x, g)
        else:
            sums[BASE_LOSS] += _cost(rows.kind, base_score, target)[0]
            for i in range(n):
                g[i] = pace.gain * loss * v[i]
        sums[LOSS] += loss
        sums[WRONG] += score * target <= 0.0
        sums[BASE_WRONG] += base_score * target <= 0.0
        squares = 0.0
        if pace.newton:
            quadratic = _product(B, waiting, share, g, product)
            for i in range(n):
                end[i] = w[i] + pace.scale * (product[i] / (1.0 + quadratic))
                squares += end[i] * end[i]
                waiting[i] = product[i]
            share = 1.0 / (1.0 + quadratic)
        else:
            rate = pace.scale / math.sqrt(counts[0])
            for i in range(n):
                end[i] = w[i] + rate * g[i]
                squares += end[i] * end[i]
        if not math.isfinite(squares):
            return False
        norm = math.sqrt(squares)
        if norm > radius if ball else not inside(kept, end, norm, scratch):
            sums[PROJECTED] += 1.0
            if pace.newton:
                _downdate(B, waiting, share)
                share = 0.0
                to_nearest_in_norm(kept, end, B, scratch)
            else:
                to_nearest(kept, end, norm, scratch)
        for i in range(n):
            w[i] = end[i]
    if pace.newton:
        _downdate(B, waiting, share)
    return True
