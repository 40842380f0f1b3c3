"""Base class of update rules, and the simple rules: additive, soft, projected gradient, and any rule in batches.

In compiled loops, a rule's `program` says what it is set to, and a `RuleMemory` holds what it remembers, in place. A
step there is the whole update, by the kernels that the rules themselves step by: the move of the rule, and the way back
to its space.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import geometry as core
from smidgen._core import steps, written_for
from smidgen.arrays import writable, zeros
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidFeatures, InvalidRecord, NotFinite
from smidgen.geometry import Space
from smidgen.geometry.space import BALL, Region, plain, region_of
from smidgen.serialization import structure
from smidgen.settings import VersionedSettings

State = dict[str, NDArray[Any]]


ADDITIVE, GRADIENT, NEWTON, EXPONENTIATED, RETRAINED, SOFT = range(6)  # kinds of rules in compiled loops
_NOWHERE = Region(BALL, 0, *np.zeros((4, 1)))


class Program(NamedTuple):
    """Settings of a rule for compiled loops (see `smidgen.optim.rules`). Each kind reads its own fields."""

    kind: int
    batch: int = 1  # rounds per step
    scale: float = 1.0  # of a step; the bound S of an exponentiated one
    gamma: float = 1.0
    horizon: int = 0  # 0: none, the rate falls with the steps
    signed: bool = True
    region: Region = _NOWHERE  # what the weights are brought back to


class Rule(VersionedSettings, ABC):
    """Weights and the way they move along a direction of improvement.

    A rule knows nothing of rankings, labels or users. It is given a direction in which utility (or minus a loss) rises,
    takes one step, and projects in its own geometry. To write your own, say what its settings are
    (`to_record`), what it remembers (`state`, `restore`), and how it steps; put `@smidgen.structure` on it
    if learners that use it should be saved.
    """

    dim: int

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.to_record().items())})"

    @classmethod
    def estimate_size(cls, arguments: Mapping[str, Any]) -> int:
        """Estimate the bytes of a fresh rule: one vector, unless the rule says otherwise."""
        return 8 * (int(arguments["dim"]) if "dim" in arguments else int(arguments["space"].dim))

    @property
    @abstractmethod
    def weights(self) -> FloatArray:
        """The present weight vector, of length dim. Not to be written to."""

    @abstractmethod
    def step(self, direction: FloatArray) -> None:
        """Take one step along ``direction``; refuse, and change nothing, if the result would not be finite."""

    def weighted_step(self, direction: FloatArray, weight: float) -> None:
        """Take one step along ``direction`` that counts for ``weight``, from 0 to 1: along as much of it."""
        self.step(weight * direction)

    def program(self) -> Program | None:
        """The rule for compiled loops; None if it has no such form, and its learners are played by the two verbs."""
        return None

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """The arguments that make such a rule again."""

    @abstractmethod
    def state(self) -> State:
        """All that the rule has learnt, as arrays."""

    @abstractmethod
    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state` gave."""

    def fresh(self) -> Self:
        """A rule with the same settings that has not stepped yet."""
        fields = self.to_record()
        twin = self.from_record({k: v.fresh() if isinstance(v, Rule) else v for k, v in fields.items()})
        twin._built_at = self._built_at
        return twin


