"""Verdicts on a challenger or shadow: better or not, how sure, and right that often."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.asgi import Caller
from service.bodies import feedback_body, request
from service.engine.test_champions import World, twin
from service.memory import CommittedTables
from smidgen.errors import SmidgenError
from smidgen.evaluate.confidence import lower_ends
from smidgen.evaluate.lift import Split, predictions
from smidgen.service.monitoring import covariates
from smidgen.service.monitoring.compare import _by_arms, _by_weights, _Row, _Scale, compare_arms
from smidgen.service.schemas import AmendBody, CompareReply

UNIT = _Scale(0.0, 1.0, 0.0, lower_is_better=False)
RANDOM = {"loop": "choose", "learner": "LinUCB", "params": {"dim": 3}, "explore": 1.0}
CLEVER = {"loop": "choose", "learner": "LinUCB", "explore": 0.02}
LOOKS = (60, 120, 250, 500)


def bandit(world: World, rounds: int) -> None:
    """Three candidates, one of which is worth much more than the others."""
    for _ in range(rounds):
        world.clock.now += 1.0
        offered = [{"id": each, "features": [float(each == other) for other in "abc"]} for each in "abc"]
        reply = world.engine.decide("champion", request({"candidates": offered}))
        won = world.rng.random() < (0.8 if reply["choice"] == "b" else 0.2)
        world.engine.feedback(reply["decision"], feedback_body(reward=float(won)))


def look(world: World, name: str = "champion") -> CompareReply:
    return compare_arms(world.engine.store.reader(), world.engine.model(name), world.clock.now)


def test_a_challenger_is_found_better() -> None:
    world = World(RANDOM, CommittedTables(), challenger=CLEVER | {"challenger_of": {"model": "champion", "share": 0.5}})
    bandit(world, 20)
    first = look(world)
    assert (first.verdict, first.difference.enough, first.challenger, first.shadow) == (
        "not yet",
        False,
        "challenger",
        None,
    )
    assert first.decisions_to_go is not None
    assert 30 < first.decisions_to_go < 120
    assert "Not enough data" in first.in_words
    bandit(world, 480)
    found = look(world)
    assert (found.verdict, found.decisions_to_go) == ("better", 0)
    assert 0.0 < found.difference.low < found.difference.value < found.difference.high
    assert found.difference.n == 500 == sum(arm.of for arm in found.arms.values())
    assert "so it is better" in found.in_words
    assert "95 % confidence" in found.in_words
    assert look(world, "challenger") == found


def test_a_shadow_is_judged_by_what_was_drawn() -> None:
    world = World(RANDOM, CommittedTables(), shadow=CLEVER | {"shadow_of": "champion"})
    bandit(world, 700)
    found = look(world)
    assert (found.verdict, found.shadow, found.challenger) == ("better", "shadow", None)
    assert found.difference.low < 0.4 < found.difference.high  # .8 in place of .4, nearly always
    assert found.agreement is not None
    assert set(found.arms) == {"champion"}


def test_a_champion_that_draws_nothing_tells_only_of_agreement() -> None:
    world = World(RANDOM | {"explore": 0.0}, CommittedTables(), shadow=CLEVER | {"shadow_of": "champion"})
    bandit(world, 60)
    found = look(world)
    assert (found.verdict, found.difference.enough, found.difference.n) == ("not yet", False, 0)
    assert "cannot be estimated" in found.in_words
    assert found.agreement is not None
    assert found.agreement.of == 60


def test_equal_models_have_no_winner() -> None:
    world = World(CLEVER | {"params": {"dim": 3}}, CommittedTables(), challenger=CLEVER | {"challenger_of": "champion"})
    bandit(world, 10)
    world.engine.amend("challenger", AmendBody(share=0.5))
    bandit(world, 300)
    found = look(world)
    assert found.verdict == "not yet"
    assert found.difference.low < 0.0 < found.difference.high
    assert "undecided" in found.in_words


def test_silence_counts_when_its_window_is_over() -> None:
    world = World(RANDOM, CommittedTables(), challenger=CLEVER | {"challenger_of": {"model": "champion", "share": 0.5}})
    for _ in range(80):
        world.engine.decide("champion", request({"candidates": [{"id": "a", "features": [1, 0, 0]}]}))
    found = look(world)
    assert (found.difference.n, sum(arm.open for arm in found.arms.values())) == (0, 80)
    assert "still open" in found.in_words
    world.clock.now += 86_401
    later = look(world)
    assert (later.difference.n, later.difference.value, later.verdict) == (80, 0.0, "not yet")
    assert {arm.value for arm in later.arms.values()} == {0.0}


def test_losses_are_better_when_they_are_less() -> None:
    body = {"loop": "tune", "params": {"space": {"type": "Box", "low": [0], "high": [1]}}}
    world = World(body, CommittedTables(), challenger=twin(body, challenger_of={"model": "champion", "share": 0.5}))
    for _ in range(200):
        reply = world.engine.decide("champion", request({}))
        loss = 1.0 if reply["model"] == "champion" else 0.2
        world.engine.feedback(reply["decision"], feedback_body(loss=loss + 0.01 * world.rng.random()))
    found = look(world)
    assert (found.verdict, found.difference.high < 0.0) == ("better", True)
    assert "Smaller is better" in found.in_words


def test_a_model_by_itself_has_nothing_to_compare() -> None:
    world = World(RANDOM, CommittedTables())
    with pytest.raises(SmidgenError, match="neither a shadow nor a challenger") as caught:
        look(world)
    assert caught.value.status == 404


@pytest.mark.parametrize(("ours", "theirs"), [pytest.param(0.3, 0.3, marks=pytest.mark.long), (0.02, 0.02), (0.5, 0.6)])
def test_the_interval_of_two_arms_covers_the_difference_while_people_keep_looking(ours: float, theirs: float) -> None:
    rng, missed, runs = np.random.default_rng(0), 0, 200
    for _ in range(runs):
        left, right = rng.random(500) < ours, rng.random(500) < theirs
        found = [_by_arms(left[:n].astype(float), right[:n].astype(float), UNIT) for n in LOOKS]
        missed += any(not each.low <= theirs - ours <= each.high for each in found)
    assert missed <= 0.05 * runs


def test_the_interval_follows_arms_that_learn() -> None:
    """Means that move: the interval is that of the difference of the means so far."""
    rng, missed, runs = np.random.default_rng(2), 0, 200
    ours, theirs = np.linspace(0.2, 0.6, 500), np.where(np.arange(500) < 60, 0.3, 0.8)
    for _ in range(runs):
        left, right = (rng.random(500) < ours).astype(float), (rng.random(500) < theirs).astype(float)
        for n in LOOKS:
            found = _by_arms(left[:n], right[:n], UNIT)
            if not found.low <= theirs[:n].mean() - ours[:n].mean() <= found.high:
                missed += 1
                break
    assert missed <= 0.05 * runs


@pytest.mark.parametrize("floor", [0.5, 0.02])
def test_the_interval_of_a_shadow_covers_its_gain_with_weights_of_fifty(floor: float) -> None:
    """The champion shows the worse of two but for a floor; the shadow would always show the better one."""
    rng, missed, runs, truth = np.random.default_rng(1), 0, 100, 0.0
    worth = (0.3, 0.6)
    truth = worth[1] - (worth[0] * (1 - floor) + worth[1] * floor)
    for _ in range(runs):
        better = rng.random(1500) < floor
        rewards = rng.random(1500) < np.where(better, worth[1], worth[0])
        rows = [
            _Row(i, int(b), float(b), floor if b else 1 - floor, 1, i, 0.0, 1, None, None, i, float(r))
            for i, (b, r) in enumerate(zip(better, rewards, strict=True))
        ]
        found = [_by_weights(rows[:n], UNIT, 0.0)[0] for n in (200, 600, 1500)]
        missed += any(each.enough and not each.low <= truth <= each.high for each in found)
    assert missed <= 0.05 * runs


def test_over_http(tmp_path: Path) -> None:
    with Caller(tmp_path) as call:
        call.put("/v1/models/banner", {"loop": "choose", "learner": "LinUCB"})
        alone = call.get("/v1/models/banner/compare")
        assert (alone.status_code, alone.json()["error"]["code"]) == (404, "unknown")
        body: dict[str, Any] = {"loop": "choose", "challenger_of": {"model": "banner", "share": 0.5}}
        assert call.put("/v1/models/rival", body).status_code == 201
        rng = random.Random(0)
        for _ in range(10):
            asked = {"candidates": [{"id": "a"}, {"id": "b"}], "context": {"device": rng.choice(["ios", "web"])}}
            reply = call.post("/v1/models/banner/decisions", asked).json()
            assert reply["model"] in ("banner", "rival")
            call.post(f"/v1/decisions/{reply['decision']}/feedback", {"reward": 1.0})
        found = call.get("/v1/models/rival/compare").json()
        assert found.keys() >= {"champion", "challenger", "difference", "verdict", "decisions_to_go", "in_words"}
        assert (found["champion"], found["challenger"], found["verdict"]) == ("banner", "rival", "not yet")
        assert found["difference"].keys() == {"value", "low", "high", "effective", "n", "enough"}
        shown = call.get("/v1/models/rival").json()
        assert shown["challenger_of"] == {"model": "banner", "share": 0.5, "by": None}
        assert call.put("/v1/models/rival", body).status_code == 200
        refused = call.post("/v1/models/rival/decisions", {"candidates": [{"id": "a"}]})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")


def test_what_the_champion_expects_makes_the_interval_narrower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewards that depend on the context: the scores explain them, and the interval of the difference is narrower."""
    body = {"loop": "choose", "feedback": "reward", "explore": 0.2}
    world = World(body, CommittedTables(), challenger=body | {"challenger_of": {"model": "champion", "share": 0.5}})
    for _ in range(500):
        world.clock.now += 1.0
        day = world.rng.choice(["good", "bad"])
        offered = {"candidates": [{"id": "a"}, {"id": "b"}], "context": {"day": day}}
        reply = world.engine.decide("champion", request(offered))
        won = world.rng.random() < (0.9 if day == "good" else 0.1)
        world.engine.feedback(reply["decision"], feedback_body(reward=float(won)))
    adjusted = look(world).difference
    monkeypatch.setattr(covariates, "MOST", 0)
    plain = look(world).difference
    assert adjusted.n == plain.n == 500
    assert adjusted.low < 0.0 < adjusted.high
    assert adjusted.high - adjusted.low < 0.75 * (plain.high - plain.low)


