"""Traces, received by a stand-in for an OpenTelemetry collector."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from service.live import Live

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
ASK = {"candidates": [{"id": "a"}, {"id": "b"}]}


class Collector(ThreadingHTTPServer):
    """Keeps the spans that are sent to it."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.services: set[str] = set()
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        assert self.path == "/v1/traces"
        sent = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"])))
        for each in sent.resource_spans:
            self.server.services |= {a.value.string_value for a in each.resource.attributes if a.key == "service.name"}
            self.server.spans += [span for scope in each.scope_spans for span in scope.spans]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Be silent."""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        yield server
        server.shutdown()
        thread.join()


def test_spans_reach_from_the_request_to_its_commit(tmp_path: Path, collector: Collector) -> None:
    own = {"traceparent": f"00-{TRACE}-{PARENT}-01", "x-request-id": "r1"}
    with Live(tmp_path, "--otel") as live, httpx.Client(base_url=live.url) as call:
        call.put("/v1/models/m", json={"loop": "choose"})
        for query in ("", "?x=1"):  # with a query, a request takes the general path
            assert call.post(f"/v1/models/m/decisions{query}", json=ASK, headers=own).status_code == 201
        assert call.get("/v1/models/nobody", headers={"traceparent": "not one"}).status_code == 404
        assert live.stop()[0] == 0
    assert collector.services == {"smidgen"}
    decided = [span for span in collector.spans if span.name == "POST /v1/models/{name}/decisions"]
    assert len(decided) == 2
    for span in decided:
        assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
        assert span.kind == span.SPAN_KIND_SERVER
        seen = {each.key: each.value for each in span.attributes}
        assert seen["http.response.status_code"].int_value == 201
        assert seen["smidgen.request_id"].string_value == "r1"
        inside = sorted(
            (each for each in collector.spans if each.parent_span_id == span.span_id),
            key=lambda each: (each.start_time_unix_nano, each.end_time_unix_nano),
        )
        assert {each.name for each in inside} == {"smidgen.wait", "smidgen.command", "smidgen.commit"}
        by_name = {each.name: each for each in inside}
        wait, command, commit = (by_name[f"smidgen.{part}"] for part in ("wait", "command", "commit"))
        times = [span.start_time_unix_nano, wait.start_time_unix_nano, command.start_time_unix_nano]
        times += [commit.start_time_unix_nano, commit.end_time_unix_nano, span.end_time_unix_nano]
        assert times == sorted(times)
    (missing,) = (span for span in collector.spans if span.name == "GET /v1/models/{name}")
    assert not missing.parent_span_id
    assert missing.trace_id.hex() != TRACE


def test_a_collector_that_is_away_costs_no_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with Live(tmp_path, "--otel") as live, httpx.Client(base_url=live.url) as call:
        assert call.put("/v1/models/m", json={"loop": "choose"}).status_code == 201
        assert call.post("/v1/models/m/decisions", json=ASK).status_code == 201
        assert live.stop()[0] == 0
