"""Online gradient descent with an estimated gradient (Flaxman, Kalai and McMahan 2005)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen.geometry import Ball
from smidgen.geometry.space import Space
from smidgen.learners.card import Card, Recommended, register
from smidgen.learners.tune import theory
from smidgen.learners.tune.base import ValueTuner, as_reach
from smidgen.optim import Gradient, Newton
from smidgen.types import FloatArray


class Phased(ValueTuner):
    """A value learner whose constants come from the horizon, or, without one, from phases of doubling length."""

    _phase: theory.Phase | None

    def __init__(
        self,
        *,
        space: Space,
        loss_bound: float,
        horizon: int | None,
        delta: float | None,
        gamma: float | None,
        lipschitz: float | None,
        params: Mapping[str, Any],
        seed: int,
    ) -> None:
        self._F = checks.number("loss_bound", loss_bound, "give a bound on |loss|", above=0.0)
        self._horizon = None if horizon is None else checks.whole("horizon", horizon, "leave it out if unknown")
        self._L = None if lipschitz is None else checks.number("lipschitz", lipschitz, "leave it out", at_least=0.0)
        self._given = (delta, gamma)
        settings = {"horizon": self._horizon, "delta": delta, "gamma": gamma, "lipschitz": self._L, **params}
        kept = {name: value for name, value in settings.items() if value is not None}
        super().__init__(space=space, params={"loss_bound": self._F, **kept}, seed=seed)
        fixed = self._horizon is not None or delta is not None
        self._first = 0 if fixed else theory.first_phase(space, self._F, self._L, self._constants)
        self._enter(0)

    @abstractmethod
    def _constants(self, space: Space, F: float, lipschitz: float | None, T: int) -> tuple[float, float]:
        """δ and γ by theory."""

    @abstractmethod
    def _make_rule(self, delta: float, space: Space) -> Gradient[Space] | Newton[Space]:
        """A fresh update rule for this reach, on the shrunk space."""

    @abstractmethod
    def _direction(self, loss: float, v: FloatArray, reach: float) -> FloatArray:
        """Where the rule should step, given what the point at that reach along v cost."""

    def _enter(self, rounds: int) -> None:
        """Set the constants of the phase that the round count falls in."""
        self._phase = theory.phase_of(rounds, self._first) if self._first else None
        T = self._phase.length if self._phase else self._horizon or 1
        what = f"theory for {type(self).__name__} with {T:,} rounds"
        known = self._constants(self.space, self._F, self._L, T)
        self._reach, self._share = as_reach(self.space, known, *self._given, what)
        self._rule = self._make_rule(self._reach, self.space.shrunk(self._share))

    def _hear(self, loss: float, v: FloatArray, reach: float) -> None:
        self._rule.step(self._direction(loss, v, reach))
        if self._phase and self.rounds + 1 == self._phase.start + self._phase.length:
            y = self._rule.weights
            self._enter(self.rounds + 1)
            inside = self.space.shrunk(self._share).project(y)
            self._rule.restore({**self._rule.state(), "w": inside})

    @property
    def delta(self) -> float:
        """δ: how far the points tried lie from the base point."""
        return self._reach

    @property
    def gamma(self) -> float:
        """γ: the share of the space that the base point keeps clear of."""
        return self._share

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        if self._phase:
            self._enter(self.rounds)
        super()._restore(state)


@register(
    Card(
        loop="tune",
        feedback="loss",
        draws=True,
        paper="Flaxman, Kalai & McMahan 2005",
        bound="3F(NR/r)^(1/3)·T^(-1/6), or O(T^(-1/4)) if Lipschitz",
        cost="N + a projection",
        example={"space": Ball(dim=3), "loss_bound": 1.0, "delta": 0.2},
        first={"space": {"type": "Ball", "dim": 3, "radius": 1.0}, "loss_bound": 1.0, "delta": 0.2},
        recommended=(Recommended(feedback="loss"),),
        theorem="gradient descent from values",
    )
)
class OGDEG(Phased):
    """Try a point a little way off, in a random direction, and step against that direction by as much as it cost.

    Parameters
    ----------
    space
        The convex set of points.
    loss_bound
        F, a bound on the absolute value of losses.
    horizon
        T, the number of rounds to come. Left out, phases of doubling length take its place.
    delta
        δ, how far off to try; by theory if left out.
    gamma
        γ, the share of the space to keep clear of; δ/r if δ is given, else by theory.
    lipschitz
        L, a Lipschitz constant of the losses, if known: then theory does with T^{3/4}.
    seed
        Seeds the directions; each is a function of the decision's number.

    Notes
    -----
    **Update** x = y + δv, v uniform on the sphere; y ← Π_{(1−γ)P}(y − D/(F√t)·f(x)·v) in the t-th learnt round of
    the phase; y starts in the centre.
    **Symbols** x: ``decision.action``, y: ``decision.greedy``, v: ``decision.perturbation``, δ: ``decision.reach``,
    f(x): ``feedback``, D: ``space.diameter``, F: ``loss_bound``.
    **Assumes** convex losses with |f| ≤ F.
    **Bound** expected regret ≤ 3F·T^{5/6}(NR/r)^{1/3}, or 2T^{3/4}√(3RNF(L + F/r)) if Lipschitz
    (`smidgen.bounds.ogdeg`).
    **Cost** N normals, N operations, a projection.
    **Differs** the step D/(F√t) is that of the ONSEG paper's comparison; [1] has R/(F√T). Its
    proof then gives 5·12^{1/3} in the place of 3, and 4 in the place of 2 (`smidgen.bounds.ogdeg`, ``mended=True``). On
    the simplex everything happens in its own N−1 dimensions. Doubling phases are ours.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> space = smidgen.Box(low=[0.0], high=[1.0])
    >>> learner = smidgen.OGDEG(space=space, loss_bound=1.0, horizon=5000, lipschitz=2.0)
    >>> for _ in range(5000):
    ...     d = learner.ask()
    ...     learner.tell(d, float((d.action[0] - 0.3) ** 2))
    >>> bool(abs(learner.weights[0] - 0.3) < 0.1)
    True

    References
    ----------
    .. [1] A. Flaxman, A. Kalai, B. McMahan. Online convex optimization in the bandit setting. SODA 2005.
    """

    def __init__(
        self,
        *,
        space: Space,
        loss_bound: float,
        horizon: int | None = None,
        delta: float | None = None,
        gamma: float | None = None,
        lipschitz: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            space=space,
            loss_bound=loss_bound,
            horizon=horizon,
            delta=delta,
            gamma=gamma,
            lipschitz=lipschitz,
            params={},
            seed=seed,
        )

    def _constants(self, space: Space, F: float, lipschitz: float | None, T: int) -> tuple[float, float]:
        return theory.fkm(space, F, lipschitz, T)

    def _make_rule(self, delta: float, space: Space) -> Gradient[Space]:
        return Gradient(space=space, scale=self.space.diameter / self._F)

    def _direction(self, loss: float, v: FloatArray, reach: float) -> FloatArray:
        return np.asarray(-loss * v)
