"""Budgets in the service: spend keeps to the limit, and prices are a fold of the log that nothing else moves."""

from __future__ import annotations

import math
import random
from typing import Any

import msgspec
import pytest

from service.bodies import feedback_body, model, request
from service.memory import CommittedTables, MemoryStore
from smidgen.errors import SmidgenError
from smidgen.service.engine import spending
from smidgen.service.engine.engine import Engine
from smidgen.service.errors import Impossible
from smidgen.service.loops.registry import loops
from smidgen.service.monitoring.checks_learning import OverBudget
from smidgen.service.monitoring.evidence import Evidence
from smidgen.service.schemas import AmendBody, CopyBody

COSTS = {"a": 1.0, "b": 4.0, "c": 20.0}
BODY = {"loop": "choose", "feedback": "reward", "budget": {"usd": 3.0}, "window_s": 1e6}
FREE = [{"id": id, "features": {"size": i}} for i, id in enumerate(COSTS)]
PRICED = [{"id": id, "costs": {"usd": cost}} for id, cost in COSTS.items()]


def opened(body: dict[str, Any] = BODY) -> tuple[Engine, CommittedTables, list[float]]:
    shelf, clock = CommittedTables(), [1000.0]
    engine = Engine(MemoryStore(shelf), clock=lambda: clock[0])
    engine.create("m", model(body))
    return engine, shelf, clock


def figures(engine: Engine, name: str = "m") -> dict[str, Any]:
    return msgspec.to_builtins(engine.describe(name).budget)["usd"]


def amend(engine: Engine, **given: Any) -> None:
    engine.amend("m", msgspec.convert(given, AmendBody))


def play(
    engine: Engine, rounds: int, items: Any = FREE, *, factor: float = 1.0, **more: Any
) -> list[tuple[str, float]]:
    """Play rounds; the decisions and what each cost."""
    draws, made = random.Random(rounds), []
    for _ in range(rounds):
        reply = engine.decide("m", request({"candidates": items, **more}))
        id = reply.get("choice") or reply["pair"][0]
        cost = COSTS[id] * factor
        quality = {"a": 0.6, "b": 0.8, "c": 0.9}[id]
        engine.feedback(reply["decision"], feedback_body(reward=float(draws.random() < quality), costs={"usd": cost}))
        made.append((reply["decision"], cost))
    return made


@pytest.mark.parametrize("items", [FREE, PRICED], ids=["reported", "known"])
def test_spend_keeps_to_the_limit(items: Any) -> None:
    engine, _, _ = opened()
    spent = [cost for _, cost in play(engine, 400, items)]
    assert 0.85 * 3 < sum(spent[150:]) / 250 < 1.15 * 3
    found = figures(engine)
    assert found["limit"] == 3.0
    assert found["mean"] == pytest.approx(sum(spent) / 400)
    assert found["recent"] == pytest.approx(sum(spent[-200:]) / 200)
    assert found["price"] > 0


def test_price_is_the_formula_over_the_log() -> None:
    engine, _, _ = opened()
    price, total = 0.0, 0.0
    for i in range(60):
        reply = engine.decide(
            "m", request({"candidates": PRICED, "chosen": "c"} if i == 30 else {"candidates": PRICED})
        )
        assert reply["price"] == {"usd": price} == engine.story(reply["decision"]).price
        cost = COSTS[reply["choice"]]
        price, total = min(max(price + 0.02 * (cost / 3 - 1), 0.0), 50.0), total + cost
        if i % 3 == 0:
            engine.feedback(reply["decision"], feedback_body(costs={"usd": cost + 1}))
            engine.feedback(reply["decision"], feedback_body(costs={"usd": 0.5}))
            for rest in (cost + 1 - cost, 0.5):
                price, total = min(max(price + 0.02 * (rest / 3), 0.0), 50.0), total + rest
    assert figures(engine)["price"] == price
    assert figures(engine)["mean"] == pytest.approx(total / 60)


