"""The online Newton step (Hazan, Agarwal and Kale 2007): the metric learns with the weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import steps
from smidgen.decision import FloatArray
from smidgen.errors import NotFinite
from smidgen.geometry import Space
from smidgen.geometry.space import plain, region_of
from smidgen.optim.rules import NEWTON, Program, Rule, State
from smidgen.serialization import structure
from smidgen.state import FullSecondOrder

S = TypeVar("S", bound=Space)


@structure
class Newton(Rule, Generic[S]):
    """A ← A + gamma·d·dᵀ; w ← Π_A(w + scale·A⁻¹d), d the direction, Π_A the projection in the norm of A.

    Parameters
    ----------
    space
        The convex set that w stays in, w being its free coordinates: 0 is the centre, where w starts.
    gamma
        The weight of each d·dᵀ in A, > 0.
    epsilon
        A starts as epsilon·I, > 0.
    scale
        The factor of the step, > 0.

    Notes
    -----
    **Cost**: 3N² operations for the update; a projection, when w has left the space, a few times 2N² more on a ball,
    N³/3 and O(N²) per active constraint on the other spaces.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Ball
    >>> from smidgen.optim import Newton
    >>> rule = Newton(space=Ball(dim=2, radius=10.0))
    >>> rule.step(np.array([1.0, 0.0]))
    >>> rule.step(np.array([1.0, 0.0]))  # A = diag(3, 1) by now: 1/2 + 1/3
    >>> rule.weights
    array([0.8333, 0. ])
    """

    def __init__(self, *, space: S, gamma: float = 1.0, epsilon: float = 1.0, scale: float = 1.0) -> None:
        checks.instance("space", space, Space, "give a Ball, a Box, a Simplex or an L1Ball")
        self.space = space
        self.dim = space.free_dim
        self.gamma = checks.number("gamma", gamma, "omit it for 1.0", above=0.0)
        self.epsilon = checks.number("epsilon", epsilon, "omit it for 1.0", above=0.0)
        self.scale = checks.number("scale", scale, "omit it for 1.0", above=0.0)
        self.second_order = FullSecondOrder(self.dim, self.epsilon)
        self._surely = space.inner_radius * (1.0 - 1e-12)  # what is no longer than this is inside
        self._w: FloatArray = np.zeros(self.dim)

    @classmethod
    def estimate_size(cls, arguments: Mapping[str, Any]) -> int:
        """Estimate the bytes of w and A⁻¹."""
        return 8 * int(arguments["space"].dim) * (int(arguments["space"].dim) + 4)

    @property
    def weights(self) -> FloatArray:
        """The present point, in the free coordinates of the space."""
        return self._w

    def step(self, direction: FloatArray) -> None:
        """Grow A, step, project."""
        A, end = self.second_order, np.empty(self.dim)
        d = plain(direction)
        squares = steps.newton_move(A.lower, A.waiting, d, self._w, self.gamma, self.scale, end, A.turn())
        if not math.isfinite(squares):
            raise NotFinite(
                "the step leads to values that are not finite", "scale the features down; unit length is a good choice"
            )
        if math.sqrt(squares) > self._surely and not self.space.contains(end, 0.0):
            end = self.space.project_in_norm(end, A.settle() if self.space.reads_lower else A.inverse)
        self._w = end

    def program(self) -> Program | None:
        """The rule for compiled loops, on spaces that have a form there."""
        region = region_of(self.space)
        return None if region is None else Program(NEWTON, scale=self.scale, gamma=self.gamma, region=region)

    def to_record(self) -> dict[str, Any]:
        """The arguments that make such a rule again."""
        return {"space": self.space, "gamma": self.gamma, "epsilon": self.epsilon, "scale": self.scale}

    def state(self) -> State:
        """The weights and A⁻¹."""
        return {"w": self._w, "inverse": self.second_order.inverse}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a saved state."""
        self._w, self.second_order.inverse = plain(state["w"]), state["inverse"]
