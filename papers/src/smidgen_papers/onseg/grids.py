"""The work of tuning: a grid of steps and δ for a one-point learner, chosen in hindsight."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.evaluate.losses import LeastSquares, Logistic
from smidgen.geometry import Space
from smidgen.learners.tune import OGDEG, ONSEG, Tuner
from smidgen_papers.onseg.plays import order_of
from smidgen_papers.onseg.readings import READINGS, losses, space_of
from smidgen_papers.outcome import checkpoints
from smidgen_papers.part import Place
from smidgen_papers.players import play_tuning

#: δ as a share of r, and factors of the theory's step: of D/(F√t) for OGDEG, of 1/β with the practical β for ONSEG.
REACHES = (0.01, 0.02, 0.05, 0.1, 0.2)
FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
LEARNERS = ("OGDEG", "ONSEG")


def learner_of(name: str, loss: LeastSquares | Logistic, space: Space, reach: float, factor: float, seed: int) -> Tuner:
    """A one-point learner with δ = reach·r and a step that is factor times the usual one."""
    F, delta = loss.bound(space), reach * space.inner_radius
    if name == "OGDEG":
        return OGDEG(space=space, loss_bound=F / factor, delta=delta, beyond="take", seed=seed)
    beta = delta / (8.0 * space.free_dim * F * space.diameter) / factor
    return ONSEG(space=space, loss_bound=F, delta=delta, beta=beta, seed=seed)


def tune(
    place: Place,
    *,
    table: str,
    source: str,
    reading: str,
    learner: str,
    epochs: int,
    trials: int,
    repeats: int,
    seed: int,
) -> dict[str, Any]:
    """Play the grid, take the setting with the lowest mean loss, and play it again with fresh seeds."""
    settings = READINGS[reading]
    loss = losses(place, data=table, source=source, scale=settings.scale, target=settings.target)
    space, T = space_of(loss.Z.shape[1], settings.space, settings.radius), epochs * len(loss)
    grid = np.zeros((len(REACHES), len(FACTORS), trials))
    for trial in range(trials):
        number = 1000 * seed + 500 + trial
        rows = order_of(len(loss), epochs, "shuffled", number)
        for i, reach in enumerate(REACHES):
            for j, factor in enumerate(FACTORS):
                made = learner_of(learner, loss, space, reach, factor, number)
                grid[i, j, trial] = play_tuning(made, loss, order=rows).losses[-1]
    i, j = divmod(int(grid.mean(axis=2).argmin()), len(FACTORS))
    at, runs = checkpoints(T), []
    for repeat in range(repeats):
        number = 1000 * seed + repeat
        made = learner_of(learner, loss, space, REACHES[i], FACTORS[j], number)
        runs.append(play_tuning(made, loss, order=order_of(len(loss), epochs, "shuffled", number), checkpoints=at))
    return {
        "at": np.array(at),
        "losses": np.array([run.losses for run in runs]),
        "mistakes": np.array([run.mistakes for run in runs]),
        "grid": grid.mean(axis=2),
        "reach": REACHES[i],
        "factor": FACTORS[j],
        "best": float(loss.values(loss.best(space)).mean()),
    }
