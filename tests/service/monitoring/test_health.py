"""Every finding but drift and the like is provoked by a log of at most 40 decisions, and is absent from a sound one."""

from __future__ import annotations

import math
import random
import re
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import numpy as np
import pytest

from service.bodies import feedback_body
from service.memory.reads import MemoryReader
from service.scenarios import COACTIVE, DAY, REWARD, World, best, clicked, items, rewarded, rows
from smidgen.features import Row
from smidgen.service.engine.description import quality
from smidgen.service.monitoring import checks_learning, evidence, health
from smidgen.service.monitoring.checks_learning import steepest_fall
from smidgen.service.monitoring.evidence import table
from smidgen.service.monitoring.health import is_separable
from smidgen.service.schemas import AmendBody, Code
from smidgen.structures import Choice

GUIDE = Path(__file__).parents[3] / "docs" / "trust" / "health.md"
#: No finding may wait for more.
MOST = 40
BALL = {"type": "Ball", "dim": 2, "radius": 1.0}


def tuner(**params: Any) -> dict[str, Any]:
    return {"loop": "tune", "learner": "OGDEG", "params": {"space": BALL, "delta": 0.2, **params}}


def square(asked: Any, reply: Any, rng: random.Random, round_: int, times: float = 1.0) -> dict[str, Any]:
    return {"loss": times * sum((x - 0.3) ** 2 for x in reply["point"])}


def nothing(rng: random.Random, round_: int) -> dict[str, Any]:
    return {}


def test_answers_that_change_nothing_are_nothing_to_learn_from() -> None:
    world = World({"loop": "choose", "feedback": "better"}, items, clicked).play(MOST)
    found = world.found("nothing_to_learn")
    assert found is not None
    assert found.severity == "problem"
    assert found.message.startswith("Nothing to learn from: all ")
    assert "default_reward" in found.hint
    assert found.figures["unchanged"] == found.figures["answered"]
    assert World(COACTIVE, rows, best).play(MOST).found("nothing_to_learn") is None


def test_a_model_that_has_learnt_and_is_right_now_is_healthy() -> None:
    world = World(COACTIVE, partial(_one_of_two, first=15), best).play(15 + evidence.FEEDBACKS)
    assert [row.measure for row in world.engine.store.query("answers", 1, limit=150)].count(1.0) == 150
    assert world.found("nothing_to_learn") is None


def _one_of_two(rng: random.Random, round_: int, first: int) -> dict[str, Any]:
    return rows(rng, round_) if round_ < first else {"candidates": [{"id": "x", "features": [1.0, -1.0, 0.0]}]}


@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_rewards_that_are_always_the_same_are_nothing_to_learn_from(reward: float) -> None:
    always = World(REWARD, items, lambda *_: {"reward": reward}).play(MOST)
    found = always.found("nothing_to_learn")
    assert found is not None
    assert found.figures["value"] == reward
    assert World(REWARD, items, rewarded).play(MOST).found("nothing_to_learn") is None


def test_good_news_alone_is_nothing_to_learn_from() -> None:
    def happy(asked: Any, reply: Any, rng: random.Random, round_: int) -> Any:
        return {"reward": 1.0} if round_ % 5 == 0 else None

    found = World(REWARD, items, happy).play(MOST).found("nothing_to_learn")
    assert found is not None
    assert (found.severity, found.figures["answered"]) == ("problem", 8)
    both = World(REWARD, items, lambda a, r, g, n: {"reward": float(n % 2)} if n % 5 == 0 else None).play(MOST)
    assert both.found("nothing_to_learn") is None


@pytest.mark.parametrize(
    ("body", "ask", "sick", "sound"),
    [
        ({"loop": "label", "labels": ["x", "y"]}, "record", {"correct": True}, "correct"),
        ({"loop": "filter", "learner": "RidgeFil", "params": {"dim": 2}}, "row", {"relevant": True}, "relevant"),
    ],
)
def test_bits_that_are_always_the_same(body: dict[str, Any], ask: str, sick: dict[str, bool], sound: str) -> None:
    def asked(rng: random.Random, round_: int) -> dict[str, Any]:
        return {"features": {"age": rng.random()} if ask == "record" else [1.0, rng.random()]}

    assert World(body, asked, lambda *_: sick).play(MOST).found("nothing_to_learn") is not None
    mixed = World(body, asked, lambda a, r, g, n: {sound: g.random() < 0.7} if r.get("forward", True) else None)
    assert mixed.play(MOST).found("nothing_to_learn") is None


