"""Several slots in one decision, as the service makes, learns, undoes, forgets, measures and replays them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smidgen
from service.asgi import Caller
from service.bodies import Clock, batch, model, request
from service.engine.test_reports import PARTS, Harness
from smidgen.errors import SmidgenError
from smidgen.service.admin.fsck import fsck
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import StoreSource
from smidgen.service.engine.rebuild import rebuild
from smidgen.service.errors import Conflict, Impossible
from smidgen.service.monitoring.compare import compare_arms
from smidgen.service.ope.whatif import what_if

SLOTS = [{"id": "hero"}, {"id": "side", "features": {"wide": True}, "exclude": ["a"]}]
OFFER: dict[str, Any] = {
    "candidates": [
        {"id": id, "features": {"kind": kind}} for id, kind in (("a", "x"), ("b", "x"), ("c", "y"), (7, "y"))
    ],
    "context": {"device": "ios"},
    "slots": SLOTS,
}


class Pages(Harness):
    """A service with a model of pages."""

    def page(self, **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.engine.decide("m", request({**OFFER, **more}))
        return found

    def ask(self, **more: Any) -> str:
        return str(self.page(**more)["decision"])

    @property
    def version(self) -> int:
        return self.engine.models["m"].version

    def weights(self, key: str | None = None) -> bytes:
        return self.engine.learners.get(self.engine.models["m"], key).learner.to_bytes()


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_an_answer_names_a_candidate_for_each_slot(tmp_path: Path, clock: Clock) -> None:
    pages = Pages(tmp_path, clock)
    for _ in range(30):
        reply = pages.page()
        assert [each["slot"] for each in reply["choices"]] == ["hero", "side"]
        hero, side = (each["choice"] for each in reply["choices"])
        assert hero != side
        assert side != "a"
        assert reply["choice"] == hero
        product = np.prod([each["propensity"] for each in reply["choices"]])
        assert reply["propensity"] == pytest.approx(product)
        pages.report(reply["decision"], rewards={"hero": float(hero == 7), "side": 0.5})
    assert pages.version == 30
    first = pages.page(id="once")
    assert pages.page(id="once") == first
    excluded = pages.page(exclude=["a", "b"], slots=[{"id": "x", "exclude": ["a"]}, {"id": "y"}])
    assert {each["choice"] for each in excluded["choices"]} == {"c", 7}


def test_one_feedback_is_one_version(store: str, tmp_path: Path, clock: Clock) -> None:
    pages = Pages(tmp_path, clock, store)
    every, each = pages.ask(), pages.ask()
    assert pages.report(every, reward=1.0) == "learnt"
    assert pages.report(each, rewards={"side": 0.0, "hero": 1.0}) == "learnt"
    assert pages.report(each, rewards={"side": 0.0, "hero": 1.0}) == "duplicate"
    assert isinstance(pages.refusal(each, rewards={"side": 1.0, "hero": 1.0}), Conflict)
    assert isinstance(pages.refusal(each, rewards={"side": 1.0}), Conflict)
    assert (pages.version, pages.types) == (2, ["decision", "decision", "feedback", "feedback"])
    story = pages.engine.story(each)
    assert story.slots is not None
    assert [(slot.slot, slot.reward) for slot in story.slots] == [("hero", 1.0), ("side", 0.0)]
    assert story.asked is not None
    assert story.asked["slots"] == SLOTS
    row = pages.engine.store.decision(each)
    assert row is not None
    assert row.measure == 0.5


@pytest.mark.parametrize("default", [None, 0.25])
def test_rewards_of_some_slots_wait_for_the_others(
    default: float | None, store: str, tmp_path: Path, clock: Clock
) -> None:
    pages = Pages(tmp_path, clock, store, **({} if default is None else {"default_reward": default}))
    both, some, silent = pages.ask(), pages.ask(), pages.ask()
    assert pages.report(both, rewards={"hero": 1.0}) == "recorded"
    assert pages.report(both, rewards={"hero": 1.0}) == "duplicate"
    assert isinstance(pages.refusal(both, rewards={"hero": 0.5}), Conflict)
    assert isinstance(pages.refusal(both, reward=0.5), Conflict)
    pages.restart()
    assert pages.report(both, rewards={"side": 0.5}) == "learnt"
    assert isinstance(pages.refusal(both, rewards={"side": 1.0}), Conflict)
    assert pages.report(some, rewards={"side": 1.0}) == "recorded"
    assert pages.version == 1
    pages.restart()
    pages.end()
    assert pages.learned(both) == {"hero": 1.0, "side": 0.5}
    rest = {} if default is None else {"hero": default}
    assert pages.learned(some) == {**rest, "side": 1.0}
    assert pages.learned(silent) == default
    assert pages.version == (2 if default is None else 3)
    assert pages.report(some, rewards={"hero": 1.0}) == "late"
    other = pages.ask()
    assert pages.report(other, rewards={"hero": 1.0}, final=True) == "learnt"


def test_reports_with_parts_come_to_a_reward_for_each_slot(tmp_path: Path, clock: Clock) -> None:
    pages = Pages(tmp_path, clock, rewards=PARTS)
    id = pages.ask()
    assert pages.report(id, rewards={"hero": {"click": 1.0}}) == "recorded"
    assert pages.report(id, rewards={"hero": {"purchase": 0.5}, "side": {"click": 1.0}}) == "recorded"
    assert isinstance(pages.refusal(id, rewards={"hero": {"click": 0.5}}), Conflict)
    assert "hero.clik" in pages.refusal(id, rewards={"hero": {"clik": 1.0}}).problem
    assert pages.report(id, rewards={"hero": {"click": 0.5}}, id="again") == "recorded"
    pages.end()
    assert pages.learned(id) == {"hero": 0.875, "side": 0.25}
    whole = pages.ask()
    assert pages.report(whole, reward=dict.fromkeys(PARTS, 0.5)) == "learnt"
    assert pages.learned(whole) == {"hero": 0.125, "side": 0.125}


def test_what_does_not_fit_is_refused(tmp_path: Path, clock: Clock) -> None:
    pages = Pages(tmp_path, clock)
    for more, says in (
        ({"slots": [{"id": str(i)} for i in range(5)]}, "cannot be filled"),
        ({"slots": [{"id": "x"}, {"id": "x"}]}, "two slots"),
        ({"slots": [{"id": "x", "exclude": ["zz"]}]}, "zz"),
        ({"slots": [{"id": "x", "exclude": ["a", "b", "c", 7]}]}, "cannot be filled"),
        ({"slots": [{"id": "x", "features": {"id": "y"}}]}, '"id"'),
        ({"slots": [{"id": "x", "features": {"emb": [0.5, 1.0]}}]}, "vector"),
        ({"context": {"slot": "x"}}, '"slot"'),
    ):
        seq = pages.engine.models["m"].seq
        with pytest.raises(SmidgenError) as caught:
            pages.page(**more)
        assert says in caught.value.problem
        assert pages.engine.models["m"].seq == seq
    made, plain = pages.ask(), pages.ask(slots=None)
    for body in (
        {"rewards": {"heroo": 1.0}},
        {"rewards": {"hero": 2.0, "side": 0.0}},
        {"rewards": {"hero": {"a": 1.0}}},
    ):
        assert isinstance(pages.refusal(made, **body), Impossible)
    assert "no slots" in pages.refusal(plain, rewards={"hero": 1.0}).problem
    assert "rewards.side is 2" in pages.refusal(made, rewards={"side": 2.0}).problem
    assert "rewards.side is 2" in pages.refusal(made, rewards={"hero": 1.0, "side": 2.0}).problem
    for name, settings in (
        ("better", {"loop": "choose", "feedback": "better"}),
        ("rows", {"loop": "choose", "feedback": "reward", "features": ["u"]}),
    ):
        pages.engine.create(name, model(settings))
        features = {"u": 1.0} if name == "rows" else None
        body = {
            "candidates": [{"id": "a", "features": features}, {"id": "b", "features": features}],
            "slots": SLOTS[:1],
        }
        with pytest.raises(Impossible, match="slots"):
            pages.engine.decide(name, request(body))


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("learner", ["ChoiceBank", "LinUCB", "SquareCB", "ThompsonChoice"])
def test_the_log_leads_to_the_same_learner(learner: str, keyed: bool, tmp_path: Path, clock: Clock) -> None:
    pages = Pages(tmp_path / "data", clock, learner=learner, keyed=keyed, default_reward=0.0, window_s=50)
    versions = []
    for place in range(30):
        key = {"key": f"k{place % 3}"} if keyed else {}
        reply = pages.page(**key, context={"device": f"d{place % 4}", "n": place})
        if place % 5:
            pages.report(reply["decision"], rewards={"hero": place / 30, "side": 1.0})
        elif place % 2:
            pages.report(reply["decision"], rewards={"side": 1.0})
        versions.append(pages.version)
        pages.clock.now += 3
        pages.engine.sweep_all()
        if place == 20:
            pages.engine.roll_back("m", versions[15])
        if place % 7 == 1:
            pages.engine.retract(reply["decision"])
    if keyed:
        pages.engine.forget("m", "k1")
    keys = ["k0", "k2"] if keyed else [None]
    expected = {key: pages.weights(key) for key in keys}
    pages.engine.close()
    assert fsck(tmp_path / "data", deep=True).findings == []
    with Inspection(tmp_path / "data") as seen:
        rebuilt = rebuild(StoreSource(seen, seen.model("m")))
        for key in keys:
            again, held = rebuilt.learner(key), smidgen.learners.Learner.from_bytes(expected[key])
            assert again.weights.tobytes() == held.weights.tobytes()
            assert again.rounds == held.rounds
    pages.engine = pages.open()
    for key in keys:
        again = pages.engine.learners.get(pages.engine.models["m"], key).learner
        assert again.weights.tobytes() == smidgen.learners.Learner.from_bytes(expected[key]).weights.tobytes()


def test_a_batch_decides_as_single_calls_do(tmp_path: Path, clock: Clock) -> None:
    one, many = Pages(tmp_path / "one", clock), Pages(tmp_path / "many", clock)
    bodies = [{**OFFER, "context": {"device": f"d{i % 2}"}} for i in range(6)]
    single = [one.engine.decide("m", request(body)) for body in bodies]
    several = many.engine.decide_batch("m", batch({"decisions": bodies}))
    seed = [engine.models["m"].blueprint.learner(None).params["seed"] for engine in (one.engine, many.engine)]
    if seed[0] == seed[1]:
        assert [each["choices"] for each in single] == [each["choices"] for each in several]
    assert all(len({str(each["choice"]) for each in reply["choices"]}) == 2 for reply in several)


@pytest.mark.parametrize("policy", ["first", "uniform", {"candidate": "a"}, {"candidate": "c"}])
def test_a_holdout_fills_the_slots(policy: Any, tmp_path: Path, clock: Clock) -> None:
    pages = Pages(tmp_path, clock, holdout={"share": 1.0, "policy": policy})
    slots = [{"id": "x", "exclude": ["a", "c"]}, {"id": "y"}, {"id": "z"}]
    pages.clock.now += 1
    found = set()
    for place in range(40):
        reply = pages.page(slots=slots, unit=f"u{place}")
        assert reply["holdout"] is True
        found.add(tuple(each["choice"] for each in reply["choices"]))
        status = pages.report(reply["decision"], rewards={"x": 1.0, "y": 0.0, "z": 0.5})
        assert status == "recorded"
    expected = {"first": {("b", "a", "c")}, "a": {("b", "a", "c")}, "c": {("b", "c", "a")}}
    if policy == "uniform":
        assert len(found) > 8
        assert {each["propensity"] for each in reply["choices"]} == {1 / 2, 1 / 3}
    else:
        assert found == expected[policy if isinstance(policy, str) else policy["candidate"]]
    assert pages.version == 0
    partial = pages.ask(slots=slots, unit="u")
    assert pages.report(partial, rewards={"x": 1.0}) == "recorded"
    pages.end()
    assert pages.engine.story(partial).why_not == "holdout"
    assert pages.version == 0


def test_worth_takes_the_mean_over_slots_and_candidates_each_slot(tmp_path: Path, clock: Clock) -> None:
    with Caller(tmp_path, clock=clock) as call:
        settings = {"loop": "choose", "feedback": "reward", "holdout": {"share": 0.5, "policy": "first"}}
        assert call.put("/v1/models/m", settings).status_code == 201
        total: dict[str, float] = {}
        for _ in range(40):
            reply = call.post("/v1/models/m/decisions", OFFER).json()
            rewards = {"hero": 0.2, "side": 0.6}
            call.post(f"/v1/decisions/{reply['decision']}/feedback", {"rewards": rewards})
            for each in reply["choices"] if not reply.get("holdout") else ():
                total[str(each["choice"])] = total.get(str(each["choice"]), 0.0) + rewards[each["slot"]]
        worth = call.get("/v1/models/m/worth").json()
        assert worth["model"]["value"] == pytest.approx(0.4)
        assert worth["holdout"]["value"] == pytest.approx(0.4)
        found = call.get("/v1/models/m/candidates").json()["candidates"]
        assert {each["id"] for each in found} == total.keys()
        for each in found:
            assert each["reward"]["value"] * each["shown"] == pytest.approx(total[each["id"]])
        segments = call.get("/v1/models/m/segments?by=context.slot.id").json()["segments"]
        assert {each["value"]: each["reward"]["value"] for each in segments} == pytest.approx(
            {"hero": 0.2, "side": 0.6}
        )
        assert call.get("/v1/models/m/health").status_code == 200
        listed = (
            call.get("/v1/models/m/decisions").json() if call.get("/v1/models/m/decisions").status_code == 200 else {}
        )
        assert isinstance(listed, dict)


def test_a_budget_moves_once_by_the_sum(tmp_path: Path, clock: Clock) -> None:
    pages = Pages(tmp_path, clock, budget={"usd": 1.0})
    costs = {"a": 0.5, "b": 1.0, "c": 2.0, "7": 4.0}
    offer = [{"id": id, "costs": {"usd": cost}} for id, cost in costs.items()]
    spent = 0.0
    for place in range(1, 30):
        reply = pages.page(candidates=offer, slots=[{"id": "x"}, {"id": "y"}])
        spent += sum(costs[each["choice"]] for each in reply["choices"])
        figures = pages.engine.describe("m").budget
        assert figures is not None
        assert figures["usd"].mean == pytest.approx(spent / place)
        story = pages.engine.story(reply["decision"])
        assert story.price == reply["price"]
        if place % 2:
            assert pages.report(reply["decision"], rewards={"x": 1.0, "y": 0.0}, costs={"usd": 3.0}) == "learnt"
            spent += 3.0 - sum(costs[each["choice"]] for each in reply["choices"])
    pages.restart()
    figures = pages.engine.describe("m").budget
    assert figures is not None
    assert figures["usd"].mean == pytest.approx(spent / 29)


def test_shadows_and_challengers_learn_each_slot(tmp_path: Path, clock: Clock) -> None:
    pages = Pages(tmp_path, clock)
    pages.engine.create("shade", model({"loop": "choose", "feedback": "reward", "shadow_of": {"model": "m"}}))
    pages.engine.create(
        "rival", model({"loop": "choose", "feedback": "reward", "challenger_of": {"model": "m", "share": 0.5}})
    )
    answered = set()
    for place in range(20):
        reply = pages.page(unit=f"u{place}")
        answered.add(reply["model"])
        if place % 2:
            pages.report(reply["decision"], rewards={"hero": 1.0, "side": 0.0})
        else:
            pages.report(reply["decision"], rewards={"hero": 1.0})
            pages.report(reply["decision"], rewards={"side": 0.5})
    assert answered == {"m", "rival"}
    for name in ("m", "shade", "rival"):
        learner = pages.engine.learners.get(pages.engine.models[name], None).learner
        assert learner.learner._numbers[0] == 40, f"{name}: two steps for each decision"
    compared = compare_arms(pages.engine.store.reader(), pages.engine.models["shade"], pages.clock.now)
    assert (compared.verdict, compared.difference.enough, compared.difference.n) == ("not yet", False, 0)
    assert "The result of shade cannot be estimated from this log" in compared.in_words
    assert "they fill several slots. Make shade a challenger" in compared.in_words
    assert pages.engine.promote("shade") is not None
    open_before = pages.ask()
    assert pages.report(open_before, rewards={"hero": 1.0, "side": 1.0}) == "learnt"


def test_what_the_app_has_chosen_is_taught(tmp_path: Path, clock: Clock) -> None:
    pages = Pages(tmp_path, clock)
    reply = pages.page(chosen=["a", 7])
    assert [(each["choice"], each["propensity"]) for each in reply["choices"]] == [("a", None), (7, None)]
    assert pages.version == 1
    for chosen in (["a"], ["b", "a"], ["a", "zz"], ["b", "b"], "a"):
        with pytest.raises(Impossible):
            pages.page(chosen=chosen)
    assert pages.version == 1


def test_examples_teach_slots(tmp_path: Path, clock: Clock) -> None:
    with Caller(tmp_path, clock=clock) as call:
        call.put("/v1/models/m", {"loop": "choose", "feedback": "reward"})
        answer = {"hero": {"choice": "b", "reward": 1}, "side": {"choice": 7, "reward": 0}}
        reply = call.post("/v1/models/m/examples", {"examples": [{**OFFER, "answer": answer}]})
        assert reply.json() == {"taught": 1, "model_version": 1}
        for wrong in ({"choice": "b", "reward": 1}, {"heroo": answer["hero"]}, {"hero": {"choice": "b"}}, {}):
            refused = call.post("/v1/models/m/examples", {"examples": [{**OFFER, "answer": wrong}]})
            assert refused.status_code == 422
        everywhere, in_side = {**OFFER, "exclude": ["b"]}, {"side": {"choice": "a", "reward": 1}}
        for offer, wrong in ((everywhere, answer), (OFFER, in_side), (OFFER, {**answer, **in_side})):
            refused = call.post("/v1/models/m/examples", {"examples": [{**offer, "answer": wrong}]})
            assert refused.status_code == 422
        assert refused.json()["error"]["message"] == (
            'examples[0]: answer.side.choice puts "a" into "side", which excludes it'
        )
        assert call.get("/v1/models/m").json()["model_version"] == 1


def test_what_if_weighs_each_slot_as_a_decision(tmp_path: Path, clock: Clock) -> None:
    pages = Pages(tmp_path / "data", clock, explore=0.5)
    total: list[float] = []
    for place in range(120):
        reply = pages.page(context={"device": "ios" if place % 2 else "web"})
        rewards = {each["slot"]: float(each["choice"] in ("b", 7)) for each in reply["choices"]}
        total += [float(np.mean(list(rewards.values())))]
        pages.report(reply["decision"], rewards=rewards)
    pages.engine.close()
    with Inspection(tmp_path / "data") as seen:
        found = what_if(StoreSource(seen, seen.model("m")), ["LinUCB", "ThompsonChoice"])
    assert (found.decisions, found.answered) == (120, 120)
    assert found.logged.value == pytest.approx(float(np.mean(total)))
    for outcome in found.outcomes:
        figures = {each.measure: each for each in outcome.figures}
        assert figures["mean reward (self-normalised)"].of == 240, "two slots each"
        assert figures["mean reward (self-normalised)"].value == pytest.approx(0.8, abs=0.25)