def test_a_restart_goes_on_bit_for_bit() -> None:
    whole, shelf, _ = opened()
    play(whole, 60)
    again = Engine(MemoryStore(shelf), clock=lambda: 1000.0)
    assert figures(again) == figures(whole)
    one, two = (each.decide("m", request({"candidates": FREE})) for each in (whole, again))
    assert one["price"] == two["price"]
    assert one["propensities"] == two["propensities"]


@pytest.mark.parametrize("items", [FREE, PRICED], ids=["reported", "known"])
def test_a_start_folds_only_what_came_after_the_saved_state(items: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "SAVED_EVERY", 50)
    whole, shelf, _ = opened()
    play(whole, 110, items)
    taken: list[int] = []
    apply = spending.Spending.apply
    monkeypatch.setattr(
        spending.Spending, "apply", lambda self, event, *more: (taken.append(event.seq), apply(self, event, *more))[1]
    )
    again = Engine(MemoryStore(shelf), clock=lambda: 1000.0)
    assert figures(again) == figures(whole)
    assert taken[0] > 150
    one, two = (each.decide("m", request({"candidates": items})) for each in (whole, again))
    assert one["price"] == two["price"]
    assert one["propensities"] == two["propensities"]


def test_a_saved_state_that_is_damaged_or_of_another_past_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "SAVED_EVERY", 20)
    engine, shelf, _ = opened()
    play(engine, 40)
    before = figures(engine)
    (state,) = engine.store.states(1, spending.PLACE)
    for content in (state.content[:-3], b"", spending.Spending(7)._state()):
        engine.run(lambda content=content: engine.store.publish(1, spending.PLACE, state.seq, content))
        assert figures(Engine(MemoryStore(shelf), clock=lambda: 1000.0)) == before


def test_forgetting_drops_the_saved_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "SAVED_EVERY", 20)
    engine, shelf, _ = opened(BODY | {"keyed": True})
    play(engine, 20, PRICED, key="ann")
    play(engine, 21, PRICED, key="bob")
    engine.forget("m", "ann")
    (state,) = engine.store.states(1, spending.PLACE)
    assert state.seq == 0
    assert figures(Engine(MemoryStore(shelf), clock=lambda: 1000.0)) == figures(engine)
    assert engine.models["m"].counts.decisions == 21


def test_undo_leaves_spend_and_price_alone() -> None:
    engine, _, _ = opened()
    made = play(engine, 40)
    before = figures(engine)
    engine.retract(made[30][0])
    assert figures(engine) == before
    engine.roll_back("m", 10)
    assert figures(engine) == before


def test_costs_alone_are_recorded_and_leave_the_decision_open() -> None:
    engine, _, _ = opened()
    reply = engine.decide("m", request({"candidates": PRICED}))
    one = engine.feedback(reply["decision"], feedback_body(costs={"usd": 7.0}))
    assert (one.status, one.model_version) == ("recorded", 0)
    assert engine.feedback(reply["decision"], feedback_body(costs={"usd": 7.0})).status == "duplicate"
    assert figures(engine)["mean"] == 7.0
    assert engine.feedback(reply["decision"], feedback_body(reward=1.0)).status == "learnt"


def test_decisions_ahead_are_paid_when_they_are_shown() -> None:
    engine, _, _ = opened()
    one, two, three = (engine.decide("m", request({"candidates": PRICED, "activate": False})) for _ in range(3))
    assert figures(engine)["mean"] is None
    engine.mark_shown(one["decision"])
    assert figures(engine)["mean"] == COSTS[one["choice"]]
    engine.feedback(two["decision"], feedback_body(reward=1.0))
    both = COSTS[one["choice"]] + COSTS[two["choice"]]
    assert figures(engine)["mean"] == pytest.approx(both / 2)
    assert three["price"] == {"usd": 0.0}


