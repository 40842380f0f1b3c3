"""The client for code with ``await``, and its handle of a model; decisions of the same moment can share a call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import httpx

from smidgen.client import wire
from smidgen.client.core import (
    AsyncShell,
    Call,
    ClientCalls,
    LogCursor,
    ModelCalls,
    RetryPolicy,
    content_of,
    is_temporary,
    service_url,
)
from smidgen.client.wire import Answer, ServiceError

T = TypeVar("T")


class AsyncModel(ModelCalls, AsyncShell):
    """A model of a service: `decide` and `learn`, to be awaited. The arguments are those of `Model`.

    Parameters
    ----------
    client
        The service.
    name
        The model's name.
    """

    def __init__(self, client: AsyncClient, name: str) -> None:
        self.client = client
        self.name = name

    def __repr__(self) -> str:
        return f"AsyncModel({self.name!r})"

    def log(self, after: int = 0, shard: int | None = None) -> AsyncIterator[dict[str, Any]]:
        """Its events, in order; see `Client.log`."""
        return self.client.log(self.name, after, shard)

    async def _perform(self, describe: Callable[[], Call[T]]) -> T:
        return await self.client._perform(describe)


Send = Callable[[list[dict[str, Any]]], Awaitable[list[Answer]]]


class AutoBatch:
    """Requests for one model, collected since the event loop last ran.

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


class AsyncClient(ClientCalls[AsyncModel], AsyncShell):
    """A decision service from asynchronous Python; each verb of `Client`, to be awaited.

    Parameters
    ----------
    url, token, timeout, retries
        As for `Client`.
    batch
        How many decisions that are asked for at the same time may share a call; 1 sends each by itself. A bad one
        does not spoil the others: they are then sent one by one.
    transport
        Another way to send requests, of httpx.

    Examples
    --------
    ```python
    async with smidgen.AsyncClient("http://127.0.0.1:8470", batch=64) as client:
        spam = client.model("spam")
        answers = await asyncio.gather(*(spam.decide(mail) for mail in mails))  # in one call
        await spam.learn(answers[0], correct=True)
    ```
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 4,
        batch: int = 1,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._retry = RetryPolicy(retries)
        self._batch = batch
        self._batches: dict[str, AutoBatch] = {}
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.AsyncClient(base_url=service_url(url), headers=headers, timeout=timeout, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def log(self, name: str, after: int = 0, shard: int | None = None) -> AsyncIterator[dict[str, Any]]:
        """The model's events after one, in order; see `Client.log`."""
        cursor = LogCursor(name, after, shard, self._retry)
        while True:
            try:
                async with self._http.stream(**cursor.request()) as response:
                    if response.is_success:
                        async for chunk in response.aiter_bytes():
                            for event in cursor.events(chunk):
                                yield event
                        if not cursor.in_shard or not cursor.next_shard((await self.describe(name))["shards"]):
                            return
                        continue
                    await response.aread()
                    wait = cursor.after_error(response)
            except httpx.TransportError as error:
                wait = cursor.after_disconnect(error)
            await asyncio.sleep(wait)

    def _handle(self, name: str) -> AsyncModel:
        return AsyncModel(self, name)

    async def _perform(self, describe: Callable[[], Call[T]]) -> T:
        call = describe()
        if call.item is None or self._batch == 1:
            return await self._send(call)
        batch = self._batches.setdefault(call.path, AutoBatch(self._batch))
        return cast("T", await batch.add(call.item, lambda items: self._decide_all(call.path, items)))

    async def _decide_all(self, path: str, items: list[dict[str, Any]]) -> list[Answer]:
        if len(items) == 1:
            return [await self._send(Call("POST", path, wire.read_answer, wire.encode(items[0])))]
        return await self._send(Call("POST", f"{path}:batch", wire.read_answers, wire.encode({"decisions": items})))

    async def _send(self, call: Call[T]) -> T:
        attempt = 0
        while True:
            try:
                response = await self._http.request(call.method, call.path, content=call.body, headers=call.headers)
            except httpx.TransportError as error:
                wait = self._retry.after_disconnect(attempt, error, repeatable=call.repeatable)
                call.report_wait(error, wait)
            else:
                if not is_temporary(response):
                    return call.read(content_of(response))
                wait = self._retry.after_error(attempt, response, repeatable=call.repeatable)
                call.report_wait(response, wait)
            attempt += 1
            await asyncio.sleep(wait)
