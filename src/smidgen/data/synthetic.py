"""Made-up streams of the right shape, for demonstrations and tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smidgen import checks
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
    noisy = utility + checks.number("noise", noise, "leave it out for 0.5", at_least=0.0) * rng.normal(size=(n, m))
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
