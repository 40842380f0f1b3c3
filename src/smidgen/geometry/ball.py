"""The Euclidean ball, and how to come back to it: by the shortest way, or by the shortest way in another norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core import geometry as core
from smidgen.decision import FloatArray
from smidgen.geometry.space import BALL, Region, Space, finite_norm, plain
from smidgen.serialization import structure


@structure
class Ball(Space):
    """All points within ``radius`` of the origin.

    Parameters
    ----------
    dim
        The number of coordinates.
    radius
        How far from the origin, > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Ball
    >>> Ball(dim=2, radius=1.0).project(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """

    reads_lower = True

    def __init__(self, *, dim: int, radius: float = 1.0) -> None:
        self.dim = checks.dimension(dim)
        self.radius = checks.number("radius", radius, "give the radius of the ball, e.g. radius=1.0", above=0.0)

    def __repr__(self) -> str:
        return f"Ball(dim={self.dim}, radius={self.radius:g})"

    @property
    def centre(self) -> FloatArray:
        """The origin."""
        return np.zeros(self.dim)

    @property
    def diameter(self) -> float:
        """The largest distance between two points of the ball: 2·radius."""
        return 2.0 * self.radius

    @property
    def inner_radius(self) -> float:
        """The radius."""
        return self.radius

    @property
    def outer_radius(self) -> float:
        """The radius."""
        return self.radius

    def embed(self, z: FloatArray) -> FloatArray:
        """The point itself: the centre is the origin."""
        return z

    def coordinates(self, x: FloatArray) -> FloatArray:
        """The point itself."""
        return x

    def contains(self, point: FloatArray, tolerance: float = 1e-9) -> bool:
        """Return True if ``point`` is in the ball, up to a relative tolerance."""
        return bool(finite_norm(point) <= self.radius * (1.0 + tolerance))

    def project(self, point: FloatArray) -> FloatArray:
        """Argmin over u in the ball of ‖u − point‖²: the point itself, or its direction times the radius."""
        norm = finite_norm(point)
        if norm <= self.radius:
            return point
        return np.asarray(point, dtype=np.float64) * (self.radius / norm)

    def project_in_norm(self, point: FloatArray, inverse: FloatArray, tolerance: float = 1e-10) -> FloatArray:
        """Argmin over u in the ball of (u − point)ᵀ A (u − point), given A⁻¹.

        The solution is u = (I + λA⁻¹)⁻¹ point with the λ ≥ 0 that gives ‖u‖ = radius. A few Lanczos steps on A⁻¹
        turn that into a tridiagonal problem with a scalar root, so the cost is O(N²) per step (the paper
        counts O(N³)). The number of steps adapts: the residual, which bounds the error of u, falls below
        ``tolerance``·radius, or the basis is complete and the solution exact.
        """
        if finite_norm(point) <= self.radius:
            return point
        u: FloatArray = np.empty(self.dim)
        core.project_on_ball(plain(inverse), plain(point), self.radius, tolerance, u)
        return u

    def region(self) -> Region:
        """The ball for compiled code."""
        none = np.zeros(0)
        return Region(BALL, self.dim, none, none, none, np.array([self.radius]))

    def _scaled(self, factor: float) -> Ball:
        return Ball(dim=self.dim, radius=factor * self.radius)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """A uniform direction times radius·U^(1/dim), U uniform in [0, 1)."""
        x = rng.normal(size=self.dim)
        length = self.radius * rng.random() ** (1.0 / self.dim)
        return x * float(length / math.sqrt(np.dot(x, x)))

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild this ball."""
        return {"dim": self.dim, "radius": self.radius}
