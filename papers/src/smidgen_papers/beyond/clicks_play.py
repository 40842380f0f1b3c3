"""The work of the comparison on clicks: streams of queries through learners of rankings, with users who click."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from smidgen import users
from smidgen.decision import FloatArray, IntArray
from smidgen.evaluate import QueryTable, play_rankings
from smidgen.features import dense_scores
from smidgen.learners.rank import PDGD, FairPairs, PerturbedPreferencePerceptron, RankLearner
from smidgen_papers.coactive.algorithms import ALGORITHMS
from smidgen_papers.coactive.web_data import Web, web
from smidgen_papers.coactive.web_play import stream
from smidgen_papers.outcome import checkpoints
from smidgen_papers.part import Place, Values

#: Positions that count in nDCG, and that users look at.
DEPTH = 10
#: The share of the queries that no learner sees; rankings without exploration are measured there.
HELD_OUT = 5
#: The learners of the paper, and those that are made for clicks.
LEARNERS: dict[str, Any] = {
    **ALGORITHMS,
    "PDGD": PDGD,
    "FairPairs": FairPairs,
    "PerturbedPreferencePerceptron": PerturbedPreferencePerceptron,
}


def play(
    place: Place,
    *,
    source: str,
    size: list[int] | None,
    learner: dict[str, Any],
    user: str,
    rounds: int,
    first: int,
    count: int,
    seed: int,
) -> Values:
    """Play ``count`` random orders of four fifths of the queries, from permutation number ``first``.

    Parameters
    ----------
    place
        Data and results.
    source, size, seed
        As in `web`.
    learner
        Its class under ``"name"``, and its settings.
    user
        ``"strict"``, ``"noisy"``, a model of `smidgen.users.ClickModel`, ``"position-based"`` or ``"trust bias"``.
    rounds
        T.
    first, count
        Which permutations; each holds other queries out.

    Returns
    -------
    dict
        ``t``, and per permutation (rows) the average ``regret`` and the average nDCG@10 of what was shown
        (``online``) up to these rounds; nDCG@10 of ``predict`` on the queries held out (``offline``) after the last;
        ``chance``, nDCG@10 of random rankings; ``seconds``.
    """
    data = web(place, source=source, size=size, utility="plain", seed=seed)
    table, times = data.table, np.array(checkpoints(rounds))
    found: dict[str, list[Any]] = {"regret": [], "online": [], "offline": [], "seconds": []}
    worth = _Worth(table)
    for number in range(first, first + count):
        parts = np.random.default_rng([seed, number, 7]).permutation(len(table))
        held, taught = parts[: len(table) // HELD_OUT], parts[len(table) // HELD_OUT :]
        order = taught[stream(len(taught), rounds, [seed, number])]
        model = make_learner(learner, table.dim, seed + number)
        start = time.perf_counter()
        played = play_rankings(
            model, table, make_user(user, data, seed + number), order=order, w_star=data.w_star, shown=DEPTH
        )
        found["seconds"].append(time.perf_counter() - start)
        found["regret"].append(played.average_regret[times - 1])
        found["online"].append(_running(worth.of(order, played.shown))[times - 1])
        found["offline"].append(float(np.nanmean(worth.of(held, predicted(model, table, held)))))
    chance = float(np.nanmean(worth.of(np.arange(len(table)), worth.given)))
    return {"t": times, **{name: np.array(rows) for name, rows in found.items()}, "chance": chance}


def make_learner(settings: dict[str, Any], dim: int, seed: int) -> Any:
    """A fresh learner."""
    chosen = {**settings, "dim": dim, "seed": seed}
    return LEARNERS[chosen.pop("name")](**chosen)


def make_user(name: str, data: Web, seed: int) -> Any:
    """The user of that name; all who go by labels look at ten documents."""
    table = data.table
    grades = 3 if table.labels is not None and table.labels.max() <= 2 else 5
    if name == "strict":
        return users.StrictAlpha(w_star=data.w_star, alpha=0.5)
    if name == "noisy":
        return users.NoisyDepth(labels=table.labels_of, depth=DEPTH)
    if name == "position-based":
        return users.PositionBased(labels=table.labels_of, grades=grades, seed=seed)
    if name == "trust bias":
        return users.TrustBias(labels=table.labels_of, grades=grades, seed=seed)
    return users.ClickModel(
        labels=table.labels_of, model=name, grades=grades, depth=DEPTH, feedback="clicks", seed=seed
    )


def predicted(model: Any, table: QueryTable, queries: IntArray) -> IntArray:
    """The first documents of what a learner would rank without exploration, −1 where a query has fewer."""
    X = model.seen_features(table.X, table.starts) if isinstance(model, RankLearner) else table.X
    scores = dense_scores(X, getattr(model, "mean_weights", model.weights))
    out = np.full((len(queries), DEPTH), -1)
    for row, query in zip(out, queries, strict=True):
        order = np.argsort(-scores[table.starts[query] : table.starts[query + 1]], kind="stable")[:DEPTH]
        row[: len(order)] = order
    return out


class _Worth:
    """NDCG@10 with gains 2^grade − 1; NaN for queries without anything relevant."""

    def __init__(self, table: QueryTable) -> None:
        labels = table.labels if table.labels is not None else np.zeros(len(table.X))
        self.starts, self.gain = table.starts, np.exp2(labels) - 1.0
        self.discount = 1.0 / np.log2(np.arange(2, DEPTH + 2))
        sizes = np.diff(table.starts)
        self.given = np.where(np.arange(DEPTH) < sizes[:, None], np.arange(DEPTH), -1)
        best = np.full((len(table), DEPTH), -1)
        for row, a, b in zip(best, table.starts[:-1], table.starts[1:], strict=True):
            order = np.argsort(-self.gain[a:b], kind="stable")[:DEPTH]
            row[: len(order)] = order
        self.ideal = self._dcg(np.arange(len(table)), best)

    def of(self, queries: IntArray, shown: IntArray) -> FloatArray:
        """The worth of each list."""
        ideal = self.ideal[queries]
        return np.asarray(
            np.divide(self._dcg(queries, shown), ideal, out=np.full(len(queries), np.nan), where=ideal > 0)
        )

    def _dcg(self, queries: IntArray, shown: IntArray) -> FloatArray:
        rows = np.minimum(self.starts[queries][:, None] + np.maximum(shown, 0), len(self.gain) - 1)
        return np.asarray(np.where(shown >= 0, self.gain[rows], 0.0) @ self.discount)


def _running(values: FloatArray) -> FloatArray:
    """The mean up to each round; rounds that cannot be measured do not count."""
    known = ~np.isnan(values)
    return np.asarray(np.cumsum(np.where(known, values, 0.0)) / np.maximum(np.cumsum(known), 1))
