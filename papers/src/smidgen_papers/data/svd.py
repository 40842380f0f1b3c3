"""Features of movies from ratings: the regularised factorisation that is known as SVD embedding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from smidgen import checks
from smidgen.arrays import scipy
from smidgen.data.datasets import Ratings
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen_papers.compiled.kernel import kernel

_CENTERS = {"none": "raw ratings", "mean": "minus the global mean", "biases": "minus mean, user and item effects"}


@kernel
def _least_squares(
    starts: IntArray, others: IntArray, values: FloatArray, fixed: FloatArray, penalty: float, per_rating: bool
) -> FloatArray:
    """For every row: argmin_p Σ_k (values_k − p·fixed[others_k])² + penalty‖p‖² over its own ratings k."""
    n, d = starts.shape[0] - 1, fixed.shape[1]
    out = np.zeros((n, d))
    for i in range(n):
        a, b = starts[i], starts[i + 1]
        if a == b:
            continue
        rows = np.empty((b - a, d))
        for k in range(a, b):
            rows[k - a] = fixed[others[k]]
        gram = np.dot(rows.T, rows)
        weight = penalty * (b - a) if per_rating else penalty
        for j in range(d):
            gram[j, j] += weight
        out[i] = np.linalg.solve(gram, np.dot(rows.T, values[a:b]))
    return out


@dataclass(frozen=True, eq=False)
class _Side:
    """The ratings sorted by user (or by item)."""

    order: IntArray
    starts: IntArray
    others: IntArray

    @classmethod
    def of(cls, mine: IntArray, others: IntArray, n: int) -> _Side:
        order = np.argsort(mine, kind="stable")
        return cls(order, np.searchsorted(mine[order], np.arange(n + 1)), others[order])

    def solve(self, values: FloatArray, fixed: FloatArray, penalty: float, per_rating: bool) -> FloatArray:
        scipy("linalg", "the solution of many small systems")  # numba finds its linear algebra there
        return _least_squares(self.starts, self.others, values[self.order], fixed, penalty, per_rating)


@dataclass(frozen=True, eq=False)
class Factors:
    """A factorisation r_ui ≈ baseline_ui + p_u·q_i.

    Attributes
    ----------
    users, items
        P (users × dim) and Q (items × dim): the columns of Q are orthogonal, the largest first.
    mean
        The global mean that was taken off (0 without centring).
    user_effects, item_effects
        What else was taken off by user and by item.
    errors
        The root mean squared error on the given ratings after each sweep.
    """

    users: FloatArray
    items: FloatArray
    mean: float
    user_effects: FloatArray
    item_effects: FloatArray
    errors: FloatArray

    def predict(self, users: IntArray, items: IntArray) -> FloatArray:
        """The expected rating of each pair of user and item."""
        base = self.mean + self.user_effects[users] + self.item_effects[items]
        return np.asarray(base + np.einsum("ij,ij->i", self.users[users], self.items[items]))


def factorize(
    ratings: Ratings,
    dim: int = 20,
    regularization: float = 5.0,
    *,
    sweeps: int = 15,
    center: str = "none",
    per_rating: bool = False,
    seed: int = 0,
) -> Factors:
    """Factorise the ratings: minimise Σ (r_ui − p_u·q_i)² + λ(Σ‖p_u‖² + Σ‖q_i‖²) over the known ratings.

    Parameters
    ----------
    ratings
        The ratings.
    dim
        The number of features.
    regularization
        λ.
    sweeps
        How often both sides are solved for, in turn (alternating least squares).
    center
        What is taken off first: ``"none"``: nothing, so that p·q alone is a rating; ``"mean"``: the mean of all
        ratings; ``"biases"``: also an effect of each item and each user, shrunk toward 0.
    per_rating
        Count λ once per rating, as if it stood within the sum: users and items with many ratings are shrunk as much as
        those with few.
    seed
        The start of the items' features.

    Notes
    -----
    **Cost** per sweep: dim² per rating and dim³ per user and item.
    **Differs**: the paper names eq. 15 of Bell and Koren and no details; whether it took means off is not said.

    References
    ----------
    .. [1] R. Bell, Y. Koren. Scalable Collaborative Filtering with Jointly Derived Neighborhood Interpolation Weights.
       ICDM 2007.
    .. [2] P. Shivaswamy, T. Joachims. Coactive Learning. JAIR 53, 2015. Section 6.1.2.
    """
    d = checks.dimension(dim)
    penalty = checks.number("regularization", regularization, "give λ > 0", above=0.0)
    n_sweeps = checks.whole("sweeps", sweeps, "at least 1")
    checks.one_of("center", center, _CENTERS)
    mean, user_effects, item_effects = _baseline(ratings, center)
    rest = ratings.ratings - mean - user_effects[ratings.users] - item_effects[ratings.items]
    by_user = _Side.of(ratings.users, ratings.items, ratings.n_users)
    by_item = _Side.of(ratings.items, ratings.users, ratings.n_items)
    Q = np.random.default_rng(checks.seed(seed)).normal(size=(ratings.n_items, d)) / np.sqrt(d)
    if center == "none":
        Q[:, 0] += 1.0
    errors = np.empty(n_sweeps)
    for sweep in range(n_sweeps):
        P = by_user.solve(rest, Q, penalty, per_rating)
        Q = by_item.solve(rest, P, penalty, per_rating)
        fitted = np.einsum("ij,ij->i", P[ratings.users], Q[ratings.items])
        errors[sweep] = np.sqrt(np.mean((rest - fitted) ** 2))
    P, Q = _rotated(P, Q)
    return Factors(P, Q, mean, user_effects, item_effects, errors)


def movie_features(
    ratings: Ratings,
    dim: int = 20,
    regularization: float = 5.0,
    *,
    sweeps: int = 15,
    center: str = "none",
    per_rating: bool = False,
    seed: int = 0,
) -> FloatArray:
    """Return one row of features per item: the Q of `factorize`, with the same arguments.

    An item that nobody rated gets a row of zeros.

    Examples
    --------
    >>> from smidgen.data import rating_matrix
    >>> from smidgen_papers.data import movie_features
    >>> movie_features(rating_matrix(users=50, items=30, seed=1), dim=3).shape
    (30, 3)
    """
    return factorize(ratings, dim, regularization, sweeps=sweeps, center=center, per_rating=per_rating, seed=seed).items


@dataclass(frozen=True, eq=False)
class FeatureChoice:
    """What `choose_features` found.

    Attributes
    ----------
    dim, regularization
        The best pair.
    dims, regularizations
        All that were tried.
    errors
        The cross-validated root mean squared error of each pair: one row per dim, one column per λ.
    features
        One row per item: fitted to all ratings with the best pair.
    """

    dim: int
    regularization: float
    dims: tuple[int, ...]
    regularizations: tuple[float, ...]
    errors: FloatArray
    features: FloatArray


def choose_features(
    ratings: Ratings,
    dims: Sequence[int] = (2, 5, 10, 20, 40),
    regularizations: Sequence[float] = (2.0, 5.0, 10.0, 20.0, 40.0),
    *,
    folds: int = 5,
    sweeps: int = 10,
    center: str = "none",
    per_rating: bool = False,
    seed: int = 0,
) -> FeatureChoice:
    """Choose the number of features and λ by the squared error on ratings that were held out.

    Parameters
    ----------
    ratings
        The ratings.
    dims, regularizations
        What to try: every pair.
    folds
        The ratings are split at random into so many parts; each is predicted from the others. Predictions beyond the
        scale of the ratings are cut off at its ends.
    sweeps, center, per_rating, seed
        As in `factorize`; the seed also draws the folds.

    Examples
    --------
    >>> from smidgen.data import rating_matrix
    >>> from smidgen_papers.data import choose_features
    >>> ratings = rating_matrix(users=60, items=40, seed=1)
    >>> chosen = choose_features(ratings, dims=(1, 2), regularizations=(1, 10), folds=2)
    >>> chosen.errors.shape, chosen.features.shape == (40, chosen.dim)
    ((2, 2), True)
    """
    k = checks.whole("folds", folds, "give at least 2", at_least=2)
    fold = np.random.default_rng(checks.seed(seed)).permutation(len(ratings)) % k
    if not len(dims) or not len(regularizations):
        raise InvalidArgument("dims or regularizations is empty", "give at least one of each to try")
    scale = float(ratings.ratings.min()), float(ratings.ratings.max())
    squares = np.zeros((len(dims), len(regularizations)))
    for f in range(k):
        known, held = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        part = _picked(ratings, known)
        for i, dim in enumerate(dims):
            for j, penalty in enumerate(regularizations):
                model = factorize(part, dim, penalty, sweeps=sweeps, center=center, per_rating=per_rating, seed=seed)
                guess = model.predict(ratings.users[held], ratings.items[held])
                squares[i, j] += np.sum((ratings.ratings[held] - guess.clip(*scale)) ** 2)
    row, column = divmod(int(np.argmin(squares)), len(regularizations))
    best = int(dims[row]), float(regularizations[column])
    features = movie_features(ratings, *best, sweeps=sweeps, center=center, per_rating=per_rating, seed=seed)
    errors = np.sqrt(squares / len(ratings))
    return FeatureChoice(*best, tuple(map(int, dims)), tuple(map(float, regularizations)), errors, features)


def _baseline(ratings: Ratings, center: str) -> tuple[float, FloatArray, FloatArray]:
    """The mean, then the item effects, then the user effects, each shrunk as if ten more ratings were average."""
    mean = 0.0 if center == "none" else float(ratings.ratings.mean())
    user_effects, item_effects = np.zeros(ratings.n_users), np.zeros(ratings.n_items)
    if center == "biases":
        rest = ratings.ratings - mean
        item_effects = _shrunk_means(ratings.items, rest, ratings.n_items)
        user_effects = _shrunk_means(ratings.users, rest - item_effects[ratings.items], ratings.n_users)
    return mean, user_effects, item_effects


def _shrunk_means(of: IntArray, values: FloatArray, n: int) -> FloatArray:
    return np.asarray(np.bincount(of, values, n) / (np.bincount(of, minlength=n) + 10.0))


def _rotated(P: FloatArray, Q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Turn both sides by the same rotation, so that the columns of Q are orthogonal, the largest first."""
    turn = np.linalg.eigh(Q.T @ Q)[1][:, ::-1]
    turn = turn * np.where((Q @ turn).sum(axis=0) < 0.0, -1.0, 1.0)
    return P @ turn, Q @ turn


def _picked(ratings: Ratings, kept: IntArray) -> Ratings:
    return replace(ratings, users=ratings.users[kept], items=ratings.items[kept], ratings=ratings.ratings[kept])
