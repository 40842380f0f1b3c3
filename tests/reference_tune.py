"""The judges of the tune loop: plain loops, A itself, and the slow projections.

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
