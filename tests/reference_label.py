"""The references of the label loop: dense matrices, plain loops, one object per algorithm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

FloatArray = np.ndarray


def tied(scores: Sequence[float]) -> list[int]:
    """The places whose scores equal the highest one, to 1e-12 of it."""
    highest = max(scores)
    return [place for place, score in enumerate(scores) if score >= highest - 1e-12 * abs(highest)]


def settled(bounds: Sequence[float], means: Sequence[float], u: float) -> tuple[int, int]:
    """Draw from the tied bounds by a uniform number; that is the best guess too if its mean is among the highest."""
    best, guesses = tied(bounds), tied(means)
    action = best[min(int(u * len(best)), len(best) - 1)]
    return action, action if action in guesses else guesses[0]


def class_shifts(means: Sequence[float], widths: Sequence[float], alpha: float) -> FloatArray:
    """Confidit's projection by bisection on its multiplier: Σ max(m + λq, −α) = 1 + α − Kα."""
    m, q = np.asarray(means, float), np.asarray(widths, float)
    if not (q > 0).all():
        return np.zeros(len(m))
    target = 1 + alpha - len(m) * alpha
    low, high = -1e9, 1e9
    for _ in range(300):
        middle = (low + high) / 2
        if np.maximum(m + middle * q, -alpha).sum() < target:
            low = middle
        else:
            high = middle
    return np.maximum(high, -(alpha + m) / q)


class Confidit:
    """Figure 1 of the paper, with a matrix per class, inverted in every round."""

    def __init__(self, dim: int, K: int, alpha: float, eta: Any, covariance: str, update: str, project: bool) -> None:
        self.alpha, self.eta, self.covariance, self.update, self.project = alpha, eta, covariance, update, project
        self.A = [(1 + alpha) ** 2 * np.eye(dim) for _ in range(K)]
        self.start = [A.copy() for A in self.A]
        self.w = [np.zeros(dim) for _ in range(K)]
        self.t, self.width_sum, self.norm_bound, self.delta = 0, 0.0, 1.0, 0.05

    def moments(self, x: FloatArray) -> tuple[list[float], list[float]]:
        return [float(w @ x) for w in self.w], [float(x @ np.linalg.inv(A) @ x) for A in self.A]

    def choose(self, x: FloatArray, u: float = 0.0) -> tuple[int, int, list[float], list[float]]:
        means, widths = self.moments(x)
        if self.eta == "theory":
            eta_t = 0.5 * (1 + self.alpha) ** 2 * self.norm_bound**2
            eta_t += 0.5 * (1 + self.alpha) ** 2 * self.width_sum
            eta_t += 9 * (1 + self.alpha) ** 2 * math.log((self.t + 1 + 4) / self.delta)
            eps = [math.sqrt(2 * q * eta_t) for q in widths]
        else:
            eps = [math.sqrt(self.eta * q) for q in widths]
        shifts = class_shifts(means, widths, self.alpha) if self.project else np.zeros(len(means))
        total = [m + c * q + e for m, c, q, e in zip(means, shifts, widths, eps, strict=True)]
        return *settled(total, means, u), means, eps

    def learn(self, x: FloatArray, shown: int, sign: float) -> None:
        means, widths = self.moments(x)
        if self.project:
            shifts = class_shifts(means, widths, self.alpha)
            self.w = [w + c * np.linalg.inv(A) @ x for w, c, A in zip(self.w, shifts, self.A, strict=True)]
        A, w = self.A[shown], self.w[shown]
        grown = A + (np.outer(x, x) if self.covariance == "full" else np.diag(x * x))
        if self.covariance == "full" or self.update == "printed":
            self.w[shown] = np.linalg.solve(grown, A @ w + sign * x)
        else:
            u = np.linalg.inv(A) @ x
            self.w[shown] = w + (sign - w @ x) * u / (1 + x @ u)
        self.A[shown] = grown
        self.t += 1
        self.width_sum += float(x @ np.linalg.inv(grown) @ x)

    def log_determinant(self) -> float:
        return sum(np.linalg.slogdet(A)[1] - np.linalg.slogdet(B)[1] for A, B in zip(self.A, self.start, strict=True))


