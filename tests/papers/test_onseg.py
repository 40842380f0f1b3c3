"""The work of the ONSEG paper's experiments, in tiny settings, against independent computations."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smidgen_papers import onseg
from smidgen_papers.catalogue import claims, figures
from smidgen_papers.onseg import comparison, constants, grids, horizons, markets, plays, readings, speeds
from smidgen_papers.onseg.learners import Choice, make, moved
from smidgen_papers.onseg.paper import PRINTED
from smidgen_papers.part import Place, Run

TINY = {"table": "cancer", "source": "generated", "epochs": 1, "repeats": 2, "seed": 0}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(data=None, kept=tmp_path)


def _loss(place: Place, data: str = "cancer", **more: Any) -> Any:
    return readings.losses(place, data=data, source="generated", **{"scale": "range", "target": "range", **more})


def test_every_figure_has_studies_and_claims() -> None:
    assert onseg.__name__
    ours = {name: figure for name, figure in figures.items() if name.startswith("onseg/")}
    assert set(ours) == {f"onseg/{name}" for name in ("fig1", "fig2", "fig3", "table2", "tuned", "bound", "time")}
    assert all(figure.studies and figure.shows and figure.remarks for figure in ours.values())
    needed = {need.partition(":")[0] for claim in claims.values() for need in claim.needs if need.startswith("onseg")}
    assert needed == set(ours)


@pytest.mark.parametrize("quick", [True, False])
def test_plans_name_functions_and_settings_of_their_own(quick: bool, place: Place) -> None:
    run = Run(place=place, quick=quick)
    for name, figure in figures.items():
        if name.startswith("onseg/"):
            for study in figure.studies:
                parts = list(study.plan(run))
                keys = {(part.work, str(sorted(part.settings.items()))) for part in parts}
                assert parts
                assert len(keys) == len(parts)


@pytest.mark.parametrize("data", PRINTED)
def test_the_rows_have_the_papers_shape(data: str, place: Place) -> None:
    loss = _loss(place, data)
    assert loss.Z.shape == (PRINTED[data].rows, PRINTED[data].dim)
    assert np.abs(loss.Z).max() == pytest.approx(1.0)
    assert (np.unique(loss.y).tolist() == [-1.0, 1.0]) == (data in ("ionosphere", "cancer"))


def test_the_constants_are_those_of_the_paper(place: Place) -> None:
    loss, T = _loss(place), 150 * 683
    d, r = 9, 5.0
    space = readings.space_of(d, "ball", r)
    F, D = loss.bound(space), 2.0 * r
    made = make(loss, space, Choice("ONSEG", "theory", "theorem"), data="cancer", rounds=T, seed=0)
    delta = (25 * d**4 * D**2 * math.log(T) ** 2 * r / (3 * T**2)) ** (1 / 3)
    assert made.delta == pytest.approx(delta)
    assert made.gamma == pytest.approx((15 * d**2 * D * math.log(T) / (r * T)) ** (1 / 3))
    assert made.beta == pytest.approx(0.5 * min(delta / (4 * d * F * D), delta**2 / (d * F) ** 2))
    practical = make(loss, space, Choice("ONSEG", "practical", "theorem"), data="cancer", rounds=T, seed=0)
    assert practical.beta == pytest.approx(delta / (8 * d * F * D))
    assert make(loss, space, Choice("ONS", "printed"), data="cancer", rounds=T, seed=0).beta == 2.5e-4
    assert make(loss, space, Choice("ONSEG", "printed", "fifth"), data="cancer", rounds=T, seed=0).beta == 1.0948e-5


@pytest.mark.parametrize("space", ["ball", "box"])
@pytest.mark.parametrize("learner", ["OGDEG", "ONSEG"])
def test_a_reach_that_is_too_long_leaves_the_set(space: str, learner: str, place: Place) -> None:
    loss, region = _loss(place, "ionosphere"), readings.space_of(33, space, 1.0)
    choice = Choice(learner, "practical" if learner == "ONSEG" else "", "theorem")
    made = make(loss, region, choice, data="ionosphere", rounds=150 * 351, seed=0)
    assert made.outside
    assert made.delta > region.inner_radius
    for t in range(300):
        d = made.learner.decide()
        assert region.contains(d.greedy, 1e-9)  # the base point keeps to P
        assert np.linalg.norm(d.action - d.greedy) == pytest.approx(made.delta)
        made.learner.learn(d, 5.0 * loss(t, d.action))


def test_an_order_has_every_row_once_per_epoch() -> None:
    order = plays.order_of(7, 3, "shuffled", 0)
    assert order is not None
    assert (np.sort(order.reshape(3, 7), axis=1) == np.arange(7)).all()
    assert not (order[:7] == order[7:14]).all()
    assert plays.order_of(7, 3, "file", 0) is None


def test_play_measures_what_the_verbs_would(place: Place) -> None:
    reading = readings.READINGS["[-1, 1], ball 1"]
    found = plays.play(place, **TINY, **reading.settings(), learner="ONSEG", beta="printed", reach="fifth")
    loss = _loss(place)
    made = make(
        loss,
        readings.space_of(9, "ball", 1.0),
        Choice("ONSEG", "printed", "fifth"),
        data="cancer",
        rounds=150 * 683,
        seed=1,
    )
    order = plays.order_of(683, 1, "shuffled", 1)
    assert order is not None
    values, wrong = [], []
    for t in order:
        d = made.learner.decide()
        values.append(loss(t, d.action))
        wrong.append(loss.y[t] * (loss.Z[t] @ d.action) <= 0)
        made.learner.learn(d, values[-1])
    assert found["losses"].shape == found["mistakes"].shape == (2, len(found["at"]))
    means = np.cumsum(values) / np.arange(1, 684)
    np.testing.assert_allclose(found["losses"][1], means[found["at"] - 1], atol=1e-12)
    assert found["mistakes"][1, -1] == pytest.approx(np.mean(wrong))
    assert found["losses"][0, -1] != found["losses"][1, -1]


def test_a_frozen_matrix_is_a_constant_step(place: Place) -> None:
    loss, space = _loss(place), readings.space_of(9, "ball", 5.0)
    made = make(loss, space, Choice("frozen", "practical", "fifth"), data="cancer", rounds=1000, seed=0)
    assert moved(made.learner) == pytest.approx((1.0, 1.0))
    y = np.zeros(9)
    for t in range(50):
        d = made.learner.decide()
        assert d.perturbation is not None
        np.testing.assert_allclose(d.greedy, y, atol=1e-9)
        f = loss(t, d.action)
        y = y - space.diameter / (8.0 * loss.bound(space)) * f * d.perturbation  # βD²·(d/δ), with β = δ/(8dFD)
        y *= min(1.0, 4.0 / float(np.linalg.norm(y)))
        made.learner.learn(d, f)
    assert moved(made.learner) == pytest.approx((1.0, 1.0))
    alive = make(loss, space, Choice("ONSEG", "practical", "fifth"), data="cancer", rounds=1000, seed=0).learner
    for t in range(50):
        d = alive.decide()
        alive.learn(d, 100.0 * loss(t, d.action))
    assert moved(alive)[0] > 1.01


def test_fixed_points(place: Place) -> None:
    found = plays.fixed(
        place, table="abalone", source="generated", scale="range", target="range", space="ball", radius=5.0
    )
    loss = _loss(place, "abalone")
    best = np.linalg.lstsq(loss.Z, loss.y, rcond=None)[0]
    assert np.linalg.norm(best) < 5.0
    assert found["best"] == pytest.approx(0.5 * np.mean((loss.Z @ best - loss.y) ** 2), rel=1e-6)
    assert found["centre"] == pytest.approx(0.5 * np.mean(loss.y**2))
    assert found["least_curvature"] < 1e-12 < found["most_curvature"]
    assert found["most_curvature"] == pytest.approx((loss.Z**2).sum(axis=1).max())


def test_tuning_takes_the_best_of_the_grid(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A corner of the grid, from its middle on."""
    for side in ("REACHES", "FACTORS"):
        monkeypatch.setattr(grids, side, getattr(grids, side)[2:4])
    found = grids.tune(
        place,
        table="cancer",
        source="generated",
        reading="[-1, 1], ball 1",
        learner="OGDEG",
        epochs=1,
        trials=1,
        repeats=2,
        seed=0,
    )
    grid = found["grid"]
    i, j = grids.REACHES.index(found["reach"]), grids.FACTORS.index(found["factor"])
    assert grid[i, j] == grid.min()
    assert found["losses"].shape == (2, len(found["at"]))
    assert found["losses"].min() > found["best"]


