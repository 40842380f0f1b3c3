"""The tune loop: rounds of ONS and ONSEG through the two verbs, against the bare arithmetic in numpy."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import smidgen
from benchmarks.interleave import Workload

ROUNDS = 500


def workloads() -> Iterator[Workload]:
    """W4: rounds on a ball of 8, 20 and 100 dimensions."""
    for dim in (8, 20, 100):
        yield ons(dim)
        yield onseg(dim)


def ons(dim: int) -> Workload:
    """Online Newton steps along given gradients."""
    gradients = np.random.default_rng(0).normal(size=(ROUNDS, dim)) / np.sqrt(dim)
    beta, D = 0.1, 2.0

    def two_verbs() -> None:
        learner = smidgen.ONS(space=smidgen.Ball(dim=dim), gradient_bound=2.0, exp_concavity=1.0, beta=beta)
        for g in gradients:
            learner.learn(learner.decide(), g)

    def rule_only() -> None:
        rule = smidgen.optim.Newton(space=smidgen.Ball(dim=dim), epsilon=1 / (beta * D) ** 2, scale=1 / beta)
        for g in gradients:
            rule.step(-g)

    def numpy_loop() -> None:
        y, inverse = np.zeros(dim), np.eye(dim) * (beta * D) ** 2
        for g in gradients:
            u = inverse @ g
            s = 1.0 + g @ u
            inverse -= np.outer(u, u / s)
            y = y - u / s / beta
            if (length := math.sqrt(y @ y)) > 1.0:
                y /= length  # the Euclidean projection: cheaper than the one in the norm of A, and not the same

    return Workload(
        f"ONS, d = {dim}",
        "one online Newton step on the unit ball, gradient given; numpy projects in the Euclidean norm (cheaper)",
        "round",
        ROUNDS,
        {"smidgen, two verbs": two_verbs, "smidgen, the rule alone": rule_only, "numpy": numpy_loop},
    )


def onseg(dim: int) -> Workload:
    """Online Newton steps from one loss value per round."""
    target = np.full(dim, 0.3 / math.sqrt(dim))
    delta, D = 0.2, 2.0
    beta = delta / (8.0 * dim * D)

    def two_verbs() -> None:
        learner = smidgen.ONSEG(space=smidgen.Ball(dim=dim), loss_bound=1.0, delta=delta, beta="practical")
        for _ in range(ROUNDS):
            d = learner.decide()
            gap = d.action - target
            learner.learn(d, float(gap @ gap) / 2.0)

    def numpy_loop() -> None:
        rng = np.random.default_rng(0)
        y, inverse = np.zeros(dim), np.eye(dim) * (beta * D) ** 2
        for _ in range(ROUNDS):
            v = rng.normal(size=dim)
            v /= math.sqrt(v @ v)
            gap = y + delta * v - target
            g = dim / delta * float(gap @ gap) / 2.0 * v
            u = inverse @ g
            s = 1.0 + g @ u
            inverse -= np.outer(u, u / s)
            y = y - u / s / beta
            if (length := math.sqrt(y @ y)) > 0.8:
                y *= 0.8 / length

    return Workload(
        f"ONSEG, d = {dim}",
        "one round from one loss value; numpy projects in the Euclidean norm and keeps no record",
        "round",
        ROUNDS,
        {"smidgen, two verbs": two_verbs, "numpy": numpy_loop},
    )