def as_direction(value: Any, dim: int) -> FloatArray:
    """Check a direction (or a joint feature vector) that user code computed."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.shape == (dim,):
        vector = writable(value)
        if math.isfinite(core.norm(vector)):
            return vector
    direction = np.asarray(value.toarray() if hasattr(value, "toarray") else value)
    if direction.dtype.kind not in "fiub" or direction.shape not in ((dim,), (1, dim)):
        raise InvalidFeatures(
            f"the feature vector has shape {direction.shape} and dtype {direction.dtype}",
            f"return {dim} real numbers as a 1-D array, or make a learner with another dim",
        )
    vector = writable(direction.astype(np.float64, copy=False).reshape(dim))
    if not np.isfinite(vector).all():
        raise InvalidFeatures("the feature vector holds values that are not finite", "return finite numbers")
    return vector


def moved(start: FloatArray, direction: FloatArray, rate: float = 1.0) -> FloatArray:
    """Start + rate·direction as a new vector; refused if it is not finite."""
    end: FloatArray = np.empty(len(start))
    return taken(end, steps.move(start, plain(direction), rate, end))


def taken(end: FloatArray, squares: float) -> FloatArray:
    """The end of a move, of which the squared norm is known; refused if it is not finite."""
    if not math.isfinite(squares) and not np.isfinite(end).all():
        raise NotFinite("the step leads to values that are not finite", "scale the features down")
    return end


def count(state: Mapping[str, NDArray[Any]], name: str) -> int:
    """A counter out of saved arrays."""
    number = int(state[name])
    if number < 0:
        raise InvalidRecord(f"{name} is {number} and must be >= 0", "pass the value that state returned")
    return number


STEPS, WAITING, SILENT, DECIDED, FILLED, PROJECTED = range(6)  # what `RuleMemory.counts` counts
COUNTS = 6


class RuleMemory(NamedTuple):
    """State of a rule. The kernels write to it; unused arrays are empty."""

    dim: int  # of the weights; arrays may hold more, which stays 0
    w: FloatArray
    end: FloatArray  # space for the next weights
    theta: FloatArray  # exponentiated: the log-weights
    inverse: FloatArray  # Newton: A⁻¹ is inverse − v·vᵀ, by its lower triangle
    waiting: FloatArray  # v, and space for the diagonal
    total: FloatArray  # batch: the sum of its Δ so far
    pairs: FloatArray  # retrained: space for the Δ until the next training
    scratch: FloatArray  # space for a point of the space
    counts: IntArray


def program_of(rule: Rule) -> Program | None:
    """The program of a rule, if it has one that was written for its `step`."""
    return rule.program() if written_for(rule, "program", "step") else None


def memory_of(state: Mapping[str, NDArray[Any]], w: FloatArray, decided: int, multiple: int = 1) -> RuleMemory:
    """Copy of a rule's state at w; vectors are padded to a multiple of ``multiple`` numbers."""
    n, inverse = len(w), state.get("inverse", np.empty((0, 0)))
    width, kept = n + -n % multiple, len(inverse)
    base, end = zeros((2, width), np.float64)
    waiting = zeros((2, kept and width), np.float64)
    B = zeros((kept + -kept % min(multiple, 4), kept and width), np.float64)
    base[:n], B[:kept, :kept] = w, inverse
    counts = np.zeros(COUNTS, np.int64)
    counts[DECIDED] = decided
    for place, name in ((STEPS, "t"), (WAITING, "batch_waiting"), (SILENT, "uninformative")):
        counts[place] = int(state.get(name, 0))
    theta, total = (np.array(state.get(name, np.empty(0)), order="C") for name in ("theta", "batch_sum"))
    return RuleMemory(n, base, end, theta, B, waiting, total, np.empty((0, n)), np.empty(n + 1), counts)


def state_of(m: RuleMemory, before: Mapping[str, NDArray[Any]]) -> State:
    """State that a rule adopts after a loop; fields that the loop does not know come from ``before``."""
    core.settle(m.inverse, m.waiting)
    core.mirror(m.inverse)
    now = {
        "w": m.w[: m.dim].copy(),
        "theta": m.theta,
        "inverse": m.inverse[: m.dim, : m.dim].copy(),
        "batch_sum": m.total,
        "t": np.array(m.counts[STEPS]),
        "batch_waiting": np.array(m.counts[WAITING]),
        "uninformative": np.array(m.counts[SILENT]),
    }
    return {name: now.get(name, old) for name, old in before.items()}


def is_finite(m: RuleMemory) -> bool:
    """True if sums have stayed finite: after an overflow they never recover."""
    return all(bool(np.isfinite(array).all()) for array in (m.w, m.theta, m.total))


