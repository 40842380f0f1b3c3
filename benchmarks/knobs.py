"""W9: one ask and one tell of QuadraticTuner, next to the same in numpy, Optuna's TPE and CMA-ES."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import smidgen
from benchmarks.interleave import Contender, Workload
from smidgen.decision import FloatArray

ROUNDS, FEW = 500, 60


def _loss(x: FloatArray) -> float:
    return float(((x - 0.3) ** 2).sum())


def by_numpy(dim: int) -> FloatArray:
    """The formulas of `QuadraticTuner` with matrices of candidates, in the scale as it comes."""
    rng, f, a = np.random.default_rng(0), 0.998, 0.1
    pairs = np.triu_indices(dim)
    p = 1 + dim + len(pairs[0])
    A, b, sse, best = a * np.eye(p), np.zeros(p), 0.05, np.zeros(dim)

    def features(Z: FloatArray) -> FloatArray:
        return np.column_stack([np.ones(len(Z)), Z, Z[:, pairs[0]] * Z[:, pairs[1]]])

    def around(x: FloatArray) -> FloatArray:
        spread = np.repeat([0.3, 0.1], 100)[:, None]
        return np.vstack([x, np.clip(x + spread * rng.normal(size=(200, dim)), -1.0, 1.0)])

    for t in range(ROUNDS):
        inverse = np.linalg.inv(A)
        w, Z = inverse @ b, around(best)
        phi = features(Z)
        widths = np.einsum("ij,jk,ik->i", phi, inverse, phi)
        chosen = int(np.argmin(phi @ w - np.sqrt(sse / (1 + min(t, 500)) * widths)))
        x, y = phi[chosen], 0.4 + 0.4 * _loss((Z[chosen] + 1) / 2)
        sse = f * sse + (y - w @ x) ** 2 / (1 + widths[chosen])
        A, b = f * A + (1 - f) * a * np.eye(p) + np.outer(x, x), f * b + y * x
        if t >= dim + 2:
            near = around(best)
            best = near[int(np.argmin(features(near) @ np.linalg.solve(A, b)))]
    return best


def workload(quick: bool, dim: int) -> Workload:
    """A loss of a point of the unit cube."""
    space = smidgen.Box(low=np.zeros(dim), high=np.ones(dim))

    def ours() -> None:
        tuner = smidgen.QuadraticTuner(space=space)
        for _ in range(ROUNDS):
            decision = tuner.ask()
            tuner.tell(decision, _loss(decision.action))

    contenders: dict[str, Contender] = {"smidgen": ours, "numpy": partial(by_numpy, dim)}
    remarks = {"smidgen": "two verbs, with records", "numpy": "the same formulas, without the scale and the records"}
    for name, module, peer in (("Optuna TPE", "optuna", _tpe), ("cmaes", "cmaes", _cmaes)):
        try:
            contenders[name] = (partial(peer, importlib.import_module(module), dim), FEW)
            remarks[name] = f"the first {FEW} trials"
        except ImportError:
            remarks[name] = "is not installed"
    about = "a point of a box goes out, its loss comes back"
    return Workload("W9", f"tuning, d = {dim}", about, "round", ROUNDS, contenders, remarks)


def _tpe(optuna: Any, dim: int) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    for _ in range(FEW):
        trial = study.ask()
        study.tell(trial, _loss(np.array([trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(dim)])))


def _cmaes(cmaes: Any, dim: int) -> None:
    bounds = np.column_stack([np.zeros(dim), np.ones(dim)])
    peer, left = cmaes.CMA(mean=np.full(dim, 0.5), sigma=0.2, bounds=bounds, seed=0), FEW
    while left > 0:
        points = [peer.ask() for _ in range(peer.population_size)]
        peer.tell([(x, _loss(x)) for x in points])
        left -= len(points)


WORKLOADS: dict[str, Callable[[bool], Workload]] = {f"W9 tuning {dim}": partial(workload, dim=dim) for dim in (3, 5)}
