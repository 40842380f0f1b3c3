"""How long others wait while one large request is worked on: ``python -m benchmarks.large_requests [--against PATH]``.

One caller asks for decisions of a small model, again and again, while another sends a call that is as large as calls
may be. What counts is the longest wait, and how much CPU the service used in it: on a machine that others keep busy
the clock says little.
"""

from __future__ import annotations

import argparse
import http.client
import json
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.load import Server, running
from benchmarks.per_request import CANDIDATES, MODEL

MODELS = {
    "small": MODEL,
    "rank": MODEL,
    "label": {"loop": "label", "labels": ["a", "b", "c"], "params": {"dim": 5}},
    "records": {"loop": "label", "labels": ["a", "b", "c"]},
    "choose": {"loop": "choose"},
}
ASK = json.dumps({"candidates": CANDIDATES})


def ask(server: Server, path: str, body: object, method: str = "POST") -> Any:
    """One request."""
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120.0)
    line.request(
        method, path, body if isinstance(body, str) else json.dumps(body), {"content-type": "application/json"}
    )
    answer = line.getresponse()
    text = answer.read()
    line.close()
    if answer.status not in (200, 201):
        raise RuntimeError(f"{path}: {answer.status} {text[:500].decode()}")
    return json.loads(text)


def large(server: Server, rng: np.random.Generator) -> dict[str, tuple[str, Callable[[], object]]]:
    """Calls, each with its path and what makes its body; all names of records are new."""

    def names(count: int) -> dict[str, str]:
        return {f"field {i}": f"{value:x}" for i, value in enumerate(rng.integers(1 << 60, size=count).tolist())}

    def clicks() -> object:
        asked = {"decisions": [{"candidates": CANDIDATES}] * 10_000}
        made = ask(server, "/v1/models/rank/decisions:batch", asked)["decisions"]
        return {"feedback": [{"decision": each["decision"], "clicked": ["d1"]} for each in made]}

    batch, rows = "/v1/models/{}/decisions:batch", [[0.1, 0.2, 0.3, 0.4, 0.5]] * 10_000
    return {
        "a choice among 39 records, 39,000 new names": (
            "/v1/models/choose/decisions",
            lambda: {"candidates": [{"id": str(i), "features": names(999)} for i in range(39)]},
        ),
        "3,900 records of ten new names": (
            batch.format("records"),
            lambda: {"decisions": [{"features": names(10)} for _ in range(3_900)]},
        ),
        "3,900 rankings, 5 × 5": (batch.format("rank"), lambda: {"decisions": [{"candidates": CANDIDATES}] * 3_900}),
        "10,000 rankings, 5 × 5": (batch.format("rank"), lambda: {"decisions": [{"candidates": CANDIDATES}] * 10_000}),
        "10,000 labels of 5 numbers": (
            batch.format("label"),
            lambda: {"decisions": [{"features": row} for row in rows]},
        ),
        "10,000 feedbacks": ("/v1/feedback:batch", clicks),
    }


def waits(server: Server, path: str, body: str) -> tuple[float, float]:
    """The longest wait of the other caller, and the most CPU that the service used in one of them."""
    found, ends = [], threading.Event()

    def call() -> None:
        while not ends.is_set():
            cpu, begun = server.cpu(), time.perf_counter()
            ask(server, "/v1/models/small/decisions", ASK)
            found.append((time.perf_counter() - begun, server.cpu() - cpu))
            time.sleep(0.002)

    other = threading.Thread(target=call)
    other.start()
    time.sleep(0.1)
    ask(server, path, body)
    ends.set()
    other.join()
    return max(wait for wait, _ in found), max(cpu for _, cpu in found)


def main() -> None:
    """Print the waits, of this version and of another one in turns."""
    parser = argparse.ArgumentParser(prog="benchmarks.large_requests", description=__doc__)
    parser.add_argument("--against", type=Path, help="the root of another version's source")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    sources = {"now": None, **({} if given.against is None else {"before": given.against})}
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for _ in range(given.rounds):
        for name, source in sources.items():
            with tempfile.TemporaryDirectory() as folder, running(Path(folder), source=source) as server:
                for model, settings in MODELS.items():
                    ask(server, f"/v1/models/{model}", settings, "PUT")
                for what, (path, body) in large(server, np.random.default_rng(0)).items():
                    found.setdefault((what, name), []).append(waits(server, path, json.dumps(body())))
    for (what, name), seen in found.items():
        wait, cpu = (np.median(each) for each in zip(*seen, strict=True))
        least, most = min(seen)[0], max(seen)[0]
        print(f"{what:48} {name:7} waited {wait:.2f} s ({least:.2f} to {most:.2f}), CPU in a wait {cpu:.2f} s")


if __name__ == "__main__":
    main()
