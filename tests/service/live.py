"""A service in a process of its own, at a free port, as the command line starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self


def where(folder: Path) -> str:
    """The store of a folder; elsewhere, if the tests run on another kind."""
    return str(folder)


def kept(folder: Path) -> dict[str, bytes]:
    """All bytes that a store keeps: its files by name; elsewhere, its tables."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Serving:
    """``smidgen serve`` until the end of the block; then SIGTERM."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self._command = [sys.executable, "-m", "smidgen", "serve", "--port", "0", *arguments]
        self._environment = environment
        self.url = ""

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **self._environment},
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        if not said.startswith("smidgen is at http"):
            raise AssertionError(said + self.process.communicate()[1])
        self.url = said.split()[3]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> tuple[int, str, str]:
        """End it gracefully; its status and what it had still to say."""
        if self.process.poll() is None:
            self.process.terminate()
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


class Live(Serving):
    """A running service with a data folder."""

    def __init__(self, data: Path, *arguments: str) -> None:
        self.data, self.store = data, where(data)
        super().__init__("--store", self.store, *arguments)
