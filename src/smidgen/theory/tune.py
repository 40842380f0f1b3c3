"""The theorems of the tune loop as functions: bounds on the *cumulative* regret of T rounds.

References
----------
.. [1] M. Zinkevich. Online convex programming and generalized infinitesimal gradient ascent. ICML 2003.
.. [2] E. Hazan, A. Agarwal, S. Kale. Logarithmic regret algorithms for online convex optimization. ML 69, 2007.
.. [3] A. Flaxman, A. Kalai, B. McMahan. Online convex optimization in the bandit setting. SODA 2005.
.. [4] B. Liu, J. Li, Y. Song, X. Liang, L. Jian, H. Liu. Online Newton step algorithm with estimated gradient.
   arXiv:1811.09955, 2018.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.theory import one_point
from smidgen.theory.base import Curve, Premises, Theorem, rounds, state, total


def ogd(*, T: Any, D: float, G: float, per_round: bool | None = None) -> Curve:
    """Zinkevich's bound for `OGD`: 3GD√T/2.

    Parameters
    ----------
    T
        Rounds, a number or an array.
    D
        The diameter of the space.
    G
        A bound on the norm of gradients, the one that the learner was given.
    per_round
        True: the average regret. False, or left out as in the theorem: the cumulative one.

    Examples
    --------
    >>> from smidgen import bounds
    >>> bounds.ogd(T=10_000, D=2.0, G=1.0)
    300.0
    """
    t = rounds(T)
    return total(1.5 * _positive("G", G) * _positive("D", D) * np.sqrt(t), t, per_round)


def ons(*, T: Any, dim: int, D: float, G: float, exp_concavity: float, per_round: bool | None = None) -> Curve:
    """The bound of Hazan, Agarwal and Kale for `ONS`: 5(1/α + GD)·N·log T.

    Parameters
    ----------
    T
        Rounds, a number or an array. The proof's last step, 4(N·log T + 1) ≤ 5N·log T, needs N·log T ≥ 4.
    dim
        N, the number of coordinates; on a simplex one less.
    D, G, per_round
        As in `ogd`.
    exp_concavity
        α: exp(−α·f) is concave for every loss f.

    Examples
    --------
    >>> from smidgen import bounds
    >>> round(bounds.ons(T=10_000, dim=3, D=2.0, G=1.0, exp_concavity=0.5), 1)
    552.6
    """
    t, alpha = rounds(T), _positive("exp_concavity", exp_concavity)
    growth = 5.0 * (1.0 / alpha + _positive("G", G) * _positive("D", D)) * checks.dimension(dim)
    return total(growth * np.log(t), t, per_round)


def ogdeg(
    *,
    T: Any,
    dim: int,
    F: float,
    R: float,
    r: float,
    lipschitz: float | None = None,
    mended: bool = False,
    per_round: bool | None = None,
) -> Curve:
    """Theorems 1 and 2 of Flaxman, Kalai and McMahan, for the *expected* regret.

    3F·T^{5/6}(NR/r)^{1/3}; with a Lipschitz constant 2T^{3/4}√(3RNF(L + F/r)).

    Parameters
    ----------
    T
        Rounds, a number or an array. Each number is a horizon: δ and γ depend on it.
    dim
        N, the number of free coordinates (`Space.free_dim`).
    F
        A bound on |loss|.
    R, r
        The outer and the inner radius of the space.
    lipschitz
        L, if known.
    mended
        False for the theorems as printed, True for what their proof gives `OGDEG`.
    per_round
        As in `ogd`.

    Notes
    -----
    **Differs** (``mended=True``) the proof of Theorem 1 adds up a/δ + bδ/γ + cγ with a = RNF√T, b = 6FT/r, c = 2FT. At
    its δ and γ that is 3(abc)^{1/3}, and the 12 of 6·2 is missing in the printed bound. In addition, the paper's step
    is R/(F√T). The step of `OGDEG`, D/(F√t), needs no horizon, and Zinkevich's 3GD√T/2 takes the place of RG√T: a is
    three times as large. Together: 5·12^{1/3} instead of 3, and with a Lipschitz constant 4 instead of 2.

    Examples
    --------
    >>> from smidgen import bounds
    >>> round(bounds.ogdeg(T=10**6, dim=3, F=1.0, R=1.0, r=1.0))
    432675
    >>> round(bounds.ogdeg(T=10**6, dim=3, F=1.0, R=1.0, r=1.0, lipschitz=1.0))
    268328
    """
    t, N, F = rounds(T), checks.dimension(dim), _positive("F", F)
    R, r = _positive("R", R), _positive("r", r)
    if lipschitz is None:
        constant = 5.0 * 12.0 ** (1 / 3) if mended else 3.0
        return total(constant * F * t ** (5 / 6) * (N * R / r) ** (1 / 3), t, per_round)
    L = checks.number("lipschitz", lipschitz, "omit it if unknown", at_least=0.0)
    constant = 4.0 if mended else 2.0
    return total(constant * t**0.75 * np.sqrt(3.0 * R * N * F * (L + F / r)), t, per_round)


def onseg(
    *,
    T: Any,
    dim: int,
    F: float,
    D: float,
    r: float,
    delta: float | None = None,
    sigma: float = 1.0,
    lipschitz: float | None = None,
    per_round: bool | None = None,
) -> Curve:
    """Theorems 1 and 2 of the ONSEG paper as printed, for the *expected* regret; the stated rates do not follow.

    6F·T^{2/3}(15N²D·log T/r)^{1/3} + 5N·log T/α; with a Lipschitz constant 2N√T·√(30FD(Lr + F)·log T/r) + 5N·log T/α.
    In both α = σδ²/(N²F²).

    Parameters
    ----------
    T
        Rounds, a number or an array. Each number is a horizon: δ depends on it.
    dim
        N, the number of free coordinates (`Space.free_dim`).
    F
        A bound on |loss|.
    D, r
        The diameter and the inner radius of the space.
    delta
        δ in α; that of the theorem if left out.
    sigma
        σ of the paper's σ-nice losses.
    lipschitz
        L, if known: Theorem 2.
    per_round
        As in `ogd`.

    Notes
    -----
    **Differs** nothing is corrected here, since no constant can do it. The abstract's O(T^{2/3}) and O(√T) leave out
    the last term. In Theorem 1 δ² ∝ (log T/T)^{4/3}, so the term grows like T^{4/3}, faster than T. In Theorem 2 δ² ∝
    log T/T, and the term is 3NF(L + F/r)/(2σD) times T. In addition, eq. 4 of the proof has ‖E[g]‖² where E‖g‖²
    belongs, and that is larger by about (NF/(δL))².

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import bounds
    >>> T = 10 ** np.array([4, 6, 8])
    >>> bool((np.diff(bounds.onseg(T=T, dim=3, F=1.0, D=2.0, r=1.0, per_round=True)) > 0).all())
    True
    """
    t, N, F = rounds(T), checks.dimension(dim), _positive("F", F)
    D, r, sigma = _positive("D", D), _positive("r", r), _positive("sigma", sigma)
    log = np.log(np.maximum(t, 2.0))
    L = None if lipschitz is None else checks.number("lipschitz", lipschitz, "omit it if unknown", at_least=0.0)
    if L is None:
        first = 6.0 * F * t ** (2 / 3) * (15.0 * N**2 * D * log / r) ** (1 / 3)
    else:
        first = 2.0 * N * np.sqrt(30.0 * F * D * (L * r + F) * log * t / r)
    printed = one_point.onseg_reach(t, log, d=N, F=F, D=D, r=r, lipschitz=L)
    alpha = sigma * (printed if delta is None else _positive("delta", delta)) ** 2 / (N * F) ** 2
    return total(first + 5.0 * N * log / alpha, t, per_round)


def _gradient(settings: Mapping[str, Any], T: int) -> Premises:
    D, G = settings["space"].diameter, settings["gradient_bound"]
    return Premises({"D": D, "G": G}, f"Convex losses whose gradients are at most G = {G:g} long.")


def _newton(settings: Mapping[str, Any], T: int) -> Premises | str:
    if settings.get("beta") is not None:
        return "The bound is for the theory's own beta; this model was given another"
    space, G, alpha = settings["space"], settings["gradient_bound"], settings["exp_concavity"]
    if space.free_dim * math.log(T) < 4.0:
        return "The bound begins after a few rounds"
    known = {"dim": space.free_dim, "D": space.diameter, "G": G, "exp_concavity": alpha}
    return Premises(known, f"Losses that are {alpha:g}-exp-concave, gradients within {G:g}.")


def _value(settings: Mapping[str, Any], T: int) -> Premises | str:
    if settings.get("delta") is not None or settings.get("gamma") is not None:
        return "The theorem is for its own delta and gamma; this model was given others"
    if (horizon := settings.get("horizon")) is None:
        return "The theorem is for a known horizon; this model doubles its phases instead"
    space, F, L = settings["space"], settings["loss_bound"], settings.get("lipschitz")
    known = {"dim": space.free_dim, "F": F, "R": space.outer_radius, "r": space.inner_radius, "lipschitz": L}
    slopes = "" if L is None else f" and slopes within {L:g}"
    return Premises(
        {**known, "mended": True, "T": horizon},
        f"Convex losses within ±{F:g}{slopes}; the bound is on the expected regret.",
        f"Flaxman, Kalai & McMahan 2005, mended; at the horizon, {horizon:,} rounds",
    )


def _newton_value(settings: Mapping[str, Any], T: int) -> str:
    return "The printed bound grows faster than the rounds: it promises nothing (see docs)"


state(Theorem(name="gradient descent", title="Zinkevich 2003", formula="3GD/(2√T)", bound=ogd, terms=_gradient))
state(
    Theorem(
        name="Newton steps",
        title="Hazan, Agarwal & Kale 2007",
        formula="5(1/α + GD)·N·log T/T",
        bound=ons,
        terms=_newton,
    )
)
state(
    Theorem(
        name="gradient descent from values",
        title="Flaxman, Kalai & McMahan 2005, mended",
        formula="3F(NR/r)^(1/3)·T^(-1/6), or O(T^(-1/4)) if Lipschitz",
        bound=ogdeg,
        terms=_value,
    )
)
state(
    Theorem(
        name="Newton steps from values",
        title="Liu, Li, Song, Liang, Jian & Liu 2018",
        formula="as printed does not follow, see Differs",
        bound=onseg,
        terms=_newton_value,
    )
)


def _positive(name: str, value: Any) -> float:
    return checks.number(name, value, "give a number > 0", above=0.0)
