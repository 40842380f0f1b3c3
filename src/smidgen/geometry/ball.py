"""The Euclidean ball, and how to come back to it: by the shortest way, or by the shortest way in another norm."""

from __future__ import annotations

import math

import numpy as np

from smidgen import checks
from smidgen._kernel import kernel
from smidgen.features import dense_scores
from smidgen.geometry.space import Space, finite_norm
from smidgen.records import structure
from smidgen.types import FloatArray


@kernel
def _solve_shifted(a: FloatArray, b: FloatArray, lam: float, rhs: FloatArray) -> FloatArray:
    """(I + lam·T)⁻¹ rhs for the symmetric tridiagonal T with diagonal a and off-diagonal b."""
    m = rhs.shape[0]
    pivot, x = np.empty(m), np.empty(m)
    pivot[0], x[0] = 1.0 + lam * a[0], rhs[0]
    for i in range(1, m):
        factor = lam * b[i - 1] / pivot[i - 1]
        pivot[i] = 1.0 + lam * a[i] - factor * lam * b[i - 1]
        x[i] = rhs[i] - factor * x[i - 1]
    x[m - 1] /= pivot[m - 1]
    for i in range(m - 2, -1, -1):
        x[i] = (x[i] - lam * b[i] * x[i + 1]) / pivot[i]
    return x


@kernel
def _multiplier(a: FloatArray, b: FloatArray, norm: float, radius: float) -> tuple[float, FloatArray]:
    """The lam ≥ 0 with ‖z‖ = radius for z = (I + lam·T)⁻¹ norm·e_1, and z.

    1/‖z‖ is concave in lam, so Newton's steps rise from 0 to the root and never overshoot.
    """
    m = a.shape[0]
    rhs, lam = np.zeros(m), 0.0
    rhs[0] = norm
    z = rhs
    for _ in range(200):
        z = _solve_shifted(a, b, lam, rhs)
        length = math.sqrt(np.sum(z * z))
        if length <= radius * (1.0 + 1e-15):
            break
        Tz = a * z
        Tz[:-1] += b[: m - 1] * z[1:]
        Tz[1:] += b[: m - 1] * z[:-1]
        slope = np.sum(z * _solve_shifted(a, b, lam, Tz))
        higher = lam + (length - radius) / radius * length * length / slope
        if higher <= lam:
            break
        lam = higher
    return lam, z


@kernel
def project_on_ball(B: FloatArray, v: FloatArray, radius: float, tolerance: float) -> FloatArray:
    """(I + lam·B)⁻¹ v with norm radius: Lanczos on (B, v) until the residual is below tolerance·radius."""
    n = v.shape[0]
    norm = math.sqrt(np.sum(v * v))
    Q = np.empty((min(n, 16), n))
    a, b = np.empty(n), np.zeros(n)
    Q[0] = v / norm
    for m in range(1, n + 1):
        u = dense_scores(B, Q[m - 1])
        a[m - 1] = np.sum(u * Q[m - 1])
        for _ in range(2):  # full reorthogonalisation, twice: the basis is short, so this is cheap
            for k in range(m):
                u -= np.sum(u * Q[k]) * Q[k]
        b[m - 1] = math.sqrt(np.sum(u * u))
        lam, z = _multiplier(a[:m], b[:m], norm, radius)
        # Lanczos: (I + lam·B)Qᵀz − v = lam·b_m·z_m·q_{m+1}, so this is the residual, and it bounds the error
        if m == n or lam * b[m - 1] * abs(z[m - 1]) <= tolerance * radius:
            break
        if m == Q.shape[0]:
            more = np.empty((min(n, 2 * m), n))
            more[:m] = Q
            Q = more
        Q[m] = u / b[m - 1]
    w = np.zeros(n)
    for k in range(z.shape[0]):
        w += z[k] * Q[k]
    return w * min(1.0, radius / math.sqrt(np.sum(w * w)))


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
        return point if norm <= self.radius else point * (self.radius / norm)

    def project_in_norm(self, point: FloatArray, inverse: FloatArray, tolerance: float = 1e-10) -> FloatArray:
        """Argmin over u in the ball of (u − point)ᵀ A (u − point), given A⁻¹.

        The solution is u = (I + λA⁻¹)⁻¹ point with the λ ≥ 0 that gives ‖u‖ = radius. A few Lanczos steps on A⁻¹
        turn that into a tridiagonal problem with a scalar root, so the cost is O(N²) per step (the paper
        counts O(N³)). The number of steps adapts: the residual, which bounds the error of u, falls below
        ``tolerance``·radius, or the basis is complete and the solution exact.
        """
        if finite_norm(point) <= self.radius:
            return point
        return project_on_ball(inverse, point, self.radius, tolerance)

    def _scaled(self, factor: float) -> Ball:
        return Ball(dim=self.dim, radius=factor * self.radius)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """A uniform direction times radius·U^(1/dim), U uniform in [0, 1)."""
        x = rng.normal(size=self.dim)
        length = self.radius * rng.random() ** (1.0 / self.dim)
        return x * float(length / math.sqrt(np.dot(x, x)))

    def to_record(self) -> dict[str, float]:
        """The fields that rebuild this ball."""
        return {"dim": self.dim, "radius": self.radius}

    @classmethod
    def from_record(cls, fields: dict[str, float]) -> Ball:
        """Rebuild from `to_record`."""
        return cls(dim=int(fields["dim"]), radius=fields["radius"])