@structure
class Additive(Rule):
    """w ← w + direction. No step size, no projection; the order of the steps does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.optim import Additive
    >>> rule = Additive(dim=2)
    >>> rule.step(np.array([1.0, -1.0]))
    >>> rule.weights
    array([ 1., -1.])
    """

    def __init__(self, *, dim: int) -> None:
        self.dim = checks.dimension(dim)
        self._w: FloatArray = np.zeros(self.dim)

    @property
    def weights(self) -> FloatArray:
        """The sum of all steps."""
        return self._w

    def step(self, direction: FloatArray) -> None:
        """Add the direction."""
        self._w = moved(self._w, direction)

    def program(self) -> Program:
        """The rule for compiled loops."""
        return Program(ADDITIVE)

    def to_record(self) -> dict[str, Any]:
        """The arguments that make such a rule again."""
        return {"dim": self.dim}

    def state(self) -> State:
        """The weights."""
        return {"w": self._w}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over saved weights."""
        self._w = plain(state["w"])


S = TypeVar("S", bound=Space)


@structure
class Gradient(Rule, Generic[S]):
    """w ← Π(w + scale/√t · direction), t counting the steps, Π the Euclidean projection on a space.

    Parameters
    ----------
    space
        The convex set that w stays in, w being its free coordinates: 0 is the centre, where w starts.
    scale
        The factor of the step, > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Ball
    >>> from smidgen.optim import Gradient
    >>> rule = Gradient(space=Ball(dim=1, radius=1.5))
    >>> rule.step(np.array([1.0]))
    >>> rule.step(np.array([1.0]))  # 1 + 1/√2, brought back to 1.5
    >>> rule.weights
    array([1.5])
    """

    def __init__(self, *, space: S, scale: float = 1.0) -> None:
        checks.instance("space", space, Space, "give a Ball, a Box, a Simplex or an L1Ball")
        self.space = space
        self.dim = space.free_dim
        self.scale = checks.number("scale", scale, "give the factor of the step, e.g. scale=1.0", above=0.0)
        self._surely = space.inner_radius * (1.0 - 1e-12)  # what is no longer than this is inside
        self._w: FloatArray = np.zeros(self.dim)
        self._t = 0

    @property
    def weights(self) -> FloatArray:
        """The present point, in the free coordinates of the space."""
        return self._w

    def step(self, direction: FloatArray) -> None:
        """Step and project."""
        end: FloatArray = np.empty(self.dim)
        squares = steps.move(self._w, plain(direction), self.scale / math.sqrt(self._t + 1), end)
        self._w = end if math.sqrt(squares) <= self._surely else self.space.project(taken(end, squares))
        self._t += 1

    def program(self) -> Program | None:
        """The rule for compiled loops, on spaces that have a form there."""
        region = region_of(self.space)
        return None if region is None else Program(GRADIENT, scale=self.scale, region=region)

    def to_record(self) -> dict[str, Any]:
        """The arguments that make such a rule again."""
        return {"space": self.space, "scale": self.scale}

    def state(self) -> State:
        """The weights and the number of steps."""
        return {"w": self._w, "t": np.array(self._t)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a saved state."""
        self._w, self._t = plain(state["w"]), count(state, "t")


@structure
class Batched(Rule):
    """Collect the directions of ``size`` rounds and hand their sum to another rule as one step.

    Parameters
    ----------
    rule
        The rule that takes the step.
    size
        How many rounds make a batch.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.optim import Additive, Batched
    >>> rule = Batched(rule=Additive(dim=1), size=2)
    >>> rule.step(np.array([1.0]))
    >>> rule.weights
    array([0.])
    >>> rule.step(np.array([1.0]))
    >>> rule.weights
    array([2.])
    """

    def __init__(self, *, rule: Rule, size: int) -> None:
        checks.instance("rule", rule, Rule, "give a rule of smidgen.optim, e.g. Additive(dim=3)")
        self.rule = rule
        self.dim = rule.dim
        self.size = checks.whole("batch", size, "give the number of rounds between two updates, e.g. batch=10")
        self._sum: FloatArray = np.zeros(self.dim)
        self._waiting = 0

    @property
    def weights(self) -> FloatArray:
        """The weights after the last full batch."""
        return self.rule.weights

    def step(self, direction: FloatArray) -> None:
        """Add the direction to the batch, and step if that fills it."""
        total = moved(self._sum, direction)
        if self._waiting + 1 < self.size:
            self._sum, self._waiting = total, self._waiting + 1
        else:
            self.rule.step(total)
            self._sum, self._waiting = np.zeros(self.dim), 0

    def program(self) -> Program | None:
        """State of the inner rule, in batches."""
        inner = self.rule.program()
        return None if inner is None or inner.batch > 1 else inner._replace(batch=self.size)

    def to_record(self) -> dict[str, Any]:
        """The arguments that make such a rule again."""
        return {"rule": self.rule, "size": self.size}

    def state(self) -> State:
        """The inner rule's state and the batch in progress."""
        return {**self.rule.state(), "batch_sum": self._sum, "batch_waiting": np.array(self._waiting)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a saved state."""
        self.rule.restore(state)
        self._sum, self._waiting = plain(state["batch_sum"]), count(state, "batch_waiting")


@structure
class Soft(Additive):
    """w ← w + σ(−w·direction)·direction: a gradient step on the logistic loss ln(1 + exp(−w·direction)).

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.optim import Soft
    >>> rule = Soft(dim=2)
    >>> rule.step(np.array([1.0, -1.0]))
    >>> rule.weights
    array([ 0.5, -0.5])
    >>> rule.step(np.array([100.0, -100.0]))  # known already
    >>> rule.weights
    array([ 0.5, -0.5])
    """

    def step(self, direction: FloatArray) -> None:
        """Step along the direction, as far as it is news."""
        self.weighted_step(direction, 1.0)

    def weighted_step(self, direction: FloatArray, weight: float) -> None:
        """Like `step`, with ``weight``; the uncertainty decreases by the whole direction."""
        end: FloatArray = np.empty(self.dim)
        self._w = taken(end, steps.soft_move(self._w, plain(direction), weight, end))

    def program(self) -> Program:
        """The rule for compiled loops."""
        return Program(SOFT)