def test_a_person_who_is_forgotten_has_spent_nothing() -> None:
    body = BODY | {"keyed": True}
    engine, _, _ = opened(body)
    other, _, _ = opened(body)
    for i in range(30):
        for key in ("ann", "bob") if i % 2 else ("bob",):
            for each in (engine, other) if key == "bob" else (engine,):
                reply = each.decide("m", request({"key": key, "candidates": PRICED, "chosen": "abc"[i % 3]}))
                each.feedback(reply["decision"], feedback_body(costs={"usd": 2.0 + i}))
    assert figures(engine) != figures(other)
    engine.forget("m", "ann")
    assert figures(engine) == figures(other)


def test_champion_pays_for_its_challenger_and_its_holdout() -> None:
    engine, _, _ = opened(BODY | {"holdout": {"share": 0.3, "policy": "uniform"}})
    engine.create("c", model({"loop": "choose", "feedback": "reward", "challenger_of": {"model": "m", "share": 0.5}}))
    engine.create("s", model({"loop": "choose", "feedback": "reward", "shadow_of": "m"}))
    total, models = 0.0, set()
    for i in range(60):
        reply = engine.decide("m", request({"candidates": PRICED, "unit": f"u{i}"}))
        models.add((reply["model"], reply.get("holdout", False)))
        cost = COSTS[reply["choice"]]
        if i % 2:
            cost += 1.5
            engine.feedback(reply["decision"], feedback_body(reward=1.0, costs={"usd": cost}))
        total += cost
    assert len(models) == 3
    assert figures(engine)["mean"] == pytest.approx(total / 60)
    assert engine.describe("c").budget is None
    price = figures(engine)["price"]
    engine.promote("c")
    assert figures(engine)["price"] == price


def test_the_budget_may_change_and_end() -> None:
    engine, _, _ = opened()
    play(engine, 50, PRICED)
    price = figures(engine)["price"]
    amend(engine, budget={"usd": 1e-9})
    assert (figures(engine)["price"], figures(engine)["limit"]) == (price, 1e-9)
    shown = [COSTS[engine.decide("m", request({"candidates": PRICED}))["choice"]] for _ in range(20)]
    assert shown[5:].count(1.0) >= 14  # nobody can meet it: the cheapest, but for the floor
    amend(engine, budget={"usd": {"per_day": 2000.0}})
    engine.decide("m", request({"candidates": PRICED}))
    assert figures(engine)["limit"] == pytest.approx(2.0)
    amend(engine, budget={"eur": 1.0, "usd": 5.0})
    reply = engine.decide("m", request({"candidates": [{"id": "a", "costs": {"eur": 2, "usd": 1}}, {"id": "b"}]}))
    assert set(reply["price"]) == {"eur", "usd"}
    amend(engine, budget=None)
    assert engine.describe("m").budget is None
    assert "price" not in engine.decide("m", request({"candidates": FREE}))


def over_budget(engine: Engine) -> Any:
    return OverBudget().run(Evidence(engine.store, engine.models["m"], 2000.0))


def test_health_says_that_nobody_can_meet_a_budget() -> None:
    engine, _, _ = opened(BODY | {"budget": {"usd": 0.1}})
    for _ in range(40):
        engine.decide("m", request({"candidates": PRICED}))
    found = over_budget(engine)
    assert (found.code, found.severity) == ("over_budget", "problem")
    assert (found.figures["limit"], found.figures["cheapest"]) == (0.1, 1.0)
    assert "cheapest" in found.message
    amend(engine, budget={"usd": 1.0})
    assert over_budget(engine) is None


def test_health_says_that_more_is_spent_than_the_limit() -> None:
    engine, _, _ = opened()
    play(engine, 220, PRICED, chosen="c")
    found = over_budget(engine)
    assert (found.code, found.figures["recent"]) == ("over_budget", 20.0)


