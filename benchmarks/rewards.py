"""Choosing by reward (W8): the two verbs and whole streams, against peers that are called round by round."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse

import smidgen
from benchmarks.interleave import Contender, Workload
from benchmarks.peers import NOT_HERE, add_contextualbandits, add_mabwiser
from benchmarks.twins import HOW, NoTwin, twin
from smidgen.decision import FloatArray, IntArray

ROUNDS, SLOW = 2_000, 200
MAKERS = (smidgen.LinUCB, smidgen.SquareCB)


def full(quick: bool, candidates: int = 10, dim: int = 20) -> Workload:
    """Few dense features, A in full."""
    rng = np.random.default_rng(0)
    X: FloatArray = rng.normal(size=(ROUNDS, candidates, dim)) / np.sqrt(dim)
    rewards = np.clip(0.5 + X @ rng.normal(size=dim) / np.sqrt(dim), 0.0, 1.0)
    contenders, remarks = _ours(X, list(X), rewards, dim, "full")
    _add_twin(contenders, remarks, X, rewards)
    _add_vw(contenders, remarks, sparse.csr_array(X.reshape(-1, dim)), rewards)
    arms = rng.integers(candidates, size=ROUNDS)
    add_mabwiser(contenders, remarks, X[:, 0], arms)
    add_contextualbandits(contenders, remarks, X[:, 0], arms)
    return Workload(
        "W8",
        f"choosing by reward, {candidates} candidates x {dim} features, full",
        "one decision and its reward, with propensities and a floor of 2 % (LinUCB) or by inverse gaps (SquareCB)",
        "round",
        ROUNDS,
        contenders,
        remarks,
    )


def hashed(quick: bool, candidates: int = 100, dim: int = 1_000, filled: int = 20) -> Workload:
    """Many sparse features, A diagonal."""
    rounds = ROUNDS // 10 if quick else ROUNDS // 2
    rng = np.random.default_rng(0)
    n, gap = rounds * candidates, dim // filled
    places = rng.integers(gap, size=(n, filled)) + np.arange(filled) * gap
    X = sparse.csr_array((np.ones(n * filled), places.ravel(), np.arange(0, n * filled + 1, filled)), shape=(n, dim))
    rewards = np.clip(0.5 + (X @ rng.normal(size=dim)).reshape(rounds, candidates) / 20.0, 0.0, 1.0)
    menus = [X[t * candidates : (t + 1) * candidates] for t in range(rounds)]
    contenders, remarks = _ours(X, menus, rewards, dim, "diagonal")
    _add_vw(contenders, remarks, X, rewards)
    return Workload(
        "W8",
        f"choosing by reward, {candidates} candidates x {filled} of {dim:,} hashed features, diagonal",
        "one decision and its reward, with propensities",
        "round",
        rounds,
        contenders,
        remarks,
    )


def _ours(
    X: Any, menus: list[Any], rewards: FloatArray, dim: int, covariance: str
) -> tuple[dict[str, Contender], dict[str, str]]:
    """The two verbs on ready choices, and the stream."""
    choices = [smidgen.Choice(menu) for menu in menus]
    table = rewards.tolist()

    def verbs(maker: Any) -> Callable[[], object]:
        learner = cache(lambda: maker(dim=dim, covariance=covariance))

        def run() -> None:
            one = learner()
            for choice, row in zip(choices, table, strict=True):
                decision = one.decide(choice)
                one.learn(decision, row[decision.action])

        return run

    def stream(maker: Any) -> Callable[[], object]:
        return lambda: maker(dim=dim, covariance=covariance).run(X, rewards)

    contenders: dict[str, Contender] = {f"smidgen {maker.__name__}, stream": stream(maker) for maker in MAKERS}
    contenders |= {f"smidgen {maker.__name__}, two verbs": verbs(maker) for maker in MAKERS}
    remarks = {
        "two verbs": "`decide` and `learn` from Python on a ready `Choice`, record and checks included",
        "stream": "`run`, the checks and a copy of the features included",
    }
    return contenders, remarks


def _add_twin(contenders: dict[str, Contender], remarks: dict[str, str], X: FloatArray, rewards: FloatArray) -> None:
    """LinUCB in C++, next to our kernel on checked arrays: both without the entrance."""
    T, K, dim = X.shape
    try:
        loop = twin("rewards.cpp", "linucb", DIM=dim, CANDIDATES=K)
    except NoTwin as reason:
        remarks["C++"] = str(reason)
        return
    from smidgen.learners.choose.base import as_played

    played = as_played(X, rewards, None, dim)

    def there() -> IntArray:
        shown = np.empty(T, np.int64)
        loop(np.zeros(dim), np.eye(dim), X, rewards, T, 1.0, shown)
        return shown

    def here() -> IntArray:
        shown = np.empty(T, np.int64), np.empty(T, np.int64), np.empty(T)
        smidgen.LinUCB(dim=dim, floor=0.0)._play(played, 1, shown)
        return shown[0]

    assert (there() == here()).mean() > 0.99
    contenders["C++ LinUCB"], contenders["smidgen LinUCB, kernel"] = there, here
    remarks["C++"] = f"`rewards.cpp`, {HOW}; without a floor, checks, propensities"
    remarks["kernel"] = "the stream without a floor, on arrays that were checked before"


def _add_vw(contenders: dict[str, Contender], remarks: dict[str, str], X: Any, rewards: FloatArray) -> None:
    """Vowpal Wabbit with candidates: predict, draw, learn, on text, which is what its manual shows."""
    if find_spec("vowpalwabbit") is None:
        remarks["Vowpal Wabbit"] = NOT_HERE
        return
    K, csr = rewards.shape[1], sparse.csr_matrix(X)

    @cache
    def lines() -> list[list[str]]:
        made = []
        for row in range(SLOW * K):
            part = slice(csr.indptr[row], csr.indptr[row + 1])
            words = zip(csr.indices[part].tolist(), csr.data[part].tolist(), strict=True)
            made.append("| " + " ".join(f"{j}:{v:.6g}" for j, v in words))
        return [made[t * K : (t + 1) * K] for t in range(SLOW)]

    @cache
    def workspace() -> Any:
        from vowpalwabbit import Workspace

        return Workspace("--cb_explore_adf --squarecb -b 18 --quiet")

    def run() -> None:
        one, rng = workspace(), np.random.default_rng(0)
        for t, offered in enumerate(lines()):
            shares = np.asarray(one.predict(offered))
            shown = int(rng.choice(K, p=shares / shares.sum()))
            labelled = list(offered)
            labelled[shown] = f"0:{-rewards[t, shown]:g}:{shares[shown]:g} {offered[shown]}"
            one.learn(labelled)

    contenders["Vowpal Wabbit --cb_explore_adf --squarecb"] = (run, SLOW)
    remarks["Vowpal Wabbit"] = f"predict and learn from Python on ready text, the first {SLOW} rounds"


WORKLOADS = {"W8 full": full, "W8 hashed": hashed}
