"""Labels drawn from the linear model of the one-bit paper (Crammer and Gentile 2013, eq. 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class LabelStream:
    """Examples whose labels follow P(y = i | x) = (α + u_i·x)/(1 + α).

    Attributes
    ----------
    X
        One row of unit length per example.
    y
        The labels that were drawn.
    U
        The true weights u_i, one row per class.
    alpha
        α of the model.
    """

    X: FloatArray
    y: IntArray
    U: FloatArray
    alpha: float

    @property
    def probabilities(self) -> FloatArray:
        """P(y = i | x) for every example and class."""
        return (self.alpha + self.X @ self.U.T) / (1.0 + self.alpha)

    @property
    def bayes(self) -> IntArray:
        """The label that the best predictor would show: argmax u_i·x."""
        return np.asarray(np.argmax(self.X @ self.U.T, axis=1))

    def regret(self, actions: Any) -> FloatArray:
        """The cumulative regret of eq. 3: how much likelier the Bayes predictor's label was to be right."""
        rows = np.arange(len(self.X))
        gap = self.probabilities[rows, self.bayes] - self.probabilities[rows, np.asarray(actions)]
        return np.cumsum(gap)


def label_stream(
    *, rounds: int = 1000, dim: int = 6, n_classes: int = 3, alpha: float = 1.0, strength: float = 1.0, seed: int = 0
) -> LabelStream:
    """Draw examples and labels from eq. 2.

    The last feature is constant, and carries what all classes have in common; the others are uniform on a sphere and
    tell the classes apart. The u_i sum to the constraint of the model, and every probability lies in [0, 2/K].

    Parameters
    ----------
    rounds, dim, n_classes
        How many examples, features (the constant one included) and classes.
    alpha
        α in (−1, 1].
    strength
        How much the classes differ, in (0, 1]: 1 reaches down to probability 0.
    seed
        The same seed, the same stream.

    Examples
    --------
    >>> from smidgen.data import label_stream
    >>> stream = label_stream(rounds=5, dim=4, n_classes=3)
    >>> stream.probabilities.sum(axis=1)
    array([1., 1., 1., 1., 1.])
    """
    n = checks.whole("rounds", rounds, "at least 1")
    d = checks.whole("dim", dim, "at least 2: one feature is constant", at_least=2)
    K = checks.whole("n_classes", n_classes, "at least 2", at_least=2)
    a = checks.number("alpha", alpha, "give a number in (-1, 1]", above=-1.0, at_most=1.0)
    s = checks.number("strength", strength, "give a number in (0, 1]", above=0.0, at_most=1.0)
    rng = np.random.default_rng(checks.seed(seed))
    half = np.sqrt(0.5)
    directions = rng.normal(size=(n, d - 1))
    directions *= half / np.linalg.norm(directions, axis=1, keepdims=True)
    X = np.hstack([directions, np.full((n, 1), half)])
    V = rng.normal(size=(K, d - 1))
    V -= V.mean(axis=0)  # Σ_i v_i = 0, so that the scores sum to a constant
    V *= s * (1.0 + a) / (K * half) / np.linalg.norm(V, axis=1).max()  # |v_i·z| ≤ (1 + α)/K: no negative probability
    U = np.hstack([V, np.full((K, 1), ((1.0 + a) / K - a) / half)])
    probabilities = (a + X @ U.T) / (1.0 + a)
    y = (rng.random((n, 1)) > np.cumsum(probabilities, axis=1)).sum(axis=1)
    return LabelStream(X, np.minimum(y, K - 1), U, a)
