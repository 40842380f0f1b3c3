"""The references of the tune loop: plain loops, A itself, and the slow projections.

Each shape has a centre and an orthonormal Q of its own (not the package's), so that x = centre + Q·z.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

import reference

FloatArray = np.ndarray


class Shape(ABC):
    """A convex set around its centre, and the nearest point of the set scaled by a factor, in the norm of A."""

    def __init__(self, centre: Any, Q: Any = None) -> None:
        self.centre = np.asarray(centre, float)
        self.Q = np.eye(len(self.centre)) if Q is None else np.asarray(Q)
        self.n = self.Q.shape[1]

    @abstractmethod
    def nearest(self, z: FloatArray, A: FloatArray, factor: float) -> FloatArray:
        """The nearest point of the scaled set."""


class Ball(Shape):
    def __init__(self, dim: int, radius: float) -> None:
        super().__init__(np.zeros(dim))
        self.radius = radius

    def nearest(self, z: FloatArray, A: FloatArray, factor: float) -> FloatArray:
        return reference.project_ball_in_norm(z, A, factor * self.radius)


class Box(Shape):
    def __init__(self, low: Any, high: Any) -> None:
        super().__init__((np.asarray(low) + np.asarray(high)) / 2)
        self.half = (np.asarray(high) - np.asarray(low)) / 2

    def nearest(self, z: FloatArray, A: FloatArray, factor: float) -> FloatArray:
        half = reference.rational(factor * self.half)
        return reference.project_faces_in_norm(
            z,
            np.linalg.inv(A),
            reference.box_faces(half),
            lambda u: all(abs(x) <= h for x, h in zip(u, half, strict=True)),
        )


class Simplex(Shape):
    def __init__(self, dim: int) -> None:
        _, _, rows = np.linalg.svd(np.ones((1, dim)))
        super().__init__(np.full(dim, 1 / dim), rows[1:].T)

    def nearest(self, z: FloatArray, A: FloatArray, factor: float) -> FloatArray:
        rows, depth = reference.rational(self.Q), reference.rational(factor / len(self.centre))
        return reference.project_faces_in_norm(
            z,
            np.linalg.inv(A),
            reference.floor_faces(rows, depth),
            lambda u: all(reference.dot(row, u) >= -depth for row in rows),
        )


class L1Ball(Shape):
    def __init__(self, dim: int, radius: float) -> None:
        super().__init__(np.zeros(dim))
        self.radius = radius

    def nearest(self, z: FloatArray, A: FloatArray, factor: float) -> FloatArray:
        if sum(abs(z)) <= factor * self.radius:
            return z
        radius = reference.rational(factor * self.radius)
        return reference.project_faces_in_norm(
            z, np.linalg.inv(A), reference.l1_faces(self.n, radius), lambda u: sum(abs(x) for x in u) <= radius
        )


class Judge:
    """A point z of a shape scaled by 1 − γ."""

    def __init__(self, shape: Shape, gamma: float = 0.0, start: FloatArray | None = None) -> None:
        self.shape, self.factor, self.t = shape, 1.0 - gamma, 0
        self.z = np.zeros(shape.n) if start is None else start

    @property
    def point(self) -> FloatArray:
        return self.shape.centre + self.shape.Q @ self.z


class Descent(Judge):
    """y ← Π(y − scale/√t·g): OGD with scale D/G and the gradient, OGDEG with scale D/F and f(x)·v."""

    def __init__(self, shape: Shape, scale: float, gamma: float = 0.0, start: FloatArray | None = None) -> None:
        super().__init__(shape, gamma, start)
        self.scale = scale

    def learn(self, g: FloatArray) -> None:
        self.t += 1
        step = self.scale / math.sqrt(self.t) * (self.shape.Q.T @ g)
        self.z = self.shape.nearest(self.z - step, np.eye(self.shape.n), self.factor)


class NewtonSteps(Judge):
    """A ← A + ggᵀ; y ← Π^A(y − A⁻¹g/β): ONS with the gradient, ONSEG with (N/δ)·f(x)·v."""

    def __init__(
        self, shape: Shape, beta: float, D: float, gamma: float = 0.0, start: FloatArray | None = None
    ) -> None:
        super().__init__(shape, gamma, start)
        self.beta, self.A = beta, np.eye(shape.n) / (beta * D) ** 2

    def learn(self, g: FloatArray) -> None:
        along = self.shape.Q.T @ g
        self.A = self.A + np.outer(along, along)
        self.z = self.shape.nearest(self.z - np.linalg.solve(self.A, along) / self.beta, self.A, self.factor)


def bound_ogd(T: int, D: float, G: float) -> float:
    """D²/(2η_T) + (G²/2)·Ση_t with η_t = D/(G√t), and Σ1/√t ≤ 2√T."""
    return D**2 / (2 * D / (G * math.sqrt(T))) + G**2 / 2 * D / G * 2 * math.sqrt(T)


def bound_ons(T: int, dim: int, D: float, G: float, alpha: float) -> float:
    return 5 * (1 / alpha + G * D) * dim * math.log(T)


def bound_ogdeg(T: int, dim: int, F: float, R: float, r: float, L: float | None, descent: float = 1.0) -> float:
    """Theorems 1 and 2 by their proofs: descent·a/δ + bδ/γ + cγ, or descent·a/δ + bδ, at the δ and γ of the theorems.

    ``descent`` is what the regret of the gradient steps is, in units of RG√T.
    """
    a = R * dim * F * math.sqrt(T)
    if L is None:
        delta, gamma = (r * R**2 * dim**2 / (12 * T)) ** (1 / 3), (3 * R * dim / (2 * r * math.sqrt(T))) ** (1 / 3)
        return descent * a / delta + 6 * F * T / r * delta / gamma + 2 * F * T * gamma
    delta = T**-0.25 * math.sqrt(R * dim * F * r / (3 * (L * r + F)))
    return descent * a / delta + (3 * L + 3 * F / r) * T * delta


def bound_onseg(T: int, dim: int, F: float, D: float, r: float, sigma: float, L: float | None) -> float:
    """Eq. 5 at the δ and γ of the theorems; with L, 2γFT is counted as 3FδT/r, as the printed theorem does."""
    log = math.log(T)
    if L is None:
        delta, gamma = (
            (25 * dim**4 * D**2 * log**2 * r / (3 * T**2)) ** (1 / 3),
            (15 * dim**2 * D * log / (r * T)) ** (1 / 3),
        )
        rest = 3 * (2 * F / (gamma * r)) * delta * T + 2 * gamma * F * T
    else:
        delta = math.sqrt(10 * dim**2 * F * D * r * log / (3 * (L * r + F) * T))
        rest = 3 * L * delta * T + 3 * F * delta * T / r
    alpha = sigma * delta**2 / (dim**2 * F**2)
    return 10 * dim**2 * F * D * log / delta + rest + 5 * dim * log / alpha


class Quadratic:
    """QuadraticTuner: all losses kept, the surface found again every time; candidates and normals come from outside."""

    def __init__(
        self,
        dim: int,
        width: float,
        forgetting: float,
        columns: int = 0,
        settle: bool = False,
        safe: tuple[FloatArray, float] | None = None,
    ) -> None:
        self.dim, self.width, self.f, self.columns, self.safe = dim, width, forgetting, columns, safe
        self.points: list[FloatArray] = []
        self.contexts: list[FloatArray] = []
        self.losses: list[float] = []
        self.raw: list[float] = []
        self.best = np.zeros(dim) if safe is None else safe[0]
        self.scale, self.sse, self.side = (0.0, 1.0), 0.05, 0
        self.settle, self.radius, self.seen = settle, 0.0, 0

    def own(self, z: FloatArray) -> list[float]:
        """1, z_i, and products: all of them up to ten coordinates, then squares."""
        many = self.dim > 10
        return [1.0, *z, *(z[i] * z[j] for i in range(self.dim) for j in range(i, i + 1 if many else self.dim))]

    def phi(self, z: FloatArray, c: FloatArray) -> FloatArray:
        terms = self.own(z)
        for j in range(self.columns):
            terms += [c[j], *(c[j] * each for each in z), *(c[j] * c[i] for i in range(0 if j < 8 else j, j + 1))]
        return np.array(terms)

    def ridge(self) -> FloatArray:
        """.1, .01 with a safe setting; ten times as much for products of two of six to ten coordinates."""
        pairs = [(i, j) for i in range(self.dim) for j in range(i, self.dim)] if self.dim <= 10 else []
        crossed = [self.dim > 5 and i != j for i, j in pairs] or [False] * self.dim
        rest = len(self.phi(np.zeros(self.dim), np.zeros(self.columns))) - 1 - self.dim - len(crossed)
        a = 0.1 if self.safe is None else 0.01
        return np.array([a] * (1 + self.dim) + [10 * a if each else a for each in crossed] + [a] * rest)

    def scaled_losses(self) -> list[float]:
        """The losses in the present scale; one that came before the scale was as wide counts as it did then."""
        low, spread = self.scale
        return [0.4 + 0.4 * (loss - low) / spread for loss in self.losses]

    def surface(self, n: int) -> tuple[FloatArray, FloatArray]:
        """A and w after n losses."""
        a = self.ridge()
        A, b = np.diag(a), np.zeros(len(a))
        for z, c, y in zip(self.points[:n], self.contexts[:n], self.scaled_losses()[:n], strict=True):
            phi = self.phi(z, c)
            A = self.f * A + (1 - self.f) * np.diag(a) + np.outer(phi, phi)
            b = self.f * b + y * phi
        return A, np.linalg.solve(A, b)

    def error(self, i: int) -> float:
        """The squared error of the i-th loss, by the surface before it."""
        (A, w), phi = self.surface(i), self.phi(self.points[i], self.contexts[i])
        return (self.scaled_losses()[i] - w @ phi) ** 2 / (1 + phi @ np.linalg.solve(A, phi))

    def variance(self) -> float:
        return self.sse / (1 + min(len(self.losses), 1 / (1 - self.f) if self.f < 1 else math.inf))

    def moments(self, zs: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean and the standard deviation at each point."""
        A, w = self.surface(len(self.losses))
        F = np.array([self.phi(z, c) for z in zs])
        return F @ w, np.sqrt(self.variance() * np.einsum("ij,ji->i", F, np.linalg.solve(A, F.T)))

    def allowed(self, zs: FloatArray, c: FloatArray) -> FloatArray:
        """Mask of the points that are sure to cost little more than the safe setting."""
        if self.safe is None:
            return np.ones(len(zs), bool)
        mean, deviation = self.moments(zs, c)
        limit = self.moments(self.safe[0][None], c)[0][0] + 0.4 * self.safe[1] / self.scale[1]
        sure = 3 * (1 + 0.4 * len(self.own(self.safe[0])) / len(self.losses))
        return np.asarray(mean + sure * deviation <= limit)

    def center(self, c: FloatArray) -> FloatArray:
        """The best point in a context."""
        if not self.seen and not c.any():
            return self.best
        if len(self.losses) < self.dim + 3:
            return self.best
        low = np.full(self.dim, -1.0)
        w = self.surface(len(self.losses))[1]
        return least_of(lambda z: float(w @ self.phi(z, c)), low, -low)

    def choose(self, candidates: FloatArray, c: FloatArray, normals: FloatArray) -> FloatArray:
        if self.safe is not None and len(self.losses) < self.dim + 3:
            return np.clip(self.safe[0] + 0.04 * normals, -1, 1)
        if self.radius and not self.seen:
            return np.clip(self.best + min(0.1, 0.5 * self.radius / math.sqrt(self.dim)) * normals, -1, 1)
        mean, deviation = self.moments(candidates, c)
        allowed = self.allowed(candidates, c)
        if self.safe is not None and not allowed.any():
            return np.clip(self.safe[0] + 0.04 * normals, -1, 1)
        return candidates[int(np.argmin(np.where(allowed, mean - self.width * deviation, np.inf)))]

    def learn(self, z: FloatArray, loss: float, candidates: FloatArray, c: FloatArray) -> None:
        (low, spread), n = self.scale, len(self.losses)
        self.seen = max([self.seen, *(j + 1 for j in range(self.columns) if c[j])])
        if n < 8:
            seen = [*self.losses, loss]
            self.scale = min(seen), (max(seen) - min(seen)) or 1.0
        far = max(low - loss, loss - low - spread) > 3 * spread
        side, before = (1 if loss > low else -1) if far and n >= 8 else 0, self.side
        self.side = side
        if n >= 8 and side and side == before:
            distance = max(low - loss, loss - low - spread)
            wider = min(spread + distance, 10 * spread)
            self.scale = (low + spread - wider if loss < low else low), wider
            self.sse *= (spread / wider) ** 2
        low, spread = self.scale
        self.points.append(z)
        self.contexts.append(c)
        self.raw.append(loss)
        self.losses.append(loss if n < 8 else min(max(loss, low - 3 * spread), low + 4 * spread))
        if n < 8:  # all errors so far, in the new scale
            self.sse = 0.05
            for i in range(n):
                self.sse = self.f * self.sse + self.error(i)
        self.sse = self.f * self.sse + self.error(n)
        if n + 1 < self.dim + 3:
            return
        if self.seen:
            self.best = self.center(np.zeros(self.columns))
            if not self.allowed(self.best[None], np.zeros(self.columns)).all():
                assert self.safe is not None
                self.best = self.safe[0]
            return
        if not self.radius:
            allowed, mean = self.allowed(candidates, c), self.moments(candidates, c)[0]
            if self.safe is not None and not allowed.any():
                self.best = self.safe[0]
            else:
                self.best = candidates[int(np.argmin(np.where(allowed, mean, np.inf)))]
        if self.settle and (self.radius or (n + 1) % 4 == 0):
            self.fit()

    def fit(self) -> None:
        """A quadratic fit to the nearest of the latest points, and its least value."""
        p = len(self.own(np.zeros(self.dim)))
        m, kept = max(2 * p, 16), max(4 * p, 32)
        points, raw = np.array(self.points[-kept:]), np.array(self.raw[-kept:])
        if len(points) < m:
            return
        near = np.argsort(((points - self.best) ** 2).sum(1), kind="stable")[:m]
        radius = float(np.sqrt(((points[near] - self.best) ** 2).sum(1).max()))
        y = 0.4 * (raw[near] - raw[near].mean()) / self.scale[1]
        if radius < 1e-7 or not (y != 0).any():
            return
        F = np.array([self.own((z - self.best) / radius) for z in points[near]])
        w = np.linalg.solve(F.T @ F + 1e-3 * np.eye(p), F.T @ y)
        clear = ((y - F @ w) ** 2).sum() / (m - p) <= 0.09 * (y**2).mean()
        self.radius = radius if clear else 0.0
        if clear:
            reach = np.full(self.dim, 1 / math.sqrt(self.dim))
            low, high = np.maximum(-reach, (-1 - self.best) / radius), np.minimum(reach, (1 - self.best) / radius)
            step = least_of(lambda u: float(w @ self.own(u)), low, high)
            self.best = np.clip(self.best + radius * step, -1, 1)

    def expect(self) -> tuple[float, float]:
        """The loss expected at the best point, and the half width of its interval."""
        (mean,), (deviation,) = self.moments(self.best[None], np.zeros(self.columns))
        low, spread = self.scale
        return low + (mean - 0.4) / 0.4 * spread, 1.96 * deviation / 0.4 * spread


def least_of(value: Any, low: FloatArray, high: FloatArray) -> FloatArray:
    """The least value of a quadratic between two corners: twenty sweeps over the coordinates, from the middle."""
    z = np.zeros(len(low))
    for _ in range(20):
        for i in range(len(z)):
            at = [value(np.where(np.arange(len(z)) == i, x, z)) for x in (-1.0, 0.0, 1.0)]
            slope, bend = (at[2] - at[0]) / 2, (at[2] + at[0]) / 2 - at[1]
            ends = low[i] if slope * low[i] + bend * low[i] ** 2 <= slope * high[i] + bend * high[i] ** 2 else high[i]
            z[i] = min(max(-slope / (2 * bend), low[i]), high[i]) if bend > 1e-12 else ends
    return z
