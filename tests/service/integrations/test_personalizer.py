"""The retired hosted product's calls: its published Python client, unchanged; and what such clients may send."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller
from service.live import Live
from service.tokens import Mint

ACTIONS = [
    {"id": "pasta", "features": [{"taste": "salty"}, {"nutrition": 5}]},
    {"id": "ice", "features": [{"taste": "sweet"}]},
    {"id": "juice", "features": [{"taste": "sweet"}]},
]
RANK = "/personalizer/v1.0/rank"


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    with Caller(tmp_path) as caller:
        yield caller


def test_its_own_client_closes_the_loop(tmp_path: Path) -> None:
    personalizer = pytest.importorskip("azure.cognitiveservices.personalizer", reason="its client is not installed")
    models = personalizer.models
    from msrest.authentication import CognitiveServicesCredentials

    with Live(tmp_path / "data") as live:
        client = personalizer.PersonalizerClient(live.url.rstrip("/"), CognitiveServicesCredentials("any"))
        actions = [models.RankableAction(id=each["id"], features=each["features"]) for each in ACTIONS]
        asked = models.RankRequest(
            actions=actions,
            context_features=[{"time": "morning"}, {"device": {"os": "ios"}}],
            excluded_actions=["juice"],
            event_id="e1",
            defer_activation=True,
        )
        reply = client.rank(asked)
        assert reply.event_id == "e1"
        assert reply.reward_action_id in ("pasta", "ice")
        assert {each.id for each in reply.ranking} == {"pasta", "ice", "juice"}
        assert sum(each.probability for each in reply.ranking) == pytest.approx(1.0)
        assert client.rank(asked).reward_action_id == reply.reward_action_id
        client.events.activate("e1")
        client.events.reward("e1", 0.75)
        with pytest.raises(models.ErrorResponseException) as refused:
            client.rank(models.RankRequest(actions=[]))
        assert refused.value.error.error.code == "BadRequest"
        with pytest.raises(Exception, match=r"(?i)not found|no event"):
            client.events.reward("nobody", 1.0)
        client.close()


class TestRank:
    def test_the_model_is_made_on_the_first_call(self, call: Caller) -> None:
        reply = call.post(RANK, {"actions": ACTIONS, "somethingNew": 1})
        assert reply.status_code == 201
        assert reply.json()["eventId"]
        model = call.get("/v1/models/personalizer").json()
        assert (model["loop"], model["reward_range"], model["default_reward"]) == ("choose", [-1.0, 1.0], 0.0)
        assert model["window_s"] == 600.0

    def test_the_chosen_is_first_and_what_is_left_out_keeps_its_place(self, call: Caller) -> None:
        for number in range(20):
            reply = call.post(
                RANK, {"actions": ACTIONS, "eventId": f"e{number}", "excludedActions": ["ice", "x"]}
            ).json()
            assert reply["ranking"][1] == {"id": "ice", "probability": 0.0}
            assert reply["ranking"][0]["id"] == reply["rewardActionId"]

    def test_the_same_event_is_the_same_decision_and_another_body_a_refusal(self, call: Caller) -> None:
        body = {"actions": ACTIONS, "eventId": "e" * 256}
        first = call.post(RANK, body)
        assert first.json() == call.post(RANK, body).json()
        other = call.post(RANK, {"actions": ACTIONS[:1], "eventId": "e" * 256})
        assert (other.status_code, other.json()["error"]["code"]) == (400, "BadRequest")

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"actions": []},
            {"actions": [{"id": "", "features": []}]},
            {"actions": ACTIONS, "excludedActions": [each["id"] for each in ACTIONS]},
            {"actions": [ACTIONS[0], ACTIONS[0]]},
            {"actions": ACTIONS, "eventId": "e" * 257},
            {"actions": [{"id": "a", "features": [1]}]},
        ],
    )
    def test_bad_requests_are_refused_in_its_shape(self, call: Caller, body: Any) -> None:
        reply = call.post(RANK, body)
        assert reply.status_code == 400
        assert reply.json()["error"].keys() == {"code", "message"}


class TestReward:
    def test_of_two_rewards_the_first_counts(self, call: Caller) -> None:
        call.post(RANK, {"actions": ACTIONS, "eventId": "e"})
        for value in (1.0, 0.0, 1.0):
            assert call.post("/personalizer/v1.0/events/e/reward", {"value": value}).status_code == 204
        assert call.get("/v1/models/personalizer").json()["model_version"] == 1

    def test_a_reward_implies_that_it_was_shown(self, call: Caller) -> None:
        call.post(RANK, {"actions": ACTIONS, "eventId": "e", "deferActivation": True})
        assert call.post("/personalizer/v1.0/events/e/reward", {"value": -1}).status_code == 204
        assert call.get("/v1/models/personalizer").json()["model_version"] == 1

    @pytest.mark.parametrize(("value", "status"), [(1.01, 400), ("1", 400), (None, 400)])
    def test_what_is_no_reward(self, call: Caller, value: Any, status: int) -> None:
        call.post(RANK, {"actions": ACTIONS, "eventId": "e"})
        assert call.post("/personalizer/v1.0/events/e/reward", {"value": value}).status_code == status

    def test_unknown_events(self, call: Caller) -> None:
        for path in ("reward", "activate"):
            reply = call.post(f"/personalizer/v1.0/events/nobody/{path}", {"value": 1})
            assert (reply.status_code, reply.json()["error"]["code"]) == (404, "ResourceNotFound")


def test_its_key_is_the_token_and_the_model_the_tokens(call: Caller, tmp_path: Path) -> None:
    engine = call.app.state.service.engine
    _, mine = Mint(tmp_path).create(["decide"], "mine", 0.0)
    _, admin = Mint(tmp_path).create(["admin"], "mine", 0.0)
    body = {"actions": ACTIONS, "eventId": "e"}
    refused = call.post(RANK, body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "Unauthorized")
    key = {"Ocp-Apim-Subscription-Key": mine}
    assert call.post(RANK, body, headers=key).status_code == 404
    assert "mine" not in engine.models
    assert call.post(RANK, {"actions": ACTIONS}, headers={"Ocp-Apim-Subscription-Key": admin}).status_code == 201
    assert call.post(RANK, body, headers=key).status_code == 201
    assert "mine" in engine.models
    reply = call.post("/personalizer/v1.0/events/e/reward", {"value": 1}, headers=key)
    assert (reply.status_code, reply.json()["error"]["code"]) == (403, "Forbidden")
    assert call.get("/personalizer/v1.0/status", headers=key).json()["model"] == "mine"


def test_another_model_is_named_by_an_option(tmp_path: Path) -> None:
    with Caller(tmp_path, personalizer="menu") as call:
        assert call.post(RANK, {"actions": ACTIONS}).status_code == 201
        assert call.get("/v1/models/menu").status_code == 200


def test_a_model_that_hears_no_rewards_is_not_for_this(call: Caller) -> None:
    call.put("/v1/models/personalizer", {"loop": "rank"})
    reply = call.post(RANK, {"actions": ACTIONS})
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "BadRequest")
    assert "does not choose by rewards" in reply.json()["error"]["message"]


def test_an_apprentice_answers_with_the_first_action_and_is_taught_it(tmp_path: Path) -> None:
    with Caller(tmp_path, apprentice=True) as call:
        for number in range(30):
            out = ["pasta"] if number % 2 else []
            reply = call.post(RANK, {"actions": ACTIONS, "eventId": f"e{number}", "excludedActions": out}).json()
            assert reply["rewardActionId"] == ("ice" if out else "pasta")
        model = call.get("/v1/models/personalizer").json()
        assert model["agreement"]["of"] == 30
        assert model["agreement"]["value"] > 0.5
