"""A large batch is worked on in steps: it comes to what it would have come to at once, whatever others do meanwhile."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller
from service.bodies import MODELS, batch, decision_body, engine_with, feedback_body, model, reaction, request
from smidgen.errors import SmidgenError
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine import decide_batch
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.schemas import AmendBody

PLAIN = [name for name, body in MODELS.items() if not body.get("keyed")]


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide_batch, "AT_ONCE", 10)
    monkeypatch.setattr(decide_batch, "STEP", 4)


def asked(name: str, count: int, seed: int = 0) -> dict[str, Any]:
    rng = random.Random(seed)
    return {"decisions": [decision_body(name, rng) for _ in range(count)]}


def stepwise(engine: Engine, name: str, body: dict[str, Any], between: Any = lambda turn: None) -> tuple[Any, int]:
    """The replies, and after how many pauses; others have their turns in each."""
    step, turn = engine.decide_in_steps(name, batch(body)), 0
    while (made := engine.run(step)) is None:
        turn += 1
        between(turn)
    return made, turn


def answers(replies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replies without what is new each time."""
    return [
        {name: value for name, value in reply.items() if name not in ("decision", "expires_at")} for reply in replies
    ]


def sound(folder: Path, engine: Engine) -> None:
    engine.close()
    with Inspection(folder) as seen:
        for each in seen.models():
            assert audit_model(seen, each).problems == []


@pytest.mark.parametrize("name", PLAIN)
def test_a_batch_in_steps_is_the_batch_at_once(name: str, tmp_path: Path) -> None:
    one, other = engine_with(tmp_path / "a", [name]), engine_with(tmp_path / "b", [name])
    body = asked(name, 30)
    in_steps, turns = stepwise(one, name, body)
    at_once = other.decide_batch(name, batch(body))
    assert turns == 15  # 7 between the checks, 8 before the decisions
    assert answers(in_steps) == answers(at_once)
    rng, again = random.Random(1), random.Random(1)
    for mine, theirs in zip(in_steps, at_once, strict=True):
        if (given := reaction(name, mine, rng)) is not None:
            one.feedback(mine["decision"], feedback_body(**given))
        if (given := reaction(name, theirs, again)) is not None:
            other.feedback(theirs["decision"], feedback_body(**given))
    learners = [each.learners.get(each.models[name], None).learner.to_bytes() for each in (one, other)]
    assert learners[0] == learners[1]
    sound(tmp_path / "a", one)
    other.close()


