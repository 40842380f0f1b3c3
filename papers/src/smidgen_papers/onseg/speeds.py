"""The work of the times: nanoseconds per compiled round."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from smidgen.evaluate.losses import LeastSquares
from smidgen.geometry import Ball
from smidgen.learners.tune import OGD, OGDEG, ONS, ONSEG, Tuner
from smidgen_papers.part import Place
from smidgen_papers.players import play_tuning


def speed(place: Place, *, learner: str, dim: int, far: bool, rounds: int, repeats: int) -> dict[str, Any]:
    """Nanoseconds of processor time per compiled round of least squares: one number per repetition.

    ``far``: the best point lies outside the ball, so that steps lead out of it and must be projected.
    """
    rng = np.random.default_rng(dim)
    Z = rng.normal(size=(2000, dim)) / np.sqrt(dim)
    w = rng.normal(size=dim)
    w *= (5.0 if far else 0.5) / np.linalg.norm(w)
    loss, space = LeastSquares(Z=Z, y=Z @ w + 0.1 * rng.normal(size=len(Z))), Ball(dim=dim)
    spent, projected = [], 0.0
    for repeat in range(-1, repeats):  # the first one, which may compile, is not counted
        made = _made(learner, loss, space, max(repeat, 0))
        start = time.process_time()
        run = play_tuning(made, loss, rounds=rounds)
        if repeat >= 0:
            spent.append(1e9 * (time.process_time() - start) / rounds)
            projected = float(run.projected[-1])
    return {"nanoseconds": np.array(spent), "projected": projected}


def _made(learner: str, loss: LeastSquares, space: Ball, seed: int) -> Tuner:
    F, G = loss.bound(space), loss.lipschitz(space)
    if learner == "OGD":
        return OGD(space=space, gradient_bound=G, seed=seed)
    if learner == "ONS":
        return ONS(space=space, gradient_bound=G, exp_concavity=loss.exp_concavity(space), seed=seed)
    if learner == "OGDEG":
        return OGDEG(space=space, loss_bound=F, delta=0.1, seed=seed)
    return ONSEG(space=space, loss_bound=F, delta=0.1, beta="practical", seed=seed)
