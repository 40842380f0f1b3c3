"""The web-search experiments against the two verbs, and the exact facts that their readings rest on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import losses, users
from smidgen_papers.coactive import web_data, web_play
from smidgen_papers.coactive.web_data import web
from smidgen_papers.coactive.web_play import make_learner, make_user, play, points, stream
from smidgen_papers.data.folder import available, data_folder
from smidgen_papers.part import Place

SIZE = [25, 8, 6]
SMALL: dict[str, Any] = {"source": "yahoo-like", "size": SIZE, "utility": "plain", "seed": 3}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(None, tmp_path)


@pytest.mark.parametrize("user", [{"strict": 0.5}, {"depth": 4}, {"expected": 0.5}])
@pytest.mark.parametrize(
    "learner",
    [
        {"name": "PreferencePerceptron"},
        {"name": "BatchPreferencePerceptron", "batch": 7},
        {"name": "ExponentiatedPreferencePerceptron"},
        {"name": "SecondOrderPreferencePerceptron", "radius": 100.0, "gamma": 0.1},
        {"name": "DuelingBandit", "explore": 1.0, "step": 0.1},
    ],
    ids=lambda settings: settings["name"],
)
def test_play_is_what_the_verbs_do(place: Place, learner: dict[str, Any], user: dict[str, Any]) -> None:
    answer = play(place, learner=learner, user=user, rounds=60, first=1, count=2, **SMALL)
    data = web(place, **SMALL)
    loss = losses.Quadratic(peak=float(np.linalg.norm(data.w_star)) * data.reach)
    for row, number in enumerate((1, 2)):
        contexts = [data.table.contexts[i] for i in stream(len(data.table), 60, [3, number])]
        played = smidgen.simulate(
            make_learner(learner, data, seed=3 + number),
            contexts,
            make_user(user, data, seed=3 + number),
            utility=data.w_star,
            loss=loss,
        )
        at = np.array(points(60)) - 1
        assert np.allclose(answer["regret"][row], played.average_regret[at], atol=1e-8)
        gaps = np.cumsum(played.loss_regret)[at] / (at + 1)
        assert np.allclose(answer["loss"][row], gaps, rtol=1e-6)


def test_a_stream_takes_every_query_once_per_pass() -> None:
    order = stream(10, 25, [0, 1])
    assert len(order) == 25
    assert sorted(order[:10].tolist()) == sorted(order[10:20].tolist()) == list(range(10))
    assert (order[:10] != order[10:20]).any()
    assert (stream(10, 25, [0, 1]) == order).all()


def test_utility_is_the_least_squares_fit_of_the_labels(place: Place) -> None:
    plain, shifted = (web(place, **(SMALL | {"utility": kind})) for kind in ("plain", "intercept"))
    X, y = plain.table.X, plain.table.labels
    assert y is not None
    assert np.allclose(X.T @ (X @ plain.w_star - y), 0.0, atol=1e-8)
    padded = np.column_stack([X, np.ones(len(X))])
    assert np.allclose(np.linalg.lstsq(padded, y, rcond=None)[0][:-1], shifted.w_star)
    assert not np.allclose(plain.w_star, shifted.w_star)


def test_a_large_set_is_fitted_by_its_gram_matrix() -> None:
    rng = np.random.default_rng(0)
    X, w = rng.random((100_001, 3)), np.array([1.0, -2.0, 0.5])
    y = X @ w + 4.0
    assert np.allclose(web_data._fit(X, y, X.mean(axis=0), float(y.mean())), w)


def test_bounds_and_the_random_ranking(place: Place) -> None:
    data = web(place, **SMALL)
    rng = np.random.default_rng(1)
    regrets = []
    for context in data.table.contexts:
        best = data.w_star @ context.phi(context.argmax(data.w_star))
        for _ in range(400):
            phi = context.phi(rng.permutation(len(context)))
            assert np.abs(phi).max() <= data.bound + 1e-12
            assert np.linalg.norm(phi) <= data.reach + 1e-12
            regrets.append(best - data.w_star @ phi)
    assert abs(np.mean(regrets) - data.random) < 4.0 * np.std(regrets) / np.sqrt(len(regrets))


def test_only_the_quotient_of_the_bandits_parameters_counts(place: Place) -> None:
    def regret(explore: float, step: float) -> Any:
        learner = {"name": "DuelingBandit", "explore": explore, "step": step}
        return play(place, learner=learner, user={"strict": 0.5}, rounds=200, first=0, count=1, **SMALL)["regret"]

    assert (regret(1.0, 0.125) == regret(4.0, 0.5)).all()
    assert (regret(1.0, 0.125) != regret(4.0, 4.0)).any()


def test_the_base_of_the_logarithm_is_a_factor_on_gamma(place: Place) -> None:
    """Natural instead of base-2 logarithms multiply φ by 1/ln 2: the same rankings as γ/ln² 2."""
    table = web(place, **SMALL).table
    w_star, factor = np.arange(6.0) - 2.0, 1.0 / np.log(2.0)
    shown = []
    for scale, gamma in ((factor, 1.0), (1.0, factor**2)):
        contexts = [smidgen.Ranking(scale * context.docs) for context in table.contexts * 4]
        learner = smidgen.SecondOrderPreferencePerceptron(dim=6, radius=1e6, gamma=gamma)
        played = smidgen.simulate(learner, contexts, users.StrictAlpha(w_star=w_star, alpha=0.5))
        shown.append([np.asarray(action).tolist() for action in played.actions])
    assert shown[0] == shown[1]


def test_the_slope_of_the_loss_as_step(place: Place) -> None:
    data = web(place, **SMALL)
    settings = {"name": "ConvexPreferencePerceptron", "radius": 100.0, "lipschitz": "slope"}
    learner = make_learner(settings, data, seed=0)
    peak = float(np.linalg.norm(data.w_star)) * data.reach
    assert learner.rule.scale == pytest.approx(6.0 * peak)  # 2(M − lowest), lowest = −2M


def test_documents_are_shuffled_but_stay_with_their_labels() -> None:
    folder = data_folder()
    if folder is None or not available("mq2008", folder):
        pytest.skip("MQ2008 is not here; set SMIDGEN_PAPERS_DATA")
    from smidgen_papers.data import letor

    data = letor("mq2008", folder)
    mixed = web_data._shuffled(data, seed=0)
    i = 5
    before = sorted(map(tuple, np.column_stack([data.docs(i), data.relevance(i)]).tolist()))
    after = sorted(map(tuple, np.column_stack([mixed.docs(i), mixed.relevance(i)]).tolist()))
    assert before == after
    assert (data.X != mixed.X).any()


def test_kept_rounds_end_with_the_last() -> None:
    kept = points(2000)
    assert kept[-2:] == [1800, 2000]
    assert 1000 in kept
    assert web_play.points(1) == [1]
