"""Plays of the filtering paper equal the learners, document by document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen.data import documents
from smidgen_papers.data import tfidf_stream
from smidgen_papers.filtering import exact
from smidgen_papers.filtering.documents import READINGS, labels, matrix, stream, tasks
from smidgen_papers.filtering.model_plays import drifting, expected_margin, kernelled, lemma, modelled, randomised
from smidgen_papers.filtering.plays import play
from smidgen_papers.filtering.simple_plays import simple
from smidgen_papers.part import Place


@pytest.fixture(scope="module")
def wire() -> tuple[Any, Any]:
    made = documents(documents=500, words=1500, topics=3, length=40, own=30, shares=(0.05, 0.2), seed=4)
    return tfidf_stream(made.X), made.topics


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(None, Path(tmp_path_factory.mktemp("filtering")))


@pytest.mark.parametrize("single", [False, True])
def test_one_factor_gives_ridge_full_on_every_topic(wire: tuple[Any, Any], single: bool) -> None:
    X, Y = wire
    together = exact.ridge_full(X, Y, a=0.7, single=single)
    for k, one in enumerate(together):
        other = smidgen.RidgeFull(dim=X.shape[1], a=0.7, covariance="dual").run(X, Y[:, k])
        np.testing.assert_array_equal(one.actions, other.actions)
    assert together[0].f_measure != together[1].f_measure


def test_simple_regret_counts_the_wrong_actions(place: Place) -> None:
    poor = simple(place, delta=-0.3, c=4.0, items=2000, runs=2, seed=0)
    good = simple(place, delta=0.3, c=4.0, items=2000, runs=2, seed=0)
    assert poor["items"][-1] == 2000
    assert poor["regret"][0, 0] == pytest.approx(0.6)  # the first item is always forwarded
    assert good["regret"][0, 0] == 0.0
    steps = poor["regret"] / 0.6
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    assert (np.diff(poor["regret"], axis=1) >= 0.0).all()


def test_a_play_counts_what_the_learner_does(place: Place) -> None:
    given: dict[str, Any] = {
        "source": "generated",
        "stories": "all",
        "reading": "as printed",
        "documents": 900,
        "seed": 1,
    }
    arrays = stream(place, **given)
    X, names = matrix(arrays), tasks(arrays, 0.01, 0.05)
    share = arrays["topics"].mean(axis=0)
    assert [share[arrays["names"].tolist().index(name)] for name in names] == sorted(
        (s for s in share if 0.01 <= s <= 0.05), reverse=True
    )
    np.testing.assert_allclose(np.asarray(X.multiply(X).sum(axis=1)).ravel(), 1.0)
    for learner, settings, made in (
        ("RIDGE-FIL", {"c": 2.0}, smidgen.RidgeFil(dim=X.shape[1], c=2.0)),
        ("perceptron", {}, smidgen.PerceptronFilter(dim=X.shape[1])),
        ("RIDGE-FIL, form", {"covariance": "diagonal"}, smidgen.RidgeFil(dim=X.shape[1], covariance="diagonal")),
    ):
        answer = play(place, learner=learner, settings=settings, shares=[0.01, 0.05], **given)
        history = made.run(X, labels(arrays, names[0]))
        assert answer["topics"] == names
        assert answer["ends"][-1] == 900
        assert answer["forwarded"][0, -1] == history.actions.sum()
        assert answer["found"][0, -1] == history.true_positives
        assert answer["relevant"][0, -1] == history.truth.sum()
        assert answer["explored"][0, -1] == history.explored.sum()
        half = answer["ends"].tolist().index(450)
        assert answer["forwarded"][0, half] == history.actions[:450].sum()


def test_readings_differ_where_they_say_so(place: Place) -> None:
    def given(reading: str) -> Any:
        return matrix(stream(place, source="generated", stories="all", reading=reading, documents=300, seed=2))

    letter = given("as printed")
    for reading in ("idf of the past", "log base 10", "no idf", "binary"):
        X = given(reading)
        np.testing.assert_allclose(np.asarray(X.multiply(X).sum(axis=1)).ravel(), 1.0)
        assert reading in READINGS
        assert abs(X - letter).max() > 0.01
    longer = given("not normalised")
    lengths = np.sqrt(np.asarray(longer.multiply(longer).sum(axis=1)).ravel())
    assert lengths.min() > 3.0
    assert abs(longer.multiply(1.0 / lengths[:, None]) - letter).max() < 1e-12
    few = given("the 50 most frequent words")
    assert few.shape[1] == 50
    assert (few.getnnz(axis=0) > np.median(longer.getnnz(axis=0))).all()


def test_model_plays_are_the_learners_on_the_model(place: Place) -> None:
    given: dict[str, Any] = {"dim": 3, "margin": 0.3, "runs": 2, "seed": 5}
    fil = modelled(place, learner="RIDGE-FIL", settings={}, items=800, **given)
    tasting = modelled(place, learner="STAP on RIDGE-FULL", settings={}, items=200, **given)
    full = modelled(place, learner="RIDGE-FULL", settings={}, items=800, **given)
    assert fil["regret"].shape == (2, len(fil["items"]))
    assert (np.diff(fil["regret"], axis=1) >= 0.0).all()
    assert full["regret"][:, -1].mean() < fil["regret"][:, -1].mean()
    assert tasting["items"][-1] == 200
    coin = randomised(place, horizons=[50, 800], **given)
    assert coin["regret"].shape == (2, 2)
    assert (coin["regret"] >= coin["by_margin"] - 1e-12).mean() > 0.5
    assert (coin["mistakes"][:, 1] >= coin["mistakes"][:, 0]).all()


def test_lemma_2_holds_with_the_new_inverse_only(place: Place) -> None:
    given: dict[str, Any] = {"dim": 5, "margin": 0.1, "items": 1000, "runs": 3, "seed": 0}
    mended, printed = lemma(place, printed=False, **given), lemma(place, printed=True, **given)
    assert mended["worst"].max() < 0.0
    assert not mended["broken"].any()
    assert printed["worst"].max() > 0.0
    # The regret of the mended form is that of the learner up to its coins: the same size.
    assert 0.0 < mended["regret"].mean() < 100.0


def test_the_mean_of_the_estimate_and_the_variants(place: Place) -> None:
    answer = expected_margin(place, dim=3, examples=6, draws=3000, seed=1)
    assert np.abs(answer["scores"]).max() < 4.5
    assert np.abs(answer["formula"] - answer["true"]).mean() > 0.01  # the estimate is biased
    assert not kernelled(place, dim=3, items=200, runs=2, seed=0)["differ"].any()
    given: dict[str, Any] = {"c": 0.5, "dim": 3, "items": 1500, "runs": 3, "seed": 0}
    fading, plain = (drifting(place, forgetting=keep, **given) for keep in (0.98, 1.0))
    assert fading["regret"].shape == (3,)
    assert fading["regret"].mean() < plain["regret"].mean()
