"""Spend and prices over time, as the dashboard draws them."""

from __future__ import annotations

import pytest

from service.bodies import model
from service.engine.test_spending import FREE, PRICED, amend, opened, play
from smidgen.service.engine.engine import Engine
from smidgen.service.monitoring.curves import LATEST, WINDOW, spend_points


def points(engine: Engine) -> list[dict[str, float]]:
    found = spend_points(engine.store, engine.models["m"])
    assert found is not None
    assert found["usd"]["limit"] == 3.0
    return list(found["usd"]["points"])


@pytest.mark.parametrize("items", [FREE, PRICED], ids=["reported", "known"])
def test_windows_have_what_decisions_cost_and_the_price_they_were_made_with(items: object) -> None:
    engine, _, clock = opened()
    assert points(engine) == []
    paid = []
    for part in range(7):
        clock[0] += 60.0
        paid += [cost for _, cost in play(engine, WINDOW, items)]
        assert len(points(engine)) == part + 1
    found = points(engine)
    means = [sum(paid[i : i + WINDOW]) / WINDOW for i in range(0, len(paid), WINDOW)]
    assert [each["cost"] for each in found] == pytest.approx(means)
    assert all(each["price"] >= 0.0 for each in found)
    assert len({each["at"] for each in found}) == 7
    assert engine.describe("m").budget["usd"].price == pytest.approx(found[-1]["price"], abs=0.3)


def test_a_few_decisions_are_one_window_and_only_the_latest_are_read() -> None:
    engine, _, _ = opened()
    play(engine, 7)
    assert len(points(engine)) == 1
    play(engine, LATEST)
    assert len(points(engine)) == LATEST // WINDOW


def test_models_without_a_budget_and_followers_have_none() -> None:
    engine, _, _ = opened()
    engine.create("shadow", model({"loop": "choose", "feedback": "reward", "shadow_of": "m"}))
    assert spend_points(engine.store, engine.models["shadow"]) is None
    amend(engine, budget=None)
    assert spend_points(engine.store, engine.models["m"]) is None
