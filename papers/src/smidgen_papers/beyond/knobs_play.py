"""Eight losses on the unit cube, and tuners that hear them with noise: ours, CMA-ES, Optuna, and chance."""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from smidgen.decision import FloatArray
from smidgen.geometry import Box
from smidgen.learners.tune import OGDEG, QuadraticTuner
from smidgen_papers.part import Place, Values

Loss = Callable[[FloatArray], float]


def _rotated(d: int, rng: np.random.Generator) -> FloatArray:
    return np.asarray(np.linalg.qr(rng.normal(size=(d, d)))[0])


def losses(d: int, seed: int) -> dict[str, Loss]:
    """The losses by name, each 0 at a best point of its own, and about 1 far from it."""
    rng = np.random.default_rng([seed, 23])
    c = {
        name: rng.uniform(0.2, 0.8, d)
        for name in ("bowl", "valley", "tilted", "kink", "steep", "waves", "corner", "flat")
    }
    Q, weights = _rotated(d, rng), np.geomspace(0.2, 3.0, d)
    c["corner"] = np.round(c["corner"])
    return {
        "bowl": lambda x: float(((x - c["bowl"]) ** 2).sum()),
        "valley": lambda x: float((weights * (x - c["valley"]) ** 2).sum()),
        "tilted": lambda x: float((weights * (Q @ (x - c["tilted"])) ** 2).sum()),
        "kink": lambda x: float(np.abs(x - c["kink"]).sum() / d),
        "steep": lambda x: float(1.0 - math.exp(-3.0 * ((x - c["steep"]) ** 2).sum())),
        "waves": lambda x: float(((x - c["waves"]) ** 2 + 0.02 * (1 - np.cos(15 * (x - c["waves"])))).sum()),
        "corner": lambda x: float(np.abs(x - c["corner"]).sum() / d),
        "flat": lambda x: float((np.abs(x - c["flat"]) ** 3).sum() * 2.0),
    }


def installed(tuner: str) -> bool:
    """Check whether a peer is here."""
    need = {"CMA-ES": "cmaes", "Optuna TPE": "optuna"}.get(tuner)
    return need is None or importlib.util.find_spec(need) is not None


