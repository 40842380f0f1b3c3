"""Projected online gradient (Zinkevich 2003): steps of length ∝ 1/√t, then back to the set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import steps
from smidgen.decision import FloatArray
from smidgen.geometry import Space
from smidgen.geometry.region import region_of
from smidgen.geometry.space import plain
from smidgen.optim.rule import GRADIENT, Program, Rule, State, count, taken
from smidgen.records import structure

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
        """The arguments that make such a rule anew."""
        return {"space": self.space, "scale": self.scale}

    def state(self) -> State:
        """The weights and the number of steps."""
        return {"w": self._w, "t": np.array(self._t)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a saved state."""
        self._w, self._t = plain(state["w"]), count(state, "t")
