"""Is it alive? Asks /healthz again and again from a process of its own, and measures how long an answer takes.

A machine that is busy with something else delays every process; how much is measured beside it, by how late the process
wakes up from short sleeps, and set off.
"""

from __future__ import annotations

import json
import subprocess
import sys
from types import TracebackType
from typing import Self

_CODE = """
import http.client, json, sys, threading, time
port, silent, noise, answers, begun = int(sys.argv[1]), 0.0, 0.0, 0, False

def ask():
    caller = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    caller.request("GET", "/healthz")
    answer = caller.getresponse()
    answer.read()
    caller.close()
    return answer.status == 200

ends = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ends.set()), daemon=True).start()
while not ends.is_set():
    at = time.monotonic()
    try:
        alive = ask()
    except OSError:
        alive = False
    now = time.monotonic()
    if begun:
        silent = max(silent, now - at if alive else 60.0)
    if alive and not begun:
        begun = True
        print("alive", flush=True)
    answers += alive
    at = time.monotonic()
    time.sleep(0.02)
    noise = max(noise, time.monotonic() - at - 0.02)
print(json.dumps({"silent": silent, "noise": noise, "answers": answers}), flush=True)
"""


class Pulse:
    """Feels the pulse of the service at a port from its first answer until the end of the block.

    Attributes
    ----------
    silent
        The longest wait for an answer, in seconds; a minute if one failed.
    noise
        How late this machine woke a sleeper at worst: what no service can answer for.
    answers
        How often it answered.
    """

    silent: float
    noise: float
    answers: int

    def __init__(self, port: int) -> None:
        self._port = port

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE, str(self._port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "alive\n"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        out, _ = self._process.communicate("", timeout=120)
        told = json.loads(out)
        self.silent, self.noise, self.answers = told["silent"], told["noise"], told["answers"]

    @property
    def steady(self) -> bool:
        """Whether it was never silent for more than half a second, beyond what the machine itself was."""
        return self.silent <= 0.5 + 5 * self.noise
