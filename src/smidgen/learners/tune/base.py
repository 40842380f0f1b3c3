"""Base class of learners of the tune loop: the action is a point, the feedback its gradient or its loss."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import geometry
from smidgen._core import random as core_random
from smidgen.decision import Decision, FloatArray
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidFeedback, NotTeachable
from smidgen.geometry.space import Space
from smidgen.knobs import Best, Knobs
from smidgen.learners.base import Learner
from smidgen.optim import Rule
from smidgen.optim.rules import as_direction
from smidgen.randomness import DIRECTION, U64, stream_key


class StepSchedule(NamedTuple):
    """Perturbation and feedback of a learner, for compiled loops.

    Attributes
    ----------
    reach
        δ; 0 if the feedback is the gradient.
    gain
        What the loss is multiplied with, to estimate a gradient.
    longest
        The length of the longest gradient, or the size of the largest loss, that is not scaled down.
    key
        Of the stream of directions.
    clips
        Whether one beyond that counts as one of that size; else it is only counted.
    """

    reach: float
    gain: float
    longest: float
    key: U64
    clips: bool = True


class Tuner(Learner):
    """A point of a convex set, moved by an update rule in the free coordinates of the set."""

    _rule: Rule
    #: True if knobs may be names.
    takes_categories: ClassVar[bool] = False

    def __init__(self, *, space: Space | Knobs, params: Mapping[str, Any], seed: int) -> None:
        if not isinstance(space, (Space, Knobs)):
            raise InvalidArgument(f"space is {space!r}", "give a Ball, a Box, a Simplex, an L1Ball, or Knobs")
        self.knobs = space if isinstance(space, Knobs) else None
        if self.knobs is not None and self.knobs.categories and not self.takes_categories:
            raise InvalidArgument(
                f"{next(iter(self.knobs.categories))} is a Category, and a {type(self).__name__} takes numbers",
                "use QuadraticTuner, or choose among names with a learner of the choose loop",
            )
        self.space = space.box if isinstance(space, Knobs) else space  #: of knobs, the unit cube
        super().__init__(params={"space": space, **params}, seed=seed)

    def ask(self, context: Any = None) -> Decision:
        """`decide`, under the name that people who come from Optuna look for."""
        return self.decide(context)

    def tell(self, decision: Decision, value: Any) -> None:
        """`learn`, under the name that people who come from Optuna look for."""
        self.learn(decision, value)

    def pace(self) -> StepSchedule | None:
        """Program for compiled loops; None: by the two verbs only."""
        return None

    def alike(self) -> float:
        """For how many rounds `pace` and rule will stay what they are."""
        return math.inf

    def note_clipped(self, count: int) -> None:
        """Count what a compiled loop has met beyond a declared bound."""
        return

    def _predict(self, context: Any) -> Any:
        return self.best().point if self.knobs else self.weights

    @property
    def weights(self) -> FloatArray:
        """The base point y: the best guess so far."""
        return self._as_array(np.array(self.space.embed(self._rule.weights)))

    def best(self) -> Best:
        """The best guess so far, in own units, and the loss expected there, where the learner can say."""
        return Best(self._named(np.array(self.space.embed(self._rule.weights))), None, None, None)

    def from_own_units(self, action: Any) -> FloatArray:
        """The point of the space that an action means: of knobs, their shares of the way."""
        return self.knobs.shares(action) if self.knobs else np.asarray(action, dtype=np.float64).reshape(self.space.dim)

    def _point(self, z: FloatArray) -> Any:
        """The point of these free coordinates, for a decision: a read-only copy, or values by name."""
        point = np.array(self.space.embed(z))
        if self.knobs is not None:
            return self.knobs.point(point)
        point.setflags(write=False)
        return point

    def _named(self, point: FloatArray) -> Any:
        """A point as it is returned."""
        if self.knobs:
            return self.knobs.point(point)
        point.setflags(write=False)
        return point

    def _as_array(self, point: FloatArray) -> FloatArray:
        """A point in own units, in the order of the knobs."""
        if self.knobs is None:
            return point
        named = self.knobs.point(point)
        return np.array([named[name] for name in self.knobs.numbers], dtype=np.float64)

    def _state(self) -> dict[str, NDArray[Any]]:
        return dict(self._rule.state())

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._rule.restore(state)


class GradientTuner(Tuner):
    """Receives the gradient at the point; a gradient longer than the bound is scaled to it."""

    def __init__(self, *, space: Space, gradient_bound: float, params: Mapping[str, Any], seed: int) -> None:
        if isinstance(space, Knobs):
            raise InvalidArgument("space is Knobs, whose gradient would be in units of its own", "give a Box")
        G = checks.number("gradient_bound", gradient_bound, "give a bound on the norm of gradients", above=0.0)
        super().__init__(space=space, params={"gradient_bound": G, **params}, seed=seed)
        self.gradient_bound = G
        self._clipped = 0

    @property
    def clipped(self) -> int:
        """Number of gradients that were longer than ``gradient_bound``, and were scaled down to it."""
        return self._clipped

    def pace(self) -> StepSchedule:
        """Program for compiled loops."""
        return StepSchedule(0.0, -1.0, self.gradient_bound, stream_key(self._seed, DIRECTION))

    def note_clipped(self, count: int) -> None:
        """Count gradients beyond the bound that a compiled loop has met."""
        self._clipped += count

    def _decide(self, context: Any, number: int) -> Decision:
        point = self._point(self._rule.weights)
        return Decision(
            kind=self._kind, settings=self._settings, number=number, action=point, greedy=point, context=None
        )

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        """The answer is the gradient of a loss at the present point."""
        self._learn(self._decide(context, number), answer)

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
        self._clipped = checks.whole(
            "clipped", notes.get("clipped", 0), "use a file that Learner.save wrote", at_least=0
        )


class ValueTuner(Tuner):
    """Receives only the loss at the point, which is perturbed from the base point in a random direction."""

    _reach: float

    def __init__(self, *, space: Space | Knobs, params: Mapping[str, Any], seed: int) -> None:
        super().__init__(space=space, params=params, seed=seed)
        self._key = stream_key(self._seed, DIRECTION)

    def _decide(self, context: Any, number: int) -> Decision:
        y, n = self._rule.weights, self.space.free_dim
        v, z = np.empty(n), np.empty(n)
        core_random.perturb(self._key, number, y, self._reach, v, z)
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
            raise DecisionMismatch(
                f"decision {decision.id} does not hold its point", "pass the decision as decide returned it"
            )
        is_loss = type(feedback) is float and -math.inf < feedback < math.inf
        self._learn_loss(feedback if is_loss else as_loss(feedback), v, reach)

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        raise NotTeachable(
            f"a {self._kind} cannot be taught: it needs the loss at a point that it drew itself",
            "call decide, then learn with the loss at that point",
        )

    @abstractmethod
    def _learn_loss(self, loss: float, v: FloatArray, reach: float) -> None:
        """Learn what the point at that reach along v cost."""


def as_loss(feedback: Any, largest: float = math.inf) -> float:
    """Check that feedback is a finite number and return it."""
    if type(feedback) is not float and (
        isinstance(feedback, (bool, np.bool_)) or not isinstance(feedback, (int, float, np.integer, np.floating))
    ):
        raise InvalidFeedback(f"the loss is {feedback!r}", "give one finite number")
    if not math.isfinite(feedback):
        raise InvalidFeedback(f"the loss is {feedback!r} and must be finite", "skip rounds without a loss")
    loss = float(feedback)
    if abs(loss) > largest:
        raise InvalidFeedback(f"the loss is {feedback!r} and must be at most {largest:g}", "measure in larger units")
    return loss


def shortened(gradient: FloatArray, longest: float) -> FloatArray:
    """The gradient itself, or if it is longer than that, one of the same direction and that length."""
    if geometry.norm(gradient) <= longest:
        return gradient
    largest = float(np.abs(gradient).max())
    direction = gradient / largest  # the squares of this do not overflow
    length = geometry.norm(direction)
    return gradient if length * largest <= longest else np.asarray(direction * (longest / length))


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
        raise InvalidArgument(
            f"gamma is {gamma!r} and must be < 1, because the shrunk space would be empty", "lower gamma"
        )
    if share >= 1.0 and delta is not None:
        raise InvalidArgument(f"delta is {delta!r}, which makes the shrunk space empty", f"give {smaller}")
    if share >= 1.0:
        raise InvalidArgument(
            f"{what} asks for gamma = {share:.4g}, which makes the shrunk space empty",
            f"give more rounds (horizon), or {smaller}",
        )
    if reach > share * r * (1.0 + 1e-12):
        raise InvalidArgument(
            f"delta is {reach:.4g} and must be at most gamma·r = {share * r:.4g}: points would leave the space",
            "lower delta, or raise gamma",
        )
    return reach, share
