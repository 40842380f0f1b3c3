"""Logs of searches and clicks in the UBI schema: what counts, and what is passed over and said."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smidgen.data import read_ubi
from smidgen.errors import SmidgenError
from smidgen.evaluate import position_ips

QUERIES: list[dict[str, Any]] = [
    {
        "application": "primary-search",
        "query_id": "00112233-4455-6677-8899-aabbccddeeff",
        "client_id": "5e3b2a1c-8b7d-4f2e-a3d4-c9b2e1f3a4b5",
        "user_query": "laser toner",
        "query_attributes": {"experiment_id": "12345"},
        "object_id_field": "sku",
        "timestamp": "2025-02-18T20:20:39Z",
        "query_response_id": "e4bdd289-0875-421f-bc34-aa71eb8e1cb3",
        "query_response_hit_ids": ["B07XLFYN6S", "B013UFPODY", "B07SHS91DQ"],
    },
    {"query_id": "q2", "user_query": "mouse", "query_response_object_ids": [7, 8], "timestamp": 1716408298072},
    {"query_id": "q3", "user_query": "nothing like it", "query_response_hit_ids": []},
    {"query_id": "q4", "client_id": None, "query_response_hit_ids": ["x"]},
]


def event(query: str | None, object_id: Any, action: str = "click", **more: Any) -> dict[str, Any]:
    about = {"object_id": object_id, "object_id_field": "sku"} if object_id is not None else None
    return {
        "action_name": action,
        "query_id": query,
        "client_id": "5e3b2a1c-8b7d-4f2e-a3d4-c9b2e1f3a4b5",
        "session_id": "84266fdbd31d4c2c6d0665f7e8380fa3",
        "timestamp": "2025-02-18T20:21:02Z",
        "message_type": "CLICK_THROUGH",
        "message": "somebody did something",
        "event_attributes": {"object": about, "position": {"ordinal": 3}, **more},
    }


FIRST = QUERIES[0]["query_id"]
EVENTS = [
    event(FIRST, "B07SHS91DQ"),
    event(FIRST, "B07XLFYN6S", "impression"),
    event(FIRST, "B07XLFYN6S", "add_to_cart"),
    event(FIRST, "B07SHS91DQ", "purchase"),
    event(FIRST, "gone"),
    event("q2", 8, session={"id": 1}),
    event("q3", "x"),
    event("elsewhere", "x"),
    event(None, "x"),
    event("q2", None),
    {"action_name": "page_exit", "timestamp": "2025-02-18T20:22:00Z"},
]


def lines(things: list[dict[str, Any]]) -> bytes:
    return b"\n".join(json.dumps(each).encode() for each in things)


def test_searches_and_their_clicks() -> None:
    log = read_ubi(lines(QUERIES), lines(EVENTS))
    assert [page.user_query for page in log.pages] == ["laser toner", "mouse", ""]
    assert [page.clicked for page in log.pages] == [(2, 0), (1,), ()]
    assert log.pages[1].hits == ("7", "8")
    assert (log.passed_over, log.unknown, log.elsewhere, log.without_hits) == (4, 1, 2, 1)
    assert log.click_rates(4)[:3].tolist() == [1 / 3, 1 / 2, 1.0]
    assert np.isnan(log.click_rates(4)[3])
    assert repr(log) == "UbiLog(3 searches, 3 clicks, 3 of unknown results)"
    assert len(read_ubi(lines(QUERIES), lines(EVENTS), clicks=["impression"]).pages[0].clicked) == 1


def test_exports_files_and_packed_files(tmp_path: Path) -> None:
    (tmp_path / "queries.ndjson").write_bytes(lines([{"_index": "ubi_queries", "_source": each} for each in QUERIES]))
    with gzip.open(tmp_path / "events.ndjson.gz", "wb") as file:
        file.write(lines([{"_index": "ubi_events", "_source": each} for each in EVENTS]))
    log = read_ubi(tmp_path / "queries.ndjson", str(tmp_path / "events.ndjson.gz"))
    assert log.pages == read_ubi(lines(QUERIES), lines(EVENTS)).pages


def test_another_order_is_judged_by_its_clicks() -> None:
    log = read_ubi(lines(QUERIES), lines(EVENTS))
    columns = log.moves(lambda page: page.hits[::-1])
    assert [column.tolist() for column in columns] == [[0, 0, 1], [2, 0, 1], [0, 2, 0]]
    read = [1.0, 0.5, 0.25]
    found = position_ips(*columns, n=len(log), read=read)
    assert found.value == pytest.approx((1 / 0.25 + 0.25 / 1 + 1 / 0.5) / 3)
    assert log.moves(lambda page: ())[2].tolist() == [-1, -1, -1]
    assert read_ubi(lines(QUERIES), b"").moves(lambda page: page.hits)[0].tolist() == []


@pytest.mark.parametrize(
    ("queries", "events"),
    [
        (b"not json", b""),
        (b"{}", b""),
        (b"[]", b""),
        (b"", b'{"query_id": "q"}'),
        (b'{"query_id": 5}', b""),
        (b'{"query_id": "q", "query_response_hit_ids": [[1]]}', b""),
        (b"\xff\xfe", b""),
        (17, b""),
        (b"", "there/is/no/such.ndjson"),
    ],
)
def test_what_is_no_log_is_refused(queries: Any, events: Any) -> None:
    with pytest.raises(SmidgenError):
        read_ubi(queries, events)


def test_clicks_is_a_list() -> None:
    with pytest.raises(SmidgenError, match="clicks"):
        read_ubi(b"", b"", clicks="click")
