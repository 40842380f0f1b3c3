"""``python -m benchmarks.service``: the decision service under load, against what the machine can do at all.

Feedback is held against a POST of the same server that reads the same body and does nothing, and against writing and
syncing a file on the same disk. The three take turns, round after round. The callers are a process of their own and
speak HTTP over kept connections with ready-made bytes, so that they cost little.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import machine
from benchmarks.load import Load, Server, drive, running, sync_alone
from smidgen.client import Client, Model
from smidgen.service.engine import Engine
from smidgen.service.messages import Candidate, DecisionBody, FeedbackBody, ModelBody

RANK = {"loop": "rank", "learner": "PreferencePerceptron"}
CANDIDATES = {f"d{i}": [float(i == j) for j in range(5)] for i in range(5)}
CLICK = b'{"clicked":["d1"]}'


@dataclass(frozen=True)
class Figure:
    """One measured number: the median of the rounds, and their range."""

    what: str
    unit: str
    median: float
    low: float
    high: float
    rounds: int


def figure(what: str, unit: str, values: Iterable[float]) -> Figure:
    """Sum up the rounds."""
    every = sorted(values)
    return Figure(what, unit, statistics.median(every), every[0], every[-1], len(every))


def feedback(folder: Path, clients: list[int], seconds: float, rounds: int) -> Iterator[Figure]:
    """Feedback against a POST that does nothing, and against bare syncs of the same disk."""
    with running(folder / "feedback") as server, Client(server.url, timeout=60.0) as client:
        model = client.create("load", **RANK, params={"dim": 5})
        noop = server.post("/noop", CLICK)
        drive(server, itertools.repeat(noop), 1, 0.2)
        drive(server, _feedbacks(server, model, 50), 1, 5.0)  # compile, warm the caches
        for many in clients:
            seen: list[tuple[Load, Load, float]] = []
            wanted = int(3000 * seconds)
            for turn in range(rounds):
                ready = _feedbacks(server, model, wanted)
                jobs: dict[str, Callable[[], Any]] = {
                    "noop": lambda many=many: drive(server, itertools.repeat(noop), many, seconds),
                    "ours": lambda many=many, ready=ready: drive(server, ready, many, seconds),
                    "disk": lambda: sync_alone(folder, seconds),
                }
                order = np.random.default_rng(turn).permutation(list(jobs)).tolist()
                got = {name: jobs[name]() for name in order}
                seen.append((got["ours"], got["noop"], got["disk"]))
                wanted = int(1.5 * got["ours"].per_second * seconds) + 100
            who = f"{many} client{'s' if many > 1 else ''}"
            yield figure(f"feedback, {who}", "requests/s", (ours.per_second for ours, _, _ in seen))
            yield figure(f"no-op POST, {who}", "requests/s", (bare.per_second for _, bare, _ in seen))
            yield figure(f"feedback ÷ no-op, {who}", "×", (a.per_second / b.per_second for a, b, _ in seen))
            yield figure(f"feedback, 99th percentile, {who}", "ms", (ours.p99_ms for ours, _, _ in seen))
            yield figure(f"no-op POST, 99th percentile, {who}", "ms", (bare.p99_ms for _, bare, _ in seen))
            yield figure(f"write + fdatasync alone, beside {who}", "records/s", (disk for _, _, disk in seen))
            yield figure(f"feedback ÷ write + fdatasync, {who}", "×", (a.per_second / disk for a, _, disk in seen))


def _feedbacks(server: Server, model: Model, count: int) -> list[bytes]:
    """Ask for decisions, and have the feedback on each ready to send."""
    ids = []
    while len(ids) < count:
        ids += [answer.id for answer in model.decide_many([CANDIDATES] * min(1000, count - len(ids)))]
    return [server.post(f"/v1/decisions/{id}/feedback", CLICK) for id in ids]


def decisions(folder: Path, count: int, rounds: int) -> Iterator[Figure]:
    """CPU of the server for a decision on 50 candidates with 100 features, as JSON and compact."""
    matrix = np.random.default_rng(0).normal(size=(50, 100)).round(6)
    ids = [f"d{i}" for i in range(50)]
    plain = [{"id": id, "features": row} for id, row in zip(ids, matrix.tolist(), strict=True)]
    packed = {"shape": [50, 100], "f32": base64.b64encode(matrix.astype("<f4").tobytes()).decode()}
    bodies = {
        "JSON": msgspec.json.encode({"candidates": plain}),
        "compact": msgspec.json.encode({"candidates": {"ids": ids, "features": packed}}),
    }
    spent: dict[str, list[float]] = {name: [] for name in bodies}
    with running(folder / "decisions") as server, Client(server.url) as client:
        client.create("load", **RANK, params={"dim": 100})
        requests = {name: server.post("/v1/models/load/decisions", body) for name, body in bodies.items()}
        for request in requests.values():
            drive(server, [request] * 5, 1, 60.0)
        for turn in range(rounds):
            for name in np.random.default_rng(turn).permutation(list(bodies)).tolist():
                before = server.cpu()
                drive(server, [requests[name]] * count, 1, 600.0)
                spent[name].append((server.cpu() - before) / count * 1e6)
    for name, body in bodies.items():
        yield figure(f"CPU for a decision, 50 × 100, {name} ({len(body) / 1000:.0f} KB)", "µs", spent[name])


def memory(folder: Path, keys: int) -> Iterator[Figure]:
    """Memory of a service with many keyed learners of 100 features: all of them held, and 2,000 of them."""
    pair = {"a": [1.0] + [0.0] * 99, "b": [0.0] * 99 + [1.0]}
    for held in (keys, 2_000):
        data = folder / f"memory-{held}"
        with running(data, keyed_in_memory=held) as server, Client(server.url, timeout=120.0) as client:
            model = client.create("load", **RANK, params={"dim": 100}, keyed=True)
            drive(server, _keyed(server, model, pair, ["first"]), 1, 60.0)
            before = server.memory()
            for start in range(0, keys, 500):
                some = [f"user {i}" for i in range(start, min(start + 500, keys))]
                drive(server, _keyed(server, model, pair, some), 16, 600.0)
            yield figure(f"memory with one key, {held:,} may be held", "MB", [before])
            yield figure(f"memory with {keys:,} keys, {held:,} may be held", "MB", [server.memory()])


def _keyed(server: Server, model: Model, candidates: dict[str, list[float]], keys: list[str]) -> list[bytes]:
    answers = model.decide_many([candidates] * len(keys), keys=keys)
    return [server.post(f"/v1/decisions/{answer.id}/feedback", b'{"clicked":["b"]}') for answer in answers]


def recovery(folder: Path, events: int, rounds: int) -> Iterator[Figure]:
    """Time from opening a data folder to the learner, by a replay of all events; per 100,000 of them.

    Half of the events are decisions on 10 candidates with 10 features, half are feedback. No snapshot is taken.
    """
    data = folder / "recovery"
    engine = Engine(data, snapshot_every=1 << 62, synchronous="OFF")
    body = ModelBody(**RANK, params={"dim": 10})
    engine.run(lambda: engine.create("load", body))
    rows = np.random.default_rng(0).normal(size=(10, 10)).round(6).tolist()
    request = DecisionBody(candidates=[Candidate(id=f"d{i}", features=row) for i, row in enumerate(rows)])

    def some(count: int) -> None:
        for i, reply in enumerate(engine.decide_all("load", [request] * count)):
            engine.feedback(reply["decision"], FeedbackBody(clicked=[f"d{i % 10}"]))

    done = 0
    while done < events // 2:
        count = min(250, events // 2 - done)
        engine.run(lambda count=count: some(count))
        done += count
    engine.connection.close()  # not engine.close(), which would take a snapshot
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        again = Engine(data, snapshot_every=1 << 62)
        again.learners.get(again.model("load"), None)
        times.append((time.perf_counter() - start) * 100_000 / again.model("load").seq)
        again.connection.close()
    yield figure(f"recovery without a snapshot, by {events:,} events", "s per 100,000", times)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of one load (default 5)")
    parser.add_argument("--clients", default="1,16,64", help="callers at a time (default 1,16,64)")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (default 5)")
    parser.add_argument("--quick", action="store_true", help="everything small: shows that it runs, measures little")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="results; its disk is the one measured")
    given = parser.parse_args()
    quick = given.quick
    seconds, rounds = (min(given.seconds, 0.3), 1) if quick else (given.seconds, given.rounds)
    clients = [int(many) for many in given.clients.split(",")]
    given.out.mkdir(parents=True, exist_ok=True)
    table = Table("figure", "unit", "median", "range", "rounds")
    found: list[Figure] = []
    with tempfile.TemporaryDirectory(dir=given.out, prefix="service-") as name:
        folder = Path(name)
        for each in itertools.chain(
            feedback(folder, clients, seconds, rounds),
            decisions(folder, 50 if quick else 500, rounds),
            memory(folder, 200 if quick else 10_000),
            recovery(folder, 2_000 if quick else 100_000, rounds),
        ):
            found.append(each)
            table.add_row(
                each.what, each.unit, f"{each.median:,.2f}", f"{each.low:,.2f} – {each.high:,.2f}", str(each.rounds)
            )
    console = Console(width=120)
    console.print(table)
    if quick:
        console.print("quick: these numbers show that it runs, and no more")
    path = given.out / "service.json"
    path.write_text(json.dumps({**machine(), "quick": quick, "seconds": seconds, "results": list(map(asdict, found))}))
    console.print(f"written to {path}")


if __name__ == "__main__":
    main()