def test_steps_that_vanish() -> None:
    huge = World(tuner(loss_bound=1e9), nothing, square).play(MOST).found("nothing_to_learn")
    assert huge is not None
    assert huge.message.startswith("Updates vanish: 40 feedbacks")
    assert 0.0 < float(huge.figures["longest_step"] or 0.0) < 1e-6
    alike = World(COACTIVE, lambda *_: {"candidates": [{"id": k, "features": [1, 1, 1]} for k in "ab"]}, _other)
    assert "Updates vanish" in str(alike.play(MOST).found("nothing_to_learn"))
    assert World(tuner(loss_bound=4.0), nothing, square).play(MOST).found("nothing_to_learn") is None


def _other(asked: Any, reply: Any, rng: random.Random, round_: int) -> dict[str, Any]:
    return {"better": "b" if reply["choice"] == "a" else "a"}


def test_silence_counts_when_windows_are_over() -> None:
    def some(asked: Any, reply: Any, rng: random.Random, round_: int, of: int) -> Any:
        return rewarded(asked, reply, rng, round_) if round_ % of == 0 else None

    for of, severity in ((3, "warning"), (20, "problem")):  # one answer in 3, in 20
        world = World(REWARD, items, partial(some, of=of)).play(MOST).wait(DAY)
        found = world.found("silence")
        assert found is not None
        assert (found.severity, found.figures["closed"]) == (severity, MOST)
        assert found.figures["silent"] == MOST - math.ceil(MOST / of)
    third = World(REWARD, items, lambda *given: rewarded(*given) if given[3] % 3 else None).play(MOST).wait(DAY)
    assert [each.severity for each in third.report().findings if each.code == "silence"] == ["info"]
    assert World(REWARD, items, rewarded).play(MOST).wait(DAY).found("silence") is None


def test_late_answers_are_no_silence() -> None:
    def late(asked: Any, reply: Any, rng: random.Random, round_: int) -> dict[str, Any]:
        world.wait(DAY)
        return rewarded(asked, reply, rng, round_)

    world = World({**REWARD, "window_s": 10.0}, items, late)
    assert world.play(MOST).wait(DAY).found("silence") is None


def test_good_news_while_the_first_window_is_open() -> None:
    world = World({"loop": "choose", "feedback": "better"}, items, clicked).play(MOST)
    found = world.found("silence")
    assert found is not None
    assert (found.severity, found.figures["good"]) == ("warning", 1.0)
    assert "the first window closes in 24 hours" in found.message
    world.wait(2 * DAY)
    over = world.found("silence")
    assert over is not None
    assert "got no feedback" in over.message
    assert World(REWARD, items, rewarded).play(MOST).found("silence") is None


def test_no_exploration() -> None:
    greedy = {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 3}}
    found = World(greedy, rows, lambda a, r, g, n: {"clicked": [g.choice(r["ranking"])]}).play(MOST)
    assert [each.severity for each in found.report().findings if each.code == "no_exploration"] == ["warning"]
    drawn = {"loop": "rank", "learner": "PDGD", "params": {"dim": 3}}
    sound = World(drawn, rows, lambda a, r, g, n: {"clicked": [g.choice(r["ranking"])]}).play(MOST)
    assert sound.found("no_exploration") is None
    corrected = World(COACTIVE, rows, best).play(MOST)  # the better one comes back, shown or not
    assert corrected.found("no_exploration") is None


def test_a_learner_of_rewards_that_leaves_nothing_to_chance() -> None:
    certain = World({**REWARD, "explore": 0.0}, items, rewarded).play(MOST)
    found = certain.found("no_exploration")
    assert found is not None
    assert found.severity == "info"
    assert World(REWARD, items, rewarded).play(MOST).found("no_exploration") is None


def test_a_filter_that_drops_everything_hears_of_nothing() -> None:
    body = {"loop": "filter", "learner": "RidgeFil", "params": {"dim": 2, "c": 0.01}}

    def asked(rng: random.Random, round_: int) -> dict[str, Any]:
        return {"features": [1.0, 0.1 * rng.random()]}

    def never(asked: Any, reply: Any, rng: random.Random, round_: int) -> Any:
        return {"relevant": False} if reply["forward"] else None

    dropping = World(body, asked, never).play(3 * MOST)
    found = dropping.found("no_exploration")
    assert found is not None
    assert (found.severity, found.figures["forwarded"]) == ("problem", 0)
    half = World(body, asked, lambda a, r, g, n: {"relevant": g.random() < 0.95} if r["forward"] else None)
    assert half.play(3 * MOST).found("no_exploration") is None


