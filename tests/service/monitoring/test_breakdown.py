"""Rewards by candidate and by segment: against plain counting, over HTTP, from the client and the command line."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import smidgen
from service.asgi import Caller
from service.bodies import Clock, feedback_body, request
from service.live import Live
from service.scenarios import COACTIVE, REWARD, World, best, items, rewarded, rows
from smidgen.cli import app
from smidgen.service.engine.description import quality
from smidgen.service.errors import Impossible
from smidgen.service.monitoring import breakdown, checks_learning
from smidgen.service.monitoring.breakdown import by_candidate, by_segment, names_of
from smidgen.service.monitoring.groups import estimate
from smidgen.service.schemas import CandidatesReply, SegmentsReply


def candidates(world: World) -> CandidatesReply:
    return by_candidate(world.engine.store, world.engine.model("m"), world.clock.now)


def segments(world: World, by: str) -> SegmentsReply:
    model = world.engine.model("m")
    return by_segment(world.engine.store, model, by, names_of(world.engine, model), world.clock.now)


class Book:
    """Decisions and their outcomes, as the app saw them."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, float | None]] = []

    def answer(self, asked: Any, reply: Any, rng: random.Random, round_: int) -> dict[str, Any] | None:
        given = rewarded(asked, reply, rng, round_) if round_ % 5 else None
        self.rows.append((reply["choice"], asked["context"]["device"], None if given is None else given["reward"]))
        return given


@pytest.mark.parametrize("closed", [False, True])
def test_is_what_the_app_saw(closed: bool) -> None:
    book = Book()
    world = World({**REWARD, "explore": 0.5}, items, book.answer).play(120)
    if closed:
        world.wait(2 * 86_400.0)
    found = candidates(world)
    by_id: defaultdict[str, list[float | None]] = defaultdict(list)
    by_device: defaultdict[str, list[float | None]] = defaultdict(list)
    for choice, device, reward in book.rows:
        worth = 0.0 if reward is None and closed else reward
        by_id[choice].append(worth)
        by_device[device].append(worth)
    assert found.of == 120
    assert {row.id: row.shown for row in found.candidates} == {id: len(each) for id, each in by_id.items()}
    assert [row.shown for row in found.candidates] == sorted((len(each) for each in by_id.values()), reverse=True)
    for row in found.candidates:
        known = [value for value in by_id[row.id] if value is not None]
        assert (row.reward.n, row.reward.value) == (len(known), pytest.approx(sum(known) / len(known)))
        assert row.share == pytest.approx(row.shown / 120)
        assert (row.reward.low is None) == (row.reward.n < 10)
        if row.reward.low is not None and row.reward.high is not None:
            assert 0.0 <= row.reward.low <= row.reward.value <= row.reward.high <= 1.0
        assert (row.trend is None) == (row.reward.n < breakdown.TREND_AFTER)
    split = segments(world, "context.device")
    assert {row.value: row.decisions for row in split.segments} == {d: len(each) for d, each in by_device.items()}
    assert split.note.startswith("2 intervals")
    assert all(row.lift is None for row in split.segments)


def test_new_values_count_before_anything_is_learned() -> None:
    world = World(REWARD, items, lambda *_: None).play(30)
    found = segments(world, "context.device")
    assert {row.value for row in found.segments} == {"ios", "web"}
    assert all(row.reward.value is None and row.reward.n == 0 for row in found.segments)


