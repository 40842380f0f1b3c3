"""Peers on the same rounds, in the same order, with the same features.

Vowpal Wabbit, MABWiser, contextualbandits and river. Each is called as its manual shows: predict, show, tell the reward
of what was shown.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.beyond.reward_worlds import matrix
from smidgen_papers.store import Arrays

#: Vowpal Wabbit's ways to explore with candidates, each with its own defaults.
VW = {
    "squarecb": "--squarecb",
    "regcb": "--regcb --cb_min_cost -1 --cb_max_cost 0",
    "cover": "--cover 3",
    "epsilon": "--epsilon 0.05",
}
#: Learning rates: the default is 0.5.
RATES = (0.05, 0.5, 5.0)
#: Peers with one model per arm, which play where the arms are the same in every round and features are few.
ARMED = ("MABWiser LinUCB", "MABWiser LinTS", "contextualbandits LinUCB", "river LinUCBDisjoint")


def installed(peer: str) -> bool:
    """Check whether the package of a peer is there."""
    package = {"MABWiser": "mabwiser", "contextualbandits": "contextualbandits", "river": "river"}
    return importlib.util.find_spec(package.get(peer.partition(" ")[0], "vowpalwabbit")) is not None


def _package(name: str) -> Any:
    """A peer's module, whose types are not known here."""
    return importlib.import_module(name)


def play_vw(arrays: Arrays, explore: str, rate: float, seed: int) -> FloatArray:
    """The rewards of Vowpal Wabbit: ``--cb_explore_adf`` on the rows of all candidates; costs are −reward."""
    vw = _package("vowpalwabbit")
    X, table = matrix(arrays), arrays["rewards"]
    T, K = table.shape
    bits = max(18, int(np.ceil(np.log2(max(2, X.shape[1])))) + 1)
    flags = f"--cb_explore_adf {VW[explore]} -l {rate:g} -b {bits} --random_seed {seed} --quiet"
    learner, rng, out = vw.Workspace(flags), np.random.default_rng([seed, 17]), np.empty(T)
    try:
        for t in range(T):
            lines = ["| " + _words(X, t * K + k) for k in range(K)]
            shares = np.asarray(learner.predict(lines), dtype=np.float64)
            shares /= shares.sum()
            shown = int(rng.choice(K, p=shares))
            out[t] = table[t, shown]
            lines[shown] = f"0:{-out[t]:g}:{shares[shown]:g} {lines[shown]}"
            learner.learn(lines)
    finally:
        learner.finish()
    return out


def _words(X: Any, row: int) -> str:
    part = slice(X.indptr[row], X.indptr[row + 1])
    return " ".join(f"{j}:{v:.6g}" for j, v in zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True))


def play_armed(arrays: Arrays, peer: str, seed: int) -> FloatArray:
    """The rewards of a peer with one model per arm, on the contexts without blocks."""
    contexts, table = matrix(arrays, "C").toarray(), arrays["rewards"]
    package, _, rule = peer.partition(" ")
    makers = {"MABWiser": _Mabwiser, "contextualbandits": _Contextual, "river": _River}
    player: Any = makers[package](rule, table.shape[1], contexts.shape[1], seed)
    out = np.empty(len(table))
    for t, x in enumerate(contexts):
        shown = player.choose(x)
        out[t] = table[t, shown]
        player.learn(x, shown, float(out[t]))
    return out


class _Mabwiser:
    def __init__(self, rule: str, arms: int, dim: int, seed: int) -> None:
        mab = _package("mabwiser.mab")
        policies = mab.LearningPolicy
        policy = policies.LinUCB(alpha=1.0) if rule == "LinUCB" else policies.LinTS(alpha=1.0)
        self.bandit = mab.MAB(list(range(arms)), policy, seed=seed)
        every = np.arange(arms)
        self.bandit.fit(every, np.zeros(arms), np.zeros((arms, dim)))

    def choose(self, x: FloatArray) -> int:
        return int(self.bandit.predict(x[None, :]))

    def learn(self, x: FloatArray, arm: int, reward: float) -> None:
        self.bandit.partial_fit(np.array([arm]), np.array([reward]), x[None, :])


class _Contextual:
    def __init__(self, rule: str, arms: int, dim: int, seed: int) -> None:
        self.bandit = _package("contextualbandits.online").LinUCB(
            nchoices=arms, alpha=1.0, beta_prior=None, random_state=seed, njobs=1
        )
        self.rng, self.arms, self.fitted = np.random.default_rng(seed), arms, False

    def choose(self, x: FloatArray) -> int:
        return int(self.bandit.predict(x[None, :])[0]) if self.fitted else int(self.rng.integers(self.arms))

    def learn(self, x: FloatArray, arm: int, reward: float) -> None:
        self.bandit.partial_fit(x[None, :], np.array([arm]), np.array([reward]))
        self.fitted = True


class _River:
    def __init__(self, rule: str, arms: int, dim: int, seed: int) -> None:
        self.bandit = _package("river.bandit").LinUCBDisjoint(alpha=1.0, seed=seed)
        self.arms = list(range(arms))

    def choose(self, x: FloatArray) -> int:
        return int(self.bandit.pull(self.arms, context=dict(enumerate(x.tolist()))))

    def learn(self, x: FloatArray, arm: int, reward: float) -> None:
        self.bandit.update(arm, dict(enumerate(x.tolist())), reward)
