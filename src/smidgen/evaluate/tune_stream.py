"""Rounds of the tune loop in compiled code: a point, its loss or its gradient, a step, a projection."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smidgen._kernel import inlined, kernel
from smidgen.evaluate.tune_region import BALL, Region, along, embed, inside, to_nearest, to_nearest_in_norm
from smidgen.geometry.symmetric import mirror, shrink
from smidgen.optim.newton import newton_move
from smidgen.randomness import U64, direction_room, unit_direction
from smidgen.types import FloatArray, IntArray
from smidgen.vector.arrays import clear, dot, scale, shift
from smidgen.vector.lanes import load, store

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


@inlined
def _cost(kind: int, score: float, target: float) -> tuple[float, float]:
    """The loss of a score, and its slope."""
    if kind == LEAST_SQUARES:
        off = score - target
        return 0.5 * (off * off), off
    if kind == PORTFOLIO:
        return -score, -1.0
    margin = target * score
    return _softplus(-margin), -target * math.exp(-_softplus(margin))


@inlined
def _softplus(x: float) -> float:
    """log(1 + exp(x)), without overflow."""
    return x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))


@kernel
def play(
    rows: Rows, regions: tuple[Region, Region], pace: Pace, memory: Memory, order: IntArray, sums: FloatArray
) -> bool:
    """Play the rows in this order; False, and nothing to be kept, if numbers cease to be finite.

    The points lie in the first region, the base points in the second one, which is the first one shrunk.
    """
    whole, kept = regions
    Z, targets, counts = rows.Z, rows.y, memory.counts
    ball, radius, hears = whole.kind == BALL, kept.bounds[0], pace.reach == 0.0
    n, d = memory.w.shape[0], Z.shape[1]
    size = n + -n % 8  # vectors have room for blocks of eight; the rest stays 0
    room, B = np.zeros((5, size)), np.zeros((size, size) if pace.newton else (0, 0))
    w, v, g, end, waiting = room[0], room[1], room[2], room[3], room[4]  # A⁻¹ is B − waiting·waitingᵀ
    own_w, own_v, own_g, own_end = w[:n], v[:n], g[:n], end[:n]
    x, y, scratch = np.zeros(d), np.zeros(d), np.zeros(d)
    words, normals = direction_room(n)
    own_w[:] = memory.w
    if pace.newton:
        B[:n, :n] = memory.inverse
    for t in range(order.shape[0]):
        z, target, score = Z[order[t]], targets[order[t]], 0.0
        counts[0] += 1
        counts[1] += 1
        if not ball:
            embed(whole, own_w, y)
        base_score = dot(z, own_w) if ball else dot(z, y)
        if hears:
            score = base_score
        else:
            unit_direction(pace.key, np.uint64(counts[1]), own_v, words, normals)
            shift(end, w, v, pace.reach)
            if not ball:
                embed(whole, own_end, x)
            score = dot(z, own_end) if ball else dot(z, x)
        loss, slope = _cost(rows.kind, score, target)
        if not hears:
            sums[BASE_LOSS] += _cost(rows.kind, base_score, target)[0]
            scale(g, v, pace.gain * loss)
        else:
            sums[BASE_LOSS] += loss
            if ball:  # its free coordinates are the point itself
                scale(own_g, z, -slope)
            else:
                scale(x, z, -slope)
                along(whole, x, own_g)
        sums[LOSS] += loss
        sums[WRONG] += score * target <= 0.0
        sums[BASE_WRONG] += base_score * target <= 0.0
        if pace.newton:
            squares = newton_move(B, waiting, g, w, 1.0, pace.scale, end)
        else:
            shift(end, w, g, pace.scale / math.sqrt(counts[0]))
            squares = dot(end, end)
        if not math.isfinite(squares):
            return False
        norm = math.sqrt(squares)
        if norm > radius if ball else not inside(kept, own_end, norm, scratch):
            sums[PROJECTED] += 1.0
            if pace.newton:
                shrink(B, waiting)
                clear(waiting)
                if ball:
                    to_nearest_in_norm(kept, end, B, scratch)
                else:
                    to_nearest_in_norm(kept, own_end, B[:n, :n].copy(), scratch)
            else:
                to_nearest(kept, own_end, norm, scratch)
        for i in range(0, size, 8):
            store(w, i, load(end, i))
    memory.w[:] = own_w
    if pace.newton:
        shrink(B, waiting)
        mirror(B)
        memory.inverse[:] = B[:n, :n]
    return True
