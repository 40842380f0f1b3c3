"""The client for ordinary code, and its handle of a model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from smidgen.client.core import (
    Call,
    ClientCalls,
    LogCursor,
    ModelCalls,
    RetryPolicy,
    SyncShell,
    content_of,
    is_temporary,
    service_url,
)

T = TypeVar("T")


class Model(ModelCalls, SyncShell):
    """A model of a service: `decide` and `learn`.

    Parameters
    ----------
    client
        The service.
    name
        The model's name.
    """

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name

    def __repr__(self) -> str:
        return f"Model({self.name!r})"

    def log(self, after: int = 0, shard: int | None = None) -> Iterator[dict[str, Any]]:
        """Its events, in order; see `Client.log`."""
        return self.client.log(self.name, after, shard)

    def _perform(self, describe: Callable[[], Call[T]]) -> T:
        return self.client._perform(describe)


class Client(ClientCalls[Model], SyncShell):
    """A decision service from Python: the same two verbs, over HTTP.

    Every call may be sent again without being carried out twice (each decision has an idempotency id, and the first
    feedback on a decision counts), so lost connections and "not now" (429, 502, 503, 504) are retried with growing
    pauses. May be used by several threads at once.

    Parameters
    ----------
    url
        The service's address, e.g. ``"http://127.0.0.1:8470"``.
    token
        What ``smidgen token create`` printed, if the service needs one.
    timeout
        Seconds to wait for an answer before the attempt counts as lost.
    retries
        How many attempts after the first.
    transport
        Another way to send requests, of httpx: through a Unix socket, or into an application in a test.

    Examples
    --------
    ```python
    import smidgen

    client = smidgen.Client("http://127.0.0.1:8470")
    search = client.create("search", loop="rank")
    d = search.decide({"a": {"topic": "art"}, "b": {"topic": "cars"}}, context={"device": "ios"})
    d.ranking  # ["a", "b"]
    search.learn(d, clicked=["b"])
    search.weights()  # [{"name": "topic=cars", "weight": …}, …]
    ```
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 4,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._retry = RetryPolicy(retries)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=service_url(url), headers=headers, timeout=timeout, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def log(self, name: str, after: int = 0, shard: int | None = None) -> Iterator[dict[str, Any]]:
        """The model's events after one, in order; a connection that breaks is taken up where it broke.

        Raises `ServiceError` (``code`` ``"log_damaged"``) at an event that is missing, after all before it.

        Of a model with several shards: those of one, after an event of it, or of all, one shard after the other.
        """
        cursor = LogCursor(name, after, shard, self._retry)
        while True:
            try:
                with self._http.stream(**cursor.request()) as response:
                    if response.is_success:
                        for chunk in response.iter_bytes():
                            yield from cursor.events(chunk)
                        if not cursor.in_shard or not cursor.next_shard(self.describe(name)["shards"]):
                            return
                        continue
                    response.read()
                    wait = cursor.after_error(response)
            except httpx.TransportError as error:
                wait = cursor.after_disconnect(error)
            time.sleep(wait)

    def _handle(self, name: str) -> Model:
        return Model(self, name)

    def _perform(self, describe: Callable[[], Call[T]]) -> T:
        call, attempt = describe(), 0
        while True:
            try:
                response = self._http.request(call.method, call.path, content=call.body, headers=call.headers)
            except httpx.TransportError as error:
                wait = self._retry.after_disconnect(attempt, error, repeatable=call.repeatable)
                call.report_wait(error, wait)
            else:
                if not is_temporary(response):
                    return call.read(content_of(response))
                wait = self._retry.after_error(attempt, response, repeatable=call.repeatable)
                call.report_wait(response, wait)
            attempt += 1
            time.sleep(wait)
