"""SIMPLE-FIL on items that are all relevant with the same probability: the work behind Theorem 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import kernel
from smidgen.learners.filter.simple_fil import threshold
from smidgen_papers.outcome import checkpoints
from smidgen_papers.part import Place, Values


@kernel
def forwarded(truth: NDArray[np.bool_], c: float, actions: NDArray[np.bool_]) -> None:
    """Forward iff p̂ − 1/2 ≥ −√(c·ln t / N); c = 4 is SIMPLE-FIL, c = 0 the plain estimate."""
    n, relevant = 0.0, 0.0
    for i in range(truth.shape[0]):
        actions[i] = n == 0.0 or relevant / n - 0.5 >= threshold(c, i + 1, n)
        if actions[i]:
            n += 1.0
            relevant += 1.0 if truth[i] else 0.0


def simple(place: Place, *, delta: float, c: float, items: int, runs: int, seed: int) -> Values:
    """Cumulative regret, 2|δ| for every action that is not the best one, at even distances of log n; a row per run."""
    at = np.array(checkpoints(items, 49)) - 1
    rows, actions = [], np.empty(items, np.bool_)
    for run in range(runs):
        rng = np.random.default_rng([seed, run, int(1000 * (delta + 1.0))])
        forwarded(rng.random(items) < 0.5 + delta, c, actions)
        wrong = actions if delta < 0.0 else ~actions
        rows.append(2.0 * abs(delta) * np.cumsum(wrong)[at])
    return {"items": at + 1, "regret": np.array(rows)}
