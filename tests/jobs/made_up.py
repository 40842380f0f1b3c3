"""Tasks for the tests: each says how far it is, and answers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from smidgen.errors import InvalidArgument
from smidgen.jobs.ray import beyond_loopback


def double(settings: dict[str, Any]) -> Iterator[int | bytes]:
    """Twice a number, and who computed it."""
    print("this must not come between the answers")
    yield 1
    yield 2
    yield f"{2 * settings['n']} {'elsewhere' if os.getpid() != settings['pid'] else 'here'}".encode()


def refused(settings: dict[str, Any]) -> Iterator[int | bytes]:
    """A refusal of ours."""
    yield 1
    raise InvalidArgument("n is odd", "give an even one")


def broken(settings: dict[str, Any]) -> Iterator[int | bytes]:
    """A failure of another's."""
    yield 1
    raise ZeroDivisionError("nothing is left")


def gone(settings: dict[str, Any]) -> Iterator[int | bytes]:
    """A process that dies."""
    yield 1
    os._exit(3)


def endless(settings: dict[str, Any]) -> Iterator[int | bytes]:
    """Goes on until it is ended."""
    Path(settings["folder"], str(os.getpid())).touch()
    yield 1
    time.sleep(600)
    yield b""


def family(settings: dict[str, Any]) -> Iterator[int | bytes]:
    """Sockets beyond loopback of the calling process and its children."""
    yield "\n".join(beyond_loopback(settings["pid"])).encode()
