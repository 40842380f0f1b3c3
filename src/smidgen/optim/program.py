"""The rules in compiled loops: one step of any of them, by the kernels that the rules themselves step by.

A rule's `program` says what it is set to; a `RuleMemory` holds what it remembers, in place. `step` is the whole update:
the move of the rule, and the way back to its space.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import borrowing, written_for
from smidgen.decision import FloatArray, IntArray
from smidgen.geometry.polytope import BALL
from smidgen.geometry.region import inside, to_nearest, to_nearest_in_norm
from smidgen.geometry.symmetric import mirror, settle
from smidgen.optim.exponentiated import exponentiated_move
from smidgen.optim.gradient import gradient_move, rate_of
from smidgen.optim.newton import newton_move
from smidgen.optim.rule import (
    ADDITIVE,
    EXPONENTIATED,
    GRADIENT,
    NEWTON,
    RETRAINED,
    SOFT,
    Program,
    Rule,
    State,
    move,
)
from smidgen.optim.soft import soft_move
from smidgen.vector.arrays import copy
from smidgen.vector.memory import zeros

STEPS, WAITING, SILENT, DECIDED, FILLED, PROJECTED = range(6)  # what `RuleMemory.counts` counts
COUNTS = 6


class RuleMemory(NamedTuple):
    """What a rule remembers. The kernels write to it; arrays that it does not need are empty."""

    dim: int  # of the weights; arrays may hold more, which stays 0
    w: FloatArray
    end: FloatArray  # space for the next weights
    theta: FloatArray  # exponentiated: the log-weights
    inverse: FloatArray  # Newton: A⁻¹ is inverse − v·vᵀ, by its lower triangle
    waiting: FloatArray  # v, and space for the diagonal
    total: FloatArray  # batch: the sum of its Δ so far
    pairs: FloatArray  # retrained: space for the Δ until the next training
    scratch: FloatArray  # space for a point of the space
    counts: IntArray


def program_of(rule: Rule) -> Program | None:
    """The program of a rule, if it has one that was written for its `step`."""
    return rule.program() if written_for(rule, "program", "step") else None


def memory_of(state: Mapping[str, NDArray[Any]], w: FloatArray, decided: int, multiple: int = 1) -> RuleMemory:
    """A copy of what a rule at w remembers; vectors are as long as a multiple of so many numbers."""
    n, inverse = len(w), state.get("inverse", np.empty((0, 0)))
    width, kept = n + -n % multiple, len(inverse)
    base, end = zeros((2, width), np.float64)
    waiting = zeros((2, kept and width), np.float64)
    B = zeros((kept + -kept % min(multiple, 4), kept and width), np.float64)
    base[:n], B[:kept, :kept] = w, inverse
    counts = np.zeros(COUNTS, np.int64)
    counts[DECIDED] = decided
    for place, name in ((STEPS, "t"), (WAITING, "batch_waiting"), (SILENT, "uninformative")):
        counts[place] = int(state.get(name, 0))
    theta, total = (np.array(state.get(name, np.empty(0)), order="C") for name in ("theta", "batch_sum"))
    return RuleMemory(n, base, end, theta, B, waiting, total, np.empty((0, n)), np.empty(n + 1), counts)


def state_of(m: RuleMemory, before: Mapping[str, NDArray[Any]]) -> State:
    """What a rule should take over after a loop: ``before`` says what it remembers, and what the loop does not know."""
    settle(m.inverse, m.waiting)
    mirror(m.inverse)
    now = {
        "w": m.w[: m.dim].copy(),
        "theta": m.theta,
        "inverse": m.inverse[: m.dim, : m.dim].copy(),
        "batch_sum": m.total,
        "t": np.array(m.counts[STEPS]),
        "batch_waiting": np.array(m.counts[WAITING]),
        "uninformative": np.array(m.counts[SILENT]),
    }
    return {name: now.get(name, old) for name, old in before.items()}


def is_finite(m: RuleMemory) -> bool:
    """Whether sums have stayed finite: those that overflow once never come back."""
    return all(bool(np.isfinite(array).all()) for array in (m.w, m.theta, m.total))


@borrowing
def silent(d: FloatArray) -> bool:
    """Whether a direction is zero."""
    i = 0
    while i < d.shape[0] and d[i] == 0.0:
        i += 1
    return i == len(d)


@borrowing
def goes_along(p: Program) -> bool:
    """Whether each step moves the weights along its own direction (but for a projection now and then)."""
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
