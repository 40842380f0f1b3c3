"""Run histories, shrink one that fails, and say how to replay it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from simulation.laws import check_all
from simulation.oracle import Wrong
from simulation.scheduler import History, history, shrink
from simulation.world import World


@dataclass(frozen=True)
class Failure:
    """A history that broke a rule, as it was and with as few steps as possible."""

    seed: int
    store: str | None
    problem: str
    shrunk: History

    def __str__(self) -> str:
        setup = self.shrunk.setup
        return "\n".join(
            [
                f"seed {self.seed}: {self.problem}",
                f"shrunk to {len(self.shrunk.steps)} steps on {setup.store}, {setup.workers} worker(s),"
                f" keyed_in_memory {setup.keyed_in_memory}, snapshot_every {setup.snapshot_every}:",
                *(f"  model {each.name}: {each.body}" for each in setup.models),
                *(f"  {step.what} ({step.number})" for step in self.shrunk.steps),
                f"replay: make simulate SEED={self.seed}" + (f" STORE={self.store}" if self.store else ""),
            ]
        )


def problem_of(found: History) -> str | None:
    """The rule that a history breaks, if it breaks one."""
    try:
        World(found).play(check_all)
    except Wrong as error:
        return str(error)
    return None


def fail(seed: int, store: str | None = None, length: int | None = None) -> Failure | None:
    """Play the history of a seed; one that fails is shrunk."""
    found = history(seed, store=store, length=length)
    if (problem := problem_of(found)) is None:
        return None
    kind = problem[:24]
    shrunk = shrink(found, lambda candidate: (problem_of(candidate) or "")[:24] == kind)
    return Failure(seed, store, problem, shrunk)


def run(seeds: Iterable[int], store: str | None = None, seconds: float | None = None) -> tuple[int, float]:
    """Play histories; how many, and the processor time. The first that fails raises, shrunk."""
    begun, count, until = time.process_time(), 0, None if seconds is None else time.monotonic() + seconds
    for seed in seeds:
        if until is not None and time.monotonic() > until:
            break
        if (failure := fail(seed, store)) is not None:
            raise AssertionError(str(failure))
        count += 1
    return count, time.process_time() - begun
