"""Budgets: spend keeps to the limit, prices are those of the formula, and state is saved, replayed and refused."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smidgen
from smidgen.errors import InvalidArgument, InvalidFeedback, SmidgenError
from smidgen.features import as_rows
from smidgen.learners import Learner
from smidgen.learners.pacing import Pacer

LEARNERS = [smidgen.LinUCB, smidgen.SquareCB, smidgen.ThompsonChoice, smidgen.ChoiceBank]
QUALITY, COSTS = np.array([0.6, 0.8, 0.9]), [1.0, 4.0, 20.0]
ALL = np.empty(0, bool)


def play(
    learner: Any, rounds: int, *, known: bool = True, factor: float = 1.0, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Play the world of three candidates; what was spent and chosen."""
    rng, spent, shown = np.random.default_rng(seed), [], []
    for _ in range(rounds):
        d = learner.decide(smidgen.Choice(np.eye(3), costs={"usd": [c * factor for c in COSTS]} if known else None))
        cost = COSTS[d.action] * factor
        learner.learn(d, float(rng.random() < QUALITY[d.action]), costs=None if known else {"usd": cost})
        spent.append(cost)
        shown.append(d.action)
    return np.array(spent), np.array(shown)


@pytest.mark.parametrize("cls", LEARNERS)
@pytest.mark.parametrize("known", [True, False])
def test_spend_keeps_to_the_limit(cls: Any, known: bool) -> None:
    learner = cls(dim=3, budget=smidgen.Budget({"usd": 3.0}), seed=1)
    spent, _ = play(learner, 1500, known=known)
    assert 0.9 * 3.0 < spent[500:].mean() < 1.08 * 3.0
    spent, _ = play(learner, 900, known=known, factor=3.0, seed=1)  # the cheapest costs the limit now
    assert 0.95 * 3.0 < spent[300:].mean() < 1.15 * 3.0


def test_quality_of_three_candidates() -> None:
    found = []
    for seed in range(4):
        learner = smidgen.ChoiceBank(dim=3, budget=smidgen.Budget({"usd": 3.0}), seed=seed)
        found.append(QUALITY[play(learner, 1500, seed=seed)[1]].mean())
    assert np.mean(found) > 0.705  # a static mix of the first two has .733, the cheapest .6


def by_formula(price: float, limit: float, costs: list[float], offered: list[bool]) -> tuple[list[float], list[float]]:
    high = max(c for c, there in zip(costs, offered, strict=True) if there)
    if high == 0.0:
        return [0.0] * len(costs), [there / sum(offered) for there in offered]
    low = max(min(c for c, there in zip(costs, offered, strict=True) if there), high / 1000)
    clipped = [min(max(c, low), high) for c in costs]
    parts = [there / c for c, there in zip(clipped, offered, strict=True)]
    return [price * math.log((1 + c / limit) / (1 + low / limit)) for c in clipped], [p / sum(parts) for p in parts]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=6), st.floats(1e-3, 1e3), st.floats(0, 50), st.data())
@settings(max_examples=60)
def test_quote_is_the_formula(costs: list[float], limit: float, price: float, data: Any) -> None:
    offered = data.draw(st.lists(st.booleans(), min_size=len(costs), max_size=len(costs)).filter(any))
    pacer = Pacer({"usd": limit}, 0)
    pacer._accounts["usd"].numbers[0] = price
    rows = as_rows(np.eye(len(costs)), "items")
    found = pacer.quote(rows, np.array(offered), {"usd": np.array(costs)})
    penalty, shares = by_formula(price, limit, costs, offered)
    assert found.costs["usd"].tolist() == costs
    assert found.penalty == pytest.approx(penalty, abs=1e-9)
    assert found.shares == pytest.approx(shares, abs=1e-12)