@pytest.mark.parametrize(("scale", "severity"), [((90.0, 1.0, 1.0), "warning"), ((1e4, 1.0, 1.0), "problem")])
def test_features_out_of_scale(scale: tuple[float, ...], severity: str) -> None:
    body = {"loop": "choose", "learner": "PreferencePerceptron", "features": ["price", "rating", "fresh"]}
    found = World(body, partial(rows, scale=scale), lambda *_: {"better": "1"}).play(MOST).found("scale")
    assert found is not None
    assert (found.severity, found.figures["largest"]) == (severity, "price")
    assert World(body, partial(rows, scale=(3.0, 1.0, 1.0)), best).play(MOST).found("scale") is None


def test_records_are_never_out_of_scale() -> None:
    def asked(rng: random.Random, round_: int) -> dict[str, Any]:
        return {"features": {"price": rng.uniform(5, 500), "rating": rng.uniform(1, 5), "ms": 1.7e12 + round_}}

    world = World({"loop": "label", "labels": ["x", "y"]}, asked, lambda a, r, g, n: {"correct": g.random() < 0.6})
    assert {"scale", "constant", "clipped"}.isdisjoint(world.play(MOST).codes())


def test_constant_features() -> None:
    body = {"loop": "choose", "learner": "PreferencePerceptron", "features": ["a", "hour", "c"]}

    def asked(rng: random.Random, round_: int) -> dict[str, Any]:  # the hour differs, but not among candidates
        return {"candidates": [{"id": k, "features": [rng.random(), float(round_), rng.random()]} for k in "xy"]}

    found = World(body, asked, lambda *_: {"better": "x"}).play(MOST).found("constant")
    assert found is not None
    assert (found.severity, found.figures["constant"], found.figures["first"]) == ("info", 1, "hour")
    assert World(body, rows, best).play(MOST).found("constant") is None
    same = World(body, lambda *_: {"candidates": [{"id": k, "features": [1, 2, 3]} for k in "xy"]}, _shown).play(MOST)
    alike = same.found("constant")
    assert alike is not None
    assert alike.severity == "problem"


def _shown(asked: Any, reply: Any, rng: random.Random, round_: int) -> dict[str, Any]:
    return {"better": reply["choice"]}


def test_one_constant_is_wanted_where_answers_are_judged_one_by_one() -> None:
    body = {"loop": "filter", "learner": "RidgeFil", "params": {"dim": 3}}

    def heard(asked: Any, reply: Any, rng: random.Random, round_: int) -> Any:
        return {"relevant": rng.random() < 0.5} if reply["forward"] else None

    one = World(body, lambda rng, n: {"features": [1.0, rng.random(), rng.random()]}, heard).play(MOST)
    offset = one.found("constant")
    assert offset is not None
    assert (offset.severity, offset.hint.partition(".")[0]) == ("info", "A constant feature is useful as an offset")
    assert World(body, lambda rng, n: {"features": [rng.random()] * 3}, heard).play(MOST).found("constant") is None
    two = World(body, lambda rng, n: {"features": [1.0, 2.0, rng.random()]}, heard).play(MOST).found("constant")
    assert two is not None
    assert two.figures["constant"] == 2


def test_numbers_that_are_cut() -> None:
    body = {"loop": "label", "labels": ["x", "y"]}

    def asked(rng: random.Random, round_: int, wild: bool) -> dict[str, Any]:
        return {"features": {"amount": rng.lognormvariate(0.0, 3.0) if wild else rng.gauss(0.0, 1.0)}}

    def right(asked: Any, reply: Any, rng: random.Random, round_: int) -> dict[str, Any]:
        return {"correct": rng.random() < 0.7}

    found = World(body, partial(asked, wild=True), right).play(MOST).found("clipped")
    assert found is not None
    assert int(found.figures["clipped"] or 0) >= 3
    assert World(body, partial(asked, wild=False), right).play(MOST).found("clipped") is None


def test_rows_that_the_guard_scales_down_are_reported() -> None:
    def asked(rng: random.Random, round_: int) -> dict[str, Any]:
        return rows(rng, round_, (1e3,) * 3 if round_ == 30 else (1.0,) * 3)

    found = World(COACTIVE, asked, best).play(MOST).found("clipped")
    assert found is not None
    assert (found.figures["clipped"], found.figures["of"]) == (1, MOST)
    assert World(COACTIVE, rows, best).play(MOST).found("clipped") is None


