"""Workers behind one socket: who listens when."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
import time

import pytest

_SCRIPT = """
import os, signal, sys, time
from smidgen.service.http.server import Supervisor


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
        os.write(1, b"another listens\\n")  # one write each: two workers share the pipe
        able()
    signal.sigwait({signal.SIGTERM})


sys.exit(Supervisor(work, 2, lambda: os.kill(os.getpid(), signal.SIGTERM)).run() or 0)
"""


@pytest.mark.parametrize(("fate", "said"), [("lives", "the first can decide"), ("dies", "the first is gone")])
def test_no_worker_listens_next_to_one_that_cannot_decide_yet(fate: str, said: str) -> None:
    run = subprocess.run([sys.executable, "-c", _SCRIPT, fate], capture_output=True, text=True, timeout=60, check=False)
    first, *others = run.stdout.splitlines()
    assert (run.returncode, first) == (0, said), run.stderr
    assert others == ["another listens"] * (1 if fate == "lives" else 2)


_SLOW = """
import os, signal, socket, sys, time
from smidgen.service.http.server import Supervisor

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


_BUSY = """
import os, signal, socket, sys, time
from functools import partial
from smidgen.service.http import server

server.ORPHAN_S = 1.5
listener = socket.create_server(("127.0.0.1", 0))


def work(number, wait, able):
    if wait is not None:
        wait()
    signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"asked to end\\n"))  # busy: it goes on
    able()
    while True:
        time.sleep(60)


def ready():
    print(listener.getsockname()[1], flush=True)


server.Supervisor(work, 2, ready, listener.close, partial(server._refuse_all, listener)).run()
"""


def test_workers_whose_supervisor_is_killed_leave_the_port_at_once() -> None:
    """Even if both are busy: another service can start at the same port within a second, and they end soon after."""
    with subprocess.Popen([sys.executable, "-c", _BUSY], stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        port = int(service.stdout.readline())
        with socket.create_connection(("127.0.0.1", port)):
            began = time.monotonic()
            service.kill()
            while not _free(port) and time.monotonic() < began + 10:
                time.sleep(0.01)
            assert time.monotonic() - began < 1.0
        said = service.stdout.read()  # ends when the workers have gone, which share it
    assert 1.5 <= time.monotonic() - began < 4.0
    assert said.splitlines() == ["asked to end"] * 2


def _free(port: int) -> bool:
    """True if a service can listen there."""
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False
