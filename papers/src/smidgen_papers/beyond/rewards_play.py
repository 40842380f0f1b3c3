"""One contender on one world in one order: what a part of the comparison does."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.learners.choose import ChoiceBank, LinUCB, SquareCB, ThompsonChoice
from smidgen_papers.beyond.reward_peers import play_armed, play_vw
from smidgen_papers.beyond.reward_worlds import WORLDS, matrix, world
from smidgen_papers.part import Place, Values

#: After how many rounds, as shares of all, losses are kept for the curves.
POINTS = 20
#: Ours, by name.
LEARNERS: dict[str, Any] = {
    "ChoiceBank": ChoiceBank,
    "LinUCB": LinUCB,
    "SquareCB": SquareCB,
    "ThompsonChoice": ThompsonChoice,
}


def play(
    place: Place,
    *,
    name: str,
    source: str,
    rounds: int,
    seed: int,
    peer: str,
    contender: str,
    settings: dict[str, Any],
) -> Values:
    """Play; keep 1 − the mean reward, in the end and on the way.

    Parameters
    ----------
    place
        Where the data are.
    name, source, rounds, seed
        The world, its data set, how many rounds, and the order.
    peer
        ``"smidgen"``, ``"Vowpal Wabbit"`` or ``"arms"``.
    contender
        Our learner's class, Vowpal Wabbit's way to explore, or the peer with one model per arm.
    settings
        Our learner's arguments, or ``{"rate": …}`` of Vowpal Wabbit.
    """
    arrays = world(place, name=name, source=source, rounds=rounds, seed=seed)
    if peer == "smidgen":
        X = matrix(arrays)
        rewards = LEARNERS[contender](dim=X.shape[1], seed=seed, **settings).run(X, arrays["rewards"]).rewards
    elif peer == "Vowpal Wabbit":
        rewards = play_vw(arrays, contender, settings["rate"], seed)
    else:
        rewards = play_armed(arrays, contender, seed)
    T = len(rewards)
    at = np.unique(np.linspace(T / POINTS, T, POINTS).round().astype(np.int64))
    losses = 1.0 - np.cumsum(rewards)[at - 1] / at
    hindsight = 1.0 - float(arrays["rewards"].mean(axis=0).max()) if WORLDS[name].arms else 1.0
    best = 1.0 - float(arrays["rewards"].max(axis=1).mean())
    return {"loss": float(losses[-1]), "losses": losses, "at": at, "one arm": hindsight, "best": best}
