"""Holdouts: who is in them, what their policies show, and that no learner learns from it."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import msgspec
import pytest

from service.bodies import feedback_body, model, request
from service.memory import CommittedTables, MemoryStore
from smidgen.service.engine.engine import Engine
from smidgen.service.errors import Conflict, Impossible
from smidgen.service.schemas import AmendBody, CopyBody

CHOOSE = {"loop": "choose", "feedback": "reward"}
RANK = {"loop": "rank"}
LABEL = {"loop": "label", "labels": ["x", "y"]}
ITEMS = [{"id": id, "features": {"size": i}} for i, id in enumerate("abc")]


def ask(body: dict[str, Any], **more: Any) -> Any:
    given = {"features": {"device": "ios"}} if body["loop"] == "label" else {"candidates": ITEMS}
    return request(given | more)


def answer(body: dict[str, Any], reward: float = 1.0) -> Any:
    if body["loop"] == "choose":
        return feedback_body(reward=reward)
    return feedback_body(clicked=["b"]) if body["loop"] == "rank" else feedback_body(correct=reward > 0.5)


def opened(body: dict[str, Any], now: float = 1000.0) -> tuple[Engine, CommittedTables, list[float]]:
    shelf, clock = CommittedTables(), [now]
    engine = Engine(MemoryStore(shelf), clock=lambda: clock[0])
    engine.create("m", model(body))
    return engine, shelf, clock


def is_member(salt: str, unit: str, share: float) -> bool:
    return int.from_bytes(hashlib.sha256(f"{salt}:{unit}".encode()).digest()[:8], "big") / 2**64 < share


@pytest.mark.parametrize("body", [CHOOSE, RANK, LABEL], ids=lambda body: body["loop"])
@pytest.mark.parametrize("policy", ["uniform", "first", {"candidate": "b"}, {"candidate": "y"}], ids=str)
def test_units_are_held_out_by_their_hash(body: dict[str, Any], policy: Any) -> None:
    engine, _, _ = opened(body | {"holdout": {"share": 0.3, "policy": policy}})
    salt = engine.describe("m").holdout.salt
    assert salt
    shown = Counter[Any]()
    for i in range(200):
        unit = f"user-{i % 50}"
        reply = engine.decide("m", ask(body, unit=unit))
        assert reply.get("holdout", False) is is_member(salt, unit, 0.3)
        if "holdout" in reply:
            first = reply["ranking"][0] if body["loop"] == "rank" else reply.get("choice", reply.get("label"))
            shown[first] += 1
    fixed = {"first": "a", "{'candidate': 'b'}": "b", "{'candidate': 'y'}": "a"}.get(str(policy))
    if body["loop"] == "label":
        fixed = {"first": "x", "{'candidate': 'b'}": "x", "{'candidate': 'y'}": "y"}.get(str(policy))
    assert set(shown) == {fixed} if fixed else len(shown) == (2 if body["loop"] == "label" else 3)


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("body", [CHOOSE, RANK, LABEL], ids=lambda body: body["loop"])
def test_no_learner_hears_of_a_holdout(body: dict[str, Any], keyed: bool) -> None:
    """The weights are those of a service that never had the held-out requests, also after a restart."""
    held = {"holdout": {"share": 0.4, "salt": "s"}}
    one, shelf, _ = opened(body | held | {"keyed": keyed})
    two, _, _ = opened(body | {"keyed": keyed})
    recorded = learnt = 0
    units = [f"u{i % 7}" for i in range(60)]
    for i, unit in enumerate(units):
        name = {"key": unit} if keyed else {"unit": unit}
        reply = one.decide("m", ask(body, **name))
        heard = one.feedback(reply["decision"], answer(body, i % 2))
        if is_member("s", unit, 0.4):
            assert (heard.status, heard.model_version) == ("recorded", learnt)
            assert one.feedback(reply["decision"], answer(body, i % 2)).status == "duplicate"
            story = one.story(reply["decision"])
            assert (story.holdout, story.learnt_version, story.why_not) == (True, None, "holdout")
            assert story.shown["holdout"] is True
            recorded += 1
            continue
        learnt += 1
        assert heard.status == "learnt"
        other = two.decide("m", ask(body, **name))
        assert {name: value for name, value in other.items() if name not in ("decision",)} == {
            name: value for name, value in reply.items() if name not in ("decision",)
        }
        two.feedback(other["decision"], answer(body, i % 2))
    assert recorded > 5 < learnt
    again = Engine(MemoryStore(shelf))
    keys = sorted({unit for unit in units if not is_member("s", unit, 0.4)}) if keyed else [None]
    for key in keys:
        expected = two.learners.get(two.models["m"], key).learner.to_bytes()
        assert one.learners.get(one.models["m"], key).learner.to_bytes() == expected
        assert again.learners.get(again.models["m"], key).learner.to_bytes() == expected


@pytest.mark.parametrize("body", [CHOOSE, RANK, LABEL], ids=lambda body: body["loop"])
def test_a_key_that_was_held_out_begins_with_what_the_others_share(body: dict[str, Any]) -> None:
    """A held-out request before anybody has learned does not say what its key begins with later."""
    one, shelf, _ = opened(body | {"keyed": True, "shared_start": True, "holdout": {"share": 0.4, "salt": "s"}})
    two, _, _ = opened(body | {"keyed": True, "shared_start": True})
    held = next(name for name in (f"u{i}" for i in range(40)) if is_member("s", name, 0.4))
    others = [name for name in (f"u{i}" for i in range(40)) if not is_member("s", name, 0.4)]
    assert one.decide("m", ask(body, key=held))["holdout"] is True
    for i, key in enumerate(others):
        for engine in (one, two):
            engine.feedback(engine.decide("m", ask(body, key=key))["decision"], answer(body, i % 2))
    again = Engine(MemoryStore(shelf))
    starts = [
        engine.learners.start_key(engine.models["m"], held, engine.learners.get(engine.models["m"], held))
        for engine in (one, two, again)
    ]
    assert starts[0] is not None
    assert starts[0] == starts[1] == starts[2]


def test_missing_feedback_in_the_holdout_is_counted_and_not_learned() -> None:
    engine, _, clock = opened(CHOOSE | {"default_reward": 0.0, "window_s": 10, "holdout": {"share": 1.0}})
    reply = engine.decide("m", ask(CHOOSE, unit="u"))
    clock[0] += 60.0
    engine.begin()
    engine.sweep()
    engine.commit()
    story = engine.story(reply["decision"])
    assert (story.feedback, story.learnt_version, story.why_not) == ({"default_reward": 0.0}, None, "holdout")
    assert engine.describe("m").model_version == 0
    assert engine.feedback(reply["decision"], answer(CHOOSE)).status == "late"


def test_the_salt_stays_in_a_patch_and_is_new_in_a_copy() -> None:
    engine, _, _ = opened(CHOOSE | {"holdout": {"share": 0.1}})
    salt = engine.describe("m").holdout.salt
    engine.amend("m", msgspec.convert({"holdout": {"share": 0.2, "policy": "first"}}, AmendBody))
    assert engine.describe("m").holdout.salt == salt
    engine.amend("m", msgspec.convert({"holdout": None}, AmendBody))
    assert engine.describe("m").holdout is None
    assert "holdout" not in engine.decide("m", ask(CHOOSE, unit="u"))
    engine.amend("m", msgspec.convert({"holdout": {"share": 0.2}}, AmendBody))
    assert engine.describe("m").holdout.salt == salt
    engine.copy("m", msgspec.convert({"to": "n"}, CopyBody))
    assert engine.describe("n").holdout.salt not in ("", salt)
    engine.create("c", model({"loop": "choose", "feedback": "reward", "challenger_of": {"model": "m", "share": 0.5}}))
    engine.promote("c")
    assert engine.describe("m").holdout.salt == salt


def test_app_choices_and_bad_settings() -> None:
    engine, _, _ = opened(CHOOSE | {"holdout": {"share": 1.0}})
    assert "holdout" not in engine.decide("m", ask(CHOOSE, unit="u", chosen="a"))
    for body in ({"loop": "filter"}, {"loop": "tune", "knobs": {"a": [0, 1]}}):
        with pytest.raises(Impossible, match="has no holdout"):
            engine.create("n", model(body | {"holdout": {"share": 0.1}}))
    with pytest.raises(Impossible, match="has no holdout"):
        engine.create("n", model(CHOOSE | {"holdout": {"share": 0.1}, "shadow_of": "m"}))
    engine.create("k", model(CHOOSE | {"keyed": True}))
    with pytest.raises(Impossible, match="unit is"):
        engine.decide("k", ask(CHOOSE, key="a", unit="b"))


def test_shares_of_a_challenger_by_unit() -> None:
    engine, _, _ = opened(CHOOSE | {"holdout": {"share": 0.2, "salt": "s"}})
    challenger = {"challenger_of": {"model": "m", "share": 0.5, "by": "unit"}}
    engine.create("c", model(CHOOSE | challenger))
    assert engine.describe("c").challenger_of.by == "unit"
    models = {}
    for i in range(90):
        unit = f"u{i % 30}"
        reply = engine.decide("m", ask(CHOOSE, unit=unit))
        assert models.setdefault(unit, reply["model"]) == reply["model"]
        if "holdout" not in reply:
            assert (reply["model"] == "c") is is_member("s:challenger", unit, 0.5)
    assert set(models.values()) == {"m", "c"}


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("body", [CHOOSE, RANK, LABEL], ids=lambda body: body["loop"])
def test_a_batch_is_its_requests_one_by_one(body: dict[str, Any], keyed: bool) -> None:
    held = {"holdout": {"share": 0.4, "salt": "s", "policy": "first"}, "keyed": keyed}
    one, two = (opened(body | held)[0] for _ in range(2))
    asked = [ask(body, **{"key" if keyed else "unit": f"u{i % 9}"}) for i in range(40)]
    alone = [one.decide("m", each) for each in asked]
    together = two.decide_all("m", asked)
    strip = [{name: value for name, value in each.items() if name != "decision"} for each in (*alone, *together)]
    assert strip[:40] == strip[40:]
    assert 0 < sum("holdout" in each for each in together) < 40


def test_the_share_grows_and_members_stay() -> None:
    engine, _, _ = opened(CHOOSE | {"holdout": {"share": 0.2}})
    units = [f"u{i}" for i in range(60)]
    members = {unit for unit in units if "holdout" in engine.decide("m", ask(CHOOSE, unit=unit))}
    engine.amend("m", msgspec.convert({"holdout": {"share": 0.6}}, AmendBody))
    assert members < {unit for unit in units if "holdout" in engine.decide("m", ask(CHOOSE, unit=unit))}
    for salt in ("another", "x"):
        with pytest.raises(Impossible, match="salt differs"):
            engine.amend("m", msgspec.convert({"holdout": {"share": 0.6, "salt": salt}}, AmendBody))
    with pytest.raises(msgspec.ValidationError):
        model(CHOOSE | {"holdout": {"share": 1.5}})


def test_a_patch_keeps_what_it_leaves_out() -> None:
    engine, _, _ = opened(CHOOSE | {"holdout": {"share": 0.1, "policy": {"candidate": "b"}}})
    before = engine.describe("m").holdout
    engine.amend("m", msgspec.convert({"holdout": {"share": 0.5}}, AmendBody))
    assert engine.describe("m").holdout == msgspec.structs.replace(before, share=0.5)
    engine.amend("m", msgspec.convert({"holdout": {"policy": "first"}}, AmendBody))
    assert engine.describe("m").holdout == msgspec.structs.replace(before, share=0.5, policy="first")
    engine.create("n", model(CHOOSE))
    with pytest.raises(Impossible, match="share is missing"):
        engine.amend("n", msgspec.convert({"holdout": {"policy": "first"}}, AmendBody))


def test_other_feedback_on_a_held_out_decision_is_a_conflict() -> None:
    engine, _, clock = opened(CHOOSE | {"holdout": {"share": 1.0}})
    made = engine.decide("m", ask(CHOOSE, unit="u"))["decision"]
    engine.feedback(made, feedback_body(reward=1.0))
    with pytest.raises(Conflict):
        engine.feedback(made, feedback_body(reward=0.5))
    with pytest.raises(Conflict):
        engine.retract(made)
    late = engine.decide("m", ask(CHOOSE, unit="u"))["decision"]
    clock[0] += 1e6
    assert engine.feedback(late, feedback_body(reward=1.0)).status == "late"
