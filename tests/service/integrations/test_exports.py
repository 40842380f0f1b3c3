"""Logs for other programs: what a reader of each format finds."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from service.asgi import Caller
from smidgen.cli import app
from smidgen.service.integrations.exports import formats

DAY = 86_400.0


class Clock:
    """Time that the test sets."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A choose model by reward with answers, silence, a late answer, one that was taken back; and a rank model."""
    folder, clock = tmp_path_factory.mktemp("exports") / "data", Clock()
    with Caller(folder, clock=clock) as call:
        call.put("/v1/models/banner", {"loop": "choose", "feedback": "reward", "default_reward": 0.25, "window_s": 60})
        for number in range(6):
            candidates = [{"id": "=a", "features": {"size": number}}, {"id": 7, "features": {"tags": ["x", "y:z|"]}}]
            body = {"candidates": candidates, "context": {"device": "ios"}}
            made = call.post("/v1/models/banner/decisions", body).json()["decision"]
            if number == 4:
                clock.now += 61  # its silence is learnt before what comes next
            call.post(f"/v1/decisions/{made}/feedback", {"reward": number / 10})
            if number == 5:
                call.post(f"/v1/decisions/{made}:retract", {})
            clock.now += DAY
        call.put("/v1/models/order", {"loop": "rank", "learner": "PreferencePerceptron", "features": ["p", "q"]})
        rows = [{"id": "a", "features": [1, 2]}, {"id": "b", "features": [2, 1]}]
        made = call.post("/v1/models/order/decisions", {"candidates": rows}).json()["decision"]
        call.post(f"/v1/decisions/{made}/feedback", {"better": ["b"]})
        call.put(
            "/v1/models/plain", {"loop": "choose", "feedback": "reward", "features": ["p", "q"], "learner": "LinUCB"}
        )
        made = call.post("/v1/models/plain/decisions", {"candidates": rows}).json()["decision"]
        call.post(f"/v1/decisions/{made}/feedback", {"reward": 1})
    return folder


def export(data: Path, name: str, format: str, out: Path, *more: str) -> str:
    given = ["log", "export", name, "--data", str(data), "--format", format, "--out", str(out), *more]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    return done.output


def test_there_are_the_four_formats() -> None:
    assert set(formats()) == {"ndjson", "csv", "parquet", "dsjson"}


def test_ndjson_is_the_log(data: Path, tmp_path: Path) -> None:
    export(data, "banner", "ndjson", tmp_path / "log")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    done = CliRunner().invoke(app, ["log", "export", "banner", "--data", str(data)])
    assert done.output.encode() == (tmp_path / "log").read_bytes()
    assert CliRunner().invoke(app, ["log", "verify", str(tmp_path / "log")]).exit_code == 0


def test_a_log_that_begins_with_a_base_goes_out_too(data: Path, tmp_path: Path) -> None:
    folder, run = tmp_path / "data", CliRunner().invoke
    shutil.copytree(data, folder)
    whole = run(app, ["log", "replay", "banner", "--data", str(folder)]).output.splitlines()[1:]
    assert run(app, ["retain", "banner", "--older-than", "1s", "--data", str(folder)]).exit_code == 0
    export(folder, "banner", "ndjson", tmp_path / "log")
    export(folder, "banner", "parquet", tmp_path / "log.parquet")
    first = json.loads((tmp_path / "log").read_text().splitlines()[0])
    assert first["type"] == "base"
    assert run(app, ["log", "export", "banner", "--data", str(folder)]).output == (tmp_path / "log").read_text()
    assert run(app, ["log", "verify", str(tmp_path / "log")]).exit_code == 0
    assert run(app, ["log", "replay", str(tmp_path / "log")]).output.splitlines()[1:] == whole


