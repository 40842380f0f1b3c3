"""The label loop: whole streams of sparse text against peers, full covariance, and the two verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

import smidgen
from benchmarks import peers
from benchmarks.interleave import Contender, Workload
from benchmarks.texts import CLASSES, EXAMPLES, FEATURES, texts
from smidgen.features import as_row
from smidgen.learners.label import LabelLearner
from smidgen.types import FloatArray, IntArray

GAMMA, ETA = 0.05, 0.1


def workloads() -> Iterator[Workload]:
    yield text()
    yield full_covariance(rounds=20_000, dim=20, n_classes=10)
    yield verbs_dense(rounds=2_000, dim=100)
    yield verbs_sparse(rounds=2_000)


def text() -> Workload:
    """W1: one-bit multiclass learning on sparse text, with those who see the true label beside it."""
    contenders: dict[str, Contender] = {}
    remarks: dict[str, str] = {}
    shapes = {"dim": FEATURES, "n_classes": CLASSES}
    for name, maker, settings, dtypes in (
        ("Banditron", smidgen.Banditron, {"gamma": GAMMA}, ("float32", "float64")),
        ("diagonal Confidit", smidgen.Confidit, {"eta": ETA}, ("float32", "float64")),
        ("MulticlassPerceptron", smidgen.MulticlassPerceptron, {}, ("float32",)),
    ):
        for dtype in dtypes:
            contenders[f"smidgen {name} {dtype}"] = ours(maker, {**shapes, **settings, "dtype": dtype}, dtype)
        sees = "sees the true label" if maker.feedback == "full" else "hears right or wrong"
        remarks[f"smidgen {name}"] = f"a new learner, then `learner.run` on a CSR matrix, all checks included; {sees}"
    peers.add_cpp(contenders, remarks, GAMMA)
    peers.add_vw(contenders, remarks)
    peers.add_sklearn(contenders, remarks)
    peers.add_river(contenders, remarks)
    return Workload(
        f"sparse text, {EXAMPLES:,} x {FEATURES:,}, 120 non-zeros, K = {CLASSES}",
        "one pass over the examples: predict, and learn from each; the making of the empty model is timed too",
        "example",
        EXAMPLES,
        contenders,
        remarks,
    )


def ours(maker: type[LabelLearner], settings: dict[str, Any], dtype: str) -> Callable[[], object]:
    def run() -> object:
        return maker(**settings).run(*texts(dtype))

    return run


def full_covariance(rounds: int, dim: int, n_classes: int) -> Workload:
    """A full matrix per class: the learner of Theorem 1, without projection."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rounds, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.argmax(X @ rng.normal(size=(dim, n_classes)) + 0.1 * rng.normal(size=(rounds, n_classes)), axis=1)
    some = rounds // 10

    def confidit(dtype: str, n: int = rounds) -> IntArray:
        learner = smidgen.Confidit(dim=dim, n_classes=n_classes, covariance="full", dtype=dtype)
        return learner.run(X[:n], y[:n]).actions

    def by_numpy() -> IntArray:
        weights, inverses = np.zeros((n_classes, dim)), np.tile(np.eye(dim) / 4.0, (n_classes, 1, 1))
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

    assert np.mean(confidit("float64", some) == by_numpy()) > 0.99
    contenders: dict[str, Contender] = {
        "smidgen float64": lambda: confidit("float64"),
        "smidgen float32": lambda: confidit("float32"),
        "numpy": (by_numpy, some),
    }
    remarks = {
        "smidgen": "a new learner, then `learner.run`",
        "numpy": f"the bare arithmetic, the first {some:,} rounds",
    }
    peers.add_mabwiser(contenders, remarks, X, y)
    return Workload(
        f"full covariance, d = {dim}, K = {n_classes}",
        "one round of upper confidence bounds with a full matrix per class, dense features",
        "round",
        rounds,
        contenders,
        remarks,
    )


def verbs_dense(rounds: int, dim: int) -> Workload:
    """Dense features, as a prepared row and as an array."""
    X: FloatArray = np.random.default_rng(0).normal(size=(rounds, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    forms = {"Row": lambda: [as_row(x, dim) for x in X], "array": lambda: list(X)}
    return two_verbs(f"two verbs, dense, d = {dim}, K = 10", rounds, {"dim": dim, "n_classes": 10}, forms)


def verbs_sparse(rounds: int) -> Workload:
    """Sparse features, as a prepared row and as a CSR row."""

    def rows() -> list[Any]:
        return [texts("float64")[0][[t]] for t in range(rounds)]

    forms = {"Row": lambda: [as_row(row, FEATURES) for row in rows()], "CSR row": rows}
    name = f"two verbs, sparse, 120 of {FEATURES:,}, K = {CLASSES}"
    return two_verbs(name, rounds, {"dim": FEATURES, "n_classes": CLASSES}, forms)


def two_verbs(name: str, rounds: int, settings: dict[str, Any], forms: dict[str, Callable[[], list[Any]]]) -> Workload:
    """One decide and one learn from Python, for contexts in several forms."""
    truth = np.random.default_rng(1).integers(settings["n_classes"], size=rounds).tolist()

    def contender(maker: type[LabelLearner], contexts: Callable[[], list[Any]]) -> Callable[[], object]:
        prepared = cache(lambda: (maker(**settings), contexts()))

        def run() -> None:
            learner, given = prepared()
            for context, label in zip(given, truth, strict=True):
                decision = learner.decide(context)
                learner.learn(decision, decision.action == label)

        return run

    return Workload(
        name,
        "one decide and one learn from Python in float64, record and checks included; one learner goes on all the time",
        "round",
        rounds,
        {
            f"smidgen {maker.__name__}, {form}": contender(maker, contexts)
            for maker in (smidgen.Banditron, smidgen.Confidit)
            for form, contexts in forms.items()
        },
        {"Row": "a prepared `smidgen.features.Row`"},
    )
