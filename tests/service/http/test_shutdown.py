"""SIGTERM while something takes long: callers are refused in words that programs know, and the log has no traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from service import live
from service.bodies import MODELS
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection

#: A service in which some work takes three seconds, and that waits one for its callers when it ends.
_SLOW = """
import sys, time
from smidgen.service.http import server
from smidgen.service.http import routes_models
from smidgen.service.http.resources import Options
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.lifecycle import ForgetHandler
from smidgen.service.engine.forgetting import LogWithoutKey
from smidgen.service.engine.writer import Writer
from smidgen.service.storage.address import parse_address

server.GRACE_S = 1


def queued(self, job, enter=Writer._enter):
    enter(self, job)
    print("queued", flush=True)


def slow(home, name):
    real, begun = getattr(home, name), []

    def act(*arguments, **named):
        Writer._enter = queued  # from now on
        if not begun:
            begun.append(True)
            print("begun", flush=True)
            time.sleep(3)
        return real(*arguments, **named)

    setattr(home, name, act)


what = {
    "command": (ForgetHandler, "handle"),
    "fold": (routes_models, "refold_without"),
    "event": (LogWithoutKey, "_apply"),
}
slow(*what[sys.argv[2]])
if sys.argv[2] == "event":  # what reads from a closed store has the time to say so

    def close(self, real=Engine.close):
        time.sleep(3)
        real(self)

    Engine.close = close
sys.exit(server.serve(Options(parse_address(sys.argv[1])), "127.0.0.1", 0, lambda url: print(url, flush=True)))
"""


class Slow:
    """The service, and what callers are answered that wait while it ends."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.url = self.said()
        self.answers: dict[str, httpx.Response] = {}
        self._callers: list[threading.Thread] = []

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def call(self, name: str, method: str, path: str, **options: Any) -> None:
        """Call in the background; the answer has this name."""

        def ask() -> None:
            self.answers[name] = httpx.request(method, self.url + path, timeout=60, **options)

        self._callers.append(threading.Thread(target=ask))
        self._callers[-1].start()

    def end(self) -> str:
        """End it, and wait until all are answered; what it wrote into its log."""
        self.process.send_signal(signal.SIGTERM)
        for caller in self._callers:
            caller.join(60)
        _, log = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, log
        return log


@contextmanager
def slow(data: Path, what: str) -> Iterator[Slow]:
    with subprocess.Popen(
        [sys.executable, "-c", _SLOW, live.where(data), what], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Slow(process)
        finally:
            process.kill()


def refused(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "busy"), answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["retry-after"] == "1"
    assert answer.json()["error"]["message"] == "the service is stopping, and the request was not finished in time"


@pytest.mark.parametrize("what", ["command", "fold"])
def test_a_forgetting_that_takes_long(what: str, tmp_path: Path) -> None:
    asked = {"candidates": [{"id": "a", "features": [1.0, 0.0, 0.5]}, {"id": "b", "features": [0.0, 1.0, 0.5]}]}
    with slow(tmp_path, what) as service:
        httpx.put(f"{service.url}v1/models/keyed", json=MODELS["keyed"]).raise_for_status()
        for key in ("ann", "bob"):
            httpx.post(f"{service.url}v1/models/keyed/decisions", json={**asked, "key": key}).raise_for_status()
        service.call("forget", "DELETE", "v1/models/keyed/keys/ann")
        assert service.said() == "begun"
        if what == "command":  # others wait for the same thread
            service.call("weights", "GET", "v1/models/keyed/weights?key=bob")
            service.call("decide", "POST", "v1/models/keyed/decisions", json={**asked, "key": "bob"})
            assert [service.said(), service.said()] == ["queued", "queued"]
        log = service.end()
    assert "Traceback" not in log, log
    assert "never retrieved" not in log, log
    refused(service.answers["forget"])
    if what == "command":
        refused(service.answers["weights"])
        decided = service.answers["decide"].status_code == 201  # if it was taken off its connection whole
        if not decided:
            refused(service.answers["decide"])
    else:
        decided = False
    engine = Engine(tmp_path)
    shard = engine.models["keyed"].shard
    known = engine.store.query("keys", shard, prefix="", limit=10)
    assert known == ([("bob",)] if what == "command" else [("ann",), ("bob",)])  # what had begun is done, or not at all
    assert engine.store.last_number(shard, "bob") == 1 + decided  # what was refused before it had begun is not done
    engine.close()
    with Inspection(tmp_path) as seen:
        assert [audit_model(seen, each).problems for each in seen.models()] == [[]]


def test_a_forgetting_that_reads_the_log_when_the_service_ends(tmp_path: Path) -> None:
    """The store is closed when nobody reads from it any more."""
    asked = {"candidates": [{"id": "a", "features": [1.0, 0.0, 0.5]}, {"id": "b", "features": [0.0, 1.0, 0.5]}]}
    with slow(tmp_path, "event") as service:
        httpx.put(f"{service.url}v1/models/m", json=MODELS["newcomers"]).raise_for_status()
        for key in ("ann", "bob", "cid"):
            made = httpx.post(f"{service.url}v1/models/m/decisions", json={**asked, "key": key}).json()
            httpx.post(f"{service.url}v1/decisions/{made['decision']}/feedback", json={"reward": 1}).raise_for_status()
        service.call("forget", "DELETE", "v1/models/m/keys/ann")
        assert service.said() == "begun"
        log = service.end()
    assert "Traceback" not in log, log
    assert "never retrieved" not in log, log
    refused(service.answers["forget"])
    engine = Engine(tmp_path)
    assert engine.store.query("keys", engine.models["m"].shard, prefix="", limit=10) == [("ann",), ("bob",), ("cid",)]
    engine.close()
