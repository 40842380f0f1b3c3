"""Labels, filters and knobs beyond the papers: what the experiments are made of, small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from smidgen_papers.beyond import budgets, filters, knobs, labels
from smidgen_papers.beyond.knobs_play import TUNERS, installed, losses, play
from smidgen_papers.beyond.linear_arms import LinearArms
from smidgen_papers.beyond.means import geometric
from smidgen_papers.beyond.online_idf import idf_of, online_idf
from smidgen_papers.catalogue import chosen
from smidgen_papers.part import Place, Run

PLACE = Place(None, Path("unused"))


def test_idf_on_the_fly_looks_at_the_past_only() -> None:
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.integers(0, 3, size=(12, 6)).astype(float))
    weighed, df = online_idf(X).toarray(), np.zeros(6)
    for t, x in enumerate(X.toarray()):
        df += x > 0
        row = x * np.log(1 + (t + 2) / (df + 1))
        np.testing.assert_allclose(weighed[t], row / max(np.linalg.norm(row), 1e-300), atol=1e-12)
    later = idf_of(X[:2], X).toarray()
    row = X.toarray()[0] * np.log(1 + 13 / (df + 1))
    np.testing.assert_allclose(later[0], row / max(np.linalg.norm(row), 1e-300), atol=1e-12)


@pytest.mark.parametrize("kind", filters.GENERATED)
def test_generated_streams_have_relevant_items(kind: str) -> None:
    X, y = filters.generated(kind, 1000, 1)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    assert 0 < y.mean() < 0.5


def test_losses_have_their_best_inside() -> None:
    rng = np.random.default_rng(0)
    for name, f in losses(3, 5).items():
        values = [f(x) for x in rng.random((2000, 3))]
        assert min(values) >= 0.0, name
        assert max(values) > 0.2, name


@pytest.mark.parametrize("tuner", [name for name in TUNERS if installed(name) and name != "Optuna TPE"])
def test_every_tuner_plays(tuner: str) -> None:
    settings = {"loss": "bowl", "dim": 2, "rounds": 60, "noise": 0.1, "unit": 1.0, "offset": 0.0, "seed": 1}
    answer = play(PLACE, tuner=tuner, **settings)
    assert 0.0 < answer["regret"] < 1.0


def test_linear_arms_learn() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = (X[:, 0] > 0).astype(int)
    shown = LinearArms(4, 2).run(X, y).actions
    assert (shown[300:] == y[300:]).mean() > 0.8


def test_geometric_means() -> None:
    assert geometric([0.5]) == "0.500"
    assert geometric([0.5, 2.0]).startswith("1.000 (")


def test_they_are_experiments() -> None:
    run = Run(PLACE, quick=True)
    names = [figure.id for figure in chosen(["beyond/labels", "beyond/filters", "beyond/knobs"])]
    assert names == ["beyond/labels", "beyond/filters", "beyond/knobs"]
    assert labels.plan(run)
    assert filters.plan(run)
    assert knobs.plan(run)


def test_budgets_next_to_others() -> None:
    assert [figure.id for figure in chosen(["beyond/budgets"])] == ["beyond/budgets"]
    assert budgets.static_mix(np.array([0.6, 0.8, 0.9]), budgets.COSTS, budgets.LIMIT) == pytest.approx(0.8 - 0.2 / 3)
    played = {
        way: budgets.simulated(PLACE, world="alike", way=way, rounds=300, seed=0) for way in ("budget", "no budget")
    }
    assert 0.85 < played["budget"]["spend, second half"] < 1.15
    assert played["no budget"]["spend, second half"] > 2.0
    assert all(each.work.endswith(":simulated") for each in budgets.plan(Run(PLACE, quick=True)))