def test_labels_filters_and_rankings() -> None:
    def asked(rng: random.Random, round_: int) -> dict[str, Any]:
        return {"features": {"device": rng.choice(["ios", "web"]), "age": rng.random()}}

    labels = World({"loop": "label", "labels": ["x", "y"]}, asked, lambda *_: {"correct": True}).play(40)
    assert {row.id for row in candidates(labels).candidates} <= {"x", "y"}
    assert {row.value for row in segments(labels, "device").segments} == {"ios", "web"}
    mail = World({"loop": "filter"}, asked, lambda a, r, g, n: {"relevant": True} if r["forward"] else None).play(40)
    assert {row.id for row in candidates(mail).candidates} <= {"forwarded", "dropped"}
    ranked = World({"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 3}}, rows, lambda *_: None)
    assert sum(row.shown for row in candidates(ranked.play(12)).candidates) == 12
    assert candidates(World(COACTIVE, rows, best).play(12)).candidates


def test_what_has_none_is_refused() -> None:
    tuned = World({"loop": "tune", "knobs": {"x": [0, 1]}}, lambda *_: {}, lambda *_: {"loss": 1.0}).play(3)
    with pytest.raises(Impossible, match="no candidates"):
        candidates(tuned)
    with pytest.raises(Impossible, match="table of names"):
        segments(World(COACTIVE, rows, best).play(3), "device")
    world = World(REWARD, lambda g, n: {**items(g, n), "context": {"age": n, "os": "a"}}, rewarded).play(5)
    with pytest.raises(Impossible, match="is a number"):
        segments(world, "context.age")
    with pytest.raises(Impossible, match="no decision has such a field") as refused:
        segments(world, "context.device")
    assert "context.os" in refused.value.hint


def test_only_the_latest_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(REWARD, items, rewarded).play(60)
    monkeypatch.setattr(breakdown, "LATEST", 40)
    monkeypatch.setattr(breakdown, "TOGETHER", 7)
    rows_ = breakdown.latest(world.engine.store, world.engine.model("m"), world.clock.now, 40)
    assert len(rows_) == 40
    assert [row.at for row in rows_] == sorted(row.at for row in rows_)


def _misled(asked: Any, reply: Any, rng: random.Random, round_: int) -> dict[str, Any]:
    return {"reward": float(rng.random() < (0.9 if reply["choice"] == "b" else 0.2))}


def test_a_constant_that_is_better_is_found() -> None:
    """The model cannot see which one is shown: ids are no features, and it guesses wrong for ever."""
    body = {"loop": "choose", "learner": "LinUCB", "params": {"dim": 1, "width": 0.0}, "explore": 0.3}
    same = {"candidates": [{"id": each, "features": [1.0]} for each in "abc"]}
    found = World(body, lambda *_: same, _misled).play(500).found("constant_is_better")
    assert found is not None
    assert found.figures["candidate"] == "b"
    assert float(found.figures["low"] or 0.0) > 0.0
    assert "Always showing b" in found.message


def test_a_model_that_learns_is_no_worse_than_a_constant() -> None:
    """The cost of exploration is no fault of the model."""
    world = World({**REWARD, "explore": 0.3}, items, _misled).play(500)
    assert world.found("constant_is_better") is None
    assert World(REWARD, items, rewarded).play(checks_learning.BETTER_AFTER - 1).found("constant_is_better") is None


def test_over_http(call: Caller, clock: Clock) -> None:
    assert call.put("/v1/models/banner", {"loop": "choose"}).status_code == 201
    for n in range(15):
        body = {"candidates": [{"id": each} for each in "ab"], "context": {"device": "ios" if n % 3 else "web"}}
        made = call.post("/v1/models/banner/decisions", body).json()
        call.post(f"/v1/decisions/{made['decision']}/feedback", {"reward": 1.0})
    found = call.get("/v1/models/banner/candidates").json()
    assert found["of"] == 15
    assert sum(row["shown"] for row in found["candidates"]) == 15
    assert set(found["candidates"][0]) == {"id", "shown", "share", "reward", "trend", "last_shown"}
    assert set(found["candidates"][0]["reward"]) == {"value", "low", "high", "n"}
    split = call.get("/v1/models/banner/segments?by=context.device").json()
    assert {row["value"]: row["decisions"] for row in split["segments"]} == {"ios": 10, "web": 5}
    assert call.get("/v1/models/banner/segments?by=nope").status_code == 422
    assert call.get("/v1/models/banner/segments").status_code == 422
    assert call.get("/v1/models/nope/candidates").status_code == 404


def test_clients_and_commands(tmp_path: Path) -> None:
    with Live(tmp_path) as live:
        _clients_and_commands(live)


def _clients_and_commands(live: Live) -> None:
    with smidgen.Client(live.url) as client:
        model = client.create("banner", loop="choose")
        for _ in range(12):
            made = model.decide({"a": {"kind": "x"}, "b": {"kind": "y"}}, context={"device": "ios"})
            model.learn(made, reward=1.0)
        assert sum(row["shown"] for row in client.candidates("banner")) == 12
        assert client.segments("banner", "context.device")["segments"][0]["decisions"] == 12
        assert client.model("banner").candidates() == client.candidates("banner")
        assert client.model("banner").segments("context.device")["by"] == "context.device"

    async def both() -> list[Any]:
        async with smidgen.AsyncClient(live.url) as client:
            return [await client.candidates("banner"), await client.segments("banner", "context.device")]

    assert asyncio.run(both())[1]["note"].startswith("One interval")
    runner = CliRunner()
    printed = runner.invoke(app, ["candidates", "banner", "--url", live.url])
    assert printed.exit_code == 0, printed.output
    assert "shown" in printed.output
    printed = runner.invoke(app, ["segments", "banner", "--by", "context.device", "--url", live.url])
    assert printed.exit_code == 0, printed.output
    assert "context.device = ios: 1.000" in printed.output


def test_a_retracted_answer_does_not_count() -> None:
    world = World(REWARD, items, lambda *_: None)
    made = [world.engine.decide("m", request(items(random.Random(0), 0))) for _ in range(3)]
    for each in made:
        world.engine.feedback(each["decision"], feedback_body(reward=1.0))
    world.engine.retract(made[0]["decision"])
    assert sum(row.reward.n for row in candidates(world).candidates) == 2


def test_a_holdout_gives_segments_their_lift_and_counts_only_when_asked() -> None:
    """The device that learns has a lift; the holdout's decisions are in no figure of the model's."""
    rng = random.Random(2)
    world = World(
        {**REWARD, "holdout": {"share": 0.4, "policy": "first", "salt": "s"}},
        lambda rng, i: {**items(rng, i), "unit": f"u{i % 200}"},
        lambda asked, reply, _, __: {"reward": float(rng.random() < (0.9 if reply["choice"] != "a" else 0.1))},
    ).play(600)
    model, store, now = world.engine.model("m"), world.engine.store, world.clock.now
    mine, both = (by_candidate(store, model, now, held=held) for held in (False, True))
    assert mine.of < both.of == 600
    assert (quality(store, model, now).value or 0.0) > (quality(store, model, now, held=True).value or 1.0)
    found = segments(world, "context.device")
    assert sum(row.decisions for row in found.segments) == mine.of
    for row in found.segments:
        assert row.lift is not None
        assert (row.lift.value or 0.0) > 0.2
        assert row.lift.low is not None
        assert -1.0 <= row.lift.low <= (row.lift.high or 0.0) <= 1.0


def test_the_holdout_is_counted_over_http(call: Caller) -> None:
    call.put("/v1/models/m", {"loop": "choose", "feedback": "reward", "holdout": {"share": 1.0}})
    for _ in range(3):
        made = call.post("/v1/models/m/decisions", {"candidates": [{"id": "a"}, {"id": "b"}]}).json()
        call.post(f"/v1/decisions/{made['decision']}/feedback", {"reward": 1.0})
    assert call.get("/v1/models/m/candidates").json()["of"] == 0
    assert call.get("/v1/models/m/candidates?holdout=true").json()["of"] == 3
    assert call.get("/v1/models/m").json()["quality"]["of"] == 0
    assert call.get("/v1/models/m?holdout=true").json()["quality"]["of"] == 3
    assert call.get("/v1/models/m/candidates?holdout=yes").status_code == 400


def misses(worlds: int, values: int, each: int) -> float:
    """The share of worlds in which the interval of some segment misses at some look; all segments are equal."""
    missed = 0
    for world in range(worlds):
        rng = np.random.default_rng(world)
        rewards = (rng.random((values, each)) < 0.3).astype(float)
        looks = np.unique(np.geomspace(10, each, 12).astype(int)).tolist()
        ends = [estimate(row[:n].tolist(), (0.0, 1.0)) for row in rewards for n in looks]
        missed += sum((end.low or 0.0) > 0.3 or (end.high or 1.0) < 0.3 for end in ends) > 0
    return missed / worlds


def test_segments_with_many_values_miss_no_more_often_than_their_note_says() -> None:
    assert misses(worlds=10, values=8, each=150) <= 0.4  # of 8 intervals, .4 miss on average


@pytest.mark.long
def test_segments_with_many_values_at_length() -> None:
    assert misses(worlds=100, values=40, each=400) <= 0.87  # 1 − .95⁴⁰, were they independent and exact
