"""Drafts over HTTP: shown, edited, learnt; what people like, in words; texts that are not kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import smidgen
from service import live
from service.asgi import Caller
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import StoreSource
from smidgen.service.ope.whatif import what_if

#: Words that stand nowhere else, so that they can be looked for on the disk.
SECRETS = ("Quentzelfish", "Brambulorious", "Ophidiary")


def drafts(day: str, secret: str = "") -> list[dict[str, Any]]:
    long = f"Hello!\n\nThank you so much for writing! It will be ready on {day} {secret}, I think.\n\nBest regards"
    return [
        {"id": "warm", "text": long, "features": {"template": "warm", "temperature": 0.7}},
        {"id": 7, "text": f"It will be ready on {day} {secret}."},
    ]


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    with Caller(tmp_path / "data") as caller:
        yield caller


def taught(call: Caller, name: str = "replies", key: str | None = None, rounds: int = 4) -> list[dict[str, Any]]:
    """Some decisions that a person who likes it short has edited."""
    made = []
    for day, secret in zip(("Monday", "Tuesday", "Friday", "Sunday")[:rounds], (*SECRETS, SECRETS[0]), strict=False):
        body = {"drafts": drafts(day, secret)} | ({} if key is None else {"key": key})
        decision = call.post(f"/v1/models/{name}/decisions", body)
        assert decision.status_code == 201, decision.text
        reply = call.post(
            f"/v1/decisions/{decision.json()['decision']}/feedback", {"edited": f"It will be ready on {day} {secret}."}
        )
        assert reply.json()["status"] == "learnt", reply.text
        made.append(decision.json())
    return made


def test_a_model_without_a_learner_has_the_recommended_one(call: Caller) -> None:
    made = call.put("/v1/models/replies", {"loop": "draft"})
    assert made.status_code == 201, made.text
    reply = made.json()
    assert (reply["learner"], reply["feedback"], reply["keep_texts"]) == ("SoftPreferencePerceptron", "edit", True)
    assert call.put("/v1/models/replies", {"loop": "draft"}).status_code == 200


def test_drafts_come_in_the_users_style(call: Caller) -> None:
    call.put("/v1/models/replies", {"loop": "draft"})
    first, *_, last = taught(call)
    assert (first["choice"], last["choice"]) == ("warm", 7)
    assert list(last)[-1] == "choice"
    reply = call.get("/v1/models/replies").json()
    assert reply["quality"]["measure"] == "left unchanged"
    assert reply["quality"]["value"] == 0.75


def test_what_people_like_is_said_in_words(call: Caller) -> None:
    call.put("/v1/models/replies", {"loop": "draft", "learner": "PreferencePerceptron", "keyed": True})
    for day in ("Monday", "Tuesday", "Friday"):
        asked = call.post("/v1/models/replies/decisions", {"drafts": drafts(day)[:1], "key": "ann"}).json()
        call.post(f"/v1/decisions/{asked['decision']}/feedback", {"edited": f"It will be ready on {day}."})
    call.post("/v1/models/replies/decisions", {"drafts": drafts("Monday"), "key": "bob"})
    reply = call.get("/v1/models/replies/taste?key=ann").json()
    assert reply.keys() == {"taste", "traits"}
    assert reply["taste"][0].startswith("shorter: 0.4 of the length")
    assert {"no exclamation marks", "starts with the answer", "no sign-off"} <= set(reply["taste"])
    assert {"name": "exclamation marks", "shown": 2.0, "wanted": 0.0, "edits": 3} in reply["traits"]
    assert call.get("/v1/models/replies/taste?key=bob").json() == {"taste": [], "traits": []}
    assert call.get("/v1/models/replies/taste").status_code == 422
    assert call.get("/v1/models/replies/taste?key=zoe").status_code == 404


@pytest.mark.parametrize("keeps", [True, False])
def test_the_log_gives_the_weights_again(tmp_path: Path, keeps: bool) -> None:
    with Caller(tmp_path, snapshot_every=3) as call:
        call.put("/v1/models/replies", {"loop": "draft", "keep_texts": keeps})
        taught(call)
        before = call.get("/v1/models/replies/weights?limit=5").json()
        story = call.get(f"/v1/decisions/{taught(call, rounds=1)[0]['decision']}").json()
    fields = {"edited": f"It will be ready on Monday {SECRETS[0]}."} if keeps else {"unchanged": True}
    assert story["feedback"] == fields
    assert story["contributions"]["items"]
    assert {each["name"] for each in before["weights"]} & {"greeting", "sign-off", "opening", "exclamation marks"}
    with Inspection(tmp_path) as seen:
        found = audit_model(seen, seen.model("replies"))
        assert (found.problems, found.learnt) == ([], 5)
        assert found.compared
        figures = what_if(StoreSource(seen, seen.model("replies")), ["PreferencePerceptron"])
        assert "PreferencePerceptron" in str(figures)


def test_texts_that_are_not_kept_stand_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Caller(folder, snapshot_every=3) as call:
        made = call.put("/v1/models/replies", {"loop": "draft", "keep_texts": False}).json()
        assert made["keep_texts"] is False
        taught(call)
        example = {"drafts": drafts("Monday", SECRETS[1]), "answer": f"Ready on Monday {SECRETS[1]}."}
        assert call.post("/v1/models/replies/examples", {"examples": [example]}).json()["taught"] == 1
        assert call.get("/v1/models/replies/taste").json()["traits"]
    found = live.kept(folder)
    assert any(len(content) > 10_000 for content in found.values())
    for name, content in found.items():
        for word in (*SECRETS, "ready on", "thank you so much"):
            assert word.lower().encode() not in content.lower(), name


def test_what_is_not_kept_teaches_the_same(call: Caller) -> None:
    for name, keeps in (("kept", True), ("sealed", False)):
        call.put(f"/v1/models/{name}", {"loop": "draft", "keep_texts": keeps})
        taught(call, name)
    reply = [call.get(f"/v1/models/{name}/weights?limit=3000").json()["weights"] for name in ("kept", "sealed")]
    assert reply[0] == reply[1]
    tastes = [call.get(f"/v1/models/{name}/taste").json() for name in ("kept", "sealed")]
    assert tastes[0] == tastes[1]


@pytest.mark.parametrize(
    ("body", "about"),
    [
        ({"drafts": []}, "drafts"),
        ({"drafts": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]}, "same id"),
        ({"drafts": [{"id": "a", "text": "x" * 131_073}]}, "131,073 characters"),
        ({"drafts": [{"id": "a", "text": "x", "features": {"deep": {"er": 1}}}]}, "deep"),
        ({"drafts": [{"id": "a"}]}, "text"),
        ({"candidates": [{"id": "a", "features": {}}]}, "candidates"),
    ],
)
def test_what_is_no_draft_is_refused(call: Caller, body: dict[str, Any], about: str) -> None:
    call.put("/v1/models/replies", {"loop": "draft"})
    answer = call.post("/v1/models/replies/decisions", body)
    assert answer.status_code == 422, answer.text
    assert about in answer.json()["error"]["message"]


def test_settings_that_make_no_sense_are_refused(call: Caller) -> None:
    for body in (
        {"loop": "rank", "features": ["a"], "keep_texts": False},
        {"loop": "draft", "features": ["a", "b"]},
        {"loop": "draft", "learner": "DuelingBandit"},
        {"loop": "draft", "learner": "PreferencePerceptron", "params": {"dim": 3}},
    ):
        assert call.put("/v1/models/bad", body).status_code == 422, body
    call.put("/v1/models/ranks", {"loop": "rank", "features": ["a"]})
    assert call.get("/v1/models/ranks/taste").status_code == 422


def test_feedback_that_is_no_text_is_refused(call: Caller) -> None:
    call.put("/v1/models/replies", {"loop": "draft"})
    id = call.post("/v1/models/replies/decisions", {"drafts": drafts("Monday")}).json()["decision"]
    for body in ({"edited": 3}, {"better": 7}, {"edited": "x" * 131_073}, {}):
        assert call.post(f"/v1/decisions/{id}/feedback", body).status_code == 422, body
    body = {"edited": "It is ready."}
    assert call.post(f"/v1/decisions/{id}/feedback", body).json()["status"] == "learnt"
    assert call.post(f"/v1/decisions/{id}/feedback", body).json()["status"] == "duplicate"
    assert call.post(f"/v1/decisions/{id}/feedback", {"edited": "No."}).status_code == 409


def test_the_longest_texts_and_many_drafts_are_taken(call: Caller) -> None:
    call.put("/v1/models/replies", {"loop": "draft"})
    long = [{"id": i, "text": f"word{i} and " * 9_000} for i in range(2)]
    made = call.post("/v1/models/replies/decisions", {"drafts": long}).json()
    assert call.post(f"/v1/decisions/{made['decision']}/feedback", {"edited": "a b " * 25_000}).status_code == 200
    many = [{"id": i, "text": f"It is {i}."} for i in range(1000)]
    assert call.post("/v1/models/replies/decisions", {"drafts": many}).status_code == 201
    batch = {"decisions": [{"drafts": many}] * 6}
    assert call.post("/v1/models/replies/decisions:batch", batch).status_code == 422


def test_undoing_forgetting_and_health(call: Caller) -> None:
    call.put("/v1/models/replies", {"loop": "draft", "keyed": True})
    taught(call, key="ann")
    (made,) = taught(call, key="bob", rounds=1)
    assert call.post(f"/v1/decisions/{made['decision']}:retract", None).status_code == 200
    assert call.get("/v1/models/replies/taste?key=bob").json()["traits"] == []
    assert call.get("/v1/models/replies/health").status_code == 200
    assert call("DELETE", "/v1/models/replies/keys/ann").json()["forgotten"] == 8
    assert call.get("/v1/models/replies/taste?key=ann").status_code == 404
    page = call.get("/ui/loops.json").json()["draft"]
    assert page["feedback"] == {"edited": "edit"}


@pytest.mark.parametrize(("more", "first"), [({}, 7), ({"keep_texts": False}, 7), ({"shared_start": False}, "warm")])
def test_a_newcomer_begins_with_what_others_have_edited(tmp_path: Path, more: dict[str, Any], first: Any) -> None:
    with Caller(tmp_path) as call:
        made = call.put("/v1/models/replies", {"loop": "draft", "keyed": True, **more}).json()
        assert made["shared_start"] is (first == 7)
        for number in range(6):
            taught(call, key=f"user {number}", rounds=2)
        asked = call.post("/v1/models/replies/decisions", {"drafts": drafts("Sunday"), "key": "new"}).json()
        assert asked["choice"] == first
        assert call.get("/v1/models/replies/taste?key=new").json()["taste"] == []  # his own edits say it
    with Inspection(tmp_path) as seen:
        assert audit_model(seen, seen.model("replies")).problems == []


def test_the_client_has_it(call: Caller) -> None:
    from smidgen.client import wire

    assert wire.drafts_body({"a": "x"}) == [{"id": "a", "text": "x"}]
    assert wire.drafts_body(["x", {"text": "y", "features": {"n": 1}}]) == [
        {"id": 0, "text": "x"},
        {"id": 1, "text": "y", "features": {"n": 1}},
    ]
    asked = smidgen.Drafts(["x", "y"], [{"n": 1}, {}], {"channel": "chat"})
    sent = wire.decision_body(asked, ids=None, top=None, key=None, id="1")
    assert sent == {
        "drafts": [{"id": 0, "text": "x", "features": {"n": 1.0}}, {"id": 1, "text": "y"}],
        "context": {"channel": "chat"},
        "id": "1",
    }
    call.put("/v1/models/replies", {"loop": "draft"})
    assert call.post("/v1/models/replies/decisions", sent).status_code == 201
