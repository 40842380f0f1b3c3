"""A caller who speaks to the application without a network."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any, Self

import httpx

from smidgen.service.http.app import create_app
from smidgen.service.http.resources import Options
from smidgen.service.storage.address import Database


class Sent:
    """A request, with the parts that reading needs."""

    def __init__(self, content: bytes) -> None:
        self.headers = {"content-type": "application/json"}
        self.app = SimpleNamespace(state=SimpleNamespace(service=SimpleNamespace(options=Options(Path()))))
        self._content = content

    async def stream(self) -> AsyncIterator[bytes]:
        yield self._content


class Caller:
    """Runs the application on an event loop of its own and calls it."""

    def __init__(self, data: Path | Database, *, clock: Callable[[], float] | None = None, **options: Any) -> None:
        given = {"clock": clock} if clock is not None else {}
        self.app = create_app(Options(data, **{"synchronous": "OFF", **options}), **given)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._lifespan = self.app.router.lifespan_context(self.app)
        self._run(self._lifespan.__aenter__())
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=True)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8470")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._client.aclose())
        self._run(self._lifespan.__aexit__(kind, error, trace))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(300)  # kernels may have to be compiled first

    def __call__(self, method: str, path: str, **options: Any) -> httpx.Response:
        answer: httpx.Response = self._run(self._client.request(method, path, **options))
        return answer

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self("GET", path, **options)

    def post(self, path: str, body: Any, **options: Any) -> httpx.Response:
        return self("POST", path, json=body, **options)

    def put(self, path: str, body: Any, **options: Any) -> httpx.Response:
        return self("PUT", path, json=body, **options)
