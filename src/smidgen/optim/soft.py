"""The soft perceptron's rule: the less the weights agree with a direction, the further they go along it."""

from __future__ import annotations

import math

import numpy as np

from smidgen._kernel import borrowing
from smidgen.decision import FloatArray
from smidgen.optim.additive import Additive
from smidgen.optim.rule import SOFT, Program, as_vector, move, taken
from smidgen.records import structure
from smidgen.vector.arrays import dot


@borrowing
def doubt(agreement: float) -> float:
    """σ(−z) = 1/(1 + e^z): 1 where the weights say the opposite, 0 where they agree; without overflow."""
    if agreement > 0.0:
        small = math.exp(-agreement)
        return small / (1.0 + small)
    return 1.0 / (1.0 + math.exp(agreement))


@borrowing
def soft_move(w: FloatArray, d: FloatArray, weight: float, end: FloatArray) -> float:
    """End = w + weight·σ(−w·d)·d; gives ‖end‖²."""
    return move(w, d, weight * doubt(dot(w, d)), end)


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
        """The same, counting for ``weight``: doubt goes by the whole direction."""
        end: FloatArray = np.empty(self.dim)
        self._w = taken(end, soft_move(self._w, as_vector(direction), weight, end))

    def program(self) -> Program:
        """The rule for compiled loops."""
        return Program(SOFT)
