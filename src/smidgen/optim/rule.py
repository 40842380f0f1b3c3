"""What every update rule has in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from smidgen._core import steps
from smidgen._core.geometry import norm
from smidgen.arrays import writable
from smidgen.decision import FloatArray
from smidgen.errors import InvalidFeatures, InvalidRecord, NotFinite
from smidgen.geometry.polytope import BALL
from smidgen.geometry.space import Region, plain
from smidgen.settings import Versioned

State = dict[str, NDArray[Any]]


ADDITIVE, GRADIENT, NEWTON, EXPONENTIATED, RETRAINED, SOFT = range(6)  # kinds of rules in compiled loops
_NOWHERE = Region(BALL, 0, *np.zeros((4, 1)))


class Program(NamedTuple):
    """What a rule is set to, for compiled loops (see `smidgen.optim.program`). A kind reads its own fields."""

    kind: int
    batch: int = 1  # rounds per step
    scale: float = 1.0  # of a step; the bound S of an exponentiated one
    gamma: float = 1.0
    horizon: int = 0  # 0: none, the rate falls with the steps
    signed: bool = True
    region: Region = _NOWHERE  # what the weights are brought back to


class Rule(Versioned, ABC):
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
        """The arguments that make such a rule anew."""

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
        if math.isfinite(norm(vector)):
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
        raise InvalidRecord(f"{name} is {number} and must be >= 0", "give what state gave")
    return number
