"""A log of which an event is missing says so: over HTTP, to clients, in exports, and when it is imported again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

import smidgen
from service.asgi import Caller
from service.bodies import MODELS, engine_with, play
from service.live import Live
from smidgen.cli import app
from smidgen.client import ServiceError
from smidgen.service.errors import LogDamaged, Retained
from smidgen.service.http import routes_insight

ASKED = {"features": [1.0, 0.5, 0.0]}


@pytest.fixture
def news(call: Caller) -> Caller:
    """A service with a model that has eleven events."""
    call.put("/v1/models/news", {**MODELS["label"], "params": {}})
    for _ in range(5):
        made = call.post("/v1/models/news/decisions", ASKED).json()["decision"]
        call.post(f"/v1/decisions/{made}/feedback", {"correct": True})
    return call


def delete(call: Caller, *events: int) -> None:
    """Delete events of the first shard, as nothing of ours does."""
    here = call.app.state.service

    def command() -> None:
        for seq in events:
            here.engine.store._buffer.run("DELETE FROM events WHERE shard = ? AND seq = ?", (1, seq))

    call._run(here.writer.run(command))


def lines(call: Caller, query: str = "") -> list[dict[str, Any]]:
    answer = call.get(f"/v1/models/news/log{query}")
    assert answer.status_code == 200
    return [msgspec.json.decode(line) for line in answer.text.splitlines()]


@pytest.mark.parametrize("together", [1, 3, 1000])
def test_the_last_line_says_which_event_is_missing(
    together: int, news: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes_insight, "LINES", together)
    assert [line["seq"] for line in lines(news)] == list(range(1, 12))
    delete(news, 6)
    *events, last = lines(news)
    assert [event["seq"] for event in events] == [1, 2, 3, 4, 5]
    assert last.keys() == {"error"}
    assert (last["error"]["code"], last["error"]["message"]) == ("log_damaged", "event 6 of news is missing")
    assert "smidgen restore" in last["error"]["hint"]
    assert [line["seq"] for line in lines(news, "?after=6")] == [7, 8, 9, 10, 11]


def test_the_status_says_so_if_nothing_comes_before_it(news: Caller) -> None:
    delete(news, 6, 7)
    answer = news.get("/v1/models/news/log?after=5")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "log_damaged")
    assert answer.json()["error"]["message"] == "the events 6 to 7 of news are missing"
    delete(news, 1)
    assert news.get("/v1/models/news/log").status_code == 500


def test_the_end_of_a_log_is_missed_too(news: Caller) -> None:
    delete(news, 10, 11)
    *events, last = lines(news)
    assert len(events) == 9
    assert last["error"]["message"] == "the events 10 to 11 of news are missing"
    assert news.get("/v1/models/news/log?after=9").status_code == 500
    assert lines(news, "?after=11") == []


def test_a_decision_whose_event_is_missing_is_no_fault_of_the_caller(news: Caller) -> None:
    made = news.post("/v1/models/news/decisions", ASKED).json()["decision"]
    news.app.state.service.engine._open_decisions.clear()
    delete(news, 12)
    for answer in (
        news.get(f"/v1/decisions/{made}"),
        news.post(f"/v1/decisions/{made}/feedback", {"correct": True}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (500, "log_damaged")


def test_each_shard_has_its_own_numbers(call: Caller) -> None:
    call.put("/v1/models/news", {**MODELS["label"], "keyed": True, "shards": 2})
    for i in range(8):
        assert call.post("/v1/models/news/decisions", {**ASKED, "key": f"k{i}"}).status_code == 201
    whole = lines(call)
    assert {line["shard"] for line in whole} == {0, 1}
    delete(call, 2)
    *events, last = lines(call)
    assert [(event["shard"], event["seq"]) for event in events] == [(0, 1)]
    assert last["error"]["message"] == "event 2 of news (shard 0) is missing"
    assert lines(call, "?shard=1") == [line for line in whole if line["shard"] == 1]


def test_events_that_retention_erases_meanwhile_are_not_passed_over(tmp_path: Path) -> None:
    now = [1_000_000.0]
    engine = engine_with(tmp_path, ["filter"], clock=lambda: now[0])
    play(engine, ["filter"], 600, seed=0)
    model = engine.models["filter"]
    reading = engine.events.lines_after(model)
    assert [msgspec.json.decode(next(reading))["seq"] for _ in range(3)] == [1, 2, 3]
    now[0] += 1000.0
    base = engine.retain("filter", 10.0).base
    assert base is not None
    assert base > 256  # more than are read at a time
    with pytest.raises(Retained, match=r"retention erased the events \d+ to \d+ of filter while they were read"):
        list(reading)
    first = msgspec.json.decode(next(engine.events.lines_after(model)))
    assert (first["type"], first["seq"]) == ("base", base)
    assert not list(engine.events.lines_after(model, model.seq))
    engine.close()


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A data folder whose model misses an event."""
    engine = engine_with(tmp_path, ["label"])
    play(engine, ["label"], 20, seed=0)
    shard = engine.models["label"].shard
    engine.run(lambda: engine.store._buffer.run("DELETE FROM events WHERE shard = ? AND seq = ?", (shard, 6)))
    engine.close()
    return tmp_path


