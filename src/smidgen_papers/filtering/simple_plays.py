"""SIMPLE-FIL on items that are all relevant with the same probability: the work behind Theorem 1."""

from __future__ import annotations

import numpy as np

from smidgen.learners.filter.simple_fil import simple_stream
from smidgen_papers.outcome import checkpoints
from smidgen_papers.part import Place, Values


def simple(place: Place, *, delta: float, c: float, items: int, runs: int, seed: int) -> Values:
    """Cumulative regret, 2|δ| for every action that is not the best one, at even distances of log n; a row per run."""
    at = np.array(checkpoints(items, 49)) - 1
    rows, actions, greedy = [], np.empty(items, np.bool_), np.empty(items, np.bool_)
    for run in range(runs):
        rng = np.random.default_rng([seed, run, int(1000 * (delta + 1.0))])
        simple_stream(np.zeros(2), c, rng.random(items) < 0.5 + delta, 1, (actions, greedy))
        wrong = actions if delta < 0.0 else ~actions
        rows.append(2.0 * abs(delta) * np.cumsum(wrong)[at])
    return {"items": at + 1, "regret": np.array(rows)}
