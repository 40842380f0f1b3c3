"""The work of the web-search experiments: permuted streams of queries through a learner and a simulated user."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from smidgen import users
from smidgen.decision import IntArray
from smidgen.evaluate import losses, play_rankings
from smidgen.learners.coactive import ExponentiatedPreferencePerceptron
from smidgen_papers.coactive.algorithms import ALGORITHMS
from smidgen_papers.coactive.web_data import Web, web
from smidgen_papers.outcome import checkpoints
from smidgen_papers.part import Place, Values


def play(
    place: Place,
    *,
    source: str,
    size: list[int] | None,
    utility: str,
    learner: dict[str, Any],
    user: dict[str, Any],
    rounds: int,
    first: int,
    count: int,
    seed: int,
) -> Values:
    """Play ``count`` random orders of the queries, from permutation number ``first``.

    A stream that is longer than the set goes on with another random order of it.

    Parameters
    ----------
    place
        Data and results.
    source, size, utility, seed
        As in `web`.
    learner
        Its class under ``"name"``, and its settings.
    user
        ``{"strict": α}``, ``{"depth": k}`` or ``{"expected": α}``.
    rounds
        T.
    first, count
        Which permutations.

    Returns
    -------
    dict
        ``t``, and per permutation (rows) the average ``regret``, ``loss`` regret (quadratic loss) and ``slack`` at
        these rounds; ``random``, the regret of a random ranking; ``norm`` of the last weights,
        ``seconds`` per permutation.
    """
    data = web(place, source=source, size=size, utility=utility, seed=seed)
    times = np.array(points(rounds))
    loss = losses.Quadratic(peak=float(np.linalg.norm(data.w_star)) * data.reach)
    found: dict[str, list[Any]] = {"regret": [], "loss": [], "slack": [], "norm": [], "seconds": []}
    for number in range(first, first + count):
        start = time.perf_counter()
        played = play_rankings(
            make_learner(learner, data, seed=seed + number),
            data.table,
            make_user(user, data, seed=seed + number),
            order=stream(len(data.table), rounds, [seed, number]),
            w_star=data.w_star,
            loss=loss,
        )
        found["seconds"].append(time.perf_counter() - start)
        found["regret"].append(played.average_regret[times - 1])
        found["loss"].append(played.average_loss_regret[times - 1])
        found["slack"].append(played.average_slack[times - 1])
        found["norm"].append(float(np.linalg.norm(played.weights)))
    return {"t": times, **{name: np.array(rows) for name, rows in found.items()}, "random": data.random}


def points(rounds: int) -> list[int]:
    """The rounds at which curves are kept: evenly on a log scale, and halfway and nine tenths of the way."""
    return sorted({*checkpoints(rounds), max(1, rounds // 2), max(1, rounds * 9 // 10)})


def stream(queries: int, rounds: int, seed: list[int]) -> IntArray:
    """As many random orders of the queries as the rounds need, one after the other."""
    rng = np.random.default_rng(seed)
    passes = [rng.permutation(queries) for _ in range(-(-rounds // queries))]
    return np.concatenate(passes)[:rounds]


def make_learner(settings: dict[str, Any], data: Web, *, seed: int) -> Any:
    """A fresh learner for a set; the exponentiated one learns the bound of its features, too."""
    chosen = dict(settings)
    kind = ALGORITHMS[chosen.pop("name")]
    if kind is ExponentiatedPreferencePerceptron:
        chosen["bound"] = data.bound
    if chosen.get("lipschitz") == "slope":  # of the quadratic loss, at the worst ranking there can be
        peak = float(np.linalg.norm(data.w_star)) * data.reach
        chosen["lipschitz"] = losses.Quadratic(peak=peak).slope(-2.0 * peak)
    return kind(dim=data.table.dim, seed=seed, **chosen)


def make_user(settings: dict[str, Any], data: Web, *, seed: int) -> Any:
    """The simulated user of Section 6.1.1, or the one of Section 6.2.4."""
    if "depth" in settings:
        return users.NoisyDepth(labels=data.table.labels_of, depth=settings["depth"])
    if "expected" in settings:
        level = settings["expected"]
        return users.ExpectedAlpha(w_star=data.w_star, alpha=level, strict=settings.get("from", level), seed=seed)
    return users.StrictAlpha(w_star=data.w_star, alpha=settings["strict"])
