"""How many bytes of bodies the service holds at once, read or waiting for their answer: limited, like everything."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smidgen.service.refusals import Busy

#: All bodies together, in bytes.
LIMIT = 128 << 20


class Holding:
    """The bytes that are held now, and how many there may be."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0


class InFlight:
    """Counts the bytes of bodies from their arrival until their answer; beyond the limit callers come back later.

    A limit for one body is not enough: many callers at once, or one queue behind a slow disk, add them up.
    """

    def __init__(self, app: ASGIApp, holding: Holding) -> None:
        self.app = app
        self.holding = holding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        own, holding = 0, self.holding

        async def counted() -> Message:
            nonlocal own
            message = await receive()
            size = len(message.get("body", b""))
            own += size
            holding.held += size
            if size and holding.held > holding.limit:
                raise Busy(
                    f"{holding.held} bytes of requests are waiting", "slow down; nothing was lost, send it again"
                )
            return message

        try:
            await self.app(scope, counted, send)
        finally:
            holding.held -= own
