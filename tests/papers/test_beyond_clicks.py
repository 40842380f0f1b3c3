"""The comparison on clicks: its work on small made-up sets, its tables, its claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smidgen_papers import catalogue
from smidgen_papers.beyond import clicks, clicks_curve, clicks_log
from smidgen_papers.beyond.clicks_play import _running, _Worth, make_user, play, predicted
from smidgen_papers.coactive.web_data import web
from smidgen_papers.data.clicks import Impressions
from smidgen_papers.part import Answer, Answers, Place, Run

RUN = Run(Place(None, Path("/nowhere")), quick=True)
SIZE = [30, 12, 5]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(None, tmp_path_factory.mktemp("kept"))


def played(place: Place, learner: dict[str, Any], user: str) -> dict[str, Any]:
    return play(
        place,
        source="yahoo-like",
        size=SIZE,
        learner=learner,
        user=user,
        rounds=60,
        first=0,
        count=2,
        seed=0,
    )


@pytest.mark.parametrize("user", clicks.USERS)
def test_every_learner_plays_with_every_user(place: Place, user: str) -> None:
    for name, learner in clicks.competitors("mslr").items():
        found = played(place, learner, user)
        assert found["regret"].shape == found["online"].shape == (2, len(found["t"])), name
        assert (found["regret"] >= -1e-9).all()
        assert ((found["online"] > 0.0) & (found["online"] <= 1.0)).all()
        assert ((found["offline"] > 0.0) & (found["offline"] <= 1.0)).all()
        assert 0.0 < found["chance"] < 1.0


def test_worth_is_that_of_a_plain_loop(place: Place) -> None:
    table = web(place, source="yahoo-like", size=SIZE, utility="plain", seed=0).table
    worth = _Worth(table)
    rng = np.random.default_rng(0)
    shown = np.full((len(table), 10), -1)
    for row, n in zip(shown, np.diff(table.starts), strict=True):
        row[: min(n, 10)] = rng.permutation(n)[:10]
    found = worth.of(np.arange(len(table)), shown)
    for i, order in enumerate(shown):
        gains = 2.0 ** table.labels[table.starts[i] : table.starts[i + 1]] - 1.0
        dcg = sum(gains[d] / np.log2(k + 2) for k, d in enumerate(order) if d >= 0)
        best = sum(g / np.log2(k + 2) for k, g in enumerate(sorted(gains, reverse=True)[:10]))
        assert found[i] == pytest.approx(dcg / best) if best else np.isnan(found[i])


def test_running_means_pass_over_what_cannot_be_measured() -> None:
    assert _running(np.array([np.nan, 1.0, np.nan, 0.0])).tolist() == [0.0, 1.0, 1.0, 0.5]


def test_predictions_are_those_of_the_learner(place: Place) -> None:
    data = web(place, source="yahoo-like", size=SIZE, utility="plain", seed=0)
    for settings in ({"name": "FairPairs"}, {"name": "PDGD", "normalize": True}, {"name": "PreferencePerceptron"}):
        model = clicks_curve.make_learner(settings, 5, 1)
        user = make_user("navigational", data, 1)
        for query in data.table.contexts:
            decision = model.decide(query)
            model.learn(decision, user(query, decision.action))
        found = predicted(model, data.table, np.arange(5))
        for row, query in zip(found, data.table.contexts[:5], strict=True):
            expected = model.predict(query)[:10].tolist()
            assert row.tolist() == [*expected, *[-1] * (10 - len(expected))]


def made_up(levels: dict[str, float]) -> Answers:
    """Answers in which learners have given levels of regret, and nDCG falls with it."""
    rng, answers = np.random.default_rng(0), []
    for part in clicks.plan(RUN):
        name = next(n for n, s in clicks.LEARNERS.items() if s == part.settings["learner"])
        n = part.settings["count"]
        regret = levels.get(name, 0.5) * (1.0 + 0.01 * rng.random((n, 3)))
        values = {"t": np.array([1, 10, 100]), "regret": regret, "online": 1.0 - regret, "offline": 1.0 - regret[:, 0]}
        answers.append(Answer(part.settings, {**values, "chance": 0.3}))
    return Answers(answers)


def test_tables_name_every_learner_and_user() -> None:
    shown = clicks.gather(RUN, made_up({"PDGD": 0.1}))
    assert len(shown.panels) == 2
    assert [table.columns for table in shown.tables] == [["user", *clicks.LEARNERS]] * 3
    assert all([row[0] for row in table.rows] == list(clicks.USERS) for table in shown.tables)


@pytest.mark.parametrize(("ours", "verdict"), [(0.1, "holds"), (0.6, "does not hold here")])
def test_claims_follow_the_figures(ours: float, verdict: str) -> None:
    answers = made_up({"PDGD": ours, "3PR": 0.7, "FairPairs": 0.7})
    mine = [claim for claim in catalogue.claims.values() if claim.needs == ("beyond/clicks:learning",)]
    assert len(mine) == 4
    assert {claim.check(RUN, answers).verdict for claim in mine} == {verdict}


def test_the_curve_is_looked_for(place: Place) -> None:
    found = clicks_curve.look(
        place, source="yahoo-like", size=SIZE, learner={"name": "PDGD"}, rounds=400, count=2, seed=0
    )
    assert found["read"].shape == (2, clicks_curve.PLACES)
    answers = Answers(
        Answer({"learner": learner}, {name: np.tile(rows[:1], (2, 1)) for name, rows in found.items()})
        for learner in clicks_curve.LEARNERS.values()
    )
    assert len(clicks_curve.gather(RUN, answers).panels[0].curves) == 4
    sure = {"read": np.array([clicks_curve.TRUTH] * 3)}
    sure |= {"low": 0.9 * sure["read"], "high": 1.1 * sure["read"]}
    claim = catalogue.claims["beyond/examination"]
    assert claim.check(RUN, Answers([Answer({}, sure)])).verdict == "holds"


def log(n: int = 4000) -> Impressions:
    """People who look by place, at one query's pages; the best document stood last."""
    rng = np.random.default_rng(0)
    read, attract = np.array([1.0, 0.6, 0.3]), np.array([0.2, 0.3, 0.8])
    docs = np.array([rng.permutation(3) if rng.random() < 0.3 else np.arange(3) for _ in range(n)])
    clicked = rng.random(docs.shape) < read * attract[docs]
    split = tuple("train" if i < n // 2 else "test" for i in range(n))
    sequences = tuple(tuple(np.flatnonzero(row).tolist()) for row in clicked)
    return Impressions("made up", np.zeros(n, int), ("q",), docs, clicked, sequences, np.zeros(n, int), split)


def test_a_click_log_judges_orders(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clicks_log, "yandex", lambda folder: log())
    found = clicks_log.judged(place, source="yandex")
    assert found["value"][2] > found["value"][0], "the last document belongs first"
    answers = Answers([Answer({"source": "yandex"}, found)])
    assert len(clicks_log.gather(RUN, answers).tables[0].rows) == 3
    assert catalogue.claims["beyond/click-log"].check(RUN, answers).verdict == "holds"


def test_without_the_log_nothing_is_judged() -> None:
    assert list(clicks_log.plan(RUN)) == []
    assert clicks_log.gather(RUN, Answers([])).notes
    assert catalogue.claims["beyond/click-log"].check(RUN, Answers([])).verdict == "cannot be tested here"