def test_losses_and_gradients_beyond_their_bound() -> None:
    found = World(tuner(loss_bound=1.0), nothing, partial(square, times=1000.0)).play(1).found("out_of_bound")
    assert found is not None
    assert (found.severity, found.figures["bound"]) == ("problem", 1.0)
    assert World(tuner(loss_bound=4.0), nothing, square).play(MOST).found("out_of_bound") is None
    ogd = {"loop": "tune", "learner": "OGD", "params": {"space": BALL, "gradient_bound": 1.0}}
    long = World(ogd, nothing, lambda *_: {"gradient": [3.0, 4.0]}).play(1).found("out_of_bound")
    assert long is not None
    assert long.figures["largest"] == 5.0
    assert World(ogd, nothing, lambda *_: {"gradient": [0.3, 0.4]}).play(5).found("out_of_bound") is None


def test_features_beyond_the_bound_of_a_learner() -> None:
    body = {"loop": "choose", "learner": "ExponentiatedPreferencePerceptron", "params": {"dim": 3, "bound": 5.0}}
    assert World(body, rows, best).play(MOST).found("out_of_bound") is None
    found = World(body, partial(rows, scale=(9.0, 9.0, 9.0)), best).play(MOST).found("out_of_bound")
    assert found is not None
    assert found.figures["bound"] == 5.0


def test_one_feedback_that_dominates() -> None:
    def asked(rng: random.Random, round_: int, wild: bool) -> dict[str, Any]:
        made = {"candidates": [{"id": k, "features": [1 + 0.05 * rng.random(), 1.0, rng.random() / 20]} for k in "ab"]}
        if wild and round_ == 35:
            made["candidates"][1]["features"] = [9.0, -9.0, 3.0]
        return made

    found = World(COACTIVE, partial(asked, wild=True), _other).play(MOST).found("dominated")
    assert found is not None
    assert (found.severity, found.figures["version"]) == ("problem", 36)
    assert World(COACTIVE, partial(asked, wild=False), _other).play(MOST).found("dominated") is None


def test_feedback_that_contradicts_itself() -> None:
    same = {"candidates": [{"id": "a", "features": [1, 0, 0]}, {"id": "b", "features": [0, 1, 0]}]}

    def of(share: float) -> World:
        wanted = World(COACTIVE, lambda *_: same, lambda a, r, g, n: {"better": "a" if g.random() < share else "b"})
        return wanted.play(MOST)

    found = of(0.5).found("contradiction")
    assert found is not None
    assert float(found.figures["share"] or 0.0) > 0.45
    assert of(0.9).found("contradiction") is None
    assert of(1.0).found("contradiction") is None


@pytest.mark.parametrize(("field", "learner"), [("correct", "Confidit"), ("label", "AROW")])
def test_labels_that_contradict_themselves(field: str, learner: str) -> None:
    body = {"loop": "label", "learner": learner, "params": {"dim": 2}, "labels": ["x", "y"]}

    def odd(asked: Any, reply: Any, rng: random.Random, round_: int) -> dict[str, Any]:
        return {"correct": round_ % 4 < 2} if field == "correct" else {"label": "xy"[round_ % 2]}

    assert World(body, lambda *_: {"features": [1.0, 0.0]}, odd).play(MOST).found("contradiction") is not None
    each = World(body, lambda rng, n: {"features": [1.0, rng.random()]}, odd).play(MOST)  # no question comes twice
    assert each.found("contradiction") is None


def test_a_noisy_reward_is_no_contradiction() -> None:
    same = {"candidates": [{"id": "a", "features": [1, 0, 0]}, {"id": "b", "features": [0, 1, 0]}]}
    noisy = {"loop": "choose", "params": {"dim": 3}}
    world = World(noisy, lambda *_: same, lambda a, r, g, n: {"reward": float(g.random() < 0.5)}).play(MOST)
    assert world.found("contradiction") is None


def test_few_feedbacks_for_each_key() -> None:
    def asked(rng: random.Random, round_: int, keys: int) -> dict[str, Any]:
        return {**rows(rng, round_), "key": f"user{round_ % keys}"}

    found = World({**COACTIVE, "keyed": True}, partial(asked, keys=20), best).play(MOST).found("few_per_key")
    assert found is not None
    assert (found.figures["keys"], found.figures["per_key"]) == (20, 2.0)
    assert World({**COACTIVE, "keyed": True}, partial(asked, keys=4), best).play(MOST).found("few_per_key") is None
    assert World(COACTIVE, rows, best).play(MOST).found("few_per_key") is None


def _falling(asked: Any, reply: Any, rng: random.Random, round_: int, after: int, rate: float = 0.9) -> dict[str, Any]:
    return {"reward": float(rng.random() < (rate if round_ < after else 0.2))}


