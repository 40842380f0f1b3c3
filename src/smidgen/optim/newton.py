"""The online Newton step (Hazan, Agarwal and Kale 2007): the metric learns with the weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen.geometry import Space
from smidgen.optim.rule import Rule, State, moved
from smidgen.records import structure
from smidgen.state import FullSecondOrder
from smidgen.types import FloatArray

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
    **Cost**: 4N² operations for the update; a projection, when w has left the space, a few times 2N² more on a ball,
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
        self.space = space
        self.dim = space.free_dim
        self.gamma = checks.number("gamma", gamma, "leave it out for 1.0", above=0.0)
        self.epsilon = checks.number("epsilon", epsilon, "leave it out for 1.0", above=0.0)
        self.scale = checks.number("scale", scale, "leave it out for 1.0", above=0.0)
        self.second_order = FullSecondOrder(self.dim, self.epsilon)
        self._w: FloatArray = np.zeros(self.dim)

    @property
    def weights(self) -> FloatArray:
        """The present point, in the free coordinates of the space."""
        return self._w

    def step(self, direction: FloatArray) -> None:
        """Grow A, step, project."""
        product, quadratic = self.second_order.product(direction)
        newton = product / (1.0 + self.gamma * quadratic)  # = (A + γddᵀ)⁻¹d, from the product with the old A⁻¹
        end = moved(self._w, newton, self.scale)
        inside = self.space.contains(end, 0.0)  # refuses a norm that overflows, before anything has changed
        self.second_order.absorb(product, quadratic, self.gamma)
        self._w = end if inside else self.space.project_in_norm(end, self.second_order.inverse)

    def to_record(self) -> dict[str, Any]:
        """The arguments that make such a rule anew."""
        return {"space": self.space, "gamma": self.gamma, "epsilon": self.epsilon, "scale": self.scale}

    def state(self) -> State:
        """The weights and A⁻¹."""
        return {"w": self._w, "inverse": self.second_order.inverse}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a saved state."""
        self._w, self.second_order.inverse = state["w"], state["inverse"]
