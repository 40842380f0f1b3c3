"""Trust before traffic: shadows and challengers decide next to a champion, and all of them are taught alike."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.bodies import Clock, feedback_body, model, request
from service.memory import CommittedTables, MemoryStore
from smidgen.errors import SmidgenError
from smidgen.service.admin.verify import audit_file, audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import NdjsonSource
from smidgen.service.monitoring.stories import recent, story_sentences
from smidgen.service.schemas import AmendBody, CopyBody

BANNERS = {"loop": "choose", "learner": "LinUCB"}
ROWS = {"loop": "choose", "learner": "LinUCB", "params": {"dim": 2}}
LABELS = {"loop": "label", "learner": "HingeConfidit", "labels": ["x", "y", "z"], "params": {"dim": 2}}
CHAMPIONS: dict[str, dict[str, Any]] = {
    "records": BANNERS,
    "silent": BANNERS | {"default_reward": 0.25, "window_s": 30},
    "keyed": BANNERS | {"keyed": True},
    "rows": ROWS,
    "labels": LABELS,
    "named": {"loop": "label", "learner": "AROW", "labels": ["x", "y"], "features": ["a", "b"]},
    "rank": {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 2}},
    "filter": {"loop": "filter", "learner": "RidgeFil", "params": {"dim": 2}},
    "draft": {"loop": "draft"},
    "sealed": {"loop": "draft", "keep_texts": False},
    "knobs": {"loop": "tune", "knobs": {"threads": {"integer": [1, 64]}, "ratio": [0, 1]}},
    "tune": {"loop": "tune", "params": {"space": {"type": "Box", "low": [0, 0], "high": [1, 1]}}},
}


def ask(body: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A request for a model with these settings."""
    asked: dict[str, Any] = {"key": rng.choice(["ann", "bob"])} if body.get("keyed") else {}
    row = [round(rng.uniform(-1, 1), 2), round(rng.uniform(-1, 1), 2)]
    if body["loop"] in ("choose", "rank"):
        rows = "params" in body
        offered = [
            {"id": each, "features": [rng.random(), rng.random()] if rows else {"kind": each * 2}} for each in "abcd"
        ]
        asked["candidates"] = offered
        if not rows:
            asked["context"] = {"device": rng.choice(["ios", "web"]), "age": rng.randrange(90)}
    elif body["loop"] == "draft":
        asked["drafts"] = [
            {"id": each, "text": f"{greeting} It ships on day {rng.randrange(9)}."}
            for each, greeting in zip("abc", ("Hello!", "Dear all,", ""), strict=True)
        ]
    elif body["loop"] != "tune":
        asked["features"] = row
    return asked


def answer(body: dict[str, Any], reply: dict[str, Any], rng: random.Random) -> dict[str, Any] | None:
    """Feedback to a reply; None for no feedback."""
    loop = body["loop"]
    if loop == "choose":
        if "default_reward" in body and rng.random() < 0.3:
            return None
        return {"reward": round(min(1.0, 0.6 * rng.random() + 0.4 * (reply["choice"] == "b")), 3)}
    if loop == "draft":
        return {"edited": f"It ships on day {rng.randrange(9)}, surely."}
    if loop == "rank":
        return {"clicked": [reply["ranking"][1]]}
    if loop == "label":
        return {"label": "y"} if body["learner"] == "AROW" else {"correct": rng.random() < 0.4}
    if loop == "filter":
        return {"relevant": rng.random() < 0.5} if reply["forward"] else None
    return {"loss": rng.random()}