def test_a_drift_alarm() -> None:
    world = World(REWARD, items, partial(_falling, after=200)).play(250)
    found = world.found("drift")
    assert found is not None
    assert float(found.figures["before"] or 0.0) > float(found.figures["latest"] or 1.0)
    assert World(REWARD, items, partial(_falling, after=500)).play(400).found("drift") is None
    rising = World(REWARD, items, lambda a, r, g, n: {"reward": float(g.random() < (0.1 if n < 200 else 0.9))})
    assert rising.play(300).found("drift") is None
    losses = World(tuner(loss_bound=9.0), nothing, lambda a, r, g, n: {"loss": (n >= 150) + g.random()}).play(250)
    assert losses.found("drift") is not None


def test_a_fall_in_quick_batches_is_seen() -> None:
    """Between two judgements 350 answers arrive, and the latest 500 are all from after the fall."""
    world = World(REWARD, items, partial(_falling, after=300)).play(300)
    assert world.found("drift") is None
    found = world.play(400).found("drift")
    assert found is not None
    assert 0 < int(found.figures["ago"] or 0) <= checks_learning.DRIFT_HELD


def _clicking(asked: Any, reply: Any, rng: random.Random, round_: int) -> Any:
    """A click in half of the decisions; nothing comes of the others."""
    return {"reward": 1.0} if rng.random() < 0.5 else None


SILENT = {**REWARD, "window_s": 100.0, "default_reward": 0.0}


@pytest.mark.parametrize("learns", [True, False])
def test_the_first_window_is_no_drift(learns: bool) -> None:
    """All that came in it are clicks; then what nobody answered expires."""
    world = World({**SILENT, "window_s": 300.0}, items, _clicking).play(290)
    assert world.found("drift") is None
    for _ in range(8):
        world.play(50)
        if learns:
            world.sweep()
        assert world.found("drift") is None


def test_a_burst_of_expired_is_no_drift() -> None:
    """The sweep was late: hundreds of decisions without feedback are learned at once."""
    world = World(SILENT, items, _clicking).play(600)
    assert world.sweep().found("drift") is None
    assert world.play(300).wait(200).sweep().found("drift") is None


def test_an_outage_is_no_drift() -> None:
    """No feedback could arrive during the outage; 90 decisions were open."""
    world = World(SILENT, items, lambda a, r, g, n: None if 510 <= n < 600 else _clicking(a, r, g, n)).play(600)
    assert world.wait(3600.0).sweep().found("drift") is None
    assert world.play(150).wait(101.0).sweep().found("drift") is None


def test_people_who_stop_clicking_are_a_drift() -> None:
    world = World(SILENT, items, lambda a, r, g, n: None if n >= 500 else _clicking(a, r, g, n)).play(800)
    assert world.sweep().found("drift") is not None


@pytest.mark.parametrize("change", [{"window_s": 20.0}, {"default_reward": -1.0}, {"default_reward": None}])
def test_a_change_of_the_settings_is_no_drift(change: dict[str, Any]) -> None:
    """A window of 20 s ends before the slow half of the clicks."""
    late: list[str] = []

    def slowly(asked: Any, reply: Any, rng: random.Random, round_: int) -> Any:
        if len(late) > 50 and (id := late.pop(0)):
            world.engine.feedback(id, feedback_body(reward=1.0))
        late.append(reply["decision"] if rng.random() < 0.5 else "")
        return {"reward": 1.0} if not late[-1] and rng.random() < 0.5 else None

    world = World({**SILENT, "reward_range": [-1.0, 1.0]}, items, slowly)
    world.play(500).sweep().engine.amend("m", AmendBody(**change))
    for _ in range(6):
        assert world.play(60).sweep().found("drift") is None


def _alarms(runs: int, rounds: int, rate: float, after: int | None = None, low: float = 0.3) -> int:
    """In how many runs some look, one after each answer, has an alarm; after the fall, if there is one."""
    rng, out = np.random.default_rng(11), 0
    for _ in range(runs):
        mean = np.full(rounds, rate)
        if after is not None:
            mean[after:] = low
        x = (rng.random(rounds) < mean).astype(float)
        step = checks_learning.DRIFT_HELD
        looks = range(200, rounds + 1, step) if after is None else [after + step]
        ends = [*looks, rounds]
        falls = (steepest_fall(x[max(0, end - 900) : end]) for end in ends)
        out += any(fall is not None and fall.z >= checks_learning.DRIFT_DEVIATIONS for fall in falls)
    return out


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9, 0.97])
def test_drift_has_few_false_alarms(rate: float) -> None:
    """At most 5 % in 5,000 answers, looked at after every one."""
    assert _alarms(200, 5000, rate) <= 10


