"""Break lines between workers again and again, before or after a request was read, for `smidgen serve --import`."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import smidgen
from service.faults.worse_workers import vars_of
from smidgen.service.http.forwarding import EngineLine

#: How likely a line breaks before a request is read, and how likely after it; a file that has a byte for each break.
CHANCE = 0.1
VARIABLE = "SMIDGEN_TEST_BROKEN_LINES"


@smidgen.structure("breaking lines")
@dataclass(frozen=True)
class Plugin:
    """A rule that makes this module a plugin; nobody uses it."""

    what: str


_read = EngineLine.frame_received


def _frame_received(self: EngineLine, content: bytes) -> None:
    """Read a request, or break the line before that, or at once after it."""
    draw = random.random()
    if draw >= CHANCE:
        _read(self, content)
    if not CHANCE <= draw < 1.0 - CHANCE:
        self.transport.abort()
        with open(os.environ[VARIABLE], "ab") as file:
            file.write(b"a" if draw >= CHANCE else b"b")


if VARIABLE in os.environ:
    vars_of(EngineLine, frame_received=_frame_received)
