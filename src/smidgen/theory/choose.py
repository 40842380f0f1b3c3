"""The theorems of choosing by reward as functions: bounds on the *cumulative* regret of T rounds.

Regret is against the best candidate of each round. ``per_round=True`` gives the average.

References
----------
.. [1] Y. Abbasi-Yadkori, D. Pál, C. Szepesvári. Improved algorithms for linear stochastic bandits. NIPS 24, 2011.
.. [2] D. J. Foster, A. Rakhlin. Beyond UCB: optimal and efficient contextual bandits with regression oracles.
   ICML 2020.
.. [3] D. Russo, B. Van Roy. Learning to optimize via posterior sampling. Mathematics of Operations Research 39, 2014.
.. [4] K. S. Azoury, M. K. Warmuth. Relative loss bounds for on-line density estimation with the exponential family of
   distributions. Machine Learning 43, 2001.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.errors import InvalidArgument
from smidgen.theory.base import Curve, Theorem, plain, rounds, size, state, total


def linucb_width(
    *,
    T: Any,
    dim: int,
    ridge: float = 1.0,
    w_norm: float = 1.0,
    row_norm: float = 1.0,
    delta: float,
    noise: float = 0.5,
) -> Curve:
    """β: the ``width`` with which all intervals w·x ± β√(xᵀA⁻¹x) hold at once up to round T, with probability 1 − δ.

    β = R·√(d·ln(1 + T·L²/(a·d)) + 2·ln(1/δ)) + √a·S ([1], Theorem 2).

    Parameters
    ----------
    T
        Rounds, a number or an array.
    dim
        d, the number of features.
    ridge
        a of the learner.
    w_norm
        S, a bound on ‖w*‖.
    row_norm
        L, a bound on the length of a candidate's features.
    delta
        δ, the probability with which it may fail.
    noise
        R: rewards around their mean are R-sub-Gaussian. ½ for any rewards in [0, 1].

    Examples
    --------
    >>> from smidgen import bounds
    >>> round(bounds.linucb_width(T=1000, dim=5, delta=0.05), 2)
    3.86
    """
    t, d, a = rounds(T), checks.dimension(dim), _positive("ridge", ridge)
    S, L, R = size("w_norm", w_norm), size("row_norm", row_norm), size("noise", noise)
    confidence = 2.0 * np.log(1.0 / _delta(delta))
    return plain(R * np.sqrt(_growth(t, d, a, L) + confidence) + np.sqrt(a) * S)


def linucb(
    *,
    T: Any,
    dim: int,
    ridge: float = 1.0,
    w_norm: float = 1.0,
    row_norm: float = 1.0,
    delta: float = 0.05,
    noise: float = 0.5,
    width: float | None = None,
    floor: float = 0.0,
    lag: int = 0,
    per_round: bool | None = None,
) -> Curve:
    """Cumulative regret ≤ (β + κ)·√(1 + τL²/a)·√(2T·d·ln(1 + T·L²/(a·d))) + floor·T, with probability 1 − δ.

    Parameters
    ----------
    T, dim, ridge, w_norm, row_norm, delta, noise
        As in `linucb_width`, which gives β.
    width
        κ of the learner. Left out: β at the largest T. The theorem speaks of no smaller one.
    floor
        The learner's floor: such a share of the rounds is chosen at random, at a cost of at most 1 each (on average).
    lag
        τ: how many rewards were still missing when a decision was made, at most.
    per_round
        True: the average regret. False, or left out as in the theorem: the cumulative one.

    Notes
    -----
    [1], Theorem 3, whose proof adds 2β‖x‖ in the norm of A⁻¹ over the rounds; for κ ≥ β it is β + κ. The gap of a
    round is at most 1, and β ≥ 1 is taken. **Assumes** E[r] = w*·x, full covariance, no forgetting. **Differs** the
    lag is ours: with τ examples missing, A + τL²·I ≥ V, the matrix of all of them, and A ≥ aI, so that
    A⁻¹ ≤ (1 + τL²/a)·V⁻¹.

    Examples
    --------
    >>> from smidgen import bounds
    >>> round(bounds.linucb(T=100_000, dim=5, per_round=True), 3)
    0.297
    """
    t, d, a, L = rounds(T), checks.dimension(dim), _positive("ridge", ridge), size("row_norm", row_norm)
    beta = linucb_width(T=T, dim=dim, ridge=ridge, w_norm=w_norm, row_norm=row_norm, delta=delta, noise=noise)
    beta = np.maximum(1.0, beta)
    kappa = float(np.max(beta)) if width is None else size("width", width)
    if kappa < np.max(beta):
        raise InvalidArgument(
            f"width is {kappa:g} and the theorem needs {np.max(beta):g} or more",
            "give the learner a larger one (bounds.linucb_width), or bound fewer rounds",
        )
    tau = checks.whole("lag", lag, "omit it for none", at_least=0)
    explored = checks.number("floor", floor, "give the learner's floor, in [0, 1]", at_least=0.0, at_most=1.0)
    sums = (beta + kappa) * np.sqrt(1.0 + tau * L**2 / a) * np.sqrt(2.0 * t * _growth(t, d, a, L))
    return total(sums + explored * t, t, per_round)


def ridge_regret(
    *,
    T: Any,
    dim: int,
    ridge: float = 1.0,
    w_norm: float = 1.0,
    row_norm: float = 1.0,
    residual: float = 1.0,
    per_round: bool | None = None,
) -> Curve:
    """Bound on the extra squared error of online ridge regression over the best w: a‖w*‖² + Y²·d·ln(1 + TL²/(ad)).

    Parameters
    ----------
    T, dim, ridge, w_norm, row_norm
        As in `linucb_width`.
    residual
        Y, the largest |r − w·x| of the run.
    per_round
        As in `linucb`, for the squared error.

    Notes
    -----
    Ridge regression obeys Σ(r − w_t·x)²·(1 − xᵀA_t⁻¹x) = min_w a‖w‖² + Σ(r − w·x)² ([4]), and Σ xᵀA_t⁻¹x is at most
    ln|A_T|/|A_0|.

    Examples
    --------
    >>> from smidgen import bounds
    >>> round(bounds.ridge_regret(T=1000, dim=5), 2)
    27.52
    """
    t, d, a = rounds(T), checks.dimension(dim), _positive("ridge", ridge)
    S, L, Y = size("w_norm", w_norm), size("row_norm", row_norm), size("residual", residual)
    return total(a * S**2 + Y**2 * _growth(t, d, a, L), t, per_round)


def squarecb(
    *, T: Any, n_actions: int, regression: Any, gamma: float = 10.0, floor: float = 0.0, per_round: bool | None = None
) -> Curve:
    """Expected cumulative regret ≤ 1 + 4K√T/c + c√T·Reg/4 + floor·T, for γ_t = c√t.

    Parameters
    ----------
    T
        Rounds, a number or an array.
    n_actions
        K, the number of candidates.
    regression
        Reg: the regret of the regression's squared error after T rounds (`ridge_regret`), a number, or one for each T.
    gamma
        c of the learner.
    floor
        The learner's floor.
    per_round
        True: the average regret. False, or left out as in the theorem: the cumulative one.

    Notes
    -----
    [2], Lemma 3: whatever the truth, the regret of a round is at most 2K/γ + γ/4 times the squared error of the
    estimate, in expectation. Summed over γ_t = c√t; the first round, of which nothing is known, costs at most 1.
    **Assumes** E[r] = w*·x, feedback at once. **Differs** the theorem has one γ = √(KT/Reg), and 2√(KT·Reg) for it; for
    this schedule Reg is multiplied by √T, and so the bound is of use for small Reg only.

    Examples
    --------
    >>> from smidgen import bounds
    >>> round(bounds.squarecb(T=10_000, n_actions=5, regression=1.0), 1)
    451.0
    """
    t, K = rounds(T), checks.whole("n_actions", n_actions, "give the number of candidates")
    c, regret = _positive("gamma", gamma), size("regression", regression)
    explored = checks.number("floor", floor, "give the learner's floor, in [0, 1]", at_least=0.0, at_most=1.0)
    return total(1.0 + 4.0 * K * np.sqrt(t) / c + c * np.sqrt(t) * regret / 4.0 + explored * t, t, per_round)


def thompson(
    *,
    T: Any,
    dim: int,
    ridge: float = 1.0,
    w_norm: float = 1.0,
    row_norm: float = 1.0,
    delta: float = 0.05,
    noise: float = 0.5,
    floor: float = 0.0,
    per_round: bool | None = None,
) -> Curve:
    """Expected cumulative regret ≤ 2β·√(2T·d·ln(1 + T·L²/(a·d))) + δ·T + floor·T, if w* was drawn from the prior.

    Parameters
    ----------
    T, dim, ridge, w_norm, row_norm, delta, noise
        As in `linucb_width`, which gives β.
    floor, per_round
        As in `linucb`.

    Notes
    -----
    [3], Proposition 1 and Section 6.2: given the past, the candidate drawn and the best one have the same law, so that
    sampling has no more regret than the widths of any intervals add up to, and no more than 1 in the rounds where one
    fails. **Assumes** E[r] = w*·x; w* and the noise such that the posterior is the learner's, N(w, v²A⁻¹); ‖w*‖ ≤ S.

    Examples
    --------
    >>> from smidgen import bounds
    >>> round(bounds.thompson(T=100_000, dim=5, delta=0.001, per_round=True), 3)
    0.314
    """
    t, d, a, L = rounds(T), checks.dimension(dim), _positive("ridge", ridge), size("row_norm", row_norm)
    beta = linucb_width(T=T, dim=dim, ridge=ridge, w_norm=w_norm, row_norm=row_norm, delta=delta, noise=noise)
    explored = checks.number("floor", floor, "give the learner's floor, in [0, 1]", at_least=0.0, at_most=1.0)
    sums = 2.0 * np.maximum(1.0, beta) * np.sqrt(2.0 * t * _growth(t, d, a, L))
    return total(sums + (delta + explored) * t, t, per_round)


def _hidden(settings: Mapping[str, Any], T: int) -> str:
    return "The bound needs ‖w*‖ and how long the features of candidates get, which no log tells for sure"


state(
    Theorem(
        name="optimism",
        title="Abbasi-Yadkori, Pál & Szepesvári 2011",
        formula="O(d·log T/√T), width by the theorem",
        bound=linucb,
        terms=_hidden,
    )
)
state(
    Theorem(
        name="inverse gaps",
        title="Foster & Rakhlin 2020",
        formula="O(√(K·log T/T)) times √d, expected",
        bound=squarecb,
        terms=_hidden,
    )
)
state(
    Theorem(
        name="posterior sampling",
        title="Russo & Van Roy 2014",
        formula="O(d·log T/√T), expected under the prior",
        bound=thompson,
        terms=_hidden,
    )
)


def _growth(t: Any, d: int, a: float, L: float) -> Any:
    """The most that ln(|A_T|/|A_0|) can be: d·ln(1 + T·L²/(a·d))."""
    return d * np.log1p(t * L**2 / (a * d))


def _positive(name: str, value: float) -> float:
    return checks.number(name, value, "give the learner's, > 0", above=0.0)


def _delta(delta: float) -> float:
    return checks.number("delta", delta, "give a probability in (0, 1]", above=0.0, at_most=1.0)
