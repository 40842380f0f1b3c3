"""Replays of logs with propensities and with clicks: against naive computations, and worlds whose truth is known."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner, Result

import smidgen
from service.bodies import Clock, request
from service.bodies import model as settings
from smidgen import offline
from smidgen.cli import app
from smidgen.errors import InvalidArgument, SmidgenError
from smidgen.evaluate.off_policy import log_chance
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import NdjsonSource, StoreSource
from smidgen.service.loops import estimates, evaluate_rewards
from smidgen.service.loops.estimates import Estimate
from smidgen.service.loops.evaluate_rewards import RewardModel
from smidgen.service.loops.registry import loops
from smidgen.service.ope.report import Bar, Stroke, bars, histogram, lines, page, ticks
from smidgen.service.ope.whatif import Outcome, WhatIf, what_if
from smidgen.service.schemas import AmendBody

MEANS = np.array([[0.2, 0.5, 0.7], [0.8, 0.3, 0.4]])  # of two kinds of people, three banners
IDS = ["short", "long", "plain"]


def offered(kind: int) -> dict[str, Any]:
    """The banners, each with a column for each kind of people."""
    rows = np.zeros((3, 6))
    rows[np.arange(3), np.arange(3) + 3 * kind] = 1.0
    return {"candidates": [{"id": id, "features": row} for id, row in zip(IDS, rows.tolist(), strict=True)]}


class Banners:
    """A service with a model that chooses by reward, and people whose taste is known."""

    def __init__(self, folder: Path, seed: int = 0, **body: Any) -> None:
        self.folder, self.rng, self.clock = folder, np.random.default_rng(seed), Clock()
        self.engine = Engine(folder, synchronous="OFF", clock=self.clock)
        whole = {"loop": "choose", "learner": "SquareCB", "params": {"dim": 6, "seed": seed}, "explore": 0.3, **body}
        self.engine.run(lambda: self.engine.create("m", settings(whole)))
        self.kinds: list[int] = []

    def decide(self, **more: Any) -> dict[str, Any]:
        self.clock.now += 1.0
        self.kinds.append(int(self.rng.integers(2)))
        body = request(offered(self.kinds[-1]) | more)
        return self.engine.run(lambda: self.engine.decide("m", body))

    def reward(self, reply: dict[str, Any], kind: int) -> float:
        return float(self.rng.random() < MEANS[kind, IDS.index(reply["choice"])])

    def answer(self, reply: dict[str, Any], reward: float) -> None:
        given = loops.feedback(reward=reward)
        self.engine.run(lambda: self.engine.feedback(reply["decision"], given))

    def play(self, rounds: int) -> None:
        """Decisions and rewards, the rewards up to four decisions late."""
        open_: list[tuple[dict[str, Any], int]] = []
        for _ in range(rounds):
            open_.append((self.decide(), self.kinds[-1]))
            while open_ and (len(open_) > 4 or self.rng.random() < 0.5):
                reply, kind = open_.pop(int(self.rng.integers(len(open_))))
                self.answer(reply, self.reward(reply, kind))

    def close(self) -> Path:
        self.engine.close()
        return self.folder


def asked(folder: Path, *others: str, **more: Any) -> WhatIf:
    with Inspection(folder) as seen:
        return what_if(StoreSource(seen, seen.model("m")), others, **more)


def outcome(found: WhatIf, learner: str) -> Outcome:
    return next(each for each in found.outcomes if each.learner == learner)


def figure(found: WhatIf, learner: str, how: str) -> Estimate:
    return next(each for each in outcome(found, learner).figures if each.measure.endswith(f"({how})"))


def naive(folder: Path, learner: smidgen.Learner) -> tuple[list[list[float]], list[Any]]:
    """Reward, propensity, target, largest weight, and the policy of a learner that learns along, event by event."""
    made, mine, terms, policies = {}, {}, [], []
    with Inspection(folder) as seen:
        for line in StoreSource(seen, seen.model("m")).lines():
            if line.type == "decision":
                made[line.decision] = line.record_bytes()
                mine[line.decision] = learner.decide(line.record_bytes().context)
            elif line.type in ("feedback", "expired"):
                shown, own = made[line.decision], mine[line.decision]
                most = float((own.propensities / shown.propensities).max())
                terms.append([line.learner_input(), shown.propensity, own.propensities[shown.action], most])
                policies.append((shown.context.items, own.propensities))
                fields = {field: getattr(own, field) for field in own.__struct_fields__} | {"action": shown.action}
                learner.learn(smidgen.Decision(**fields), line.learner_input())
    return terms, policies


class TestRewards:
    def test_is_the_naive_computation(self, tmp_path: Path) -> None:
        world = Banners(tmp_path)
        world.play(300)
        found = asked(world.close(), "LinUCB:width=0.5", "ThompsonChoice")
        learners = {
            "LinUCB:width=0.5": smidgen.LinUCB(dim=6, width=0.5).guard(),
            "ThompsonChoice": smidgen.ThompsonChoice(dim=6).guard(),
        }
        for name, learner in learners.items():
            r, p, pi, most = np.array(naive(tmp_path, learner)[0]).T
            known = (("IPS", offline.ips(r, p, pi)), ("self-normalised", offline.snips(r, p, pi, bound=most)))
            for how, estimate in known:
                given = figure(found, name, how)
                assert (given.value, given.low, given.high) == pytest.approx(
                    (estimate.value, estimate.low, estimate.high)
                )
                assert given.effective == pytest.approx(estimate.effective)
            seen = outcome(found, name).overlap
            assert seen is not None
            assert seen.of == len(r) == found.answered
            assert sum(each.count for each in seen.weights) == len(r)
            assert seen.words[-1] == offline.overlap(p, pi).words[-1]

    def test_the_log_s_own_learner_is_what_happened(self, tmp_path: Path) -> None:
        world = Banners(tmp_path, learner="ThompsonChoice", explore=None)
        world.play(200)
        found = asked(world.close())
        own = outcome(found, "as logged")
        assert figure(found, "as logged", "IPS").value == pytest.approx(found.logged.value)
        assert own.overlap is not None
        assert (own.overlap.largest, own.overlap.mean) == (1.0, 1.0), "it knew what it knew then"
        assert [each.measure for each in own.figures] == [
            f"mean reward ({how})" for how in ("IPS", "self-normalised", "doubly robust", "direct")
        ]

    def test_intervals_cover_the_truth_of_learning_policies(self, tmp_path: Path) -> None:
        hows, worlds, held, errors = ("IPS", "self-normalised", "doubly robust"), 12, 0, []
        for seed in range(worlds):
            world = Banners(tmp_path / str(seed), seed)
            world.play(250)
            folder = world.close()
            found = asked(folder, "LinUCB", "SquareCB:gamma=1")
            for name, learner in (("LinUCB", smidgen.LinUCB), ("SquareCB:gamma=1", smidgen.SquareCB)):
                more = {"gamma": 1} if "gamma" in name else {}
                _, policies = naive(folder, learner(dim=6, **more).guard())
                truth = np.mean([MEANS[int(items.argmax(axis=1)[0]) // 3] @ policy for items, policy in policies])
                for how in hows:
                    given = figure(found, name, how)
                    assert given.value is not None
                    assert given.low is not None
                    assert given.high is not None
                    held += given.low <= truth <= given.high
                    errors.append(given.value - truth)
        assert held >= 0.95 * worlds * 2 * len(hows)
        assert abs(np.mean(errors)) < 0.03

    @pytest.mark.parametrize("worlds", [6, pytest.param(200, marks=pytest.mark.long)])
    def test_the_model_of_the_rewards_holds_at_every_look_and_saves_decisions(
        self, tmp_path: Path, worlds: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The context explains half of the variance; unlikely banners have .02; looks at 150, 300, 450 and 600."""
        name, hows = "LinUCB:floor=0.5", ("IPS", "self-normalised", "doubly robust")
        means = np.array([[0.1, 0.15, 0.2], [0.8, 0.85, 0.9]])
        monkeypatch.setattr(f"{__name__}.MEANS", means)
        missed, widths, errors = dict.fromkeys(hows, 0), dict.fromkeys(hows, 0.0), []
        for seed in range(worlds):
            world, late = Banners(tmp_path / str(seed), seed, learner="LinUCB", explore=0.06), set()
            for _ in range(4):
                world.play(150)
                found = asked(world.folder, name)
                terms, policies = naive(world.folder, smidgen.LinUCB(dim=6, floor=0.5).guard())
                truth = np.mean([means[int(items.argmax(axis=1)[0]) // 3] @ policy for items, policy in policies])
                for how in hows:
                    given = figure(found, name, how)
                    assert given.low is not None
                    assert given.high is not None
                    late |= set() if given.low <= truth <= given.high else {how}
            assert min(p for _, p, *_ in terms) == pytest.approx(0.02)
            for how in hows:
                given = figure(found, name, how)
                missed[how] += how in late
                widths[how] += (given.high or 0.0) - (given.low or 0.0)
            errors.append((figure(found, name, "doubly robust").value or 0.0) - truth)
            world.close()
        assert max(missed.values()) <= (1 if worlds < 20 else 16), missed  # 5 % of 200 are 10; 16 are one in 22
        assert widths["doubly robust"] < min(0.95 * widths["IPS"], widths["self-normalised"]), widths
        assert abs(np.mean(errors)) < 4 * np.std(errors) / math.sqrt(worlds)

    def test_a_model_of_the_rewards_takes_out_noise_and_never_sees_the_future(self, tmp_path: Path) -> None:
        world = Banners(tmp_path)
        world.play(60)
        folder = world.close()
        short = asked(folder, "LinUCB")
        values = {how: figure(short, "LinUCB", how).value for how in ("doubly robust", "direct")}
        assert all(value is not None and 0.2 < value < 1.1 for value in values.values())
        with Inspection(folder) as seen:
            recording = StoreSource(seen, seen.model("m"))
            model, before = RewardModel(), {}
            lines_ = list(recording.lines())
            for line in lines_[:40]:
                if line.type == "decision":
                    model.on_decision(line)
                    before[line.decision] = model.predicted(line, 3)
                elif line.type == "feedback":
                    made = recording.decision(line.decision or "")
                    assert made is not None
                    model.on_feedback(line, made.record_bytes())
        first = next(iter(before.values()))
        assert first is not None
        assert first.tolist() == [0.0, 0.0, 0.0], "it knew nothing yet"

    def test_a_log_that_drew_nothing_gives_a_sentence_and_no_number(self, tmp_path: Path) -> None:
        world = Banners(tmp_path, explore=0.0)
        world.play(100)
        found = asked(world.close(), "LinUCB")
        assert all(each.figures == [] and each.band == [] and each.overlap is None for each in found.outcomes)
        assert any("nothing in this log was drawn at random" in note for note in outcome(found, "LinUCB").notes)
        assert "no number: see below" in page(found)

    def test_a_log_without_answers(self, tmp_path: Path) -> None:
        world = Banners(tmp_path)
        assert asked(world.folder, "LinUCB").answered == 0, "nothing but the model"
        world.decide()
        found = asked(world.close(), "LinUCB")
        assert (found.decisions, found.answered) == (1, 0)
        assert outcome(found, "LinUCB").figures == []
        assert "LinUCB" in page(found)

    def test_nothing_is_shown_before_thirty_terms(self, tmp_path: Path) -> None:
        world = Banners(tmp_path)
        world.play(25)
        found = asked(world.close(), "LinUCB")
        given = figure(found, "LinUCB", "IPS")
        assert (given.value, given.low, given.high) == (None, None, None)
        assert outcome(found, "LinUCB").verdict == "the log holds too few relevant decisions for an estimate"
        assert "not enough yet" in page(found)

    def test_what_it_hangs_on_is_said_in_words(self, tmp_path: Path) -> None:
        """A log that almost never shows the best: the estimate of one that would hangs on few decisions.

        Under so large a ridge estimates grow with what was shown, so that its learner stays with the first.
        """
        world = Banners(
            tmp_path, learner="LinUCB", params={"dim": 6, "ridge": 1e9, "width": 0.0, "seed": 1}, explore=0.1
        )
        best = 0
        for _ in range(500):
            reply = world.decide()
            best += reply["choice"] == "plain"
            world.answer(reply, {"short": 0.5, "plain": 0.9, "long": 0.0}[reply["choice"]])
        found = asked(world.close(), "LinUCB")
        seen = outcome(found, "LinUCB").overlap
        assert seen is not None
        assert "It prefers plain in" in seen.words[0]
        assert (
            f"the log shows plain in {best / 500:.0%}: for these the estimate hangs on {best} answered" in seen.words[0]
        )
        assert seen.effective < 100

    def test_silence_counts_where_it_has_a_worth(self, tmp_path: Path) -> None:
        world = Banners(tmp_path, default_reward=0.0, window_s=10.0)
        for i in range(120):
            reply = world.decide()
            if i % 3:
                world.answer(reply, 1.0)
            world.engine.sweep_all()
        world.clock.now += 100.0
        world.engine.sweep_all()
        found = asked(world.close(), "LinUCB")
        assert found.answered == 120
        assert found.logged.value == pytest.approx(2 / 3)
        assert figure(found, "LinUCB", "IPS").of == 120

    def test_rewards_are_reported_in_the_app_s_own_units(self, tmp_path: Path) -> None:
        world = Banners(tmp_path, reward_range=[0.0, 50.0])
        for _ in range(150):
            reply = world.decide()
            world.answer(reply, 50.0 * world.reward(reply, world.kinds[-1]))
        found = asked(world.close(), "LinUCB")
        given = figure(found, "LinUCB", "self-normalised")
        assert given.value is not None
        assert 15.0 < given.value < 45.0
        assert given.low is not None
        assert 0.0 <= given.low < given.value

    def test_what_was_taken_back_is_left_out(self, tmp_path: Path) -> None:
        world = Banners(tmp_path)
        replies = []
        for _ in range(50):
            replies.append(world.decide())
            world.answer(replies[-1], 1.0)
        world.engine.run(lambda: world.engine.retract(replies[7]["decision"]))
        found = asked(world.close(), "LinUCB")
        assert found.answered == 49
        assert any("1 answers were taken back later" in note for note in found.notes)

    def test_examples_are_taught_to_all(self, tmp_path: Path) -> None:
        world = Banners(tmp_path)
        example = {**offered(0), "answer": {"choice": "plain", "reward": 1.0}}
        body = json.dumps({"examples": [example] * 30})
        lessons = msgspec.json.decode(body, type=loops.examples)
        world.engine.run(lambda: world.engine.teach("m", lessons))
        world.play(150)
        found = asked(world.close(), "LinUCB:floor=0", "SquareCB")
        taught, fresh = smidgen.LinUCB(dim=6, floor=0.0).guard(), smidgen.LinUCB(dim=6, floor=0.0).guard()
        rows = np.array([each["features"] for each in offered(0)["candidates"]])
        for _ in range(30):
            taught.teach(smidgen.Choice(rows), (2, 1.0))
        r, p, pi, _ = np.array(naive(tmp_path, taught)[0]).T
        assert figure(found, "LinUCB:floor=0", "IPS").value == pytest.approx(float((r * pi / p).mean()))
        _, _, other, _ = np.array(naive(tmp_path, fresh)[0]).T
        assert other.tolist() != pi.tolist()
        assert figure(found, "as logged", "IPS").value == pytest.approx(found.logged.value)

    @pytest.mark.parametrize(
        "spec", ["PreferencePerceptron", "Confidit", "Nobody", "LinUCB:width=-1", "LinUCB:widht=1"]
    )
    def test_learners_that_cannot_be_here_are_refused(self, spec: str, tmp_path: Path) -> None:
        world = Banners(tmp_path)
        with pytest.raises(SmidgenError):
            asked(world.close(), spec)

    def test_keys_have_learners_of_their_own_and_records_the_same_rows(self, tmp_path: Path) -> None:
        body = {"loop": "choose", "keyed": True, "explore": 0.5, "shared_start": False}
        engine = Engine(tmp_path, synchronous="OFF")
        engine.run(lambda: engine.create("m", settings(body)))
        rng = np.random.default_rng(0)
        for i in range(80):
            kind = "phone" if rng.random() < 0.5 else "desktop"
            asking = {"candidates": [{"id": id} for id in IDS], "context": {"device": kind}, "key": f"u{i % 2}"}
            reply = engine.run(lambda asking=asking: engine.decide("m", request(asking)))
            answered = loops.feedback(reward=float(reply["choice"] == ("short" if kind == "phone" else "long")))
            engine.run(lambda reply=reply, answered=answered: engine.feedback(reply["decision"], answered))
        path = tmp_path / "log.ndjson"
        path.write_bytes(b"\n".join(engine.events.all_lines(engine.models["m"])))
        engine.close()
        found = asked(tmp_path, "LinUCB")
        assert figure(found, "as logged", "IPS").value == pytest.approx(found.logged.value)
        assert what_if(NdjsonSource(path), ["LinUCB"]).outcomes == found.outcomes

    def test_progress_is_reported(self, tmp_path: Path) -> None:
        world = Banners(tmp_path)
        world.play(600)
        seen: list[int] = []
        asked(world.close(), progress=seen.append)
        assert seen == sorted(seen)
        assert len(seen) >= 2
        assert 1000 <= seen[-1] <= 1201


class TestLabels:
    def test_rewards_for_labels(self, tmp_path: Path) -> None:
        engine = Engine(tmp_path, synchronous="OFF")
        body = {"loop": "label", "feedback": "reward", "learner": "HingeConfidit", "features": ["a", "b"]}
        whole = {**body, "labels": ["x", "y", "z"], "explore": 0.4}
        engine.run(lambda: engine.create("m", settings(whole)))
        rng = np.random.default_rng(1)
        for _ in range(200):
            kind = int(rng.integers(2))
            asking = request({"features": np.eye(2)[kind].tolist()})
            reply = engine.run(lambda asking=asking: engine.decide("m", asking))
            answered = loops.feedback(reward=float(MEANS[kind, "xyz".index(reply["label"])]))
            engine.run(lambda reply=reply, answered=answered: engine.feedback(reply["decision"], answered))
        engine.close()
        found = asked(tmp_path, "Confidit", "HingeConfidit:floor=0.1")
        assert figure(found, "as logged", "IPS").value == pytest.approx(found.logged.value)
        best = MEANS.max(axis=1).mean()
        answered = figure(found, "HingeConfidit:floor=0.1", "doubly robust")
        assert answered.low is not None
        assert answered.high is not None
        assert answered.low <= best
        assert answered.high > MEANS.mean()
        with pytest.raises(InvalidArgument, match="which the log does not hold"):
            asked(tmp_path, "AROW")

    @pytest.mark.parametrize("modelled", [None, 8])
    def test_decisions_without_a_prediction(
        self, tmp_path: Path, modelled: int | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Added labels have weights in the model of the rewards; rows that are too large for it are weighted alone."""
        if modelled is not None:  # rows of two labels have six numbers, of three labels nine
            monkeypatch.setattr(evaluate_rewards, "MODELLED", modelled)
        engine = Engine(tmp_path, synchronous="OFF")
        body = {"loop": "label", "feedback": "reward", "learner": "HingeConfidit", "features": ["a", "b"]}
        whole = {**body, "labels": ["x", "y"], "explore": 0.4}
        engine.run(lambda: engine.create("m", settings(whole)))
        rng, late = np.random.default_rng(1), []
        for i in range(300):
            if i == 150:
                engine.run(lambda: engine.amend("m", AmendBody(add_labels=["z"])))
            kind = int(rng.integers(2))
            asking = request({"features": np.eye(2)[kind].tolist()})
            reply = engine.run(lambda asking=asking: engine.decide("m", asking))
            late.append((reply["decision"], loops.feedback(reward=float(MEANS[kind, "xyz".index(reply["label"])]))))
            if len(late) > 3:  # answers to earlier rows come after the amendment
                id, answered = late.pop(0)
                engine.run(lambda id=id, answered=answered: engine.feedback(id, answered))
        engine.close()
        found = asked(tmp_path)
        robust, logged = figure(found, "as logged", "doubly robust"), found.logged.value
        assert robust.value is not None
        assert robust.low is not None
        assert robust.high is not None
        assert logged is not None
        assert robust.low < logged < robust.high < robust.low + 0.2
        assert abs(robust.value - logged) < 0.05
        own = outcome(found, "as logged")
        whole_log = "mean reward (direct)" in [each.measure for each in own.figures]
        assert whole_log == (modelled is None)
        assert any("147 answered decisions have no prediction" in note for note in own.notes) == (modelled is not None)

    def test_labels_that_were_added(self, tmp_path: Path) -> None:
        engine = Engine(tmp_path, synchronous="OFF")
        body = {"loop": "label", "learner": "AROW", "params": {"dim": 3}, "labels": ["x", "y"]}
        engine.run(lambda: engine.create("m", settings(body)))
        for i in range(60):
            if i == 20:
                engine.run(lambda: engine.amend("m", AmendBody(add_labels=["z"])))
            kind = i % (2 if i < 20 else 3)
            asking = request({"features": np.eye(3)[kind].tolist()})
            reply = engine.run(lambda asking=asking: engine.decide("m", asking))
            given = loops.feedback(label="xyz"[kind])
            engine.run(lambda reply=reply, answered=given: engine.feedback(reply["decision"], answered))
        engine.close()
        found = asked(tmp_path, "MulticlassPerceptron", "Confidit")
        assert outcome(found, "as logged").figures[0].value == pytest.approx(found.logged.value)
        assert outcome(found, "MulticlassPerceptron").figures[0].measure == "accuracy"
        assert "run of its own" in " ".join(outcome(found, "Confidit").notes)
        assert outcome(found, "Confidit").band[-1].of == 60


READ = np.array([1.0, 0.6, 0.35, 0.2])
ATTRACT = np.array([0.1, 0.7])


class Pages:
    """Four documents, of which two attract, in random rows; people look from the top."""

    def __init__(self, folder: Path, rounds: int, seed: int = 0, **body: Any) -> None:
        self.folder, self.rng = folder, np.random.default_rng(seed)
        engine = Engine(folder, synchronous="OFF")
        whole = {"loop": "rank", "learner": "PDGD", "params": {"dim": 2, "step": 0.02}, **body}
        engine.run(lambda: engine.create("m", settings(whole)))
        self.grades: list[Any] = []
        for _ in range(rounds):
            grades = self.rng.permutation([0, 0, 1, 1])
            rows = np.stack([grades + 0.2 * self.rng.normal(size=4), self.rng.normal(size=4)], axis=1).round(3)
            asking = request({"candidates": [{"id": f"d{i}", "features": row} for i, row in enumerate(rows.tolist())]})
            reply = engine.run(lambda asking=asking: engine.decide("m", asking))
            chance = READ * ATTRACT[[grades[int(id[1:])] for id in reply["ranking"]]]
            clicked = [id for id, hit in zip(reply["ranking"], self.rng.random(4) < chance, strict=True) if hit]
            self.grades.append(grades)
            given = loops.feedback(clicked=clicked)
            engine.run(lambda reply=reply, answered=given: engine.feedback(reply["decision"], answered))
        engine.close()

    def worth(self, orders: list[Any]) -> float:
        """The clicks per page that such rankings get in expectation."""
        pairs = zip(self.grades, orders, strict=True)
        return float(np.mean([READ @ ATTRACT[grades[order]] for grades, order in pairs]))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("pages"), 1500)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = Banners(tmp_path_factory.mktemp("banners"))
    world.play(150)
    return world.close()


class TestClicks:
    BY_PLACE = "clicks per page (by place)"

    def orders(self, folder: Path, learner: smidgen.Learner) -> list[Any]:
        """Rankings of a learner that learns along the log."""
        out = []
        with Inspection(folder) as seen:
            recording = StoreSource(seen, seen.model("m"))
            mine: dict[Any, Any] = {}
            made: dict[Any, Any] = {}
            for line in recording.lines():
                if line.type == "decision":
                    made[line.decision] = line.record_bytes()
                    mine[line.decision] = learner.decide(line.record_bytes().context)
                    out.append(mine[line.decision].action)
                elif line.type == "feedback":
                    own, shown, found = mine[line.decision], made[line.decision], line.learner_input()
                    fields = {field: getattr(own, field) for field in own.__struct_fields__}
                    better = found if learner.card.kinds[0] == "clicks" else found.better(shown.action)
                    learner.learn(smidgen.Decision(**{**fields, "action": shown.action}), better)
        return out

    def test_clicks_of_other_rankings_cover_what_people_would_have_clicked(self, pages: Pages) -> None:
        others = {
            "SecondOrderPreferencePerceptron": smidgen.SecondOrderPreferencePerceptron(dim=2),
            "PDGD:step=0.3": smidgen.PDGD(dim=2, step=0.3),
        }
        known = asked(pages.folder, *others, examined=READ)
        estimated = asked(pages.folder, *others)
        for name, learner in others.items():
            truth = pages.worth(self.orders(pages.folder, learner.guard()))
            found = outcome(known, name).figures[0]
            assert found.measure == self.BY_PLACE
            assert found.value is not None
            assert found.low is not None
            assert found.high is not None
            assert found.low < truth < found.high
            assert abs(found.value - truth) < 0.08 * truth
            again = outcome(estimated, name).figures[0]
            assert again.value == pytest.approx(truth, rel=0.25)
            band = outcome(known, name).band
            assert band[-1].of == 1500
            assert (band[-1].value, band[-1].low, band[-1].high) == (found.value, found.low, found.high)

    def test_the_curve_is_that_of_the_people(self, pages: Pages) -> None:
        found = asked(pages.folder).examined
        assert found is not None
        assert found.rounds == 1500
        for read, low, high in zip(READ, found.low, found.high, strict=True):
            assert low * 0.9 <= read <= high * 1.1
        given = asked(pages.folder, examined=READ).examined
        assert given is not None
        assert (given.read, given.rounds) == (READ.tolist(), 0)

    def test_the_log_itself_got_what_it_got(self, pages: Pages) -> None:
        own = outcome(asked(pages.folder, examined=READ), "as logged")
        truth = pages.worth(self.orders(pages.folder, smidgen.PDGD(dim=2, step=0.02).guard()))
        assert own.figures[0].value == pytest.approx(truth, rel=0.08)
        assert own.figures[1].measure.endswith("without its draws")

    def test_whole_lists_are_weighed_where_they_come_again(self, pages: Pages) -> None:
        found = outcome(asked(pages.folder, "PDGD:step=0.3"), "PDGD:step=0.3")
        lists = [each for each in found.figures if each.measure.startswith("pages with a click")]
        assert [each.measure for each in lists] == ["pages with a click (IPS)", "pages with a click (self-normalised)"]
        assert found.overlap is not None
        assert found.overlap.mean == pytest.approx(1.0, abs=0.3)

    def test_without_randomisation_there_is_a_sentence_and_no_number(self, tmp_path: Path) -> None:
        Pages(tmp_path, 60, learner="PreferencePerceptron", params={"dim": 2})
        found = asked(tmp_path, "PDGD")
        given = outcome(found, "PDGD")
        assert not any("clicks per page" in each.measure for each in given.figures)
        assert any("how far people look is not known" in note for note in given.notes)
        assert found.examined is None
        again = outcome(asked(tmp_path, "PDGD", examined=READ), "PDGD")
        assert again.figures[0].measure == self.BY_PLACE

    @pytest.mark.parametrize(
        "learner",
        [
            smidgen.PDGD(dim=3),
            smidgen.PDGD(dim=3, depth=2),
            smidgen.FairPairs(dim=3),
            smidgen.FairPairs(dim=3, alternate=True),
            smidgen.PerturbedPreferencePerceptron(dim=3, swap=0.3, depth=3),
            smidgen.PreferencePerceptron(dim=3),
        ],
        ids=repr,
    )
    def test_the_chances_of_all_lists_add_up(self, learner: smidgen.Learner) -> None:
        query = smidgen.Ranking(np.random.default_rng(0).normal(size=(4, 3)))
        for _ in range(5):
            mine = learner.decide(query)
            if mine.log_propensity is not None:
                assert log_chance(mine, mine.action, learner.params) == pytest.approx(mine.log_propensity)
        places = learner.params.get("depth", 4)
        tails = {order[: min(places, 4)]: order for order in permutations(range(4))}
        if mine.teams is not None or mine.log_propensity is None:
            tails = {order: order for order in permutations(range(4))}
        total = sum(math.exp(log_chance(mine, np.array(order), learner.params)) for order in tails.values())
        assert total == pytest.approx(1.0)


class TestCommand:
    def invoke(self, *arguments: str | Path) -> Result:
        environment = {"COLUMNS": "200", "TERMINAL_WIDTH": "200"}
        return CliRunner().invoke(app, [str(each) for each in arguments], env=environment, catch_exceptions=False)

    def test_a_page_for_everything(self, data: Path, tmp_path: Path) -> None:
        path = tmp_path / "what <if>.html"
        result = self.invoke("replay", "m", "--data", data, "--learner", "LinUCB", "--report", path)
        assert result.exit_code == 0
        assert "LinUCB: " in result.output
        text = path.read_text()
        assert text.startswith("<!doctype html>")
        assert "Content-Security-Policy" in text
        assert not any(each in text for each in ("http://", "https://", "src=", "url(", "<script", "@import"))
        assert text.count("<svg") == text.count("</svg>") >= 3
        assert "prefers-color-scheme: dark" in text

    def test_json_has_all_of_it(self, data: Path) -> None:
        result = self.invoke("replay", "m", "--data", data, "--learner", "LinUCB", "--learner", "SquareCB", "--json")
        found = json.loads(result.output)
        assert [each["learner"] for each in found["outcomes"]] == ["as logged", "LinUCB", "SquareCB"]
        assert {"figures", "band", "overlap", "verdict", "notes"} <= found["outcomes"][1].keys()
        assert found["outcomes"][1]["overlap"]["words"]

    @pytest.mark.parametrize("curve", ["", "a,b", "1,0", "1,-0.5", "1,2", "nan,1"])
    def test_curves_that_are_none_are_refused(self, data: Path, curve: str) -> None:
        with pytest.raises(InvalidArgument):
            self.invoke("replay", "m", "--data", data, "--examined", curve)

    def test_places_are_for_rankings(self, data: Path) -> None:
        with pytest.raises(InvalidArgument, match="no rankings"):
            self.invoke("replay", "m", "--data", data, "--examined", "1,0.5")

    def test_a_page_that_cannot_be_written_is_refused(self, data: Path, tmp_path: Path) -> None:
        with pytest.raises(InvalidArgument, match="cannot be written"):
            self.invoke("replay", "m", "--data", data, "--report", tmp_path / "no" / "folder.html")


class TestDrawing:
    @pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.31, 0.33), (-5.0, 5000.0), (2.0, 2.0), (0.0, 1e-9)])
    def test_ticks_are_within(self, low: float, high: float) -> None:
        found = ticks(low, high)
        assert found
        assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)

    @pytest.mark.parametrize(
        "draw",
        [
            lambda: lines([], across="", label=""),
            lambda: lines([Stroke("a", [(1.0, None, None, None)], 0)], across="", label=""),
            lambda: bars([], label=""),
            lambda: bars([Bar("a", None, None, None, 0)], label=""),
            lambda: histogram([], across="", label=""),
        ],
    )
    def test_nothing_draws_nothing(self, draw: Callable[[], str]) -> None:
        assert draw() == ""

    def test_names_are_escaped(self) -> None:
        found = lines([Stroke("<b>", [(1.0, 0.5, 0.4, 0.6)], 0)], across="<x>", label='"')
        found += bars([Bar("<i>", 0.5, 0.4, 0.6, 1)], label="&") + histogram([("<u>", 3)], across="", label="")
        assert not any(each in found for each in ("<b>", "<x>", "<i>", "<u>"))

    def test_bins_hold_every_weight(self) -> None:
        found = estimates._bins(np.array([0.0, 0.05, 1.0, 1.25, 1e9]))
        assert [each.count for each in found if each.count] == [1, 1, 2, 1]
        assert found[-1].upto is None
