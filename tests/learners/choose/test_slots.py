"""Several slots in one decision, against the single choices that they are made of."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen.errors import AlreadyLearnt, InvalidArgument, InvalidFeatures, InvalidFeedback, NotFinite
from smidgen.learners.base import Learner
from smidgen.learners.choose.base import RewardLearner
from smidgen.learners.pipeline import as_context
from smidgen.structures.slots import Layout, by_slot

LEARNERS = [smidgen.ChoiceBank, smidgen.LinUCB, smidgen.SquareCB, smidgen.ThompsonChoice]
IDS = ("a1", "a2", "b1", "b2", "c1")


def page(
    t: int = 0, slots: Any = ("hero", {"id": "side", "features": {"size": 2.0}, "exclude": ["a1"]}, "foot")
) -> Any:
    records = {id: {"kind": id[0], "price": float(i + t % 3)} for i, id in enumerate(IDS)}
    return smidgen.Candidates(records, context={"device": "ios" if t % 2 else "web"}, slots=slots)


def pipeline(learner: type[RewardLearner] = smidgen.LinUCB, **settings: Any) -> smidgen.Pipeline:
    return smidgen.Pipeline(features=smidgen.Vectorizer(dim=128), learner=learner(dim=128, **settings))


def rewards(t: int, decision: smidgen.Decision) -> dict[str, float]:
    slots, actions = decision.slots or (), decision.actions or ()
    return {slot: float(IDS[action][0] == "ab"[t % 2]) for slot, action in zip(slots, actions, strict=True)}


def taught(learner: type[RewardLearner], rounds: int = 60, **settings: Any) -> smidgen.Pipeline:
    made = pipeline(learner, **settings)
    for t in range(rounds):
        decision = made.decide(page(t))
        made.learn(decision, rewards(t, decision))
    return made


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_page_is_filled_without_repeats_and_learned_in_one_step(learner: type[RewardLearner]) -> None:
    made = taught(learner, 200)
    assert made.rounds == 200
    assert made.learner._numbers[0] == 600, "a step for each slot"
    best = [IDS[action][0] for action in made.predict(page(1))[:2]]
    assert best == ["b", "b"]
    decision = made.decide(page())
    assert decision.slots == ("hero", "side", "foot")
    assert decision.actions is not None
    assert len(set(decision.actions)) == 3
    assert decision.actions[1] != 0, "the side excludes a1"
    assert len(set(made.predict(page()).tolist())) == 3
    assert smidgen.Decision.from_json(decision.to_json()) == decision
    assert made.from_compact(made.to_compact(decision)) == decision


@pytest.mark.parametrize("learner", LEARNERS)
def test_each_slot_is_the_choice_that_a_single_decision_would_be(learner: type[RewardLearner]) -> None:
    made = taught(learner)
    for t in range(20):
        decision = made.decide(page(t))
        found = list(by_slot(decision))
        assert [each.slot for each in found] == ["hero", "side", "foot"]
        product = 1.0
        for each in found:
            single = each.decision
            assert single.propensities is not None
            assert single.propensities.sum() == pytest.approx(1.0), "conditional on the slots before"
            assert single.propensity == single.propensities[single.action]
            product *= single.propensity
            context = as_context(single.context, made.features.planned(single.context)[1])
            alone = made.learner._decide(context, decision.number)
            assert alone.scores is not None
            assert single.scores is not None
            np.testing.assert_allclose(alone.scores, single.scores, atol=1e-12)
            if learner is not smidgen.ThompsonChoice:
                np.testing.assert_allclose(alone.propensities, single.propensities, atol=1e-12)
        assert decision.propensity == pytest.approx(product)
        made.learn(decision, rewards(t, decision))


def test_one_slot_draws_as_a_decision_without_slots_and_slots_draw_apart() -> None:
    made, K = smidgen.LinUCB(dim=3, floor=1.0), 3
    choice = smidgen.Choice(np.eye(K))
    context = as_context_of(choice, 3)
    firsts, seconds = [], []
    for number in range(1, 400):
        page_, single = made._decide(context, number), made._decide(choice, number)
        assert page_.action[0] == single.action
        firsts.append(int(page_.action[0]))
        seconds.append(int(page_.action[1]))
    pairs = dict.fromkeys(itertools.permutations(range(K), 2), 0)
    for pair in zip(firsts, seconds, strict=True):
        pairs[pair] += 1
    assert min(pairs.values()) > 40, "all pages are as likely as one another"


def as_context_of(choice: smidgen.Choice, n: int) -> Any:
    from smidgen.structures.slots import Page

    return Page([choice] * n, tuple((str(i), ()) for i in range(n)))


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_saved_learner_and_a_replayed_log_go_on_bit_for_bit(learner: type[RewardLearner]) -> None:
    made, twin = taught(learner), pipeline(learner)
    other = Learner.from_bytes(made.to_bytes())
    one, two = made.decide(page(3)), other.decide(page(3))
    assert one == two
    for t in range(60):
        decision = twin.decide(page(t))
        twin.learn(twin.from_compact(twin.to_compact(decision)), rewards(t, decision))
    twin.decide(page(3))
    assert twin.to_bytes() == made.to_bytes()


def test_one_reward_is_for_all_slots_and_some_rewards_for_some() -> None:
    every, each, some = (taught(smidgen.LinUCB) for _ in range(3))
    decision = every.decide(page())
    every.learn(decision, 0.5)
    each.learn(decision, dict.fromkeys(decision.slots or (), 0.5))
    assert (every.weights == each.weights).all()
    some.learn(decision, {"side": 1.0})
    assert some.learner._numbers[0] == 181
    with pytest.raises(AlreadyLearnt):
        some.learn(decision, {"hero": 1.0})


@pytest.mark.parametrize(
    "wrong", [{}, {"hero": 1.5}, {"heroo": 1.0}, {"hero": 1.0, "side": None}, {"hero": float("nan")}, "a1", True]
)
@pytest.mark.parametrize("learner", LEARNERS)
def test_refused_feedback_changes_nothing(learner: type[RewardLearner], wrong: Any) -> None:
    made = taught(learner)
    decision = made.decide(page())
    before = made.to_bytes()
    with pytest.raises(InvalidFeedback):
        made.learn(decision, wrong)
    assert made.to_bytes() == before


def test_a_refusal_of_a_later_slot_undoes_the_earlier_ones() -> None:
    made = smidgen.LinUCB(dim=2, covariance="diagonal")
    context = as_context_of(smidgen.Choice(np.eye(2)), 2)
    decision = made.decide(context)
    before = made.to_bytes()
    huge = smidgen.Choice(np.full((2, 2), 1e200))
    context.choices = (context.choices[0], huge)
    with pytest.raises(NotFinite):
        made.learn(decision, 1.0)
    assert made.to_bytes() == before


def test_examples_teach_slots() -> None:
    made, twin = taught(smidgen.LinUCB), taught(smidgen.LinUCB)
    made.teach(page(), {"hero": ("b1", 1.0), "foot": ("a1", 0.0)})
    twin.teach(page(), {"foot": (0, 0.0), "hero": (2, 1.0)})
    assert (made.weights == twin.weights).all(), "in the order of the slots"
    for wrong in (("b1", 1.0), {"hero": 1.0}, {"here": ("b1", 1.0)}, {"hero": ("zz", 1.0)}):
        with pytest.raises(InvalidFeedback):
            made.teach(page(), wrong)


def test_contributions_are_those_of_all_slots_together() -> None:
    made = taught(smidgen.LinUCB)
    decision = made.decide(page())
    total = sum(value for _, value in made.explain(decision).contributions)
    scores = [float(decision.scores[i, action]) for i, action in enumerate(decision.actions or ())]
    assert total == pytest.approx(sum(scores))


def test_a_context_with_a_vector_crosses_each_slot() -> None:
    made, rng = pipeline(smidgen.ChoiceBank), np.random.default_rng(0)
    for t in range(40):
        offer = smidgen.Candidates({id: {} for id in IDS}, context={"emb": rng.normal(size=4)}, slots=["x", "y"])
        decision = made.decide(offer)
        made.learn(decision, {"x": float(t % 2), "y": 1.0})
        again = Learner.from_bytes(made.to_bytes())
        assert again.decide(offer) == made.decide(offer)
        made.withdraw(decision.number)
    with pytest.raises(InvalidFeatures, match="vector"):
        made.decide(smidgen.Candidates({"a": {}, "b": {}}, slots=[{"id": "x", "features": {"emb": [0.5, 1.0]}}]))


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_budget_is_paid_once_by_the_sum(learner: type[RewardLearner]) -> None:
    limits = smidgen.Budget({"usd": 1.0})
    made = smidgen.Pipeline(features=smidgen.Vectorizer(dim=64), learner=learner(dim=64, budget=limits))
    costs = {"a": {"usd": 0.1}, "b": {"usd": 0.4}, "c": {"usd": 1.0}, "d": {"usd": 2.0}}
    for _ in range(400):
        offer = smidgen.Candidates({id: {} for id in costs}, costs=costs, slots=["x", "y"])
        before = made._pacer.figures()["usd"]
        decision = made.decide(offer)
        spent = sum(costs[offer.ids[action]]["usd"] for action in decision.actions or ())
        assert decision.costs_of_action()["usd"] == pytest.approx(spent)
        after = made._pacer.figures()["usd"]
        many = made._pacer.paid
        assert after["mean"] * many == pytest.approx((before["mean"] or 0.0) * (many - 1) + spent)
        made.learn(decision, {"x": 0.5 + 0.1 * (decision.actions or ())[0], "y": 0.5})
    assert made._pacer.figures()["usd"]["recent"] == pytest.approx(1.0, abs=0.15)
    decision = made.decide(offer)
    mean = made._pacer.figures()["usd"]["mean"] * made._pacer.paid
    made.learn(decision, 1.0, costs={"usd": 5.0})
    rest = 5.0 - decision.costs_of_action()["usd"]
    assert made._pacer.figures()["usd"]["mean"] * made._pacer.paid == pytest.approx(mean + rest)


def test_a_candidate_that_a_later_slot_needs_is_kept_for_it() -> None:
    rng = np.random.default_rng(5)
    filled = 0
    for _ in range(300):
        n, many = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        excluded = [tuple(np.flatnonzero(rng.random(n) < 0.5).tolist()) for _ in range(many)]
        entries = tuple((str(i), each) for i, each in enumerate(excluded))
        pages = [
            order
            for order in itertools.permutations(range(n), many)
            if all(candidate not in excluded[i] for i, candidate in enumerate(order))
        ]
        if not pages:
            with pytest.raises(InvalidArgument, match="cannot be filled"):
                Layout(entries, n)
            continue
        layout, filled = Layout(entries, n), filled + 1
        for order in pages:
            for i in range(many):
                possible = {other[i] for other in pages if other[:i] == order[:i]}
                assert set(np.flatnonzero(layout.open(i, order[:i])).tolist()) == possible
    assert filled > 100


def test_what_is_no_page_is_refused() -> None:
    records: dict[str, Any] = {"a": {}, "b": {}}
    for slots, says in (
        ([], "0 slots"),
        ("hero", "slots is"),
        ([{"features": {}}], r"slots\[0\]"),
        ([{"id": ""}], r"slots\[0\].id"),
        ([{"id": "x", "colour": 1}], "unknown field"),
        ([{"id": "x", "exclude": "a"}], "exclude"),
        ([{"id": "x", "exclude": ["z"]}], "not a candidate"),
        (["x", "x"], "two slots"),
        (["x", "y", "z"], "cannot be filled"),
        ([str(i) for i in range(51)], "51 slots"),
    ):
        with pytest.raises(InvalidArgument, match=says):
            smidgen.Candidates(records, slots=slots)
    with pytest.raises(InvalidArgument, match="top and slots"):
        smidgen.Candidates(records, top=1, slots=["x"])
    with pytest.raises(InvalidFeatures, match='"slot"'):
        pipeline().decide(smidgen.Candidates(records, context={"slot": 1}, slots=["x"]))
    with pytest.raises(InvalidFeatures, match='"id"'):
        pipeline().decide(smidgen.Candidates(records, slots=[{"id": "x", "features": {"id": 1}}]))
    ranker = smidgen.Pipeline(features=smidgen.Vectorizer(dim=8), learner=smidgen.PreferencePerceptron(dim=8))
    with pytest.raises(InvalidArgument, match="by reward"):
        ranker.decide(smidgen.Candidates(records, slots=["x"]))


def test_slots_share_what_they_have_in_common() -> None:
    made = pipeline(smidgen.LinUCB, floor=0.0)
    for t in range(30):
        decision = made.decide(page(t, slots=["hero"]))
        made.learn(decision, rewards(t, decision))
    known = made.decide(page(1, slots=["new"]))
    assert IDS[(known.actions or ())[0]][0] == "b", "a slot that was never met"