@given(st.lists(st.tuples(st.floats(0, 1e15), st.none() | st.floats(0, 1e15)), max_size=300), st.floats(1e-12, 1e15))
@settings(max_examples=40)
def test_price_and_figures_are_those_of_plain_python(paid: list[tuple[float, float | None]], limit: float) -> None:
    pacer, price, total = Pacer({"usd": limit}, 0), 0.0, 0.0
    for cost, really in paid:
        pacer.pay({"usd": cost})
        price = min(max(price + 0.02 * (min(cost / limit, 1e6) - 1), 0.0), 50.0)
        total += cost
        if really is not None:
            pacer.pay_rest({"usd": really - cost})
            price = min(max(price + 0.02 * min(max((really - cost) / limit, -1e6), 1e6), 0.0), 50.0)
            total += really - cost
    figures = pacer.figures()["usd"]
    assert figures["price"] == price
    assert figures["limit"] == limit
    assert figures["mean"] == (None if not paid else pytest.approx(total / len(paid), abs=1e-6 * (1 + total)))


@pytest.mark.parametrize("cls", LEARNERS)
def test_saved_and_replayed_bit_for_bit(cls: Any) -> None:
    def make() -> Any:
        return smidgen.Pipeline(
            features=smidgen.Vectorizer(dim=64), learner=cls(dim=64), budget=smidgen.Budget({"usd": 3.0, "s": 2.0})
        )

    def steps(learner: Any, first: int, last: int) -> list[Any]:
        shown = []
        for t in range(first, last):
            offer = {name: {} if t % 2 else {"costs": {"s": t % 5}} for name in "abc"}
            d = learner.decide(smidgen.Candidates(offer, context={"hard": t % 3 == 0}))
            again = smidgen.Decision.from_bytes(d.to_bytes())
            assert again == d == learner.from_compact(learner.to_compact(d)) == smidgen.Decision.from_json(d.to_json())
            learner.learn(again, float(t % 4 == d.action), costs={"usd": COSTS[d.action]} if t % 3 else None)
            shown.append((d.action, d.price, d.costs["usd"].tolist()))
        return shown

    whole, half = make(), make()
    expected = steps(whole, 0, 80)
    before = steps(half, 0, 40)
    half = Learner.from_bytes(half.to_bytes())
    assert before + steps(half, 40, 80) == expected
    assert half.to_bytes() == whole.to_bytes()


def test_predict_leaves_the_price_alone_and_goes_by_it() -> None:
    learner = smidgen.LinUCB(dim=3, width=0.0, budget=smidgen.Budget({"usd": 3.0}))
    menu = smidgen.Choice(np.eye(3), costs={"usd": COSTS})
    for action, reward in enumerate([0.6, 0.8, 0.9]):
        for _ in range(50):
            learner.teach(menu, (action, reward))
    assert learner.predict(menu) == 2
    before = learner.to_bytes()
    learner.predict(menu)
    assert learner.to_bytes() == before
    learner._pacer._accounts["usd"].numbers[0] = 50.0
    assert learner.predict(menu) == 0


@pytest.mark.parametrize("cls", LEARNERS)
def test_the_floor_goes_by_one_over_cost_and_is_exact(cls: Any) -> None:
    learner = cls(dim=3, floor=0.3, budget=smidgen.Budget({"usd": 3.0}))
    shown = np.zeros(3)
    learner._pacer._accounts["usd"].numbers[0] = 50.0
    learner._pacer.pay = lambda costs: None  # the price stays, so that all decisions are of one policy
    for _ in range(4000):
        d = learner.decide(smidgen.Choice(np.eye(3), costs={"usd": COSTS}))
        shown[d.action] += 1
    shares = 0.3 * np.array([20, 5, 1]) / 26
    if cls is not smidgen.SquareCB:
        assert d.propensities == pytest.approx([0.7 + shares[0], shares[1], shares[2]])
    assert d.propensities.sum() == pytest.approx(1.0)
    assert shown / 4000 == pytest.approx(d.propensities, abs=0.03)
    least = cls(dim=3, floor=0.3, min_share=0.33, budget=smidgen.Budget({"usd": 3.0}))
    p = least.decide(smidgen.Choice(np.eye(3), costs={"usd": COSTS})).propensities
    assert p.sum() == pytest.approx(1.0)
    assert p.min() >= 0.33 - 1e-12
    with pytest.raises(InvalidArgument, match="min_share"):
        cls(dim=3, min_share=0.4, budget=smidgen.Budget({"usd": 3.0})).decide(smidgen.Choice(np.eye(3)))


