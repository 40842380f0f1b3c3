"""Decisions and small learners to bytes and back: what a log and a store of many learners pay per entry."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import smidgen
from benchmarks.interleave import Contender, Workload

COUNT = 200


def repeated(call: Callable[[], object]) -> Callable[[], object]:
    """Often enough to be timed."""

    def run() -> None:
        for _ in range(COUNT):
            call()

    return run


def decisions(quick: bool, docs: int = 10, dim: int = 10) -> Workload:
    """A ranking's decision, in its three forms."""
    rng = np.random.default_rng(0)
    learner = smidgen.PreferencePerceptron(dim=dim)
    learner.learn(learner.decide(smidgen.Ranking(rng.normal(size=(docs, dim)))), rng.permutation(docs))
    made = learner.decide(smidgen.Ranking(rng.normal(size=(docs, dim)).astype(np.float32)))
    brief, content, text = learner.to_compact(made), made.to_bytes(), made.to_json()
    contenders: dict[str, Contender] = {
        "Learner.brief": repeated(partial(learner.to_compact, made)),
        "Learner.recall": repeated(partial(learner.from_compact, brief)),
        "Decision.to_bytes": repeated(made.to_bytes),
        "Decision.from_bytes": repeated(partial(smidgen.Decision.from_bytes, content)),
        "Decision.to_json": repeated(made.to_json),
        "Decision.from_json": repeated(partial(smidgen.Decision.from_json, text)),
    }
    remarks = {
        "Learner.brief": f"{len(brief):,} bytes",
        "Decision.to_bytes": f"{len(content):,} bytes",
        "Decision.to_json": f"{len(text):,} bytes",
    }
    job = "a decision to bytes, or back, with every check; the features are float32, with scores"
    return Workload("records", f"records: {docs} docs x {dim} features", job, "decision", COUNT, contenders, remarks)


def saved(quick: bool) -> Workload:
    """Small learners of each loop, written and read."""
    small: dict[str, Any] = {
        "PreferencePerceptron": smidgen.PreferencePerceptron(dim=10),
        "Banditron": smidgen.Banditron(dim=10, n_classes=5),
        "RidgeFil": smidgen.RidgeFil(dim=10),
        "OGDEG": smidgen.OGDEG(space=smidgen.Ball(dim=5), loss_bound=1.0, delta=0.2),
    }
    contenders: dict[str, Contender] = {}
    for name, learner in small.items():
        contenders[f"{name}, to_bytes"] = repeated(learner.to_bytes)
        contenders[f"{name}, from_bytes"] = repeated(partial(smidgen.Learner.from_bytes, learner.to_bytes()))
    remarks = {name: f"{len(learner.to_bytes()):,} bytes" for name, learner in small.items()}
    job = "a fresh small learner to bytes, or back, checksum and checks included"
    return Workload("records", "records: saved learners", job, "learner", COUNT, contenders, remarks)


WORKLOADS = {"records of decisions": decisions, "records of learners": saved}
