"""The four algorithms with the constants of a reading."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smidgen.evaluate.losses import LeastSquares, Logistic
from smidgen.geometry import Ball, Space
from smidgen.geometry import Box as BoxSpace
from smidgen.learners.tune import OGD, OGDEG, ONS, ONSEG, Tuner
from smidgen.optim import Newton
from smidgen.theory import one_point
from smidgen_papers.onseg.paper import PRINTED

_FROZEN = 1e12


@dataclass(frozen=True)
class Choice:
    """An algorithm and where its constants come from.

    Attributes
    ----------
    learner
        "OGD", "ONS", "OGDEG" or "ONSEG"; "frozen": ONSEG with the matrix A that it starts with, which is gradient
        descent with a constant step.
    beta
        "printed" in Section 4; "theory": the formula of the paper; "practical": that of ONSEG without α.
    reach
        δ and γ: "theorem" 1 of the paper, "fkm": Theorem 1 of Flaxman, Kalai and McMahan; "fifth": δ = r/5.
    """

    learner: str
    beta: str = ""
    reach: str = ""

    @property
    def name(self) -> str:
        """A short name for legends and tables."""
        reach = {"": "", "theorem": "δ Thm 1", "fkm": "δ FKM", "fifth": "δ = r/5"}[self.reach]
        learner = "ONSEG, A frozen" if self.learner == "frozen" else self.learner
        return ", ".join(filter(None, (learner, f"β {self.beta}" if self.beta else "", reach)))


@dataclass(frozen=True)
class Made:
    """A learner and the constants that it got; ``outside`` if δ is so large that its points leave the set."""

    learner: Tuner
    delta: float
    gamma: float
    beta: float
    outside: bool


def reach_of(space: Space, F: float, rounds: int, reach: str) -> tuple[float, float]:
    """δ and γ as the theorems (or we) would have them, which may be too large for the set."""
    if reach == "fifth":
        return 0.2 * space.inner_radius, 0.2
    return (one_point.onseg_constants if reach == "theorem" else one_point.fkm_constants)(space, F, None, rounds)


def beta_of(space: Space, F: float, delta: float, beta: str, data: str) -> float:
    """β of ONSEG."""
    if beta == "printed":
        return PRINTED[data].onseg
    practical = delta / (4.0 * space.free_dim * F * space.diameter)
    alpha = (delta / (space.free_dim * F)) ** 2
    return 0.5 * (practical if beta == "practical" else min(practical, alpha))


def make(loss: LeastSquares | Logistic, space: Space, choice: Choice, *, data: str, rounds: int, seed: int) -> Made:
    """The learner of a choice.

    Where γ ≥ 1 nothing of (1 − γ)P is left. Then γ = δ/r, if that is below 1. Otherwise the base point keeps to P and
    the points that are played leave it: P is widened by δ on all sides, with the constants of P itself.
    """
    F, G = loss.bound(space), loss.lipschitz(space)
    if choice.learner == "OGD":
        return Made(OGD(space=space, gradient_bound=G, seed=seed), 0.0, 0.0, 0.0, False)
    if choice.learner == "ONS":
        chosen = PRINTED[data].ons if choice.beta == "printed" else None
        ons = ONS(space=space, gradient_bound=G, exp_concavity=loss.exp_concavity(space), beta=chosen, seed=seed)
        return Made(ons, 0.0, 0.0, ons.beta, False)
    delta, gamma = reach_of(space, F, rounds, choice.reach)
    if gamma >= 1.0:
        gamma = delta / space.inner_radius
    outside = gamma >= 1.0
    where, share = (space, gamma) if not outside else _widened(space, delta)
    if choice.learner == "OGDEG":
        bound = F * where.diameter / space.diameter  # so that the step D/(F√t) is that of P
        plain = OGDEG(space=where, loss_bound=bound, delta=delta, gamma=share, beyond="take", seed=seed)
        return Made(plain, delta, gamma, 0.0, outside)
    beta = beta_of(space, F, delta, choice.beta, data)
    newton = ONSEG(space=where, loss_bound=F, delta=delta, gamma=share, beta=beta, beyond="take", seed=seed)
    if choice.learner == "frozen":
        _freeze(newton)
    return Made(newton, delta, gamma, beta, outside)


def _freeze(learner: ONSEG) -> None:
    """Make A so large, and the step with it, that what is added to A no longer counts: every step is βD²·g."""
    rule = learner._rule
    if isinstance(rule, Newton):
        learner._rule = Newton(space=rule.space, epsilon=_FROZEN * rule.epsilon, scale=_FROZEN * rule.scale)


def moved(learner: Tuner) -> tuple[float, float]:
    """How much A has grown in its most and least known directions: the extreme eigenvalues of A over the first ones."""
    if not isinstance(learner._rule, Newton):
        return 1.0, 1.0
    shares = learner._rule.epsilon * np.linalg.eigvalsh(learner._rule.second_order.inverse)
    return float(1.0 / shares[-1]), float(1.0 / shares[0])


def _widened(space: Space, delta: float) -> tuple[Space, float]:
    """A set such that all but a share γ of it is P, and P's points may be δ off; and that γ."""
    if isinstance(space, Ball):
        wide: Space = Ball(dim=space.dim, radius=space.radius + delta)
    else:
        half = np.full(space.dim, space.inner_radius + delta)
        wide = BoxSpace(low=-half, high=half)
    return wide, delta / wide.inner_radius
