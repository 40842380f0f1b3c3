"""When the theorems of learning from preferences speak: of a measured run, and of a served model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from smidgen.geometry import Ball
from smidgen.optim import Additive, Batched, Exponentiated, Gradient, Newton
from smidgen.theory import preferences as bounds
from smidgen.theory.losses import Linear
from smidgen.theory.statement import Known, Measured, Premises, Theorem, state

Settings = Mapping[str, Any]
#: Users keep w* and α to themselves: bounds on models are multiples of them.
OURS = {"R": 1.0, "w_norm": 1.0, "alpha": 1.0}


def _additive(rule: Additive, m: Measured) -> Known:
    return {"T": m.T, "R": m.R, "w_norm": m.w_norm, "alpha": m.alpha, "slack": m.slacks}


def _perceptron(settings: Settings, T: int) -> Premises:
    return Premises(
        OURS,
        "Users with a linear taste w*, feedback that is α-informative without slack, and features no longer than R:"
        " only your users know w* and α, so the bound is in their units.",
    )


state(
    Theorem(
        name="preferences",
        title="Theorem 1",
        formula="2R‖w*‖/(α√T) + slack (Thm 1)",
        bound=bounds.preference_perceptron,
        unit="R‖w*‖/α",
        rule=Additive,
        run=_additive,
        terms=_perceptron,
    )
)


def _batched(rule: Batched, m: Measured) -> Known | str:
    if type(rule.rule) is not Additive:
        return f"no theorem for batches of {type(rule.rule).__name__}"
    return {**_additive(rule.rule, m), "batch": rule.size}


def _batch(settings: Settings, T: int) -> Premises:
    return Premises({**OURS, "batch": settings["batch"]}, "As Theorem 1: α-informative feedback without slack.")


state(
    Theorem(
        name="batched preferences",
        title="Lemma 4",
        formula="2R‖w*‖√k/(α√T) + slack (Lemma 4)",
        bound=bounds.batch_preference_perceptron,
        unit="R‖w*‖/α",
        rule=Batched,
        run=_batched,
        terms=_batch,
    )
)


def _no_fixed_rate(horizon: int | None, T: int) -> str | None:
    if horizon is None:
        return "Theorem 5 needs a fixed rate: give the learner a horizon"
    return f"Theorem 5 ends at the horizon {horizon}; there are {T} rounds" if horizon < T else None


def _multiplicative(rule: Exponentiated, m: Measured) -> Known | str:
    if why_not := _no_fixed_rate(rule.horizon, len(m.T)):
        return why_not
    if m.S[-1] > rule.bound:
        return f"a feature of {m.S[-1]:.4g} exceeds the learner's bound S={rule.bound:g}"
    if not rule.signed and (m.w_star < 0).any():
        return "Theorem 5 needs w* >= 0, or signed features"
    return {
        "T": m.T,
        "S": rule.bound,
        "n_features": rule.dim * (2 if rule.signed else 1),
        "alpha": m.alpha,
        "slack": m.slacks,
        "w_norm": float(np.abs(m.w_star).sum()),
        "horizon": rule.horizon,
    }


def _exponentiated(settings: Settings, T: int) -> Premises | str:
    horizon = settings.get("horizon")
    if why_not := _no_fixed_rate(horizon, T):
        return why_not
    S, signed = settings["bound"], settings["signed"]
    known = {"S": S, "n_features": settings["dim"] * (2 if signed else 1), "horizon": horizon}
    positive = "" if signed else ", and w* ≥ 0"
    assumes = f"α-informative feedback without slack, and features within S = {S:g}{positive}."
    return Premises({**known, "w_norm": 1.0, "alpha": 1.0}, assumes)


state(
    Theorem(
        name="exponentiated preferences",
        title="Theorem 5, mended",
        formula="2S(1 + log 2N)·‖w*‖₁/(α√T) + slack (Thm 5)",
        bound=bounds.exponentiated_preference_perceptron,
        unit="‖w*‖₁/α",
        rule=Exponentiated,
        run=_multiplicative,
        terms=_exponentiated,
    )
)


def _gradient(rule: Gradient[Any], m: Measured) -> Known | str:
    if not isinstance(rule.space, Ball):
        return f"Theorem 6 is for a ball around the origin, not for {rule.space!r}"
    loss = m.loss or Linear()
    if why_not := _beyond_the_ball(m, rule.space, loss.peak):
        return why_not
    return {
        "T": m.T,
        "R": m.R,
        "diameter": rule.space.diameter,
        "alpha": m.alpha,
        "slack": m.slacks,
        "lipschitz": loss.slope(_lowest(m)),
        "scale": rule.scale,
    }


def _convex(settings: Settings, T: int) -> str:
    return "Theorem 6 adds up terms in α and R (how long features get), which no log tells for sure"


state(
    Theorem(
        name="convex preferences",
        title="Theorem 6, mended",
        formula="(|B|²/2 + 4R²G²)/(α√T) + slack (Thm 6)",
        bound=bounds.convex_preference_perceptron,
        rule=Gradient,
        run=_gradient,
        terms=_convex,
        on="average_loss_regret",
    )
)


def _newton(rule: Newton[Any], m: Measured) -> Known | str:
    if not isinstance(rule.space, Ball):
        return f"Theorem 8 is for a ball around the origin, not for {rule.space!r}"
    if m.loss is None or m.loss.strong_convexity == 0.0:
        return "Theorem 8 needs a strongly convex loss, e.g. simulate(…, loss=losses.Quadratic(peak=M))"
    if why_not := _beyond_the_ball(m, rule.space, m.loss.peak):
        return why_not
    G = m.loss.slope(_lowest(m))
    if rule.gamma > m.loss.strong_convexity / G:
        return f"gamma={rule.gamma:g} exceeds λ/G = {m.loss.strong_convexity / G:.4g} of this loss"
    return {
        "T": m.T,
        "R": m.R,
        "diameter": rule.space.diameter,
        "dim": rule.dim,
        "alpha": m.alpha,
        "gamma": rule.gamma,
        "epsilon": rule.epsilon,
        "lipschitz": G,
        "slack": m.slacks,
    }


def _second_order(settings: Settings, T: int) -> str:
    return "Theorem 8 is for strongly convex losses of the utility that users miss, and no log tells that loss"


state(
    Theorem(
        name="strongly convex preferences",
        title="Theorem 8, mended",
        formula="O(N log T/(αT)) + slack, strongly convex losses (Thm 8)",
        bound=bounds.second_order_preference_perceptron,
        rule=Newton,
        run=_newton,
        terms=_second_order,
        on="average_loss_regret",
    )
)


def _beyond_the_ball(m: Measured, ball: Ball, peak: float) -> str | None:
    """Why the ball of the learner does not do for this w*, or for a loss that falls up to this peak."""
    if m.w_norm > ball.radius * (1.0 + 1e-9):
        return f"‖w*‖ = {m.w_norm:.4g} lies outside the ball of radius {ball.radius:g}"
    if m.alpha * peak < 2.0 * m.R[-1] * ball.radius:
        return f"the loss rises beyond {peak:.4g}, which w·Δ/α can exceed in this ball"
    return None


def _lowest(m: Measured) -> float:
    """The lowest θ at which the proofs take the slope of the loss: −(gain + ξ⁺)/α."""
    return float(-((m.gains + np.maximum(0.0, m.slacks)) / m.alpha).max())
