"""Item choice (W3): many users, each with a learner of its own, items that are offered once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import smidgen
from benchmarks.interleave import Contender, Workload
from benchmarks.twins import HOW, NoTwin, twin
from smidgen.decision import FloatArray, IntArray
from smidgen.learners.coactive import Coactive
from smidgen.users import StrictAlpha
from smidgen_papers.players import ItemTable, play_choices

ITEMS, ROUNDS, ALPHA = 3_700, 1_500, 0.5


def choices(quick: bool, dim: int, items: int = ITEMS, rounds: int = ROUNDS, users: int = 3_000) -> Workload:
    """W3: choose an item, hear of a better one, learn; both are off the menu from then on."""
    served = max(1, users // 50 if quick else users)
    few = max(1, users // 100)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(items, dim)) / np.sqrt(dim)
    tastes = rng.normal(size=(served, dim))
    table = ItemTable.of(features)

    def stream(learner: Coactive, many: int, keep: bool = False) -> IntArray:
        people = [StrictAlpha(w_star=w, alpha=ALPHA) for w in tastes[:many]]
        return play_choices(learner, table, people, rounds=rounds, checkpoints=[rounds], keep=keep).shown

    def two_verbs() -> None:
        learner, user = smidgen.PreferencePerceptron(dim=dim), StrictAlpha(w_star=tastes[0], alpha=ALPHA)
        menu = smidgen.Choice(features)
        for _ in range(rounds):
            decision = learner.decide(menu)
            better = user(menu, decision.action)
            learner.learn(decision, better)
            menu = menu.without(decision.action, better)

    def by_numpy(dtype: str) -> IntArray:
        return numpy_choices(features.astype(dtype), features @ tastes[0], rounds)

    plain = smidgen.PreferencePerceptron(dim=dim)
    general = smidgen.ExponentiatedPreferencePerceptron(dim=dim, bound=float(np.abs(features).max()))
    assert np.mean(stream(plain, 1, keep=True)[0] == by_numpy("float64")) > 0.99
    contenders: dict[str, Contender] = {
        "smidgen PreferencePerceptron, stream": lambda: stream(plain, served),
        "smidgen ExponentiatedPreferencePerceptron, stream": (lambda: stream(general, few), few * rounds),
        "smidgen PreferencePerceptron, two verbs": (two_verbs, rounds),
        "numpy float64 (BLAS)": (lambda: by_numpy("float64"), rounds),
        "numpy float32 (BLAS)": (lambda: by_numpy("float32"), rounds),
    }
    remarks = {
        "stream": f"`play_choices` for {served:,} users with a fresh learner each, on an `ItemTable` that is ready",
        "ExponentiatedPreferencePerceptron": f"{few} users; every choice scores all items that are left",
        "two verbs": "one user, from Python, with records and a new menu per round; the user is Python too",
        "numpy": "one user: the product of all items with w, one thread, gone ones masked; the user by binary search",
    }
    try:
        contenders["C++ float32"] = (
            compiled_choices(features, features @ tastes[0], rounds, by_numpy("float64")),
            rounds,
        )
        remarks["C++"] = (
            f"one user, Gram matrix and utilities ready, single precision throughout (`benchmarks/choices.cpp`, {HOW})"
        )
    except NoTwin as reason:
        remarks["C++"] = str(reason)
    return Workload(
        "W3",
        f"choice, {items:,} items x {dim} features, {rounds:,} rounds",
        "choose the best item, hear of a better one from a strictly 0.5-informative user, learn; both items go",
        "choice",
        served * rounds,
        contenders,
        remarks,
    )


def numpy_choices(features: FloatArray, utilities: FloatArray, rounds: int) -> IntArray:
    """The bare arithmetic for one user; the items shown."""
    w, gone, shown = np.zeros(features.shape[1], features.dtype), np.zeros(len(features), bool), np.empty(rounds, int)
    order = np.argsort(utilities, kind="stable")
    by_utility, last = utilities[order], len(order) - 1
    scores = np.empty(len(features), features.dtype)
    for t in range(rounds):
        np.dot(features, w, out=scores)
        scores[gone] = -np.inf
        item = better = int(scores.argmax())
        while gone[order[last]]:
            last -= 1
        before, best = utilities[item], by_utility[last]
        if before < best:
            target = before + ALPHA * (best - before) - 1e-12 * (abs(best) + abs(before))
            place = by_utility.searchsorted(target)
            while gone[order[place]]:
                place += 1
            better = order[place]
        w += features[better] - features[item]
        gone[item] = gone[better] = True
        shown[t] = item
    return shown


def compiled_choices(
    features: FloatArray, utilities: FloatArray, rounds: int, expected: IntArray
) -> Callable[[], object]:
    """The same for one user in C++, by rows of the Gram matrix."""
    loop = twin("choices.cpp", "choices")
    items = len(features)
    padded = -(-items // 16) * 16
    gram = np.zeros((items, padded), np.float32)
    gram[:, :items] = features @ features.T
    order, scores, shown = (
        np.argsort(utilities, kind="stable"),
        np.empty(padded, np.float32),
        np.empty(rounds, np.int64),
    )

    def run() -> IntArray:
        loop(gram, utilities, order, scores, items, padded, rounds, ALPHA, shown)
        return shown

    assert np.mean(run()[:50] == expected[:50]) > 0.9  # single precision parts from double sooner or later
    return run


WORKLOADS: dict[str, Callable[[bool], Workload]] = {f"W3 choices {dim}": partial(choices, dim=dim) for dim in (20, 50)}
