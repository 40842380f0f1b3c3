"""The list of models: sorted, filtered, page by page; and the data of the form for a new one."""

from __future__ import annotations

from typing import Any

import pytest

from service.asgi import Caller
from service.bodies import Clock
from service.sample_plugins import plugin_loop
from smidgen.service.engine.registry import describe_loops
from smidgen.service.http import dashboard

ITEMS = {"candidates": [{"id": "a"}, {"id": "b"}]}


def names(call: Caller, query: str = "") -> list[str]:
    return [model["name"] for model in call.get(f"/ui/models.json?{query}").json()["models"]]


def play(call: Caller, name: str, rewards: list[float]) -> None:
    for reward in rewards:
        id = call.post(f"/v1/models/{name}/decisions", ITEMS).json()["decision"]
        call.post(f"/v1/decisions/{id}/feedback", {"reward": reward})


def test_sorted_by_whatever_is_asked(call: Caller, clock: Clock) -> None:
    for name, loop in (("beta", "choose"), ("alpha", "choose"), ("gamma", "filter"), ("Delta", "choose")):
        clock.now += 1
        call.put(f"/v1/models/{name}", {"loop": loop})
    for name, rewards in (("beta", [1.0, 1.0]), ("Delta", [0.0, 0.5, 0.0]), ("alpha", [0.5])):
        clock.now += 10
        play(call, name, rewards)
    assert names(call) == ["Delta", "gamma", "alpha", "beta"]
    assert names(call, "sort=name") == ["alpha", "beta", "Delta", "gamma"]
    assert names(call, "sort=loop") == ["alpha", "beta", "Delta", "gamma"]
    assert names(call, "sort=decisions") == ["Delta", "beta", "alpha", "gamma"]
    assert names(call, "sort=activity") == ["alpha", "Delta", "beta", "gamma"]
    assert names(call, "sort=quality") == ["beta", "alpha", "Delta", "gamma"]
    assert names(call, "sort=name&loop=filter") == ["gamma"]
    assert names(call, "sort=name&q=A&loop=choose") == ["alpha", "beta", "Delta"]
    call("DELETE", "/v1/models/alpha")
    assert names(call, "sort=name")[-1] == "alpha"
    refused = call.get("/ui/models.json?sort=colour")
    assert (refused.status_code, "quality" in refused.json()["error"]["hint"]) == (400, True)


def test_losses_are_best_when_small(call: Caller) -> None:
    for name, loss in (("good", 0.1), ("bad", 0.9)):
        call.put(f"/v1/models/{name}", {"loop": "tune", "params": {"space": {"type": "Box", "low": [0], "high": [1]}}})
        id = call.post(f"/v1/models/{name}/decisions", {}).json()["decision"]
        call.post(f"/v1/decisions/{id}/feedback", {"loss": loss})
    assert names(call, "sort=quality") == ["good", "bad"]


def test_the_ill_ones_first_or_alone(call: Caller) -> None:
    for name in ("well", "ill"):
        call.put(f"/v1/models/{name}", {"loop": "choose", "feedback": "better"})
    for _ in range(30):
        made = call.post("/v1/models/ill/decisions", ITEMS).json()
        call.post(f"/v1/decisions/{made['decision']}/feedback", {"better": made["choice"]})
    first = call.get("/ui/models.json?sort=health").json()["models"]
    assert [model["name"] for model in first] == ["ill", "well"]
    assert first[0]["judged"]
    assert first[0]["findings"][0]["code"] == "nothing_to_learn"
    assert names(call, "health=ill") == ["ill"]


def test_page_by_page_and_of_the_moment(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dashboard, "MOST_MODELS", 2)
    for i in range(5):
        call.put(f"/v1/models/m{i}", {"loop": "choose"})
    pages = [names(call, f"sort=name&after={after}") for after in (0, 2, 4, 6)]
    assert pages == [["m0", "m1"], ["m2", "m3"], ["m4"], []]
    reply = call.get("/ui/models.json?after=2").json()
    assert (reply["of"], reply["all"], reply["loops"]) == (5, 5, ["choose"])
    play(call, "m0", [1.0])
    (model,) = call.get("/ui/models.json?q=m0").json()["models"]
    assert (model["decisions"], model["model_version"]) == (1, 1)
    assert call.get("/ui/models.json?after=x").status_code == 400


def test_the_loops_say_what_goes_out_and_what_comes_back() -> None:
    found = describe_loops()
    assert [one["feedback"] for one in found["rank"]["back"]] == ["clicks", "better"]
    assert [one["feedback"] for one in found["label"]["back"]] == ["bit", "label", "reward"]
    for loop in (found[name] for name in ("rank", "choose", "label", "filter", "tune")):
        assert loop["words"].out
        assert loop["back"]
        assert {"loop", "feedback", "window_s"} <= set(loop["settings"])
    (reward,) = [one for one in found["choose"]["back"] if one["feedback"] == "reward"]
    assert {"default_reward", "reward_range", "rewards", "explore", "min_share"} == set(reward["settings"])
    assert reward["recommended"]


def test_a_loop_of_somebody_else_is_described_too() -> None:
    with plugin_loop():
        (back,) = describe_loops()["bid"]["back"]
    assert (back["feedback"], back["title"], back["example"]) == ("better", "Better", {"rather": 1})


def test_what_comes_back_can_be_made(call: Caller) -> None:
    """Each kind of feedback that the form offers makes a model, and its example is taken."""
    extra: dict[str, dict[str, Any]] = {
        "label": {"labels": ["x", "y"]},
        "tune": {"params": {"space": {"type": "Box", "low": [0, 0], "high": [1, 1]}}},
    }
    for name, loop in describe_loops().items():
        if loop["words"].asks == "json":
            continue
        for back in loop["back"]:
            made = f"{name}-{back['feedback']}"
            body = {"loop": name, "feedback": back["feedback"], **extra.get(name, {})}
            assert call.put(f"/v1/models/{made}", body).status_code == 201, made
            asked = {"candidates": ITEMS["candidates"]} if loop["words"].asks == "candidates" else {}
            if loop["words"].asks == "features":
                asked = {"features": {"a": 1}}
            id = call.post(f"/v1/models/{made}/decisions", asked).json()["decision"]
            filled = {"$1": "a", "$2": "b", "$label": "y"}
            given = {
                field: [filled[each] for each in value] if isinstance(value, list) else filled.get(str(value), value)
                for field, value in back["example"].items()
            }
            if given:
                assert call.post(f"/v1/decisions/{id}/feedback", given).status_code == 200, made


def test_the_names_of_fields_are_shown(call: Caller) -> None:
    call.put("/v1/models/offers", {"loop": "choose"})
    assert call.get("/ui/models/offers/names.json").json() == {"names": ["(constant)"]}
    asked = {"context": {"device": "ios"}, "candidates": [{"id": "a", "features": {"topic": "art", "price": 3}}]}
    id = call.post("/v1/models/offers/decisions", asked).json()["decision"]
    call.post(f"/v1/decisions/{id}/feedback", {"reward": 1.0})
    reply = call.get("/ui/models/offers/names.json").json()["names"]
    assert {"topic=art", "price", "context.device=ios", "id=a"} <= set(reply)
    call.put("/v1/models/keyed", {"loop": "choose", "keyed": True})
    assert call.get("/ui/models/keyed/names.json").json() == {"names": []}
    assert call.get("/ui/models/nobody/names.json").status_code == 404
