"""Movies, their features, and users with utilities: what the movie experiments run on (Section 6.1.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from smidgen.data.datasets import Ratings, rating_matrix
from smidgen.decision import FloatArray
from smidgen_papers.data.movielens import movielens
from smidgen_papers.data.svd import choose_features, movie_features
from smidgen_papers.data.tastes import UserUtilities, user_utilities
from smidgen_papers.part import Place, Run
from smidgen_papers.players import ItemTable
from smidgen_papers.store import Arrays, prepared

DATA = ("movielens",)
GENERATED = "generated"
#: What cross-validation chooses from: numbers of features, λ (counted per rating), folds and sweeps.
SEARCH = {"full": ((5, 10, 20, 30, 40), (0.05, 0.1, 0.15), 3, 10), "quick": ((5, 10), (0.1,), 2, 5)}


#: How w* is fitted to a user's ratings: least squares as the paper says, with a constant for each user (which the paper
#: leaves open), or shrunk like the features, by λ per rating.
FITS = {"plain": "", "intercept": "w* with intercept", "shrunk": "w* shrunk"}


@dataclass(frozen=True, eq=False)
class Movies:
    """The movies, and the users that they are recommended to.

    Attributes
    ----------
    table
        The movies' features, from the ratings of the other half of the users.
    weights
        w* of each user.
    ratings
        What each user (row) would say of each movie: the actual rating, or the fit.
    reach
        The largest norm of a movie's features.
    bound
        The largest absolute value of a feature.
    """

    table: ItemTable
    weights: FloatArray
    ratings: FloatArray
    reach: float
    bound: float

    @property
    def peaks(self) -> FloatArray:
        """M of the quadratic loss, per user: the largest utility of any movie under any w as long as w*."""
        return np.asarray(np.linalg.norm(self.weights, axis=1) * self.reach)

    @property
    def random(self) -> FloatArray:
        """The regret of a movie drawn at random in the first round, per user."""
        utilities = self.weights @ self.table.rows.T
        return np.asarray(utilities.max(axis=1) - utilities.mean(axis=1))


def source_of(run: Run) -> str:
    """MovieLens, or generated ratings."""
    return "movielens" if run.has("movielens") else GENERATED


def search_of(run: Run) -> str:
    """How thoroughly features are chosen."""
    return "quick" if run.quick else "full"


def title(run: Run) -> str:
    """The name of the data in a panel's title."""
    return "MovieLens" if source_of(run) == "movielens" else "generated ratings"


def halves(place: Place, source: str, seed: int) -> tuple[Ratings, Ratings]:
    """Two random halves of the users: for features, and for recommending."""
    if source == GENERATED:
        ratings = rating_matrix(users=1200, items=3300, rank=10, per_user=160, seed=seed)
    else:
        ratings = movielens(place.data)
    return ratings.split(seed)


@prepared()
def features(place: Place, *, source: str, search: str, seed: int) -> Arrays:
    """Features by a factorisation of the first half's ratings; their number and λ by cross-validation."""
    dims, penalties, folds, sweeps = SEARCH[search]
    first, _ = halves(place, source, seed)
    found = choose_features(
        first, dims, penalties, folds=folds, sweeps=sweeps, center="none", per_rating=True, seed=seed
    )
    return {
        "features": movie_features(first, found.dim, found.regularization, per_rating=True, seed=seed),
        "dims": np.array(found.dims),
        "penalties": np.array(found.regularizations),
        "errors": found.errors,
        "chosen": np.array([found.dim, found.regularization]),
    }


def movies(place: Place, *, source: str, search: str, fit: str, seed: int) -> Movies:
    """The movies and the second half's users, with w* by one of the `FITS`."""
    return _movies(place, source, search, fit, seed)


@prepared()
def tastes(place: Place, *, source: str, search: str, fit: str, seed: int) -> Arrays:
    """W* of each user of the second half, and the intercepts."""
    X = _table(place, source, search, seed).rows
    _, second = halves(place, source, seed)
    if fit == "shrunk":
        penalty = float(features(place, source=source, search=search, seed=seed)["chosen"][1])
        return {"weights": _shrunk(X, second, penalty), "intercepts": np.zeros(second.n_users)}
    found = user_utilities(X, second, intercept=fit == "intercept")
    return {"weights": found.weights, "intercepts": found.intercepts}


@lru_cache(maxsize=3)
def _movies(place: Place, source: str, search: str, fit: str, seed: int) -> Movies:
    table = _table(place, source, search, seed)
    _, second = halves(place, source, seed)
    fitted = UserUtilities(**tastes(place, source=source, search=search, fit=fit, seed=seed))
    ratings = fitted.impute(table.rows)
    ratings[second.users, second.items] = second.ratings
    norms = np.linalg.norm(table.rows, axis=1)
    return Movies(table, fitted.weights, ratings, float(norms.max()), float(np.abs(table.rows).max()))


def _shrunk(X: FloatArray, ratings: Ratings, penalty: float) -> FloatArray:
    """Argmin over w of Σ (r − w·x)² + λn‖w‖² over a user's n ratings: what the factorisation itself does of users."""
    weights = np.zeros((ratings.n_users, X.shape[1]))
    for i in range(ratings.n_users):
        items, stars = ratings.of_user(i)
        rows = X[items]
        weights[i] = np.linalg.solve(rows.T @ rows + penalty * len(stars) * np.eye(X.shape[1]), rows.T @ stars)
    return weights


@lru_cache(maxsize=1)
def _table(place: Place, source: str, search: str, seed: int) -> ItemTable:
    return ItemTable.of(features(place, source=source, search=search, seed=seed)["features"])
