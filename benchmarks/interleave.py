"""Time several contenders in turn, round after round, so that a noisy machine hits all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

#: What does the job; with a number if it does another number of units than the workload says.
Contender: TypeAlias = Callable[[], object] | tuple[Callable[[], object], int]


@dataclass
class Workload:
    """One job, stated in a sentence, done by several contenders; the first is ours.

    ``remarks`` says what a contender does in particular, or why a peer is left out.
    """

    name: str
    job: str
    unit: str
    count: int
    contenders: dict[str, Contender] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """Microseconds per unit for each contender, and how many times slower than ours it is in the median round."""

    workload: str
    job: str
    unit: str
    contender: str
    microseconds: float
    ratio: float
    low: float
    high: float


def measure(workload: Workload, rounds: int) -> list[Result]:
    """Run every contender once per round; ratios are taken within a round, then their median and range.

    Each round has an order of its own, so that nobody always finds the caches as the same neighbour left them.
    """
    contenders = {
        name: given if isinstance(given, tuple) else (given, workload.count)
        for name, given in workload.contenders.items()
    }
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for run, _ in contenders.values():
        run()  # compile, warm the caches
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        for name in rng.permutation(list(contenders)).tolist():
            run, count = contenders[name]
            start = time.perf_counter()
            run()
            times[name].append((time.perf_counter() - start) / count)
    ours = times[next(iter(times))]
    results = []
    for name, theirs in times.items():
        ratios = sorted(b / a for a, b in zip(ours, theirs, strict=True))
        results.append(
            Result(
                workload.name,
                workload.job,
                workload.unit,
                name,
                statistics.median(theirs) * 1e6,
                statistics.median(ratios),
                ratios[0],
                ratios[-1],
            )
        )
    return results
