"""The theorems of learning from preferences as functions: bounds on the *average* regret of T rounds.

Each takes numbers that a run can be measured by. ``T`` may be a number or an array of round numbers, for a curve.
``slack`` is Σξ_t, or the sequence ξ_1, ξ_2, … itself (cut or accumulated to T). ``per_round=False`` gives the
cumulative regret. Where the printed theorem needs mending, *Differs* says how.

References
----------
.. [1] P. Shivaswamy, T. Joachims. Coactive Learning. JAIR 53, 2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.errors import InvalidArgument
from smidgen.geometry import Ball
from smidgen.optim import Additive, Batched, Exponentiated, Gradient, Newton
from smidgen.theory.base import Curve, Known, Linear, Measured, Premises, Theorem, average, rounds, size, state


def slack(*, alpha: float, shown: Any, better: Any, best: Any) -> Any:
    """ξ_t of eq. 6: how far feedback fell short of (or, if negative, went beyond) the share α of the possible gain.

    Parameters
    ----------
    alpha
        The share, in (0, 1].
    shown, better, best
        The utilities U(x, y), U(x, ȳ) and U(x, y*): numbers or arrays.

    Examples
    --------
    >>> from smidgen import bounds
    >>> bounds.slack(alpha=0.5, shown=0.0, better=0.25, best=1.0)
    0.25
    """
    return _alpha(alpha) * (best - shown) - (better - shown)


def preference_perceptron(
    *, T: Any, R: Any, w_norm: float, alpha: float, slack: Any = 0.0, lag: int = 0, per_round: bool | None = None
) -> Curve:
    """Theorem 1: Σξ/(αT) + 2R‖w*‖/(α√T).

    Parameters
    ----------
    T
        Rounds.
    R
        A bound on ‖φ(x, y)‖.
    w_norm
        ‖w*‖.
    alpha
        How informative the feedback is, in (0, 1].
    slack
        Σξ_t, or all ξ_t.
    lag
        How many updates the weights that decided were behind, at most: τ multiplies the second term by √(1 + 2τ),
        since each cross term w_t·Δ_t can then be as large as τ·(2R)² instead of ≤ 0.
    per_round
        True, or left out as in the theorem: the average regret. False: the cumulative one.

    Examples
    --------
    >>> from smidgen import bounds
    >>> bounds.preference_perceptron(T=100, R=1.0, w_norm=1.0, alpha=1.0)
    0.2
    """
    late = np.sqrt(1.0 + 2.0 * checks.whole("lag", lag, "omit it for none", at_least=0))
    t, a, R, w_norm = rounds(T), _alpha(alpha), size("R", R), size("w_norm", w_norm)
    return average(_mean(slack, T) / a + 2.0 * R * w_norm * late / (a * np.sqrt(t)), t, per_round)


def expected_preference_perceptron(
    *, T: Any, R: Any, w_norm: float, alpha: float, slack: Any = 0.0, per_round: bool | None = None
) -> Curve:
    """Corollary 2: Theorem 1 for the *expected* regret, with the expected slacks ξ̄_t of eq. 7.

    Parameters
    ----------
    T, R, w_norm, alpha, per_round
        As in `preference_perceptron`.
    slack
        Σξ̄_t, or all ξ̄_t.

    Examples
    --------
    >>> from smidgen import bounds
    >>> bounds.expected_preference_perceptron(T=100, R=1.0, w_norm=1.0, alpha=0.5)
    0.4
    """
    return preference_perceptron(T=T, R=R, w_norm=w_norm, alpha=alpha, slack=slack, per_round=per_round)


def lower_bound(*, T: Any, per_round: bool | None = None) -> Curve:
    """Lemma 3: against the adversary of its proof every learner has the average regret 2/√T (‖w*‖ = R = α = 1).

    Parameters
    ----------
    T, per_round
        As in `preference_perceptron`.

    Examples
    --------
    >>> from smidgen import bounds
    >>> bounds.lower_bound(T=100)
    0.2
    """
    t = rounds(T)
    return average(2.0 / np.sqrt(t), t, per_round)


def batch_preference_perceptron(
    *, T: Any, R: Any, w_norm: float, alpha: float, batch: int, slack: Any = 0.0, per_round: bool | None = None
) -> Curve:
    """Lemma 4: Σξ/(αT) + 2R‖w*‖√k/(α√T), k the batch size.

    Parameters
    ----------
    T, R, w_norm, alpha, slack, per_round
        As in `preference_perceptron`.
    batch
        k, the number of rounds between two updates.

    Examples
    --------
    >>> from smidgen import bounds
    >>> bounds.batch_preference_perceptron(T=100, R=1.0, w_norm=1.0, alpha=1.0, batch=4)
    0.4
    """
    k = checks.whole("batch", batch, "give the number of rounds between two updates")
    t, a, R, w_norm = rounds(T), _alpha(alpha), size("R", R), size("w_norm", w_norm)
    return average(_mean(slack, T) / a + 2.0 * R * w_norm * np.sqrt(k) / (a * np.sqrt(t)), t, per_round)


def exponentiated_preference_perceptron(
    *,
    T: Any,
    S: Any,
    n_features: int,
    alpha: float,
    slack: Any = 0.0,
    w_norm: float = 1.0,
    horizon: int | None = None,
    per_round: bool | None = None,
) -> Curve:
    """Theorem 5, corrected: Σξ/(αT) + 2S·(log N + 1)·‖w*‖₁/(α√T).

    Parameters
    ----------
    T
        Rounds, up to the horizon.
    S
        A bound on ‖φ(x, y)‖∞, the one that the learner was given.
    n_features
        N, the number of weights: twice the number of features if they are doubled (signed).
    alpha, slack, per_round
        As in `preference_perceptron`.
    w_norm
        ‖w*‖₁ (the paper has 1).
    horizon
        The horizon that the rate was set for, if it is not T: for t ≤ T rounds the two terms are 2S√T·log N and
        2S·t/√T, over αt.

    Notes
    -----
    **Differs** log(m) must read log N, N counting the doubled features; S/2 must read 2S, since ‖Δ‖∞ ≤ 2S, not S.
    The factor ‖w*‖₁ is ours: utilities scale with w*, and the theorem holds for w*/‖w*‖₁.

    Examples
    --------
    >>> from smidgen import bounds
    >>> round(bounds.exponentiated_preference_perceptron(T=400, S=1.0, n_features=20, alpha=1.0), 4)
    0.3996
    """
    t, a, N = rounds(T), _alpha(alpha), checks.whole("n_features", n_features, "give the number of weights")
    S, w_norm = size("S", S), size("w_norm", w_norm)
    root = np.sqrt(t if horizon is None else float(horizon))
    if horizon is not None and np.max(t) > horizon:
        raise InvalidArgument(f"T is {np.max(t):g}, beyond the horizon {horizon}", "bound at most horizon rounds")
    growth = 2.0 * S * w_norm * (root * np.log(N) + t / root)
    return average(_mean(slack, T) / a + growth / (a * t), t, per_round)


def convex_preference_perceptron(
    *,
    T: Any,
    R: Any,
    diameter: float,
    alpha: float,
    slack: Any = 0.0,
    lipschitz: float = 1.0,
    scale: float | None = None,
    per_round: bool | None = None,
) -> Curve:
    """Theorem 6, corrected: 2GΣξ⁺/(αT) + (G/α)·(|B|²/(2s√T) + |B|²/T + 4R²s/√T), for the average convex regret.

    Parameters
    ----------
    T, R, alpha, per_round
        As in `preference_perceptron`.
    diameter
        |B|, twice the radius of the ball that holds w and w*.
    slack
        Σξ⁺_t, or all ξ_t (they are clipped here: ξ⁺ = max(0, ξ)).
    lipschitz
        G, a bound on the slope of the loss. 1 for the linear loss, for which convex regret is regret.
    scale
        s, the factor in the step s/√t: G, as in `ConvexPreferencePerceptron(lipschitz=G)`, if left out; 1 for the
        step of the journal's Algorithm 5, which has no G.

    Notes
    -----
    **Differs** |B| must read |B|². The printed terms fit the step without G (scale=1).

    Examples
    --------
    >>> from smidgen import bounds
    >>> bounds.convex_preference_perceptron(T=100, R=1.0, diameter=2.0, alpha=1.0)
    0.64
    """
    t, a, R = rounds(T), _alpha(alpha), size("R", R)
    G = checks.number("lipschitz", lipschitz, "give the slope of the loss, > 0", above=0.0)
    s = G if scale is None else checks.number("scale", scale, "give the factor of the step, > 0", above=0.0)
    geometry = diameter**2 / (2.0 * s * np.sqrt(t)) + diameter**2 / t + 4.0 * R**2 * s / np.sqrt(t)
    return average(2.0 * G * _mean(slack, T, clipped=True) / a + G / a * geometry, t, per_round)


def second_order_preference_perceptron(
    *,
    T: Any,
    R: Any,
    diameter: float,
    dim: int,
    alpha: float,
    gamma: float,
    epsilon: float,
    lipschitz: float,
    slack: Any = 0.0,
    slack_squares: Any = None,
    per_round: bool | None = None,
) -> Curve:
    """Theorem 8, corrected, for the average convex regret of strongly convex losses.

    GγΣ(ξ⁺)²/(2α²T) + 2GΣξ⁺/(αT) + Gε|B|²/(αT) + GN·log(4R²Tγ/ε + 1)/(2γαT).

    Parameters
    ----------
    T, R, alpha, per_round
        As in `preference_perceptron`.
    diameter
        |B|, twice the radius of the ball that holds w and w*.
    dim
        N, the number of features.
    gamma, epsilon
        γ and ε of the learner; γ at most λ/G.
    lipschitz
        G, a bound on the slope of the loss.
    slack
        Σξ⁺_t, or all ξ_t (they are clipped here).
    slack_squares
        Σ(ξ⁺_t)², if ``slack`` is a sum; not needed with all ξ_t.

    Notes
    -----
    **Differs** |B| must read |B|². The first term needs the factor G that the proof gives it (eq. 28 times eq. 29).

    Examples
    --------
    >>> from smidgen import bounds
    >>> round(bounds.second_order_preference_perceptron(
    ...     T=1000, R=1.0, diameter=2.0, dim=10, alpha=1.0, gamma=0.25, epsilon=1.0, lipschitz=4.0), 3)
    0.569
    """
    t, alpha, R = rounds(T), _alpha(alpha), size("R", R)
    G = checks.number("lipschitz", lipschitz, "give the slope of the loss, > 0", above=0.0)
    gamma = checks.number("gamma", gamma, "give the learner's gamma, > 0", above=0.0)
    epsilon = checks.number("epsilon", epsilon, "give the learner's epsilon, > 0", above=0.0)
    if slack_squares is None:
        if np.ndim(slack) == 0 and slack != 0.0:
            raise InvalidArgument("slack is a sum and slack_squares was not given", "give both, or all ξ_t as slack")
        slack_squares = np.maximum(0.0, slack) ** 2
    noise = G * gamma * _mean(slack_squares, T) / (2.0 * alpha**2)
    noise = noise + 2.0 * G * _mean(slack, T, clipped=True) / alpha
    start = G * epsilon * diameter**2 / (alpha * t)
    growth = G * dim * np.log(4.0 * R**2 * t * gamma / epsilon + 1.0) / (2.0 * gamma * alpha * t)
    return average(noise + start + growth, t, per_round)


def _alpha(alpha: float) -> float:
    return checks.number("alpha", alpha, "give a share of the possible gain in (0, 1]", above=0.0, at_most=1.0)


def _mean(slack: Any, T: Any, *, clipped: bool = False) -> Any:
    """Σ slack / T: of a given sum, or of the first T terms of a sequence."""
    t = rounds(T)
    if np.ndim(slack) == 0:
        return (max(0.0, float(slack)) if clipped else float(slack)) / t
    terms = np.maximum(0.0, slack) if clipped else np.asarray(slack, dtype=np.float64)
    if np.max(t) > len(terms):
        raise InvalidArgument(f"slack has {len(terms)} rounds and T is {np.max(t):g}", "give one slack per round")
    sums = np.cumsum(terms)[np.asarray(t, dtype=np.int64) - 1]
    return sums / t


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
        bound=preference_perceptron,
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
        bound=batch_preference_perceptron,
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
        bound=exponentiated_preference_perceptron,
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
        bound=convex_preference_perceptron,
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
        bound=second_order_preference_perceptron,
        rule=Newton,
        run=_newton,
        terms=_second_order,
        on="average_loss_regret",
    )
)


def _beyond_the_ball(m: Measured, ball: Ball, peak: float) -> str | None:
    """Reason why the learner's ball is too small for this w*, or for a loss that falls up to this peak."""
    if m.w_norm > ball.radius * (1.0 + 1e-9):
        return f"‖w*‖ = {m.w_norm:.4g} lies outside the ball of radius {ball.radius:g}"
    if m.alpha * peak < 2.0 * m.R[-1] * ball.radius:
        return f"the loss rises beyond {peak:.4g}, which w·Δ/α can exceed in this ball"
    return None


def _lowest(m: Measured) -> float:
    """The lowest θ at which the proofs take the slope of the loss: −(gain + ξ⁺)/α."""
    return float(-((m.gains + np.maximum(0.0, m.slacks)) / m.alpha).max())
