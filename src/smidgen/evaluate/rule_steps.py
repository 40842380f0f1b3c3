"""The coactive learners' rules in compiled code: from Δ to the next weights, in place.

Each step does what the rule of the same name in `smidgen.optim` does, in the same order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smidgen._kernel import borrowing, kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.geometry.ball import project_on_ball
from smidgen.geometry.symmetric import shrink
from smidgen.optim.exponentiated import _normalise
from smidgen.optim.newton import newton_move
from smidgen.randomness import U64
from smidgen.vector.arrays import dot

ADDITIVE, GRADIENT, NEWTON, EXPONENTIATED, RETRAINED, DUEL = range(6)  # kinds of rules
STEPS, WAITING, SILENT, DECIDED, FILLED, PROJECTED = range(6)  # what `Memory.counts` counts
COUNTS = 6
TOLERANCE = 1e-10  # of a projection, relative to the radius: that of `Ball.project_in_norm`


class Settings(NamedTuple):
    """What a learner is set to. A kind reads its own fields; the others keep their defaults."""

    kind: int
    batch: int = 1  # rounds per step
    scale: float = 1.0  # of a step; the bound S of an exponentiated one
    radius: float = 1.0
    gamma: float = 1.0
    horizon: int = 0  # 0: none, the rate falls with the steps
    signed: bool = True
    explore: float = 1.0
    directions: U64 = np.zeros(2, np.uint64)  # keys of the dueling bandit's random streams
    coins: U64 = np.zeros(2, np.uint64)


class Memory(NamedTuple):
    """What a learner remembers. The kernels write to it; arrays that its rule does not need are empty."""

    w: FloatArray
    theta: FloatArray  # exponentiated: the log-weights
    inverse: FloatArray  # Newton: A⁻¹ is inverse − waiting·waitingᵀ, by its lower triangle
    waiting: FloatArray
    total: FloatArray  # batch: the sum of its Δ so far
    pairs: FloatArray  # retrained: room for the Δ until the next training
    counts: IntArray


@borrowing
def shift(w: FloatArray, direction: FloatArray, rate: float) -> None:
    """Add rate · direction to w, in place."""
    for i in range(w.shape[0]):
        w[i] += rate * direction[i]


@borrowing
def copy(to: FloatArray, source: FloatArray) -> None:
    """Overwrite one vector by another."""
    for i in range(to.shape[0]):
        to[i] = source[i]


@borrowing
def silent(d: FloatArray) -> bool:
    """Whether a direction is zero."""
    i = 0
    while i < d.shape[0] and d[i] == 0.0:
        i += 1
    return i == len(d)


@borrowing
def along(s: Settings) -> bool:
    """Whether each step moves the weights along its own direction (but for a projection now and then)."""
    return s.batch == 1 and (s.kind == ADDITIVE or s.kind == GRADIENT)


@borrowing
def rate(s: Settings, m: Memory) -> float:
    """The rate of the present step, of rules that go along their directions."""
    return s.scale / math.sqrt(m.counts[STEPS]) if s.kind == GRADIENT else 1.0


@borrowing
def gradient_step(s: Settings, m: Memory, d: FloatArray) -> bool:
    """Go d · scale/√t and project on the ball."""
    shift(m.w, d, rate(s, m))
    norm = math.sqrt(dot(m.w, m.w))
    if norm > s.radius:
        m.counts[PROJECTED] += 1
        factor = s.radius / norm
        for i in range(m.w.shape[0]):
            m.w[i] *= factor
    return math.isfinite(norm)


@kernel
def newton_step(s: Settings, m: Memory, d: FloatArray) -> bool:
    """A ← A + γddᵀ; go scale·A⁻¹d and project on the ball in the norm of A."""
    end = np.empty(m.w.shape[0])
    back = m.counts[STEPS] % 2 == 0
    norm = math.sqrt(newton_move(m.inverse, m.waiting, d, m.w, s.gamma, s.scale, end, back))
    if norm > s.radius and math.isfinite(norm):
        m.counts[PROJECTED] += 1
        shrink(m.inverse, m.waiting)
        m.waiting[:] = 0.0
        end = project_on_ball(m.inverse, end, s.radius, TOLERANCE)
    copy(m.w, end)
    return math.isfinite(norm)


@kernel
def exponentiated_step(s: Settings, m: Memory, d: FloatArray) -> bool:
    """Multiply each weight by exp(η·d_i), and normalise."""
    t = s.horizon if s.horizon > 0 else m.counts[STEPS]
    shift(m.theta, d, 1.0 / (2.0 * s.scale * math.sqrt(t)))
    copy(m.w, _normalise(m.theta, s.signed))
    return True


@kernel
def collect(m: Memory, d: FloatArray) -> bool:
    """Keep d for the next training, unless it says nothing."""
    if not silent(d):
        copy(m.pairs[m.counts[FILLED]], d)
        m.counts[FILLED] += 1
    return True


@borrowing
def step(s: Settings, m: Memory, d: FloatArray) -> bool:
    """One step of the rule along d; False if it leaves the finite numbers in a way that the weights would not show."""
    m.counts[STEPS] += 1
    if s.kind == GRADIENT:
        return gradient_step(s, m, d)
    if s.kind == NEWTON:
        return newton_step(s, m, d)
    if s.kind == EXPONENTIATED:
        return exponentiated_step(s, m, d)
    if s.kind == RETRAINED:
        return collect(m, d)
    shift(m.w, d, 1.0)
    return True


@borrowing
def learn(s: Settings, m: Memory, d: FloatArray) -> bool:
    """Step along d, or, of a batch, along the sum when it is full."""
    m.counts[SILENT] += silent(d)
    if s.batch > 1:
        shift(m.total, d, 1.0)
        m.counts[WAITING] += 1
        if m.counts[WAITING] < s.batch:
            return True
        for i in range(d.shape[0]):
            d[i], m.total[i] = m.total[i], 0.0
        m.counts[WAITING] = 0
    return step(s, m, d)
