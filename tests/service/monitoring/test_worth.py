"""Worth of a model against its holdout: verdicts of worlds whose lift is known, and checks of the split."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import numpy as np
import pytest

from service.bodies import feedback_body, model, request
from service.memory import MemoryStore
from smidgen.evaluate.lift import lift_of_units, sample_ratio
from smidgen.service.engine.champions import unit_draw
from smidgen.service.engine.engine import Engine
from smidgen.service.errors import NoHoldout
from smidgen.service.monitoring.groups import Groups, ratio_of
from smidgen.service.monitoring.health import diagnose
from smidgen.service.monitoring.worth import worth_of
from smidgen.service.schemas import AmendBody, WorthReply
from smidgen.service.storage.records import GroupRow

ITEMS = [{"id": id} for id in "abc"]


def opened(**more: Any) -> Engine:
    engine = Engine(MemoryStore())
    engine.create("m", model({"loop": "choose", "feedback": "reward", **more}))
    return engine


def play(engine: Engine, rounds: int, chances: dict[str, float], seed: int = 0, **asked: Any) -> None:
    rng = random.Random(seed)
    for i in range(rounds):
        unit = {"unit": f"u{i % 150}"} | asked
        reply = engine.decide("m", request({"candidates": ITEMS} | unit))
        engine.feedback(reply["decision"], feedback_body(reward=float(rng.random() < chances[reply["choice"]])))


def worth(engine: Engine) -> WorthReply:
    return worth_of(engine.store, engine.models["m"], engine.clock())


def codes(engine: Engine) -> set[str]:
    return {finding.code for finding in diagnose(engine.store, engine.models["m"], engine.clock()).findings}


@pytest.mark.parametrize("units", [True, False])
def test_a_model_that_learns_is_better_than_chance(units: bool) -> None:
    engine = opened(holdout={"share": 0.3, "salt": "s"})
    play(engine, 1500, {"a": 0.1, "b": 0.1, "c": 0.9}, **({} if units else {"unit": None}))
    found = worth(engine)
    assert found.verdict == "better"
    assert found.decisions_to_go == 0
    assert found.units == (150 if units else None)
    assert found.holdout.value == pytest.approx(0.37, abs=0.08)
    difference = found.lift.difference
    assert difference.low is not None
    assert difference.low > 0.0
    assert difference.value == pytest.approx((found.model.value or 0.0) - (found.holdout.value or 0.0), abs=0.03)
    assert found.lift.ratio.value is not None
    assert found.lift.ratio.value > 1.5
    assert found.sample_ratio.ok
    assert not codes(engine) & {"sample_ratio", "worse_than_holdout"}


def test_a_model_that_loses_to_its_holdout_is_found() -> None:
    engine = opened(holdout={"share": 0.5, "policy": {"candidate": "c"}, "salt": "s"}, explore=1.0)
    play(engine, 1500, {"a": 0.0, "b": 0.0, "c": 1.0})
    found = worth(engine)
    assert found.verdict == "worse"
    assert "worse_than_holdout" in codes(engine)


def test_a_split_that_is_not_as_asked_for_is_found() -> None:
    engine = opened(holdout={"share": 0.5, "salt": "s"})
    for i in range(120):  # only units of the model come through
        if unit_draw("s", f"u{i}") >= 0.5:
            engine.decide("m", request({"candidates": ITEMS, "unit": f"u{i}"}))
    assert not worth(engine).sample_ratio.ok
    assert "sample_ratio" in codes(engine)


def test_without_a_holdout_there_is_nothing_to_say() -> None:
    engine = opened()
    with pytest.raises(NoHoldout, match="has no holdout"):
        worth(engine)
    assert not codes(engine) & {"sample_ratio", "worse_than_holdout"}
    empty = worth(opened(holdout={"share": 0.1}))
    assert (empty.verdict, empty.model.value, empty.sample_ratio.ok) == ("not yet", None, True)


def test_units_of_one_group_only_have_no_verdict() -> None:
    engine = opened(holdout={"share": 1.0})
    play(engine, 20, {"a": 0.5, "b": 0.5, "c": 0.5})
    found = worth(engine)
    assert (found.verdict, found.model.n, found.model.value, found.holdout.n) == ("not yet", 0, None, 20)


def test_app_choices_and_decisions_before_the_holdout_do_not_count() -> None:
    engine = opened()
    play(engine, 20, {"a": 0.5, "b": 0.5, "c": 0.5})
    engine.amend("m", msgspec.convert({"holdout": {"share": 0.5}}, AmendBody))
    engine.decide("m", request({"candidates": ITEMS, "chosen": "a"}))
    assert worth(engine).model.n == worth(engine).holdout.n == 0


@pytest.mark.parametrize("units", [True, False])
def test_parts_of_the_reward_are_compared_one_by_one(units: bool) -> None:
    parts = {"click": 0.2, "purchase": 1.0, "refund": -1.0}
    engine, rng = opened(holdout={"share": 0.4, "salt": "s"}, rewards=parts), random.Random(1)
    empty = worth(engine).parts
    assert isinstance(empty, dict)
    assert (list(empty), empty["click"].model.value) == (list(parts), None)
    for i in range(500):
        unit = {"unit": f"u{i % 100}"} if units else {}
        reply = engine.decide("m", request({"candidates": ITEMS, **unit}))
        clicked = float(rng.random() < (0.9 if reply["choice"] == "c" else 0.1))
        engine.feedback(reply["decision"], feedback_body(reward={"click": clicked}))
        engine.feedback(reply["decision"], feedback_body(reward={"purchase": 40.0 * clicked}, final=True))
    found = worth(engine)
    assert isinstance(found.parts, dict)
    click, purchase, refund = (found.parts[part] for part in parts)
    assert click.model.value == pytest.approx(0.85, abs=0.1)
    assert click.holdout.value == pytest.approx(0.37, abs=0.1)
    assert click.lift.difference.low is not None
    assert click.lift.difference.low > 0.0
    for one, other in ((click.model, purchase.model), (click.lift.difference, purchase.lift.difference)):
        assert other.value == pytest.approx(40.0 * (one.value or 0.0))
        assert other.low == pytest.approx(40.0 * (one.low or 0.0), abs=0.5)
    assert click.lift.ratio.value == pytest.approx(purchase.lift.ratio.value)
    assert (refund.model.value, refund.lift.difference.value, refund.lift.ratio.value) == (0.0, 0.0, None)
    assert worth(opened(holdout={"share": 0.4})).parts is msgspec.UNSET


def test_amounts_below_zero_have_a_difference_and_no_ratio() -> None:
    engine = opened(holdout={"share": 0.5, "salt": "s"}, rewards={"profit": 0.01})
    for i in range(200):
        reply = engine.decide("m", request({"candidates": ITEMS, "unit": f"u{i}"}))
        engine.feedback(reply["decision"], feedback_body(reward={"profit": -3.0 if i % 2 else 5.0}))
    found = worth(engine).parts
    assert isinstance(found, dict)
    profit = found["profit"]
    assert profit.model.value == pytest.approx(1.0, abs=0.8)
    assert profit.model.low is not None
    assert -3.0 <= profit.model.low < profit.model.value < (profit.model.high or 0.0) <= 5.0
    assert profit.lift.difference.n == 200
    assert profit.lift.ratio.value is None


def rows(held: list[bool], share: float) -> list[GroupRow]:
    return [GroupRow(i, f"u{i}", one, share, 0.0, True, i, b"h", 1.0, i) for i, one in enumerate(held)]


def test_a_wrong_split_is_found_and_a_new_share_starts_again() -> None:
    wrong = rows([i % 2 == 0 for i in range(400)], 0.1)
    found = ratio_of([wrong], 0.1)
    assert not found.ok
    assert found.observed == pytest.approx(0.5)
    fresh = rows([i % 10 == 0 for i in range(400)], 0.2)
    assert ratio_of([fresh + wrong], 0.2).observed == pytest.approx(0.1)
    assert ratio_of([rows([i % 5 == 0 for i in range(400)], 0.2) + wrong], 0.2).ok


def alarms(runs: int, looks: int, persons: int = 400) -> int:
    """Count the A/A runs in which any look gives a verdict: correlated decisions of persons, 1 to 50 each."""
    loop, count = opened().models["m"].blueprint.loop, 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        taste = np.where(rng.random(persons) < 0.3, rng.random(persons) < 0.5, 0.5)  # intra-class correlation .3
        often, held = rng.integers(1, 51, size=persons), rng.random(persons) < 0.3
        who = rng.permutation(np.repeat(np.arange(persons), often))
        rewards = (rng.random(len(who)) < taste[who]).astype(float)
        made = [
            GroupRow(i, f"u{j}", bool(held[j]), 0.3, 0.0, True, i, b"h", reward, i)
            for i, (j, reward) in enumerate(zip(who.tolist(), rewards.tolist(), strict=True))
        ][::-1]
        ends = np.linspace(200, len(made), looks).astype(int)
        verdicts = (Groups(made[-end:], loop, 1.0).lift() for end in ends.tolist())
        count += any(found is not None and found.verdict != "not yet" for found in verdicts)
    return count


def test_equal_policies_seldom_get_a_verdict() -> None:
    assert alarms(runs=12, looks=12, persons=150) <= 2


@pytest.mark.long
@pytest.mark.parametrize(("share", "mean"), [(0.5, 0.5), (0.05, 0.5), (0.05, 0.05)])
def test_equal_policies_seldom_get_a_verdict_at_length(share: float, mean: float) -> None:
    """300 A/A runs, 1,000 looks, intra-class correlation .3, 1 to 50 decisions a person: alarms of either kind."""
    count = 0
    for run in range(300):
        rng = np.random.default_rng(run)
        taste = np.where(rng.random(400) < 0.3, rng.random(400) < mean, mean).astype(float)
        often, held = rng.integers(1, 51, size=400), rng.random(400) < share
        who = rng.permutation(np.repeat(np.arange(400), often))
        rewards = (rng.random(len(who)) < taste[who]).astype(float)
        earned, decided, done = np.zeros(400), np.zeros(400), 0
        for end in np.unique(np.linspace(200, len(who), 1000).astype(int)).tolist():
            np.add.at(earned, who[done:end], rewards[done:end])
            np.add.at(decided, who[done:end], 1.0)
            done, seen = end, decided > 0.0
            members, n = int(held[seen].sum()), int(seen.sum())
            wrong = not sample_ratio(members, n, share).ok
            if not wrong and 0 < members < n:
                wrong = lift_of_units(earned[seen], decided[seen], ~held[seen]).verdict != "not yet"
            if wrong:
                count += 1
                break
    assert count <= 22