def play(
    place: Place, *, tuner: str, loss: str, dim: int, rounds: int, noise: float, unit: float, offset: float, seed: int
) -> Values:
    """The mean regret of the points played, in the loss's own unit."""
    f, rng = losses(dim, seed)[loss], np.random.default_rng([seed, 29])
    errors = noise * rng.normal(size=rounds)
    regrets = np.empty(rounds)

    def told(x: FloatArray, t: int) -> float:
        regrets[t] = f(x)
        return float(unit * (regrets[t] + errors[t]) + offset)

    _TUNERS[tuner](dim, rounds, told, seed)
    return {"regret": float(regrets.mean()), "last": float(regrets[-rounds // 10 :].mean())}


def _ours(make: Callable[[Box, int], Any]) -> Callable[..., None]:
    def run(d: int, rounds: int, measure: Callable[[FloatArray, int], float], seed: int) -> None:
        learner = make(Box(low=np.zeros(d), high=np.ones(d)), seed)
        for t in range(rounds):
            decision = learner.ask()
            learner.tell(decision, measure(decision.action, t))

    return run


def _cmaes(d: int, rounds: int, measure: Callable[[FloatArray, int], float], seed: int) -> None:
    bounds = np.column_stack([np.zeros(d), np.ones(d)])
    make: Any = importlib.import_module("cmaes").CMA
    peer, t = make(mean=np.full(d, 0.5), sigma=0.2, bounds=bounds, seed=seed), 0
    while t < rounds:
        losses_so_far: list[tuple[FloatArray, float]] = []
        for _ in range(peer.population_size):
            x = np.clip(peer.ask(), 0.0, 1.0)
            if t == rounds:
                return
            losses_so_far.append((x, measure(x, t)))
            t += 1
        peer.tell(losses_so_far)
        if peer.should_stop():
            _finish(peer.mean, t, rounds, measure)
            return


def _finish(x: Any, t: int, rounds: int, measure: Callable[[FloatArray, int], float]) -> None:
    """Stay with the best point to the end."""
    for later in range(t, rounds):
        measure(np.clip(x, 0.0, 1.0), later)


def _tpe(d: int, rounds: int, measure: Callable[[FloatArray, int], float], seed: int) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    for t in range(rounds):
        trial = study.ask()
        x = np.array([trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(d)])
        study.tell(trial, measure(x, t))


def _random(d: int, rounds: int, measure: Callable[[FloatArray, int], float], seed: int) -> None:
    for t, x in enumerate(np.random.default_rng([seed, 31]).random((rounds, d))):
        measure(x, t)


_TUNERS: dict[str, Callable[..., None]] = {
    "QuadraticTuner": _ours(lambda space, seed: QuadraticTuner(space=space, seed=seed)),
    "OGDEG": _ours(lambda space, seed: OGDEG(space=space, loss_bound=1.0, delta=0.1, beyond="take", seed=seed)),
    "OGDEG, running mean": _ours(lambda space, seed: OGDEG(space=space, delta=0.1, baseline="mean", seed=seed)),
    "OGDEG, δ = .2": _ours(lambda space, seed: OGDEG(space=space, delta=0.2, baseline="mean", seed=seed)),
    "CMA-ES": _cmaes,
    "Optuna TPE": _tpe,
    "random": _random,
}
#: The tuners by name.
TUNERS = tuple(_TUNERS)


def plays(tuner: str, dim: int) -> bool:
    """Check whether a tuner takes part: slow Optuna at three coordinates only, a wider reach of OGDEG above five."""
    if tuner == "OGDEG, δ = .2":
        return dim > 5
    return installed(tuner) and (tuner != "Optuna TPE" or dim == 3)


def in_context(place: Place, *, dim: int, columns: int, rounds: int, context: bool, seed: int) -> Values:
    """The mean regret where the best point moves with a context, and that of the best fixed point."""
    rng = np.random.default_rng([seed, 41])
    G, middle = rng.normal(size=(dim, columns)) * 0.25 / math.sqrt(columns), rng.uniform(0.35, 0.65, dim)
    weights, level = np.geomspace(0.5, 2.0, dim), 0.3 * rng.normal(size=columns)
    contexts, errors = rng.normal(size=(rounds, columns)), 0.1 * rng.normal(size=rounds)
    bests = np.clip(middle + contexts @ G.T, 0.0, 1.0)
    box = Box(low=np.zeros(dim), high=np.ones(dim))
    learner = QuadraticTuner(space=box, dim=columns if context else 0, seed=seed)
    regrets = np.empty(rounds)
    for t, c in enumerate(contexts):
        decision = learner.ask(c if context else None)
        regrets[t] = float((weights * (decision.action - bests[t]) ** 2).sum())
        learner.tell(decision, float(regrets[t] + level @ c + errors[t]))
    fixed = (weights * (bests - bests.mean(0)) ** 2).sum(1).mean()
    return {"regret": float(regrets.mean()), "last": float(regrets[-rounds // 10 :].mean()), "fixed": float(fixed)}


def from_safe(place: Place, *, loss: str, dim: int, rounds: int, safe: bool, seed: int) -> Values:
    """The mean regret, and how many points cost more than the safe setting and .05."""
    f, rng = losses(dim, seed)[loss], np.random.default_rng([seed, 47])
    points = rng.random((500, dim))
    known = points[np.argsort([f(x) for x in points], kind="stable")[100]]
    given = {"knobs": known.tolist(), "margin": 0.05} if safe else None
    learner = QuadraticTuner(space=Box(low=np.zeros(dim), high=np.ones(dim)), safe=given, seed=seed)
    regrets, errors = np.empty(rounds), 0.05 * rng.normal(size=rounds)
    for t in range(rounds):
        decision = learner.ask()
        regrets[t] = f(decision.action)
        learner.tell(decision, float(regrets[t] + errors[t]))
    return {"regret": float(regrets.mean()), "unsafe": int((regrets > f(known) + 0.05).sum())}
