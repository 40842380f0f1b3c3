"""The client without I/O: the same calls in both shells, retries, and logs that arrive in pieces."""

from __future__ import annotations

import inspect

import httpx
import msgspec
import pytest

import smidgen
from smidgen.client import AsyncModel, Model, ServiceError, Unreachable
from smidgen.client.core import LogCursor, RetryPolicy

EVENTS = [{"seq": seq, "type": "learnt"} for seq in (1, 2, 3)]
LINES = b"".join(msgspec.json.encode(event) + b"\n" for event in EVENTS)


def public(cls: type) -> dict[str, list[str]]:
    """The public methods of a class with the names of their parameters."""
    every = inspect.getmembers(cls, inspect.isfunction)
    return {name: [*inspect.signature(method).parameters] for name, method in every if not name.startswith("_")}


@pytest.mark.parametrize("pair", [(smidgen.Client, smidgen.AsyncClient), (Model, AsyncModel)])
def test_both_shells_have_the_same_methods(pair: tuple[type, type]) -> None:
    blocking, awaiting = map(public, pair)
    assert blocking == awaiting
    assert {"describe", "weights", "learn", "log"} <= set(blocking)
    assert all(inspect.getdoc(getattr(cls, name)) for cls in pair for name in blocking)


def test_a_handle_describes_the_calls_of_its_client() -> None:
    sent: list[tuple[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append((request.method, request.url.raw_path.decode()))
        return httpx.Response(200, json={"weights": [], "findings": []})

    with smidgen.Client("http://x", transport=httpx.MockTransport(answer)) as client:
        client.weights("a b", "k", 3)
        client.model("a b").weights("k", 3)
        client.archive("m")
        client.model("m").archive()
    assert sent == [("GET", "/v1/models/a%20b/weights?key=k&limit=3")] * 2 + [("DELETE", "/v1/models/m")] * 2


class TestRetries:
    def test_waits_grow_and_end(self) -> None:
        policy, lost = RetryPolicy(retries=3, first=1.0, longest=3.0), httpx.ConnectError("gone")
        for attempt, most in enumerate((1.0, 2.0, 3.0)):
            assert most / 2 <= policy.after_disconnect(attempt, lost) <= most
        with pytest.raises(Unreachable, match="4 attempts"):
            policy.after_disconnect(3, lost)

    def test_what_the_service_asks_for_is_waited(self) -> None:
        busy = httpx.Response(429, headers={"retry-after": "7"})
        assert RetryPolicy().after_error(0, busy) == 7.0

    def test_an_error_that_stays_is_raised_at_once(self) -> None:
        with pytest.raises(ServiceError) as refused:
            RetryPolicy().after_error(
                0, httpx.Response(404, json={"error": {"code": "a", "message": "b", "hint": "c"}})
            )
        assert refused.value.status == 404


class TestLogCursor:
    @pytest.mark.parametrize("size", [1, 7, 1000])
    def test_pieces_of_any_size(self, size: int) -> None:
        cursor = LogCursor("m", 0, None, RetryPolicy())
        chunks = [LINES[start : start + size] for start in range(0, len(LINES), size)]
        assert [event for chunk in chunks for event in cursor.events(chunk)] == EVENTS
        assert cursor.request()["params"] == {"after": 3}
        assert not cursor.in_shard

    def test_a_lost_connection_drops_half_a_line_and_goes_on_in_its_shard(self) -> None:
        cursor = LogCursor("m", 0, None, RetryPolicy())
        assert len(list(cursor.events(b'{"seq": 4, "shard": 1}\n{"seq": 5, "sh'))) == 1
        cursor.after_disconnect(httpx.ReadError("gone"))
        assert cursor.request()["params"] == {"after": 4, "shard": 1}
        assert list(cursor.events(b'{"seq": 5, "shard": 1}\n')) == [{"seq": 5, "shard": 1}]
        assert cursor.in_shard
        assert cursor.next_shard(3)
        assert cursor.request()["params"] == {"after": 0, "shard": 2}
        cursor.after_disconnect(httpx.ConnectError("gone"))
        assert cursor.request()["params"] == {"after": 0, "shard": 2}, "not the shard before it once more"
        assert not cursor.next_shard(3)

    def test_one_shard_ends_with_itself(self) -> None:
        cursor = LogCursor("m", 2, 1, RetryPolicy())
        assert cursor.request()["params"] == {"after": 2, "shard": 1}
        assert not cursor.in_shard