def test_horizons_measure_regret(place: Place) -> None:
    found = [
        horizons.horizon(
            place, table="kin8nm", source="generated", form="OGDEG, Lipschitz", epochs=e, repeats=2, seed=0
        )
        for e in (1, 2)
    ]
    assert [each["T"] for each in found] == [3000, 6000]
    assert all(0.0 < each["regret"].mean() < each["T"] * each["centre"] * 2 for each in found)


def test_markets(place: Place) -> None:
    returns = markets.market(place, "generated", 3, 0)
    assert returns.shape == (680, 94)
    assert not (returns == markets.market(place, "generated", 4, 0)).all()
    settings: dict[str, Any] = {"prices": "stocks", "source": "generated", "first": 3, "trials": 1, "seed": 0}
    found = markets.invest(place, **settings, space="simplex", choice="OGD, returns seen")
    assert found["uniform"][0] == pytest.approx(100 * returns.mean())
    assert found["best"][0] == pytest.approx(100 * returns.mean(axis=0).max())
    assert found["returns"][0, 0] == pytest.approx(100 * returns[0].mean())  # the first week: equal shares
    assert found["delta"] / found["r"] > 100


def test_markets_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "stocks").mkdir()
    rows = ["date,A,B", "2005-02-04,10,10", "2005-02-11,11,10", "2005-02-18,12.1,10"]
    (tmp_path / "stocks" / "prices.csv").write_text("\n".join(rows) + "\n")
    place = Place(data=tmp_path, kept=tmp_path)
    assert Run(place=place).has("stocks")
    returns = markets.market(place, "file", 0, 0)
    np.testing.assert_allclose(np.sort(returns, axis=1), [[0.0, 0.1], [0.0, 0.1]])


def test_speeds(place: Place) -> None:
    near = speeds.speed(place, learner="ONS", dim=4, far=False, rounds=500, repeats=2)
    far = speeds.speed(place, learner="ONS", dim=4, far=True, rounds=500, repeats=2)
    assert (near["nanoseconds"] > 0).all()
    assert far["projected"] > 0.5 > near["projected"]


def test_the_formulas_for_beta(place: Place) -> None:
    [answer] = [
        comparison.Answer(part.settings, part.run(place))
        for part in constants.plan(Run(place=place, quick=True))
        if part.settings["table"] == "ionosphere"
        and part.settings["radius"] == 5.0
        and part.settings["scale"] == "range"
    ]
    found = constants.betas("ionosphere", answer)
    delta = 5.0 * 1.1901
    assert found["delta"] == pytest.approx(delta, rel=1e-3)
    assert found["practical"] == pytest.approx(delta / (8 * 33 * answer["F"] * 10), rel=1e-3)
    assert found["theory"] <= found["theory_largest"] <= found["practical"]
