"""What every update rule has in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import kernel, ordinary
from smidgen.decision import FloatArray
from smidgen.errors import InvalidFeatures, InvalidRecord, NotFinite
from smidgen.settings import Versioned

State = dict[str, NDArray[Any]]


@kernel
def _move(start: FloatArray, direction: FloatArray, rate: float, end: FloatArray) -> None:
    """End = start + rate·direction."""
    for i in range(start.shape[0]):
        end[i] = start[i] + rate * direction[i]


@kernel
def _squares(vector: FloatArray) -> float:
    """‖vector‖², which may be infinite; NaN if the vector is not finite."""
    n = vector.shape[0]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for k in range(0, n - n % 4, 4):  # four sums, so that none waits for the other
        a, b, c, d = vector[k], vector[k + 1], vector[k + 2], vector[k + 3]
        s0, s1, s2, s3 = s0 + a * a, s1 + b * b, s2 + c * c, s3 + d * d
    for k in range(n - n % 4, n):
        s0 += vector[k] * vector[k]
    squares = (s0 + s1) + (s2 + s3)
    return squares if squares < np.inf or np.isfinite(vector).all() else np.nan


@kernel
def _measured_move(start: FloatArray, direction: FloatArray, rate: float, end: FloatArray) -> float:
    """End = start + rate·direction; returns its `_squares`."""
    _move(start, direction, rate, end)
    return _squares(end)


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

    @property
    @abstractmethod
    def weights(self) -> FloatArray:
        """The present weight vector, of length dim. Not to be written to."""

    @abstractmethod
    def step(self, direction: FloatArray) -> None:
        """Take one step along ``direction``; refuse, and change nothing, if the result would not be finite."""

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
        vector = ordinary(value)
        if not math.isnan(_squares(vector)):
            return vector
    direction = np.asarray(value.toarray() if hasattr(value, "toarray") else value)
    if direction.dtype.kind not in "fiub" or direction.shape not in ((dim,), (1, dim)):
        raise InvalidFeatures(
            f"the feature vector has shape {direction.shape} and dtype {direction.dtype}",
            f"return {dim} real numbers as a 1-D array, or make a learner with another dim",
        )
    vector = ordinary(direction.astype(np.float64, copy=False).reshape(dim))
    if not np.isfinite(vector).all():
        raise InvalidFeatures("the feature vector holds values that are not finite", "return finite numbers")
    return vector


def moved(start: FloatArray, direction: FloatArray, rate: float = 1.0) -> FloatArray:
    """Start + rate·direction as a new vector; refused if it is not finite."""
    return moved_by(start, direction, rate)[0]


def moved_by(start: FloatArray, direction: FloatArray, rate: float) -> tuple[FloatArray, float]:
    """The same, and the norm of the new vector, up to rounding; it may be infinite."""
    end: FloatArray = np.empty(len(start))
    squares = _measured_move(start, direction, rate, end)
    if math.isnan(squares):
        raise NotFinite("the step leads to values that are not finite", "scale the features down")
    return end, math.sqrt(squares)


def count(state: Mapping[str, NDArray[Any]], name: str) -> int:
    """A counter out of saved arrays."""
    number = int(state[name])
    if number < 0:
        raise InvalidRecord(f"{name} is {number} and must be >= 0", "give what state gave")
    return number
