"""The write-ahead log is synced before anybody is answered: shown by the system calls of a real service.

Killing a process cannot show this (what was written and not synced survives it), so strace has to.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from service.bodies import MODELS, decision_body
from service.victims import Line

CALLS = "fsync,fdatasync,pwrite64,write,sendto,recvfrom"
#: What is in the reply to a feedback, and in the reply to a decision, as strace writes it.
TOLD = (r"\"status\":\"learnt\"", r"\"expires_at\":")
SERVE = """
import os, sys
from pathlib import Path
from smidgen.service.running import Options
from smidgen.service.server import serve
options = Options(Path(sys.argv[1]), synchronous=sys.argv[2])
serve(options, "127.0.0.1", 0, lambda url: print(url, os.getpid(), flush=True))
"""


def _reason() -> str | None:
    """Why strace cannot be used, or None."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-f", "-e", "trace=fsync", "true"], capture_output=True, text=True, check=False)
    return f"strace may not trace here: {tried.stderr.strip()}" if tried.returncode else None


REASON = _reason()
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")


@dataclass
class Traced:
    """What the system calls say about each decision and each acknowledged feedback.

    Attributes
    ----------
    answers
        Replies that acknowledge feedback, or tell a decision.
    unsynced
        Those of them that went out while something written to the log was not on the disk.
    unwritten
        Those of them before which nothing was written since the reply before.
    """

    answers: int = 0
    unsynced: list[str] = field(default_factory=list)
    unwritten: list[str] = field(default_factory=list)


def _finished(lines: Iterator[str]) -> Iterator[str]:
    """The calls in the order in which they ended; one that ran while others did is in two pieces.

    A write counts from its beginning (it may be on its way), a sync only from its end.
    """
    begun: dict[str, str] = {}
    for line in lines:
        thread, _, rest = line.partition(" ")
        rest = rest.strip()
        if rest.endswith("<unfinished ...>"):
            begun[thread] = rest.removesuffix("<unfinished ...>")
            if not rest.startswith(("fsync", "fdatasync")):
                yield rest
        elif rest.startswith("<..."):
            end = re.sub(r"^<\.\.\. \w+ resumed>", "", rest)
            if begun.get(thread, "").startswith(("fsync", "fdatasync")):
                yield begun[thread] + end
        else:
            yield rest


def read_trace(path: Path) -> Traced:
    found, dirty, written = Traced(), False, False
    for call in _finished(iter(path.read_text(errors="replace").splitlines())):
        if call.startswith(("pwrite64(", "write(")) and "smidgen.db-wal>" in call:
            dirty = written = True
        elif call.startswith(("fsync(", "fdatasync(")) and "smidgen.db-wal>" in call and call.endswith("= 0"):
            dirty = False
        elif call.startswith(("sendto(", "write(")) and any(told in call for told in TOLD):
            found.answers += 1
            if dirty:
                found.unsynced.append(call)
            if not written:
                found.unwritten.append(call)
            written = False
    return found


def traced_run(folder: Path, synchronous: str, rounds: int) -> Traced:
    """A service under strace that acknowledges some feedback, one at a time."""
    out = folder / "calls.txt"
    command = ["strace", "-f", "-y", "-s", "400", "-o", str(out), "-e", f"trace={CALLS}"]
    command += ["--seccomp-bpf"] if "seccomp-bpf" in _help() else []
    with subprocess.Popen(
        [*command, sys.executable, "-c", SERVE, str(folder / "data"), synchronous], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url, pid = process.stdout.readline().split()
        line = Line(url)
        try:
            _play(line, rounds)
        finally:
            line.close()
            os.kill(int(pid), signal.SIGTERM)  # to the service itself: strace would not hand it on
        assert process.wait(60) == 0
    return read_trace(out)


def _help() -> str:
    return subprocess.run(["strace", "--help"], capture_output=True, text=True, check=True).stdout


def _play(line: Line, rounds: int) -> None:
    rng = random.Random(0)
    assert line("PUT", "/v1/models/rank", MODELS["rank"])[0] == 201
    for _ in range(rounds):
        reply: dict[str, Any] = line("POST", "/v1/models/rank/decisions", decision_body("rank", rng))[1]
        clicked = {"clicked": [reply["ranking"][1]]}
        assert line("POST", f"/v1/decisions/{reply['decision']}/feedback", clicked)[1]["status"] == "learnt"


def test_the_log_is_synced_before_the_reply(tmp_path: Path) -> None:
    found = traced_run(tmp_path, "FULL", rounds=12)
    assert found == Traced(answers=2 * 12)


def test_the_same_check_fails_when_syncing_is_off(tmp_path: Path) -> None:
    found = traced_run(tmp_path, "OFF", rounds=3)
    assert (found.answers, len(found.unsynced), found.unwritten) == (6, 6, [])


def test_a_sync_that_ends_after_the_reply_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "calls.txt"
    written = "7 pwrite64(4</x/smidgen.db-wal>, ...) = 9\n"
    begun, ended = "8 fdatasync(4</x/smidgen.db-wal> <unfinished ...>\n", "8 <... fdatasync resumed>) = 0\n"
    reply = '7 sendto(5<TCP:[1]>, "HTTP/1.1 200 OK\\r\\n{\\"status\\":\\"learnt\\"}", 9, 0, NULL, 0) = 9\n'
    path.write_text(written + begun + ended + reply)
    assert read_trace(path) == Traced(answers=1)
    path.write_text(written + begun + reply + ended)
    assert len(read_trace(path).unsynced) == 1
    path.write_text(begun + ended + reply)
    assert len(read_trace(path).unwritten) == 1
