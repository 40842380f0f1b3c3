"""What several shards bring, and what they cost: CPU per request and requests per second, over one PostgreSQL.

``python -m benchmarks.shards --store postgresql://…`` starts workers, and lets callers decide and report on keyed
models with one shard and with more, by turns. The CPU of the database is reported if it runs on this machine.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from benchmarks.load import Server, drive
from benchmarks.machine import machine

MODEL = {"loop": "label", "learner": "HingeConfidit", "labels": ["x", "y"], "params": {"dim": 2}, "keyed": True}
#: How many keys there are, and how many decisions are asked for in one call to be answered one by one.
KEYS, AT_ONCE = 1_000, 250


class Fleet(Server):
    """The workers of one supervisor."""

    def children(self) -> list[int]:
        """The processes of the workers."""
        return [int(each) for each in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def cpu(self) -> float:
        """Seconds of CPU that all workers have used."""
        return sum(Server(self.url, each).cpu() for each in self.children())


@contextmanager
def serving(store: str, workers: int) -> Iterator[Fleet]:
    """Workers in processes of their own, until the end of the block."""
    command = [sys.executable, "-m", "smidgen", "serve", "--port", "0", "--store", store, "--workers", str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Fleet(process.stdout.readline().split()[3], process.pid)
        finally:
            process.terminate()


def database_cpu(store: str) -> float:
    """Seconds of CPU of the connections that the database has open, as far as they are processes of this machine."""
    with psycopg.connect(store.partition("?")[0] + _host(store)) as line:
        rows = line.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()").fetchall()
    total = 0.0
    for (pid,) in rows:
        try:
            total += Server("", pid).cpu()
        except OSError:
            continue
    return total


def _host(store: str) -> str:
    """What of the settings of an address is libpq's."""
    found = [each for each in store.partition("?")[2].split("&") if each.startswith(("host=", "port="))]
    return "?" + "&".join(found) if found else ""


def ask(fleet: Fleet, method: str, path: str, body: object) -> Any:
    """One request, as any client sends it."""
    line = http.client.HTTPConnection("127.0.0.1", fleet.port, timeout=60.0)
    line.request(method, path, json.dumps(body), {"content-type": "application/json"})
    answer = line.getresponse()
    text = answer.read()
    line.close()
    if answer.status not in (200, 201):
        raise RuntimeError(f"{method} {path}: {answer.status} {text.decode()}")
    return json.loads(text)


def decisions(fleet: Fleet, name: str, count: int, rng: np.random.Generator) -> list[bytes]:
    """So many requests for a decision, each of some key."""
    bodies = [{"features": [rng.random(), rng.random()], "key": f"key {rng.integers(KEYS)}"} for _ in range(count)]
    return [fleet.post(f"/v1/models/{name}/decisions", json.dumps(body).encode()) for body in bodies]


def feedback(fleet: Fleet, name: str, count: int, rng: np.random.Generator) -> list[bytes]:
    """So many requests that give feedback on decisions that are made now."""
    ids: list[str] = []
    while len(ids) < count:
        some = [{"features": [rng.random(), 1.0], "key": f"key {rng.integers(KEYS)}"} for _ in range(AT_ONCE)]
        made = ask(fleet, "POST", f"/v1/models/{name}/decisions:batch", {"decisions": some})
        ids += [each["decision"] for each in made["decisions"]]
    rng.shuffle(ids)
    return [fleet.post(f"/v1/decisions/{id}/feedback", b'{"correct":true}') for id in ids[:count]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shards", description=__doc__)
    parser.add_argument("--store", required=True, help="postgresql://…; use a schema of its own (&schema=…)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shards", default="1,8", help="shards of the models that are compared (default 1,8)")
    parser.add_argument("--callers", type=int, default=16)
    parser.add_argument("--requests", type=int, default=2000, help="of each kind in a round (default 2000)")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds; the best counts (default 5)")
    given = parser.parse_args()
    shards, rng = [int(each) for each in given.shards.split(",")], np.random.default_rng(0)
    best: dict[tuple[int, str], tuple[float, float, float]] = {}
    with serving(given.store, given.workers) as fleet:
        for count in shards:
            ask(fleet, "PUT", f"/v1/models/shards-{count}", MODEL | {"shards": count})
        for _ in range(given.rounds):
            for count in shards:
                for what, made in (("decision", decisions), ("feedback", feedback)):
                    ready = made(fleet, f"shards-{count}", given.requests, rng)
                    before, there = fleet.cpu(), database_cpu(given.store)
                    rate = drive(fleet, ready, given.callers, 600.0).per_second
                    spent, more = fleet.cpu() - before, database_cpu(given.store) - there
                    now = (spent / len(ready) * 1e6, more / len(ready) * 1e6, rate)
                    old = best.get((count, what), (1e9, 1e9, 0.0))
                    best[count, what] = (min(now[0], old[0]), min(now[1], old[1]), max(now[2], old[2]))
    print(machine())
    print(f"{given.workers} workers, {given.callers} callers, {KEYS} keys; the best of {given.rounds} rounds in turns")
    print("| shards | | CPU, workers | CPU, database | requests per second |\n|--:|---|--:|--:|--:|")
    for (count, what), (worker, database, rate) in best.items():
        print(f"| {count} | {what} | {worker:.0f} µs | {database:.0f} µs | {rate:.0f} |")


if __name__ == "__main__":
    main()