def test_units_are_the_observations_of_a_sticky_challenger() -> None:
    of = {"challenger_of": {"model": "champion", "share": 0.5, "by": "unit"}}
    world = World(RANDOM, CommittedTables(), challenger=CLEVER | of)
    for i in range(900):
        world.clock.now += 1.0
        offered = [{"id": each, "features": [float(each == other) for other in "abc"]} for each in "abc"]
        reply = world.engine.decide("champion", request({"candidates": offered, "unit": f"u{i % 150}"}))
        won = world.rng.random() < (0.8 if reply["choice"] == "b" else 0.1)
        world.engine.feedback(reply["decision"], feedback_body(reward=float(won)))
    found = look(world)
    assert found.verdict == "better"
    assert found.difference.n == 900
    assert found.difference.effective <= 150
    world.engine.amend("challenger", AmendBody(share=0.3))  # then the probabilities of the split are not known
    assert look(world).difference.effective > 150


@pytest.mark.long
def test_a_verdict_takes_fewer_decisions_with_covariates() -> None:
    """Against two means at half of the error each: R² = .5 and no covariates that help."""
    for explained, most in ((True, 0.65), (False, 1.02)):
        needed: dict[str, list[int]] = {"plain": [], "adjusted": []}
        for seed in range(20):
            rng = np.random.default_rng(seed)
            z, arm = rng.normal(size=(12_000, 3)), (rng.random(12_000) < 0.5).astype(float)
            noise = rng.normal(size=12_000) * (0.16 if explained else 0.226)
            y = np.clip(0.5 + (0.16 * z[:, 0] if explained else 0.0) + noise + 0.04 * (arm - 0.5), 0.0, 1.0)
            looks = np.unique(np.geomspace(100, 12_000, 60).astype(int)).tolist()
            for name, x in (("plain", None), ("adjusted", z)):
                split = Split(y, arm, np.full(12_000, 0.5), *predictions(y, arm, x))
                over = np.flatnonzero(lower_ends(split, 0.025, looks) > 0.0)
                needed[name].append(looks[over[0]] if len(over) else 12_000)
        assert np.mean(needed["adjusted"]) <= most * np.mean(needed["plain"])
