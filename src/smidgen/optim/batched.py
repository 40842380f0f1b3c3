"""Any rule, moved only every k-th time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen.decision import FloatArray
from smidgen.geometry.space import plain
from smidgen.optim.rule import Program, Rule, State, count, moved
from smidgen.records import structure


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
        """That of the inner rule, in batches."""
        inner = self.rule.program()
        return None if inner is None or inner.batch > 1 else inner._replace(batch=self.size)

    def to_record(self) -> dict[str, Any]:
        """The arguments that make such a rule anew."""
        return {"rule": self.rule, "size": self.size}

    def state(self) -> State:
        """The inner rule's state and the batch in progress."""
        return {**self.rule.state(), "batch_sum": self._sum, "batch_waiting": np.array(self._waiting)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a saved state."""
        self.rule.restore(state)
        self._sum, self._waiting = plain(state["batch_sum"]), count(state, "batch_waiting")
