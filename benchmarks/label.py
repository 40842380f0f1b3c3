"""The label loop: whole streams of sparse text (W1) and of full covariance, against peers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import smidgen
from benchmarks import peers
from benchmarks.interleave import Contender, Workload
from benchmarks.texts import CLASSES, EXAMPLES, FEATURES, texts
from benchmarks.twins import HOW, NoTwin, twin
from smidgen.arrays import zeros
from smidgen.decision import IntArray
from smidgen.features import as_row
from smidgen.learners.label import LabelLearner

GAMMA, ETA = 0.05, 0.1
START = 4.0  # Confidit's A starts as (1 + α)²·I, α = 1
SHAPE: dict[str, Any] = {"dim": FEATURES, "n_classes": CLASSES}


def text(quick: bool) -> Workload:
    """W1: one-bit multiclass learning on sparse text, with those who see the true label next to it."""
    contenders: dict[str, Contender] = {}
    remarks: dict[str, str] = {}
    for name, maker, settings, dtypes in (
        ("Banditron", smidgen.Banditron, {"gamma": GAMMA}, ("float32", "float64")),
        ("diagonal Confidit", smidgen.Confidit, {"eta": ETA}, ("float32", "float64")),
        ("MulticlassPerceptron", smidgen.MulticlassPerceptron, {}, ("float32",)),
    ):
        for dtype in dtypes:
            contenders[f"smidgen {name} {dtype}"] = stream(maker, {**SHAPE, **settings, "dtype": dtype}, dtype)
        sees = "sees the true label" if maker.feedback == "full" else "hears right or wrong"
        remarks[f"smidgen {name}"] = f"a new learner, then `learner.run` on a CSR matrix, all checks included; {sees}"
    contenders["smidgen Banditron float64, two verbs"] = (verbs(2_000), 2_000)
    remarks["smidgen Banditron, two verbs"] = "the first 2,000 examples as ready rows, from a Python loop, with records"
    add_twins(contenders, remarks)
    peers.add_vw(contenders, remarks)
    peers.add_sklearn(contenders, remarks)
    peers.add_river(contenders, remarks, *texts("float64"))
    return Workload(
        "W1",
        f"sparse text, {EXAMPLES:,} x {FEATURES:,}, 120 non-zeros, K = {CLASSES}",
        "one pass over the examples: predict, and learn from each; the making of the empty model is timed too",
        "example",
        EXAMPLES,
        contenders,
        remarks,
        times=3,
    )


def stream(maker: type[LabelLearner], settings: dict[str, Any], dtype: str) -> Callable[[], object]:
    def run() -> object:
        return maker(**settings).run(*texts(dtype))

    return run


def verbs(rounds: int) -> Callable[[], object]:
    @cache
    def rows() -> list[Any]:
        X = texts("float64")[0]
        return [as_row(X[[t]], FEATURES) for t in range(rounds)]

    def run() -> None:
        learner = smidgen.Banditron(**SHAPE, gamma=GAMMA)
        for row, label in zip(rows(), texts("float64")[1].tolist(), strict=False):
            decision = learner.decide(row)
            learner.learn(decision, decision.action == label)

    return run


def add_twins(contenders: dict[str, Contender], remarks: dict[str, str]) -> None:
    """Banditron and diagonal Confidit in C++, the number of classes fixed at compile time."""

    def banditron(dtype: str) -> Callable[[], object]:
        loop = twin("banditron.cpp", f"banditron_{dtype}", CLASSES=CLASSES)

        def run() -> object:
            X, y = texts(dtype)
            weights = zeros((FEATURES, CLASSES), dtype)
            actions, greedy = np.empty(len(y), np.int64), np.empty(len(y), np.int64)
            loop(weights, GAMMA, X.indices, X.data, X.indptr.astype(np.int64), y, len(y), actions, greedy)
            return weights, actions, greedy

        return run

    def confidit(dtype: str) -> Callable[[], object]:
        loop = twin("confidit.cpp", f"confidit_diagonal_{dtype}", CLASSES=CLASSES, FEATURES=1)

        def run() -> IntArray:
            X, y = texts(dtype)
            state = zeros((FEATURES, 2 * CLASSES), dtype)
            state[:, CLASSES:] = 1.0 / START
            actions, greedy = np.empty(len(y), np.int64), np.empty(len(y), np.int64)
            loop(state, ETA, X.indices, X.data, X.indptr.astype(np.int64), y, len(y), actions, greedy)
            return actions

        ours = smidgen.Confidit(**SHAPE, eta=ETA, dtype=dtype).run(*texts(dtype)).actions
        # The same arithmetic, but ties: smidgen draws among tied labels, the loop takes the first.
        _, y = texts(dtype)
        assert abs(np.mean(run() == y) - np.mean(ours == y)) < 0.02
        return run

    for name, source, make in (("Banditron", "banditron", banditron), ("diagonal Confidit", "confidit", confidit)):
        try:
            contenders |= {f"C++ {name} {dtype}": make(dtype) for dtype in ("float32", "float64")}
            own = ", a simple generator of its own" if name == "Banditron" else ""
            remarks[f"C++ {name}"] = (
                f"the same arithmetic (`benchmarks/{source}.cpp`, {HOW}), K fixed at compile time{own}, no checks"
            )
        except NoTwin as reason:
            remarks[f"C++ {name}"] = str(reason)


def full_covariance(quick: bool, dim: int = 20, n_classes: int = 10) -> Workload:
    """A full matrix per class: the learner of Theorem 1, without projection."""
    rounds, some = (5_000, 500) if quick else (20_000, 2_000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rounds, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.argmax(X @ rng.normal(size=(dim, n_classes)) + 0.1 * rng.normal(size=(rounds, n_classes)), axis=1)

    def confidit(dtype: str, n: int = rounds) -> IntArray:
        learner = smidgen.Confidit(dim=dim, n_classes=n_classes, covariance="full", eta=1.0, dtype=dtype)
        return learner.run(X[:n], y[:n]).actions

    def two_verbs() -> None:
        learner = smidgen.Confidit(dim=dim, n_classes=n_classes, covariance="full", eta=1.0)
        for x, label in zip(X[:some], y.tolist(), strict=False):
            decision = learner.decide(x)
            learner.learn(decision, decision.action == label)

    def by_numpy() -> IntArray:
        weights, inverses = np.zeros((n_classes, dim)), np.tile(np.eye(dim) / START, (n_classes, 1, 1))
        actions = np.empty(some, np.int64)
        for t in range(some):
            x = X[t]
            products, means = inverses @ x, weights @ x
            widths = products @ x
            c = actions[t] = np.argmax(means + np.sqrt(widths))
            u, sign = products[c], 1.0 if c == y[t] else -1.0
            weights[c] += (sign - means[c]) / (1.0 + widths[c]) * u
            inverses[c] -= np.outer(u, u) / (1.0 + widths[c])
        return actions

    def compiled(dtype: str) -> Callable[[], IntArray]:
        loop = twin("confidit.cpp", f"confidit_full_{dtype}", CLASSES=n_classes, FEATURES=dim)
        rows = X.astype(dtype)

        def run() -> IntArray:
            weights, inverses = np.zeros((n_classes, dim), dtype), np.zeros((n_classes, dim, dim), dtype)
            inverses[:, np.arange(dim), np.arange(dim)] = 1.0 / START
            actions, greedy = np.empty(rounds, np.int64), np.empty(rounds, np.int64)
            loop(weights, inverses, 1.0, rows, y, rounds, actions, greedy)
            return actions

        return run

    assert np.mean(confidit("float64", some) == by_numpy()) > 0.99
    contenders: dict[str, Contender] = {
        "smidgen float64": lambda: confidit("float64"),
        "smidgen float32": lambda: confidit("float32"),
        "smidgen float64, two verbs": (two_verbs, some),
        "numpy": (by_numpy, some),
    }
    remarks = {
        "smidgen": "a new learner, then `learner.run`",
        "smidgen, two verbs": f"decide and learn from Python, with records, the first {some:,} rounds",
        "numpy": f"the bare arithmetic, the first {some:,} rounds",
    }
    try:
        contenders |= {f"C++ {dtype}": compiled(dtype) for dtype in ("float64", "float32")}
        remarks["C++"] = f"the same arithmetic (`benchmarks/confidit.cpp`, {HOW}), d and K fixed at compile time"
    except NoTwin as reason:
        remarks["C++"] = str(reason)
    peers.add_mabwiser(contenders, remarks, X, y)
    peers.add_contextualbandits(contenders, remarks, X, y)
    return Workload(
        "full covariance",
        f"full covariance, d = {dim}, K = {n_classes}",
        "one round of upper confidence bounds with a full matrix per class, dense features",
        "round",
        rounds,
        contenders,
        remarks,
    )


WORKLOADS = {"W1 text": text, "full covariance": full_covariance}