@pytest.mark.parametrize(
    ("exploration", "floor"),
    [({"min_share": 0.3, "explore": 0.0}, 7.5), ({"explore": 0.5}, 0.5 * 3 / (1 + 1 / 4 + 1 / 20))],
    ids=["min_share", "explore"],
)
def test_health_says_that_exploration_alone_costs_half_of_the_limit(exploration: Any, floor: float) -> None:
    engine, _, _ = opened(BODY | exploration | {"budget": {"usd": 2.1 * floor}})
    engine.decide("m", request({"candidates": PRICED}))
    assert over_budget(engine) is None
    amend(engine, budget={"usd": 1.9 * floor})
    assert over_budget(engine).figures["floor"] == pytest.approx(floor)


def test_a_copy_has_the_same_limit_and_has_spent_nothing() -> None:
    engine, shelf, _ = opened()
    play(engine, 20, PRICED)
    amend(engine, budget={"usd": 5.0})
    engine.copy("m", msgspec.convert({"to": "n"}, CopyBody))
    for each in (engine, Engine(MemoryStore(shelf))):
        assert figures(each, "n") == {"limit": 5.0, "mean": None, "recent": None, "price": 0.0}


def test_retention_folds_what_was_spent() -> None:
    engine, shelf, clock = opened(BODY | {"window_s": 20.0})
    play(engine, 10, PRICED)  # readers have folded nothing of this when it is erased
    clock[0] += 1000.0
    engine.decide("m", request({"candidates": PRICED, "chosen": "c"}))
    engine.retain("m", 100.0)
    assert engine.store.checkpoint(1) is not None
    again = Engine(MemoryStore(shelf), clock=lambda: clock[0])
    whole, _, _ = opened(BODY | {"window_s": 20.0})
    play(whole, 10, PRICED)
    whole.decide("m", request({"candidates": PRICED, "chosen": "c"}))
    assert figures(engine) == figures(again) == figures(whole)


def test_per_day_goes_by_the_decisions_of_a_day() -> None:
    engine, _, clock = opened(BODY | {"budget": {"usd": {"per_day": 300.0}}})
    for i in range(250):
        clock[0] = 1000.0 + i * 600.0
        engine.decide("m", request({"candidates": PRICED}))
    assert figures(engine)["limit"] == pytest.approx(300 / 144, rel=0.02)


def test_the_price_moves_within_a_batch() -> None:
    engine, _, _ = opened()
    replies = engine.decide_all("m", [request({"candidates": PRICED}) for _ in range(5)])
    price = 0.0
    for each in replies:
        assert each["price"] == {"usd": price}
        price = min(max(price + 0.02 * (COSTS[each["choice"]] / 3 - 1), 0.0), 50.0)
    assert figures(engine)["mean"] is not None


def test_refusals_change_nothing() -> None:
    engine, _, _ = opened()
    reply = engine.decide("m", request({"candidates": PRICED}))
    before = figures(engine)
    for costs in ({"eur": 1.0}, {"usd": -1.0}, {"usd": math.inf}, {"usd": 1e16}, {"usd": "1"}):
        with pytest.raises((SmidgenError, msgspec.ValidationError)):
            engine.feedback(reply["decision"], msgspec.convert({"costs": costs}, loops.feedback))
        with pytest.raises((SmidgenError, msgspec.ValidationError)):
            engine.decide("m", request({"candidates": [{"id": "a", "costs": costs}]}))
    assert figures(engine) == before
    engine.create("n", model({"loop": "choose", "feedback": "reward"}))
    with pytest.raises(Impossible, match="no budget"):
        engine.decide("n", request({"candidates": PRICED}))
    for body in ({"loop": "rank"}, {"loop": "choose", "feedback": "better"}, {"loop": "label", "labels": ["x", "y"]}):
        with pytest.raises(Impossible, match="budget"):
            engine.create("o", model(body | {"budget": {"usd": 1.0}}))
    with pytest.raises(Impossible, match="budget"):
        engine.create("o", model({"loop": "choose", "feedback": "reward", "shadow_of": "m", "budget": {"usd": 1.0}}))
