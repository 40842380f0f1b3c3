"""Workers behind one socket: who listens when."""

from __future__ import annotations

import errno
import subprocess
import sys

import pytest

_SCRIPT = """
import os, signal, sys, time
from smidgen.service.http.supervisor import Supervisor


def work(number, wait, able):
    if wait is None:
        time.sleep(0.3)
        if sys.argv[1] == "dies":
            print("the first is gone", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        print("the first can decide", flush=True)
        able()
    else:
        wait()
        print("another listens", flush=True)
        able()
    signal.sigwait({signal.SIGTERM})


sys.exit(Supervisor(work, 2, lambda: os.kill(os.getpid(), signal.SIGTERM)).run() or 0)
"""


@pytest.mark.parametrize(("fate", "said"), [("lives", "the first can decide"), ("dies", "the first is gone")])
def test_nobody_listens_beside_one_that_cannot_decide_yet(fate: str, said: str) -> None:
    run = subprocess.run([sys.executable, "-c", _SCRIPT, fate], capture_output=True, text=True, timeout=60, check=False)
    first, *others = run.stdout.splitlines()
    assert (run.returncode, first) == (0, said), run.stderr
    assert others == ["another listens"] * (1 if fate == "lives" else 2)


_SLOW = """
import os, signal, socket, sys, time
from smidgen.service.http.supervisor import Supervisor

listener = socket.create_server(("127.0.0.1", 0))


def work(number, wait, able):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    able()
    signal.sigwait({signal.SIGTERM})
    listener.close()
    if number == 0:
        time.sleep(0.5)  # both have closed it, and one still finishes what it had begun
        print(socket.socket().connect_ex(("127.0.0.1", int(os.environ["PORT"]))), flush=True)


os.environ["PORT"] = str(listener.getsockname()[1])
sys.exit(Supervisor(work, 2, lambda: os.kill(os.getpid(), signal.SIGTERM), listener.close).run() or 0)
"""


def test_who_comes_while_workers_end_is_refused_at_once() -> None:
    run = subprocess.run([sys.executable, "-c", _SLOW], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stdout.strip()) == (0, str(errno.ECONNREFUSED)), run.stderr
