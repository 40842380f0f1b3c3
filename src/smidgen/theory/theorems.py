"""Which theorem speaks of which learner, and whether its conditions hold in a measured run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from smidgen.evaluate import bounds
from smidgen.evaluate.losses import Linear, Loss
from smidgen.geometry import Ball
from smidgen.optim import Additive, Batched, Exponentiated, Gradient, Newton, Rule
from smidgen.decision import FloatArray

R = TypeVar("R", bound=Rule)


@dataclass(frozen=True)
class Measured:
    """What the theorems need of a run; R and S are running maxima, so every bound is a curve."""

    T: FloatArray
    R: FloatArray
    S: FloatArray
    w_star: FloatArray
    alpha: float
    slacks: FloatArray
    gains: FloatArray
    loss: Loss | None

    @property
    def w_norm(self) -> float:
        """‖w*‖."""
        return float(np.linalg.norm(self.w_star))


@dataclass(frozen=True)
class Verdict:
    """A bound with what it bounds, or the reason why there is none."""

    bound: FloatArray | None
    note: str
    on: str = "average_regret"


Theorem: TypeAlias = Callable[[R, Measured], Verdict]


def _additive(rule: Additive, m: Measured) -> Verdict:
    bound = bounds.preference_perceptron(T=m.T, R=m.R, w_norm=m.w_norm, alpha=m.alpha, slack=m.slacks)
    return Verdict(np.asarray(bound), "Theorem 1")


def _batched(rule: Batched, m: Measured) -> Verdict:
    if type(rule.rule) is not Additive:
        return Verdict(None, f"no theorem for batches of {type(rule.rule).__name__}")
    bound = bounds.batch_preference_perceptron(
        T=m.T, R=m.R, w_norm=m.w_norm, alpha=m.alpha, slack=m.slacks, batch=rule.size
    )
    return Verdict(np.asarray(bound), "Lemma 4")


def _exponentiated(rule: Exponentiated, m: Measured) -> Verdict:
    if rule.horizon is None:
        return Verdict(None, "Theorem 5 needs a fixed rate: give the learner a horizon")
    if len(m.T) > rule.horizon:
        return Verdict(None, f"Theorem 5 ends at the horizon {rule.horizon}; the run has {len(m.T)} rounds")
    if m.S[-1] > rule.bound:
        return Verdict(None, f"a feature of {m.S[-1]:.4g} exceeds the learner's bound S={rule.bound:g}")
    if not rule.signed and (m.w_star < 0).any():
        return Verdict(None, "Theorem 5 needs w* >= 0, or signed features")
    bound = bounds.exponentiated_preference_perceptron(
        T=m.T,
        S=rule.bound,
        n_features=rule.dim * (2 if rule.signed else 1),
        alpha=m.alpha,
        slack=m.slacks,
        w_norm=float(np.abs(m.w_star).sum()),
        horizon=rule.horizon,
    )
    return Verdict(np.asarray(bound), "Theorem 5, mended")


def _gradient(rule: Gradient[Any], m: Measured) -> Verdict:
    if not isinstance(rule.space, Ball):
        return Verdict(None, f"Theorem 6 is for a ball around the origin, not for {rule.space!r}")
    if _outside(m, rule.space):
        return Verdict(None, f"‖w*‖ = {m.w_norm:.4g} lies outside the ball of radius {rule.space.radius:g}")
    loss = m.loss or Linear()
    if m.alpha * loss.peak < 2.0 * m.R[-1] * rule.space.radius:
        return Verdict(None, f"the loss rises beyond {loss.peak:.4g}, which w·Δ/α can exceed in this ball")
    bound = bounds.convex_preference_perceptron(
        T=m.T,
        R=m.R,
        diameter=rule.space.diameter,
        alpha=m.alpha,
        slack=m.slacks,
        lipschitz=loss.slope(_lowest(m)),
        scale=rule.scale,
    )
    return Verdict(np.asarray(bound), "Theorem 6, mended", "average_loss_regret")


def _newton(rule: Newton[Any], m: Measured) -> Verdict:
    if not isinstance(rule.space, Ball):
        return Verdict(None, f"Theorem 8 is for a ball around the origin, not for {rule.space!r}")
    if m.loss is None or m.loss.strong_convexity == 0.0:
        return Verdict(None, "Theorem 8 needs a strongly convex loss, e.g. simulate(…, loss=losses.Quadratic(peak=M))")
    if _outside(m, rule.space):
        return Verdict(None, f"‖w*‖ = {m.w_norm:.4g} lies outside the ball of radius {rule.space.radius:g}")
    if m.alpha * m.loss.peak < 2.0 * m.R[-1] * rule.space.radius:
        return Verdict(None, f"the loss rises beyond {m.loss.peak:.4g}, which w·Δ/α can exceed in this ball")
    G = m.loss.slope(_lowest(m))
    if rule.gamma > m.loss.strong_convexity / G:
        return Verdict(None, f"gamma={rule.gamma:g} exceeds λ/G = {m.loss.strong_convexity / G:.4g} of this loss")
    bound = bounds.second_order_preference_perceptron(
        T=m.T,
        R=m.R,
        diameter=rule.space.diameter,
        dim=rule.dim,
        alpha=m.alpha,
        gamma=rule.gamma,
        epsilon=rule.epsilon,
        lipschitz=G,
        slack=m.slacks,
    )
    return Verdict(np.asarray(bound), "Theorem 8, mended", "average_loss_regret")


_THEOREMS: dict[type[Rule], Theorem[Any]] = {
    Additive: _additive,
    Batched: _batched,
    Exponentiated: _exponentiated,
    Gradient: _gradient,
    Newton: _newton,
}


def theorem(rule: type[R]) -> Callable[[Theorem[R]], Theorem[R]]:
    """Register a theorem of yours for a rule of yours: a function of the rule and of what was measured."""

    def enter(speak: Theorem[R]) -> Theorem[R]:
        _THEOREMS[rule] = speak
        return speak

    return enter


def bound_for(rule: Rule, m: Measured) -> Verdict:
    """The bound that a theorem gives for a learner with this rule, in the measured run.

    The rule's exact type counts: a subclass may step otherwise, and then no theorem speaks of it.
    """
    speak = _THEOREMS.get(type(rule))
    return Verdict(None, f"no theorem for the rule {type(rule).__name__}") if speak is None else speak(rule, m)


def _outside(m: Measured, ball: Ball) -> bool:
    return m.w_norm > ball.radius * (1.0 + 1e-9)


def _lowest(m: Measured) -> float:
    """The lowest θ at which the proofs take the slope of the loss: −(gain + ξ⁺)/α."""
    return float(-((m.gains + np.maximum(0.0, m.slacks)) / m.alpha).max())
