"""SIMPLE-FIL on items that are all relevant with the same probability: the work behind Theorem 1."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from smidgen_papers.compiled.kernel import kernel
from smidgen_papers.outcome import checkpoints
from smidgen_papers.part import Place, Values


def simple(place: Place, *, delta: float, c: float, items: int, runs: int, seed: int) -> Values:
    """Cumulative regret, 2|δ| for every action that is not the best one, at even distances of log n; a row per run."""
    at = np.array(checkpoints(items, 49)) - 1
    rows, actions = [], np.empty(items, np.bool_)
    for run in range(runs):
        rng = np.random.default_rng([seed, run, int(1000 * (delta + 1.0))])
        _play(c, rng.random(items) < 0.5 + delta, actions)
        wrong = actions if delta < 0.0 else ~actions
        rows.append(2.0 * abs(delta) * np.cumsum(wrong)[at])
    return {"items": at + 1, "regret": np.array(rows)}


@kernel
def _play(c: float, truth: NDArray[np.bool_], actions: NDArray[np.bool_]) -> None:
    """Forward iff p̂ − 1/2 ≥ −√(c·ln t / N), for all items in turn: SIMPLE-FIL, which has c = 4."""
    heard, relevant = 0.0, 0.0
    for i in range(truth.shape[0]):
        actions[i] = heard == 0.0 or relevant / heard - 0.5 >= -math.sqrt(c * math.log(i + 1) / heard)
        if actions[i]:
            heard += 1.0
            relevant += truth[i]
