"""Services to be killed: real processes on one data folder, clients that write to them, and the bookkeeping."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from service import live
from service.bodies import MODELS, decision_body, reaction
from smidgen import serialization
from smidgen.decision import Decision
from smidgen.learners import Learner, saving
from smidgen.service.engine.blueprint import Blueprint
from smidgen.service.engine.engine import Engine
from smidgen.service.schemas import ModelBody

#: A plain model, one whose weights depend on the order of the log, one with a learner per key, and one whose keys begin
#: with what the others have learnt.
NAMES = ("rank", "tune", "keyed", "newcomers")
#: Few events between snapshots and few keys in memory, so that every crash point is passed often.
OPTIONS = {"snapshot_every": 10, "keyed_in_memory": 2}

#: The exit status of a service that does not start, or does not stop well, because of its disk.
REFUSED = 3

_NURSERY = """
import ctypes, importlib, json, os, sys, tempfile
from pathlib import Path
from service.bodies import engine_with, play
from smidgen.service.storage import crash_points
from smidgen.service.http.app import create_app
from smidgen.service.http.resources import Options
from smidgen.service.http.server import serve
from smidgen.service.errors import StorageFailed
from smidgen.service.storage import sqlite
from smidgen.service.storage.address import parse_address

connect = sqlite.connect

def checkpointing(pages):
    def connected(*given, **named):
        connection = connect(*given, **named)
        connection.execute(f"PRAGMA wal_autocheckpoint = {int(pages)}")
        return connection
    return connected

def announce(address):
    print("at", address, os.getpid(), flush=True)

with tempfile.TemporaryDirectory() as folder:  # compile and load what every child needs
    engine = engine_with(Path(folder), NAMES)
    play(engine, NAMES, 20, seed=0)
    engine.store.close()
    for name in sys.argv[1:]:
        importlib.import_module(name).prepare(Path(folder) / name)
    create_app(Options(parse_address(folder)))
print("ready", flush=True)
for line in sys.stdin:
    settings = json.loads(line)
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(settings["errors"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
        crash_points.arm(settings["crash_at"])
        if settings["checkpoint"]:
            sqlite.connect = checkpointing(settings["checkpoint"])
        if settings["disk"]:
            root, journal, control = (path.encode() for path in settings["disk"])
            assert ctypes.CDLL(None).smidgen_faults_arm(root, journal, control) == 0
        try:
            serve(Options(parse_address(settings["data"]), **settings["options"]), "127.0.0.1", 0, announce)
        except StorageFailed as error:
            print("refused:", error.problem, file=sys.stderr, flush=True)
            os._exit(REFUSED)
        os._exit(0)
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Refused(Exception):
    """The service did not start: its disk refused, or what is on it is not what was acknowledged."""


class Disk(NamedTuple):
    """The disk that a service sees through the shim: its folder, the journal of changes, the page of orders."""

    root: Path
    journal: Path
    control: Path


class Nursery:
    """A process that has everything imported and forks a service in milliseconds; one lives at a time.

    Parameters
    ----------
    preload
        A library that is loaded before all others (`service.faults.shim`).
    prepare
        Modules that know more of what the services will do, by a function of that name.
    """

    def __init__(self, preload: Path | None = None, prepare: Sequence[str] = ()) -> None:
        tests = str(Path(__file__).parents[1])
        path = os.pathsep.join([tests, *filter(None, [os.environ.get("PYTHONPATH")])])
        code = _NURSERY.replace("NAMES", repr(list(NAMES))).replace("REFUSED", str(REFUSED))
        loaded = {"LD_PRELOAD": str(preload)} if preload is not None else {}
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, *prepare],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, **loaded, "PYTHONPATH": path},
        )
        self._said("ready", 600)  # kernels may have to be compiled first

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def start(
        self, data: Path, crash_at: str = "", *, disk: Disk | None = None, checkpoint: int = 0, **options: Any
    ) -> Victim | None:
        """A service that answers, or None if it was killed before it could.

        Parameters
        ----------
        data
            The data folder.
        crash_at
            The named point at which it is killed.
        disk
            What it sees of its disk; the real one if left out.
        checkpoint
            After how many pages the log is copied into the database; SQLite's own number, if 0.
        options
            For `smidgen.service.http.resources.Options`.
        """
        assert self._process.stdin is not None
        errors = (disk.journal if disk is not None else data).parent / "errors.txt"
        fields = {"data": live.where(data), "crash_at": crash_at, "errors": str(errors), "options": options}
        fields |= {"disk": [str(each) for each in disk] if disk is not None else None, "checkpoint": checkpoint}
        self._process.stdin.write(json.dumps(fields) + "\n")
        first, *rest = self._line()
        if first == "ended":
            if int(rest[0]) == REFUSED:
                raise Refused(errors.read_text().splitlines()[-1])
            assert int(rest[0]) == -signal.SIGKILL, errors.read_text()
            return None
        assert first == "at"
        return Victim(rest[0], int(rest[1]), lambda: int(self._said("ended")[0]))

    def _said(self, what: str, seconds: float = 60) -> list[str]:
        first, *rest = self._line(seconds)
        assert first == what, first
        return rest

    def _line(self, seconds: float = 60) -> list[str]:
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], seconds)
        assert readable, "the service neither answers nor ends"
        line = self._process.stdout.readline()
        assert line, "the nursery has ended"
        return line.split()


