"""Rounds of the tune loop in compiled code: a point, its loss or its gradient, a step."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen.evaluate.losses import LEAST_SQUARES, PORTFOLIO
from smidgen.geometry.space import BALL, Region
from smidgen.learners.tune.base import StepSchedule
from smidgen.optim.rules import DECIDED, PROJECTED, Program, RuleMemory
from smidgen_papers.compiled.arrays import dot, scale, shift, zeros
from smidgen_papers.compiled.directions import U64, directions_scratch, unit_directions
from smidgen_papers.compiled.geometry import along, embed
from smidgen_papers.compiled.kernel import borrowing, inlined
from smidgen_papers.compiled.steps import step

#: What a stretch of rounds adds up: losses and wrong signs, of the points and of the base points; projections.
#: And gradients, or losses, beyond their bound.
LOSS, BASE_LOSS, WRONG, BASE_WRONG, OUTSIDE, CLIPPED = range(6)
SUMS = 6
AHEAD = 8  # so many directions are drawn at a time


class Rows(NamedTuple):
    """Losses of the inner product of the point with a row: their kind, the rows, the targets."""

    kind: int
    Z: FloatArray
    y: FloatArray


class TuneScratch(NamedTuple):
    """Where rounds are worked out.

    Attributes
    ----------
    g
        The direction of a gradient that is heard.
    directions, words, normals
        Directions to try, some rounds ahead, and what they are drawn with.
    x, y
        Points, of spaces where they are not their own free coordinates.
    """

    g: FloatArray
    directions: FloatArray
    words: U64
    normals: FloatArray
    x: FloatArray
    y: FloatArray


def scratch_for(m: RuleMemory, columns: int) -> TuneScratch:
    """Space for a learner with such a memory, and rows of so many columns."""
    return TuneScratch(zeros((len(m.w),), np.float64), *directions_scratch(m.dim, AHEAD), *np.zeros((2, columns)))


@inlined
def _cost(kind: int, score: float, target: float) -> tuple[float, float]:
    """The loss of a score x·z_t of the point, and its slope, as `RowLosses` has them."""
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
def play(
    rows: Rows,
    whole: Region,
    p: Program,
    pace: StepSchedule,
    m: RuleMemory,
    scratch: TuneScratch,
    order: IntArray,
    sums: FloatArray,
) -> bool:
    """Play the rows in this order; False, and nothing to be kept, if numbers cease to be finite.

    The points lie in the whole region, the base points in that of the program, which is the whole one shrunk.
    """
    ball, hears = whole.kind == BALL, pace.reach == 0.0
    own_w, own_end, own_g = m.w[: m.dim], m.end[: m.dim], scratch.g[: m.dim]
    for t in range(order.shape[0]):
        z, target = rows.Z[order[t]], rows.y[order[t]]
        m.counts[DECIDED] += 1
        if not ball:
            embed(whole, own_w, scratch.y)
        base_score = dot(z, own_w) if ball else dot(z, scratch.y)
        base_loss, slope = _cost(rows.kind, base_score, target)
        score, loss, direction, factor = base_score, base_loss, scratch.g, -slope
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
                number = np.uint64(m.counts[DECIDED])
                unit_directions(pace.key, number, m.dim, scratch.directions, scratch.words, scratch.normals)
            direction = scratch.directions[t % AHEAD]
            if ball:
                score += pace.reach * dot(z, direction[: m.dim])
            else:
                shift(m.end, m.w, direction, pace.reach)
                embed(whole, own_end, scratch.x)
                score = dot(z, scratch.x)
            loss, _ = _cost(rows.kind, score, target)
            factor = pace.gain * loss
            if abs(loss) > pace.longest:
                sums[CLIPPED] += 1.0
                if pace.clips:
                    factor = pace.gain * math.copysign(pace.longest, loss)
        sums[LOSS] += loss
        sums[BASE_LOSS] += base_loss
        sums[WRONG] += score * target <= 0.0
        sums[BASE_WRONG] += base_score * target <= 0.0
        projected = m.counts[PROJECTED]
        if not step(p, m, direction, factor):
            return False
        sums[OUTSIDE] += m.counts[PROJECTED] - projected
    return True
