"""The service from its first moment: it says that it is alive while models are read and kernels are compiled."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from smidgen import __version__

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import Receive, Scope, Send

    from smidgen.service.http.direct import Direct

#: After how many seconds of starting somebody is told why it takes so long.
LONG = 10.0
_log = logging.getLogger("smidgen.service")
_ALIVE = {"status": "ok", "version": __version__}
_NOT_YET = {
    "error": {
        "code": "busy",
        "message": "the service is starting: it reads its models and compiles their kernels",
        "hint": "try again in a moment; /readyz says 200 when it can decide",
    }
}


class Starting:
    """An application that is there at once, and hands over to the real one when that is ready.

    Until then /healthz answers 200 and everything else 503. Neither importing the real application nor opening it is
    done on the event loop.

    Parameters
    ----------
    make
        Makes the real application; it may import what it likes.
    ready
        Called when requests reach the real application.
    failed
        Called, with the reason, when it cannot be opened.
    wait
        None: it is there before it is ready. Else the server waits until it is, and until this returns, and connections
        go to other workers meanwhile.

    Attributes
    ----------
    direct
        Takes the most frequent requests off a connection, once it is ready.
    """

    def __init__(
        self,
        make: Callable[[], Starlette],
        ready: Callable[[], None],
        failed: Callable[[Exception], None],
        wait: Callable[[], None] | None = None,
    ) -> None:
        self._wait = wait
        self._make = make
        self._ready = ready
        self._failed = failed
        self._app: Starlette | None = None
        self.direct: Direct | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection, or the life of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is not None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            alive = scope["path"] == "/healthz"
            await _say(send, 200 if alive else 503, _ALIVE if alive else _NOT_YET)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with AsyncExitStack() as opened:
            start = asyncio.create_task(self._start(opened), name="smidgen start")
            patience = asyncio.get_running_loop().call_later(LONG, _explain)
            start.add_done_callback(lambda _: patience.cancel())
            if self._wait is not None:
                await asyncio.wait([start])
                await asyncio.to_thread(self._wait)
            await send({"type": "lifespan.startup.complete"})
            await receive()
            start.cancel()
            await asyncio.wait([start])
        await send({"type": "lifespan.shutdown.complete"})

    async def _start(self, opened: AsyncExitStack) -> None:
        try:
            app = await asyncio.to_thread(self._make)
            await opened.enter_async_context(app.router.lifespan_context(app))
        except Exception as error:
            self._failed(error)
            return
        self._app, self.direct = app, getattr(app.state, "direct", None)
        self._ready()


def _explain() -> None:
    _log.warning("starting: models are being read and kernels compiled; /healthz answers, /readyz says when it is done")


async def _say(send: Send, status: int, content: dict[str, Any]) -> None:
    body = json.dumps(content).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 503:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
