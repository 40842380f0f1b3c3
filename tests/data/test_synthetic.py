"""The generators: deterministic, of the right shape, and with the properties that they promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from smidgen import data as smidgen_data
from smidgen.data import (
    classification_table,
    documents,
    frames,
    ranked_queries,
    rating_matrix,
    regression_table,
    table_like,
)
from smidgen.errors import InvalidArgument
from smidgen_papers.data import tfidf_stream

GENERATORS: dict[str, tuple[Callable[..., Any], dict[str, int], Callable[[Any], np.ndarray]]] = {
    "ranked_queries": (ranked_queries, {"queries": 20, "dim": 5}, lambda made: made.X),
    "rating_matrix": (rating_matrix, {"users": 20, "items": 30}, lambda made: made.ratings),
    "documents": (documents, {"documents": 20, "words": 300}, lambda made: made.X.toarray()),
    "frames": (frames, {"speakers": 2, "classes": 2}, lambda made: made.X),
    "regression_table": (regression_table, {"rows": 20}, lambda made: made.X),
    "classification_table": (classification_table, {"rows": 20}, lambda made: made.X),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_the_same_seed_the_same_data(name: str) -> None:
    make, small, numbers = GENERATORS[name]
    once, again, other = numbers(make(**small, seed=3)), numbers(make(**small, seed=3)), numbers(make(**small, seed=4))
    np.testing.assert_array_equal(once, again)
    assert once.shape != other.shape or (once != other).any()
    with pytest.raises(InvalidArgument):
        make(**small, seed=-1)
    for setting in small:
        with pytest.raises(InvalidArgument):
            make(**{**small, setting: 0})


def fit(X: np.ndarray, y: np.ndarray) -> float:
    """The share of the variance of y that a linear model with a constant explains."""
    X = np.column_stack((X, np.ones(len(X))))
    rest = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    return float(1.0 - rest.var() / y.var())


def test_grades() -> None:
    made = ranked_queries(queries=800, dim=30, seed=1)
    assert np.diff(made.starts).mean() == pytest.approx(24, abs=1)
    assert np.diff(made.starts).min() >= 2
    assert 0.0 < made.X.min() < made.X.max() < 1.0
    shares = np.bincount(made.labels) / len(made.labels)
    np.testing.assert_allclose(shares, [0.26, 0.36, 0.28, 0.08, 0.02], atol=1e-3)
    assert 0.3 < fit(made.X, made.labels) < 0.65
    exact = ranked_queries(queries=800, dim=30, noise=0.0, curvature=0.0, seed=1)
    bent = ranked_queries(queries=800, dim=30, noise=0.0, curvature=0.5, seed=1)
    assert fit(exact.X, exact.labels) > 0.85 > fit(bent.X, bent.labels)
    assert len(made.contexts()) == 800


def test_ratings() -> None:
    made = rating_matrix(users=400, items=300, per_user=60, seed=2)
    assert set(np.unique(made.ratings)) == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert 3.0 < made.ratings.mean() < 4.3
    assert np.bincount(made.users).min() >= 20
    assert len(set(zip(made.users.tolist(), made.items.tolist(), strict=True))) == len(made)
    popularity = np.sort(np.bincount(made.items, minlength=300))[::-1]
    assert popularity[:30].sum() > 3 * popularity[-150:].sum() / 5  # a tenth of the items outweighs a fair share
    assert popularity[0] > 5 * np.median(popularity)


def test_single_topics() -> None:
    made = documents(documents=600, words=3000, topics=5, length=80, seed=1)
    assert (made.labels >= 0).all()
    assert 60 < made.X.sum(axis=1).mean() < 100
    X = tfidf_stream(made.X)
    centres = np.stack([np.asarray(X[:300][made.labels[:300] == k].mean(axis=0)).ravel() for k in range(5)])
    guess = np.argmax(X[300:] @ centres.T, axis=1)
    assert (guess == made.labels[300:]).mean() > 0.7
    nothing = documents(documents=600, words=3000, topics=5, length=80, purity=0.0, seed=1)
    X = tfidf_stream(nothing.X)
    centres = np.stack([np.asarray(X[:300][nothing.labels[:300] == k].mean(axis=0)).ravel() for k in range(5)])
    assert (np.argmax(X[300:] @ centres.T, axis=1) == nothing.labels[300:]).mean() < 0.4


def test_rare_topics() -> None:
    made = documents(documents=20_000, words=500, topics=6, own=50, length=10, shares=(0.01, 0.05), seed=1)
    np.testing.assert_allclose(made.topics.mean(axis=0), np.geomspace(0.05, 0.01, 6), rtol=0.15)
    assert (made.labels == -1).mean() > 0.8
    with pytest.raises(InvalidArgument):
        documents(shares=(0.0, 0.05))
    frequency = np.asarray(made.X.sum(axis=0)).ravel()
    assert frequency[0] > 5 * frequency[200]  # Zipf


def test_frames_of_speakers() -> None:
    made = frames(speakers=6, classes=3, recordings=2, length=25, seed=1)
    assert made.X.shape == (6 * 3 * 2 * 25, 26)
    assert np.bincount(made.recording).tolist() == [25] * 36
    assert all(len(set(made.y[made.recording == r].tolist())) == 1 for r in range(36))
    assert all(len(set(made.speaker[made.recording == r].tolist())) == 1 for r in range(36))
    same = made.recording[1:] == made.recording[:-1]
    steps = np.diff(made.X, axis=0)[same]
    assert steps.var() == pytest.approx(2 * (1 - 0.9), abs=0.05)
    # Sounds are distinguished across speakers, but not perfectly.
    old, new = made.select(made.speaker < 4), made.select(made.speaker >= 4)
    centres = np.stack([old.X[old.y == k].mean(axis=0) for k in range(3)])
    guess = ((new.X[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert (guess == new.y).mean() > 0.6


def test_tables() -> None:
    made = regression_table(rows=3000, dim=8, seed=1)
    assert 0.6 < fit(made.X, made.y) < 0.9
    plain = regression_table(rows=3000, dim=8, noise=0.0, curvature=0.0, seed=1)
    assert fit(plain.X, plain.y) == pytest.approx(1.0)
    labels = classification_table(rows=200, dim=4, positive=0.3, seed=1)
    assert (labels.y == 1.0).sum() == 60
    for name, shape in {"abalone": (4177, 8), "kin8nm": (8192, 8), "ionosphere": (351, 33), "cancer": (683, 9)}.items():
        assert table_like(name).X.shape == shape
    assert (table_like("cancer").y == 1.0).sum() == 239


def test_every_public_name_is_there() -> None:
    assert all(hasattr(smidgen_data, name) for name in smidgen_data.__all__)
    assert smidgen_data.__all__ == sorted(smidgen_data.__all__)
