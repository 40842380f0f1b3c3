"""Made-up queries with graded documents, which no linear model fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._scipy import scipy
from smidgen.decision import FloatArray, IntArray
from smidgen.structures import Ranking


@dataclass(frozen=True, eq=False)
class RankedQueries:
    """Queries, their documents, and how relevant each document is.

    Attributes
    ----------
    name
        What this is.
    X
        One row of features per document, the documents of a query one after the other (read-only).
    labels
        The relevance of each document: 0, 1, …
    starts
        The documents of query i are the rows ``starts[i]`` to ``starts[i + 1]``.
    queries
        The number of each query in its file.
    parts
        The file of each query, counted from 0: the LETOR sets come in five parts, from which their folds are made.
    """

    name: str
    X: FloatArray
    labels: IntArray
    starts: IntArray
    queries: IntArray
    parts: IntArray

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        return f"RankedQueries({self.name!r}, {len(self)} queries, {self.X.shape[0]} docs x {self.dim} features)"

    @property
    def dim(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def docs(self, i: int) -> FloatArray:
        """The features of query i's documents."""
        return self.X[self.starts[i] : self.starts[i + 1]]

    def relevance(self, i: int) -> IntArray:
        """The relevance of query i's documents."""
        return self.labels[self.starts[i] : self.starts[i + 1]]

    def contexts(self, top: int = 5) -> list[Ranking]:
        """Every query as a `Ranking` whose first ``top`` positions count."""
        return [Ranking(self.docs(i), top) for i in range(len(self))]

    def utility(self, ridge: float = 0.0) -> FloatArray:
        """The least-squares fit w* of the labels by the features, over all documents, without an intercept.

        With ``ridge`` > 0 that much is added to the diagonal of XᵀX. With 0 the shortest of all best fits is taken.
        """
        penalty = checks.number("ridge", ridge, "leave it out for plain least squares", at_least=0.0)
        if penalty == 0.0:
            return np.asarray(np.linalg.lstsq(self.X, self.labels.astype(np.float64), rcond=None)[0])
        gram = self.X.T @ self.X + penalty * np.eye(self.dim)
        return np.asarray(np.linalg.solve(gram, self.X.T @ self.labels.astype(np.float64)))

    def select(self, order: Any) -> RankedQueries:
        """Only these queries (indices or a mask), in this order."""
        picked = np.arange(len(self))[np.asarray(order)]
        sizes = np.diff(self.starts)[picked]
        starts = np.concatenate(([0], np.cumsum(sizes)))
        rows = np.arange(starts[-1]) - np.repeat(starts[:-1] - self.starts[picked], sizes)
        return replace(
            self,
            X=frozen(self.X[rows]),
            labels=self.labels[rows],
            starts=starts,
            queries=self.queries[picked],
            parts=self.parts[picked],
        )

    def informative(self) -> RankedQueries:
        """Only the queries whose documents are not all equally relevant."""
        first, last = self.starts[:-1], self.starts[1:]
        return self.select([len(set(self.labels[a:b].tolist())) > 1 for a, b in zip(first, last, strict=True)])


def frozen(X: FloatArray) -> FloatArray:
    """The array in one piece, and read-only."""
    X = np.ascontiguousarray(X)
    X.flags.writeable = False
    return X


#: The share of the documents up to each grade but the last, roughly as in the Yahoo! learning-to-rank set.
_GRADES = (0.26, 0.62, 0.90, 0.98)


def ranked_queries(
    *,
    queries: int = 1000,
    docs: int = 24,
    dim: int = 100,
    noise: float = 0.7,
    curvature: float = 0.5,
    seed: int = 0,
) -> RankedQueries:
    """Queries of the shape of the Yahoo! learning-to-rank set: features in [0, 1], grades 0 to 4.

    Features are monotone maps of normal variables with a few common factors, some shared by all documents of a query:
    so features resemble one another, and queries differ. A document's quality is linear in the features, plus
    ``curvature`` times a product of two directions (which no linear model can follow), plus ``noise``; the first part
    has deviation 1. Grades cut the quality so that 26, 36, 28, 8 and 2 % of the documents have grade 0, 1, 2, 3 and 4.

    Parameters
    ----------
    queries, dim
        How many queries and features (Yahoo: some 20,000 and 700).
    docs
        How many documents a query has on average; each has at least 2.
    noise, curvature
        See above: 0 and 0 give grades that follow a linear utility.
    seed
        The same seed, the same queries.

    Examples
    --------
    >>> from smidgen.data import ranked_queries
    >>> data = ranked_queries(queries=200, dim=20)
    >>> data
    RankedQueries('generated', 200 queries, 4937 docs x 20 features)
    >>> sorted(set(data.labels.tolist()))
    [0, 1, 2, 3, 4]
    """
    special = scipy("special", "the normal distribution of the features")
    n = checks.whole("queries", queries, "at least 1")
    mean = checks.whole("docs", docs, "at least 2 documents per query on average", at_least=2)
    d = checks.dimension(dim)
    hint = "give a number, at least 0"
    sigma = checks.number("noise", noise, hint, at_least=0.0)
    bend = checks.number("curvature", curvature, hint, at_least=0.0)
    rng = np.random.default_rng(checks.seed(seed))
    sizes = 2 + rng.poisson(mean - 2, size=n)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    factors = min(10, d)
    common = rng.normal(size=(starts[-1], factors)) + np.repeat(rng.normal(size=(n, factors)), sizes, axis=0)
    X = common @ rng.normal(size=(factors, d)) / np.sqrt(4.0 * factors) + rng.normal(size=(starts[-1], d)) / np.sqrt(
        2.0
    )
    X = special.ndtr(X)
    plain, first, second = ((X - 0.5) @ rng.normal(size=(d, 3))).T
    quality = _standard(plain) + bend * _standard(_standard(first) * _standard(second))
    quality += sigma * rng.normal(size=starts[-1])
    labels = np.searchsorted(np.quantile(quality, _GRADES), quality).astype(np.int64)
    X.flags.writeable = False
    return RankedQueries("generated", X, labels, starts, np.arange(1, n + 1), np.zeros(n, np.int64))


def _standard(x: FloatArray) -> FloatArray:
    """Mean 0 and deviation 1."""
    return np.asarray((x - x.mean()) / max(float(x.std()), 1e-12))
