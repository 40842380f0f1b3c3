"""CPU per request of workers over one PostgreSQL, next to SQLite: all sides run at once and take turns.

``python -m benchmarks.owners --store postgresql://…`` lets callers decide and report on several models. The figures
are the CPU of the workers and that of the connections of the database, if it runs on this machine; ratios hold on a
machine that others use too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.load import drive
from benchmarks.machine import machine
from benchmarks.shards import Fleet, ask, database_cpu

MODEL = {"loop": "label", "learner": "HingeConfidit", "labels": ["x", "y"], "params": {"dim": 2}}
#: Seconds until every worker has its leases.
SETTLE_S = 3.0


class Side:
    """A service that is measured: its processes, its database, and the figures by kind of request."""

    def __init__(self, name: str, fleet: Fleet, store: str | None) -> None:
        self.name, self.fleet, self.store = name, fleet, store
        self.workers: dict[str, list[float]] = {}
        self.database: dict[str, list[float]] = {}
        self.rate: dict[str, list[float]] = {}

    def measure(self, kind: str, requests: list[bytes], callers: int) -> None:
        """Send the requests; CPU in microseconds per request."""
        before, there = self.fleet.cpu(), self._database()
        rate = drive(self.fleet, requests, callers, 600.0).per_second
        self.workers.setdefault(kind, []).append((self.fleet.cpu() - before) / len(requests) * 1e6)
        self.database.setdefault(kind, []).append((self._database() - there) / len(requests) * 1e6)
        self.rate.setdefault(kind, []).append(rate)

    def _database(self) -> float:
        return database_cpu(self.store) if self.store is not None else 0.0

    def total(self, kind: str) -> list[float]:
        """CPU of workers and database, by round."""
        return [sum(each) for each in zip(self.workers[kind], self.database[kind], strict=True)]


@contextmanager
def running(arguments: list[str], source: Path | None) -> Iterator[Fleet]:
    """A service, of another version if the root of its source is given, until the end of the block."""
    root = (source or Path(__file__).parents[1]).resolve()
    command = [sys.executable, "-m", "smidgen", "serve", "--port", "0", *arguments]
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield Fleet(process.stdout.readline().split()[3], process.pid)
        finally:
            process.terminate()


class OneProcess(Fleet):
    """A service without a supervisor."""

    def cpu(self) -> float:
        """Seconds of CPU that it has used."""
        return time.clock_gettime(~self.pid << 3 | 2)


def decisions(side: Side, models: int, count: int, rng: np.random.Generator) -> list[bytes]:
    """Requests for decisions, by turns of the models."""
    bodies = [json.dumps({"features": [rng.random(), 1.0]}).encode() for _ in range(count)]
    return [side.fleet.post(f"/v1/models/m{place % models}/decisions", body) for place, body in enumerate(bodies)]


def feedback(side: Side, models: int, count: int, rng: np.random.Generator) -> list[bytes]:
    """Feedback on decisions that are made now."""
    ids: list[str] = []
    for place in range(models):
        some = [{"features": [rng.random(), 1.0]} for _ in range(-(-count // models))]
        made = ask(side.fleet, "POST", f"/v1/models/m{place}/decisions:batch", {"decisions": some})
        ids += [each["decision"] for each in made["decisions"]]
    rng.shuffle(ids)
    return [side.fleet.post(f"/v1/decisions/{id}/feedback", b'{"correct":true}') for id in ids[:count]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.owners", description=__doc__)
    parser.add_argument("--store", required=True, help="postgresql://…; schemas of its own are created in it")
    parser.add_argument("--workers", default="1", help="numbers of workers that are compared (default 1)")
    parser.add_argument("--before", type=Path, help="the root of another version's source, measured with one worker")
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--requests", type=int, default=2000, help="of each kind in a round (default 2000)")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (default 5)")
    given = parser.parse_args()
    rng, stamp = np.random.default_rng(0), int(time.time())
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        alone = stack.enter_context(running(["--data", folder], None))
        sides = [Side("SQLite", OneProcess(alone.url, alone.pid), None)]
        kinds = [(f"PostgreSQL, {each} workers", each, None) for each in given.workers.split(",")]
        if given.before is not None:
            kinds.append(("PostgreSQL, 1 worker, before", "1", given.before))
        for name, count, source in kinds:
            store = f"{given.store}{'&' if '?' in given.store else '?'}schema=w{stamp}_{len(sides)}"
            fleet = stack.enter_context(running(["--store", store, "--workers", count], source))
            sides.append(Side(name, fleet if fleet.children() else OneProcess(fleet.url, fleet.pid), store))
        for side in sides:
            for place in range(given.models):
                ask(side.fleet, "PUT", f"/v1/models/m{place}", MODEL)
        time.sleep(SETTLE_S)
        for turn in range(given.rounds + 1):
            for side in sides:
                for kind, made in (("decision", decisions), ("feedback", feedback)):
                    ready = made(side, given.models, given.requests, rng)
                    side.measure(kind, ready, given.callers)
                    if not turn:  # a round to get warm
                        side.workers[kind], side.database[kind], side.rate[kind] = [], [], []
    print(machine())
    print(f"{given.models} models, {given.callers} callers; medians of {given.rounds} rounds in turns, µs of CPU")
    print("| side | | workers | database | ÷ SQLite | requests per second |\n|---|---|--:|--:|--:|--:|")
    for side in sides:
        for kind in ("decision", "feedback"):
            ratio = median(np.divide(side.total(kind), sides[0].total(kind)))
            figures = (median(side.workers[kind]), median(side.database[kind]), ratio, median(side.rate[kind]))
            print(f"| {side.name} | {kind} | " + " | ".join(f"{each:.2f}" for each in figures) + " |")


if __name__ == "__main__":
    main()
