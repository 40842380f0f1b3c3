"""What a request costs the service, in CPU of the whole process, next to another version of it on the same machine.

CPU time says the same on a machine that others use too, where requests per second do not. Both versions run at once and
take turns, round after round, each loaded by the same callers.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Figure, figure
from benchmarks.load import Server, drive, running

MODEL = {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 5}}
CANDIDATES = [{"id": f"d{i}", "features": [float(i == j) for j in range(5)]} for i in range(5)]
ASK = json.dumps({"candidates": CANDIDATES}).encode()
CLICK = b'{"clicked":["d1"]}'
#: How many there are in a batch.
BATCH = 500
#: Rows of one caller at a time: most of what they cost is the commit, and switching between threads.
ALONE = ("decision, one caller",)
SHADOW = {
    "loop": "rank",
    "shadow_of": "led",
    "learner": "ConvexPreferencePerceptron",
    "params": {"dim": 5, "radius": 10.0},
}


@dataclass
class Side:
    """A version of the service that runs, and what was measured of it: microseconds and requests per second."""

    name: str
    server: Server
    cpu: dict[str, list[float]] = field(default_factory=dict)
    rate: dict[str, list[float]] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: object) -> Any:
        """One request, as any client sends it."""
        line = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60.0)
        line.request(method, path, json.dumps(body), {"content-type": "application/json"})
        answer = line.getresponse()
        text = answer.read()
        line.close()
        if answer.status not in (200, 201):
            raise RuntimeError(f"{method} {path}: {answer.status} {text.decode()}")
        return json.loads(text)

    def decided(self, count: int) -> list[str]:
        """So many decisions that wait for feedback."""
        ids: list[str] = []
        while len(ids) < count:
            some = [{"candidates": CANDIDATES}] * min(1000, count - len(ids))
            made = self.ask("POST", "/v1/models/load/decisions:batch", {"decisions": some})
            ids += [each["decision"] for each in made["decisions"]]
        return ids

    def feedback(self, count: int) -> list[bytes]:
        """So many requests that give feedback."""
        return [self.server.post(f"/v1/decisions/{id}/feedback", CLICK) for id in self.decided(count)]

    def feedback_batches(self, count: int) -> list[bytes]:
        """The same in batches."""
        feedback = [{"decision": id, "clicked": ["d1"]} for id in self.decided(count)]
        some = [{"feedback": feedback[start : start + BATCH]} for start in range(0, count, BATCH)]
        return [self.server.post("/v1/feedback:batch", json.dumps(each).encode()) for each in some]

    def measured(self, what: str, requests: Iterable[bytes], callers: int, each: int = 1) -> None:
        """Send the requests; each is worth so many."""
        ready = list(requests)
        before = self.server.cpu()
        load = drive(self.server, ready, callers, 600.0)
        self.cpu.setdefault(what, []).append((self.server.cpu() - before) / (len(ready) * each) * 1e6)
        self.rate.setdefault(what, []).append(load.per_second * each)


def per_request(folder: Path, against: Path | None, callers: int, count: int, rounds: int) -> Iterator[Figure]:
    """CPU and rate of a no-op POST, of feedback and of decisions on 5 candidates with 5 features; and in batches.

    GET /healthz is what a request costs that does nothing. A decision with a shadow is made by two learners.

    Parameters
    ----------
    folder
        Where data folders are made.
    against
        The root of another version's source, or None.
    callers, count, rounds
        How many send at a time, how many requests each round has, and how many rounds there are.
    """
    with ExitStack() as stack:
        ours = Side("now", stack.enter_context(running(folder / "now")))
        sides = [ours]
        if against is not None:
            sides.append(Side("before", stack.enter_context(running(folder / "before", source=against))))
        for side in sides:
            for name, model in (("load", MODEL), ("led", MODEL), ("shadow", SHADOW)):
                side.ask("PUT", f"/v1/models/{name}", model)
            drive(side.server, [*side.feedback(300), *[side.server.post("/noop", CLICK)] * 300], callers, 60.0)
        rng = np.random.default_rng(0)
        for _ in range(rounds):
            jobs = [job for side in sides for job in _jobs(side, callers, count)]
            jobs += _batches(ours, count)
            for place in rng.permutation(len(jobs)):
                jobs[place]()
    yield from _cpu_figures(sides, callers)


def _jobs(side: Side, callers: int, count: int) -> list[Callable[[], None]]:
    server = side.server
    alive = f"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\n\r\n".encode()
    ask, led = (server.post(f"/v1/models/{name}/decisions", ASK) for name in ("load", "led"))
    return [
        lambda: side.measured("GET /healthz", [alive] * count, callers),
        lambda: side.measured("no-op POST", [server.post("/noop", CLICK)] * count, callers),
        lambda: side.measured("feedback", side.feedback(count), callers),
        lambda: side.measured("decision, 5 × 5", [ask] * count, callers),
        lambda: side.measured("decision with a shadow", [led] * count, callers),
        lambda: side.measured(ALONE[0], [ask] * (count // 4), 1),
    ]


def _batches(side: Side, count: int) -> list[Callable[[], None]]:
    body = json.dumps({"decisions": [{"candidates": CANDIDATES}] * BATCH}).encode()
    many = [side.server.post("/v1/models/load/decisions:batch", body)] * max(1, count // BATCH)
    return [
        lambda: side.measured("decisions in batches", many, 2, BATCH),
        lambda: side.measured("feedback in batches", side.feedback_batches(len(many) * BATCH), 2, BATCH),
    ]


def _cpu_figures(sides: list[Side], callers: int) -> Iterator[Figure]:
    for side in sides:
        for what, spent in side.cpu.items():
            yield figure(f"CPU for {what}, {side.name}", "µs", spent)
            at_once = 2 if "batch" in what else 1 if what in ALONE else callers
            aim = {"feedback in batches": "≥ 12000", "decisions in batches": "≥ 8000"}.get(what, "")
            yield figure(f"{what}, {side.name}, {at_once} callers", "per s", side.rate[what], aim)
        shares = zip(side.cpu["decision with a shadow"], side.cpu["decision, 5 × 5"], strict=True)
        yield figure(f"decision with a shadow ÷ decision, {side.name}", "×", [a / b for a, b in shares], "≤ 1.5")
    if len(sides) == 2:
        now, before = sides
        for what, aim in (("no-op POST", ""), ("feedback", "≤ 0.5"), ("decision, 5 × 5", "≤ 0.6")):
            ratios = [a / b for a, b in zip(now.cpu[what], before.cpu[what], strict=True)]
            yield figure(f"CPU for {what} ÷ before", "×", ratios, aim)
        rates = [a / b for a, b in zip(now.rate["feedback"], before.rate["no-op POST"], strict=True)]
        yield figure(f"rate of feedback ÷ that of the no-op POST before, {callers} callers", "×", rates, "≥ 0.6")
