"""The movie halves of the coactive experiments: the work against the two verbs, and every claim both ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import Choice, users
from smidgen.data import Ratings, rating_matrix
from smidgen_papers import catalogue
from smidgen_papers.coactive import duels, movies, movies_convex, movies_data, movies_duel, movies_play, movies_series
from smidgen_papers.coactive.movies_series import rows
from smidgen_papers.coactive.series import Line
from smidgen_papers.part import Answer, Answers, Place, Run

catalogue.chosen(["coactive", "coactive2012"])
USERS, ITEMS, ROUNDS = 20, 120, 25
CLAIMS = [
    claim
    for claim in catalogue.claims.values()
    if claim.needs[0].endswith(":movies") and all(need.endswith(":movies") for need in claim.needs)
]


def small_halves(place: Place, source: str, seed: int) -> tuple[Ratings, Ratings]:
    return rating_matrix(users=2 * USERS, items=ITEMS, rank=3, per_user=40, seed=seed).split(seed)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    for module in (movies_data, movies_play):
        monkeypatch.setattr(module, "halves", small_halves)
    return Place(None, tmp_path)


def settings(line: Line, **more: Any) -> dict[str, Any]:
    return {
        "source": "generated",
        "search": "quick",
        "fit": line.fit,
        "learner": line.learner,
        "user": line.user,
        "rounds": ROUNDS,
        "first": 0,
        "count": 2,
        "seed": 0,
    } | more


@pytest.mark.parametrize("fit", movies_data.FITS)
def test_work_is_what_the_verbs_do(place: Place, fit: str) -> None:
    line = Line("better", user={"rating": "better"}, fit=fit)
    found = movies_play.play(place, **settings(line, first=3))
    data = movies_data.movies(place, source="generated", search="quick", fit=fit, seed=0)
    for row, i in enumerate((3, 4)):
        learner = smidgen.PreferencePerceptron(dim=data.table.rows.shape[1])
        user = users.BetterRating(ratings=data.ratings[i], legal=(1, 5), seed=i)
        menu, regrets = Choice(data.table.rows), []
        for _ in range(ROUNDS):
            decision = learner.decide(menu)
            answer = user(menu, decision.action)
            learner.learn(decision, answer)
            utilities = data.table.rows @ data.weights[i]
            regrets.append(utilities[menu.available].max() - utilities[decision.action])
            menu = menu.without(decision.action, answer)
        M = np.linalg.norm(data.weights[i]) * data.reach
        loss = smidgen.losses.Quadratic(peak=float(M))
        losses = loss(-np.array(regrets)) - loss(0.0)
        assert found["regret"][row, -1] == pytest.approx(np.mean(regrets), rel=1e-5)
        assert found["loss"][row, -1] == pytest.approx(np.mean(losses), rel=1e-5)


def test_fits_are_least_squares(place: Place) -> None:
    _, second = small_halves(place, "generated", 0)
    for fit in movies_data.FITS:
        data = movies_data.movies(place, source="generated", search="quick", fit=fit, seed=0)
        items, stars = second.of_user(5)
        X = data.table.rows[items]
        if fit == "intercept":
            X = np.hstack([X, np.ones((len(X), 1))])
        if fit == "shrunk":
            penalty = 0.1 * len(stars)
            X = np.vstack([X, np.sqrt(penalty) * np.eye(X.shape[1])])
            stars = np.concatenate([stars, np.zeros(X.shape[1])])
        expected = np.linalg.lstsq(X, stars, rcond=None)[0][: data.weights.shape[1]]
        np.testing.assert_allclose(data.weights[5], expected, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(data.ratings[5][items], second.of_user(5)[1])


@pytest.mark.parametrize(
    ("learner", "user"),
    [
        ({"name": "BatchPreferencePerceptron", "batch": 10}, {"rating": "best"}),
        (movies.EXPONENTIATED, {"expected": 0.5, "from": 1.0}),
        ({"name": "DuelingBandit", "explore": 1.0, "step": 0.1}, {"compare": "utility"}),
        ({"name": "DuelingBandit", "explore": 1.0, "step": 0.1}, {"compare": "rating"}),
        ({"name": "SecondOrderPreferencePerceptron", "radius": 100.0}, {"strict": 0.5}),
    ],
)
def test_every_kind_of_work_runs(place: Place, learner: dict[str, Any], user: dict[str, Any]) -> None:
    found = movies_play.play(place, **settings(Line("", learner=learner, user=user)))
    assert found["regret"].shape == (2, len(found["t"]))
    assert (found["regret"] >= 0).all()
    assert found["regret"][:, -1].mean() < found["random"].mean() * 1.5


def test_a_held_c_is_what_the_svm_begins_with(place: Place) -> None:
    pytest.importorskip("sklearn")
    names = ({"name": "RankingSVM"}, {"name": "HeldSVM", "C": 100.0}, {"name": "HeldSVM", "C": 1e-4})
    found = [movies_play.play(place, **settings(Line("", learner=learner), rounds=30)) for learner in names]
    np.testing.assert_array_equal(found[0]["regret"], found[1]["regret"])
    assert (found[0]["regret"] != found[2]["regret"]).any()


def test_look(place: Place) -> None:
    found = movies_play.look(place, source="generated", search="quick", seed=0)
    assert found["errors"].shape == (2, 1)
    assert found["chosen"][0] in found["dims"]
    assert len(found["rated"]) == USERS
    assert np.median(found["shrunk_norms"]) < np.median(found["plain_norms"])


def test_plans_share_parts_and_cover_all_users(tmp_path: Path) -> None:
    run = Run(Place(None, tmp_path))
    parts = movies_series.parts(run, movies.BETTER, users=600)
    assert sum(part.settings["count"] for part in parts) == 600
    assert [part.settings["first"] for part in parts] == [0, 250, 500]
    sweep = {str(part.settings) for part in movies_convex.sweep_plan(run)}
    whole = {str(part.settings) for part in movies_convex.FIG14.plan(run)}
    assert sweep & whole


def curves(key: str, line_curve: Any, *, quick: bool = True) -> Answers:
    """Answers of a whole study, made up: ``line_curve(settings)`` gives the cumulative regret over t of a user."""
    run = Run(Place(None, Path("nowhere")), quick=quick)
    made = []
    for one in catalogue.study(key).plan(run):
        if "learner" not in one.settings:
            made.append(Answer(one.settings, LOOKED))
            continue
        t = np.array(movies_play.points(one.settings["rounds"]))
        n = one.settings["count"]
        noise = 1.0 + 0.02 * np.random.default_rng(one.settings["first"]).normal(size=(n, 1))
        sums = np.array([line_curve(one.settings, t)] * n) * noise
        values = {"t": t, "regret": sums / t, "loss": 3.0 * sums / t, "random": np.full(n, 4.0), "seconds": 0.001}
        if one.settings["learner"]["name"] == "RankingSVM":
            values["seconds"] = SECONDS["svm"]
        made.append(Answer(one.settings, values))
    return Answers(made)


SECONDS = {"svm": 1.0}
LOOKED: dict[str, Any] = {
    "dims": np.array([5, 10]),
    "penalties": np.array([0.1]),
    "errors": np.array([[0.92], [0.91]]),
    "chosen": np.array([10.0, 0.1]),
    "movies": 100,
    "empty": 3,
    "rated": np.array([15, 30, 40]),
    **{f"{fit}_{what}": np.array([1.0, 2.0, 9.0]) for fit in movies_data.FITS for what in ("norms", "spreads")},
}


def as_claimed(s: dict[str, Any], t: Any) -> Any:
    """A world in which the paper is right about everything."""
    name, user = s["learner"]["name"], s["user"]
    noisy = "rating" in user or user.get("compare") == "rating"
    if name == "SecondOrderPreferencePerceptron":
        gamma = s["learner"]["gamma"]
        size = (0.5 + abs(np.log10(gamma))) * (1.0 + np.log(t))
        return size + (0.0 if not noisy else 1.0 * t)
    if name == "ConvexPreferencePerceptron":
        return 1.5 * np.sqrt(t) + (0.0 if not noisy else 1.1 * t)
    factor = {0.1: 1.5, 0.5: 0.8, 1.0: 0.6}.get(user.get("strict", 0.5), 1.0)
    if name == "BatchPreferencePerceptron":
        factor *= s["learner"]["batch"] ** 0.3
    if name == "RankingSVM":
        factor *= 3.0
    if name == "DuelingBandit":
        factor *= 5.0
    if name == "ExponentiatedPreferencePerceptron" and "horizon" not in s["learner"]:
        factor *= 0.85
    return factor * t**0.35 * (3.0 if noisy else 1.0)


def against(s: dict[str, Any], t: Any) -> Any:
    """A world in which it is wrong about everything."""
    name, user = s["learner"]["name"], s["user"]
    if name == "SecondOrderPreferencePerceptron":
        return 9.0 * t if "rating" in user else 9.0 * t**0.9 / (1.0 + abs(np.log10(s["learner"]["gamma"])))
    if name == "ConvexPreferencePerceptron":
        return t * 1.0
    if name in ("RankingSVM", "DuelingBandit", "BatchPreferencePerceptron"):
        factor = {10: 60.0, 50: 40.0, 100: 20.0}.get(s["learner"].get("batch", 0), 0.1)
        return factor * t
    if name == "ExponentiatedPreferencePerceptron":
        return 50.0 * t
    return {0.1: 0.5, 0.5: 2.5, 1.0: 4.0}.get(user.get("strict", -1.0), 0.3) * t * (30.0 if "expected" in user else 1.0)


def tenfold(s: dict[str, Any], t: Any) -> Any:
    """A world in which α decides all."""
    return t / s["user"].get("strict", 1.0)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_claims_can_hold_and_fail(claim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(Place(None, Path("nowhere")), quick=True)
    right = [curves(need, as_claimed) for need in claim.needs]
    assert claim.check(run, *right).verdict == "holds"
    monkeypatch.setitem(SECONDS, "svm", 0.00001)
    world = tenfold if claim.id.endswith("tenfold") else against
    wrong = [curves(need, world) for need in claim.needs]
    assert claim.check(run, *wrong).verdict == "does not hold here"


@pytest.mark.parametrize(
    "key",
    [f"{f.id}:{s.name}" for f in catalogue.figures.values() for s in f.studies if s.name == "movies"],
)
def test_every_figure_gathers(key: str) -> None:
    run = Run(Place(None, Path("nowhere")), quick=True)
    shown = catalogue.study(key).gather(run, curves(key, as_claimed))
    assert shown.panels
    assert all(one.curves for one in shown.panels)
    assert all(len(row) == len(table.columns) for table in shown.tables for row in table.rows)
    assert any("enerated" in text for text in (*shown.notes, *(panel.title for panel in shown.panels)))


def test_the_printed_axis_is_compared_after_as_many_rounds() -> None:
    key, whole = "coactive/fig18:movies", Run(Place(None, Path("nowhere")))
    tables = catalogue.study(key).gather(whole, curves(key, as_claimed, quick=False)).tables
    rows_of = {row[0]: row for row in tables[-1].rows}
    plain = 1.5 * np.sqrt(1500) + 1.1 * 1500
    assert set(rows_of) == set(movies_data.FITS)
    assert rows_of["plain"][1] == 1500
    assert float(rows_of["plain"][-1]) == pytest.approx(plain / movies_convex.PRINTED, abs=0.03)


def test_best_of_the_grid_is_found() -> None:
    def curve(s: dict[str, Any], t: Any) -> Any:
        if s["learner"]["name"] != "DuelingBandit":
            return t
        return t * (1.0 + abs(np.log(s["learner"]["step"] / s["learner"]["explore"] / (0.1 / 2.512))))

    explore, step, found = movies_duel.best(curves("coactive/fig10:movies", curve), {"compare": "utility"})
    assert (explore, step) == (2.512, 0.1)
    assert duels.matched(rows(curves("coactive/fig2:movies", curve), movies.ALPHAS[0.5]), 0.5) == float("inf")
    assert len(found.regret) == movies_duel.DUELISTS[True]
