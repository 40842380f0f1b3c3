"""Time several contenders in turn, round after round, so that a noisy machine hits all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Workload:
    """One job, stated in a sentence, done by several contenders; the first is ours."""

    name: str
    job: str
    unit: str
    count: int
    contenders: dict[str, Callable[[], object]] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """Seconds per unit for each contender, and how many times slower than ours it is in the median round."""

    workload: str
    job: str
    unit: str
    contender: str
    microseconds: float
    ratio: float
    low: float
    high: float


def measure(workload: Workload, rounds: int) -> list[Result]:
    """Run every contender once per round; ratios are taken within a round, then their median and range."""
    times: dict[str, list[float]] = {name: [] for name in workload.contenders}
    for run in workload.contenders.values():
        run()  # compile, warm the caches
    for _ in range(rounds):
        for name, run in workload.contenders.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
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
                statistics.median(theirs) / workload.count * 1e6,
                statistics.median(ratios),
                ratios[0],
                ratios[-1],
            )
        )
    return results
