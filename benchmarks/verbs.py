"""One decide and one learn from Python (W5): the records and the checks included, against peers that are called so."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import sparse

import smidgen
from benchmarks import peers
from benchmarks.interleave import Contender, Workload
from benchmarks.texts import CLASSES, FEATURES, texts
from smidgen.decision import FloatArray, IntArray
from smidgen.features import as_row
from smidgen.learners.label import LabelLearner

ROUNDS = 2_000
JOB = "one decide and one learn from Python in float64, record and checks included; one learner goes on all the time"


def dense(quick: bool, dim: int = 100, n_classes: int = 10) -> Workload:
    """Labels for dense features, as a prepared row and as an array."""
    X: FloatArray = np.random.default_rng(0).normal(size=(ROUNDS, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    forms = {"Row": lambda: [as_row(x, dim) for x in X], "array": lambda: list(X)}
    return labels(f"label, dense, d = {dim}, K = {n_classes}", X, n_classes, forms)


def sparse_rows(quick: bool) -> Workload:
    """Labels for sparse features, as a prepared row and as a CSR row."""
    X = texts("float64")[0][:ROUNDS]
    csr = cache(lambda: [X[[t]] for t in range(ROUNDS)])
    forms: dict[str, Callable[[], list[Any]]] = {
        "Row": lambda: [as_row(row, FEATURES) for row in csr()],
        "CSR row": csr,
    }
    return labels(f"label, sparse, 120 of {FEATURES:,}, K = {CLASSES}", X, CLASSES, forms)


def labels(name: str, X: Any, n_classes: int, forms: dict[str, Callable[[], list[Any]]]) -> Workload:
    """One decide and one learn of Banditron and Confidit for contexts in several forms; peers; our streams next to."""
    truth: IntArray = np.random.default_rng(1).integers(n_classes, size=ROUNDS)

    def calls(maker: Callable[..., LabelLearner], contexts: Callable[[], list[Any]]) -> Callable[[], object]:
        prepared = cache(lambda: (maker(dim=X.shape[1], n_classes=n_classes), contexts()))

        def run() -> None:
            learner, given = prepared()
            for context, label in zip(given, truth.tolist(), strict=True):
                decision = learner.decide(context)
                learner.learn(decision, decision.action == label)

        return run

    def stream(maker: Callable[..., LabelLearner]) -> Callable[[], object]:
        learner = cache(lambda: maker(dim=X.shape[1], n_classes=n_classes))
        return lambda: learner().run(X, truth)

    makers = (smidgen.Banditron, smidgen.Confidit)
    contenders: dict[str, Contender] = {
        f"smidgen {maker.__name__}, {form}": calls(maker, contexts)
        for maker in makers
        for form, contexts in forms.items()
    }
    contenders |= {f"smidgen {maker.__name__}, stream": stream(maker) for maker in makers}
    remarks = {
        "Row": "a prepared `smidgen.features.Row`",
        "stream": "the same rounds by `learner.run`, without records: what the kernels alone cost",
    }
    as_csr = sparse.csr_array(X)
    peers.add_vw_calls(contenders, remarks, as_csr, truth)
    peers.add_sklearn_calls(contenders, remarks, X, truth)
    peers.add_river(contenders, remarks, as_csr, truth)
    return Workload("W5", f"two verbs: {name}", JOB, "round", ROUNDS, contenders, remarks)


def filters(quick: bool, dim: int = 100) -> Workload:
    """Filters on dense features."""
    X: FloatArray = np.random.default_rng(0).normal(size=(ROUNDS, dim)) / np.sqrt(dim)
    relevant = (X @ np.random.default_rng(1).normal(size=dim) > 0.0).tolist()
    rows = [as_row(x, dim) for x in X]

    def calls(maker: Callable[[], Any]) -> Callable[[], object]:
        learner = cache(maker)

        def run() -> None:
            one = learner()
            for row, answer in zip(rows, relevant, strict=True):
                decision = one.decide(row)
                if decision.action or one.sees_everything:
                    one.learn(decision, answer)

        return run

    return Workload(
        "W5",
        f"two verbs: filter, dense, d = {dim}",
        f"{JOB}; features are a prepared `smidgen.features.Row`; what is not forwarded is not learnt",
        "round",
        ROUNDS,
        {
            "smidgen PerceptronFilter": calls(partial(smidgen.PerceptronFilter, dim=dim)),
            "smidgen RidgeFil, full": calls(partial(smidgen.RidgeFil, dim=dim)),
            "smidgen RidgeFil, diagonal": calls(partial(smidgen.RidgeFil, dim=dim, covariance="diagonal")),
        },
    )


def ranking(quick: bool, queries: int = 1_000, docs: int = 50, dim: int = 100) -> Workload:
    """Rankings, the feedback given."""
    contexts = smidgen.data.ranking_stream(queries=queries, docs=docs, dim=dim).contexts
    arrays = [context.docs for context in contexts]
    better = np.random.default_rng(0).permuted(np.tile(np.arange(docs), (queries, 1)), axis=1)
    discount = 1.0 / np.log2(np.arange(2, 7))

    def two_verbs() -> None:
        learner = smidgen.PreferencePerceptron(dim=dim)
        for context, feedback in zip(contexts, better, strict=True):
            learner.learn(learner.decide(context), feedback)

    def by_numpy() -> None:
        w = np.zeros(dim)
        for x, feedback in zip(arrays, better, strict=True):
            order = np.argsort(-(x @ w), kind="stable")
            w += discount @ x[feedback[:5]] - discount @ x[order[:5]]

    return Workload(
        "W5",
        f"two verbs: ranking, {docs} docs x {dim} features",
        "one decide and one learn of the preference perceptron, record and checks included; the feedback is ready",
        "round",
        queries,
        {"smidgen, two verbs": two_verbs, "numpy": by_numpy},
        {"numpy": "the bare arithmetic: no record, no checks"},
    )


def choice(quick: bool, rounds: int = 1_000, items: int = 3_700, dim: int = 50) -> Workload:
    """Choices from one menu, the feedback given."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(items, dim))
    menu = smidgen.Choice(features)
    better = rng.integers(items, size=rounds)

    def two_verbs() -> None:
        learner = smidgen.PreferencePerceptron(dim=dim)
        for feedback in better.tolist():
            learner.learn(learner.decide(menu), feedback)

    def by_numpy() -> None:
        w = np.zeros(dim)
        for feedback in better.tolist():
            w += features[feedback] - features[int(np.argmax(features @ w))]

    return Workload(
        "W5",
        f"two verbs: choice, {items:,} items x {dim} features",
        "one decide and one learn of the preference perceptron, record and checks included; the feedback is ready",
        "round",
        rounds,
        {"smidgen, two verbs": two_verbs, "numpy (BLAS)": by_numpy},
        {"numpy": "the bare arithmetic: no record, no checks; one thread"},
    )


WORKLOADS = {
    "W5 label dense": dense,
    "W5 label sparse": sparse_rows,
    "W5 filter": filters,
    "W5 ranking": ranking,
    "W5 choice": choice,
}
