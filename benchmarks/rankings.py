"""Coactive ranking (W2): a whole stream with its user, against reading the data once."""

from __future__ import annotations

import numpy as np

import smidgen
from benchmarks.interleave import Workload
from smidgen.decision import FloatArray
from smidgen.evaluate import QueryTable, play_rankings
from smidgen.users import NoisyDepth

TOP, DEPTH = 5, 10


def rankings(quick: bool, queries: int = 2_000, docs: int = 24, dim: int = 700) -> Workload:
    """W2: rank, hear a better ranking from a user who goes by labels, learn."""
    queries = queries // 4 if quick else queries
    rng = np.random.default_rng(0)
    X = rng.normal(size=(queries * docs, dim)) / np.sqrt(dim)
    labels = np.searchsorted([0.5, 1.0, 1.5, 2.0], X @ rng.normal(size=dim) + 0.5 * rng.normal(size=len(X)))
    X.flags.writeable = False
    table = QueryTable(X, starts=np.arange(0, len(X) + 1, docs), labels=labels, top=TOP)
    contexts, some = table.contexts, queries // 4

    def stream() -> FloatArray:
        learner = smidgen.PreferencePerceptron(dim=dim)
        play_rankings(learner, table, NoisyDepth(labels=table.labels_of, depth=DEPTH))
        return learner.weights

    def two_verbs() -> FloatArray:
        learner, user = smidgen.PreferencePerceptron(dim=dim), NoisyDepth(labels=table.labels_of, depth=DEPTH)
        for context in contexts[:some]:
            decision = learner.decide(context)
            learner.learn(decision, user(context, decision.action))
        return learner.weights

    def by_numpy() -> FloatArray:
        w, discount = np.zeros(dim), 1.0 / np.log2(np.arange(2, TOP + 2))
        for start in range(0, len(X), docs):
            x = X[start : start + docs]
            shown = np.argsort(-(x @ w), kind="stable")
            seen = shown[:DEPTH]
            front = seen[np.argsort(-labels[start + seen], kind="stable")[:TOP]]
            w += discount @ x[front] - discount @ x[shown[:TOP]]
        return w

    def reading() -> float:
        return float(np.vdot(X, X))

    assert np.allclose(stream(), by_numpy(), atol=1e-8)
    return Workload(
        "W2",
        f"ranking, {queries:,} queries x {docs} docs x {dim} features",
        "rank the documents, take the correction of a user who sorts the first ten by their labels, learn",
        "query",
        queries,
        {
            "smidgen, stream": stream,
            "smidgen, two verbs": (two_verbs, some),
            "numpy": by_numpy,
            "reading the data once": reading,
        },
        {
            "smidgen, stream": "a new learner, then `play_rankings`; the weights equal those of the numpy row",
            "smidgen, two verbs": f"the first {some:,} queries from Python, with records; the user is Python too",
            "numpy": "the bare arithmetic, the user included",
            "reading the data once": "one BLAS product of all features with themselves: the floor",
        },
    )


WORKLOADS = {"W2 rankings": rankings}
