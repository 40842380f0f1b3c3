"""The queries of the web-search experiments (Section 6.1.1): real sets, and generated ones of the same shape."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from smidgen.data.synthetic import RankedQueries, ranked_queries
from smidgen.decision import FloatArray
from smidgen.evaluate import QueryTable
from smidgen_papers.data.letor import letor
from smidgen_papers.part import Place, Run
from smidgen_papers.store import Arrays, prepared

#: Positions that count (eq. 21).
TOP = 5
#: The real sets, and their names in pictures.
NAMES = {
    "mq2008": "MQ2008",
    "mq2007agg": "MQ2007-agg",
    "mslr": "MSLR sample",
    "mq2008-like": "generated, shape of MQ2008",
    "yahoo-like": "generated, shape of the Yahoo! set",
}
#: Queries, documents per query and features of the generated sets, in full and quickly.
SHAPES: dict[tuple[str, bool], tuple[int, int, int]] = {
    ("mq2008-like", False): (784, 19, 46),
    ("mq2008-like", True): (784, 19, 46),
    ("yahoo-like", False): (10_000, 24, 700),
    ("yahoo-like", True): (1_500, 24, 150),
}


def main_sources(run: Run) -> list[str]:
    """The two sets of every picture: the real one of LETOR (or one of its shape) and the generated one of Yahoo!'s."""
    return ["mq2008" if run.has("mq2008") else "mq2008-like", "yahoo-like"]


def other_sources(run: Run) -> list[str]:
    """Further real sets, for tables; only in full."""
    return [] if run.quick else [name for name in ("mq2007agg", "mslr") if run.has(name)]


def shape(run: Run, source: str) -> list[int] | None:
    """The size of a generated set; None for a real one."""
    found = SHAPES.get((source, run.quick))
    return None if found is None else list(found)


@dataclass(frozen=True, eq=False)
class Web:
    """Queries and the users' utility.

    Attributes
    ----------
    table
        The queries; the documents of each in random order, so that the first ranking shown is a random one.
    w_star
        The least-squares fit of the relevance labels by the features.
    bound
        S: no joint feature is larger.
    reach
        R: no ‖φ(x, y)‖ is larger.
    random
        The mean regret of a random ranking.
    """

    table: QueryTable
    w_star: FloatArray
    bound: float
    reach: float
    random: float


def web(place: Place, *, source: str, size: list[int] | None, utility: str, seed: int) -> Web:
    """Load or generate a set.

    Parameters
    ----------
    place
        Data and results.
    source
        A key of `NAMES`.
    size
        Of a generated set: queries, documents, features.
    utility
        How w* is fitted: ``"plain"`` least squares without an intercept, or with an ``"intercept"``, which is then
        left out of the utility: it is the same for all rankings.
    seed
        Of the generator, and of the order of the documents.
    """
    table = _table(place, source, tuple(size) if size else None, seed)
    facts = _facts(place, source=source, size=size, seed=seed)
    return Web(table, facts[utility], float(facts["bound"]), float(facts["reach"]), float(facts[f"random_{utility}"]))


@lru_cache(maxsize=4)
def _table(place: Place, source: str, size: tuple[int, ...] | None, seed: int) -> QueryTable:
    if size is not None:
        queries, docs, dim = size
        made = ranked_queries(queries=queries, docs=docs, dim=dim, seed=seed)
        return QueryTable(made.X, made.starts, made.labels, TOP)
    data = _shuffled(letor(source, place.data), seed)
    return QueryTable(data.X, data.starts, data.labels, TOP)


def _shuffled(data: RankedQueries, seed: int) -> RankedQueries:
    """The same queries with the documents of each in random order."""
    query = np.repeat(np.arange(len(data)), np.diff(data.starts))
    order = np.lexsort((np.random.default_rng([seed, 1]).random(len(query)), query))
    return replace(data, X=data.X[order], labels=data.labels[order])


@prepared()
def _facts(place: Place, *, source: str, size: list[int] | None, seed: int) -> Arrays:
    """w* by both readings, and what can be said of all rankings of the set."""
    table = _table(place, source, tuple(size) if size else None, seed)
    X, labels = table.X, table.labels
    if labels is None:
        raise ValueError("the set has no labels")
    discounts = 1.0 / np.log2(np.arange(2, TOP + 2))
    first = table.starts[:-1]
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    query = np.repeat(np.arange(len(table)), np.diff(table.starts))
    longest = _top_sums(lengths, query, table.starts, discounts)
    facts: Arrays = {
        "plain": _fit(X, labels, np.zeros(X.shape[1]), 0.0),
        "intercept": _fit(X, labels, X.mean(axis=0), float(labels.mean())),
        "bound": np.array(np.abs(X).max() * discounts.sum()),
        "reach": np.array(longest.max()),
    }
    for name in ("plain", "intercept"):
        scores = table.scores(facts[name])
        best = _top_sums(scores, query, table.starts, discounts)
        held = np.cumsum(discounts)[np.minimum(np.diff(table.starts), TOP) - 1]
        facts[f"random_{name}"] = np.array(
            (best - np.add.reduceat(scores, first) / np.diff(table.starts) * held).mean()
        )
    return facts


def _fit(X: FloatArray, labels: FloatArray, mean: FloatArray, centre: float) -> FloatArray:
    """The shortest least-squares fit of ``labels - centre`` by ``X - mean``.

    Of a large set only XᵀX is decomposed: directions that hardly occur then count as absent.
    """
    if len(X) <= 100_000:
        return np.asarray(np.linalg.lstsq(X - mean, labels - centre, rcond=None)[0])
    gram = X.T @ X - len(X) * np.outer(mean, mean)
    moments = X.T @ labels - len(X) * centre * mean
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-10 * values[-1]
    return np.asarray(vectors[:, kept] @ ((vectors[:, kept].T @ moments) / values[kept]))


def _top_sums(values: FloatArray, query: Any, starts: Any, discounts: FloatArray) -> FloatArray:
    """For every query the sum of its largest values, discounted: the best that a ranking can have."""
    order = np.lexsort((-values, query))
    place = np.arange(len(values)) - np.repeat(starts[:-1], np.diff(starts))
    weight = np.where(place < len(discounts), discounts[np.minimum(place, len(discounts) - 1)], 0.0)
    return np.asarray(np.add.reduceat(values[order] * weight, starts[:-1]))
