"""The theorems of one-bit feedback as functions of measured quantities.

The paper states them up to constants; these are the constants that its proofs give.

References
----------
.. [1] K. Crammer, C. Gentile. Multiclass classification with bandit feedback using adaptive regularization.
   Machine Learning 90, 2013. Sections 4 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.theory.base import Curve, Premises, Theorem, plain, rounds, state, total


def determinant_bound(*, T: Any, dim: int, n_classes: int, alpha: float) -> Curve:
    """The largest B₃ = Σ_i log(|A_i,T|/|A_i,0|) that T rounds of unit vectors can lead to: dK·log(1 + T/(dK(1+α)²)).

    Examples
    --------
    >>> from smidgen import bounds
    >>> round(bounds.determinant_bound(T=1000, dim=5, n_classes=3, alpha=1.0), 2)
    43.08
    """
    dK = checks.dimension(dim) * checks.whole("n_classes", n_classes, "give the number of classes")
    return plain(dK * np.log1p(rounds(T) / (dK * (1.0 + _alpha(alpha)) ** 2)))


def confidit(
    *,
    T: Any,
    alpha: float,
    norm_bound: float,
    delta: float,
    log_determinant: Any,
    approximation: Any = 0.0,
    per_round: bool | None = None,
) -> Curve:
    """Theorems 1 and 2: cumulative regret ≤ 2Q + 2√(B₁·T·(B₂ + B₃ + 2Q)·B₃), with probability 1 − δ, for all T at once.

    Parameters
    ----------
    T
        Rounds, a number or an array.
    alpha
        α of the label model, in [0, 1].
    norm_bound
        ‖U‖, or a bound on it.
    delta
        δ.
    log_determinant
        B₃: `Confidit.log_determinant` of the run, or `determinant_bound`.
    approximation
        Q_T = Σ q_t, the cumulative approximation error (Theorem 2; 0 for Theorem 1).
    per_round
        True: the average regret. False, or left out as in the theorem: the cumulative one.

    Notes
    -----
    B₁ = 1 + (1 + α)⁻², B₂ = ‖U‖² + 18·log((T + 4)/δ). The proof's eq. 16 to 18 give the constant 2 where the theorem
    has O(·); the two terms √(B₂B₃) + B₃ of the statement are the sum under the root, taken apart.

    Examples
    --------
    >>> from smidgen import bounds
    >>> B3 = bounds.determinant_bound(T=10_000, dim=5, n_classes=3, alpha=1.0)
    >>> round(bounds.confidit(T=10_000, alpha=1.0, norm_bound=1.0, delta=0.05, log_determinant=B3))
    33809
    """
    t, a, Q = rounds(T), _alpha(alpha), approximation
    B1 = 1.0 + (1.0 + a) ** -2
    inner = _noise(t, norm_bound, delta) + log_determinant + 2.0 * Q
    return total(2.0 * Q + 2.0 * np.sqrt(B1 * t * inner * log_determinant), t, per_round)


def confidit_margin(
    *,
    T: Any,
    alpha: float,
    norm_bound: float,
    delta: float,
    log_determinant: Any,
    margin: float,
    per_round: bool | None = None,
) -> Curve:
    """Corollary 1: with a margin ε between the best class and all others, regret ≤ (4/ε)·B₁·(B₂ + B₃)·B₃.

    Parameters
    ----------
    T, alpha, norm_bound, delta, log_determinant, per_round
        As in `confidit`; here B₁ = 1 + α + 1/(1 + α).
    margin
        ε > 0, with u_b·x − u_i·x > ε for the best class b and every other i.

    Examples
    --------
    >>> from smidgen import bounds
    >>> round(bounds.confidit_margin(
    ...     T=10**6, alpha=1.0, norm_bound=1.0, delta=0.05, log_determinant=50.0, margin=0.5))
    353602
    """
    t, a = rounds(T), _alpha(alpha)
    B1 = 1.0 + a + 1.0 / (1.0 + a)
    gap = checks.number("margin", margin, "give the margin ε > 0", above=0.0)
    noise = _noise(t, norm_bound, delta)
    return total(4.0 / gap * B1 * (noise + log_determinant) * log_determinant, t, per_round)


#: The settings that Theorem 1 is proved for.
_PROVED = {"eta": "theory", "covariance": "full", "project": True, "normalize": True}


def _one_bit(settings: Mapping[str, Any], T: int) -> Premises | str:
    if any(settings[name] != value for name, value in _PROVED.items()):
        return 'Theorem 1 is for eta="theory", covariance="full", project=true, normalize=true'
    if settings.get("approximation") is not None:
        return "Theorem 2 needs the sum of the approximation errors, which no log tells"
    alpha, U, delta = settings["alpha"], settings["norm_bound"], settings["delta"]
    if not 0.0 <= alpha <= 1.0:
        return f"Theorem 1 holds for 0 ≤ alpha ≤ 1, not for {alpha:g}"
    B3 = determinant_bound(T=T, dim=settings["dim"], n_classes=settings["n_classes"], alpha=alpha)
    return Premises(
        {"alpha": alpha, "norm_bound": U, "delta": delta, "log_determinant": B3},
        f"Labels drawn by the paper's linear model with ‖U‖ ≤ {U:g}; the share of extra mistakes.",
        f"Theorem 1, with probability {1 - delta:g}",
    )


state(
    Theorem(
        name="one bit",
        title="Theorem 1",
        formula="O(√(log²T/T)), labels by eq. 2 (Thm 1)",
        bound=confidit,
        terms=_one_bit,
    )
)


def _noise(t: Any, norm_bound: float, delta: float) -> Any:
    """B₂."""
    checks.number("delta", delta, "give a probability in (0, 1]", above=0.0, at_most=1.0)
    return checks.number("norm_bound", norm_bound, "give ‖U‖ >= 0", at_least=0.0) ** 2 + 18.0 * np.log(
        (t + 4.0) / delta
    )


def _alpha(alpha: float) -> float:
    return checks.number("alpha", alpha, "the theorems hold for 0 <= alpha <= 1", at_least=0.0, at_most=1.0)
