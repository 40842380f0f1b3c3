"""Stories in the right tense: shown and not yet answered, silence that will count, silence that has counted."""

from __future__ import annotations

import time

import pytest

from service.asgi import Caller
from service.bodies import Clock

ITEMS = {"candidates": [{"id": "a"}, {"id": "b"}]}


def outcome(call: Caller, id: str) -> str:
    """The story's statement on the answer; after it only the weights follow."""
    lines = [line["text"] for line in call.get(f"/ui/decisions/{id}/story.json").json()["lines"]]
    return next(text for text in reversed(lines) if not text.startswith("By the weights"))


def state(call: Caller, name: str) -> str:
    status: str = call.get(f"/ui/models/{name}/recent.json").json()["decisions"][0]["status"]
    return status


def test_the_story_of_an_open_decision_is_in_present_and_future_tense(call: Caller, clock: Clock) -> None:
    call.put("/v1/models/plain", {"loop": "choose", "feedback": "better", "window_s": 600})
    id = call.post("/v1/models/plain/decisions", ITEMS).json()["decision"]
    clock.now += 60
    assert outcome(call, id) == (
        "It is shown and has no feedback yet. Feedback within about 9 minutes will be learned."
    )
    assert state(call, "plain") == "waiting"
    times = [line["at"] for line in call.get(f"/ui/decisions/{id}/story.json").json()["lines"]]
    assert times == sorted(times)
    clock.now += 600
    assert outcome(call, id) == "It was shown and got no feedback within the window: nothing was learned."
    assert state(call, "plain") == "unanswered"


def test_silence_will_count_and_then_has_counted(call: Caller, clock: Clock) -> None:
    call.put("/v1/models/silent", {"loop": "choose", "default_reward": 0.25, "window_s": 600})
    id = call.post("/v1/models/silent/decisions", ITEMS).json()["decision"]
    assert outcome(call, id).endswith("within about 10 minutes, it counts as a reward of 0.25.")
    clock.now += 601
    end = time.monotonic() + 20  # the watch over windows comes by within a second
    while not call.get("/v1/models/silent").json()["model_version"] and time.monotonic() < end:
        time.sleep(0.05)
    lines = [line["text"] for line in call.get(f"/ui/decisions/{id}/story.json").json()["lines"]]
    assert "No feedback came: missing feedback counts as a reward of 0.25." in lines
    assert outcome(call, id) == "It was learned: the model went from version 0 to 1."
    assert state(call, "silent") == "expired"


def test_what_was_not_shown_is_said_to_be_so(call: Caller, clock: Clock) -> None:
    call.put("/v1/models/later", {"loop": "choose", "window_s": 600})
    id = call.post("/v1/models/later/decisions", {**ITEMS, "activate": False}).json()["decision"]
    assert outcome(call, id).startswith("It is not shown yet")
    assert state(call, "later") == "not shown yet"
    clock.now += 601
    assert outcome(call, id).startswith("It was never shown")
    assert state(call, "later") == "never shown"


@pytest.mark.parametrize("range_", [[0.0, 1.0], [-1.0, 5.0]])
def test_rewards_by_hand_are_in_the_apps_own_range(range_: list[float], call: Caller) -> None:
    call.put("/v1/models/own", {"loop": "choose", "reward_range": range_})
    id = call.post("/v1/models/own/decisions", ITEMS).json()["decision"]
    reply = call.get(f"/ui/decisions/{id}/answers.json").json()
    given = [one["feedback"]["reward"] for one in reply["options"]]
    assert given == [range_[1], sum(range_) / 2, range_[0]]
    assert reply["entry"]["field"] == "reward"
    for one in reply["options"]:
        id = call.post("/v1/models/own/decisions", ITEMS).json()["decision"]
        assert call.post(f"/v1/decisions/{id}/feedback", one["feedback"]).status_code == 200


def test_of_very_many_labels_only_some_have_a_button(call: Caller) -> None:
    labels = [f"label {i}" for i in range(300)]
    call.put("/v1/models/wide", {"loop": "label", "learner": "MulticlassPerceptron", "labels": labels})
    made = call.post("/v1/models/wide/decisions", {"features": {"x": 1}}).json()
    reply = call.get(f"/ui/decisions/{made['decision']}/answers.json").json()
    assert reply["options"][0]["text"] == made["label"]
    assert len(reply["options"]) == 40
    assert "label" in reply["entry"]["label"]


def test_a_late_report_of_parts_is_in_the_story(call: Caller, clock: Clock) -> None:
    call.put("/v1/models/parts", {"loop": "choose", "rewards": {"click": 0.2, "buy": 1}, "window_s": 600})
    late = [({"reward": {"click": 1}}, "click 1"), ({"final": True, "reward": {"buy": 2}}, "buy 2")]
    for body, said in late:
        id = call.post("/v1/models/parts/decisions", ITEMS).json()["decision"]
        clock.now += 601
        assert call.post(f"/v1/decisions/{id}/feedback", body).status_code == 202
        lines = call.get(f"/ui/decisions/{id}/story.json").json()["lines"]
        assert any(said in line["text"] for line in lines)
