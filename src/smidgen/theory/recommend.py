"""Expected regret of tuning with one loss value per round, before the first round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from smidgen import checks
from smidgen.errors import InvalidArgument
from smidgen.geometry import Space
from smidgen.theory import bounds, one_point


@dataclass(frozen=True)
class Recommendation:
    """Numbers on a one-point method, and, as a string, what they mean.

    Attributes
    ----------
    space, loss_bound, horizon, lipschitz
        What was asked: the space, F, T, and L if known.
    delta, gamma
        δ and γ of `OGDEG` by theory. γ ≥ 1 leaves nothing of the space, and the learner refuses it.
    ogdeg, onseg
        Bounds on the expected regret *per round*: the corrected one that holds for `OGDEG`, and the printed one of
        `ONSEG`, which does not follow.
    trivial
        2F: the regret per round of the worst learner there can be.
    allowed_from
        The smallest horizon for which γ < 1.
    useful_from
        The smallest horizon for which OGDEG's bound per round is below F.
    first_phase
        How many rounds the first phase takes if no horizon is given.
    suggested_delta
        A fifth of the inner radius: a δ to try instead.
    """

    space: Space
    loss_bound: float
    horizon: int
    lipschitz: float | None
    delta: float
    gamma: float
    ogdeg: float
    onseg: float
    trivial: float
    allowed_from: int
    useful_from: int
    first_phase: int
    suggested_delta: float

    def __str__(self) -> str:
        F, slope = self.loss_bound, self.lipschitz
        if self.gamma < 1.0:
            space = (
                f"By theory OGDEG tries points δ = {self.delta:.3g} away and keeps clear of γ = {self.gamma:.0%} of it."
            )
        else:
            space = (
                f"Theory asks OGDEG for γ = {self.gamma:.3g}, which makes the shrunk space empty: "
                f"it needs {self.allowed_from:,} rounds at least."
            )
        says = "something" if self.ogdeg < F else "little" if self.ogdeg < self.trivial else "nothing"
        grows = "grows" if slope is None else "does not fall to 0"
        sentences = (
            f"{self.space!r} with {self.space.free_dim} free coordinates, |loss| at most {F:g}, "
            f"{self.horizon:,} rounds, {'no Lipschitz constant' if slope is None else f'slopes up to {slope:g}'}.",
            space,
            f"The expected regret per round is at most {self.ogdeg:.3g}. That says {says}, since no learner can have "
            f"more than 2F = {self.trivial:.3g}.",
            f"The bound is below F = {F:g} from {self.useful_from:,} rounds on.",
            f"Without a horizon the first doubling phase takes {self.first_phase:,} rounds.",
            f"ONSEG's printed bound is {self.onseg:.3g} per round. It {grows} with more rounds, so the stated rate "
            "does not follow. Do not choose by it.",
            f"Bounds are worst cases. In practice give delta yourself, e.g. delta={self.suggested_delta:.3g}, and "
            'baseline="mean", which takes off what a usual point costs. Use gradients if you can have them.',
        )
        return "\n".join(sentences)


def recommend(space: Space, loss_bound: float, horizon: int, lipschitz: float | None = None) -> Recommendation:
    """Return the guarantees of theory for a learner that receives one loss value per round.

    Parameters
    ----------
    space
        The convex set of points.
    loss_bound
        F, a bound on the absolute value of losses.
    horizon
        T, the number of rounds to come.
    lipschitz
        L, a Lipschitz constant of the losses, if known.

    Examples
    --------
    >>> import smidgen
    >>> advice = smidgen.recommend(smidgen.Ball(dim=3), loss_bound=1.0, horizon=10_000)
    >>> advice.useful_from
    20250001
    >>> print(str(advice).splitlines()[1])
    By theory OGDEG tries points δ = 0.0422 away and keeps clear of γ = 36% of it.
    """
    if not isinstance(space, Space):
        raise InvalidArgument(f"space is {space!r}", "give a Ball, a Box, a Simplex or an L1Ball")
    F = checks.number("loss_bound", loss_bound, "give a bound on |loss|", above=0.0)
    T = checks.whole("horizon", horizon, "give the number of rounds")
    L = None if lipschitz is None else checks.number("lipschitz", lipschitz, "omit it", at_least=0.0)
    d, r, R, D = space.free_dim, space.inner_radius, space.outer_radius, space.diameter
    power = 1 / 6 if L is None else 1 / 4  # the bound per round falls like T^(−power)
    delta, gamma = one_point.fkm_constants(space, F, L, T)
    first_gamma = one_point.fkm_constants(space, F, L, 1)[1]
    known: dict[str, Any] = {"dim": d, "F": F, "R": R, "r": r, "lipschitz": L, "mended": True}
    first_bound = float(bounds.ogdeg(T=1, per_round=True, **known))
    return Recommendation(
        space=space,
        loss_bound=F,
        horizon=T,
        lipschitz=L,
        delta=delta,
        gamma=gamma,
        ogdeg=float(bounds.ogdeg(T=T, per_round=True, **known)),
        onseg=float(bounds.onseg(T=T, dim=d, F=F, D=D, r=r, lipschitz=L, per_round=True)),
        trivial=2.0 * F,
        allowed_from=_beyond(first_gamma ** (1.0 / power)),
        useful_from=_beyond((first_bound / F) ** (1.0 / power)),
        first_phase=one_point.first_phase(space, F, L, one_point.fkm_constants),
        suggested_delta=r / 5.0,
    )


def _beyond(limit: float) -> int:
    """The first whole number above a limit that was found by roots and powers."""
    return math.floor(limit * (1.0 + 1e-12)) + 1
