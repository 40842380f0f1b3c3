"""Ray, closed: the same answers, and nothing of it can be reached from elsewhere."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from smidgen.errors import InvalidArgument
from smidgen.jobs import Task, WorkFailed, answers, backend
from smidgen.jobs import ray as on_ray
from smidgen.jobs.ray import beyond_loopback

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: make test-ray")
TESTS = str(Path(__file__).parents[1])


@pytest.fixture(autouse=True)
def _found_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers find the tests' modules; no cluster is named."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([TESTS, *filter(None, [os.environ.get("PYTHONPATH")])]))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


SCRIPT = """
import os
from smidgen.jobs import Task, answers, backend
from smidgen.errors import InvalidArgument

tasks = [Task("jobs.made_up:double", {"n": n, "pid": os.getpid()}) for n in range(3)]
tasks.append(Task("jobs.made_up:family", {"pid": os.getpid()}))
at = []
*found, listening = answers(backend("ray", 2), tasks, at.append)
print(found == [f"{2 * n} elsewhere".encode() for n in range(3)], max(at), repr(listening))
try:
    answers(backend("ray", 1), [Task("jobs.made_up:refused", {})])
except InvalidArgument as error:
    print(error)
print(os.environ.get("RAY_AUTH_TOKEN"))
"""


def test_answers_are_the_same_and_nothing_listens_beyond_loopback() -> None:
    """In a process of its own, since Ray reads its settings when it is imported."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line in ("None",) or re.match("True|False|n is odd", line)]
    assert lines == ["True 6 b''", "n is odd; give an even one", "None"]


def test_one_that_listens_further_is_ended_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ray:
        __version__ = "0"
        ended = False

        def init(self, **settings: object) -> None:
            assert settings["_node_ip_address"] == "127.0.0.1"
            assert settings["include_dashboard"] is False

        def shutdown(self) -> None:
            self.ended = True

    ray = Ray()
    monkeypatch.setattr(on_ray, "_ray", lambda: ray)
    with socket.create_server(("0.0.0.0", 0)) as server:
        assert f"0.0.0.0:{server.getsockname()[1]}" in beyond_loopback()
        with pytest.raises(WorkFailed, match=r"listens on 0\.0\.0\.0"):
            answers(backend("ray", 1), [Task("jobs.made_up:double", {"n": 1, "pid": 0})])
    assert ray.ended


def test_a_cluster_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ray:
        def init(self, **settings: object) -> None:
            raise ConnectionError(settings["address"])

    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    monkeypatch.setattr(on_ray, "_ray", Ray)
    with pytest.raises(InvalidArgument, match="no Ray cluster at RAY_ADDRESS=127"):
        answers(backend("ray", 1), [Task("jobs.made_up:double", {"n": 1, "pid": 0})])