class World:
    """A champion and those next to it."""

    def __init__(
        self, body: dict[str, Any], shelf: CommittedTables | Path, seed: int = 0, **followers: dict[str, Any]
    ) -> None:
        self.body, self.rng, self.clock = body, random.Random(seed), Clock()
        self.shelf = shelf
        self.engine = self.open()
        self.engine.create("champion", model(body))
        for name, own in followers.items():
            self.engine.create(name, model(own))

    def open(self) -> Engine:
        return Engine(
            MemoryStore(self.shelf) if isinstance(self.shelf, CommittedTables) else self.shelf, clock=self.clock
        )

    def play(self, rounds: int) -> list[dict[str, Any]]:
        replies = []
        for _ in range(rounds):
            self.clock.now += 1.0
            reply = self.engine.decide("champion", request(ask(self.body, self.rng)))
            replies.append(reply)
            if (given := answer(self.body, reply, self.rng)) is not None:
                self.engine.feedback(reply["decision"], feedback_body(**given))
            self.engine.sweep_all()
        return replies

    def states(self, engine: Engine | None = None) -> dict[tuple[str, str | None], bytes]:
        found = engine if engine is not None else self.engine
        keys = ["ann", "bob"] if self.body.get("keyed") else [None]
        return {
            (name, key): found.learners.get(served, key).learner.to_bytes()
            for name, served in found.models.items()
            for key in keys
        }


