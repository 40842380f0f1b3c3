"""Made-up streams for the loops, for demonstrations and tests.

Labels and relevance are drawn from the linear models of the papers (Crammer and Gentile 2013, eq. 2; Cesa-Bianchi,
Conconi and Gentile 2003, Section 2). No linear model fits the graded documents of `ranked_queries`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen.arrays import scipy
from smidgen.decision import FloatArray, IntArray
from smidgen.structures import Choice, Ranking


@dataclass(frozen=True, eq=False)
class RankingStream:
    """Queries to rank for, and what their (made-up) user wants.

    ``w_star`` is the true utility, of norm 1; ``labels`` holds one array of relevance grades 0 … 4 per query, which
    follow the utility up to noise, for users that go by labels.
    """

    contexts: list[Ranking]
    w_star: FloatArray
    labels: list[IntArray]


def ranking_stream(
    *, queries: int = 1000, docs: int = 50, dim: int = 100, top: int = 5, noise: float = 0.5, seed: int = 0
) -> RankingStream:
    """Gaussian documents and a Gaussian utility.

    Parameters
    ----------
    queries, docs, dim
        How many queries, documents per query, and features.
    top
        How many positions count.
    noise
        How much of the spread of the labels is noise: 0 for labels that follow the utility exactly.
    seed
        The same seed, the same stream.

    Examples
    --------
    >>> from smidgen.data import ranking_stream
    >>> stream = ranking_stream(queries=3, docs=4, dim=2)
    >>> stream.contexts[0]
    Ranking(4 docs x 2 features, top=5)
    """
    n, m, d = (
        checks.whole(name, value, "give a whole number, at least 1")
        for name, value in (("queries", queries), ("docs", docs), ("dim", dim))
    )
    rng = np.random.default_rng(checks.seed(seed))
    w_star = _unit(rng, d)
    features = rng.normal(size=(n, m, d)) / np.sqrt(d)
    utility = features @ w_star * np.sqrt(d)
    noisy = utility + checks.number("noise", noise, "omit it for 0.5", at_least=0.0) * rng.normal(size=(n, m))
    cuts = np.quantile(noisy, [0.5, 0.75, 0.9, 0.97])
    labels = np.searchsorted(cuts, noisy)
    features.flags.writeable = False
    return RankingStream([Ranking(x, top) for x in features], w_star, list(labels))


@dataclass(frozen=True, eq=False)
class ChoiceStream:
    """Menus to choose from, and the utility of their (made-up) user."""

    contexts: list[Choice]
    w_star: FloatArray


def choice_stream(
    *, rounds: int = 1000, items: int = 200, dim: int = 20, offered: int = 50, seed: int = 0
) -> ChoiceStream:
    """Gaussian items, of which each round offers some.

    Parameters
    ----------
    rounds, items, dim
        How many rounds, items in all, and features.
    offered
        How many items are available in each round.
    seed
        The same seed, the same stream.

    Examples
    --------
    >>> from smidgen.data import choice_stream
    >>> choice_stream(rounds=3, items=10, dim=2, offered=4).contexts[0]
    Choice(4 of 10 items x 2 features)
    """
    n, d = checks.whole("items", items, "at least 1"), checks.dimension(dim)
    k = checks.whole("offered", offered, "offer at least 1 and at most all items", below=n + 1)
    rng = np.random.default_rng(checks.seed(seed))
    everything = Choice(rng.normal(size=(n, d)) / np.sqrt(d))
    menus = [
        everything.only(rng.choice(n, k, replace=False)) for _ in range(checks.whole("rounds", rounds, "at least 1"))
    ]
    return ChoiceStream(menus, _unit(rng, d))


def _unit(rng: np.random.Generator, dim: int) -> FloatArray:
    w = rng.normal(size=dim)
    return np.asarray(w / np.linalg.norm(w))


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
        """Decisions of the best filter: it forwards the items with u·x ≥ 0."""
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
        """Cumulative regret of eq. 3: the loss in probability of a correct label against the Bayes predictor."""
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
        penalty = checks.number("ridge", ridge, "omit it for plain least squares", at_least=0.0)
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
