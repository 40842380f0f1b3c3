"""The perceptron's rule: add the direction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen.decision import FloatArray
from smidgen.geometry.space import plain
from smidgen.optim.rule import ADDITIVE, Program, Rule, State, moved
from smidgen.records import structure


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
        """The arguments that make such a rule anew."""
        return {"dim": self.dim}

    def state(self) -> State:
        """The weights."""
        return {"w": self._w}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over saved weights."""
        self._w = plain(state["w"])
