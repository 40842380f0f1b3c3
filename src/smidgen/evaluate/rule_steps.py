"""The update rules of `smidgen.optim`, compiled: one code per rule, the state in plain arrays."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smidgen._kernel import kernel
from smidgen.errors import InvalidArgument
from smidgen.features import dense_scores
from smidgen.geometry import Ball
from smidgen.geometry.ball import project_on_ball
from smidgen.geometry.rank_one import _downdate
from smidgen.optim import Additive, Batched, Exponentiated, Gradient, Newton, Rule
from smidgen.optim.exponentiated import _normalise
from smidgen.types import FloatArray, IntArray

FIXED, ADDITIVE, EXPONENTIATED, GRADIENT, NEWTON = 0, 1, 2, 3, 4

#: How the weights have moved: not at all; along rate·delta, and no other way; in any way.
NOT, ALONG, ANYHOW = 0, 1, 2

_TOLERANCE = 1e-10  # of the projection, as in `Ball.project_in_norm`


class Steps(NamedTuple):
    """A rule that has not stepped yet, or has."""

    code: int
    first: float  # batch size; bound S; or the factor of the step
    second: float  # horizon (0: none); or the radius of the ball
    third: float  # signed (0 or 1); or gamma
    w: FloatArray
    memory: FloatArray  # the sum of a batch, or the logarithms of the weights
    inverse: FloatArray  # A⁻¹, or nothing
    steps: IntArray  # how many it has taken


def fresh(rule: Rule | None, dim: int) -> Steps:
    """A compiled twin of a rule, before its first step; without one, weights that stay as they are put."""
    w, memory, steps, nothing = np.zeros(dim), np.zeros(dim), np.zeros(1, np.int64), np.empty((0, 0))
    if rule is None:
        return Steps(FIXED, 0.0, 0.0, 0.0, w, memory, nothing, steps)
    if type(rule) is Additive:
        return Steps(ADDITIVE, 1.0, 0.0, 0.0, w, memory, nothing, steps)
    if type(rule) is Batched and type(rule.rule) is Additive:
        return Steps(ADDITIVE, float(rule.size), 0.0, 0.0, w, memory, nothing, steps)
    if type(rule) is Exponentiated:
        w[:] = _normalise(memory, rule.signed)
        bound, horizon, signed = rule.bound, float(rule.horizon or 0), float(rule.signed)
        return Steps(EXPONENTIATED, bound, horizon, signed, w, memory, nothing, steps)
    if type(rule) is Gradient and type(rule.space) is Ball:
        return Steps(GRADIENT, rule.scale, rule.space.radius, 0.0, w, memory, nothing, steps)
    if type(rule) is Newton and type(rule.space) is Ball:
        inverse = np.eye(dim) / rule.epsilon
        return Steps(NEWTON, rule.scale, rule.space.radius, rule.gamma, w, memory, inverse, steps)
    raise InvalidArgument(f"the rule {rule!r} has no compiled twin", "use simulate, which plays any rule")


def along(r: Steps) -> bool:
    """Whether each step moves the weights along its own delta (but for a projection now and then)."""
    return r.code == GRADIENT or (r.code == ADDITIVE and r.first == 1.0)


@kernel
def step(r: Steps, delta: FloatArray) -> tuple[int, float]:
    """One step along delta: Algorithms 1 and 2, 4, 5 or 6. Says how w has moved, and the rate."""
    r.steps[0] += 1
    t = r.steps[0]
    if r.code == ADDITIVE:
        return _additive(r, delta, t)
    if r.code == EXPONENTIATED:
        _add(r.memory, delta, 1.0 / (2.0 * r.first * math.sqrt(r.second if r.second > 0.0 else t)))
        r.w[:] = _normalise(r.memory, r.third > 0.0)
        return ANYHOW, 1.0
    if r.code == GRADIENT:
        rate = r.first / math.sqrt(t)
        _add(r.w, delta, rate)
        norm = math.sqrt(np.sum(r.w * r.w))
        if norm <= r.second:
            return ALONG, rate
        r.w[:] = r.w * (r.second / norm)
        return ANYHOW, rate
    if r.code == NEWTON:
        product = dense_scores(r.inverse, delta)
        growth = 1.0 + r.third * np.sum(delta * product)
        _add(r.w, product / growth, r.first)
        _downdate(r.inverse, product, r.third / growth)
        if math.sqrt(np.sum(r.w * r.w)) > r.second:
            r.w[:] = project_on_ball(r.inverse, r.w, r.second, _TOLERANCE)
        return ANYHOW, 1.0
    return NOT, 0.0


@kernel
def _additive(r: Steps, delta: FloatArray, t: int) -> tuple[int, float]:
    """Algorithm 1, or the batches of Algorithm 2."""
    if r.first == 1.0:
        _add(r.w, delta, 1.0)
        return ALONG, 1.0
    _add(r.memory, delta, 1.0)
    if t % int(r.first) != 0:
        return NOT, 0.0
    _add(r.w, r.memory, 1.0)
    r.memory[:] = 0.0
    return ANYHOW, 1.0


@kernel
def _add(w: FloatArray, delta: FloatArray, rate: float) -> None:
    for f in range(w.shape[0]):
        w[f] += rate * delta[f]
