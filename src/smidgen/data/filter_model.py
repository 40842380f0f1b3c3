"""Relevance drawn from the linear model of the filtering paper (Cesa-Bianchi, Conconi and Gentile 2003, Section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._scipy import scipy
from smidgen.decision import FloatArray


@dataclass(frozen=True, eq=False)
class FilterStream:
    """Items that are relevant with probability (1 + u·x)/2.

    Attributes
    ----------
    X
        One row of unit length per item.
    y
        Whether each item is relevant.
    u
        The true weights, of unit length.
    """

    X: FloatArray
    y: NDArray[np.bool_]
    u: FloatArray

    @property
    def margins(self) -> FloatArray:
        """u·x of every item: E[y] with y = ±1."""
        return np.asarray(self.X @ self.u)

    @property
    def bayes(self) -> NDArray[np.bool_]:
        """What the best filter forwards: the items with u·x ≥ 0."""
        return np.asarray(self.margins >= 0.0)

    def regret(self, actions: Any) -> FloatArray:
        """The cumulative regret of eq. 1: |u·x| wherever the action differs from the best filter's."""
        return np.cumsum(np.abs(self.margins) * (np.asarray(actions) != self.bayes))


def filter_stream(*, rounds: int = 1000, dim: int = 6, margin: float = 0.0, seed: int = 0) -> FilterStream:
    """Draw items and their relevance from the model of Section 2.

    Items are uniform on the unit sphere, as far as the margin leaves them: those with |u·x| below it do not occur.

    Parameters
    ----------
    rounds, dim
        How many items and features.
    margin
        γ in [0, 1]: |u·x| is at least this large (to rounding).
    seed
        The same seed, the same stream.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.data import filter_stream
    >>> stream = filter_stream(rounds=1000, dim=4, margin=0.3)
    >>> bool(np.abs(stream.margins).min() > 0.299)
    True
    >>> float(stream.regret(stream.bayes)[-1])
    0.0
    >>> bool(stream.regret(~stream.bayes)[-1] > 300)
    True
    """
    special = scipy("special", "the beta distribution of the margins")
    n = checks.whole("rounds", rounds, "at least 1")
    d = checks.whole("dim", dim, "at least 2: the items of one feature would be ±u", at_least=2)
    gamma = checks.number("margin", margin, "give a number in [0, 1]", at_least=0.0, at_most=1.0)
    rng = np.random.default_rng(checks.seed(seed))
    u = rng.normal(size=d)
    u /= np.linalg.norm(u)
    # On a sphere 1 − (u·x)² is Beta((d − 1)/2, 1/2): draw it below 1 − γ² by its distribution function.
    shape = (d - 1) / 2.0, 0.5
    rest = special.betaincinv(*shape, rng.random(n) * special.betainc(*shape, 1.0 - gamma**2))
    margins = np.maximum(np.sqrt(1.0 - rest), gamma) * rng.choice([-1.0, 1.0], size=n)
    across = rng.normal(size=(n, d))
    across -= np.outer(across @ u, u)
    across *= (np.sqrt(1.0 - margins**2) / np.linalg.norm(across, axis=1))[:, None]
    X = np.outer(margins, u) + across
    return FilterStream(X, rng.random(n) < (1.0 + margins) / 2.0, u)
