"""All bodies together are limited, not only each of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from smidgen.service.errors import Busy
from smidgen.service.http.middleware import InFlight, InFlightBytes


class App:
    """Reads the whole body, then waits for the signal to answer."""

    def __init__(self) -> None:
        self.answer = asyncio.Event()
        self.read = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive())["type"] == "http.request":
            self.read += len(message.get("body", b""))
            if not message.get("more_body"):
                break
        await self.answer.wait()


def chunks(*sizes: int) -> Any:
    waiting = [{"type": "http.request", "body": bytes(size), "more_body": True} for size in sizes]
    waiting.append({"type": "http.request"})

    async def receive() -> Any:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    return receive


async def nothing(message: Any) -> None:
    return


def test_bodies_count_from_their_arrival_to_their_answer() -> None:
    async def play() -> None:
        app = App()
        guard = InFlight(app, InFlightBytes(100))
        scope = {"type": "http"}
        waiting = [asyncio.create_task(guard(scope, chunks(30, 10), nothing)) for _ in range(2)]
        await asyncio.sleep(0)
        assert guard.holding.held == 80
        with pytest.raises(Busy, match="waiting"):
            await guard(scope, chunks(15, 15), nothing)
        assert guard.holding.held == 80  # what was refused is not held any more
        empty = asyncio.create_task(guard(scope, chunks(), nothing))
        app.answer.set()
        await asyncio.gather(*waiting, empty)
        assert guard.holding.held == 0
        await guard(scope, chunks(99), nothing)
        assert app.read == 2 * 40 + 15 + 99
        assert guard.holding.held == 0

    asyncio.run(play())


def test_other_traffic_is_let_through() -> None:
    async def play() -> list[str]:
        seen = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            seen.append(scope["type"])

        await InFlight(app, InFlightBytes(100))({"type": "lifespan"}, nothing, nothing)
        return seen

    assert asyncio.run(play()) == ["lifespan"]
