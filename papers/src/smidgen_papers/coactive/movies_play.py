"""The work of the movie experiments: 1,500 recommendations to each of some users (Section 6.1.2)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from smidgen import users
from smidgen.learners.coactive import ExponentiatedPreferencePerceptron
from smidgen_papers.coactive.algorithms import ALGORITHMS
from smidgen_papers.coactive.movies_data import FITS, Movies, features, halves, movies
from smidgen_papers.coactive.movies_svm import HeldSVM
from smidgen_papers.outcome import checkpoints
from smidgen_papers.part import Place, Values
from smidgen_papers.players import play_choices

LEGAL = (1, 5)


def play(
    place: Place,
    *,
    source: str,
    search: str,
    fit: str,
    learner: dict[str, Any],
    user: dict[str, Any],
    rounds: int,
    first: int,
    count: int,
    seed: int,
) -> Values:
    """Recommend movies to ``count`` users from number ``first`` on, each with a fresh learner.

    Parameters
    ----------
    place
        Data and results.
    source, search, fit, seed
        As in `movies`.
    learner
        Its class under ``"name"``, and its settings.
    user
        ``{"strict": α}``, ``{"rating": "better" or "best"}``, ``{"expected": α, "from": α of the deterministic
        answer}``, or ``{"compare": "utility" or "rating"}`` for duels.
    rounds
        T.
    first, count
        Which users.

    Returns
    -------
    dict
        ``t``, and per user (rows) the average ``regret`` and ``loss`` regret (quadratic loss) at these rounds; the
        ``random`` regret; ``seconds`` per user.
    """
    data = movies(place, source=source, search=search, fit=fit, seed=seed)
    chosen = range(first, min(first + count, len(data.weights)))
    crowd = [_user(user, data, i, seed) for i in chosen]
    taste, times = data.weights[list(chosen)], points(rounds)
    start = time.process_time()
    played = play_choices(
        make_learner(learner, data),
        data.table,
        crowd,
        utilities=taste,
        rounds=rounds,
        checkpoints=times,
        seeds=[1_000_003 * seed + i for i in chosen],
    )
    seconds = (time.process_time() - start) / len(chosen)
    loss = played.cumulative_loss_regret(data.peaks[list(chosen)]) / played.checkpoints
    return {
        "t": played.checkpoints,
        "regret": played.average_regret.astype(np.float32),
        "loss": loss.astype(np.float32),
        "random": data.random[list(chosen)],
        "seconds": seconds,
    }


def look(place: Place, *, source: str, search: str, seed: int) -> Values:
    """What cross-validation said of the features, and what the utilities look like in each fit."""
    chosen = features(place, source=source, search=search, seed=seed)
    found: Values = {name: chosen[name] for name in ("dims", "penalties", "errors", "chosen")}
    for fit in FITS:
        data = movies(place, source=source, search=search, fit=fit, seed=seed)
        found[f"{fit}_norms"] = np.linalg.norm(data.weights, axis=1)
        found[f"{fit}_spreads"] = (data.weights @ data.table.rows.T).std(axis=1)
    _, second = halves(place, source, seed)
    found["rated"] = np.bincount(second.users, minlength=second.n_users)
    return found | {"movies": len(chosen["features"]), "empty": int((chosen["features"] == 0).all(axis=1).sum())}


def points(rounds: int) -> list[int]:
    """The rounds at which curves are kept: evenly on a log scale, and halfway and nine tenths of the way."""
    return sorted({*checkpoints(rounds, 40), max(1, rounds // 2), max(1, rounds * 9 // 10)})


def make_learner(settings: dict[str, Any], data: Movies) -> Any:
    """The learner; the exponentiated one learns the bound of its features, too."""
    chosen = dict(settings)
    name = chosen.pop("name")
    kind = HeldSVM if name == "HeldSVM" else ALGORITHMS[name]
    if kind is ExponentiatedPreferencePerceptron:
        chosen["bound"] = data.bound
    return kind(dim=data.table.rows.shape[1], **chosen)


def _user(settings: dict[str, Any], data: Movies, i: int, seed: int) -> Any:
    """The simulated user of Section 6.1.2, 6.2.4 or 6.2.6; its draws are its own."""
    w, ratings, own = data.weights[i], data.ratings[i], 1_000_003 * seed + i
    if "strict" in settings:
        return users.StrictAlpha(w_star=w, alpha=settings["strict"])
    if "expected" in settings:
        return users.ExpectedAlpha(w_star=w, alpha=settings["expected"], strict=settings["from"], seed=own)
    if settings.get("compare") == "utility":
        return users.BetterOfTwo(w_star=w)
    if settings.get("compare") == "rating":
        return users.BetterOfTwo(ratings=np.clip(ratings, *LEGAL))
    kind = users.BetterRating if settings["rating"] == "better" else users.BestRating
    return kind(ratings=ratings, legal=LEGAL, seed=own)
