"""The second-order step and the projection in the norm of A (W2b)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg import blas

import smidgen
from benchmarks.interleave import Contender, Workload
from benchmarks.twins import HOW, NoTwin, twin
from smidgen.arrays import zeros
from smidgen.decision import FloatArray
from smidgen.optim import Newton

STEPS = 100


def step(quick: bool, dim: int) -> Workload:
    """A⁻¹x and the rank-one update of A⁻¹, again and again; nobody projects."""
    xs = np.random.default_rng(0).normal(size=(STEPS, dim)) / np.sqrt(dim)
    space = smidgen.Ball(dim=dim, radius=1e9)

    def ours() -> FloatArray:
        rule = Newton(space=space)
        for x in xs:
            rule.step(x)
        return rule.weights

    def by_blas() -> FloatArray:
        w, inverse = np.zeros(dim), np.asfortranarray(np.eye(dim))
        for x in xs:
            u = blas.dsymv(1.0, inverse, x)
            s = 1.0 + x @ u
            inverse = blas.dsyr(-1.0 / s, u, a=inverse, overwrite_a=1)
            w += u / s
        return w

    def by_inversion() -> None:
        A = np.eye(dim)
        for x in xs[:2]:
            A += np.outer(x, x)
            np.linalg.inv(A)

    assert np.allclose(ours(), by_blas())
    contenders: dict[str, Contender] = {"smidgen": ours, "BLAS dsymv + dsyr": by_blas}
    remarks = {
        "smidgen": "`optim.Newton`: the making of A, and one `step` per x from Python, checks included",
        "BLAS": "one thread, the lower or upper triangle only, w as well",
        "np.linalg.inv": "a new inverse per step, 2 steps",
    }
    add_twin(contenders, remarks, xs, ours())
    contenders["np.linalg.inv"] = (by_inversion, 2)
    return Workload(
        "W2b",
        f"second-order step, N = {dim}",
        f"A ← A + xxᵀ, w ← w + A⁻¹x, {STEPS} times from A = I, in double precision, A⁻¹ kept",
        "step",
        STEPS,
        contenders,
        remarks,
    )


def add_twin(contenders: dict[str, Contender], remarks: dict[str, str], xs: FloatArray, expected: FloatArray) -> None:
    """The same steps in C++."""
    dim = xs.shape[1]
    try:
        loop = twin("second_order.cpp", "second_order_steps")
    except NoTwin as reason:
        remarks["C++"] = str(reason)
        return

    def run() -> FloatArray:
        w, inverse, product, update = np.zeros(dim), zeros((dim, dim), np.float64), np.zeros(dim), np.zeros(dim)
        np.fill_diagonal(inverse, 1.0)
        loop(inverse, w, xs, product, update, len(xs), dim)
        return w

    assert np.allclose(run(), expected)
    contenders["C++"] = run
    remarks["C++"] = (
        f"the same arithmetic (`benchmarks/second_order.cpp`, {HOW}), one pass over A⁻¹ per step, no checks"
    )


def projection(quick: bool, dim: int) -> Workload:
    """Onto the ball in the norm of A, from 1.5 radii away."""
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
        "W2b",
        f"projection on the ball in the norm of A, N = {dim}",
        "from 1.5 radii away to the ball, equal to 1e-7; ours is given A⁻¹ (which is what a learner keeps), eigh is "
        "given A",
        "projection",
        1,
        {"smidgen (Lanczos)": ours, "eigh + bisection": by_eigh},
    )


WORKLOADS: dict[str, Callable[[bool], Workload]] = {
    **{f"W2b step {dim}": partial(step, dim=dim) for dim in (100, 700)},
    **{f"W2b projection {dim}": partial(projection, dim=dim) for dim in (100, 700)},
}
