"""``python -m benchmarks.service``: the decision service under load, against what the machine can do at all.

Feedback is held against a POST of the same server that reads the same body and does nothing, and against writing and
syncing a file on the same disk. The three take turns, round after round. The callers are a process of their own and
speak HTTP over kept connections with ready-made bytes, so that they cost little.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import itertools
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.figures import HEADER, Figure, figure
from benchmarks.load import Load, Server, drive, running, sync_alone
from benchmarks.machine import described, machine
from benchmarks.per_request import per_request
from benchmarks.vw_daemon import beside
from smidgen.client import Client, Model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import StoreSource
from smidgen.service.engine.writer import Writer
from smidgen.service.loops.registry import loops
from smidgen.service.ope.whatif import what_if
from smidgen.service.schemas import Candidate, ModelBody

RANK = {"loop": "rank", "learner": "PreferencePerceptron"}
CANDIDATES = {f"d{i}": [float(i == j) for j in range(5)] for i in range(5)}
CLICK = b'{"clicked":["d1"]}'


def feedback(folder: Path, clients: list[int], seconds: float, rounds: int) -> Iterator[Figure]:
    """Feedback against a POST that does nothing, and against bare syncs of the same disk."""
    with running(folder / "feedback") as server, Client(server.url, timeout=60.0) as client:
        model = client.create("load", **RANK, params={"dim": 5})
        noop = server.post("/noop", CLICK)
        drive(server, itertools.repeat(noop), 1, 0.2)
        drive(server, _feedbacks(server, model, 50), 1, 5.0)  # compile, warm the caches
        for many in clients:
            seen: list[tuple[Load, Load, float, float]] = []
            wanted = int(3000 * seconds)
            for turn in range(rounds):
                ready = _feedbacks(server, model, wanted)
                jobs: dict[str, Callable[[], Any]] = {
                    "noop": lambda many=many: drive(server, itertools.repeat(noop), many, seconds),
                    "ours": lambda many=many, ready=ready: drive(server, ready, many, seconds),
                    "disk": lambda: sync_alone(folder, seconds / 2),
                    "place": lambda: sync_alone(folder, seconds / 2, in_place=True),
                }
                order = np.random.default_rng(turn).permutation(list(jobs)).tolist()
                got = {name: jobs[name]() for name in order}
                seen.append((got["ours"], got["noop"], got["disk"], got["place"]))
                wanted = int(1.5 * got["ours"].per_second * seconds) + 100
            who = f"{many} client{'s' if many > 1 else ''}"
            bare, raw = "≥ 0.8" if many >= 16 else "", "≥ 3" if many == 16 else ""
            yield figure(f"feedback, {who}", "requests/s", (a.per_second for a, *_ in seen))
            yield figure(f"no-op POST, {who}", "requests/s", (b.per_second for _, b, *_ in seen))
            yield figure(f"feedback ÷ no-op, {who}", "×", (a.per_second / b.per_second for a, b, *_ in seen), bare)
            yield figure(f"feedback, 99th percentile, {who}", "ms", (a.p99_ms for a, *_ in seen))
            yield figure(f"no-op POST, 99th percentile, {who}", "ms", (b.p99_ms for _, b, *_ in seen))
            yield figure(f"write + fdatasync, appended, beside {who}", "records/s", (c for *_, c, _ in seen))
            yield figure(f"write + fdatasync, in place, beside {who}", "records/s", (d for *_, d in seen))
            yield figure(f"feedback ÷ appended, {who}", "×", (a.per_second / c for a, _, c, _ in seen), raw)
            yield figure(f"feedback ÷ in place, {who}", "×", (a.per_second / d for a, _, _, d in seen))


def acknowledged(folder: Path, clients: list[int], seconds: float, rounds: int) -> Iterator[Figure]:
    """Feedback that is on the disk, without HTTP: callers in the same process wait for the one writer.

    On a quick disk a sync takes less than HTTP in Python does. This is what group commit itself gives, against bare
    syncs of the same disk.
    """
    engine = Engine(folder / "writer")
    engine.run(lambda: engine.create("load", ModelBody(**RANK, params={"dim": 5})))
    request = loops.decision(candidates=[Candidate(id=id, features=row) for id, row in CANDIDATES.items()])
    for many in clients:
        seen = []
        for _ in range(rounds):
            ids: list[str] = []
            while len(ids) < 10_000 * seconds:
                ids += [made["decision"] for made in engine.run(lambda: engine.decide_all("load", [request] * 1000))]
            ours = asyncio.run(_write(engine, iter(ids), many, seconds))
            seen.append((ours, sync_alone(folder, seconds / 2)))
        yield figure(f"feedback on the disk, {many} callers, no HTTP", "events/s", (ours for ours, _ in seen))
        what = f"feedback on the disk ÷ appended, {many} callers, no HTTP"
        yield figure(what, "×", (ours / bare for ours, bare in seen), "≥ 3" if many == 16 else "")
    engine.close()


async def _write(engine: Engine, ids: Iterator[str], many: int, seconds: float) -> float:
    """Feedback that the writer has acknowledged, per second."""
    writer, done, start, body = Writer(engine), 0, time.perf_counter(), loops.feedback(clicked=["d1"])
    writer.start()

    async def call() -> None:
        nonlocal done
        while time.perf_counter() < start + seconds and (id := next(ids, None)) is not None:
            await writer.run(lambda id=id: engine.feedback(id, body))
            done += 1

    await asyncio.gather(*(call() for _ in range(many)))
    took = time.perf_counter() - start
    await writer.stop()
    return done / took


def _feedbacks(server: Server, model: Model, count: int) -> list[bytes]:
    """Ask for decisions, and have the feedback on each ready to send."""
    ids = []
    while len(ids) < count:
        ids += [answer.id for answer in model.decide_many([CANDIDATES] * min(1000, count - len(ids)))]
    return [server.post(f"/v1/decisions/{id}/feedback", CLICK) for id in ids]


def decisions(folder: Path, count: int, rounds: int) -> Iterator[Figure]:
    """CPU of the server for a decision on 50 candidates with 100 features, as JSON and compact.

    Next to it, the same body read and checked by the same server, which then does nothing.
    """
    matrix = np.random.default_rng(0).normal(size=(50, 100)).round(6)
    ids = [f"d{i}" for i in range(50)]
    plain = [{"id": id, "features": row} for id, row in zip(ids, matrix.tolist(), strict=True)]
    packed = {"shape": [50, 100], "f32": base64.b64encode(matrix.astype("<f4").tobytes()).decode()}
    bodies = {
        "JSON": msgspec.json.encode({"candidates": plain}),
        "compact": msgspec.json.encode({"candidates": {"ids": ids, "features": packed}}),
    }
    with running(folder / "decisions") as server, Client(server.url) as client:
        client.create("load", **RANK, params={"dim": 100})
        requests = {
            (call, name): server.post(path, body)
            for name, body in bodies.items()
            for call, path in (("a decision", "/v1/models/load/decisions"), ("reading it alone", "/noop-decision"))
        }
        spent: dict[tuple[str, str], list[float]] = {which: [] for which in requests}
        for request in requests.values():
            drive(server, [request] * 5, 1, 60.0)
        for turn in range(rounds):
            for place in np.random.default_rng(turn).permutation(len(requests)):
                which = list(requests)[place]
                before = server.cpu()
                drive(server, [requests[which]] * count, 1, 600.0)
                spent[which].append((server.cpu() - before) / count * 1e6)
    for (call, name), values in spent.items():
        yield figure(f"CPU for {call}, 50 × 100, {name} ({len(bodies[name]) / 1000:.0f} KB)", "µs", values)


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
    request = loops.decision(candidates=[Candidate(id=f"d{i}", features=row) for i, row in enumerate(rows)])

    def some(count: int) -> None:
        for i, reply in enumerate(engine.decide_all("load", [request] * count)):
            engine.feedback(reply["decision"], loops.feedback(clicked=[f"d{i % 10}"]))

    done = 0
    while done < events // 2:
        count = min(250, events // 2 - done)
        engine.run(lambda count=count: some(count))
        done += count
    engine.store.close()  # not engine.close(), which would take a snapshot
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        again = Engine(data, snapshot_every=1 << 62)
        again.learners.get(again.model("load"), None)
        times.append((time.perf_counter() - start) * 100_000 / again.model("load").seq)
        again.store.close()
    yield figure(f"recovery without a snapshot, by {events:,} events", "s per 100,000", times, "≤ 2")
    yield from what_ifs(data, rounds)


def what_ifs(data: Path, rounds: int) -> Iterator[Figure]:
    """CPU of a replay of that log through other learners: the first, and what each further one adds."""
    others = [
        "PreferencePerceptron",
        "ConvexPreferencePerceptron:radius=10.0",
        "ExponentiatedPreferencePerceptron:bound=1.0",
    ]
    first, further = [], []
    with Inspection(data) as seen:
        recording = StoreSource(seen, seen.model("load"))
        what_if(recording, others)  # compile
        for _ in range(rounds):
            spent = []
            for some in (others[:1], others):
                begun = time.process_time()
                what_if(recording, some, own_too=False)
                spent.append((time.process_time() - begun) / recording.count() * 1e6)
            first.append(spent[0])
            further.append((spent[1] - spent[0]) / (len(others) - 1))
    yield figure("CPU of what-if, one learner, per event", "µs", first, "≤ 20")
    yield figure("CPU of what-if, each further learner, per event", "µs", further, "≤ 6")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of one load (default 5)")
    parser.add_argument("--clients", default="1,16,64", help="callers at a time (default 1,16,64)")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (default 5)")
    parser.add_argument("--against", type=Path, help="the root of another version's source, to be measured in turns")
    parser.add_argument("--requests", type=int, default=4000, help="of each kind in a round, beside it (default 4000)")
    parser.add_argument(
        "--only", default="", help="some of: requests, vw, feedback, acknowledged, decisions, memory, …"
    )
    parser.add_argument("--quick", action="store_true", help="everything small: shows that it runs, measures little")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="results; its disk is the one measured")
    given = parser.parse_args()
    quick = given.quick
    seconds, rounds = (min(given.seconds, 0.3), 1) if quick else (given.seconds, given.rounds)
    clients = [int(many) for many in given.clients.split(",")]
    given.out.mkdir(parents=True, exist_ok=True)
    where = {**machine(), "quick": quick, "seconds": seconds}
    with tempfile.TemporaryDirectory(dir=given.out, prefix="service-") as name:
        folder, count = Path(name), 50 if quick else given.requests
        parts: dict[str, Callable[[], Iterator[Figure]]] = {
            "requests": lambda: per_request(folder, given.against, max(clients), count, rounds),
            "vw": lambda: beside(folder, count // 4, rounds),
            "feedback": lambda: feedback(folder, clients, seconds, rounds),
            "acknowledged": lambda: acknowledged(folder, [many for many in clients if many > 1], seconds, rounds),
            "decisions": lambda: decisions(folder, 50 if quick else 500, rounds),
            "memory": lambda: memory(folder, 200 if quick else 10_000),
            "recovery": lambda: recovery(folder, 5_000 if quick else 100_000, rounds),
        }
        wanted = [part for part in given.only.split(",") if part] or list(parts)
        found = [each for part in wanted for each in parts[part]()]
    write(given.out, where, found)


def write(out: Path, where: dict[str, Any], found: list[Figure]) -> None:
    """Print the table; put it and the numbers into the folder."""
    table = Table(*HEADER)
    for each in found:
        table.add_row(*each.cells())
    console = Console(width=150)
    console.print(table)
    note = "quick: these numbers show that it runs, and no more" if where["quick"] else ""
    if note:
        console.print(note)
    lines = ["# The decision service under load", "", f"{described(where)} One load lasts {where['seconds']} s. {note}"]
    lines += ["", f"| {' | '.join(HEADER)} |", "|---|---|--:|--:|--:|---|---|"]
    lines += [f"| {' | '.join(each.cells())} |" for each in found]
    (out / "service.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (out / "service.json").write_text(json.dumps({**where, "results": list(map(asdict, found))}, indent=1))
    console.print(f"written to {out}/service.md, service.json")


if __name__ == "__main__":
    main()
