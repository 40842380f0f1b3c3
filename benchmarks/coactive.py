"""The coactive loop: whole rounds through the two verbs, the second-order step, the projection."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import blas

import smidgen
from benchmarks.interleave import Workload
from smidgen.state import FullSecondOrder
from smidgen.types import FloatArray


def workloads() -> Iterator[Workload]:
    yield ranking(queries=1000, docs=50, dim=100)
    yield ranking(queries=300, docs=24, dim=700)
    yield choice(rounds=1000, items=3700, dim=50)
    for dim in (100, 700):
        yield second_order_step(dim)
        yield projection(dim)


def ranking(queries: int, docs: int, dim: int) -> Workload:
    stream = smidgen.data.ranking_stream(queries=queries, docs=docs, dim=dim)
    arrays = [context.docs for context in stream.contexts]
    better = np.random.default_rng(0).permuted(np.tile(np.arange(docs), (queries, 1)), axis=1)
    discount = 1.0 / np.log2(np.arange(2, 7))

    def two_verbs() -> None:
        learner = smidgen.PreferencePerceptron(dim=dim)
        for context, feedback in zip(stream.contexts, better, strict=True):
            learner.learn(learner.decide(context), feedback)

    def numpy_loop() -> None:
        w = np.zeros(dim)
        for x, feedback in zip(arrays, better, strict=True):
            order = np.argsort(-(x @ w), kind="stable")
            w += discount @ x[feedback[:5]] - discount @ x[order[:5]]

    return Workload(
        f"ranking, {docs} docs x {dim} features",
        "one decide and one learn of the preference perceptron; numpy does the bare arithmetic (no record, no checks)",
        "round",
        queries,
        {"smidgen, two verbs": two_verbs, "numpy": numpy_loop},
    )


def choice(rounds: int, items: int, dim: int) -> Workload:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(items, dim))
    menu = smidgen.Choice(features)
    better = rng.integers(items, size=rounds)

    def two_verbs() -> None:
        learner = smidgen.PreferencePerceptron(dim=dim)
        for feedback in better:
            learner.learn(learner.decide(menu), int(feedback))

    def numpy_loop() -> None:
        w = np.zeros(dim)
        for feedback in better:
            w += features[feedback] - features[int(np.argmax(features @ w))]

    return Workload(
        f"choice, {items} items x {dim} features",
        "one decide and one learn of the preference perceptron; numpy does the bare arithmetic",
        "round",
        rounds,
        {"smidgen, two verbs": two_verbs, "numpy (BLAS)": numpy_loop},
    )


def second_order_step(dim: int) -> Workload:
    xs = np.random.default_rng(0).normal(size=(20, dim)) / np.sqrt(dim)

    def ours() -> None:
        state = FullSecondOrder(dim, 1.0)
        for x in xs:
            state.absorb(*state.product(x), 1.0)

    def by_blas() -> None:
        inverse = np.asfortranarray(np.eye(dim))
        for x in xs:
            u = blas.dsymv(1.0, inverse, x)
            inverse = blas.dsyr(-1.0 / (1.0 + x @ u), u, a=inverse, overwrite_a=1)

    def by_inversion() -> None:
        A = np.eye(dim)
        for x in xs[:2]:
            A += np.outer(x, x)
            np.linalg.inv(A)

    return Workload(
        f"second-order step, N = {dim}",
        "A⁻¹x and the rank-one update of A⁻¹, in double precision; the inversion does 2 of the 20 steps",
        "step",
        20,
        {"smidgen": ours, "BLAS dsymv + dsyr": by_blas, "np.linalg.inv (x 1/10)": by_inversion},
    )


def projection(dim: int) -> Workload:
    rng = np.random.default_rng(0)
    G = rng.normal(size=(2 * dim, dim)) / np.sqrt(dim)
    A = np.eye(dim) + G.T @ G
    inverse = np.linalg.inv(A)
    inverse = np.ascontiguousarray((inverse + inverse.T) / 2)
    v = rng.normal(size=dim)
    ball = smidgen.Ball(dim=dim, radius=float(np.linalg.norm(v) / 1.5))

    def by_eigh() -> FloatArray:
        values, vectors = np.linalg.eigh(A)
        c = values * (vectors.T @ v)
        low, high = 0.0, 1e6
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if np.linalg.norm(c / (values + middle)) > ball.radius else (low, middle)
        return np.asarray(vectors @ (c / (values + high)))

    def ours() -> FloatArray:
        return ball.project_in_norm(v, inverse)

    assert np.abs(ours() - by_eigh()).max() < 1e-7
    return Workload(
        f"projection on the ball in the norm of A, N = {dim}",
        "from 1.5 radii away to the ball, to 1e-7",
        "projection",
        1,
        {"smidgen (Lanczos)": ours, "eigh + bisection": by_eigh},
    )
