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
from service.killable_services import Line

CALLS = "fsync,fdatasync,pwrite64,write,sendto"
#: In the log's pages: what a click was on, which names the feedback that made a version; see `_play`.
CLICK = re.compile(rb"clicked\x91.click-(\d+)!", re.DOTALL)
#: In the replies: the id of a decision, and the version that feedback made.
MADE = re.compile(rb'"decision":"([0-9a-f]{24})","model":"[^"]*","model_version"')
LEARNT = re.compile(rb'"status":"learnt","model_version":(\d+)\}')
SERVE = """
import os, sys
from pathlib import Path
from smidgen.service.http.resources import Options
from smidgen.service.http.server import serve
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
    """System calls for each decision and each acknowledged feedback.

    Attributes
    ----------
    answers
        Replies that acknowledge feedback, or tell a decision.
    unsynced
        What was acknowledged in those of them that went out before it was written and synced.
    """

    answers: int = 0
    unsynced: list[str] = field(default_factory=list)


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


def _content(call: str) -> bytes:
    """The bytes that a call wrote; strace shows them as ``\\xNN``."""
    return bytes.fromhex("".join(re.findall(r"\\x([0-9a-f]{2})", call)))


def read_trace(path: Path) -> Traced:
    """Follow each decision's id and each learnt version from the write to the log, over the sync, to the reply."""
    found = Traced()
    written, synced, clicks = b"", b"", set()
    for call in _finished(iter(path.read_text(errors="replace").splitlines())):
        log = b"smidgen.db-wal" in _content(call) or "smidgen.db-wal>" in call  # strace may write paths so too
        if log and call.startswith(("pwrite64(", "write(")):
            written += _content(call)
        elif log and call.startswith(("fsync(", "fdatasync(")) and call.endswith("= 0"):
            synced += written
            clicks |= {int(number) for number in CLICK.findall(written)}
            written = b""
        elif call.startswith(("sendto(", "write(")):
            said = _content(call)
            made, versions = MADE.findall(said), LEARNT.findall(said)
            found.answers += len(made) + len(versions)
            found.unsynced += [id.decode() for id in made if bytes.fromhex(id.decode()) not in synced]
            found.unsynced += [f"version {version.decode()}" for version in versions if int(version) not in clicks]
    return found


def traced_run(folder: Path, synchronous: str, rounds: int) -> Traced:
    """A service under strace that acknowledges some feedback, one at a time."""
    out = folder / "calls.txt"
    command = ["strace", "-f", "-y", "-xx", "-s", "8192", "-o", str(out), "-e", f"trace={CALLS}"]
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
    """The n-th click is on the candidate ``click-n!``, and makes version n."""
    rng = random.Random(0)
    assert line("PUT", "/v1/models/rank", MODELS["rank"])[0] == 201
    for version in range(1, rounds + 1):
        body = decision_body("rank", rng)
        body["candidates"][0]["id"] = f"click-{version}!"
        reply: dict[str, Any] = line("POST", "/v1/models/rank/decisions", body)[1]
        clicked = {"clicked": [f"click-{version}!"]}
        assert line("POST", f"/v1/decisions/{reply['decision']}/feedback", clicked)[1]["status"] == "learnt"


def test_the_log_is_synced_before_the_reply(tmp_path: Path) -> None:
    found = traced_run(tmp_path, "FULL", rounds=12)
    assert found == Traced(answers=2 * 12)


def test_the_same_check_fails_when_syncing_is_off(tmp_path: Path) -> None:
    found = traced_run(tmp_path, "OFF", rounds=3)
    assert (found.answers, len(found.unsynced)) == (6, 6)


def shown(content: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in content)


def test_a_sync_that_ends_after_the_reply_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "calls.txt"
    page = shown(b"\0clicked\x91\xa8click-3!")
    written = f'7 pwrite64(4</x/smidgen.db-wal>, "{page}", 9, 0) = 9\n'
    begun, ended = "8 fdatasync(4</x/smidgen.db-wal> <unfinished ...>\n", "8 <... fdatasync resumed>) = 0\n"
    said = shown(b'{"status":"learnt","model_version":3}')
    reply = f'7 sendto(5<TCP:[1]>, "{said}", 9, 0, NULL, 0) = 9\n'
    path.write_text(written + begun + ended + reply)
    assert read_trace(path) == Traced(answers=1)
    for order in (
        written + begun + reply + ended,
        begun + ended + written + reply,
        begun + ended + reply + written,
        reply + written + begun + ended,
        written.replace(shown(b"3!"), shown(b"2!")) + begun + ended + reply,
    ):
        path.write_text(order)
        assert len(read_trace(path).unsynced) == 1
