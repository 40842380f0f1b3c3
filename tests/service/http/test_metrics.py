"""Metrics, read by the parser of Prometheus' own client."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from service.asgi import Caller
from service.live import Live
from smidgen import __version__
from smidgen.service.http.metrics import BUCKETS, LAG, Metrics, exposition
from smidgen.service.storage.records import Counts

ASK = {"candidates": [{"id": "a"}, {"id": "b"}]}
DECIDE = "/v1/models/{name}/decisions"


def series(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every sample of a page. Each metric has a meaning and a kind, and stands in one place."""
    found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    names = []
    for family in text_string_to_metric_families(text):
        names.append(family.name)
        assert family.documentation.endswith(".")
        assert family.type != "unknown"
        for sample in family.samples:
            assert family.type != "counter" or sample.name.endswith("_total")
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    assert len(names) == len(set(names))
    return found


def value(text: str, name: str, **labels: str) -> float:
    return series(text)[name, frozenset(labels.items())]


def test_both_paths_of_a_request_are_in_the_histogram(tmp_path: Path) -> None:
    with Live(tmp_path) as live, httpx.Client(base_url=live.url) as call:
        call.put("/v1/models/m", json={"loop": "choose"})
        for query in ("", "", "?x=1"):  # with a query, a request takes the general path
            made = call.post(f"/v1/models/m/decisions{query}", json=ASK).json()["decision"]
        call.post(f"/v1/decisions/{made}/feedback", json={"reward": 1.0})
        call.get("/nowhere")
        text = call.get("/metrics").text
    decided = {"route": DECIDE, "method": "POST", "status": "201"}
    assert value(text, "smidgen_request_seconds_count", **decided) == 3
    assert value(text, "smidgen_request_seconds_bucket", le="+Inf", **decided) == 3
    assert 0 < value(text, "smidgen_request_seconds_sum", **decided) < 10
    rising = [value(text, "smidgen_request_seconds_bucket", le=str(each), **decided) for each in BUCKETS]
    assert rising == sorted(rising)
    assert value(text, "smidgen_request_seconds_count", route="unmatched", method="GET", status="404") == 1
    assert value(text, "smidgen_model_decisions_total", model="m") == 3
    assert value(text, "smidgen_feedback_total", status="learnt") == 1
    assert value(text, "smidgen_store_bytes") > 0
    assert value(text, "process_resident_memory_bytes") > 1 << 20
    assert 0 < value(text, "process_cpu_seconds_total") < 60
    (build,) = (labels for name, labels in series(text) if name == "smidgen_build_info")
    assert dict(build)["version"] == __version__


def test_models_beyond_the_limit_are_counted(tmp_path: Path) -> None:
    with Caller(tmp_path, metrics_models=2) as call:
        for name in ("quiet", "busy", "other"):
            call.put(f"/v1/models/{name}", {"loop": "choose"})
        for name in ("busy", "other", "busy"):
            call.post(f"/v1/models/{name}/decisions", ASK)
        text = call.get("/metrics").text
    named = {dict(labels)["model"] for name, labels in series(text) if name == "smidgen_model_decisions_total"}
    assert named == {"busy", "other"}
    assert value(text, "smidgen_models_without_series") == 1


def test_spend_is_shown_next_to_its_limit(tmp_path: Path) -> None:
    with Caller(tmp_path) as call:
        call.put("/v1/models/plain", {"loop": "choose"})
        call.put("/v1/models/m", {"loop": "choose", "budget": {"usd": 0.5, "gpu_s": 4}})
        before = call.get("/metrics").text
        made = call.post(
            "/v1/models/m/decisions", {"candidates": [{"id": "a", "costs": {"usd": 2, "gpu_s": 1}}]}
        ).json()
        call.post(f"/v1/decisions/{made['decision']}/feedback", {"reward": 1, "costs": {"usd": 3}})
        text = call.get("/metrics").text
        shown = call.get("/v1/models/m").json()["budget"]
    usd, gpu = ({"model": "m", "currency": each} for each in ("usd", "gpu_s"))
    assert value(before, "smidgen_model_cost_limit", **usd) == 0.5
    assert "smidgen_model_cost_mean{" not in before
    assert value(text, "smidgen_model_cost_recent", **usd) == value(text, "smidgen_model_cost_mean", **usd) == 3
    assert value(text, "smidgen_model_cost_mean", **gpu) == 1
    assert value(text, "smidgen_model_price", **usd) == shown["usd"]["price"] > 0
    assert {dict(labels).get("model") for name, labels in series(text) if "_cost_" in name} == {"m"}


def test_a_token_of_one_model_sees_neither_the_store_nor_other_models(tmp_path: Path) -> None:
    with Caller(tmp_path) as call:
        for name in ("m", "other"):
            call.put(f"/v1/models/{name}", {"loop": "choose"})
        token = call.post("/v1/tokens", {"scopes": ["read"], "model": "m"}).json()["token"]
        seen = series(call.get("/metrics", headers={"authorization": f"Bearer {token}"}).text)
    assert "smidgen_store_bytes" not in {name for name, _ in seen}
    assert {dict(labels)["model"] for _, labels in seen if "model" in dict(labels)} == {"m"}


@pytest.mark.parametrize("name", ['a"b', "back\\slash", "new\nline", "größe"])
def test_labels_are_escaped(name: str) -> None:
    counts = Counts()
    text = exposition([], [(name, counts)], gauges=[(LAG, {"worker": 1, "model": name}, 2)])
    assert value(text, "smidgen_model_version", model=name) == 0
    assert value(text, "smidgen_lag_events", worker="1", model=name) == 2


def test_seconds_fall_into_their_bucket() -> None:
    metrics = Metrics()
    for seconds in (0.0, BUCKETS[0], 0.3, 99.0):
        metrics.observe("/r", "GET", 200, seconds)
    note = {"counts": [], "requests": [["/r", "GET", 200, *metrics._requests["/r", "GET", 200]]]}
    text = exposition([note], [])
    at = {"route": "/r", "method": "GET", "status": "200"}
    assert value(text, "smidgen_request_seconds_bucket", le=str(BUCKETS[0]), **at) == 2
    assert value(text, "smidgen_request_seconds_bucket", le="0.5", **at) == 3
    assert value(text, "smidgen_request_seconds_bucket", le="10.0", **at) == 3
    assert value(text, "smidgen_request_seconds_count", **at) == 4
