"""Vowpal Wabbit as a daemon next to the service: requests, CPU, and what is left after ``kill -9``.

Its packages from PyPI bring the daemon inside the library: it listens on a plain socket, takes examples as lines of
text and answers with a line. It speaks no HTTP, has no ids, no log and no late feedback, and keeps what it learns in
memory until it is told to save or ends. So this says what those cost, not which of the two is better written.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.figures import Figure, figure
from benchmarks.load import Server, drive, running
from benchmarks.per_request import ASK, CANDIDATES, CLICK, MODEL, Side

_DAEMON = """
import sys, vowpalwabbit
made = vowpalwabbit.Workspace(
    "--daemon --foreground --num_children 1 --quiet --cb_explore_adf --port " + sys.argv[1] + " -f " + sys.argv[2]
)
made.run_parser()
"""
_ROWS = [" ".join(f"f{i}:{value}" for i, value in enumerate(each["features"]) if value) for each in CANDIDATES]
#: A question, and the same with what came of its answer; both end with an empty line.
_QUESTION = "".join(f"| {row}\n" for row in _ROWS).encode() + b"\n"
_LESSON = "".join(f"{'1:0.0:0.2 ' if i == 1 else ''}| {row}\n" for i, row in enumerate(_ROWS)).encode() + b"\n"


@contextmanager
def daemon(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int, Path]]:
    """Vowpal Wabbit's daemon: its process, its port, and the file that it would save to."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    file = folder / "vw.model"
    command = [sys.executable, "-c", _DAEMON, str(port), str(file)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)  # it has a child that learns
    try:
        yield process, port, file
    finally:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the daemon and its child at once."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _cpu(process: subprocess.Popen[bytes]) -> float:
    """Seconds of CPU of the daemon and its child."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
    return sum(Server("", int(pid)).cpu() for pid in (process.pid, *children))


def _connected(port: int) -> socket.socket:
    for _ in range(200):
        try:
            line = socket.create_connection(("127.0.0.1", port), timeout=30.0)
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return line
    raise RuntimeError("Vowpal Wabbit's daemon does not listen")


def _ask(line: socket.socket, request: bytes, count: int) -> int:
    """Send one after the other, each after the answer to the one before; how many were answered."""
    done = 0
    for _ in range(count):
        line.sendall(request)
        answer = b""
        while not answer.endswith(b"\n\n"):
            if not (part := line.recv(4096)):
                return done
            answer += part
        done += 1
    return done


def beside(folder: Path, count: int, rounds: int) -> Iterator[Figure]:
    """One caller, one request at a time, in turns; then both are killed."""
    spent: dict[str, list[float]] = {"question": [], "lesson": [], "decision": [], "feedback": []}
    rates: dict[str, list[float]] = {name: [] for name in spent}
    with daemon(folder) as (process, port, file), running(folder / "ours") as server:
        side, line = Side("now", server), _connected(port)
        side.ask("PUT", "/v1/models/load", MODEL)
        drive(server, side.feedback(100), 1, 60.0)
        for _ in range(rounds):
            for name, request in (("question", _QUESTION), ("lesson", _LESSON)):
                before, start = _cpu(process), time.perf_counter()
                _ask(line, request, count)
                rates[name].append(count / (time.perf_counter() - start))
                spent[name].append((_cpu(process) - before) / count * 1e6)
            jobs = {
                "decision": [server.post("/v1/models/load/decisions", ASK)] * count,
                "feedback": side.feedback(count),
            }
            for name, requests in jobs.items():
                before_ours = server.cpu()
                rates[name].append(drive(server, requests, 1, 600.0).per_second)
                spent[name].append((server.cpu() - before_ours) / count * 1e6)
        taught = count * rounds
        _kill(process)
        line.close()
        kept = taught if file.exists() else 0
    for name, what in (
        ("question", "Vowpal Wabbit's daemon, a question"),
        ("lesson", "Vowpal Wabbit's daemon, a lesson"),
        ("decision", "ours, a decision on the disk"),
        ("feedback", "ours, feedback on the disk"),
    ):
        yield figure(f"{what}, one caller", "requests/s", rates[name])
        yield figure(f"CPU for {what}, one caller", "µs", spent[name])
    yield figure(
        f"lost by kill -9, Vowpal Wabbit's daemon, of {taught:,} acknowledged", "lessons", [float(taught - kept)]
    )
    yield figure(f"lost by kill -9, ours, of {count:,} acknowledged", "feedbacks", [float(_lost(folder, count))])


def _lost(folder: Path, count: int) -> int:
    """Kill the service when so much feedback was acknowledged; how much is missing after a new start."""
    data = folder / "killed"
    with running(data) as server:
        side = Side("now", server)
        side.ask("PUT", "/v1/models/load", MODEL)
        ids = side.decided(count)
        drive(server, [server.post(f"/v1/decisions/{id}/feedback", CLICK) for id in ids], 16, 600.0)
        os.kill(server.pid, signal.SIGKILL)
    with running(data) as server:
        version: int = Side("now", server).ask("GET", "/v1/models/load", None)["model_version"]
    return count - version
