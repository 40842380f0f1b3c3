"""The Euclidean ball, and how to come back to it: by the shortest way, or by the shortest way in another norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._kernel import inlined, kernel
from smidgen.decision import FloatArray
from smidgen.geometry.polytope import BALL
from smidgen.geometry.space import Region, Space, finite_norm
from smidgen.geometry.symmetric import multiply
from smidgen.records import structure
from smidgen.vector.arrays import dot


@inlined
def shorten(z: FloatArray, norm: float, radius: float) -> None:
    """Bring z, which has this norm, to that length."""
    factor = radius / norm
    for i in range(z.shape[0]):
        z[i] *= factor


@kernel
def _solve_shifted(a: FloatArray, b: FloatArray, lam: float, pivot: FloatArray, x: FloatArray) -> None:
    """X ← (I + lam·T)⁻¹ x for the symmetric tridiagonal T with diagonal a and off-diagonal b; pivot is scratch."""
    m = x.shape[0]
    pivot[0] = 1.0 + lam * a[0]
    for i in range(1, m):
        factor = lam * b[i - 1] / pivot[i - 1]
        pivot[i] = 1.0 + lam * a[i] - factor * lam * b[i - 1]
        x[i] -= factor * x[i - 1]
    x[m - 1] /= pivot[m - 1]
    for i in range(m - 2, -1, -1):
        x[i] = (x[i] - lam * b[i] * x[i + 1]) / pivot[i]


@kernel
def _multiplier(a: FloatArray, b: FloatArray, norm: float, radius: float, lam: float, z: FloatArray) -> float:
    """The lam ≥ 0 with ‖z‖ = radius for z = (I + lam·T)⁻¹ norm·e_1, from a guess at it; writes z.

    1/‖z‖ is concave in lam, so one of Newton's steps from above the root leads below it, and the steps from there rise
    to it and never overshoot.
    """
    m = z.shape[0]
    Tz, pivot = np.empty(m), np.empty(m)
    for k in range(200):
        z[:] = 0.0
        z[0] = norm
        _solve_shifted(a, b, lam, pivot, z)
        length = math.sqrt(dot(z, z))
        if abs(length - radius) <= 1e-15 * radius or (k > 0 and length < radius):
            break
        for i in range(m):
            Tz[i] = a[i] * z[i]
            if i > 0:
                Tz[i] += b[i - 1] * z[i - 1]
            if i < m - 1:
                Tz[i] += b[i] * z[i + 1]
        _solve_shifted(a, b, lam, pivot, Tz)
        next_lam = max(lam + (length - radius) / radius * length * length / dot(z, Tz), 0.0)
        if k > 0 and next_lam <= lam:
            break
        lam = next_lam
    return lam


@kernel
def _add(x: FloatArray, y: FloatArray, factor: float) -> None:
    """X ← x + factor·y."""
    for i in range(x.shape[0]):
        x[i] += factor * y[i]


@kernel
def project_on_ball(B: FloatArray, v: FloatArray, radius: float, tolerance: float) -> FloatArray:
    """(I + lam·B)⁻¹ v with norm radius: Lanczos on (B, v) until the residual is below tolerance·radius.

    Of B only the lower triangle counts (see `smidgen.geometry.symmetric`).
    """
    n, m, lam = v.shape[0], 1, 0.0
    norm = math.sqrt(dot(v, v))
    Q = np.empty((min(n, 16), n))
    a, b, z, u = np.empty(n), np.zeros(n), np.empty(n), np.empty(n)
    for i in range(n):
        Q[0, i] = v[i] / norm
    while True:
        a[m - 1] = multiply(B, Q[m - 1], u, m % 2 == 0)
        for _ in range(2):  # full reorthogonalisation, twice: the basis is short, so this is cheap
            for k in range(m):
                _add(u, Q[k], -dot(u, Q[k]))
        b[m - 1] = math.sqrt(dot(u, u))
        lam = _multiplier(a[:m], b[:m], norm, radius, lam, z[:m])
        # Lanczos: (I + lam·B)Qᵀz − v = lam·b_m·z_m·q_{m+1}, so this is the residual, and it bounds the error
        if m == n or lam * b[m - 1] * abs(z[m - 1]) <= tolerance * radius:
            break
        if m == Q.shape[0]:
            more = np.empty((min(n, 2 * m), n))
            more[:m] = Q
            Q = more
        for i in range(n):
            Q[m, i] = u[i] / b[m - 1]
        m += 1
    w = np.zeros(n)
    for k in range(m):
        _add(w, Q[k], z[k])
    length = math.sqrt(dot(w, w))
    if not (0.0 < length < math.inf):  # rounding has left nothing of the metric: the shortest way, then
        return v * (radius / norm)
    return w * min(1.0, radius / length)


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
        """Whether ``point`` is in the ball, up to a relative tolerance."""
        return bool(finite_norm(point) <= self.radius * (1.0 + tolerance))

    def project(self, point: FloatArray) -> FloatArray:
        """Argmin over u in the ball of ‖u − point‖²: the point itself, or its direction times the radius."""
        norm = finite_norm(point)
        if norm <= self.radius:
            return point
        nearest = np.array(point, dtype=np.float64)
        shorten(nearest, norm, self.radius)
        return nearest

    def project_in_norm(self, point: FloatArray, inverse: FloatArray, tolerance: float = 1e-10) -> FloatArray:
        """Argmin over u in the ball of (u − point)ᵀ A (u − point), given A⁻¹.

        The solution is u = (I + λA⁻¹)⁻¹ point with the λ ≥ 0 that gives ‖u‖ = radius. A few Lanczos steps on A⁻¹
        turn that into a tridiagonal problem with a scalar root, so the cost is O(N²) per step (the paper
        counts O(N³)). The number of steps adapts: the residual, which bounds the error of u, falls below
        ``tolerance``·radius, or the basis is complete and the solution exact.
        """
        if finite_norm(point) <= self.radius:
            return point
        B, v = np.ascontiguousarray(inverse, dtype=np.float64), np.ascontiguousarray(point, dtype=np.float64)
        return project_on_ball(B, v, self.radius, tolerance)

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