@pytest.mark.parametrize("cls", LEARNERS)
def test_edges(cls: Any) -> None:
    for limit in (1e-12, 1e15):
        for costs in ([0.0, 0.0, 0.0], [1e15, 0.0, 1e-300], None):
            learner = cls(dim=3, budget=smidgen.Budget({"usd": limit}))
            for _ in range(20):
                d = learner.decide(smidgen.Choice(np.eye(3), costs=None if costs is None else {"usd": costs}))
                assert d.propensities.sum() == pytest.approx(1.0)
                assert math.isfinite(d.price["usd"])
                learner.learn(d, 1.0, costs={"usd": (costs or [0.0, 5.0, 1e15])[d.action]})
            assert Learner.from_bytes(learner.to_bytes()).to_bytes() == learner.to_bytes()
    learner = cls(dim=3, budget=smidgen.Budget({"usd": 0.1}))  # nobody can meet it: the cheapest, but for the floor
    shown = play(learner, 400)[1]
    assert (shown[200:] == 0).mean() > 0.9
    one = cls(dim=2, budget=smidgen.Budget({"usd": 0.1}))
    d = one.decide(smidgen.Choice(np.ones((1, 2)), costs={"usd": [5.0]}))
    assert d.action == 0
    assert d.propensities.tolist() == [1.0]


def test_refusals() -> None:
    budget = smidgen.Budget({"usd": 1.0})
    for limits in (
        {},
        {"usd": 0.0},
        {"usd": -1},
        {"usd": math.inf},
        {"usd": True},
        {"usd": {"per_day": 3}},
        {1: 2.0},
        3,
    ):
        with pytest.raises(InvalidArgument):
            smidgen.Budget(limits)
    for costs in ({"usd": [1.0]}, {"usd": [1, 2, -1]}, {"usd": [1, 2, math.inf]}, {"usd": [1, 2, math.nan]}, [{}], 3):
        with pytest.raises(SmidgenError):
            smidgen.Choice(np.eye(3), costs=costs)
    learner = smidgen.LinUCB(dim=3, budget=budget)
    d = learner.decide(smidgen.Choice(np.eye(3)))
    before = learner.to_bytes()
    for costs in ({"eur": 1.0}, {"usd": -1.0}, {"usd": math.inf}, {"usd": math.nan}, {"usd": "1"}, {}, 3.0):
        with pytest.raises(InvalidFeedback):
            learner.learn(d, 1.0, costs=costs)
    assert learner.to_bytes() == before
    free = smidgen.LinUCB(dim=3)
    d = free.decide(smidgen.Choice(np.eye(3)))
    with pytest.raises(InvalidFeedback, match="no budget"):
        free.learn(d, 1.0, costs={"usd": 1.0})
    with pytest.raises(InvalidArgument, match="budget"):
        smidgen.LinUCB(dim=3, budget={"usd": 1.0})
    with pytest.raises(InvalidArgument, match="takes no budget"):
        smidgen.Pipeline(learner=smidgen.PreferencePerceptron(dim=4096), budget=budget)
    with pytest.raises(InvalidArgument, match="run takes no costs"):
        learner.run(np.eye(3), np.ones((4, 3)))


def test_costs_in_records_are_no_features() -> None:
    with_costs = smidgen.Candidates({"a": {"x": 1, "costs": {"usd": 2.0}}, "b": {"x": 2}})
    assert with_costs.records == [{"x": 1}, {"x": 2}]
    assert np.isnan(with_costs.costs["usd"][1])
    assert with_costs.costs["usd"][0] == 2.0
    assert smidgen.Candidates({"a": {}, "b": {}}, costs={"b": {"usd": 1.0}}).costs["usd"][1] == 1.0
    assert smidgen.Candidates([{}, {}], costs={"usd": [1.0, None]}).costs["usd"][0] == 1.0


def test_costs_alone_replace_what_was_paid() -> None:
    learner = smidgen.LinUCB(dim=3, budget=smidgen.Budget({"usd": 1.0}))
    d = learner.decide(smidgen.Choice(np.eye(3), costs={"usd": [5.0, 5.0, 5.0]}))
    assert learner._pacer.figures()["usd"]["mean"] == 5.0
    learner.learn_costs(d, {"usd": 2.0})
    assert learner._pacer.figures()["usd"]["mean"] == 2.0
    learner.learn(d, 1.0)
    assert learner.rounds == 1
