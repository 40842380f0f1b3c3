"""What the learners of the tune loop have in common: a point goes out, its gradient or its loss comes back."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidFeedback
from smidgen.geometry.space import Space
from smidgen.learners.base import Learner
from smidgen.optim import Rule
from smidgen.optim.rule import as_direction
from smidgen.randomness import DIRECTION, perturb, stream_key
from smidgen.types import Decision, FloatArray


class Tuner(Learner):
    """A point of a convex set, moved by an update rule in the free coordinates of the set."""

    _rule: Rule

    def __init__(self, *, space: Space, params: Mapping[str, Any], seed: int) -> None:
        if not isinstance(space, Space):
            raise InvalidArgument(f"space is {space!r}", "give a Ball, a Box, a Simplex or an L1Ball")
        self.space = space
        super().__init__(params={"space": space, **params}, seed=seed)

    def ask(self) -> Decision:
        """`decide`, under the name that people who come from Optuna look for."""
        return self.decide()

    def tell(self, decision: Decision, value: Any) -> None:
        """`learn`, under the name that people who come from Optuna look for."""
        self.learn(decision, value)

    def _predict(self, context: Any) -> FloatArray:
        return self.weights

    @property
    def weights(self) -> FloatArray:
        """The base point y: the best guess so far."""
        return np.array(self.space.embed(self._rule.weights))

    def _point(self, z: FloatArray) -> FloatArray:
        """The point of these free coordinates, for a decision: a copy that nobody writes to."""
        point = np.array(self.space.embed(z))
        point.setflags(write=False)
        return point

    def _state(self) -> dict[str, NDArray[Any]]:
        return dict(self._rule.state())

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._rule.restore(state)


class GradientTuner(Tuner):
    """Hears the gradient at the point; one that is longer than the bound counts as one of that length."""

    def __init__(self, *, space: Space, gradient_bound: float, params: Mapping[str, Any], seed: int) -> None:
        G = checks.number("gradient_bound", gradient_bound, "give a bound on the norm of gradients", above=0.0)
        super().__init__(space=space, params={"gradient_bound": G, **params}, seed=seed)
        self.gradient_bound = G
        self._clipped = 0

    @property
    def clipped(self) -> int:
        """How many gradients were longer than ``gradient_bound``, and were scaled down to it."""
        return self._clipped

    def _decide(self, context: Any, number: int) -> Decision:
        point = self._point(self._rule.weights)
        return Decision(
            kind=self._kind, settings=self._settings, number=number, action=point, greedy=point, context=None
        )

    def _learn(self, decision: Decision, feedback: Any) -> None:
        try:
            gradient = as_direction(feedback, self.space.dim)
        except (ValueError, TypeError, AttributeError) as error:
            raise InvalidFeedback(
                f"the gradient is {feedback!r}", f"give {self.space.dim} finite numbers as a 1-D array"
            ) from error
        taken = shortened(gradient, self.gradient_bound)
        self._rule.step(-self.space.direction(taken))
        self._clipped += taken is not gradient

    def _notes(self) -> dict[str, Any]:
        return {"clipped": self._clipped} if self._clipped else {}

    def _take_notes(self, notes: Mapping[str, Any]) -> None:
        self._clipped = checks.whole("clipped", notes.get("clipped", 0), "give what save wrote", at_least=0)


class ValueTuner(Tuner):
    """Hears only the loss at the point, which lies a little way off the base point, in a random direction."""

    _reach: float

    def __init__(self, *, space: Space, params: Mapping[str, Any], seed: int) -> None:
        super().__init__(space=space, params=params, seed=seed)
        self._key = stream_key(self._seed, DIRECTION)

    def _decide(self, context: Any, number: int) -> Decision:
        y, n = self._rule.weights, self.space.free_dim
        v, z = np.empty(n), np.empty(n)
        perturb(self._key, number, y, self._reach, v, z)
        return Decision(
            kind=self._kind,
            settings=self._settings,
            number=number,
            action=self._point(z),
            greedy=self._point(y),
            context=None,
            explored=True,
            perturbation=v,
            reach=self._reach,
        )

    def _learn(self, decision: Decision, feedback: Any) -> None:
        v, reach = decision.perturbation, decision.reach
        if v is None or v.shape != (self.space.free_dim,) or reach is None or not reach > 0.0:
            raise DecisionMismatch(f"decision {decision.id} does not say where it went", "give it as decide made it")
        if type(feedback) is not float and (
            isinstance(feedback, (bool, np.bool_)) or not isinstance(feedback, (int, float, np.integer, np.floating))
        ):
            raise InvalidFeedback(f"the loss is {feedback!r}", "give one finite number")
        if not math.isfinite(feedback):
            raise InvalidFeedback(f"the loss is {feedback!r} and must be finite", "leave out rounds without a loss")
        self._hear(float(feedback), v, reach)

    @abstractmethod
    def _hear(self, loss: float, v: FloatArray, reach: float) -> None:
        """Learn what the point at that reach along v cost."""


def shortened(gradient: FloatArray, longest: float) -> FloatArray:
    """The gradient itself, or if it is longer than that, one of the same direction and that length."""
    with np.errstate(over="ignore", under="ignore"):
        if float(gradient @ gradient) <= longest * longest:
            return gradient
        direction = gradient / np.abs(gradient).max()
        length = math.sqrt(float(direction @ direction))
        if length * float(np.abs(gradient).max()) <= longest:
            return gradient
        return np.asarray(direction * (longest / length))


def as_reach(
    space: Space, theory: tuple[float, float], delta: float | None, gamma: float | None, what: str
) -> tuple[float, float]:
    """δ and γ: what the user gave, the rest by theory; δ ≤ γr, so that every point tried lies in the space."""
    r = space.inner_radius
    smaller = f"delta below {r:.4g}, e.g. delta={0.1 * r:.4g}"
    if delta is not None:
        reach = checks.number("delta", delta, "give the reach of the perturbation, > 0", above=0.0)
        share = reach / r if gamma is None else checks.number("gamma", gamma, "give a number in (0, 1)", above=0.0)
    elif gamma is not None:
        share = checks.number("gamma", gamma, "give a number in (0, 1)", above=0.0)
        reach = min(theory[0], share * r)
    else:
        reach, share = theory
    if share >= 1.0 and gamma is not None:
        raise InvalidArgument(f"gamma is {gamma!r} and must be < 1, or nothing of the space is left", "lower gamma")
    if share >= 1.0 and delta is not None:
        raise InvalidArgument(f"delta is {delta!r}, which leaves nothing of the space", f"give {smaller}")
    if share >= 1.0:
        raise InvalidArgument(
            f"{what} asks for gamma = {share:.4g}, which leaves nothing of the space",
            f"give more rounds (horizon), or {smaller}",
        )
    if reach > share * r * (1.0 + 1e-12):
        raise InvalidArgument(
            f"delta is {reach:.4g} and must be at most gamma·r = {share * r:.4g}, or points would leave the space",
            "lower delta, or raise gamma",
        )
    return reach, share