def test_drift_finds_a_fall_from_half_to_three_tenths() -> None:
    assert _alarms(200, 1400, 0.5, after=1000) >= 110


def test_keyed_models_are_judged_too() -> None:
    def asked(rng: random.Random, round_: int) -> dict[str, Any]:
        return {**items(rng, round_), "key": f"user{round_ % 4}"}

    world = World({"loop": "choose", "feedback": "better", "keyed": True}, asked, clicked).play(MOST)
    assert "nothing_to_learn" in world.codes()


def test_a_new_model_and_one_without_feedback_have_no_warning() -> None:
    assert World(REWARD, items, rewarded).report() == health.Report([], health.ConditionReport())
    assert World(REWARD, items, lambda *_: None).play(3).codes() == []


def test_every_code_of_the_contract_has_a_check_and_the_worst_comes_first() -> None:
    assert {each.code for each in health.CHECKS} == set(get_args(Code))
    world = World({"loop": "choose", "feedback": "better"}, items, clicked).play(MOST)
    order = [health.SEVERITIES.index(each.severity) for each in world.report().findings]
    assert order == sorted(order)
    assert world.report().worst == "problem"


class Counting(MemoryReader):
    """Counts the rows and events that are read."""

    def __init__(self, of: MemoryReader) -> None:
        super().__init__(of._tables, of._lock)
        self.read = 0

    def query(self, question: Any, shard: int, **values: Any) -> list[tuple[Any, ...]]:
        found = super().query(question, shard, **values)
        self.read += len(found)
        return found

    def event(self, shard: int, seq: int) -> Any:
        self.read += 1
        return super().event(shard, seq)


def test_what_is_read_does_not_grow_with_the_log() -> None:
    world = World(COACTIVE, rows, best)
    read = []
    for _ in range(2):
        reading = world.play(950).engine.store.reader()
        assert isinstance(reading, MemoryReader)
        counted = Counting(reading)
        health.diagnose(counted, world.engine.model("m"), world.clock.now)
        read.append(counted.read)
    limits = 2 * evidence.DECISIONS + evidence.WITH_FEATURES + 3 * evidence.FEEDBACKS + evidence.DRIFT_ROWS
    assert read[0] == read[1] <= limits + 10


def test_a_report_is_kept_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    world, kept, made = World(COACTIVE, rows, best).play(5), health.Health(), []
    diagnose = health.diagnose
    monkeypatch.setattr(health, "diagnose", lambda *arguments: made.append(1) or diagnose(*arguments))
    monkeypatch.setattr(health, "HOLDS_S", 1e9)
    monkeypatch.setattr(health, "REST", 0.0)
    reading, model = world.engine.store.reader(), world.engine.model("m")
    for _ in range(3):
        kept.of(reading, model, world.clock.now)
    assert len(made) == 1
    world.play(1)
    kept.of(reading, model, world.clock.now)
    assert len(made) == 2
    monkeypatch.setattr(health, "REST", 1e9)  # a model under load is not judged without end
    world.play(1)
    kept.of(reading, model, world.clock.now)
    assert len(made) == 2


def test_figures_of_many_models_are_brought_up_to_date_round_by_round(monkeypatch: pytest.MonkeyPatch) -> None:
    world, kept = World({"loop": "choose", "feedback": "better"}, items, clicked).play(MOST), health.Health()
    reading, model = world.engine.store.reader(), world.engine.model("m")
    monkeypatch.setattr(health, "BUDGET_S", -1.0)
    assert kept.figures(reading, [model], world.clock.now) == []
    monkeypatch.setattr(health, "BUDGET_S", 60.0)
    found = kept.figures(reading, [model], world.clock.now)
    assert ("m", "nothing_to_learn") in [(name, finding.code) for name, finding in found]
    model.archived_at = world.clock.now
    assert kept.figures(reading, [model], world.clock.now) == []


def thresholds() -> list[tuple[str, float]]:
    """The constants of the findings, and those of what they look at."""
    modules = {__import__(type(each).__module__, fromlist=["*"]) for each in health.CHECKS}
    found = []
    for module in sorted(modules, key=lambda each: each.__name__):
        found += numbers(module)
    wanted = (
        "DECISIONS",
        "WITH_FEATURES",
        "FEEDBACKS",
        "DRIFT_ROWS",
        "STEPS",
        "FIRST_EVENTS",
        "RESTART_KEYS",
        "RESTART_EVENTS",
    )
    return found + [(name, value) for name, value in numbers(evidence) if name in wanted]