#: The start of A, the target of a wrong label, and κ.
HINGE = {"full": (0.3, -0.2, 0.5), "diagonal": (1.0, -1.0, math.sqrt(0.1))}


class HingeConfidit:
    """Confidit with a margin: A itself, inverted in every round; "auto" leaves full matrices at the 257th column."""

    def __init__(self, dim: int, K: int, covariance: str, limit: int = 256) -> None:
        self.auto, self.limit, self.seen = covariance == "auto", limit, set()
        self.covariance = "full" if self.auto else covariance
        self.prior, self.wrong, self.kappa = HINGE[self.covariance]
        self.A, self.w = [self.prior * np.eye(dim) for _ in range(K)], [np.zeros(dim) for _ in range(K)]

    def choose(self, x: FloatArray, u: float = 0.0) -> tuple[int, int, list[float], list[float]]:
        means = [float(w @ x) for w in self.w]
        eps = [self.kappa * math.sqrt(x @ np.linalg.solve(A, x)) for A in self.A]
        return *settled(np.add(means, eps).tolist(), means, u), means, eps

    def learn(self, x: FloatArray, shown: int, reward: float) -> None:
        self.seen |= set(np.flatnonzero(x).tolist())
        if self.auto and self.covariance == "full" and len(self.seen) > self.limit:
            self.covariance, old = "diagonal", self.prior
            self.prior, self.wrong, self.kappa = HINGE["diagonal"]
            self.A = [np.diag(np.diag(A)) + (self.prior - old) * np.eye(len(A)) for A in self.A]
        A, w = self.A[shown], self.w[shown]
        mean, target = w @ x, self.wrong + (1 - self.wrong) * reward
        if (reward == 1 and mean >= 1) or (reward == 0 and mean <= self.wrong):
            return
        u = np.linalg.solve(A, x)
        self.w[shown] = w + (target - mean) * u / (1 + x @ u)
        self.A[shown] = A + (np.outer(x, x) if self.covariance == "full" else np.diag(x * x))


class SecondOrderPerceptron:
    """score_i = v_i·(A_i + xxᵀ)⁻¹x, or with diag(x²)."""

    def __init__(self, dim: int, K: int, a: float, covariance: str) -> None:
        self.covariance = covariance
        self.A, self.v = [a * np.eye(dim) for _ in range(K)], [np.zeros(dim) for _ in range(K)]

    def outer(self, x: FloatArray) -> FloatArray:
        return np.outer(x, x) if self.covariance == "full" else np.diag(x * x)

    def scores(self, x: FloatArray) -> list[float]:
        return [float(v @ np.linalg.solve(A + self.outer(x), x)) for v, A in zip(self.v, self.A, strict=True)]

    def learn(self, x: FloatArray, shown: int, true: int) -> None:
        if shown != true:
            self.v[true] = self.v[true] + x
            self.v[shown] = self.v[shown] - x
            for c in (true, shown):
                self.A[c] = self.A[c] + self.outer(x)

    def weights(self) -> FloatArray:
        return np.array(self.v)


class AROW:
    """The true class against the best other one."""

    def __init__(self, dim: int, K: int, r: float, covariance: str) -> None:
        self.r, self.covariance = r, covariance
        self.w, self.sigma = [np.zeros(dim) for _ in range(K)], [np.eye(dim) for _ in range(K)]

    def scores(self, x: FloatArray) -> list[float]:
        return [float(w @ x) for w in self.w]

    def learn(self, x: FloatArray, shown: int, true: int) -> None:
        scores = self.scores(x)
        other = max((c for c in range(len(scores)) if c != true), key=lambda c: (scores[c], -c))
        margin = scores[true] - scores[other]
        if margin >= 1:
            return
        V = x @ (self.sigma[true] + self.sigma[other]) @ x
        beta = 1 / (V + self.r)
        for c, sign in ((true, 1), (other, -1)):
            sx = self.sigma[c] @ x
            self.w[c] = self.w[c] + sign * (1 - margin) * beta * sx
            shrunk = self.sigma[c] - beta * np.outer(sx, sx)
            self.sigma[c] = shrunk if self.covariance == "full" else np.diag(np.diag(shrunk))

    def weights(self) -> FloatArray:
        return np.array(self.w)
