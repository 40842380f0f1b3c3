"""The work of the comparisons: one algorithm on one reading of one table, several times over."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.decision import IntArray
from smidgen.evaluate.losses import Logistic
from smidgen_papers.onseg.learners import Choice, make, moved
from smidgen_papers.onseg.paper import EPOCHS
from smidgen_papers.onseg.readings import losses, space_of
from smidgen_papers.outcome import checkpoints
from smidgen_papers.part import Place
from smidgen_papers.players import TunePlay, play_tuning

#: What is kept of every run.
SERIES = ("losses", "base_losses", "mistakes", "base_mistakes", "projected")


def order_of(rows: int, epochs: int, order: str, seed: int) -> IntArray | None:
    """The rows of all epochs, shuffled again in each; None for the order of the file."""
    if order == "file":
        return None
    rng = np.random.default_rng([seed, 150])
    return np.concatenate([rng.permutation(rows) for _ in range(epochs)])


def play(
    place: Place,
    *,
    table: str,
    source: str,
    scale: str | None,
    target: str | None,
    space: str,
    radius: float,
    order: str,
    learner: str,
    beta: str,
    reach: str,
    epochs: int,
    repeats: int,
    seed: int,
) -> dict[str, Any]:
    """Play a table epochs·n rounds; F(X^t) at checkpoints, one row per repetition.

    Whatever the number of rounds, δ and γ are those of the theorems for T = 150·n.
    """
    loss = losses(place, data=table, source=source, scale=scale, target=target)
    region, T = space_of(loss.Z.shape[1], space, radius), epochs * len(loss)
    at = checkpoints(T)
    runs: list[TunePlay] = []
    for repeat in range(repeats):
        number = 1000 * seed + repeat
        made = make(loss, region, Choice(learner, beta, reach), data=table, rounds=EPOCHS * len(loss), seed=number)
        rows = order_of(len(loss), epochs, order, number)
        runs.append(play_tuning(made.learner, loss, order=rows, rounds=T, checkpoints=at))
    least, most = moved(made.learner)
    return {
        "at": np.array(at),
        **{name: np.array([getattr(run, name) for run in runs]) for name in SERIES},
        "delta": made.delta,
        "gamma": made.gamma,
        "beta": made.beta,
        "outside": made.outside,
        "least_growth": least,
        "most_growth": most,
    }


def fixed(
    place: Place, *, table: str, source: str, scale: str | None, target: str | None, space: str, radius: float
) -> dict[str, Any]:
    """The mean loss (and error rate) of the best fixed point of the set and of its centre; and the constants.

    The curvatures are the extreme eigenvalues of the Hessian of a single loss, where it is largest: zzᵀ, or a quarter
    of it for the logistic loss.
    """
    loss = losses(place, data=table, source=source, scale=scale, target=target)
    region = space_of(loss.Z.shape[1], space, radius)
    best = loss.best(region)
    answer: dict[str, Any] = {"rows": len(loss), "dim": loss.Z.shape[1]}
    for name, x in (("best", best), ("centre", region.centre)):
        answer[name] = float(loss.values(x).mean())
        answer[f"{name}_mistakes"] = float(np.mean(loss.y * (loss.Z @ x) <= 0.0))
    answer["F"], answer["G"] = loss.bound(region), loss.lipschitz(region)
    answer["exp_concavity"] = loss.exp_concavity(region)
    steepest = loss.Z[np.argmax((loss.Z**2).sum(axis=1))]
    bend = np.linalg.eigvalsh(np.outer(steepest, steepest)) * (0.25 if isinstance(loss, Logistic) else 1.0)
    answer["least_curvature"], answer["most_curvature"] = float(max(bend[0], 0.0)), float(bend[-1])
    answer["D"], answer["r"], answer["norm"] = region.diameter, region.inner_radius, float(np.linalg.norm(best))
    return answer