def numbers(module: ModuleType) -> list[tuple[str, float]]:
    return [(name, value) for name, value in vars(module).items() if name.isupper() and isinstance(value, (int, float))]


def test_every_threshold_stands_in_the_guide_with_its_number() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([\d.,e-]+)(?: %)? \|", GUIDE.read_text(), re.MULTILINE)
    fields = {name: float(value.replace(",", "")) for name, value in rows}
    assert fields == pytest.approx(dict(thresholds()))


def test_no_finding_but_two_waits_for_more_than_forty() -> None:
    waits = {name: value for name, value in thresholds() if name.endswith(("_AFTER", "_FEW")) or "_DECISIONS" in name}
    assert len(waits) >= 12
    assert (waits.pop("DRIFT_AFTER"), waits.pop("BETTER_AFTER")) == (100, 200)
    assert max(waits.values()) <= MOST


def test_percent_is_never_rounded_up_to_all() -> None:
    assert evidence.percent(0.99999) == "99.9 %"


def test_the_table_of_features_against_the_obvious() -> None:
    rng = np.random.default_rng(1)
    decisions = [rng.choice([0.0, 1.0, 2.0], size=(3, 4)) for _ in range(30)]
    for docs in decisions:
        docs[:, 1] = docs[0, 1] + 1.0  # the same for all candidates, and never zero
        docs[:, 2] = 5.0
    seen = table([Choice(docs) for docs in decisions])
    every = np.concatenate(decisions)
    assert (seen.decisions, seen.rows, seen.compared) == (30, 90, 30)
    assert seen.size == pytest.approx([math.sqrt((c[c != 0] ** 2).mean()) for c in every.T])
    assert seen.varies.tolist() == [any(np.ptp(docs[:, j]) > 0 for docs in decisions) for j in range(4)]
    assert seen.fixed.tolist() == [False, False, True, False]
    assert seen.alike == sum(all(np.ptp(docs, axis=0) == 0) for docs in decisions)


def test_the_table_of_single_rows() -> None:
    one = [Row(np.array([0, 2], np.uint32), np.array([1.0, float(k)]), 4) for k in range(1, 6)]
    seen = table(one)
    assert (seen.columns.tolist(), seen.varies.tolist(), seen.fixed.tolist()) == ([0, 2], [False, True], [True, False])
    assert (seen.alike, seen.compared) == (0, 5)
    same = table([one[0]] * 5)
    assert (same.alike, same.compared) == (5, 5)
    assert table([None]).decisions == 0


def test_one_taste_agrees_or_none_does() -> None:
    rng = np.random.default_rng(0)
    taste = rng.normal(size=5)
    D = [each if each @ taste > 0 else -each for each in rng.normal(size=(100, 5))]
    assert is_separable(D) is True
    assert is_separable([*D, -D[0]]) is False
    assert is_separable([np.zeros(5)]) is True
    assert is_separable([np.ones(30_000)] * 100) is None


def test_quality_counts_every_closed_decision() -> None:
    world = World(REWARD, items, lambda a, r, g, n: {"reward": 0.5} if n % 4 == 0 else None).play(20)
    reading, model = world.engine.store.reader(), world.engine.model("m")

    def now() -> tuple[Any, ...]:
        figures = quality(reading, model, world.clock.now)
        return figures.of, figures.silent, figures.value

    assert now() == (5, 0, 0.5)  # the windows of the others are open
    world.wait(DAY)
    assert now() == (20, 15, pytest.approx(0.125))


def test_silence_that_is_learnt_is_no_complaint_and_still_silent() -> None:
    body = {**REWARD, "default_reward": 0.25, "window_s": 60.0}
    world = World(body, items, lambda a, r, g, n: {"reward": 1.0} if n % 4 == 0 else None).play(MOST)
    assert "nothing_to_learn" not in world.codes()  # the first window is open
    world.wait(DAY).sweep()
    assert {"silence", "nothing_to_learn"}.isdisjoint(world.codes())
    figures = quality(world.engine.store.reader(), world.engine.model("m"), world.clock.now)
    assert (figures.of, figures.silent, figures.value) == (40, 30, pytest.approx(0.25 + 0.75 / 4))
    plain = World(REWARD, items, lambda a, r, g, n: {"reward": 1.0} if n % 4 == 0 else None).play(MOST).wait(DAY)
    assert {"silence", "nothing_to_learn"} <= set(plain.codes())


