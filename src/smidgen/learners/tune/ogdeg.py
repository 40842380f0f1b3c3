"""Online gradient descent with an estimated gradient (Flaxman, Kalai and McMahan 2005)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import steps
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument
from smidgen.geometry import Ball
from smidgen.geometry.space import Space, plain
from smidgen.knobs import Best, Knobs
from smidgen.learners.base import register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.tune.base import StepSchedule, ValueTuner, as_reach
from smidgen.optim import Gradient, Newton
from smidgen.theory import one_point

#: Statistics of the losses: their number, their running mean, the largest residual, the number beyond the bound.
COUNTED, MEAN, LARGEST, CLIPPED, STATISTICS = 0, 1, 2, 3, 4


class Phased(ValueTuner):
    """A value learner whose constants come from the horizon, or, without one, from phases of doubling length."""

    settings_version = 2
    older_settings = MappingProxyType({1: {"beyond": "take"}})
    _phase: one_point.Phase | None

    def __init__(
        self,
        *,
        space: Space | Knobs,
        loss_bound: float | None,
        horizon: int | None,
        delta: float | None,
        gamma: float | None,
        lipschitz: float | None,
        baseline: str | None,
        beyond: str,
        params: Mapping[str, Any],
        seed: int,
    ) -> None:
        self._running = loss_bound is None
        if loss_bound is None and lipschitz is not None:
            raise InvalidArgument("lipschitz was given without loss_bound", "give both, or neither")
        self._F = 1.0 if loss_bound is None else checks.number("loss_bound", loss_bound, "give a bound", above=0.0)
        if baseline is not None:
            checks.one_of("baseline", baseline, ("mean",))
        self._baseline = baseline
        checks.one_of("beyond", beyond, ("clip", "take"))
        self.clips = beyond == "clip" or baseline is not None  #: whether a loss beyond F counts as one of F
        self.plain = not self._running and baseline is None  #: True if steps use the loss unchanged
        self._statistics = np.zeros(STATISTICS)
        self._horizon = None if horizon is None else checks.whole("horizon", horizon, "omit it if unknown")
        self._L = None if lipschitz is None else checks.number("lipschitz", lipschitz, "omit it", at_least=0.0)
        self._given = (delta, gamma)
        bound = None if self._running else self._F
        settings: dict[str, Any] = {"loss_bound": bound, "horizon": self._horizon, "delta": delta, "gamma": gamma}
        settings |= {"lipschitz": self._L, "baseline": baseline, "beyond": beyond, **params}
        kept = {name: value for name, value in settings.items() if value is not None}
        super().__init__(space=space, params=kept, seed=seed)
        fixed = self._horizon is not None or delta is not None
        self._first = 0 if fixed else one_point.first_phase(self.space, self._F, self._L, self._constants)
        self._enter(0)

    @abstractmethod
    def _constants(self, space: Space, F: float, lipschitz: float | None, T: int) -> tuple[float, float]:
        """δ and γ by theory."""

    @abstractmethod
    def _make_rule(self, delta: float, space: Space) -> Gradient[Space] | Newton[Space]:
        """A fresh update rule for this reach, on the shrunk space."""

    @abstractmethod
    def _gain(self, reach: float) -> float:
        """The rule steps along gain·loss·v, given what the point at that reach along v cost."""

    def pace(self) -> StepSchedule | None:
        """Program for compiled loops, where losses are used unchanged."""
        if not self.plain:
            return None
        return StepSchedule(self._reach, self._gain(self._reach), self._F, self._key, self.clips)

    def alike(self) -> float:
        """For how many rounds `pace` and rule will stay what they are: to the end of the phase."""
        return self._phase.start + self._phase.length - self.rounds if self._phase else math.inf

    def _enter(self, rounds: int) -> None:
        """Set the constants of the phase that the round count falls in."""
        self._phase = one_point.phase_of(rounds, self._first) if self._first else None
        T = self._phase.length if self._phase else self._horizon or 1
        what = f"theory for {type(self).__name__} with {T:,} rounds"
        known = self._constants(self.space, self._F, self._L, T)
        self._reach, self._share = as_reach(self.space, known, *self._given, what)
        self._rule = self._make_rule(self._reach, self.space.shrunk(self._share))

    def _step(self, length: float, v: FloatArray) -> None:
        direction: FloatArray = np.empty(len(v))
        steps.scale(plain(v), length, direction)  # the rule refuses a step that is not finite
        self._rule.step(direction)

    def _learn_loss(self, loss: float, v: FloatArray, reach: float) -> None:
        if self.plain and -self._F <= loss <= self._F:
            self._step(self._gain(reach) * loss, v)
        else:
            reported = self._statistics.copy()
            residual = self._residual(loss, reported)
            if residual is not None:
                self._step(self._gain(reach) * residual, v)
            self._statistics = reported
        if self._phase and self.rounds + 1 == self._phase.start + self._phase.length:
            y = self._rule.weights
            self._enter(self.rounds + 1)
            inside = self.space.shrunk(self._share).project(y)
            self._rule.restore({**self._rule.state(), "w": inside})

    def _residual(self, loss: float, reported: FloatArray) -> float | None:
        """Update the statistics; return the part of the loss to step by, in units of F if undeclared, or None."""
        first, residual = reported[COUNTED] == 0.0, loss
        if self._baseline:
            residual = 0.0 if first else loss - reported[MEAN]
        if not self._running and abs(residual) > self._F:
            reported[CLIPPED] += 1.0
            residual = math.copysign(self._F, residual) if self.clips else residual
        if self._baseline:
            reported[COUNTED] += 1.0
            reported[MEAN] = loss if first else reported[MEAN] + max(0.02, 1.0 / reported[COUNTED]) * residual
        if not self._running:
            return residual
        reported[LARGEST] = max(reported[LARGEST], abs(residual))
        return residual / float(reported[LARGEST]) if reported[LARGEST] > 0.0 else None

    @property
    def clipped(self) -> int:
        """Number of losses beyond the declared bound."""
        return int(self._statistics[CLIPPED])

    def note_clipped(self, count: int) -> None:
        """Count losses beyond the bound that a compiled loop has met."""
        self._statistics[CLIPPED] += count

    def best(self) -> Best:
        """The base point, in own units, and the running mean of the losses around it, if there is a baseline."""
        point = super().best().point
        return Best(point, float(self._statistics[MEAN]) if self._statistics[COUNTED] else None, None, None)

    @property
    def delta(self) -> float:
        """δ: how far the points tried lie from the base point."""
        return self._reach

    @property
    def gamma(self) -> float:
        """γ: the share of the space that the base point keeps clear of."""
        return self._share

    def _state(self) -> dict[str, NDArray[Any]]:
        return {**super()._state(), **({} if self.plain else {"told": self._statistics})}

    def _notes(self) -> dict[str, Any]:
        return {"clipped": self.clipped} if self.plain and self.clipped else {}

    def _take_notes(self, notes: Mapping[str, Any]) -> None:
        self._statistics[CLIPPED] = float(notes.get("clipped", 0))

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        if self._phase:
            self._enter(self.rounds)
        self._statistics = state.get("told", self._statistics)
        super()._restore(state)


@register(
    Card(
        loop="tune",
        feedback="loss",
        draws=True,
        paper="Flaxman, Kalai & McMahan 2005",
        cost="N + a projection",
        example={"space": Ball(dim=3), "loss_bound": 1.0, "delta": 0.2},
        first={"space": {"type": "Ball", "dim": 3, "radius": 1.0}, "loss_bound": 1.0, "delta": 0.2},
        recommended=(Recommended(feedback="loss", settings={"baseline": "mean", "loss_bound": None}),),
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
        F, a bound on the absolute value of losses, or, with a baseline, of their distance from it. Left out: the
        largest seen so far.
    horizon
        T, the number of rounds to come. Left out, phases of doubling length take its place.
    delta
        δ, how far off to try; by theory if left out.
    gamma
        γ, the share of the space to keep clear of; δ/r if δ is given, else by theory.
    lipschitz
        L, a Lipschitz constant of the losses, if known: then theory does with T^{3/4}.
    baseline
        ``"mean"`` subtracts the running mean of the losses from each of them, so that an offset does no harm: you may
        report the whole bill. By default losses are used unchanged.
    beyond
        What becomes of a loss beyond ``loss_bound``: ``"clip"`` takes it for one of that size, so that one wild loss
        does no more than the bound allows; ``"take"`` takes it as it is, for those who use the bound to set the step.
        Either way `clipped` counts it.
    seed
        Seeds the directions; each is a function of the decision's number.

    Notes
    -----
    **Update** x = y + δv, v uniform on the sphere; y ← Π_{(1−γ)P}(y − D/(F√t)·f(x)·v) in the t-th learnt round of
    the phase; y starts in the centre.
    With a baseline f(x) − m takes the place of f(x), m ← m + max(.02, 1/t)(f(x) − m) afterwards, and the first loss is
    its own mean. A loss beyond F, or with a baseline a residual beyond it, counts as one of F, and `clipped` counts it.
    Without ``loss_bound`` no step is taken while F = 0.
    **Symbols** x: ``decision.action``, y: ``decision.greedy``, v: ``decision.perturbation``, δ: ``decision.reach``,
    f(x): ``feedback``, D: ``space.diameter``, F: ``loss_bound``.
    **Assumes** convex losses with |f| ≤ F.
    **Bound** expected regret ≤ 3F·T^{5/6}(NR/r)^{1/3}, or 2T^{3/4}√(3RNF(L + F/r)) if Lipschitz
    (`smidgen.bounds.ogdeg`).
    **Cost** N normals, N operations, a projection.
    **Differs** the step D/(F√t) is that of the ONSEG paper's comparison; [1] has R/(F√T). Its
    proof then gives 5·12^{1/3} instead of 3, and 4 instead of 2 (`smidgen.bounds.ogdeg`, ``mended=True``). On
    the simplex everything happens in its own N−1 dimensions. Doubling phases, the baseline and the running bound are
    ours; the theorems know none of them.

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
        space: Space | Knobs,
        loss_bound: float | None = None,
        horizon: int | None = None,
        delta: float | None = None,
        gamma: float | None = None,
        lipschitz: float | None = None,
        baseline: str | None = None,
        beyond: str = "clip",
        seed: int = 0,
    ) -> None:
        super().__init__(
            space=space,
            loss_bound=loss_bound,
            horizon=horizon,
            delta=delta,
            gamma=gamma,
            lipschitz=lipschitz,
            baseline=baseline,
            beyond=beyond,
            params={},
            seed=seed,
        )

    def _constants(self, space: Space, F: float, lipschitz: float | None, T: int) -> tuple[float, float]:
        return one_point.fkm_constants(space, F, lipschitz, T)

    def _make_rule(self, delta: float, space: Space) -> Gradient[Space]:
        return Gradient(space=space, scale=self.space.diameter / self._F)

    def _gain(self, reach: float) -> float:
        return -1.0
