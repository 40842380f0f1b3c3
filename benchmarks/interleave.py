"""Time several contenders in turn, round after round, so that a noisy machine hits all of them alike."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

#: What does the job; with a number if it does another number of units than the workload says.
Contender: TypeAlias = Callable[[], object] | tuple[Callable[[], object], int]


@dataclass
class Workload:
    """One job, stated in a sentence, done by several contenders; the first is ours.

    ``remarks`` says what a contender does in particular, or why a peer is left out. ``times`` as many rounds as usual
    are run of a job that other users of the machine's memory disturb.
    """

    key: str
    name: str
    job: str
    unit: str
    count: int
    contenders: dict[str, Contender] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    times: int = 1


@dataclass(frozen=True)
class Measured:
    """What came of a workload: for each contender the microseconds per unit, round by round."""

    key: str
    name: str
    job: str
    unit: str
    remarks: dict[str, str]
    times: dict[str, list[float]]

    @property
    def ours(self) -> str:
        """The contender that the others are compared with: the first."""
        return next(iter(self.times))

    def microseconds(self, contender: str) -> float:
        """Per unit, in the median round."""
        return statistics.median(self.times[contender])

    def spread(self, contender: str, against: str | None = None) -> tuple[float, float, float]:
        """How many times as long as another (ours, if left out) it takes: lower quartile, median, upper quartile.

        Ratios are taken within a round, so that what slows a whole round down does not count.
        """
        pairs = zip(self.times[contender], self.times[against or self.ours], strict=True)
        low, middle, high = np.quantile([a / b for a, b in pairs], [0.25, 0.5, 0.75]).tolist()
        return low, middle, high

    def fastest(self, prefix: str) -> str | None:
        """The quickest of the contenders whose names begin so."""
        return min((name for name in self.times if name.startswith(prefix)), key=self.microseconds, default=None)

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Measured:
        """From its dictionary, as ``results.json`` keeps it."""
        return cls(**fields)


def measure(workload: Workload, rounds: int, seconds: float = 0.02) -> Measured:
    """Run every contender once per round, for at least so many seconds; BLAS and OpenMP get one thread.

    Each round has an order of its own, so that nobody always finds the caches as the same neighbour left them.
    """
    contenders = {
        name: given if isinstance(given, tuple) else (given, workload.count)
        for name, given in workload.contenders.items()
    }
    for run, _ in contenders.values():
        run()  # compile, import, warm the caches
    times: dict[str, list[float]] = {name: [] for name in contenders}
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        often = {name: max(1, math.ceil(seconds / max(_timed(run, 1), 1e-6))) for name, (run, _) in contenders.items()}
        for _ in range(rounds * workload.times):
            for name in rng.permutation(list(contenders)).tolist():
                run, count = contenders[name]
                times[name].append(_timed(run, often[name]) / (often[name] * count) * 1e6)
    return Measured(workload.key, workload.name, workload.job, workload.unit, workload.remarks, times)


def _timed(run: Callable[[], object], often: int) -> float:
    start = time.perf_counter()
    for _ in range(often):
        run()
    return time.perf_counter() - start


def rows(measured: list[Measured]) -> Iterator[tuple[Measured, str, float, tuple[float, float, float]]]:
    """Every line of the table: workload, contender, microseconds, spread of the ratio to ours."""
    for each in measured:
        for name in each.times:
            yield each, name, each.microseconds(name), each.spread(name)