def test_feedback_in_a_pause_is_learnt_before_what_comes_after(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"])
    open_ = engine.decide_batch("rank", batch(asked("rank", 8)))

    def learn(turn: int) -> None:
        if turn > 8:
            ranking = open_[turn - 9]["ranking"]
            assert engine.feedback(open_[turn - 9]["decision"], feedback_body(clicked=[ranking[-1]])).status == "learnt"

    made, turns = stepwise(engine, "rank", asked("rank", 30), learn)
    assert turns == 15
    assert [reply["model_version"] for reply in made] == [0] * 4 + sorted([*range(1, 8)] * 4)[:26]
    assert [each.number for each in _events_of(engine, made)] == list(range(9, 39))
    sound(tmp_path, engine)


def test_another_decision_in_a_pause_lets_it_begin_again(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank", "label"])
    between: list[Any] = []

    def decide(turn: int) -> None:
        engine.decide("label", request(decision_body("label", random.Random(turn))))  # that of another model does not
        if turn == 11:
            between.append(engine.decide("rank", request(decision_body("rank", random.Random(9)))))

    made, turns = stepwise(engine, "rank", asked("rank", 30), decide)
    assert turns == 11
    assert [each.number for each in _events_of(engine, [*between, *made])] == list(range(1, 32))
    assert engine.models["rank"].decisions == 31
    sound(tmp_path, engine)


def test_settings_that_change_in_a_pause_apply(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"])

    def amend(turn: int) -> None:
        if turn == 12:
            engine.amend("rank", AmendBody(window_s=5.0))

    made, turns = stepwise(engine, "rank", asked("rank", 30), amend)
    assert turns == 12
    rows = [engine.store.decision(reply["decision"]) for reply in made]
    ends = [row.expires_at for row in rows if row is not None]
    assert ends == [event.at + 5.0 for event in _events_of(engine, made)]
    sound(tmp_path, engine)


@pytest.mark.parametrize("turn", [1, 12])
def test_a_model_that_is_archived_in_a_pause_decides_no_more(turn: int, tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"])
    with pytest.raises(SmidgenError, match="archived"):
        stepwise(engine, "rank", asked("rank", 30), lambda now: engine.archive("rank") if now == turn else None)
    assert engine.models["rank"].decisions == 0
    sound(tmp_path, engine)


@pytest.mark.parametrize("place", [2, 29])
def test_a_refusal_in_any_step_changes_nothing_and_names_the_place(place: int, tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"])
    body = asked("rank", 30)
    body["decisions"][place] = {"features": [1.0]}
    with pytest.raises(SmidgenError) as at_once:
        engine.decide_batch("rank", batch(body))
    with pytest.raises(SmidgenError) as in_steps:
        stepwise(engine, "rank", body)
    assert str(in_steps.value) == str(at_once.value)
    assert f"decision {place} of the batch" in str(in_steps.value)
    assert (engine.models["rank"].seq, engine.learners.get(engine.models["rank"], None).learner.decisions) == (1, 0)
    sound(tmp_path, engine)


def test_a_refusal_of_the_learner_gives_the_numbers_of_all_steps_back(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"])
    learner = engine.learners.get(engine.models["rank"], None).learner
    decide, made = learner.decide, 0

    def stubborn(context: Any = None) -> Any:
        nonlocal made
        made += 1
        if made == 27:
            raise SmidgenError("it does not like that one", "give another")
        return decide(context)

    learner.__dict__["decide"] = stubborn
    with pytest.raises(SmidgenError, match="decision 26 of the batch: it does not like"):
        stepwise(engine, "rank", asked("rank", 30))
    assert (engine.models["rank"].seq, learner.decisions) == (1, 0)
    del learner.__dict__["decide"]
    assert [each.number for each in _events_of(engine, stepwise(engine, "rank", asked("rank", 12))[0])] == list(
        range(1, 13)
    )
    sound(tmp_path, engine)


def test_a_pause_has_changed_nothing(tmp_path: Path) -> None:
    """Snapshots written during a pause contain no decisions that the log does not have."""
    engine = engine_with(tmp_path, ["rank"])
    learner = engine.learners.get(engine.models["rank"], None).learner
    before = learner.to_bytes()
    _, turns = stepwise(engine, "rank", asked("rank", 30), lambda turn: _same(learner.to_bytes(), before))
    assert turns == 15
    assert engine.models["rank"].decisions == learner.decisions == 30
    sound(tmp_path, engine)


def test_ids_are_answered_once_with_requests_in_between(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"])
    body = asked("rank", 30)
    for place, each in enumerate(body["decisions"]):
        each["id"] = f"r{place}"
    first: list[Any] = []

    def ask(turn: int) -> None:
        if turn == 3:
            first.append(engine.decide("rank", request(body["decisions"][1])))

    made, _ = stepwise(engine, "rank", body, ask)
    assert made[1] == first[0]
    assert stepwise(engine, "rank", body)[0] == made
    assert engine.models["rank"].decisions == 30
    sound(tmp_path, engine)


def test_records_are_encoded_by_what_is_known_when_their_step_comes(tmp_path: Path) -> None:
    engine = Engine(tmp_path, synchronous="OFF")
    engine.create("mail", model({"loop": "label", "labels": ["x", "y"]}))
    body = {"decisions": [{"features": {"from": f"sender {i % 7}", "size": float(i)}} for i in range(30)]}
    open_ = engine.decide_batch("mail", batch(body))

    def learn(turn: int) -> None:
        assert engine.feedback(open_[turn]["decision"], feedback_body(label="x")).status == "learnt"

    made, turns = stepwise(engine, "mail", body, learn)
    assert turns == 15
    for reply in made:
        assert engine.feedback(reply["decision"], feedback_body(label="y")).status == "learnt"
    sound(tmp_path, engine)


@pytest.mark.parametrize("what", ["keyed", "hashed", "shadow", "chosen"])
def test_where_decisions_change_more_than_their_count_it_is_done_at_once(what: str, tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["keyed", "rank"])
    engine.create("hashed", model({**MODELS["hashed"], "keyed": False}))
    if what == "shadow":
        engine.create("shadow", model({**MODELS["rank"], "shadow_of": "rank"}))
    name = what if what in engine.models and what != "shadow" else "rank"
    body = asked(name, 30)
    for each in body["decisions"]:
        if name == "hashed":
            each.pop("key", None)
        if what == "chosen":
            each["chosen"] = each["candidates"][0]["id"]
    assert stepwise(engine, name, body)[1] == 0
    sound(tmp_path, engine)


def _events_of(engine: Engine, replies: list[dict[str, Any]]) -> list[Any]:
    found = []
    for reply in replies:
        row = engine.store.decision(reply["decision"])
        assert row is not None
        found.append(engine.events.decision(engine.models[reply["model"]], row.seq))
    return found


def _same(one: bytes, other: bytes) -> None:
    assert one == other


def test_others_are_answered_while_a_large_batch_is_worked_on(tmp_path: Path) -> None:
    with Caller(tmp_path) as call, ThreadPoolExecutor(1) as pool:
        for name in ("rank", "label"):
            assert call.put(f"/v1/models/{name}", MODELS[name]).status_code == 201
        body = {"decisions": [{"features": [0.1, 0.2, float(i)]} for i in range(1000)]}
        large = pool.submit(call.post, "/v1/models/label/decisions:batch", body)
        answered = 0
        while not large.done():
            one = call.post("/v1/models/rank/decisions", decision_body("rank", random.Random(answered)))
            assert one.status_code == 201
            answered += not large.done()
        assert large.result().status_code == 201
        assert len(large.result().json()["decisions"]) == 1000
        assert answered >= 10  # of some 500 turns
