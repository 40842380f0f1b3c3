"""Laws of every loop: what it says of itself is what it does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.asgi import Caller
from service.bodies import MODELS, decision_body, reaction
from service.sample_plugins import plugin_loop
from smidgen.learners import Feedback, learners
from smidgen.service.engine.blueprint import learners_for
from smidgen.service.engine.registry import describe_loops
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import COMMON_FEEDBACK, DecisionBody, FeedbackBody

NAMES = [*loops, "bid"]
HEAD = ["decision", "model", "model_version", "explored", "propensity", "expires_at"]


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    with plugin_loop(), Caller(tmp_path) as caller:
        yield caller


def example(call: Caller, name: str) -> tuple[dict[str, Any], Any]:
    """The loop's own example, played to its decision."""
    reply = call.get("/ui/loops.json").json()[name]
    calls = reply["example"]
    assert call.put(f"/v1/models/{calls['name']}", calls["model"]).status_code == 201
    made = call.post(f"/v1/models/{calls['name']}/decisions", calls["request"])
    assert made.status_code == 201, made.text
    return reply, made.json()


@pytest.mark.parametrize("name", NAMES)
def test_its_example_works_and_its_answer_has_the_fields_that_it_says(call: Caller, name: str) -> None:
    reply, made = example(call, name)
    assert list(made)[: len(HEAD)] == HEAD
    fields = list(made)[len(HEAD) :]
    assert fields[0] == reply["answer"][0]
    assert set(fields) <= set(reply["answer"])
    schema = call.get("/openapi.json").json()["paths"]["/v1/models/{name}/decisions"]["post"]["responses"]["201"]
    assert set(made) <= schema["content"]["application/json"]["schema"]["properties"].keys()
    calls = reply["example"]
    for _, body in calls["feedback"]:
        again = call.post(f"/v1/models/{calls['name']}/decisions", calls["request"]).json()["decision"]
        assert call.post(f"/v1/decisions/{again}/feedback", body).json()["status"] == "learnt"
        assert set(body) <= reply["feedback"].keys()
    for _, body in calls["batches"]:
        assert len(call.post(f"/v1/models/{calls['name']}/decisions:batch", body).json()["decisions"]) == 2


@pytest.mark.parametrize("name", NAMES)
def test_every_offered_answer_can_be_given(call: Caller, name: str) -> None:
    _, made = example(call, name)
    offered = call.get(f"/ui/decisions/{made['decision']}/answers.json").json()
    assert offered["text"].endswith((".", "?"))
    assert bool(offered["options"]) + (offered["entry"] is not None) + bool(offered["note"]) == 1
    for option in offered["options"]:
        status = call.post(f"/v1/decisions/{made['decision']}/feedback", option["feedback"]).status_code
        assert status in (200, 409)
        assert option["text"]
    if offered["entry"] is not None and offered["entry"]["field"]:
        value: Any = [0.1] * 3 if offered["entry"]["many"] else "A text." if offered["entry"]["text"] else 0.1
        body = {offered["entry"]["field"]: value}
        assert call.post(f"/v1/decisions/{made['decision']}/feedback", body).status_code == 200


@pytest.mark.parametrize("name", sorted(MODELS))
def test_its_story_is_in_sentences(call: Caller, name: str) -> None:
    rng = random.Random(3)
    call.put(f"/v1/models/{name}", MODELS[name])
    made = call.post(f"/v1/models/{name}/decisions", decision_body(name, rng)).json()
    given = reaction(name, made, rng)
    if given is not None:
        assert call.post(f"/v1/decisions/{made['decision']}/feedback", given).status_code == 200
    lines = [line["text"] for line in call.get(f"/ui/decisions/{made['decision']}/story.json").json()["lines"]]
    assert lines[0].startswith("The app requested ")
    assert lines[1].startswith("Before any feedback, it ")
    assert all(not line[0].islower() and line[-1] == "." and "None" not in line for line in lines)
    (one,) = call.get(f"/ui/models/{name}/recent.json").json()["decisions"]
    assert 0 < len(one["answer"]) < 80
    assert (one["feedback"] is None) == (given is None)


def test_what_they_declare_hangs_together() -> None:
    for name, loop in loops.items():
        assert loop.name == name
        assert issubclass(loop.request, DecisionBody)
        assert issubclass(loop.feedback, FeedbackBody)
        assert [*COMMON_FEEDBACK, *loop.kinds] == list(loop.feedback.__struct_fields__)
        assert set(loop.kinds.values()) <= set(Feedback)
        kinds = {kind for each in learners_for(name) for kind in learners[each].card.kinds}
        assert kinds & set(loop.kinds.values()), "some learner takes what comes back"
    assert msgspec.json.encode(describe_loops())


def test_the_bodies_hold_the_fields_of_all_loops_in_an_order_that_lasts() -> None:
    """The digest of a request that was sent before goes by this order, of the fields that it had."""
    fields = ("id", "key", "activate", "chosen", "unit")
    fields += ("candidates", "top", "context", "exclude", "slots", "features", "drafts")
    assert loops.decision.__struct_fields__ == fields
    body = loops.decision(id="x", features=[1.0])
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(body)) == {"id": "x", "features": [1.0]}
    known = (
        *COMMON_FEEDBACK,
        "better",
        "clicked",
        "reward",
        "rewards",
        "correct",
        "label",
        "relevant",
        "loss",
        "gradient",
        "edited",
    )
    assert loops.feedback.__struct_fields__ == known
    with plugin_loop():
        assert loops.feedback.__struct_fields__ == (*known, "rather")


def test_an_unknown_loop_is_refused(call: Caller) -> None:
    refused = call.put("/v1/models/m", {"loop": "knit", "learner": "PreferencePerceptron"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "impossible")
    assert refused.json()["error"]["hint"].lower().find("choose one of rank, choose") >= 0
