"""Is it alive? Asks /healthz again and again from a process of its own, and measures how long an answer takes.

A machine that is busy with something else delays every process. How much is measured next to it, by how long a little
work takes that needs a known time of the processor, and set off: what counts is the time that the service itself used.
"""

from __future__ import annotations

import json
import subprocess
import sys
from types import TracebackType
from typing import Self

_CODE = """
import http.client, json, os, sys, threading, time
port, pid = int(sys.argv[1]), sys.argv[2]
silent, used, slow, answers, begun = 0.0, 0.0, 1.0, 0, False
ticks = os.sysconf("SC_CLK_TCK")

def processor():
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / ticks
    except OSError:
        return 0.0

def ask():
    caller = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    caller.request("GET", "/healthz")
    answer = caller.getresponse()
    answer.read()
    caller.close()
    return answer.status == 200

def work():
    at, own = time.monotonic(), time.process_time()
    while time.process_time() - own < 0.03:
        pass
    return (time.monotonic() - at) / 0.03

ends = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ends.set()), daemon=True).start()
for count in range(10**9):
    if ends.is_set():
        break
    at, before = time.monotonic(), processor()
    try:
        alive = ask()
    except OSError:
        alive = False
    now = time.monotonic()
    if begun and (now - at if alive else 60.0) > silent:
        silent, used = now - at if alive else 60.0, processor() - before
    if alive and not begun:
        begun = True
        print("alive", flush=True)
    answers += alive
    time.sleep(0.02)
    if begun and count % 10 == 0:
        slow = max(slow, work())
print(json.dumps({"silent": silent, "used": used, "slow": slow, "answers": answers}), flush=True)
"""


class Pulse:
    """Feels the pulse of the service at a port from its first answer until the end of the block.

    Attributes
    ----------
    silent
        The longest wait for an answer, in seconds; a minute if one failed.
    used
        How many seconds of the processor the service used during that.
    slow
        How many times longer than alone a little work took on this machine, at worst.
    answers
        How often it answered.
    """

    silent: float
    used: float
    slow: float
    answers: int

    def __init__(self, port: int, pid: int) -> None:
        self._arguments = [str(port), str(pid)]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE, *self._arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "alive\n"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        out, _ = self._process.communicate("", timeout=120)
        found = json.loads(out)
        self.silent, self.used = found["silent"], found["used"]
        self.slow, self.answers = found["slow"], found["answers"]

    @property
    def steady(self) -> bool:
        """True if no gap was longer than half a second on an idle machine."""
        return self.silent <= 0.5 or (self.used <= 0.5 and self.silent <= self.slow)

    def __repr__(self) -> str:
        return f"silent {self.silent:.2f} s, at work {self.used:.2f} s of it; the machine {self.slow:.1f} times slow"
