"""One step of any update rule, by what its `program` says."""

from __future__ import annotations

import math

import numpy as np

from smidgen.decision import FloatArray
from smidgen.geometry.space import BALL
from smidgen.optim.rules import (
    ADDITIVE,
    EXPONENTIATED,
    FILLED,
    GRADIENT,
    NEWTON,
    PROJECTED,
    RETRAINED,
    SILENT,
    SOFT,
    STEPS,
    WAITING,
    Program,
    RuleMemory,
)
from smidgen_papers.compiled.arrays import clear, copy, dot, scale, shift
from smidgen_papers.compiled.geometry import (
    LONG,
    absorb_carefully,
    inside,
    settle,
    shrink_and_multiply,
    sound,
    to_nearest,
    to_nearest_in_norm,
)
from smidgen_papers.compiled.kernel import borrowing, kernel


@borrowing
def move(start: FloatArray, direction: FloatArray, rate: float, end: FloatArray) -> float:
    """End = start + rate·direction; gives ‖end‖², which is not finite where the end is not, or too long to square."""
    shift(end, start, direction, rate)
    return dot(end, end)


@kernel
def normalise(theta: FloatArray, signed: bool, w: FloatArray) -> None:
    """Weights ∝ exp(theta); signed: exp(theta) for φ and exp(−theta) for −φ, folded to their difference.

    The largest exponent is taken out first, so nothing overflows however long the run.
    """
    shift = np.max(np.abs(theta)) if signed else np.max(theta)
    total = 0.0
    for i in range(theta.shape[0]):
        plus = math.exp(theta[i] - shift)
        minus = math.exp(-theta[i] - shift) if signed else 0.0
        w[i] = plus - minus
        total += plus + minus
    for i in range(theta.shape[0]):
        w[i] /= total


@kernel
def exponentiated_move(
    theta: FloatArray, d: FloatArray, bound: float, t: int, signed: bool, end: FloatArray, w: FloatArray
) -> float:
    """End = theta + d/(2·bound·√t), and the weights of it; gives ‖end‖². The end may be theta itself."""
    squares = move(theta, d, 1.0 / (2.0 * bound * math.sqrt(t)), end)
    normalise(end, signed, w)
    return squares


@borrowing
def rate_of(scale: float, t: int) -> float:
    """The rate of the t-th step."""
    return scale / math.sqrt(t)


@borrowing
def gradient_move(w: FloatArray, d: FloatArray, scale: float, t: int, end: FloatArray) -> float:
    """End = w + scale/√t · d; gives ‖end‖². The way back to the space is the space's own."""
    return move(w, d, rate_of(scale, t), end)


@borrowing
def _careful_move(B: FloatArray, d: FloatArray, w: FloatArray, gamma: float, factor: float, end: FloatArray) -> float:
    """`newton_move` where rounding would eat B up."""
    if not math.isfinite(absorb_carefully(B, d, gamma, end)):
        return math.inf
    shift(end, w, end, factor)
    return dot(end, end)


@borrowing
def newton_move(
    B: FloatArray,
    waiting: FloatArray,
    d: FloatArray,
    w: FloatArray,
    gamma: float,
    factor: float,
    end: FloatArray,
    back: bool,
) -> float:
    """A ← A + gamma·d·dᵀ and end = w + factor·A⁻¹d, where A⁻¹ = B − v·vᵀ before and after; gives ‖end‖².

    v is the first row of ``waiting``, as `shrink_and_multiply` has it.

    A result that is not finite says that the step must not be taken; then A stays as it was. To go forth and back
    through B by turns is quicker, and makes no other difference.
    """
    product, v = end, waiting[0]
    quadratic = shrink_and_multiply(B, waiting, d, product, back)
    if not sound(waiting[1], product, quadratic) or gamma * quadratic > LONG:
        clear(v)
        return _careful_move(B, d, w, gamma, factor, end)
    growth, length = 1.0 + gamma * quadratic, dot(product, product)
    scale(v, product, math.sqrt(gamma / growth))
    shift(end, w, product, factor / growth)  # the product with the new A⁻¹, from that with the old one
    squares = dot(end, end)
    if not math.isfinite(growth + length + squares):
        clear(v)
        return math.inf
    return squares


