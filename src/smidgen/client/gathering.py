"""Decisions that are asked for at the same time, in one call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from smidgen.client.refusals import ServiceError
from smidgen.client.replies import Answer

Send = Callable[[list[dict[str, Any]]], Awaitable[list[Answer]]]


class Gathering:
    """What was asked of one model since the event loop last came round.

    Parameters
    ----------
    largest
        How many requests share a call at most.
    """

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._waiting: list[tuple[dict[str, Any], asyncio.Future[Answer]]] = []
        self._calls: set[asyncio.Task[None]] = set()

    async def add(self, body: dict[str, Any], send: Send) -> Answer:
        """Add a request; the first of a call sends it, when all that run at the same time have added theirs."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((body, future))
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._go, send)
        return await future

    def _go(self, send: Send) -> None:
        waiting, self._waiting = self._waiting, []
        for start in range(0, len(waiting), self._largest):
            call = asyncio.ensure_future(self._call(waiting[start : start + self._largest], send))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)

    async def _call(self, part: list[tuple[dict[str, Any], asyncio.Future[Answer]]], send: Send) -> None:
        try:
            answers = await send([body for body, _ in part])
        except ServiceError as error:
            if len(part) > 1 and 400 <= error.status < 500:  # one bad request refuses all: ask one by one
                await asyncio.gather(*(self._call([each], send) for each in part))
                return
            self._fail(part, error)
        except BaseException as error:
            self._fail(part, error)
            raise
        else:
            for (_, future), answer in zip(part, answers, strict=True):
                if not future.done():
                    future.set_result(answer)

    def _fail(self, part: list[tuple[dict[str, Any], asyncio.Future[Answer]]], error: BaseException) -> None:
        for _, future in part:
            if not future.done():
                future.set_exception(error)
