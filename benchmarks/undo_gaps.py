"""How long others wait while the past of a large model is worked on: ``python -m benchmarks.undo_gaps [EVENTS]``.

A model with so many events goes back, or is folded into a base, while decisions and feedback of another model and of
the same one flow; the longest time without an answer is what counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import httpx
import msgspec

from smidgen.service.engine.engine import Engine
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import ModelBody

BODY = {"loop": "label", "learner": "Confidit", "features": ["x", "y", "z"], "labels": ["a", "b", "c"]}
ROWS = 500


def prepare(folder: Path, events: int) -> None:
    """A large model, a small one, and one with a key that has many events."""
    engine = Engine(folder, snapshot_every=1 << 40)
    for name in ("large", "small"):
        engine.create(name, msgspec.convert(BODY, ModelBody))
    engine.create("people", msgspec.convert({**BODY, "keyed": True}, ModelBody))
    for name, count in (("large", events // 2), ("people", events // 20)):
        for first in range(0, count, ROWS):
            engine.begin()
            rows = [
                {"features": [i % 7, i % 3, 1.0], "key": "ann" if name == "people" else None}
                for i in range(first, first + ROWS)
            ]
            asked = [msgspec.convert({k: v for k, v in row.items() if v is not None}, loops.decision) for row in rows]
            made = engine.decide_all(name, asked)
            for i, reply in enumerate(made):
                engine.feedback(reply["decision"], loops.feedback(correct=i % 2 == 0))
            engine.commit()
    engine.store.close()


class Flow(threading.Thread):
    """A client that decides and tells, again and again, and knows how long it waited at most."""

    def __init__(self, url: str, model: str) -> None:
        super().__init__(daemon=True)
        self.model, self._url = model, url
        self.waits: list[tuple[float, float]] = []
        self._ending = threading.Event()

    def run(self) -> None:
        """Until it is told to end."""
        with httpx.Client(base_url=self._url, timeout=120) as client:
            while not self._ending.is_set():
                made = self._timed(
                    lambda: client.post(f"/v1/models/{self.model}/decisions", json={"features": [1, 2, 3]})
                )
                path = f"/v1/decisions/{made.json()['decision']}/feedback"
                self._timed(partial(client.post, path, json={"correct": True}))

    def _timed(self, call: Callable[[], httpx.Response]) -> httpx.Response:
        began = time.perf_counter()
        answer = call()
        answer.raise_for_status()
        self.waits.append((began, time.perf_counter() - began))
        return answer

    def end(self) -> None:
        """Stop."""
        self._ending.set()
        self.join()

    def longest(self, first: float, last: float) -> float:
        """The longest wait of a call that was under way between two moments."""
        return max((wait for began, wait in self.waits if began + wait >= first and began <= last), default=0.0)


def measure(url: str, what: str, call: Callable[[httpx.Client], httpx.Response]) -> None:
    """One piece of work on the past, with others at work next to it."""
    flows = [Flow(url, "small"), Flow(url, "large")]
    for flow in flows:
        flow.start()
    time.sleep(2.0)
    first = time.perf_counter()
    usual = [flow.longest(first - 1.5, first) for flow in flows]
    seen: set[int] = set()
    watching = threading.Event()

    def look() -> None:
        with httpx.Client(base_url=url, timeout=60) as client:
            while not watching.wait(0.1):
                with suppress(httpx.HTTPError):
                    work = client.get(f"/v1/models/{'people' if what == 'forget' else 'large'}").json()["undoing"]
                    seen.update([work["done"]] if work else [])

    watcher = threading.Thread(target=look)
    watcher.start()
    with httpx.Client(base_url=url, timeout=600) as client:
        answer = call(client)
    last = time.perf_counter()
    watching.set()
    watcher.join()
    time.sleep(3.0)  # what is erased after the answer counts too
    end = time.perf_counter()
    for flow in flows:
        flow.end()
    waits = [flow.longest(first, end) for flow in flows]
    print(
        f"{what}: {answer.status_code} in {last - first:.2f} s, {len(seen)} steps of progress seen; longest wait"
        f" {waits[0] * 1e3:.0f} ms of another model and {waits[1] * 1e3:.0f} ms of the same"
        f" (before: {usual[0] * 1e3:.0f} and {usual[1] * 1e3:.0f})",
        json.dumps(answer.json()),
    )


def main() -> None:
    """Prepare, serve, measure."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as place:
        prepare(Path(place), events)
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "smidgen",
                "serve",
                "--port",
                "0",
                "--data",
                place,
                "--snapshot-every",
                "1000000000",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[3]
            measure(
                url, "rollback", lambda client: client.post("/v1/models/large:rollback", json={"version": events // 4})
            )
            measure(url, "forget", lambda client: client.delete("/v1/models/people/keys/ann"))
            measure(url, "retain", lambda client: client.post("/v1/models/large:retain", json={"older_than_s": 1}))
        finally:
            process.terminate()
            process.wait(60)


if __name__ == "__main__":
    main()
