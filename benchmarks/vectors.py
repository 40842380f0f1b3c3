"""Vectors (W11), the recommended choosers (W12), budgets and knobs with a context (W13)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import smidgen
from benchmarks.interleave import Contender, Workload
from smidgen.decision import FloatArray

RECORDS, NUMBERS, ROUNDS, SLOW = 200, 384, 500, 60
CONTEXT = {"device": "ios", "country": "se", "hour": 13}


@cache
def vectors() -> FloatArray:
    """The same for all contenders: float32 numbers, as models of language give them."""
    return np.random.default_rng(0).normal(size=(RECORDS, NUMBERS)).astype(np.float32).astype(float)


def records(quick: bool) -> Workload:
    """A record with a vector to a row."""
    lists = [{"emb": vector.tolist()} for vector in vectors()]
    arrays = [{"emb": vector} for vector in vectors().astype(np.float32)]
    made = smidgen.Vectorizer()
    for each in lists:
        made.learn(each)

    def ours(given: list[Any]) -> Callable[[], object]:
        return lambda: [made.row(each) for each in given]

    projection = np.random.default_rng(1).choice([-1.0, 1.0], size=(NUMBERS, 32))

    def by_numpy() -> object:
        return [(x / np.linalg.norm(x)) @ projection for x in (np.array(each["emb"]) for each in lists)]

    contenders: dict[str, Contender] = {
        "smidgen, a list": ours(lists),
        "smidgen, a numpy array": ours(arrays),
        "numpy": by_numpy,
    }
    remarks = {"numpy": "unit length and a projection to 32 columns, from the list"}
    try:
        vw = importlib.import_module("vowpalwabbit").Workspace("--quiet")
        contenders["Vowpal Wabbit"] = lambda: [
            vw.finish_example(vw.example("| " + " ".join(f"{i}:{x:.6f}" for i, x in enumerate(each["emb"]))))
            for each in lists
        ]
        remarks["Vowpal Wabbit"] = "its text format, written and parsed; no projection"
    except ImportError:
        remarks["Vowpal Wabbit"] = "is not installed"
    try:
        scaler = importlib.import_module("river.preprocessing").StandardScaler()
        dicts = [dict(enumerate(each["emb"])) for each in lists[:SLOW]]
        contenders["river"] = (lambda: [scaler.transform_one(each) for each in dicts], SLOW)
        remarks["river"] = "StandardScaler on ready dicts; no projection"
    except ImportError:
        remarks["river"] = "is not installed"
    about = f"a record with a vector of {NUMBERS} numbers to a row of 32 columns"
    return Workload("W11", "records with a vector", about, "record", RECORDS, contenders, remarks)


def _rounds(pipeline: smidgen.Pipeline, contexts: list[dict[str, Any]], costs: Any = None) -> Callable[[], object]:
    """Decide among five candidates, and learn a reward."""
    items: dict[str, Any] = {f"item {k}": {} for k in range(5)}

    def run() -> None:
        for i, context in enumerate(contexts):
            decision = pipeline.decide(smidgen.Candidates(items, context=context, costs=costs))
            pipeline.learn(decision, float(i % 3 == 0))

    return run


def _chooser(**more: Any) -> smidgen.Pipeline:
    features = smidgen.Vectorizer()
    return smidgen.Pipeline(features=features, learner=smidgen.ChoiceBank(dim=features.dim), **more)


def decisions(quick: bool) -> Workload:
    """A decision and its reward, with a vector in the context and without one."""
    plain = [dict(CONTEXT, n=i % 7) for i in range(RECORDS)]
    with_vector = [each | {"emb": vector} for each, vector in zip(plain, vectors().astype(np.float32), strict=True)]
    contenders: dict[str, Contender] = {
        "smidgen, with a vector": _rounds(_chooser(), with_vector),
        "smidgen, without": _rounds(_chooser(), plain),
    }
    about = (
        f"a decision among 5 candidates and its reward, with a context of 4 fields and a vector of {NUMBERS} numbers"
    )
    return Workload("W11", "decisions with a vector", about, "round", RECORDS, contenders, {})


def banks(quick: bool) -> Workload:
    """The recommended chooser and the linear one that it replaced, on ready rows."""
    rng = np.random.default_rng(0)
    choices = [smidgen.Choice(rows / np.sqrt(20)) for rows in rng.normal(size=(ROUNDS, 10, 20))]

    def ours(maker: Any) -> Callable[[], object]:
        learner = cache(lambda: maker(dim=20))

        def run() -> None:
            one = learner()
            for i, choice in enumerate(choices):
                one.learn(one.decide(choice), float(i % 3 == 0))

        return run

    contenders: dict[str, Contender] = {"smidgen ChoiceBank": ours(smidgen.ChoiceBank), "LinUCB": ours(smidgen.LinUCB)}
    about = "the two verbs of the recommended chooser, 10 candidates x 20 features"
    return Workload("W12", "the recommended chooser", about, "round", ROUNDS, contenders, {})


def budgets(quick: bool) -> Workload:
    """A decision under a budget, with known costs, and without one."""
    contexts = [dict(CONTEXT, n=i % 7) for i in range(RECORDS)]
    prices = [0.1, 0.4, 1.0, 2.0, 4.0]
    contenders: dict[str, Contender] = {
        "smidgen, with a budget": _rounds(_chooser(budget=smidgen.Budget({"usd": 0.5})), contexts, {"usd": prices}),
        "smidgen, without": _rounds(_chooser(), contexts),
    }
    about = "a decision among 5 candidates and its reward, under a limit on the mean cost"
    return Workload("W13", "budgets", about, "round", RECORDS, contenders, {})


def knobs(quick: bool) -> Workload:
    """Three knobs that depend on a context of five numbers."""
    space = smidgen.Box(low=np.zeros(3), high=np.ones(3))
    contexts = np.random.default_rng(0).uniform(-1.0, 1.0, size=(ROUNDS, 5))

    def ours() -> None:
        tuner = smidgen.QuadraticTuner(space=space, dim=5)
        for context in contexts:
            decision = tuner.ask(context)
            tuner.tell(decision, float(((decision.action - 0.3 - 0.1 * context[:3]) ** 2).sum()))

    contenders: dict[str, Contender] = {"smidgen": ours}
    remarks: dict[str, str] = {}
    try:
        optuna = importlib.import_module("optuna")
        contenders["Optuna TPE"] = (lambda: _optuna(optuna), SLOW)
        remarks["Optuna TPE"] = f"the first {SLOW} trials; it takes no context"
    except ImportError:
        remarks["Optuna TPE"] = "is not installed"
    about = "a context of 5 numbers comes in, a point of 3 knobs goes out, its loss comes back"
    return Workload("W13", "knobs with a context", about, "round", ROUNDS, contenders, remarks)


def _optuna(optuna: Any) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    for _ in range(SLOW):
        trial = study.ask()
        study.tell(trial, sum((trial.suggest_float(f"x{i}", 0.0, 1.0) - 0.3) ** 2 for i in range(3)))


WORKLOADS: dict[str, Callable[[bool], Workload]] = {
    "W11 records": records,
    "W11 decisions": decisions,
    "W12 banks": banks,
    "W13 budgets": budgets,
    "W13 knobs": knobs,
}