def twin(body: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Settings like the champion's, with what may be left out left out."""
    return {name: value for name, value in body.items() if name in ("loop", "learner")} | more


@pytest.mark.parametrize("name", CHAMPIONS)
def test_all_that_stand_together_are_taught_alike_and_come_back(name: str, tmp_path: Path) -> None:
    body = CHAMPIONS[name]
    world = World(
        body,
        tmp_path / "data",
        shadow=twin(body, shadow_of={"model": "champion"}),
        challenger=twin(body, challenger_of={"model": "champion", "share": 0.4}),
    )
    replies = world.play(60)
    who = [reply["model"] for reply in replies]
    assert 10 < who.count("challenger") < 40
    assert who.count("shadow") == 0
    models = world.engine.models
    counted = {each: (served.decisions, served.version) for each, served in models.items()}
    assert len(set(counted.values())) == 1, counted  # as many decisions and as much learnt everywhere
    if name in ("records", "rows", "silent"):  # what is taught is what is learnt, word for word
        sources = [world.engine.learners.get(each, "ann" if each.keyed else None).learner for each in models.values()]
        weights = [learner.weights for learner in sources]
        assert all((each == weights[0]).all() for each in weights[1:])
    before = world.states()
    world.engine.store.close()  # as a crash would leave it
    again = world.open()
    assert world.states(again) == before
    again.store.close()
    with Inspection(tmp_path / "data") as seen:
        for each in ("champion", "shadow", "challenger"):
            assert not audit_model(seen, seen.model(each)).problems
            file = tmp_path / f"{each}.ndjson"
            file.write_bytes(b"".join(line + b"\n" for line in seen.log.all_lines(seen.model(each))))
            assert not audit_file(NdjsonSource(file)).problems


def test_knobs_that_were_read_back_are_still_in_the_champions_order(tmp_path: Path) -> None:
    body = CHAMPIONS["knobs"]
    assert list(body["knobs"]) != sorted(body["knobs"])  # one spelling of the settings sorts them
    world = World(body, tmp_path / "data")
    world.play(5)
    world.engine.store.close()
    world.engine = world.open()
    champion = world.engine.models["champion"].blueprint
    assert champion.body.knobs is not None
    assert list(champion.body.knobs) == champion.loop.settings["space"].names == list(body["knobs"])
    shadow = model(twin(body, shadow_of={"model": "champion"}))
    rival = model({**body, "knobs": dict(sorted(body["knobs"].items())), "challenger_of": {"model": "champion"}})
    for name, own in (("shadow", shadow), ("challenger", rival)):
        assert world.engine.create(name, own)[0]
        assert world.engine.models[name].blueprint.settings["space"].names == list(body["knobs"])
    world.play(20)
    before = world.states()
    world.engine.store.close()
    world.engine = world.open()
    assert world.states() == before
    assert not world.engine.create("champion", model(body))[0]  # the same body again, all of them
    assert not world.engine.create("shadow", shadow)[0]
    assert not world.engine.create("challenger", rival)[0]
    world.engine.archive("shadow")
    with pytest.raises(SmidgenError, match="space is"):
        world.engine.create("other", model({"loop": "tune", "knobs": {"ratio": [0, 1]}, "shadow_of": "champion"}))


def test_who_answers_is_drawn_by_the_champions_seed_and_number() -> None:
    runs = [
        [
            reply["model"]
            for reply in World(ROWS, CommittedTables(), challenger=twin(ROWS, challenger_of="champion")).play(300)
        ]
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert 10 < runs[0].count("challenger") < 60  # a tenth, if nobody says
    other = World(
        {**ROWS, "params": {"dim": 2, "seed": 5}}, CommittedTables(), challenger=twin(ROWS, challenger_of="champion")
    )
    assert [reply["model"] for reply in other.play(300)] != runs[0]


def test_a_request_is_answered_once_by_any_arm() -> None:
    world = World(ROWS, CommittedTables(), challenger=twin(ROWS, challenger_of={"model": "champion", "share": 0.5}))
    for round_ in range(20):
        asked = ask(ROWS, world.rng) | {"id": f"r{round_}"}
        first = world.engine.decide("champion", request(asked))
        assert world.engine.decide("champion", request(asked)) == first
        with pytest.raises(SmidgenError, match="another request"):
            world.engine.decide("champion", request(ask(ROWS, world.rng) | {"id": f"r{round_}"}))
    batch = [ask(ROWS, world.rng) | {"id": f"s{round_}"} for round_ in range(20)]
    together = world.engine.decide_all("champion", [request(each) for each in batch])
    assert {reply["model"] for reply in together} == {"champion", "challenger"}
    assert [world.engine.decide("champion", request(each)) for each in batch] == together


def test_learners_that_cannot_be_taught_only_decide() -> None:
    body = {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 2}}
    clicks = {"loop": "rank", "learner": "PDGD", "shadow_of": "champion"}
    world = World(body, CommittedTables(), shadow=clicks)
    world.play(20)
    shadow = world.engine.models["shadow"]
    assert (shadow.decisions, shadow.version) == (20, 0)
    assert world.engine.models["champion"].version == 20
    described = world.engine.describe("shadow")
    assert described.agreement is not None
    assert described.agreement.of == 20


REFUSED = {
    "there is no model": {"loop": "choose", "shadow_of": "nobody"},
    "loop is 'rank'": {"loop": "rank", "learner": "PreferencePerceptron", "shadow_of": "champion"},
    "features is": {"loop": "choose", "learner": "LinUCB", "params": {"dim": 3}, "shadow_of": "champion"},
    "keyed is True": {"loop": "choose", "learner": "LinUCB", "keyed": True, "shadow_of": "champion"},
    "window_s is 5.0": {"loop": "choose", "learner": "LinUCB", "window_s": 5, "shadow_of": "champion"},
    "learns from": {"loop": "choose", "learner": "PreferencePerceptron", "shadow_of": "champion"},
    "both shadow_of and challenger_of": {"loop": "choose", "shadow_of": "champion", "challenger_of": "champion"},
    "is itself a shadow or challenger": {"loop": "choose", "shadow_of": "other"},
    "be its own shadow or challenger": {"loop": "choose", "shadow_of": "champion"},
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_does_not_fit_the_champion_is_refused(why: str) -> None:
    world = World(ROWS, CommittedTables(), other=twin(ROWS, challenger_of="champion"))
    name = "champion2" if "itself" not in why or "stands" in why else "champion3"
    body = REFUSED[why] if "its own shadow" not in why else {**REFUSED[why], "shadow_of": "champion3"}
    if "its own shadow" in why:
        why = "there is no model"
    with pytest.raises(SmidgenError, match=why) as caught:
        world.engine.create(name, model(body))
    assert caught.value.status == 422
    assert name not in world.engine.models


def test_there_is_one_of_each_and_they_are_not_asked_themselves() -> None:
    world = World(ROWS, CommittedTables(), one=twin(ROWS, challenger_of="champion"))
    body = model(twin(ROWS, challenger_of="champion"))
    assert world.engine.create("one", body)[0] is False  # the same body again
    with pytest.raises(SmidgenError, match='already has the challenger "one"') as caught:
        world.engine.create("two", body)
    assert caught.value.status == 409
    with pytest.raises(SmidgenError, match="is a shadow or challenger of"):
        world.engine.decide("one", request(ask(ROWS, world.rng)))
    world.engine.archive("one")
    assert {reply["model"] for reply in world.play(30)} == {"champion"}
    assert world.engine.create("two", body)[0] is True
    described = world.engine.describe("champion")
    assert (described.challenger, described.shadow) == ("two", None)
    two = world.engine.describe("two")
    assert two.challenger_of is not None
    assert (two.challenger_of.model, two.challenger_of.share) == ("champion", 0.1)


def test_shares_and_the_champions_terms_change() -> None:
    world = World(
        LABELS,
        CommittedTables(),
        challenger=twin(LABELS, challenger_of={"model": "champion", "share": 0}),
        shadow=twin(LABELS, shadow_of="champion"),
    )
    assert {reply["model"] for reply in world.play(20)} == {"champion"}
    world.engine.amend("challenger", AmendBody(share=1.0))
    assert {reply["model"] for reply in world.play(20)} == {"challenger"}
    with pytest.raises(SmidgenError, match="not a challenger"):
        world.engine.amend("champion", AmendBody(share=0.5))
    with pytest.raises(SmidgenError, match="follows the champion"):
        world.engine.amend("shadow", AmendBody(window_s=5))
    world.engine.amend("champion", AmendBody(add_labels=["new"], window_s=77))
    for name in ("champion", "challenger", "shadow"):
        described = world.engine.describe(name)
        assert (described.labels, described.window_s) == (["x", "y", "z", "new"], 77)
    world.play(20)
    assert world.states(world.open()) == world.states()
    world.engine.archive("shadow")
    assert world.engine.create("late", model(twin(LABELS, shadow_of="champion")))[0]
    assert world.engine.describe("late").labels == ["x", "y", "z", "new"]
    assert world.engine.create("late", model(twin(LABELS, shadow_of="champion")))[0] is False
    world.play(10)
    assert world.states(world.open()) == world.states()


def test_a_retraction_reaches_all_who_were_taught() -> None:
    body = CHAMPIONS["records"]
    world = World(
        body,
        CommittedTables(),
        challenger=twin(body, challenger_of={"model": "champion", "share": 0.5}),
        shadow=twin(body, shadow_of="champion"),
    )
    replies = world.play(30)
    for chosen in (replies[7], next(reply for reply in replies[10:] if reply["model"] == "challenger")):
        world.engine.retract(chosen["decision"])
        weights = {
            key: world.engine.learners.get(served, None).learner.weights for key, served in world.engine.models.items()
        }
        assert (weights["champion"] == weights["shadow"]).all()
        assert (weights["champion"] == weights["challenger"]).all()
        again = world.engine.feedback(chosen["decision"], feedback_body(reward=0.5))
        assert again.status == "learnt"
    assert len({served.version for served in world.engine.models.values()}) == 1
    assert world.states(world.open()) == world.states()


def test_forgetting_reaches_followers(tmp_path: Path) -> None:
    body = CHAMPIONS["keyed"]
    world = World(body, tmp_path / "data", shadow=twin(body, shadow_of="champion"))
    world.play(40)
    bob = {name: state for (name, key), state in world.states().items() if key == "bob"}
    world.engine.forget("champion", "ann")
    fresh = {name: served.blueprint.learner("ann").to_bytes() for name, served in world.engine.models.items()}
    states = world.states()
    assert {name: state for (name, key), state in states.items() if key == "ann"} == fresh
    assert {name: state for (name, key), state in states.items() if key == "bob"} == bob
    world.engine.close()
    assert b"ann" not in b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())


def test_a_copy_stands_alone() -> None:
    world = World(ROWS, CommittedTables(), challenger=twin(ROWS, challenger_of="champion"))
    world.play(20)
    described = world.engine.copy("challenger", CopyBody(to="mine"))
    assert (described.challenger_of, described.shadow_of) == (None, None)
    own = world.engine.learners.get(world.engine.models["mine"], None).learner
    assert (own.weights == world.engine.learners.get(world.engine.models["challenger"], None).learner.weights).all()
    assert world.engine.decide("mine", request(ask(ROWS, world.rng)))["model"] == "mine"


def test_a_token_of_the_champion_hears_of_what_the_challenger_answered() -> None:
    world = World(ROWS, CommittedTables(), challenger=twin(ROWS, challenger_of={"model": "champion", "share": 1.0}))
    reply = world.engine.decide("champion", request(ask(ROWS, world.rng)))
    assert world.engine.story(reply["decision"], "champion").model == "challenger"
    assert world.engine.feedback(reply["decision"], feedback_body(reward=1.0), "champion").status == "learnt"
    with pytest.raises(SmidgenError, match="no decision"):
        world.engine.story(reply["decision"], "other")


def test_a_follower_that_fails_delays_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(ROWS, CommittedTables(), challenger=twin(ROWS, challenger_of={"model": "champion", "share": 1.0}))
    own = world.engine.learners.get(world.engine.models["challenger"], None).learner

    def fail(*_: Any) -> Any:
        raise ZeroDivisionError("a plugin's")

    monkeypatch.setattr(own, "decide", fail)
    assert world.play(1)[0]["model"] == "champion"
    monkeypatch.undo()
    monkeypatch.setattr(own, "teach", fail)
    world.engine.amend("challenger", AmendBody(share=0.0))
    assert world.engine.models["champion"].version == 1
    world.play(3)
    assert world.engine.models["champion"].version == 4
    lines = world.engine.events.all_lines(world.engine.models["challenger"])
    types = [msgspec.json.decode(line)["type"] for line in lines]
    assert types == ["created", "amended", "decision", "decision", "taught", "decision", "taught"]


def test_a_followers_decision_can_be_read_and_not_answered() -> None:
    world = World(ROWS, CommittedTables(), shadow=twin(ROWS, shadow_of="champion"))
    reply = world.play(1)[0]
    (row,) = world.engine.store.follower_decisions(reply["decision"])
    story = world.engine.story(row.id)
    assert (story.model, story.feedback, story.learnt_version, story.why_not) == ("shadow", None, 1, None)
    open_ = world.engine.decide("champion", request(ask(ROWS, world.rng)))
    (other,) = world.engine.store.follower_decisions(open_["decision"])
    assert f"next to decision {open_['decision']}" in (world.engine.story(other.id).why_not or "")
    for act in (
        world.engine.mark_shown,
        world.engine.retract,
        lambda id: world.engine.feedback(id, feedback_body(reward=1.0)),
    ):
        with pytest.raises(SmidgenError, match="shown to nobody") as caught:
            act(other.id)
        assert caught.value.status == 409
    listed, _ = recent(world.engine.events, world.engine.models["shadow"], world.clock.now)
    assert [each["status"] for each in listed] == ["shadow", "shadow, learned"]
    lines = story_sentences(world.engine.events, world.engine.shards, row.id, None, world.clock.now)
    assert "It was not shown" in lines[-1]["text"]


def test_the_log_names_the_decision_shown_and_keeps_no_text_that_it_must_not() -> None:
    body = CHAMPIONS["sealed"]
    world = World(body, CommittedTables(), shadow=twin(body, shadow_of="champion"))
    replies = world.play(4)
    lines = [
        line for name in ("champion", "shadow") for line in world.engine.events.all_lines(world.engine.models[name])
    ]
    events = [msgspec.json.decode(line) for line in lines]
    shown = [event["beside"] for event in events if event["type"] == "decision" and "beside" in event]
    assert shown == [reply["decision"] for reply in replies]
    assert [event["source"] for event in events if event["type"] == "taught"] == shown
    assert b"ships" not in b"".join(lines)
    with pytest.raises(SmidgenError, match="keep_texts is True"):
        world.engine.create("open", model({"loop": "draft", "keep_texts": True, "challenger_of": "champion"}))
