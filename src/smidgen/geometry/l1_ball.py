"""The L1 ball: coordinates whose absolute values add up to no more than a radius."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray
from smidgen.geometry.simplex import nearest_shares
from smidgen.geometry.space import L1_BALL, Space, finite_norm, nearest_in_norm
from smidgen.serialization import structure


@structure
class L1Ball(Space):
    """All points x with Σ|x_i| ≤ radius: projections on it have many zeros.

    Parameters
    ----------
    dim
        The number of coordinates.
    radius
        The largest sum of absolute values, > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import L1Ball
    >>> L1Ball(dim=3, radius=1.0).project(np.array([0.9, -0.3, 0.05]))
    array([ 0.8, -0.2,  0. ])
    """

    reads_lower = True

    def __init__(self, *, dim: int, radius: float = 1.0) -> None:
        self.dim = checks.dimension(dim)
        self.radius = checks.number("radius", radius, "give the radius of the ball, e.g. radius=1.0", above=0.0)

    def __repr__(self) -> str:
        return f"L1Ball(dim={self.dim}, radius={self.radius:g})"

    @property
    def centre(self) -> FloatArray:
        """The origin."""
        return np.zeros(self.dim)

    @property
    def diameter(self) -> float:
        """The distance of opposite corners: 2·radius."""
        return 2.0 * self.radius

    @property
    def inner_radius(self) -> float:
        """The distance of the facets: radius/√dim."""
        return self.radius / math.sqrt(self.dim)

    @property
    def outer_radius(self) -> float:
        """The distance of the corners: the radius."""
        return self.radius

    def embed(self, z: FloatArray) -> FloatArray:
        """The point itself: the centre is the origin."""
        return z

    def coordinates(self, x: FloatArray) -> FloatArray:
        """The point itself."""
        return x

    def contains(self, point: FloatArray, tolerance: float = 1e-9) -> bool:
        """Return True if the absolute values add up to at most the radius, up to a relative tolerance."""
        finite_norm(point)
        return bool(np.sum(np.abs(point)) <= self.radius * (1.0 + tolerance))

    def project(self, point: FloatArray) -> FloatArray:
        """Argmin over u in the ball of ‖u − point‖²: a soft threshold, found by sorting in O(d log d)."""
        if self.contains(point, 0.0):
            return point
        return np.copysign(nearest_shares(np.abs(point), self.radius), point)

    def project_in_norm(self, point: FloatArray, inverse: FloatArray, tolerance: float = 1e-10) -> FloatArray:
        """Argmin over u in the ball of (u − point)ᵀ A (u − point), given A⁻¹: a dual active-set method.

        The cost is d³/3 plus O(d²) for each facet s·u ≤ radius, s = sign(u), that the method meets on its way; the 2^d
        facets are never listed. See `smidgen.geometry.space`.
        """
        if self.contains(point, 0.0):
            return point
        return self.project(nearest_in_norm(point, inverse, L1_BALL, np.array([self.radius]), tolerance))

    def _scaled(self, factor: float) -> L1Ball:
        return L1Ball(dim=self.dim, radius=factor * self.radius)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Uniform shares of the radius, one of them unused, with random signs."""
        shares = rng.exponential(size=self.dim + 1)
        x: FloatArray = rng.choice((-1.0, 1.0), size=self.dim) * (self.radius / shares.sum()) * shares[:-1]
        return x

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild this ball."""
        return {"dim": self.dim, "radius": self.radius}