class Victim:
    """A running service."""

    def __init__(self, url: str, pid: int, ended: Callable[[], int]) -> None:
        self.url = url
        self.pid = pid
        self._ended = ended

    @property
    def alive(self) -> bool:
        """True if the process has not ended."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        """Send the signal that nobody can refuse; nothing, if it is gone already."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def end(self, number: signal.Signals | None) -> int:
        """Send a signal, if any, and wait for the end; gives the exit code (-9 if it was killed)."""
        if number is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
        return self._ended()


class Line:
    """A connection that speaks JSON."""

    def __init__(self, url: str, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, {"content-type": "application/json"})
        answer = self._connection.getresponse()
        raw = answer.read()
        self.headers = answer.headers
        return answer.status, raw if "ndjson" in (answer.headers["content-type"] or "") else json.loads(raw)

    def close(self) -> None:
        self._connection.close()


class Writer:
    """A client that goes on where it was cut off: what it did not hear of, it sends again, with the same ids."""

    def __init__(self, number: int, seed: int) -> None:
        self._rng = random.Random(seed * 1000 + number)
        self.number = number
        self._count = 0
        self._asking: tuple[str, dict[str, Any]] | None = None
        self._telling: tuple[str, str, dict[str, Any]] | None = None
        self.created: set[str] = set()  # models
        self.made: dict[str, tuple[str, dict[str, Any]]] = {}  # decision: model, reply
        self.sent: dict[str, tuple[str, dict[str, Any]]] = {}  # decision: model, feedback
        self.learnt: dict[str, int] = {}  # decision: version, as the service acknowledged it
        self.late: set[str] = set()  # decisions whose feedback was acknowledged as late
        self.repeated = 0  # acknowledged after a crash as known already

    def work(self, url: str, *, until_idle: bool = False) -> None:
        """Write until the service is gone, or until nothing is open."""
        line = Line(url)
        try:
            while not (until_idle and self._asking is None and self._telling is None):
                self._step(line)
        except (OSError, http.client.HTTPException):
            return
        finally:
            line.close()

    def _step(self, line: Line) -> None:
        if self._telling is not None:
            model, id, feedback = self._telling
            self.sent[id] = (model, feedback)
            status, reply = line("POST", f"/v1/decisions/{id}/feedback", feedback)
            assert (status, set(reply)) == (200, {"status", "model_version"}), reply
            if reply["status"] == "learnt":
                self.learnt[id] = reply["model_version"]
            else:
                assert reply["status"] == "duplicate"
                self.repeated += 1
                self.learnt[id] = 0  # acknowledged, but nobody received the version
            self._telling = None
            return
        if self._asking is None:
            self._begin()
        assert self._asking is not None
        name, body = self._asking
        status, reply = line("POST", f"/v1/models/{name}/decisions", body)
        assert status == 201, reply
        self._note_reply(name, reply)

    def _begin(self) -> None:
        """Think of the next request."""
        self._count += 1
        name = self._rng.choice(NAMES)
        self._asking = (name, {"id": f"{self.number}-{self._count}", **decision_body(name, self._rng)})

    def _note_reply(self, name: str, reply: dict[str, Any]) -> None:
        """Book a decision, and think of what to say to it."""
        self.made[reply["decision"]] = (name, reply)
        self._asking = None
        feedback = reaction(name, reply, self._rng)
        assert feedback is not None
        if self._rng.random() < 0.8:
            self._telling = (name, reply["decision"], feedback)