def test_csv_has_a_row_for_each_event_and_no_formulas(data: Path, tmp_path: Path) -> None:
    export(data, "banner", "csv", tmp_path / "log.csv")
    with (tmp_path / "log.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = {row["type"] for row in rows}
    assert {"created", "decision", "feedback", "expired", "retracted"} <= kinds
    made = next(row for row in rows if row["type"] == "decision")
    assert json.loads(made["answer"])["choice"] in ("=a", 7)
    assert json.loads(made["candidates"]) == ["=a", 7]
    assert 0.0 < float(made["propensity"]) <= 1.0
    assert not any(cell[:1] in "=+@" for row in rows for cell in row.values() if cell)


def test_parquet_holds_the_rows_and_the_events_in_full(data: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    export(data, "banner", "parquet", tmp_path / "log.parquet")
    export(data, "banner", "ndjson", tmp_path / "log")
    table = parquet.read_table(tmp_path / "log.parquet").to_pydict()
    assert [line.decode() for line in table["line"]] == (tmp_path / "log").read_text().splitlines()
    assert table["seq"] == list(range(1, len(table["seq"]) + 1))
    assert table["type"][0] == "created"


def test_a_span_of_time(data: Path, tmp_path: Path) -> None:
    whole = [json.loads(line) for line in _lines(data, tmp_path)]
    since = whole[5]["at"][:10]
    some = [json.loads(line) for line in _lines(data, tmp_path, "--since", since)]
    assert [each["seq"] for each in some] == [each["seq"] for each in whole if each["at"] >= since]
    none = _lines(data, tmp_path, "--until", "2001-01-01")
    assert none == []
    assert 0 < len(some) < len(whole)


def _lines(data: Path, tmp_path: Path, *more: str) -> list[str]:
    export(data, "banner", "ndjson", tmp_path / "part", *more)
    return (tmp_path / "part").read_text().splitlines()


class TestDsjson:
    def test_has_what_was_learnt_and_stands(self, data: Path, tmp_path: Path) -> None:
        said = export(data, "banner", "dsjson", tmp_path / "log.dsjson")
        lines = [json.loads(line) for line in (tmp_path / "log.dsjson").read_text().splitlines()]
        assert f"{len(lines)} answered decisions" in said
        assert [-line["_label_cost"] for line in lines] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.25, 0.25])
        for line in lines:
            assert line["a"][0] == line["_label_Action"]
            assert sum(line["p"]) == pytest.approx(1.0)
            assert line["p"][0] == line["_label_probability"]
            assert len(line["c"]["_multi"]) == 2
        assert "id=7" in lines[3]["c"]["_multi"][1]["f"]

    def test_of_rows_of_numbers(self, data: Path, tmp_path: Path) -> None:
        export(data, "plain", "dsjson", tmp_path / "log.dsjson")
        (line,) = (tmp_path / "log.dsjson").read_text().splitlines()
        assert [each["f"] for each in json.loads(line)["c"]["_multi"]] == [{"p": 1.0, "q": 2.0}, {"p": 2.0, "q": 1.0}]

    def test_other_loops_have_none(self, data: Path, tmp_path: Path) -> None:
        out = str(tmp_path / "x")
        done = CliRunner().invoke(
            app, ["log", "export", "order", "--data", str(data), "--format", "dsjson", "--out", out]
        )
        assert done.exit_code != 0
        assert "not a log of choices with rewards" in f"{done.output}{done.exception}"

    def test_vowpal_wabbit_reads_it(self, data: Path, tmp_path: Path) -> None:
        pytest.importorskip("vowpalwabbit", reason="Vowpal Wabbit is not installed")
        export(data, "banner", "dsjson", tmp_path / "log.dsjson")
        code = "import sys, vowpalwabbit as v; w = v.Workspace(sys.argv[1], quiet=False); w.finish()"
        args = f"--cb_explore_adf --dsjson -d {tmp_path / 'log.dsjson'} -P 1"
        done = subprocess.run(
            [sys.executable, "-c", code, args], capture_output=True, text=True, timeout=100, check=True
        )
        said = done.stdout + done.stderr
        count = next(line for line in said.splitlines() if "number of examples" in line)
        assert int(count.split("=")[1]) == 6
        assert "error" not in said.lower()


class TestDsjsonIn:
    HEADERS = MappingProxyType({"content-type": "application/x-dsjson"})

    @pytest.fixture
    def call(self, tmp_path: Path) -> Any:
        with Caller(tmp_path) as caller:
            caller.put("/v1/models/banner", {"loop": "choose", "feedback": "reward"})
            yield caller

    @staticmethod
    def event(shown: int, cost: float, **more: Any) -> dict[str, Any]:
        actions = [{"_tag": "sport", "TAction": {"topic": "sport"}}, {"_tag": "art", "TAction": {"topic": "art"}}]
        about = {"GUser": {"device": "ios", "_age": 3}, "_multi": actions}
        return {"_label_cost": cost, "_label_probability": 0.5, "_label_Action": shown, "c": about, **more}

    def send(self, call: Caller, *lines: Any) -> Any:
        content = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines).encode()
        return call("POST", "/v1/models/banner:import", content=content, headers=dict(self.HEADERS))

    def test_teaches_once(self, call: Caller) -> None:
        rng = np.random.default_rng(0)
        lines = [self.event(int(a), -float(a == 2)) for a in rng.integers(1, 3, 200)]
        reply = self.send(call, *lines, self.event(1, 0, _skipLearn=True), {"RewardValue": 1})
        assert (reply.status_code, reply.json()["taught"], reply.json()["passed_over"]) == (200, 200, 2)
        assert reply.json()["model_version"] == 1
        again = self.send(call, *lines, self.event(1, 0, _skipLearn=True), {"RewardValue": 1})
        assert again.json()["model_version"] == 1
        weights = {each["name"]: each["weight"] for each in call.get("/v1/models/banner/weights").json()["weights"]}
        assert weights["TAction.topic=art"] > weights["TAction.topic=sport"]
        assert not any("_age" in name for name in weights)

    @pytest.mark.parametrize(
        "line",
        [
            "{",
            "[]",
            {"_label_cost": -1, "_label_Action": 1},
            {"_label_cost": -1, "_label_Action": 1, "c": {"_multi": []}},
            {"_label_cost": -1, "_label_Action": 3, "c": {"_multi": [{}, {}]}},
            {"_label_cost": "x", "_label_Action": 1, "c": {"_multi": [{}]}},
            {"_label_cost": -7, "_label_Action": 1, "c": {"_multi": [{}]}},
            {"_label_cost": -1, "_label_Action": 1, "c": {"_multi": [1]}},
            {"_label_cost": -1, "_label_Action": 1, "c": {"_multi": [{"_tag": 5}]}},
        ],
    )
    def test_bad_lines_are_refused_and_nothing_is_taught(self, call: Caller, line: Any) -> None:
        reply = self.send(call, self.event(1, -1.0), line)
        assert reply.status_code == 422
        assert "line 2" in reply.json()["error"]["message"] or "examples[1]" in reply.json()["error"]["message"]
        assert call.get("/v1/models/banner").json()["model_version"] == 0

    def test_goes_round(self, data: Path, tmp_path: Path, call: Caller) -> None:
        export(data, "banner", "dsjson", tmp_path / "log.dsjson")
        content = (tmp_path / "log.dsjson").read_bytes()
        reply = call("POST", "/v1/models/banner:import", content=content, headers=dict(self.HEADERS))
        assert (reply.status_code, reply.json()["taught"]) == (200, 6)

    def test_needs_a_model(self, call: Caller) -> None:
        assert call("POST", "/v1/models/none:import", content=b"{}", headers=dict(self.HEADERS)).status_code == 404
