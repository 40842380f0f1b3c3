"""A wire between workers and their database that can be cut: a Unix socket that passes everything on, for a while."""

from __future__ import annotations

import select
import shutil
import socket
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

NAME = ".s.PGSQL.5432"


class Cuttable:
    """A proxy for the server's connection that can be cut.

    ``cut`` is a network that swallows everything: both sides think that the other is slow. ``tear`` ends all
    connections. Each lasts until ``restore``.
    """

    def __init__(self, server: Path) -> None:
        self._server = str(server / NAME)
        self.folder = Path(tempfile.mkdtemp(prefix="smidgen-wire-"))
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.folder / NAME))
        self._listening.listen(64)
        self._open = threading.Event()
        self._open.set()
        self._ended = False
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self._open.set()
        self._listening.close()
        self.tear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def cut(self) -> None:
        """Swallow everything from now on, and answer nobody."""
        self._open.clear()

    def restore(self) -> None:
        """Pass everything on again; what was swallowed meanwhile is lost with its connection."""
        if not self._open.is_set():
            self.tear()
            self._open.set()

    def tear(self) -> None:
        """End all connections."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            for each in pair:
                each.close()

    def _accept(self) -> None:
        while not self._ended:
            try:
                inner, _ = self._listening.accept()
            except OSError:
                return
            outer = socket.socket(socket.AF_UNIX)
            try:
                outer.connect(self._server)
            except OSError:  # the server is away
                inner.close()
                outer.close()
                continue
            with self._lock:
                self._pairs.add((inner, outer))
            threading.Thread(target=self._pass_on, args=(inner, outer), daemon=True).start()

    def _pass_on(self, inner: socket.socket, outer: socket.socket) -> None:
        other = {inner: outer, outer: inner}
        try:
            while not self._ended:
                ready, _, _ = select.select([inner, outer], [], [], 0.5)
                for side in ready:
                    self._open.wait()
                    if not (content := side.recv(1 << 16)):
                        return
                    other[side].sendall(content)
        except (OSError, ValueError):
            return
        finally:
            with self._lock:
                self._pairs.discard((inner, outer))
            inner.close()
            outer.close()
