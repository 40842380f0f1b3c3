"""LinUCB with one ridge per label: the usual peer of one-bit learners on dense features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen_papers.compiled.kernel import kernel


@kernel
def _play(X: FloatArray, y: IntArray, W: FloatArray, B: FloatArray, width: float, shown: IntArray) -> None:
    """Score w_i·x + κ√(xᵀA_i⁻¹x); the shown label learns the reward 0 or 1."""
    K, d = W.shape
    P = np.empty((K, d))
    for t in range(X.shape[0]):
        best, highest, x = 0, -np.inf, X[t]
        for c in range(K):
            P[c] = B[c] @ x
            score = np.dot(W[c], x) + width * np.sqrt(np.dot(P[c], x))
            if score > highest:
                best, highest = c, score
        shown[t] = best
        q = np.dot(P[best], x)
        residual = ((1.0 if best == y[t] else 0.0) - np.dot(W[best], x)) / (1.0 + q)
        for i in range(d):
            W[best, i] += residual * P[best, i]
            for j in range(d):
                B[best, i, j] -= P[best, i] * P[best, j] / (1.0 + q)


@dataclass(frozen=True)
class Played:
    """The labels shown."""

    actions: IntArray


class LinearArms:
    """LinUCB, ridge 1, width 1, one weight vector per label (Li, Chu, Langford and Schapire 2010)."""

    def __init__(self, dim: int, classes: int) -> None:
        self.W = np.zeros((classes, dim))
        self.B = np.tile(np.eye(dim), (classes, 1, 1))

    def run(self, X: Any, y: Any) -> Played:
        """Play a stream in its order."""
        shown = np.zeros(len(y), np.int64)
        _play(np.ascontiguousarray(X), np.asarray(y, np.int64), self.W, self.B, 1.0, shown)
        return Played(shown)