def test_clients_raise_where_an_event_is_missing(damaged: Path) -> None:
    with Live(damaged) as live:
        with smidgen.Client(live.url) as client:
            events = client.log("label")
            assert [next(events)["seq"] for _ in range(5)] == [1, 2, 3, 4, 5]
            with pytest.raises(ServiceError, match="event 6 of label is missing") as caught:
                next(events)
            assert caught.value.code == "log_damaged"
            with pytest.raises(ServiceError, match="event 6 of label is missing"):
                next(client.log("label", after=5))
            assert next(client.log("label", after=6))["seq"] == 7
        assert asyncio.run(_read(live.url)) == ("log_damaged", [1, 2, 3, 4, 5])


async def _read(url: str) -> tuple[str, list[int]]:
    """The refusal that ends a log, and the events before it."""
    async with smidgen.AsyncClient(url) as client:
        events = client.log("label")
        seen = [(await anext(events))["seq"] for _ in range(5)]
        with pytest.raises(ServiceError) as caught:
            await anext(events)
        return caught.value.code, seen


@pytest.mark.parametrize("format", ["ndjson", "csv", "parquet"])
def test_an_export_has_what_is_there_and_says_what_is_not(format: str, damaged: Path, tmp_path: Path) -> None:
    file = tmp_path / "export"
    done = CliRunner().invoke(
        app, ["log", "export", "label", "--data", str(damaged), "--format", format, "--out", str(file)]
    )
    assert isinstance(done.exception, LogDamaged)
    assert str(done.exception).startswith("the export is incomplete: event 6 of label is missing")
    if format == "ndjson":
        numbers = [msgspec.json.decode(line)["seq"] for line in file.read_bytes().splitlines()]
        assert numbers == [seq for seq in range(1, len(numbers) + 2) if seq != 6]


@pytest.mark.parametrize("fault", ["missing", "twice"])
def test_a_log_with_a_gap_makes_no_model(fault: str, tmp_path: Path, call: Caller) -> None:
    engine = engine_with(tmp_path / "other", ["label"])
    play(engine, ["label"], 20, seed=0)
    text = list(engine.events.all_lines(engine.models["label"]))
    engine.close()
    text[5:7] = [text[6]] if fault == "missing" else [text[5], text[5], text[6]]
    sent = b"\n".join(text) + b"\n"
    answer = call("POST", "/v1/models/back:import", content=sent, headers={"content-type": "application/x-ndjson"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_record")
    expected = {"missing": "event 7 of the log follows event 5", "twice": "event 6 of the log follows event 6"}
    assert expected[fault] in answer.json()["error"]["message"]
    assert call.get("/v1/models/back").status_code == 404
