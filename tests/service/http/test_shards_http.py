"""Models with several shards, asked by apps, people and commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from service.asgi import Caller
from service.bodies import Clock
from service.tokens import Mint
from smidgen.cli import app as cli
from smidgen.service.engine.model import shard_of
from smidgen.service.ope import replay

SHOP = {"loop": "choose", "keyed": True, "shards": 4, "candidates": [{"id": "a"}, {"id": "b"}]}
OF = {shard: next(f"k{i}" for i in range(100) if shard_of(f"k{i}", 4) == shard) for shard in range(4)}
KEYS = sorted(f"k{i}" for i in range(10))


@pytest.fixture
def call(call: Caller) -> Caller:
    assert call.put("/v1/models/shop", SHOP).status_code == 201
    return call


def ask(call: Caller, key: str, name: str = "shop", **more: Any) -> Any:
    reply = call.post(f"/v1/models/{name}/decisions", {"key": key, "candidates": [{"id": "a"}, {"id": "b"}], **more})
    assert reply.status_code == 201, reply.text
    return reply.json()


def learn(call: Caller, key: str, reward: float = 1.0) -> Any:
    reply = call.post(f"/v1/decisions/{ask(call, key)['decision']}/feedback", {"reward": reward})
    assert reply.status_code == 200, reply.text
    return reply.json()


def lines(reply: Any) -> list[dict[str, Any]]:
    assert reply.status_code == 200, reply.text
    return [json.loads(line) for line in reply.text.splitlines()]


def test_how_it_is_made(call: Caller) -> None:
    assert call.put("/v1/models/shop", SHOP).status_code == 200
    assert call.put("/v1/models/shop", {**SHOP, "shards": 2}).status_code == 409
    for wrong in ({**SHOP, "keyed": False}, {**SHOP, "shards": 0}, {**SHOP, "shards": 65}):
        assert call.put("/v1/models/other", wrong).status_code == 422, wrong
    assert call.put("/v1/models/many", {**SHOP, "shards": 64}).json()["shards"] == 64
    assert call.put("/v1/models/shop%2F0", SHOP).status_code in (400, 404)
    assert [model["name"] for model in call.get("/v1/models").json()["models"]] == ["shop", "many"]
    assert call.get("/v1/models/shop/0").status_code == 404
    reply = call.get("/v1/models/shop").json()
    assert (reply["shards"], reply["shard_versions"], reply["model_version"]) == (4, [0, 0, 0, 0], 0)


def test_the_former_name_is_refused_with_the_new_one(call: Caller) -> None:
    reply = call.put("/v1/models/other", {"loop": "choose", "keyed": True, "slots": 4})
    assert reply.status_code == 422
    assert reply.json()["error"]["message"].startswith('unknown field "slots"')
    assert 'did you mean "shards"' in reply.json()["error"]["hint"]
    reply = call.post("/v1/models/shop/decisions", {"key": "a", "candidates": [{"id": "a"}], "slots": 4})
    assert reply.status_code == 422
    assert "shards" not in reply.json()["error"]["hint"]


def test_one_shard_is_described_as_before(call: Caller) -> None:
    call.put("/v1/models/one", {"loop": "choose"})
    reply = call.post("/v1/models/one/decisions", {"candidates": [{"id": "a"}, {"id": "b"}]}).json()
    heard = call.post(f"/v1/decisions/{reply['decision']}/feedback", {"reward": 1.0}).json()
    assert "shard" not in reply
    assert heard == {"status": "learnt", "model_version": 1}
    assert all("shard" not in line for line in lines(call.get("/v1/models/one/log?after=0&shard=0")))
    assert call.post("/v1/models/one:rollback", {"version": 0}).json() == {"model_version": 2}
    assert call.get("/v1/models/one/log?shard=1").status_code == 422


def test_decisions_and_feedback(call: Caller) -> None:
    for shard, key in OF.items():
        assert ask(call, key)["shard"] == shard
        assert learn(call, key) == {"status": "learnt", "model_version": 1, "shard": shard}
    wanted = [{"key": OF[shard], "candidates": [{"id": "a"}, {"id": "b"}]} for shard in (3, 1, 0, 3)]
    batch = call.post("/v1/models/shop/decisions:batch", {"decisions": wanted}).json()["decisions"]
    assert [each["shard"] for each in batch] == [3, 1, 0, 3]
    given = [{"decision": each["decision"], "reward": 0.5} for each in batch]
    results = call.post("/v1/feedback:batch", {"feedback": given}).json()["results"]
    assert [(each["shard"], each["model_version"]) for each in results] == [(3, 2), (1, 2), (0, 2), (3, 3)]
    late = ask(call, OF[2], activate=False)
    assert call.post(f"/v1/decisions/{late['decision']}/shown", {}).json() == {"status": "shown"}
    story = call.get(f"/v1/decisions/{batch[0]['decision']}").json()
    assert (story["model"], story["shown"]["shard"], story["learnt_version"]) == ("shop", 3, 2)
    assert story["contributions_now"]["version"] == 3
    back = call.post(f"/v1/decisions/{batch[0]['decision']}:retract", None).json()
    assert back == {"model_version": 4, "shard": 3}
    reply = call.get("/v1/models/shop").json()
    assert (reply["shard_versions"], reply["model_version"], reply["decisions"]) == ([2, 2, 1, 4], 9, 13)
    assert call.post("/v1/models/shop/decisions", {"candidates": [{"id": "a"}]}).status_code == 422


def test_the_log_shard_by_shard(call: Caller) -> None:
    for key in OF.values():
        learn(call, key)
    whole = lines(call.get("/v1/models/shop/log"))
    assert [line["shard"] for line in whole] == sorted(line["shard"] for line in whole)
    parts = [lines(call.get(f"/v1/models/shop/log?shard={shard}")) for shard in range(4)]
    assert [line for part in parts for line in part] == whole
    assert [[line["seq"] for line in part] for part in parts] == [[1, 2, 3]] * 4
    assert lines(call.get("/v1/models/shop/log?shard=2&after=1")) == parts[2][1:]
    refused = call.get("/v1/models/shop/log?after=1")
    assert refused.status_code == 422
    assert "shard=" in refused.json()["error"]["hint"]
    assert call.get("/v1/models/shop/log?shard=4").status_code == 422


def test_a_log_makes_a_model_with_as_many_shards(call: Caller) -> None:
    for key in KEYS:
        learn(call, key)
    text = call.get("/v1/models/shop/log").content
    made = call("POST", "/v1/models/again:import", content=text, headers={"content-type": "application/x-ndjson"})
    assert made.status_code == 201, made.text
    assert (made.json()["shards"], made.json()["keys"]) == (4, len(KEYS))
    for key in KEYS:
        there, here = (call.get(f"/v1/models/{name}/weights?key={key}").json()["weights"] for name in ("shop", "again"))
        assert there == here != []
        assert ask(call, key, "again")["shard"] == shard_of(key, 4)
    piece = call.get("/v1/models/shop/log?shard=1").content
    for name, content in (("piece", piece), ("two", text)):
        call.put("/v1/models/two", {**SHOP, "shards": 2})
        refused = call(
            "POST", f"/v1/models/{name}:import", content=content, headers={"content-type": "application/x-ndjson"}
        )
        assert refused.status_code in (409, 422), (name, refused.text)


@pytest.mark.parametrize("more", [{}, {"learner": "LinUCB", "features": ["x"], "shared_start": False}], ids=str)
def test_a_model_that_has_grown_is_spread(tmp_path: Path, more: dict[str, Any]) -> None:
    """The log of a model with one shard fills one that was made with more; every key goes on where it was."""
    body: dict[str, Any] = {"loop": "choose", "keyed": True, "feedback": "reward", **more}
    candidates = [{"id": "a", "features": {"x": 0.5}}, {"id": "b", "features": {"x": 1.0}}]
    media = {"content-type": "application/x-ndjson"}
    weights = {}
    with Caller(tmp_path) as call:
        assert call.put("/v1/models/small", body).status_code == 201
        for i in range(5 * len(KEYS)):
            asked = {"key": KEYS[i % len(KEYS)], "candidates": candidates}
            made = call.post("/v1/models/small/decisions", asked).json()
            call.post(f"/v1/decisions/{made['decision']}/feedback", {"reward": i % 3 / 2})
        assert call.put("/v1/models/large", {**body, "shards": 4}).status_code == 201
        reply = call("POST", "/v1/models/large:import", content=call.get("/v1/models/small/log").content, headers=media)
        assert reply.status_code == 200, reply.text
        assert reply.json()["shards"] == 4
        for key in KEYS:
            small, weights[key] = (
                call.get(f"/v1/models/{name}/weights?key={key}").json()["weights"] for name in ("small", "large")
            )
            assert small == weights[key] != []
        new = {"key": "a newcomer", "candidates": candidates}
        begun = [call.post(f"/v1/models/{name}/decisions", new).json() for name in ("small", "large")]
        assert begun[0]["choice"] == begun[1]["choice"]
    with Caller(tmp_path) as call:
        assert {key: call.get(f"/v1/models/large/weights?key={key}").json()["weights"] for key in KEYS} == weights
    done = CliRunner().invoke(cli, ["log", "verify", "large", "--data", str(tmp_path)])
    assert done.exit_code == 0, done.output


def test_back_to_a_moment(call: Caller, clock: Clock) -> None:
    for key in OF.values():
        learn(call, key)
    clock.now += 10.0
    for key in OF.values():
        learn(call, key, 0.0)
    refused = call.post("/v1/models/shop:rollback", {"version": 1})
    assert refused.status_code == 422
    assert "time" in refused.json()["error"]["hint"]
    for wrong in (
        {},
        {"version": 1, "time": 5.0},
        {"time": clock.now + 5},
        {"time": 9e99},
        {"time": "1970-01-12T13:46:45"},
    ):
        assert call.post("/v1/models/shop:rollback", wrong).status_code in (400, 422), wrong
    done = call.post("/v1/models/shop:rollback", {"time": "1970-01-12T14:46:45+01:00"}).json()
    assert done == {"model_version": 12, "shards": [{"to": 1, "model_version": 3}] * 4}
    assert call.post("/v1/models/shop:rollback", {"time": clock.now}).json()["model_version"] == 16


def test_what_people_see(call: Caller, clock: Clock) -> None:
    for round_ in range(8):
        for key in KEYS:
            clock.now += 1.0
            learn(call, key, round_ % 2)
    reply = call.get("/ui/models.json").json()
    assert [model["name"] for model in reply["models"]] == ["shop"]
    assert reply["models"][0]["decisions"] == 80
    assert call.get("/ui/models/shop/keys.json").json()["keys"] == KEYS
    curve = call.get("/ui/models/shop/curve.json").json()
    assert sum(point["n"] for point in curve["points"]) == 80
    assert (curve["complete"], curve["lag"]["of"]) == (True, 80)
    assert call.get("/v1/models/shop").json()["open"] == 0
    found: list[Any] = []
    before = "0"
    while page := call.get(f"/ui/models/shop/recent.json?before={before}").json():
        if not page["decisions"]:
            break
        found += page["decisions"]
        before = page["older"]
    assert len({each["decision"] for each in found}) == len(found) == 80
    assert [each["made_at"] for each in found] == sorted((each["made_at"] for each in found), reverse=True)
    assert call.get("/ui/models/shop/recent.json?before=7").status_code == 400
    weights = call.get("/ui/models/shop/weights.json").json()
    assert (weights["key"], weights["why_not"]) == (KEYS[0], None)
    for key in KEYS:
        assert call.get(f"/ui/models/shop/weights.json?key={key}").json()["rounds"] == 8
        assert call.get(f"/v1/models/shop/weights?key={key}").json()["model_version"] >= 8
    assert call.get("/ui/models/shop/names.json").json()["names"]
    assert call.get("/v1/models/shop/weights?key=nobody").status_code == 404
    assert 'smidgen_model_decisions_total{model="shop"} 80' in call.get("/metrics").text
    assert "shop/" not in call.get("/metrics").text
    quality = call.get("/v1/models/shop").json()["quality"]
    assert (quality["of"], quality["value"]) == (80, 0.5)
    gone = call("DELETE", f"/v1/models/shop/keys/{KEYS[3]}").json()
    assert gone["shard"] == shard_of(KEYS[3], 4)
    assert KEYS[3] not in call.get("/ui/models/shop/keys.json").json()["keys"]


def test_findings_once(call: Caller, clock: Clock) -> None:
    for _ in range(50):
        for key in OF.values():
            learn(call, key, 0.0)
    findings = call.get("/v1/models/shop/health").json()["findings"]
    codes = [finding["code"] for finding in findings]
    assert len(codes) == len(set(codes)) > 0
    assert all("of 4 shards" in finding["message"] for finding in findings)


def test_a_challenger_is_compared_over_all_shards(call: Caller) -> None:
    call.put("/v1/models/rival", {"loop": "choose", "challenger_of": {"model": "shop", "share": 0.5}})
    for _ in range(10):
        for key in KEYS:
            learn(call, key)
    reply = call.get("/v1/models/rival/compare").json()
    assert sum(arm["of"] for arm in reply["arms"].values()) == 100
    assert min(arm["of"] for arm in reply["arms"].values()) > 20
    assert call.get("/v1/models/rival").json()["shards"] == 4
    promoted = call.post("/v1/models/rival:promote", None).json()
    assert promoted["model_version"] == call.get("/v1/models/shop").json()["model_version"]


def test_a_token_of_the_model_is_one_for_all_its_shards(call: Caller, tmp_path: Path) -> None:
    decided = [ask(call, key)["decision"] for key in OF.values()]
    ours, theirs = (
        {"authorization": f"Bearer {Mint(tmp_path).create(['decide', 'feedback'], name, 0.0)[1]}"}
        for name in ("shop", "other")
    )
    for decision in decided:
        path = f"/v1/decisions/{decision}/feedback"
        assert call.post(path, {"reward": 1.0}, headers=theirs).status_code == 404
        assert call.post(path, {"reward": 1.0}, headers=ours).status_code == 200


def test_a_flag_with_shards(call: Caller) -> None:
    for shard, key in OF.items():
        reply = call.post("/ofrep/v1/evaluate/flags/shop", {"context": {"targetingKey": key}}).json()
        assert reply["metadata"]["shard"] == shard
    both = [call.post("/ofrep/v1/evaluate/flags", {"context": {"targetingKey": OF[2]}}) for _ in range(2)]
    assert both[0].json() == both[1].json()


class TestCommands:
    """The commands over a data folder."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        with Caller(tmp_path) as call:
            call.put("/v1/models/shop", SHOP)
            for _ in range(3):
                for key in KEYS:
                    learn(call, key)
        return tmp_path

    def run(self, *arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(cli, list(arguments))
        assert done.exit_code == code, done.output
        return done.output

    def test_exports_are_sound_and_lead_to_the_same(self, folder: Path, tmp_path: Path) -> None:
        data = ("--data", str(folder))
        assert "no errors found" in self.run("log", "verify", "shop", *data)
        for format in ("ndjson", "csv", "parquet", "dsjson"):
            self.run("log", "export", "shop", *data, "--format", format, "--out", str(tmp_path / f"log.{format}"))
        header, *rows = (tmp_path / "log.csv").read_text().splitlines()
        assert header.startswith("shard,seq,type")
        assert len(rows) == 4 + 2 * 3 * len(KEYS)
        assert len((tmp_path / "log.dsjson").read_text().splitlines()) == 3 * len(KEYS)
        for format in ("ndjson", "parquet"):
            assert "no errors found" in self.run("log", "verify", str(tmp_path / f"log.{format}"))
        key = KEYS[0]
        replays = [
            self.run("log", "replay", name, *data, "--key", key) for name in ("shop", str(tmp_path / "log.ndjson"))
        ]
        assert replays[0].splitlines()[1:] == replays[1].splitlines()[1:]
        self.run("log", "export", "shop", *data, "--after", "3", code=2)
        one = self.run("log", "export", "shop", *data, "--after", "3", "--shard", "1").splitlines()
        assert {json.loads(line)["shard"] for line in one} == {1}

    def test_a_replay_is_that_of_the_keys(self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """By name or from a file, in one piece or by key, as if it were a log of one shard with the same events."""
        monkeypatch.setattr(replay, "WORTH", 1)
        out, one = tmp_path / "log.ndjson", tmp_path / "one"
        self.run("log", "export", "shop", "--data", str(folder), "--out", str(out))
        found = [
            replay.replay(log, ["LinUCB:width=0.5"], data=folder, jobs=jobs, split=split)
            for log, split, jobs in (("shop", "auto", 1), (str(out), "auto", 1), ("shop", "key", 2))
        ]
        assert found[0].outcomes == found[1].outcomes == found[2].outcomes
        assert (found[0].decisions, found[0].answered) == (3 * len(KEYS), 3 * len(KEYS))
        with Caller(one) as call:
            call.put("/v1/models/shop", {**SHOP, "shards": 1})
            for _ in range(3):
                for key in KEYS:
                    learn(call, key)
        (own, other), (same, twin) = found[0].outcomes, replay.replay("shop", ["LinUCB:width=0.5"], data=one).outcomes
        assert own.figures[0].of == same.figures[0].of
        assert other.figures[0].of == twin.figures[0].of

    def test_pieces_by_time_fit_together(self, folder: Path, tmp_path: Path) -> None:
        pieces = tmp_path / "pieces"
        pieces.mkdir()
        middle = sorted(
            line["at"]
            for line in map(json.loads, self.run("log", "export", "shop", "--data", str(folder)).splitlines())
        )
        cut = middle[len(middle) // 2][:19]
        for name, span in (("b", ("--until", cut)), ("a", ("--since", cut))):
            out = ("--out", str(pieces / f"{name}.ndjson"))
            self.run("log", "export", "shop", "--data", str(folder), *span, *out)
        assert "no errors found" in self.run("log", "verify", str(pieces))

    def test_back_to_a_moment(self, folder: Path) -> None:
        data = ("--data", str(folder))
        self.run("rollback", "shop", "1", *data, code=1)
        self.run("rollback", "shop", *data, code=2)
        self.run("rollback", "shop", "--time", "2100-01-01", *data, code=1)
        self.run("rollback", "shop", "--time", "2001-01-01", *data, code=1)
        self.run("fsck", *data)

    def test_models_are_listed_once(self, folder: Path) -> None:
        listed = json.loads(self.run("models", "--json", "--data", str(folder)))
        assert [(each["name"], each["shards"], each["decisions"]) for each in listed] == [("shop", 4, 3 * len(KEYS))]
        assert "shop (shard 2)" in self.run("snapshot", "list", "--data", str(folder))
