"""Perturbation of a rank model and its cost; position bias, or why it is unknown."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.asgi import Caller
from service.bodies import feedback_body, model, request
from service.memory import MemoryStore
from smidgen.service.engine.engine import Engine
from smidgen.service.monitoring.evidence import ClickedRanking, RecentRankings
from smidgen.service.monitoring.position_bias import PLACES, BiasCache, BiasReport, measure, perturbation_report

READ = np.array([1.0, 0.6, 0.4, 0.3, 0.2, 0.15])
BODY: dict[str, Any] = {"loop": "rank", "params": {"dim": 3}}


def played(body: dict[str, Any], rounds: int, *, field: str = "clicked", seed: int = 0) -> Engine:
    """A model whose users look at the top first, and click what they like."""
    engine, rng, w = Engine(MemoryStore()), np.random.default_rng(seed), np.array([2.0, -1.0, 0.5])
    engine.create("search", model(body))
    for _ in range(rounds):
        docs = rng.normal(size=(6, 3))
        offered = [{"id": i, "features": row.tolist()} for i, row in enumerate(docs)]
        answer = engine.decide("search", request({"candidates": offered}))
        like = 1.0 / (1.0 + np.exp(-2.0 * docs @ w))
        order = np.array(answer["ranking"])
        clicked = order[rng.random(6) < READ * like[order]].tolist()
        engine.feedback(answer["decision"], feedback_body(**{field: clicked}), None)
    return engine


def look(engine: Engine) -> BiasReport:
    return measure(engine.store, engine.models["search"])


@pytest.mark.parametrize(
    "body",
    [
        BODY,
        {**BODY, "learner": "PerturbedPreferencePerceptron"},
        {**BODY, "learner": "FairPairs", "params": {"dim": 3, "alternate": True}},
    ],
    ids=["PDGD", "3PR", "FairPairs"],
)
def test_the_curve_holds_the_truth(body: dict[str, Any]) -> None:
    engine = played(body, 1000, seed=3)
    found = look(engine)
    curve, why_not = found.examination
    assert why_not is None
    assert curve is not None
    assert curve.places == [1, 2, 3, 4, 5, 6]
    assert curve.n == 1000
    assert curve.value[0] == curve.low[0] == curve.high[0] == 1.0
    assert (0.9 * np.array(curve.low[1:]) < READ[1:]).all()  # five places at once: a little more than 95 %
    assert (1.1 * np.array(curve.high[1:]) > READ[1:]).all()
    assert found.perturbation is not None
    figures = found.perturbation.figures
    assert figures["lists"] == 400
    assert 0.1 < (figures["differs"] or 0.0) <= 1.0
    assert 0.5 < (figures["worth"] or 0.0) <= 1.0
    assert (figures["lost_low"] or 0.0) < (figures["lost"] or 0.0) < (figures["lost_high"] or 0.0)
    assert "best guess" in found.perturbation.sentence


def test_figures_are_those_of_the_slow_way() -> None:
    engine = played(BODY, 200)
    served = engine.models["search"]
    lists = RecentRankings(engine.store, served)
    shown, clicked = lists.shown(), lists.clicked()
    assert len(shown) == len(clicked) == 200
    found = look(engine)
    assert found.perturbation is not None
    figures, curve = found.perturbation.figures, found.examination.curve
    assert curve is not None
    differ, moved, got, best = [], [], 0.0, 0.0
    for decision in shown:
        shown_order, greedy = list(decision.action), list(decision.greedy)
        differ.append(shown_order != greedy)
        moved.append(np.mean([abs(place - greedy.index(doc)) for place, doc in enumerate(shown_order)]))
        low, high = min(decision.scores), max(decision.scores)
        for place in range(6):
            fade = math.log2(place + 2)
            if high > low:
                got += (decision.scores[shown_order[place]] - low) / (high - low) / fade
                best += (decision.scores[greedy[place]] - low) / (high - low) / fade
    assert figures["differs"] == pytest.approx(np.mean(differ))
    assert figures["displacement"] == pytest.approx(np.mean(moved))
    assert figures["worth"] == pytest.approx(got / best)
    lost = []
    for decision, clicks in clicked:
        here, there = list(decision.action), list(decision.greedy)
        ratios = [curve.value[there.index(doc)] / curve.value[here.index(doc)] for doc in clicks]
        lost.append(sum(min(ratio, 10.0) - 1.0 for ratio in ratios))
    assert figures["lost"] == pytest.approx(np.mean(lost))
    assert figures["clicks"] == pytest.approx(np.mean([len(each.clicks) for each in clicked]))


@pytest.mark.parametrize(
    ("body", "rounds", "field", "why"),
    [
        ({**BODY, "learner": "PreferencePerceptron"}, 40, "clicked", "does not draw"),
        ({**BODY, "learner": "DuelingBandit", "params": {"dim": 3, "explore": 1, "step": 1}}, 40, "clicked", "draw"),
        ({**BODY, "learner": "FairPairs"}, 40, "clicked", "fixed"),
        (BODY, 5, "clicked", "30 are needed"),
        (BODY, 40, "better", "No clicks"),
        (BODY, 0, "clicked", "No clicks"),
    ],
)
def test_where_nobody_knows_there_is_a_reason(body: dict[str, Any], rounds: int, field: str, why: str) -> None:
    found = look(played(body, rounds, field=field))
    assert found.examination.curve is None
    assert why in (found.examination.why_not or "")
    assert (found.perturbation is None) == (rounds == 0)


def test_a_learner_that_perturbs_nothing_says_so() -> None:
    for name, end in (
        ("PreferencePerceptron", "mix relevance with position"),
        ("SecondOrderPreferencePerceptron", "mix relevance with position"),
    ):
        found = look(played({**BODY, "learner": name, "feedback": "clicks"}, 20)).perturbation
        assert found is not None
        assert found.figures["differs"] == found.figures["displacement"] == 0.0
        assert end in found.sentence
    edited = look(played({**BODY, "learner": "PreferencePerceptron", "feedback": "better"}, 20, field="better"))
    assert edited.perturbation is not None
    assert "corrected rankings" in edited.perturbation.sentence


def test_a_dueling_bandit_moves_with_clicks() -> None:
    engine = played({**BODY, "learner": "DuelingBandit", "params": {"dim": 3, "explore": 1.0, "step": 0.3}}, 60)
    weights = engine.learners.get(engine.models["search"], None).learner.weights
    assert np.abs(weights).max() > 0.1


def test_what_is_looked_at_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = played(BODY, 30)
    lists = RecentRankings(engine.store, engine.models["search"])
    assert len(lists.shown(10)) == len(lists.clicked(10)) == 10
    monkeypatch.setattr("smidgen.service.monitoring.evidence.LIST_BYTES", 3000)
    assert 0 < len(lists.shown()) < 30
    looking = BiasCache()
    first = looking.get(engine.store, engine.models["search"])
    assert looking.get(engine.store, engine.models["search"]) is first
    assert PLACES == 10
    assert perturbation_report([], [], None, clicks=True) is None


def test_clicks_beyond_the_curve_count_as_its_end() -> None:
    engine = played(BODY, 300)
    clicked = RecentRankings(engine.store, engine.models["search"]).clicked()
    curve = look(engine).examination.curve
    assert curve is not None
    short = type(curve)(places=[1, 2], value=curve.value[:2], low=curve.low[:2], high=curve.high[:2], n=curve.n)
    found = perturbation_report([each.decision for each in clicked], clicked, short, clicks=True)
    assert found is not None
    assert math.isfinite(found.figures["lost"] or math.nan)
    assert isinstance(clicked[0], ClickedRanking)


def test_over_http_with_records(tmp_path: Path) -> None:
    with Caller(tmp_path / "data") as call:
        made = call.put("/v1/models/search", {"loop": "rank"}).json()
        assert (made["learner"], made["feedback"]) == ("PDGD", "clicks")
        seen = call.get("/v1/models/search").json()
        assert seen["perturbation"] is seen["examination"] is None
        assert "No clicks" in seen["unexamined"]
        rng, found = np.random.default_rng(0), []
        offered = [{"id": i, "features": {"kind": "abcd"[i % 4]}} for i in range(6)]
        asked = {"decisions": [{"candidates": offered} for _ in range(200)]}
        for answer in call.post("/v1/models/search/decisions:batch", asked).json()["decisions"]:
            order = np.array(answer["ranking"])
            clicked = order[rng.random(6) < READ * 0.5].tolist()
            found.append({"decision": answer["decision"], "clicked": clicked})
        call.post("/v1/feedback:batch", {"feedback": found})
        seen = call.get("/v1/models/search").json()
        assert seen["unexamined"] is None
        assert seen["examination"]["n"] == 200
        assert len(seen["examination"]["value"]) == len(seen["examination"]["places"]) >= 3
        assert seen["perturbation"]["figures"]["differs"] > 0.5
        assert seen["perturbation"]["sentence"]
