"""Learners and a loop of others work in the service as ours do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from service.asgi import Caller
from service.sample_plugins import Bid, NearestMean, SignDescent, plugin_learners, plugin_loop
from smidgen.cli import app
from smidgen.client import Client
from smidgen.errors import InvalidArgument
from smidgen.learners import Card, Loop, cards, recommended
from smidgen.learners.card import in_order
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import DecisionBody

MAIL = {"loop": "label", "learner": "NearestMean", "features": ["links", "known"], "labels": ["spam", "ham"]}
SPACE = {"type": "Ball", "dim": 2, "radius": 1.0}


@pytest.fixture
def plugins() -> Iterator[None]:
    with plugin_learners(), plugin_loop():
        yield


@pytest.fixture
def call(plugins: None, tmp_path: Path) -> Iterator[Caller]:
    with Caller(tmp_path / "data") as caller:
        yield caller


def command(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.output


def verified(folder: Path, model: str) -> None:
    assert "  no errors found" in command("log", "verify", model, "--data", str(folder / "data"))


class TestLabelLearner:
    def test_from_creation_to_what_if(self, call: Caller, tmp_path: Path) -> None:
        assert call.put("/v1/models/mail", MAIL).status_code == 201
        assert "NearestMean" in [one["name"] for one in call.get("/ui/learners.json").json()["label"]]
        twin, rng = NearestMean(dim=2, n_classes=2), np.random.default_rng(1)
        for i in range(12):
            x, true = rng.normal(size=2).round(2).tolist(), ("spam", "ham")[i % 2]
            made = call.post("/v1/models/mail/decisions", {"features": x}).json()
            mine = twin.decide(np.array(x))
            assert made["label"] == MAIL["labels"][mine.action]
            said = call.post(f"/v1/decisions/{made['decision']}/feedback", {"label": true})
            assert said.json() == {"status": "learnt", "model_version": i + 1}
            twin.learn(mine, MAIL["labels"].index(true))
        story = call.get(f"/ui/decisions/{made['decision']}/story.json").json()["lines"]
        assert story[0]["text"] == "The app requested a label from mail."
        assert f"the label is {true}" in story[-2]["text"]
        reply = call.get("/ui/models/mail/weights.json?label=ham").json()
        assert {each["name"]: each["weight"] for each in reply["weights"]} == pytest.approx(
            dict(zip(MAIL["features"], twin.weights[1], strict=True))
        )
        offered = call.get(f"/ui/decisions/{made['decision']}/answers.json").json()
        assert [one["feedback"] for one in offered["options"]] == [{"label": "spam"}, {"label": "ham"}]
        assert "no theorem" in call.get("/ui/models/mail/curve.json").json()["bound"]["why_not"]
        verified(tmp_path, "mail")
        others = ("--learner", "AROW", "--learner", "NearestMean:prior=3", "--learner", "Confidit")
        found = json.loads(command("replay", "mail", "--data", str(tmp_path / "data"), "--json", *others))
        assert [one["learner"] for one in found["outcomes"]] == ["as logged", "AROW", "NearestMean:prior=3", "Confidit"]
        assert found["outcomes"][0]["curve"][-1][0] == 12

    def test_what_it_cannot_learn_is_refused(self, call: Caller) -> None:
        call.put("/v1/models/mail", MAIL)
        made = call.post("/v1/models/mail/decisions", {"features": [1.0, 0.0]}).json()
        refused = call.post(f"/v1/decisions/{made['decision']}/feedback", {"correct": False})
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "impossible")
        assert "NearestMean needs the correct label" in refused.json()["error"]["message"]
        assert call.post(f"/v1/decisions/{made['decision']}/feedback", {"correct": True}).status_code == 200

    def test_it_stands_in_for_ours_in_a_log(self, call: Caller, tmp_path: Path) -> None:
        call.put("/v1/models/ours", {**MAIL, "learner": "Confidit"})
        for i in range(6):
            made = call.post("/v1/models/ours/decisions", {"features": [1.0 * (i % 2), 1.0]}).json()
            call.post(f"/v1/decisions/{made['decision']}/feedback", {"label": MAIL["labels"][i % 2]})
        found = command("replay", "ours", "--data", str(tmp_path / "data"), "--learner", "NearestMean")
        assert "NearestMean" in found
        assert "scales features to unit length" in found

    def test_too_large_a_one_is_refused_before_it_is_made(self, call: Caller) -> None:
        huge = {**MAIL, "features": None, "params": {"dim": 1 << 27}, "labels": list("abcdefgh")}
        refused = call.put("/v1/models/huge", huge)
        assert "NearestMean with dim=134217728" in refused.json()["error"]["message"]


class TestTuner:
    def test_from_creation_to_what_if(self, call: Caller, tmp_path: Path) -> None:
        body = {"loop": "tune", "learner": "SignDescent", "params": {"space": SPACE, "step": 0.1}}
        assert call.put("/v1/models/knobs", body).status_code == 201
        for n in range(1, 8):
            made = call.post("/v1/models/knobs/decisions", {}).json()
            said = call.post(f"/v1/decisions/{made['decision']}/feedback", {"gradient": [1.0, -1.0]})
            assert said.json()["model_version"] == n
        assert made["point"] == pytest.approx([-0.6, 0.6])
        wrong = call.post(f"/v1/decisions/{made['decision']}/feedback", {"loss": 1.0})
        assert wrong.status_code == 409
        open_ = call.post("/v1/models/knobs/decisions", {}).json()["decision"]
        refused = call.post(f"/v1/decisions/{open_}/feedback", {"loss": 1.0}).json()["error"]
        assert refused["message"] == "SignDescent learns from the gradient at the point, not from loss"
        assert refused["hint"] == "send gradient"
        bars = call.get("/ui/models/knobs/weights.json").json()["weights"]
        assert sorted(bar["name"] for bar in bars) == ["x1", "x2"]
        bound = call.get("/ui/models/knobs/curve.json").json()["bound"]
        assert (bound["theorem"], bound["curve"][-1]) == ("1/T", [7, 1 / 7])
        assert "a gradient of 2 numbers" in call.get("/ui/models/knobs/recent.json").text
        verified(tmp_path, "knobs")
        assert "the log has no" in command(
            "replay", "knobs", "--data", str(tmp_path / "data"), "--learner", "OGD:gradient_bound=1"
        )

    def test_it_can_take_over_as_the_recommended_one(self, plugins: None) -> None:
        import smidgen

        del smidgen.learners.learners["SignDescent"], smidgen.learners.cards["SignDescent"]
        stronger = smidgen.Recommended(feedback="gradient", strength=9)
        smidgen.register(Card(loop="tune", feedback="gradient", recommended=(stronger,)))(SignDescent)
        assert isinstance(recommended(loop="tune", feedback="gradient", space=smidgen.Ball(dim=2)), SignDescent)


class TestLoop:
    def played(self, call: Any) -> dict[str, Any]:
        assert (
            call.put(
                "/v1/models/auction",
                {"loop": "bid", "learner": "PreferencePerceptron", "features": ["age", "size"]},
            ).status_code
            == 201
        )
        first = call.post("/v1/models/auction/decisions", {"lots": [[1.0, 0.0], [0.0, 1.0]]}).json()
        assert first["lot"] == 0
        said = call.post(f"/v1/decisions/{first['decision']}/feedback", {"rather": 1})
        assert said.json() == {"status": "learnt", "model_version": 1}
        made: dict[str, Any] = call.post("/v1/models/auction/decisions", {"lots": [[1.0, 0.0], [0.0, 1.0]]}).json()
        assert made["lot"] == 1
        return first

    def test_over_http(self, call: Caller, tmp_path: Path) -> None:
        first = self.played(call)
        shown = call.get("/v1/models/auction").json()
        assert (shown["loop"], shown["quality"]["measure"], shown["quality"]["value"]) == ("bid", "well bid", 0.0)
        texts = [line["text"] for line in call.get(f"/ui/decisions/{first['decision']}/story.json").json()["lines"]]
        assert texts[0] == "The app requested a bid for one of 2 lots from auction."
        assert texts[1] == "Before any feedback, it proposed lot 0."
        assert "rather lot 1" in texts[2]
        assert [one["answer"] for one in call.get("/ui/models/auction/recent.json").json()["decisions"]] == [
            "lot 1",
            "lot 0",
        ]
        curve = call.get("/ui/models/auction/curve.json").json()
        assert (curve["loop"], curve["measure"], len(curve["points"])) == ("bid", "well bid", 1)
        assert call.get("/ui/models.json").json()["models"][0]["sparkline"] == [0.0]
        assert call.get("/ui/models/auction/weights.json").json()["weights"][0]["name"] in ("age", "size")
        verified(tmp_path, "auction")

    def test_the_pages_and_the_document_know_it(self, call: Caller) -> None:
        known = call.get("/ui/loops.json").json()
        assert list(known) == [*Loop, "bid"]
        assert known["bid"]["example"]["model"]["learner"] == "PreferencePerceptron"
        assert (known["bid"]["request"], known["bid"]["answer"]) == ({"lots": True}, ["lot"])
        document = call.get("/openapi.json").json()
        bodies = document["components"]["schemas"]
        assert bodies["ModelBody"]["properties"]["loop"]["enum"][-1] == "bid"
        assert "lots" in bodies["DecisionBody"]["properties"]
        assert "rather" in bodies["FeedbackBody"]["properties"]
        assert "Bid" not in bodies
        answer = document["paths"]["/v1/models/{name}/decisions"]["post"]["responses"]["201"]
        assert "lot" in answer["content"]["application/json"]["schema"]["properties"]
        made = self.played(call)
        offered = call.get(f"/ui/decisions/{made['decision']}/answers.json").json()
        assert offered["entry"]["label"].startswith("Feedback as JSON")

    def test_fields_of_other_loops_are_refused(self, call: Caller) -> None:
        made = self.played(call)
        call.put("/v1/models/news", {"loop": "rank", "learner": "PreferencePerceptron", "features": ["a", "b"]})
        for model, body, message in (
            (
                "auction",
                {"candidates": [{"id": "a", "features": [1, 2]}]},
                'unknown field "candidates" for the loop bid',
            ),
            ("auction", {}, "lots is missing"),
            ("auction", {"lots": "all"}, 'lots is "all"'),
            ("auction", {"lots": [[1, 2]], "wings": 2}, 'unknown field "wings"'),
            ("news", {"lots": [[1.0, 2.0]]}, 'unknown field "lots" for the loop rank'),
        ):
            refused = call.post(f"/v1/models/{model}/decisions", body)
            assert refused.status_code == 422
            assert message in refused.json()["error"]["message"]
        open_ = call.post("/v1/models/auction/decisions", {"lots": [[1, 2]]}).json()["decision"]
        wrong = call.post(f"/v1/decisions/{open_}/feedback", {"better": ["lot 0"]}).json()["error"]
        assert "better is an array" in wrong["message"]
        foreign = call.post(f"/v1/decisions/{open_}/feedback", {"clicked": ["lot 0"]}).json()["error"]
        assert foreign["hint"] == "the loop bid accepts one of rather, better (and costs, id, final)"
        assert made["decision"] != open_

    def test_from_the_client(self, call: Caller) -> None:
        class Through(httpx.BaseTransport):
            def handle_request(self, request: httpx.Request) -> httpx.Response:
                answer = call(request.method, request.url.path, content=request.read(), headers=request.headers)
                return httpx.Response(answer.status_code, content=answer.content)

        with Client("http://127.0.0.1:8470", transport=Through()) as client:
            self.played(call)
            answer = client.model("auction")
            raw = call.post("/v1/models/auction/decisions", {"lots": [[1.0, 0.0], [0.0, 1.0]]}).content
            from smidgen.client import wire

            found = wire.read_answer(raw)
            assert (found.lot, found.action, found.more) == (1, 1, {"lot": 1})
            with pytest.raises(AttributeError, match='no field "wings"'):
                _ = found.wings
            assert answer.learn(found, rather=0).status == "learnt"


def test_a_loop_without_learners_does_no_harm(call: Caller) -> None:
    class Lonely(Bid):
        name = "lonely"
        served_by = ()

    loops.add(Lonely)
    try:
        assert call.get("/ui/learners.json").json()["lonely"] == []
        assert call.get("/ui/loops.json").json()["lonely"]["example"]["model"]["learner"] is None
        refused = call.put("/v1/models/m", {"loop": "lonely", "learner": "PreferencePerceptron", "features": ["a"]})
        assert refused.status_code == 422
        card = Card(loop="lonely", feedback="better")
        assert list(in_order({"Guest": card, **cards}))[-1] == "Guest"
    finally:
        loops.remove("lonely")


def test_a_loop_cannot_come_twice_or_change_the_type_of_a_field(plugins: None) -> None:
    with pytest.raises(InvalidArgument, match="a loop called bid is already registered"):
        loops.add(Bid)

    class Words(DecisionBody, kw_only=True):
        lots: str

    class Other(Bid):
        name = "other"
        request = Words

    with pytest.raises(InvalidArgument, match="lots of the loop other has another type"):
        loops.add(Other)
    assert list(loops)[-1] == "bid"
    with pytest.raises(InvalidArgument, match="not a plugin"):
        loops.remove("rank")
    assert Card(loop="bid", feedback="better").loops == ("bid",)


def test_when_the_plugin_has_gone_nothing_is_left() -> None:
    with plugin_loop():
        assert "lots" in loops.decision.__struct_fields__
    assert "lots" not in loops.decision.__struct_fields__
    assert "rather" not in loops.feedback.__struct_fields__
    with pytest.raises(InvalidArgument, match="the card's loop is"):
        Card(loop="bid", feedback="better")
