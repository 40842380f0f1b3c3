"""The retired hosted product's calls: its published Python client, unchanged; and what such clients may send."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

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


SLOTS = [
    {"id": "hero", "baselineAction": "pasta", "features": [{"size": "large"}, {"place": "top"}]},
    {"id": "side", "baselineAction": "ice", "excludedActions": ["pasta", "unknown"]},
]
PAGE = {"actions": ACTIONS, "slots": SLOTS, "contextFeatures": [{"time": "morning"}], "eventId": "page"}
ROOTS = ["/personalizer", *(f"/personalizer/v1.1-preview.{n}" for n in (1, 2, 3))]


def test_its_preview_client_closes_the_loop(tmp_path: Path) -> None:
    preview = pytest.importorskip("azure.ai.personalizer", reason="its client is not installed")
    from azure.core.credentials import AzureKeyCredential
    from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

    with Live(tmp_path / "data") as live:
        client = preview.PersonalizerClient(live.url.rstrip("/"), AzureKeyCredential("any"))
        reply = client.rank_multi_slot({**PAGE, "deferActivation": True})
        assert reply["eventId"] == "page"
        assert [slot["id"] for slot in reply["slots"]] == ["hero", "side"]
        hero, side = (slot["rewardActionId"] for slot in reply["slots"])
        assert hero != side
        assert side != "pasta"
        client.activate_multi_slot("page")
        rewards = {"reward": [{"slotId": "hero", "value": 1.0}, {"slotId": "side", "value": -0.5}]}
        client.reward_multi_slot("page", rewards)
        client.reward_multi_slot("page", rewards)
        single = client.rank({"actions": ACTIONS, "eventId": "one"})
        assert single["rewardActionId"] in ("pasta", "ice", "juice")
        client.reward("one", {"value": 0.5})
        client.activate("one")
        operator = preview.PersonalizerAdministrationClient(live.url.rstrip("/"), AzureKeyCredential("any"))
        configuration = operator.get_service_configuration()
        assert configuration["rewardWaitTime"] == "PT600S"
        changed = operator.update_service_configuration(
            {**configuration, "rewardWaitTime": "PT1H30M", "explorationPercentage": 0.3, "rewardAggregation": "sum"}
        )
        assert (changed["rewardWaitTime"], changed["explorationPercentage"]) == ("PT5400S", 0.3)
        with pytest.raises(ResourceNotFoundError):
            client.reward_multi_slot("nobody", rewards)
        with pytest.raises(HttpResponseError) as refused:
            client.rank_multi_slot({**PAGE, "slots": []})
        assert refused.value.status_code == 400
        assert refused.value.error.code == "BadRequest"
        client.close()
        operator.close()


class TestMultiSlot:
    @pytest.mark.parametrize("root", ROOTS)
    def test_every_version_answers(self, call: Caller, root: str) -> None:
        reply = call.post(f"{root}/multislot/rank?api-version=2022-09-01-preview", {**PAGE, "somethingNew": 1})
        assert reply.status_code == 201
        assert reply.json().keys() == {"slots", "eventId"}
        assert reply.json() == call.post(f"{root}/multislot/rank", {**PAGE, "somethingNew": 1}).json()
        assert call.post(f"{root}/multislot/events/page/activate", None).status_code == 204
        some = {"reward": [{"slotId": "side", "value": 1.0}]}
        more = {"reward": [{"slotId": "side", "value": -1.0}, {"slotId": "hero", "value": 0.0}]}
        for body, version in ((some, 0), (some, 0), (more, 1), (more, 1)):
            assert call.post(f"{root}/multislot/events/page/reward", body).status_code == 204
            assert call.get("/v1/models/personalizer").json()["model_version"] == version
        event = call.get("/v1/models/personalizer/log").text.splitlines()[-1]
        assert '"side":1.0' in event, "of two rewards for a slot the first counts"
        assert call.post(f"{root}/rank", {"actions": ACTIONS}).status_code == 201
        assert call.get(f"{root}/status").json()["modelVersion"] == 1

    @pytest.mark.parametrize(
        "wrong",
        [
            {"slots": []},
            {"slots": [{"id": "x"}, {"id": "x"}]},
            {"slots": [{"id": str(i)} for i in range(4)]},
            {"slots": [{"id": "x", "excludedActions": [each["id"] for each in ACTIONS]}]},
            {"slots": [{"id": "x", "baselineAction": "nobody"}]},
            {"slots": [{"id": "x", "baselineAction": "ice", "excludedActions": ["ice"]}]},
            {"slots": [{"id": "x", "baselineAction": "ice"}, {"id": "y", "baselineAction": "ice"}]},
            {"actions": [], "slots": SLOTS},
        ],
    )
    def test_bad_requests_are_refused_in_its_shape(self, call: Caller, wrong: Any) -> None:
        reply = call.post("/personalizer/multislot/rank", {**PAGE, **wrong})
        assert reply.status_code == 400
        assert reply.json()["error"].keys() == {"code", "message"}

    @pytest.mark.parametrize(
        "wrong",
        [
            {"reward": []},
            {"reward": [{"slotId": "heroo", "value": 1.0}]},
            {"reward": [{"slotId": "hero", "value": 2.0}, {"slotId": "side", "value": 0.0}]},
            {"reward": [{"slotId": "hero", "value": 1.0}, {"slotId": "hero", "value": 0.0}]},
            {"value": 1.0},
        ],
    )
    def test_what_is_no_reward(self, call: Caller, wrong: Any) -> None:
        call.post("/personalizer/multislot/rank", PAGE)
        assert call.post("/personalizer/multislot/events/page/reward", wrong).status_code == 400

    def test_an_apprentice_answers_with_the_baselines(self, tmp_path: Path) -> None:
        with Caller(tmp_path, apprentice=True) as call:
            reply = call.post("/personalizer/multislot/rank", PAGE).json()
            assert [slot["rewardActionId"] for slot in reply["slots"]] == ["pasta", "ice"]
            refused = call.post("/personalizer/multislot/rank", {"actions": ACTIONS, "slots": [{"id": "x"}]})
            assert (refused.status_code, "baselineAction" in refused.text) == (400, True)

    def test_the_first_rank_makes_the_model_and_nothing_else_does(self, call: Caller, tmp_path: Path) -> None:
        assert call.get("/personalizer/status").status_code == 200
        assert call.get("/personalizer/configurations/service").status_code == 404
        assert call.post("/personalizer/multislot/events/page/reward", {"reward": []}).status_code == 404
        assert call.get("/v1/models").json()["models"] == []
        _, mine = Mint(tmp_path).create(["decide", "feedback"], "mine", 0.0)
        _, admin = Mint(tmp_path).create(["admin"], "mine", 0.0)
        key = {"Ocp-Apim-Subscription-Key": mine}
        refused = call.post("/personalizer/multislot/rank", PAGE, headers=key)
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "ResourceNotFound")
        owner = {"Ocp-Apim-Subscription-Key": admin}
        assert call.post("/personalizer/multislot/rank", PAGE, headers=owner).status_code == 201
        assert call.post("/personalizer/multislot/rank", {**PAGE, "eventId": "b"}, headers=key).status_code == 201


@pytest.mark.parametrize("event", ["shop/7", "/", "a/reward", "100% ü?#"])
@pytest.mark.parametrize("root", [*ROOTS, "/personalizer/v1.0"])
def test_an_event_may_have_any_id(call: Caller, root: str, event: str) -> None:
    multi = "" if root.endswith("v1.0") else "/multislot"
    every = [{"slotId": "hero", "value": 1.0}, {"slotId": "side", "value": 0.0}]
    rewards = {"reward": every} if multi else {"value": 1.0}
    body = PAGE if multi else {"actions": ACTIONS}
    assert call.post(f"{root}{multi}/rank", {**body, "eventId": event, "deferActivation": True}).status_code == 201
    path = f"{root}{multi}/events/{quote(event, safe='')}"
    assert call.post(f"{path}/activate", None).status_code == 204
    assert call.post(f"{path}/reward", rewards).status_code == 204
    assert call.get("/v1/models/personalizer").json()["model_version"] == 1
    unknown = call.post(f"{path}%2Fother/reward", rewards)
    assert (unknown.status_code, f"{event}/other" in unknown.json()["error"]["message"]) == (404, True)


class TestConfiguration:
    def test_it_is_the_settings_of_the_model(self, call: Caller) -> None:
        call.post(RANK, {"actions": ACTIONS})
        path = "/personalizer/v1.0/configurations/service"
        known = call.get(path).json()
        assert (known["rewardWaitTime"], known["defaultReward"], known["rewardAggregation"]) == (
            "PT600S",
            0.0,
            "earliest",
        )
        assert known["logRetentionDays"] == -1
        body = {**known, "rewardWaitTime": "P1DT5S", "defaultReward": -0.5, "rewardAggregation": "sum"}
        changed = call.put(path, {**body, "explorationPercentage": 0.25, "logRetentionDays": 90, "extra": 1})
        assert changed.status_code == 200
        assert changed.json() == call.get(path).json()
        model = call.get("/v1/models/personalizer").json()
        assert (model["window_s"], model["default_reward"], model["rewards"]) == (86405.0, -0.5, "sum")
        assert (model["explore"], model["retention_s"]) == (0.25, 90 * 86400.0)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"rewardWaitTime": "ten minutes"},
            {"rewardWaitTime": "PT0S"},
            {"rewardAggregation": "mean"},
            {"explorationPercentage": 20},
            {"defaultReward": 3.0},
            {"learningMode": "Apprentice"},
            {"defaultReward": None},
        ],
    )
    def test_what_does_not_fit_is_refused(self, call: Caller, wrong: Any) -> None:
        call.post(RANK, {"actions": ACTIONS})
        path = "/personalizer/configurations/service"
        known = call.get(path).json()
        refused = call.put(path, {**known, **wrong})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "BadRequest")
        assert next(iter(wrong)) in refused.json()["error"]["message"], "its name is the product's"
        assert call.get(path).json() == known


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "/personalizer/v1.0/rnk", 404, "ResourceNotFound"),
        ("POST", "/personalizer/v9/rank", 404, "ResourceNotFound"),
        ("POST", "/personalizer/v1.0/multislot/rank", 404, "ResourceNotFound"),
        ("GET", "/personalizer/v1.0/rank", 400, "BadRequest"),
        ("POST", "/personalizer/", 404, "ResourceNotFound"),
        ("GET", "/personalizer", 404, "ResourceNotFound"),
    ],
)
def test_every_refusal_has_its_shape(call: Caller, method: str, path: str, status: int, code: str) -> None:
    call.post(RANK, {"actions": ACTIONS})
    reply = call(method, path, json={"actions": ACTIONS})
    assert (reply.status_code, reply.json()["error"].keys()) == (status, {"code", "message"})
    assert reply.json()["error"]["code"] == code
    large = call.post(RANK, {"actions": ACTIONS, "more": "x" * (9 << 20)})
    assert (large.status_code, large.json()["error"]["code"]) == (400, "BadRequest")