@borrowing
def doubt(agreement: float) -> float:
    """σ(−z) = 1/(1 + e^z): 1 where the weights say the opposite, 0 where they agree; without overflow."""
    if agreement > 0.0:
        small = math.exp(-agreement)
        return small / (1.0 + small)
    return 1.0 / (1.0 + math.exp(agreement))


@borrowing
def soft_move(w: FloatArray, d: FloatArray, weight: float, end: FloatArray) -> float:
    """End = w + weight·σ(−w·d)·d; gives ‖end‖²."""
    return move(w, d, weight * doubt(dot(w, d)), end)


@borrowing
def silent(d: FloatArray) -> bool:
    """Check whether a direction is zero."""
    i = 0
    while i < d.shape[0] and d[i] == 0.0:
        i += 1
    return i == len(d)


@borrowing
def goes_along(p: Program) -> bool:
    """Check whether each step moves the weights along its own direction (but for a projection now and then)."""
    return p.batch == 1 and (p.kind == ADDITIVE or p.kind == GRADIENT)


@borrowing
def rate(p: Program, m: RuleMemory) -> float:
    """The rate of the present step, of rules that go along their directions."""
    return rate_of(p.scale, m.counts[STEPS]) if p.kind == GRADIENT else 1.0


@borrowing
def step(p: Program, m: RuleMemory, d: FloatArray, factor: float) -> bool:
    """One step of the rule along factor·d; False if the step leaves the finite numbers, and must not be kept."""
    m.counts[STEPS] += 1
    t = m.counts[STEPS]
    if p.kind == EXPONENTIATED:
        exponentiated_move(m.theta, d, p.scale, p.horizon if p.horizon > 0 else t, p.signed, m.theta, m.w)
        return True
    if p.kind == RETRAINED:
        if not silent(d):
            copy(m.pairs[m.counts[FILLED]], d)
            m.counts[FILLED] += 1
        return True
    if p.kind == ADDITIVE:
        move(m.w, d, 1.0, m.w)
        return True
    if p.kind == SOFT:
        soft_move(m.w, d, factor, m.w)
        return True
    if p.kind == GRADIENT:
        squares = gradient_move(m.w, d, p.scale * factor, t, m.end)
    else:
        gamma = p.gamma * (factor * factor)
        squares = newton_move(m.inverse, m.waiting, d, m.w, gamma, p.scale * factor, m.end, t % 2 == 0)
    if not math.isfinite(squares):
        return False
    if not _within(p, m, squares):
        m.counts[PROJECTED] += 1
        if p.kind == NEWTON:
            settle(m.inverse, m.waiting)
            to_nearest_in_norm(p.region, m.end if p.region.kind == BALL else m.end[: m.dim], m.inverse, m.scratch)
        else:
            to_nearest(p.region, m.end[: m.dim], math.sqrt(squares), m.scratch)
    copy(m.w, m.end)
    return True


@borrowing
def _within(p: Program, m: RuleMemory, squares: float) -> bool:
    if p.region.kind == BALL:
        return math.sqrt(squares) <= float(p.region.bounds[0])
    return inside(p.region, m.end[: m.dim], math.sqrt(squares), m.scratch)


@borrowing
def learn(p: Program, m: RuleMemory, d: FloatArray) -> bool:
    """Step along d, or, of a batch, along the sum when it is full."""
    m.counts[SILENT] += silent(d)
    if p.batch > 1:
        move(m.total, d, 1.0, m.total)
        m.counts[WAITING] += 1
        if m.counts[WAITING] < p.batch:
            return True
        for i in range(d.shape[0]):
            d[i], m.total[i] = m.total[i], 0.0
        m.counts[WAITING] = 0
    return step(p, m, d, 1.0)
