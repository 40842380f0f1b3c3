"""Several workers behind one port, as the command line starts them over PostgreSQL; calls to the one that is meant."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from service.live import Serving

#: Fewer processes at once: kernels are compiled by one of them.
ENVIRONMENT = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class Answer:
    """A reply."""

    def __init__(self, status: int, body: Any) -> None:
        self.status, self.body = status, body


class Line:
    """A connection that is kept: all that is asked over it is answered by one worker."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self._made = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)

    def __call__(self, method: str, path: str, body: Any = None, token: str | None = None) -> Answer:
        headers = {"content-type": "application/json"} if body is not None else {}
        headers |= {"authorization": f"Bearer {token}"} if token is not None else {}
        self._made.request(method, path, json.dumps(body) if body is not None else None, headers)
        reply = self._made.getresponse()
        content = reply.read()
        plain = reply.headers.get("content-type", "").startswith("application/json")
        return Answer(reply.status, json.loads(content) if plain and content else content.decode())

    def close(self) -> None:
        self._made.close()


class Fleet(Serving):
    """``smidgen serve --store … --workers N`` until the end of the block."""

    def __init__(self, store: str, workers: int = 2, *arguments: str) -> None:
        super().__init__("--workers", str(workers), *arguments, **ENVIRONMENT, SMIDGEN_STORE=store)
        self.store, self.count = store, workers
        self._lines: list[Line] = []

    def stop(self) -> tuple[int, str, str]:
        """End it gracefully; its status and what it had to say."""
        for line in self._lines:
            line.close()
        return super().stop()

    def workers(self) -> list[int]:
        """The processes of the workers that live."""
        place = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(each) for each in place.read_text().split()] if place.exists() else []

    def line(self) -> Line:
        """A connection to the worker that accepts it."""
        self._lines.append(Line(self.url))
        return self._lines[-1]

    def lines(self) -> list[Line]:
        """One connection to each worker, in order."""
        found: dict[int, Line] = {}
        others: list[Line] = []
        deadline = time.monotonic() + 30
        while len(found) < self.count and time.monotonic() < deadline:
            line = self.line()
            answer = line("GET", "/readyz")
            if answer.status == 200 and answer.body["worker"] not in found:
                found[answer.body["worker"]] = line
            else:
                others.append(line)  # kept, so that the next one goes elsewhere
        for line in others:
            line.close()
        assert len(found) == self.count, found
        return [found[number] for number in sorted(found)]


class Load:
    """Callers that decide and report, again and again, whatever happens; what was acknowledged is written down."""

    def __init__(self, fleet: Fleet, names: list[str], callers: int = 4, keys: int = 0) -> None:
        self.fleet, self.names, self.keys = fleet, names, keys
        self.decided: dict[str, str] = {}
        self.learnt: dict[str, int] = {}
        self.repeated: set[str] = set()  # learned before the reply was lost between two workers
        self.refused: dict[int, int] = {}
        self.lost = 0
        self.longest = 0.0
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._call, args=(seed,)) for seed in range(callers)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(60)

    def acknowledged(self) -> int:
        return len(self.learnt) + len(self.repeated)

    def more(self, count: int, within: float) -> float:
        """Wait until a number of further requests is acknowledged; return how long that took."""
        began, first = time.monotonic(), self.acknowledged()
        while self.acknowledged() < first + count:
            assert time.monotonic() - began < within, f"{self.acknowledged() - first} of {count} in {within} s"
            time.sleep(0.01)
        return time.monotonic() - began

    def _call(self, seed: int) -> None:
        rng, line = random.Random(seed), None
        while not self._ended.is_set():
            name, began = rng.choice(self.names), time.monotonic()
            try:
                line = line or self.fleet.line()
                key = {"key": f"k{rng.randrange(self.keys)}"} if self.keys else {}
                asked = {"features": [rng.random(), rng.random()], **key}
                made = line("POST", f"/v1/models/{name}/decisions", asked)
                if made.status != 201:
                    self._count(made.status)
                    continue
                id = made.body["decision"]
                with self._lock:
                    self.decided[id] = name
                reply = line("POST", f"/v1/decisions/{id}/feedback", {"correct": rng.random() < 0.5})
                if reply.status == 200:
                    with self._lock:
                        if reply.body["status"] == "duplicate":
                            self.repeated.add(id)
                        else:
                            self.learnt[id] = reply.body["model_version"]
                        self.longest = max(self.longest, time.monotonic() - began)
                else:
                    self._count(reply.status)
            except (OSError, http.client.HTTPException):
                with self._lock:
                    self.lost += 1
                if line is not None:
                    line.close()
                line = None
                time.sleep(0.02)

    def _count(self, status: int) -> None:
        with self._lock:
            self.refused[status] = self.refused.get(status, 0) + 1
        time.sleep(0.02)


def kill(process: int, how: signal.Signals = signal.SIGKILL) -> None:
    os.kill(process, how)
