"""The soft perceptron's rule: the less the weights agree with a direction, the further they go along it."""

from __future__ import annotations

import numpy as np

from smidgen._core import steps
from smidgen.decision import FloatArray
from smidgen.geometry.space import plain
from smidgen.optim.additive import Additive
from smidgen.optim.rule import SOFT, Program, taken
from smidgen.records import structure


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
        self._w = taken(end, steps.soft_move(self._w, plain(direction), weight, end))

    def program(self) -> Program:
        """The rule for compiled loops."""
        return Program(SOFT)
