"""Rounds of the tune loop in compiled code: a point, its loss or its gradient, a step, a projection."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smidgen._kernel import borrowing, inlined
from smidgen.decision import FloatArray, IntArray
from smidgen.evaluate.tune_region import BALL, Region, along, embed, inside, to_nearest, to_nearest_in_norm
from smidgen.geometry.symmetric import mirror, shrink
from smidgen.optim.newton import newton_move
from smidgen.randomness import U64, directions_room, unit_directions
from smidgen.vector.arrays import clear, dot, scale, shift
from smidgen.vector.lanes import load, store
from smidgen.vector.memory import zeros

LEAST_SQUARES, LOGISTIC, PORTFOLIO = 0, 1, 2
#: What a stretch of rounds adds up: losses and wrong signs, of the points and of the base points; projections.
#: And gradients that were shortened.
LOSS, BASE_LOSS, WRONG, BASE_WRONG, PROJECTED, CLIPPED = 0, 1, 2, 3, 4, 5
SUMS = 6
AHEAD = 8  # so many directions are drawn at a time


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
    longest
        The length of the longest gradient that is heard as it is.
    """

    newton: bool
    scale: float
    reach: float
    gain: float
    key: U64
    longest: float


class Room(NamedTuple):
    """What a learner remembers, and where its rounds are worked out.

    Attributes
    ----------
    dim
        The number of free coordinates n. Vectors and matrices have room for blocks of eight; what is beyond n stays 0.
    counts
        Two counts: steps of the rule, and decisions.
    w, end
        The base point, and the next one.
    B, waiting
        A⁻¹ is B − waiting·waitingᵀ.
    g
        The direction of a gradient that is heard.
    directions, words, normals
        Directions to try, some rounds ahead, and what they are drawn with.
    x, y, scratch
        Points, of spaces where they are not their own free coordinates.
    """

    dim: int
    counts: IntArray
    w: FloatArray
    end: FloatArray
    B: FloatArray
    waiting: FloatArray
    g: FloatArray
    directions: FloatArray
    words: U64
    normals: FloatArray
    x: FloatArray
    y: FloatArray
    scratch: FloatArray


def room_for(w: FloatArray, inverse: FloatArray, counts: IntArray, columns: int) -> Room:
    """Room for a learner that is at w; A⁻¹ is empty if none is kept, and rows have so many columns."""
    n = len(w)
    base, end, waiting, g = zeros((4, n + -n % 8), np.float64)
    x, y, scratch = np.zeros((3, columns))
    kept = len(inverse)
    B = zeros((kept + -kept % 4, kept + -kept % 8), np.float64)
    base[:n], B[:kept, :kept] = w, inverse
    return Room(n, counts, base, end, B, waiting, g, *directions_room(n, AHEAD), x, y, scratch)


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


@borrowing
def play(rows: Rows, regions: tuple[Region, Region], pace: Pace, room: Room, order: IntArray, sums: FloatArray) -> bool:
    """Play the rows in this order; False, and nothing to be kept, if numbers cease to be finite.

    The points lie in the first region, the base points in the second one, which is the first one shrunk.
    """
    whole, kept = regions
    ball, radius, hears = whole.kind == BALL, kept.bounds[0], pace.reach == 0.0
    counts, w, end, g = room.counts, room.w, room.end, room.g
    own_w, own_end, own_g = w[: room.dim], end[: room.dim], g[: room.dim]
    for t in range(order.shape[0]):
        z, target = rows.Z[order[t]], rows.y[order[t]]
        counts[0] += 1
        counts[1] += 1
        if not ball:
            embed(whole, own_w, room.y)
        base_score = dot(z, own_w) if ball else dot(z, room.y)
        base_loss, slope = _cost(rows.kind, base_score, target)
        score, loss, direction, factor = base_score, base_loss, g, -slope
        if hears:
            length = abs(slope) * math.sqrt(dot(z, z))
            if not math.isfinite(length):
                return False
            if length > pace.longest:
                factor *= pace.longest / length
                sums[CLIPPED] += 1.0
            if ball:  # its free coordinates are the point itself
                scale(own_g, z, 1.0)
            else:
                along(whole, z, own_g)
        else:
            if t % AHEAD == 0:
                unit_directions(pace.key, np.uint64(counts[1]), room.dim, room.directions, room.words, room.normals)
            direction = room.directions[t % AHEAD]
            if ball:
                score += pace.reach * dot(z, direction[: room.dim])
            else:
                shift(end, w, direction, pace.reach)
                embed(whole, own_end, room.x)
                score = dot(z, room.x)
            loss, _ = _cost(rows.kind, score, target)
            factor = pace.gain * loss
        sums[LOSS] += loss
        sums[BASE_LOSS] += base_loss
        sums[WRONG] += score * target <= 0.0
        sums[BASE_WRONG] += base_score * target <= 0.0
        if pace.newton:
            gamma, step = factor * factor, pace.scale * factor
            squares = newton_move(room.B, room.waiting, direction, w, gamma, step, end, t % 2 == 1)
        else:
            shift(end, w, direction, pace.scale * factor / math.sqrt(counts[0]))
            squares = dot(end, end)
        if not math.isfinite(squares):
            return False
        norm = math.sqrt(squares)
        if norm > radius if ball else not inside(kept, own_end, norm, room.scratch):
            sums[PROJECTED] += 1.0
            if pace.newton:
                shrink(room.B, room.waiting)
                clear(room.waiting)
                to_nearest_in_norm(kept, end if ball else own_end, room.B, room.scratch)
            else:
                to_nearest(kept, own_end, norm, room.scratch)
        for i in range(0, w.shape[0], 8):
            store(w, i, load(end, i))
    if pace.newton:
        shrink(room.B, room.waiting)
        mirror(room.B)
    return True