def create_models(url: str) -> None:
    line = Line(url)
    for name in NAMES:
        assert line("PUT", f"/v1/models/{name}", MODELS[name])[0] in (200, 201)
    line.close()


def all_work(writers: Sequence[Writer], url: str, meanwhile: Callable[[], None], *, until_idle: bool = False) -> None:
    """All writers at once, each in a thread."""
    failed: list[BaseException] = []

    def work(writer: Writer) -> None:
        try:
            writer.work(url, until_idle=until_idle)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    meanwhile()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if failed:
        raise failed[0]


def fold(log: list[dict[str, Any]]) -> dict[str | None, bytes]:
    """States of an uninterrupted run of the log, by key."""
    blueprint = Blueprint(msgspec.convert(log[0]["model"], ModelBody))
    learners: dict[str | None, Learner] = {}
    shown: dict[str, Decision] = {}
    for event in log:
        if event["type"] == "decision":
            learner = learners.setdefault(event["key"], blueprint.learner(event["key"]))
            if (start := (event.get("shared") or {}).get("start")) is not None:
                learner.start_from(saving.read_start(base64.b64decode(start), learner.start()))
            learner.reserve(event["number"])
            shown[event["decision"]] = Decision.from_json(msgspec.json.encode(event["record"]))
        elif event["type"] == "feedback" and event["status"] == "learnt":
            learners[event["key"]].learn(shown[event["decision"]], serialization.unpack(event["learn"]))
    return {key: learner.to_bytes() for key, learner in learners.items()}


def check_folder(data: Path, copy: Path, writers: Sequence[Writer]) -> int:
    """Everything that was acknowledged is there once, and what the service recovers is what the log leads to.

    Works on a copy, so that the next service meets the folder as the crash left it. Gives the number of events.
    """
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(data, copy)
    return check_here(copy, writers)


def check_here(data: Path, writers: Sequence[Writer], *, strange: bool = False) -> int:
    """Check the folder itself, with no service on it; ``strange`` feedback may be of unknown senders."""
    engine = Engine(data, synchronous="OFF", keyed_in_memory=2)
    try:
        for writer in writers:
            owed = writer.created | {where for where, _ in writer.made.values()}
            assert owed <= engine.models.keys(), "a model was acknowledged and is lost"
        return sum(_check_model(engine, name, writers, strange) for name in NAMES if name in engine.models)
    finally:
        engine.store.close()


def _check_model(engine: Engine, name: str, writers: Sequence[Writer], strange: bool) -> int:
    model = engine.models[name]
    log = [msgspec.json.decode(line) for line in engine.events.all_lines(model)]
    assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
    assert model.seq == len(log)
    made = {event["decision"]: event["reply"] for event in log if event["type"] == "decision"}
    assert len(made) == model.decisions == sum(event["type"] == "decision" for event in log)
    answered = [event for event in log if event["type"] == "feedback"]
    reported = {event["decision"]: event for event in answered}
    assert len(reported) == len(answered), "one feedback was applied twice"
    learnt = [event["model_version"] for event in answered if event["status"] == "learnt"]
    assert learnt == list(range(1, model.version + 1))
    assert len(answered) - len(learnt) == model.late
    for writer in writers:
        for id, (where, reply) in writer.made.items():
            assert where != name or made.get(id) == reply, f"decision {id} was acknowledged and is lost"
        for id, version in writer.learnt.items():
            if writer.sent[id][0] == name:
                assert id in reported, f"feedback on {id} was acknowledged and is lost"
                assert version in (0, reported[id]["model_version"])
        for id in writer.late:
            if writer.sent[id][0] == name:
                assert id in reported, f"late feedback on {id} was acknowledged and is lost"
                assert reported[id]["status"] == "late", f"feedback on {id} was late and has been learnt"
    sent = {id: body for writer in writers for id, (where, body) in writer.sent.items() if where == name}
    found = {id: event["feedback"] for id, event in reported.items()}
    assert strange or found.items() <= sent.items(), "feedback that nobody sent"
    led_to = fold(log)
    recovered = {key: engine.learners.get(model, key).learner.to_bytes() for key in led_to}
    assert recovered == led_to, f"the weights of {name} are not what the log leads to"
    return len(log)
