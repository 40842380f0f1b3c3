"""Rewards over HTTP: silence that is learnt, decisions that count later, ranges, shares, and what is left out."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import smidgen
from service.asgi import Caller
from service.bodies import Clock, feedback_body, model, request
from service.memory import CommittedTables, MemoryStore
from smidgen.errors import SmidgenError
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import SWEPT, Engine
from smidgen.service.engine.inspection import Inspection

BANNERS = {"candidates": [{"id": id} for id in ("a", "b", "c")]}
SILENT = {"loop": "choose", "default_reward": 0.0}


def engine_of(body: dict[str, Any], clock: Clock, place: Any = None) -> Engine:
    engine = Engine(place if place is not None else MemoryStore(CommittedTables()), clock=clock)
    engine.create("banner", model(body))
    return engine


def bytes_of(engine: Engine, key: str | None = None) -> bytes:
    return engine.learners.get(engine.models["banner"], key).learner.to_bytes()


def types(engine: Engine) -> list[str]:
    return [event.type for event in engine.store.events(1, limit=10**6)]


def test_silence_is_learnt_once_in_the_order_of_the_windows() -> None:
    clock, shelf = Clock(), CommittedTables()
    engine = engine_of(SILENT, clock, MemoryStore(shelf))
    assert engine.describe("banner").window_s == 600.0
    first = engine.decide("banner", request(BANNERS))["decision"]
    clock.now += 1
    answered = engine.decide("banner", request(BANNERS))["decision"]
    clock.now += 1
    third = engine.decide("banner", request(BANNERS))["decision"]
    engine.feedback(answered, feedback_body(reward=1.0))
    assert engine.sweep_all() == 0
    clock.now += 599
    assert engine.sweep_all() == 1
    assert engine.story(first).feedback == {"default_reward": 0.0}
    assert engine.story(first).learnt_version == 2
    assert engine.story(third).learnt_version is None
    late = engine.feedback(first, feedback_body(reward=1.0))
    assert (late.status, late.model_version) == ("late", 2)
    assert engine.feedback(first, feedback_body(reward=1.0)).status == "late"
    known = bytes_of(engine)
    again = Engine(MemoryStore(shelf), clock=clock)  # after a crash
    assert bytes_of(again) == known
    clock.now += 100  # while it was down a window closed
    assert again.sweep_all() == 1
    assert again.sweep_all() == 0
    assert types(again).count("expired") == 2
    assert again.models["banner"].version == 3
    assert again.describe("banner").answered == 2  # one in time, one late


def test_late_feedback_swallows_no_silence_however_many_windows_are_over() -> None:
    clock = Clock()
    engine = engine_of(SILENT, clock)
    made = [engine.decide("banner", request(BANNERS))["decision"] for _ in range(SWEPT + 4)]
    clock.now += 1000
    engine.begin()
    assert engine.sweep() == SWEPT
    late = engine.run_in_savepoint(lambda: engine.feedback(made[-2], feedback_body(reward=1.0)))
    engine.commit()
    assert (late.status, late.model_version) == ("late", SWEPT + 3)  # in the order of the windows
    assert types(engine).count("expired") == SWEPT + 3


def test_the_worth_of_silence_is_what_a_reward_is_worth() -> None:
    clock = Clock()
    silent, spoken = engine_of(SILENT | {"default_reward": 0.25}, clock), engine_of({"loop": "choose"}, clock)
    for _ in range(5):
        silent.decide("banner", request(BANNERS))
        spoken.feedback(spoken.decide("banner", request(BANNERS))["decision"], feedback_body(reward=0.25))
        clock.now += 601
        silent.sweep_all()
    assert bytes_of(silent) == bytes_of(spoken)


def test_the_log_with_silence_is_sound(tmp_path: Path) -> None:
    clock = Clock()
    engine = engine_of(SILENT, clock, tmp_path)
    rng = random.Random(3)
    for _ in range(30):
        made = engine.decide("banner", request(BANNERS | {"activate": rng.random() < 0.7}))["decision"]
        if rng.random() < 0.3:
            engine.mark_shown(made)
        if rng.random() < 0.4:
            engine.feedback(made, feedback_body(reward=rng.random()))
        clock.now += 100
        engine.sweep_all()
        if rng.random() < 0.2:
            engine.feedback(made, feedback_body(reward=0.5)) if engine.story(made).feedback is None else None
    engine.close()
    with Inspection(tmp_path) as seen:
        found = audit_model(seen, seen.model("banner"))
    assert found.problems == []
    assert found.learnt > 5


def test_a_decision_counts_once_it_is_shown() -> None:
    clock = Clock()
    engine = engine_of(SILENT, clock)
    ahead = [engine.decide("banner", request(BANNERS | {"activate": False}))["decision"] for _ in range(4)]
    assert engine.mark_shown(ahead[0]).status == "shown"
    assert engine.mark_shown(ahead[0]).status == "duplicate"
    assert engine.feedback(ahead[1], feedback_body(reward=1.0)).status == "learnt"  # feedback implies that it was shown
    assert engine.mark_shown(ahead[1]).status == "duplicate"
    clock.now += 601
    assert engine.mark_shown(ahead[2]).status == "late"
    assert engine.sweep_all() == 1
    assert engine.story(ahead[3]).why_not == "it was never shown"
    assert engine.models["banner"].version == 2
    quality = engine.describe("banner").quality
    assert (quality.of, quality.silent) == (2, 1)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"loop": "choose", "feedback": "better", "default_reward": 0.0}, "learns from rewards"),
        ({"loop": "rank", "default_reward": 0.0}, "learns from rewards"),
        ({"loop": "choose", "default_reward": 2.0}, "default_reward is 2.0"),
        ({"loop": "choose", "reward_range": [1, 1]}, "reward_range"),
        ({"loop": "rank", "feedback": "better", "reward_range": [0, 5]}, "learns from rewards"),
        ({"loop": "filter", "explore": 0.1}, "explor"),
        ({"loop": "choose", "feedback": "better", "min_share": 0.1}, "minimum share"),
        ({"loop": "choose", "explore": 0.1, "params": {"floor": 0.2}}, "one place"),
    ],
)
def test_terms_that_do_not_fit_are_refused(body: dict[str, Any], words: str) -> None:
    with pytest.raises(SmidgenError) as caught:
        engine_of(body, Clock())
    assert caught.value.status == 422
    assert words in f"{caught.value.problem} {caught.value.hint}"


def test_rewards_in_the_app_s_own_range() -> None:
    clock = Clock()
    own = engine_of({"loop": "choose", "reward_range": [-10, 30]}, clock)
    plain = engine_of({"loop": "choose"}, clock)
    for value in (-10.0, 30.0, 10.0):
        own.feedback(own.decide("banner", request(BANNERS))["decision"], feedback_body(reward=value))
        scaled = (value + 10.0) / 40.0
        plain.feedback(plain.decide("banner", request(BANNERS))["decision"], feedback_body(reward=scaled))
    assert bytes_of(own) == bytes_of(plain)
    assert own.describe("banner").quality.value == 10.0
    with pytest.raises(SmidgenError, match="reward is 31"):
        own.feedback(own.decide("banner", request(BANNERS))["decision"], feedback_body(reward=31.0))


def test_shares_of_exploration() -> None:
    clock = Clock()
    none = engine_of({"loop": "choose", "explore": 0}, clock)
    some = engine_of({"loop": "choose", "explore": 0.3}, clock)
    least = engine_of({"loop": "choose", "min_share": 0.25}, clock)
    for _ in range(20):
        for engine in (none, some, least):
            reply = engine.decide("banner", request(BANNERS))
            shares = reply["propensities"]
            assert set(shares) == {"a", "b", "c"}
            assert sum(shares.values()) == pytest.approx(1.0)
            assert shares[reply["choice"]] == reply["propensity"]
            if engine is none:
                assert reply["propensity"] == 1.0
            assert min(shares.values()) >= {none: 0.0, some: 0.1, least: 0.25}[engine] - 1e-12
            engine.feedback(reply["decision"], feedback_body(reward=float(reply["choice"] == "b")))
    with pytest.raises(SmidgenError) as caught:
        least.decide("banner", request({"candidates": [{"id": str(i)} for i in range(5)]}))
    assert caught.value.status == 422


def test_what_is_excluded_is_never_shown() -> None:
    engine = engine_of({"loop": "choose", "explore": 0.9}, Clock())
    for _ in range(30):
        reply = engine.decide("banner", request(BANNERS | {"exclude": ["b"]}))
        assert reply["choice"] in ("a", "c")
        assert set(reply["propensities"]) == {"a", "c"}
    for exclude, words in ((["a", "b", "c"], "all candidates"), (["x"], "not a candidate")):
        with pytest.raises(SmidgenError, match=words):
            engine.decide("banner", request(BANNERS | {"exclude": exclude}))


def test_over_http(tmp_path: Path) -> None:
    clock = Clock()
    with Caller(tmp_path, clock=clock) as ask:
        made = ask.put("/v1/models/banner", SILENT | {"explore": 0.1})
        assert (made.status_code, made.json()["default_reward"], made.json()["explore"]) == (201, 0.0, 0.1)
        assert ask.put("/v1/models/banner", SILENT | {"explore": 0.1, "window_s": 600}).status_code == 200
        reply = ask.post("/v1/models/banner/decisions", BANNERS | {"activate": False}).json()
        shown = [ask("POST", f"/v1/decisions/{reply['decision']}/shown") for _ in range(2)]
        assert [(r.status_code, r.json()["status"]) for r in shown] == [(200, "shown"), (200, "duplicate")]
        assert ask("POST", "/v1/decisions/" + "0" * 24 + "/shown").status_code == 404
        clock.now += 601
        late = ask.post(f"/v1/decisions/{reply['decision']}/feedback", {"reward": 1.0})
        assert (late.status_code, late.json()["status"]) == (202, "late")
        story = ask.get(f"/v1/decisions/{reply['decision']}").json()
        assert story["learnt_version"] == 1  # swept before the feedback was taken
        assert ask("POST", f"/v1/decisions/{reply['decision']}/shown").status_code == 200  # it has counted
        old = ask.post("/v1/models/banner/decisions", BANNERS | {"activate": False}).json()
        clock.now += 601
        assert ask("POST", f"/v1/decisions/{old['decision']}/shown").status_code == 202


def test_the_world_of_banners_with_records_only(tmp_path: Path) -> None:
    rng = random.Random(7)
    best = {"phone": "short", "desk": "long"}
    offered = [{"id": id, "features": {"kind": kind}} for id, kind in (("a", "short"), ("b", "long"), ("c", "video"))]
    right = []
    with Caller(tmp_path) as ask:
        ask.put("/v1/models/banner", {"loop": "choose"})
        for _ in range(600):
            device = rng.choice(["phone", "desk"])
            body = {"candidates": offered, "context": {"device": device}}
            reply = ask.post("/v1/models/banner/decisions", body).json()
            kind = next(each["features"]["kind"] for each in offered if each["id"] == reply["choice"])
            right.append(kind == best[device])
            clicked = rng.random() < (0.7 if right[-1] else 0.2)
            ask.post(f"/v1/decisions/{reply['decision']}/feedback", {"reward": float(clicked)})
    last = right[400:]
    assert sum(last) / len(last) >= 0.9


def test_the_client_has_the_calls() -> None:
    for client in (smidgen.Client, smidgen.AsyncClient):
        assert {"shown", "teach"} <= set(dir(client))
