"""The tune loop (W4): rounds of ONS and ONSEG as a compiled stream and through the two verbs, against numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

import smidgen
from benchmarks.interleave import Contender, Workload
from benchmarks.twins import HOW, NoTwin, twin
from smidgen.arrays import zeros
from smidgen.decision import FloatArray
from smidgen.learners.tune import Tuner
from smidgen_papers.players import play_tuning

ROUNDS, SOME = 20_000, 500
RADIUS, SLOPE = 10.0, 2.0
BETA = 1.0 / (8.0 * SLOPE * 2.0 * RADIUS)  # as theory has it
DELTA, LOSS_BOUND = 0.5, 4.0


def rows_of(dim: int) -> smidgen.losses.LeastSquares:
    """Rows z and targets w*·z, w* well inside the ball."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(ROUNDS, dim)) / math.sqrt(dim)
    return smidgen.losses.LeastSquares(Z=Z, y=Z @ rng.normal(size=dim) / math.sqrt(dim))


def ons(quick: bool, dim: int) -> Workload:
    """Online Newton steps along the gradients of least squares."""
    loss, D = rows_of(dim), 2.0 * RADIUS
    Z, y = loss.Z, loss.y

    def learner() -> Tuner:
        return smidgen.ONS(space=smidgen.Ball(dim=dim, radius=RADIUS), gradient_bound=SLOPE, exp_concavity=1.0)

    def two_verbs() -> None:
        fresh = learner()
        for t in range(SOME):
            decision = fresh.decide()
            fresh.learn(decision, loss.gradient(t, decision.action))

    def by_numpy() -> FloatArray:
        x, inverse = np.zeros(dim), np.eye(dim) * (BETA * D) ** 2
        for t in range(SOME):
            z = Z[t]
            g = (x @ z - y[t]) * z
            u = inverse @ g
            s = 1.0 + g @ u
            inverse -= np.outer(u, u / s)
            x = x - u / s / BETA
            if (length := math.sqrt(x @ x)) > RADIUS:
                x *= RADIUS / length
        return x

    ours = learner()
    play_tuning(ours, loss, order=np.arange(SOME))
    assert np.allclose(ours.weights, by_numpy())
    return workload("ONS", loss, learner, two_verbs, by_numpy, compiled("ons", loss, BETA))


def onseg(quick: bool, dim: int) -> Workload:
    """Online Newton steps from one loss value per round."""
    loss, D = rows_of(dim), 2.0 * RADIUS
    Z, y = loss.Z, loss.y
    beta = DELTA / (8.0 * dim * LOSS_BOUND * D)

    def learner() -> Tuner:
        space = smidgen.Ball(dim=dim, radius=RADIUS)
        return smidgen.ONSEG(space=space, loss_bound=LOSS_BOUND, delta=DELTA, beta="practical")

    def two_verbs() -> None:
        fresh = learner()
        for t in range(SOME):
            decision = fresh.decide()
            fresh.learn(decision, loss(t, decision.action))

    def by_numpy() -> None:
        rng = np.random.default_rng(0)
        x, inverse = np.zeros(dim), np.eye(dim) * (beta * D) ** 2
        for t in range(SOME):
            v = rng.normal(size=dim)
            v /= math.sqrt(v @ v)
            g = dim / DELTA * 0.5 * ((x + DELTA * v) @ Z[t] - y[t]) ** 2 * v
            u = inverse @ g
            s = 1.0 + g @ u
            inverse -= np.outer(u, u / s)
            x = x - u / s / beta
            if (length := math.sqrt(x @ x)) > RADIUS - DELTA:
                x *= (RADIUS - DELTA) / length

    return workload("ONSEG", loss, learner, two_verbs, by_numpy, compiled("onseg", loss, beta, DELTA))


def compiled(name: str, loss: smidgen.losses.LeastSquares, beta: float, *more: float) -> Callable[[], FloatArray] | str:
    """The same rounds in C++, from zero; or why there are none."""
    dim = loss.Z.shape[1]
    try:
        loop = twin("newton.cpp", name, DIM=dim)
    except NoTwin as reason:
        return str(reason)

    def run() -> FloatArray:
        x, inverse = np.zeros(dim), zeros((dim, dim), np.float64)
        np.fill_diagonal(inverse, (beta * 2.0 * RADIUS) ** 2)
        loop(x, inverse, loss.Z, loss.y, len(loss), 1.0 / beta, *more)
        return x

    return run


def workload(
    name: str,
    loss: smidgen.losses.LeastSquares,
    learner: Callable[[], Tuner],
    two_verbs: Callable[[], object],
    by_numpy: Callable[[], object],
    in_cpp: Callable[[], FloatArray] | str,
) -> Workload:
    ours = learner()
    projected = float(play_tuning(ours, loss).projected[-1])
    contenders: dict[str, Contender] = {
        "smidgen, stream": lambda: play_tuning(learner(), loss),
        "smidgen, two verbs": (two_verbs, SOME),
        "numpy": (by_numpy, SOME),
    }
    hears = "the gradient" if name == "ONS" else "the loss at a point a little way off"
    remarks = {
        "smidgen, stream": f"a new learner, then `play_tuning`; {100.0 * projected:.1f} % of the steps left the ball",
        "smidgen, two verbs": f"decide and learn from Python, with records, the first {SOME:,} rounds",
        "numpy": f"the bare arithmetic, the first {SOME:,} rounds; what leaves the ball is pulled back in the "
        "Euclidean norm (cheaper than that of A)",
    }
    if isinstance(in_cpp, str):
        remarks["C++"] = in_cpp
    else:
        assert name == "ONSEG" or np.allclose(ours.weights, in_cpp())
        contenders["C++"] = in_cpp
        own = ", a generator of its own" if name == "ONSEG" else ""
        remarks["C++"] = (
            f"the same arithmetic (`benchmarks/newton.cpp`, {HOW}), d fixed at compile time, no set to stay in{own}; "
            "it keeps the full square of A⁻¹, where ours keeps a triangle"
        )
    return Workload(
        "W4",
        f"{name}, d = {loss.Z.shape[1]}",
        f"one round of least squares on a ball: a point goes out, {hears} comes back, one Newton step",
        "round",
        len(loss),
        contenders,
        remarks,
    )


WORKLOADS: dict[str, Callable[[bool], Workload]] = {
    f"W4 {name} {dim}": partial(make, dim=dim)
    for dim in (8, 20, 100)
    for name, make in (("ONS", ons), ("ONSEG", onseg))
}
