"""A service to be loaded, in a process of its own, and callers who load it."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from smidgen.service.loops.registry import loops
from smidgen.service.schemas import FeedbackReply

#: About what a feedback's event takes in the database.
RECORD = bytes(256)
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


def serve_with_noop(data: Path, keyed_in_memory: int) -> None:
    """The very server of ``smidgen serve``, with calls that read and do nothing.

    POST /noop reads a feedback, POST /noop-decision a request for a decision.
    """
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from smidgen.service.http import server
    from smidgen.service.http.middleware import json_body
    from smidgen.service.http.resources import Options, reply

    async def noop(request: Request) -> Response:
        await json_body(request, loops.feedback)
        return reply(FeedbackReply(status="learnt", model_version=0))

    async def noop_decision(request: Request) -> Response:
        await json_body(request, loops.decision)
        return reply(FeedbackReply(status="learnt", model_version=0))

    original = server.create_app

    def create_app(options: Options) -> Starlette:
        app = original(options)
        app.router.routes[:0] = [
            Route("/noop", noop, methods=["POST"]),
            Route("/noop-decision", noop_decision, methods=["POST"]),
        ]
        return app

    server.create_app = create_app
    server.serve(
        Options(data, keyed_in_memory=keyed_in_memory), "127.0.0.1", 0, lambda address: print(address, flush=True)
    )


@dataclass(frozen=True)
class Server:
    """A running service."""

    url: str
    pid: int

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rstrip("/").rpartition(":")[2])

    def cpu(self) -> float:
        """Seconds of CPU that it has used, all threads, user and system."""
        return time.clock_gettime(~self.pid << 3 | 2)  # Linux: the clock of another process

    def memory(self) -> float:
        """Megabytes of memory that it has now."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024

    def post(self, path: str, body: bytes) -> bytes:
        """A request, ready to send."""
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\ncontent-type: application/json\r\n"
        return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


@contextmanager
def running(data: Path, keyed_in_memory: int = 2_000, source: Path | None = None) -> Iterator[Server]:
    """A service in a process of its own; of another version, if the root of its source is given.

    The first version had no uvloop to run on; where a version does not ask for it, it is hidden.
    """
    root = (source or Path(__file__).parents[1]).resolve()
    hidden = "" if "uvloop" in (root / "pyproject.toml").read_text(encoding="utf-8") else "sys.modules['uvloop'] = None"
    code = f"import runpy, sys\n{hidden}\nrunpy.run_module('benchmarks.load', run_name='__main__')"
    command = [sys.executable, "-c", code, str(data.resolve()), str(keyed_in_memory)]
    paths = {"PYTHONPATH": f"{root / 'src'}:{root}"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root, env=os.environ | paths)
    try:
        yield Server(process.stdout.readline().strip(), process.pid)
    finally:
        process.terminate()
        process.communicate(timeout=60)


@dataclass(frozen=True)
class Load:
    """What a load gave."""

    per_second: float
    p99_ms: float


def drive(server: Server, requests: Iterable[bytes], clients: int, seconds: float) -> Load:
    """Let so many callers send, each waiting for its answer, until the time or the requests are over."""
    return asyncio.run(_drive(server, iter(requests), clients, seconds))


async def _drive(server: Server, requests: Iterator[bytes], clients: int, seconds: float) -> Load:
    lines = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(clients)]
    spans: list[float] = []
    start = time.perf_counter()

    async def call(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (begun := time.perf_counter()) < start + seconds and (request := next(requests, None)) is not None:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(int(_LENGTH.search(head)[1]))
            assert head[9:12] in (b"200", b"201"), head + body
            spans.append(time.perf_counter() - begun)

    await asyncio.gather(*(call(*line) for line in lines))
    took = time.perf_counter() - start
    for _, writer in lines:
        writer.close()
        await writer.wait_closed()
    return Load(len(spans) / took, float(np.percentile(spans, 99)) * 1e3)


def sync_alone(folder: Path, seconds: float, *, in_place: bool = False) -> float:
    """Records per second that one writer puts into a file of this disk, each synced before the next.

    Appended, the file grows and its size is synced too. In place, a file of a megabyte is written over and over, as
    SQLite does with its log: that is the most a disk can do.
    """
    path = folder / "raw"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    if in_place:
        os.write(handle, bytes(1 << 20))
        os.fsync(handle)
        os.lseek(handle, 0, os.SEEK_SET)
    count, start = 0, time.perf_counter()
    while time.perf_counter() < start + seconds:
        if in_place and os.lseek(handle, 0, os.SEEK_CUR) >= 1 << 20:
            os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, RECORD)
        os.fdatasync(handle)
        count += 1
    took = time.perf_counter() - start
    os.close(handle)
    path.unlink()
    return count / took


if __name__ == "__main__":
    serve_with_noop(Path(sys.argv[1]), int(sys.argv[2]))