def test_silence_is_worth_the_least_reward_and_what_was_not_shown_counts_nowhere() -> None:
    body = {**REWARD, "reward_range": [1, 5]}
    world = World(body, items, lambda a, r, g, n: {"reward": 5.0} if n % 2 else None).play(10).wait(2 * DAY)
    figures = quality(world.engine.store.reader(), world.engine.model("m"), world.clock.now)
    assert (figures.of, figures.silent, figures.value) == (10, 5, pytest.approx(3.0))
    hidden = World(REWARD, lambda rng, n: {**items(rng, n), "activate": False}, lambda *_: None).play(MOST).wait(DAY)
    figures = quality(hidden.engine.store.reader(), hidden.engine.model("m"), hidden.clock.now)
    assert (figures.of, hidden.codes()) == (0, [])


def test_quality_of_filters_and_losses() -> None:
    body = {"loop": "filter", "learner": "PRidgeFil", "params": {"dim": 2, "p": 0.0}}
    world = World(body, lambda rng, n: {"features": [1.0, rng.random()]}, lambda a, r, g, n: None)
    world.play(10).wait(2 * DAY)
    figures = quality(world.engine.store.reader(), world.engine.model("m"), world.clock.now)
    assert (figures.of, figures.silent, figures.value) == (10, 10, 0.0)
    losses = World(tuner(loss_bound=4.0), nothing, lambda a, r, g, n: {"loss": 2.0} if n % 2 else None)
    losses.play(10).wait(2 * DAY)
    figures = quality(losses.engine.store.reader(), losses.engine.model("m"), losses.clock.now)
    assert (figures.of, figures.silent, figures.value) == (10, 5, 2.0)  # losses that were not reported are unknown


def test_quality_is_of_the_last_that_closed() -> None:
    world = World({**REWARD, "window_s": 50.0}, items, lambda a, r, g, n: {"reward": 1.0} if n % 2 else None)
    world.play(500)
    figures = quality(world.engine.store.reader(), world.engine.model("m"), world.clock.now)
    assert figures.of == 200
    assert figures.silent == pytest.approx(100, abs=1)
    assert figures.value == pytest.approx(1.0 - figures.silent / 200)


def test_early_answers_do_not_hide_the_silence_of_their_time() -> None:
    world = World(REWARD, items, lambda a, r, g, n: {"reward": 1.0} if n % 4 == 0 else None)
    world.play(450).wait(DAY).play(450)  # the windows of the first half are over, those of the second half are open
    figures = quality(world.engine.store.reader(), world.engine.model("m"), world.clock.now - 451.0)
    assert (figures.of, figures.silent, figures.value) == (200, 150, pytest.approx(0.25))


def test_who_asks_meanwhile_has_the_last_report(monkeypatch: pytest.MonkeyPatch) -> None:
    world, kept = World({"loop": "choose", "feedback": "better"}, items, clicked).play(MOST), health.Health()
    reading, model = world.engine.store.reader(), world.engine.model("m")
    first, meanwhile = kept.of(reading, model, world.clock.now), []
    diagnose = health.diagnose

    def slow(*given: Any) -> health.Report:
        meanwhile.append(kept.of(reading, model, world.clock.now))  # as another thread would ask
        return diagnose(*given)

    monkeypatch.setattr(health, "diagnose", slow)
    monkeypatch.setattr(health, "REST", 0.0)
    world.play(1)
    assert kept.of(reading, model, world.clock.now) is not first
    assert meanwhile == [first]


def test_conditions_of_a_theorem_are_checked_on_the_data() -> None:
    sound = World(COACTIVE, rows, best).play(MOST).report().conditions
    assert sound.fails is None
    assert "one weight vector agrees with all of the last 40 feedbacks" in sound.holds

    def fails(world: World) -> str:
        found = world.report().conditions
        assert found.holds == ""
        return str(found.fails)

    assert "no weights agree" in fails(
        World(COACTIVE, rows, lambda a, r, g, n: {"better": str(g.randrange(4))}).play(MOST)
    )
    half = World(COACTIVE, rows, lambda *given: best(*given) if given[3] % 2 else None).play(MOST).wait(DAY)
    assert "50 % of the last 40 decisions got no feedback" in fails(half)
    rank = {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 3}}
    clicks = World(rank, rows, lambda a, r, g, n: {"clicked": [g.choice(r["ranking"])]}).play(MOST)
    assert "and clicks are not" in fails(clicks)
    assert "loss_bound = 1" in fails(World(tuner(loss_bound=1.0), nothing, partial(square, times=9.0)).play(5))

    def wild(rng: random.Random, round_: int) -> dict[str, Any]:
        return rows(rng, round_, (1e3,) * 3 if round_ == 30 else (1.0,) * 3)

    assert "1 of 40 were scaled down" in fails(World(COACTIVE, wild, best).play(MOST))
