"""Work in other processes: the same answers everywhere, errors that arrive, nothing that stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from smidgen.errors import InvalidArgument, SmidgenError
from smidgen.jobs import Task, WorkFailed, answers, backend


def tasks(count: int) -> list[Task]:
    return [Task("jobs.made_up:double", {"n": n, "pid": os.getpid()}) for n in range(count)]


@pytest.fixture(autouse=True)
def _found_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers find the tests' modules."""
    here = str(Path(__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])]))


@pytest.mark.parametrize(("jobs", "where"), [(1, "here"), (2, "elsewhere"), (9, "elsewhere")])
def test_answers_come_in_the_order_of_the_tasks(jobs: int, where: str) -> None:
    at: list[int] = []
    found = answers(backend("processes", jobs), tasks(5), at.append)
    assert found == [f"{2 * n} {where}".encode() for n in range(5)]
    assert at == sorted(at)
    assert at[-1] == 10


def test_no_tasks_no_answers() -> None:
    assert answers(backend("processes", 2), []) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_refusal_arrives_as_it_was(jobs: int) -> None:
    with pytest.raises(InvalidArgument, match="n is odd; give an even one"):
        answers(backend("processes", jobs), [*tasks(1), Task("jobs.made_up:refused", {})])


def test_a_failure_says_what_failed(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WorkFailed, match="ZeroDivisionError: nothing is left"):
        answers(backend("processes", 2), [Task("jobs.made_up:broken", {})])
    assert "in broken" in capfd.readouterr().err


def test_a_process_that_dies_is_noticed() -> None:
    with pytest.raises(WorkFailed, match="has died"):
        answers(backend("processes", 2), [Task("jobs.made_up:gone", {})])


def test_a_function_that_is_not_there() -> None:
    with pytest.raises(SmidgenError, match="no function"):
        answers(backend("processes", 2), [Task("jobs.made_up:nothing", {})])


@pytest.mark.parametrize(("name", "jobs"), [("threads", 1), ("processes", 0)])
def test_what_makes_no_sense_is_refused(name: str, jobs: int) -> None:
    with pytest.raises(InvalidArgument):
        backend(name, jobs)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_the_one_who_asked(tmp_path: Path, how: signal.Signals) -> None:
    code = (
        "from smidgen.jobs import *\n"
        f"answers(backend('processes', 2), [Task('jobs.made_up:endless', {{'folder': {str(tmp_path)!r}}})] * 2)"
    )
    asking = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    try:
        assert _until(lambda: len(list(tmp_path.iterdir())) == 2)
        asking.send_signal(how)
        asking.wait(20)
        assert _until(lambda: not any(_lives(int(each.name)) for each in tmp_path.iterdir()))
    finally:
        asking.kill()
        asking.wait()


def _until(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return False


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:1]
