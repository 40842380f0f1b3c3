"""Several reports on one decision are one lesson: rules, repeats, refusals, undoing, the end of the window."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from service.bodies import Clock, feedback_body, model, request
from service.engine.test_live_settings import amend
from service.memory import CommittedTables, MemoryStore
from smidgen.errors import SmidgenError
from smidgen.service.admin.fsck import fsck
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import StoreSource
from smidgen.service.engine.rebuild import rebuild
from smidgen.service.engine.reports import MOST
from smidgen.service.errors import Conflict, Impossible

PARTS = {"click": 0.25, "purchase": 1.0, "refund": -1.0}


class Harness:
    """A service with a model of banners."""

    def __init__(self, folder: Path, clock: Clock, store: str = "sqlite", **body: Any) -> None:
        self.folder, self.clock = folder, clock
        self._shelf = CommittedTables()
        self._store = store
        self.engine = self.open()
        self.engine.create("m", model({"loop": "choose", "feedback": "reward", "window_s": 100, **body}))

    def open(self) -> Engine:
        place = self.folder if self._store == "sqlite" else MemoryStore(self._shelf)
        return Engine(place, clock=self.clock, synchronous="OFF")

    def restart(self) -> None:
        self.engine.store.close()
        self.engine = self.open()

    def ask(self, **more: Any) -> str:
        body = {"candidates": [{"id": "a"}, {"id": "b"}], **more}
        return str(self.engine.decide("m", request(body))["decision"])

    def report(self, made: str, /, **body: Any) -> str:
        return self.engine.feedback(made, feedback_body(**body)).status

    def refusal(self, made: str, /, **body: Any) -> SmidgenError:
        before = (self.engine.models["m"].seq, self.engine.story(made))
        with pytest.raises(SmidgenError) as caught:
            self.report(made, **body)
        assert (self.engine.models["m"].seq, self.engine.story(made)) == before, "a refusal changes nothing"
        return caught.value

    def end(self) -> None:
        self.clock.now += 101
        self.engine.sweep_all()

    def learned(self, id: str) -> float | None:
        """The reward that was learned, or None."""
        story = self.engine.story(id)
        return None if story.learnt_version is None or story.feedback is None else next(iter(story.feedback.values()))

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.engine.events.all_events(self.engine.models["m"])][1:]


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    ("rewards", "given", "expected"),
    [
        ("last", [0.2, 0.9, 0.4], 0.4),
        ("sum", [0.2, 0.1, 0.4], 0.7),
        ("sum", [0.5, 0.9], 1.0),
        ("max", [0.2, 0.9, 0.4], 0.9),
        (PARTS, [{"click": 1.0}, {"purchase": 0.5}], 0.75),
        (PARTS, [{"purchase": 1.0, "refund": 1.0}], 0.0),
    ],
)
def test_reports_come_to_one_reward_at_the_windows_end(
    rewards: Any, given: list[Any], expected: float, store: str, tmp_path: Path, clock: Clock
) -> None:
    harness = Harness(tmp_path, clock, store, rewards=rewards)
    id = harness.ask()
    for value in given:
        assert harness.report(id, reward=value) == "recorded"
    assert harness.engine.models["m"].version == 0
    assert harness.engine.describe("m").answered == 1
    harness.restart()
    harness.end()
    assert harness.types == ["decision", *["reported"] * len(given), "settled"]
    assert harness.learned(id) == pytest.approx(expected)
    assert (harness.engine.models["m"].version, harness.engine.describe("m").answered) == (1, 1)
    harness.end()
    assert harness.engine.models["m"].version == 1, "once"
    assert harness.report(id, reward=given[0]) == "duplicate"
    late = {"reward": {"click": 7.0}} if isinstance(rewards, dict) else {"reward": 0.125}
    assert harness.report(id, **late) == "late"
    assert harness.report(id, **late) == "late"
    assert harness.engine.describe("m").late == 1


def test_the_order_of_reports_is_all_one(tmp_path: Path, clock: Clock) -> None:
    reports = [{"click": 1.0}, {"purchase": 0.3}, {"purchase": 0.1}]
    harness = Harness(tmp_path, clock, rewards=PARTS)
    found = set()
    for order in itertools.permutations(enumerate(reports)):
        id = harness.ask()
        for place, value in order:
            harness.report(id, reward=value, id=str(place))
        harness.report(id, final=True)
        found.add(harness.learned(id))
    assert found == {0.65}


def test_a_final_report_and_all_parts_end_it_at_once(store: str, tmp_path: Path, clock: Clock) -> None:
    harness = Harness(tmp_path, clock, store, rewards={"click": 0.5, "buy": 0.5})
    id = harness.ask()
    assert [harness.report(id, reward={"click": 1.0}), harness.report(id, reward={"buy": 1.0})] == [
        "recorded",
        "learnt",
    ]
    id = harness.ask(activate=False)
    assert harness.report(id, reward={"click": 1.0}, final=True) == "learnt"
    assert harness.engine.models["m"].version == 2
    id = harness.ask()
    assert "no reward" in harness.refusal(id, final=True).problem
    assert harness.report(id, reward={"buy": 1.0}) == "recorded"
    assert harness.report(id, final=True) == "learnt"


def test_repeats_and_ids(store: str, tmp_path: Path, clock: Clock) -> None:
    harness = Harness(tmp_path, clock, store, rewards=PARTS)
    id = harness.ask()
    assert [harness.report(id, reward={"click": 1.0}, id="x") for _ in range(2)] == ["recorded", "duplicate"]
    assert isinstance(harness.refusal(id, reward={"click": 2.0}, id="x"), Conflict)
    assert isinstance(harness.refusal(id, reward={"click": 2.0}), Conflict)
    assert harness.report(id, reward={"click": 2.0}, id="y") == "recorded"
    harness.end()
    assert harness.learned(id) == 0.75


def test_what_does_not_fit_is_refused(tmp_path: Path, clock: Clock) -> None:
    harness = Harness(tmp_path, clock, rewards=PARTS)
    id = harness.ask()
    for body, says in (
        ({"reward": 1.0}, "expects parts"),
        ({"reward": {"clik": 1.0}}, "reward.clik"),
        ({"reward": {"click": float("nan")}}, "reward.click is"),
        ({"reward": {"click": 2e6}}, "reward.click is"),
        ({}, "is empty"),
        ({"better": "a"}, "learns from"),
    ):
        assert says in harness.refusal(id, **body).problem
    harness.engine.create("last", model({"loop": "choose", "feedback": "reward", "rewards": "last"}))
    last = harness.engine.decide("last", request({"candidates": [{"id": "a"}]}))["decision"]
    assert "reward is 1.5" in harness.refusal(last, reward=1.5).problem
    assert "no parts" in harness.refusal(last, reward={"a": 1.0}).problem
    for place in range(MOST):
        assert harness.report(id, reward={"click": 0.0}, id=str(place)) == "recorded"
    assert "limit" in harness.refusal(id, reward={"click": 1.0}, id="more").problem
    for rewards, says in (({"click": 2e6}, "rewards.click"), ("sum", "learns from rewards")):
        feedback = "better" if rewards == "sum" else "reward"
        with pytest.raises(Impossible, match=says):
            harness.engine.create("n", model({"loop": "choose", "feedback": feedback, "rewards": rewards}))


def test_costs_alone_leave_a_decision_open(store: str, tmp_path: Path, clock: Clock) -> None:
    harness = Harness(tmp_path, clock, store, default_reward=0.5)
    id = harness.ask()
    assert [harness.report(id, costs={"usd": 0.1}) for _ in range(2)] == ["recorded", "duplicate"]
    harness.end()
    assert harness.learned(id) == 0.5, "costs alone do not stop the default reward"
    assert harness.types == ["decision", "reported", "expired"]
    assert (harness.engine.describe("m").answered, harness.report(id, costs={"usd": 0.2})) == (0, "late")
    id = harness.ask()
    assert harness.report(id, reward=1.0, costs={"usd": 0.1}) == "learnt"
    assert harness.report(id, costs={"usd": 0.3}) == "recorded"
    assert harness.report(id, reward=1.0, costs={"usd": 0.1}) == "duplicate"
    assert harness.engine.models["m"].version == 2


def test_a_default_reward_is_for_decisions_without_any_report(tmp_path: Path, clock: Clock) -> None:
    harness = Harness(tmp_path, clock, rewards="sum", default_reward=0.5)
    silent, answered = harness.ask(), harness.ask()
    harness.report(answered, reward=0.25)
    harness.end()
    assert (harness.learned(silent), harness.learned(answered)) == (0.5, 0.25)
    assert harness.types[-2:] == ["expired", "settled"], "in the order of their ends"


def test_retract_drops_reports_and_undoes_their_lesson(store: str, tmp_path: Path, clock: Clock) -> None:
    harness = Harness(tmp_path, clock, store, rewards="sum", default_reward=0.5)
    id = harness.ask()
    harness.report(id, reward=0.25)
    assert harness.engine.retract(id).model_version == 0
    assert harness.engine.describe("m").answered == 0
    assert harness.report(id, reward=0.25) == "recorded", "as if it had never come"
    harness.report(id, reward=0.5, final=True)
    assert harness.learned(id) == 0.75
    assert harness.engine.retract(id).model_version == 2
    assert harness.engine.describe("m").answered == 0
    assert harness.report(id, reward=0.125, final=True) == "learnt"
    version = harness.engine.models["m"].version
    harness.engine.roll_back("m", version - 1)
    assert harness.report(id, reward=0.25) == "late"
    assert harness.types.count("withdrawn") == 1


def test_a_decision_keeps_the_rule_that_it_was_made_under(tmp_path: Path, clock: Clock) -> None:
    harness = Harness(tmp_path, clock, rewards=PARTS)
    old = harness.ask()
    harness.report(old, reward={"click": 1.0})
    assert amend(harness.engine, "m", rewards="first").rewards == "first"
    new = harness.ask()
    assert harness.report(new, reward=0.5) == "learnt"
    assert harness.report(old, reward={"purchase": 0.5}) == "recorded"
    harness.restart()
    harness.end()
    assert harness.learned(old) == 0.75


@pytest.mark.parametrize("keyed", [False, True])
def test_the_log_is_sound_and_leads_to_the_same_weights(keyed: bool, tmp_path: Path, clock: Clock) -> None:
    harness = Harness(tmp_path / "data", clock, rewards="sum", keyed=keyed, holdout={"share": 0.3, "salt": "s"})
    for place in range(24):
        more = {"key": f"k{place % 3}"} if keyed else {"unit": f"u{place % 7}"}
        id = harness.ask(**more)
        harness.report(id, reward=0.01 * place, id="a")
        harness.report(id, reward=0.02, costs={"usd": 1.0})
        if place % 3 == 0:
            harness.report(id, reward=0.0, final=True)
        if place % 5 == 0 and harness.engine.store.decision(id).holdout is False:
            harness.engine.retract(id)
        harness.clock.now += 1
    harness.clock.now += 20
    harness.engine.retain("m", 10.0)
    harness.end()
    engine, keys = harness.engine, ["k0", "k1", "k2"] if keyed else [None]
    expected = {key: engine.learners.get(engine.models["m"], key).learner.weights.tobytes() for key in keys}
    engine.close()
    assert fsck(tmp_path / "data", deep=True).findings == []
    with Inspection(tmp_path / "data") as seen:
        rebuilt = rebuild(StoreSource(seen, seen.model("m")))
        assert {key: rebuilt.learner(key).weights.tobytes() for key in keys} == expected
