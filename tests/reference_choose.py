"""The references of choosing by reward: dense matrices, linear solves, plain loops, all examples kept."""

from __future__ import annotations

import math

import numpy as np

FloatArray = np.ndarray


class Ridge:
    """w = A⁻¹b with A = aI + Σ λ^age·xxᵀ, found again every time."""

    def __init__(self, dim: int, ridge: float = 1.0, forgetting: float = 1.0) -> None:
        self.dim, self.ridge, self.forgetting = dim, ridge, forgetting
        self.examples: list[tuple[FloatArray, float]] = []

    def system(self) -> tuple[FloatArray, FloatArray]:
        A, b = self.ridge * np.eye(self.dim), np.zeros(self.dim)
        for age, (x, r) in enumerate(reversed(self.examples)):
            A = A + self.forgetting**age * np.outer(x, x)
            b = b + self.forgetting**age * r * x
        return A, b

    def moments(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        A, b = self.system()
        return X @ np.linalg.solve(A, b), np.array([x @ np.linalg.solve(A, x) for x in X])

    def learn(self, x: FloatArray, r: float) -> None:
        self.examples.append((x, r))


class DiagonalRidge:
    """The residual rule with diagonal A, every column faded in every round."""

    def __init__(self, dim: int, ridge: float = 1.0, forgetting: float = 1.0) -> None:
        self.w, self.a, self.ridge, self.forgetting = np.zeros(dim), np.full(dim, ridge), ridge, forgetting

    def moments(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return X @ self.w, (X * X) @ (1.0 / self.a)

    def learn(self, x: FloatArray, r: float) -> None:
        keep, b = self.forgetting, self.a * self.w
        self.a = keep * self.a + (1.0 - keep) * self.ridge
        self.w = keep * b / self.a
        u = x / self.a
        self.w = self.w + (r - self.w @ x) * u / (1.0 + x @ u)
        self.a = self.a + x * x


def even(scores: FloatArray) -> FloatArray:
    """Probability 1, shared by the highest scores (equal to 1e-12 of the highest)."""
    best = scores >= scores.max() - 1e-12 * abs(scores.max())
    return best / best.sum()


def ucb_shares(means: FloatArray, widths: FloatArray) -> FloatArray:
    """All to the highest upper confidence bound, evenly among equals."""
    return even(means + widths)


def gap_shares(means: FloatArray, gamma: float) -> FloatArray:
    """p_a = 1/(K + γ(f_best − f_a)), the best get the rest, evenly."""
    best = even(means)
    p = np.where(best > 0.0, 0.0, 1.0 / (len(means) + gamma * (means.max() - means)))
    return p + (1.0 - p.sum()) * best


def sample_shares(scores: FloatArray) -> FloatArray:
    """The share of the rows in which each column is highest."""
    shares: FloatArray = np.mean([even(row) for row in scores], axis=0)
    return shares


def mixed(p: FloatArray, floor: float, min_share: float = 0.0) -> FloatArray:
    """Every candidate its part of the floor, or its least share."""
    each = max(floor / len(p), min_share)
    return (1.0 - len(p) * each) * p + each


def drawn(p: FloatArray, u: float) -> int:
    """Index that a uniform number selects."""
    return min(int(np.searchsorted(np.cumsum(p), u, side="right")), len(p) - 1)


def asymptotic_sequence(values: FloatArray, alpha: float, n0: int) -> tuple[float, float]:
    """Mean ± √((n·v·ρ² + 1)/(n²ρ²)·ln((n·v·ρ² + 1)/α²))."""
    n, v = len(values), float(np.var(values))
    rho2 = (-2.0 * math.log(alpha) + math.log(-2.0 * math.log(alpha)) + 1.0) / n0
    radius = math.sqrt((n * v * rho2 + 1.0) / (n**2 * rho2) * math.log((n * v * rho2 + 1.0) / alpha**2))
    return float(np.mean(values)) - radius, float(np.mean(values)) + radius
