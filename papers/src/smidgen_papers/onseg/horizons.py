"""The work of the bounds: the regret of runs with the constants of the theorems for their horizon."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.learners.tune import OGDEG, ONSEG, Tuner
from smidgen_papers.onseg.plays import order_of
from smidgen_papers.onseg.readings import READINGS, losses, space_of
from smidgen_papers.part import Place
from smidgen_papers.players import play_tuning

READING = "[-1, 1], ball 1"
#: Learners, with and without a Lipschitz constant; what their theorems promise.
FORMS = {
    "OGDEG": ("OGDEG", False, "T^{5/6}"),
    "ONSEG": ("ONSEG", False, "T^{2/3}"),
    "OGDEG, Lipschitz": ("OGDEG", True, "T^{3/4}"),
    "ONSEG, Lipschitz": ("ONSEG", True, "√T"),
}


def horizon(
    place: Place, *, table: str, source: str, form: str, epochs: int, repeats: int, seed: int
) -> dict[str, Any]:
    """The regret of T = epochs·n rounds with the constants of the theorem for that T, one number per repetition."""
    reading, (learner, lipschitz, _) = READINGS[READING], FORMS[form]
    loss = losses(place, data=table, source=source, scale=reading.scale, target=reading.target)
    space, T = space_of(loss.Z.shape[1], reading.space, reading.radius), epochs * len(loss)
    best = float(loss.values(loss.best(space)).mean())
    L = loss.lipschitz(space) if lipschitz else None
    regrets = []
    for repeat in range(repeats):
        number = 1000 * seed + repeat
        kind: type[OGDEG | ONSEG] = OGDEG if learner == "OGDEG" else ONSEG
        made: Tuner = kind(space=space, loss_bound=loss.bound(space), horizon=T, lipschitz=L, seed=number)
        run = play_tuning(made, loss, order=order_of(len(loss), epochs, "shuffled", number))
        regrets.append(T * (float(run.losses[-1]) - best))
    size = {"dim": space.dim, "F": loss.bound(space), "D": space.diameter, "r": space.inner_radius}
    return {
        "T": T,
        "regret": np.array(regrets),
        "G": loss.lipschitz(space),
        "centre": float(0.5 * np.mean(loss.y**2)) - best,
        **size,
    }
