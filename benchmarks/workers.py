"""What a request costs with several workers: CPU of every process of the service, and of the database.

``python -m benchmarks.workers --store postgresql://…`` starts the service several times (SQLite in one process and with
processes for HTTP; PostgreSQL with one and more workers) and loads each in turn, round after round, with the same
callers. CPU of the callers does not count. GET /healthz is the no-op.
"""

from __future__ import annotations

import argparse
import http.client
import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from subprocess import PIPE, Popen
from sys import executable
from typing import Any

import numpy as np

from benchmarks.load import Server, drive
from benchmarks.machine import machine
from benchmarks.per_request import ASK, CANDIDATES, CLICK, MODEL
from benchmarks.shards import Fleet, database_cpu


@dataclass
class Setup:
    """A way to run the service, and its figures by workload: CPU per request of each process, and requests per second.

    The process that uses the most comes first; then the others; the database is apart.
    """

    name: str
    arguments: list[str]
    store: str | None = None
    fleet: Fleet | None = None
    processes: dict[str, list[list[float]]] = field(default_factory=dict)
    database: dict[str, list[float]] = field(default_factory=dict)
    rate: dict[str, list[float]] = field(default_factory=dict)

    def cpu(self) -> list[float]:
        """Seconds of CPU that each process has used."""
        pid = self.fleet.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split() or [pid]
        return [Server("", int(each)).cpu() for each in children]

    def ask(self, method: str, path: str, body: object) -> Any:
        """Send one request."""
        line = http.client.HTTPConnection("127.0.0.1", self.fleet.port, timeout=60.0)
        line.request(method, path, json.dumps(body), {"content-type": "application/json"})
        reply = line.getresponse()
        text = reply.read()
        line.close()
        if reply.status not in (200, 201):
            raise RuntimeError(f"{method} {path}: {reply.status} {text.decode()}")
        return json.loads(text)

    def requests(self, what: str, count: int, models: int) -> list[bytes]:
        """Make requests of a kind, over all models."""
        if what == "no-op":
            return [f"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:{self.fleet.port}\r\n\r\n".encode()] * count
        if what == "decision":
            return [self.fleet.post(f"/v1/models/m{i % models}/decisions", ASK) for i in range(count)]
        each: list[list[str]] = []
        for model in range(models):
            some = [{"candidates": CANDIDATES}] * -(-count // models)
            made = self.ask("POST", f"/v1/models/m{model}/decisions:batch", {"decisions": some})
            each.append([decision["decision"] for decision in made["decisions"]])
        ids = [id for some in zip(*each, strict=True) for id in some][:count]
        return [self.fleet.post(f"/v1/decisions/{id}/feedback", CLICK) for id in ids]

    def measure(self, what: str, count: int, models: int, callers: int) -> None:
        """Send requests and note what they cost."""
        ready = self.requests(what, count, models)
        before, there = self.cpu(), 0.0 if self.store is None else database_cpu(self.store)
        self.rate.setdefault(what, []).append(drive(self.fleet, ready, callers, 600.0).per_second)
        spent = [(now - old) / count * 1e6 for now, old in zip(self.cpu(), before, strict=True)]
        self.processes.setdefault(what, []).append(sorted(spent, reverse=True))
        if self.store is not None:
            self.database.setdefault(what, []).append((database_cpu(self.store) - there) / count * 1e6)


@contextmanager
def serving(arguments: list[str]) -> Iterator[Fleet]:
    """A service in processes of its own, until the end of the block."""
    command = [executable, "-m", "smidgen", "serve", "--port", "0", *arguments]
    with Popen(command, stdout=PIPE, text=True) as process:
        try:
            address = next(line for line in process.stdout if "http://" in line)
            yield Fleet(next(word for word in address.split() if word.startswith("http")), process.pid)
        finally:
            process.terminate()


def setups(folder: Path, store: str | None, workers: list[int]) -> Iterator[Setup]:
    """The ways to run the service that are compared."""
    for count in (1, 2):
        yield Setup(f"SQLite, {count}", ["--data", str(folder / f"sqlite{count}"), "--workers", str(count)])
    for count in workers if store is not None else []:
        own = f"{store}{'&' if '?' in store else '?'}schema=workers{count}"
        yield Setup(f"PostgreSQL, {count}", ["--store", own, "--workers", str(count)], own)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__)
    parser.add_argument("--store", help="postgresql://… of a database for this alone; without it only SQLite")
    parser.add_argument("--workers", default="1,2,4", help="workers on PostgreSQL that are compared (default 1,2,4)")
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--callers", type=int, default=64, help="callers at a time (default 64)")
    parser.add_argument("--requests", type=int, default=2000, help="of each kind in a round (default 2000)")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds; the median counts (default 5)")
    given = parser.parse_args()
    kinds = ("no-op", "decision", "feedback")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        found = list(setups(Path(name), given.store, [int(each) for each in given.workers.split(",")]))
        for each in found:
            each.fleet = stack.enter_context(serving(each.arguments))
            for model in range(given.models):
                each.ask("PUT", f"/v1/models/m{model}", MODEL)
            for what in kinds[1:]:
                drive(each.fleet, each.requests(what, 50 * given.models, given.models), given.callers, 60.0)
        rng = np.random.default_rng(0)
        for _ in range(given.rounds):
            jobs = [(each, what) for each in found for what in kinds]
            for place in rng.permutation(len(jobs)):
                setup, what = jobs[place]
                setup.measure(what, given.requests, given.models, given.callers)
    print(machine())
    print(f"{given.models} models, {given.callers} callers; median of {given.rounds} rounds in turns; µs of CPU")
    print("| | | processes | database | sum | ÷ SQLite, 1 | requests/s |\n|---|---|--:|--:|--:|--:|--:|")
    for what in kinds:
        base: list[float] = []
        for each in found:
            database = each.database.get(what, [0.0] * given.rounds)
            sums = [sum(spent) + more for spent, more in zip(each.processes[what], database, strict=True)]
            base = base or sums
            processes = " + ".join(f"{median(one):.0f}" for one in zip(*each.processes[what], strict=True))
            ratio = median(now / first for now, first in zip(sums, base, strict=True))
            cells = [f"{median(database):.0f}", f"{median(sums):.0f}", f"{ratio:.2f}", f"{median(each.rate[what]):.0f}"]
            print(f"| {what} | {each.name} | {processes} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
