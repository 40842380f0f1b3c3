"""What each user likes, as a linear function of the features of the items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smidgen import checks
from smidgen.data.datasets import Ratings
from smidgen.decision import FloatArray
from smidgen.errors import InvalidFeatures


@dataclass(frozen=True, eq=False)
class UserUtilities:
    """The utility of each user, linear in the features of the items.

    Attributes
    ----------
    weights
        w_i*, one row per user.
    intercepts
        One number per user; 0 without intercepts.
    """

    weights: FloatArray
    intercepts: FloatArray

    def impute(self, features: FloatArray) -> FloatArray:
        """The rating of each user (rows) for each item (columns) by the fit."""
        return np.asarray(self.weights @ features.T + self.intercepts[:, None])


def user_utilities(
    features: FloatArray, ratings: Ratings, *, ridge: float = 0.0, intercept: bool = False
) -> UserUtilities:
    """Fit each user's ratings by the features of the items, by least squares.

    Parameters
    ----------
    features
        One row per item.
    ratings
        The ratings of the users over these items.
    ridge
        Added to the diagonal of the normal equations (not for the intercept). With 0, the plain least-squares fit of
        the paper; a user with fewer ratings than features gets the shortest of all perfect fits.
    intercept
        Also fit a constant for each user. The paper does not say; regrets are differences, so it does not enter them.

    Examples
    --------
    >>> from smidgen.data import rating_matrix
    >>> from smidgen_papers.data import movie_features, user_utilities
    >>> ratings = rating_matrix(users=50, items=30, seed=1)
    >>> fit = user_utilities(movie_features(ratings, dim=3), ratings)
    >>> fit.weights.shape
    (50, 3)
    """
    X = np.asarray(features, float)
    if X.ndim != 2 or X.shape[0] != ratings.n_items:
        raise InvalidFeatures(f"features have shape {X.shape}", f"give one row for each of the {ratings.n_items} items")
    penalty = checks.number("ridge", ridge, "leave it out for plain least squares", at_least=0.0)
    order = np.argsort(ratings.users, kind="stable")
    starts = np.searchsorted(ratings.users[order], np.arange(ratings.n_users + 1))
    weights, intercepts = np.zeros((ratings.n_users, X.shape[1])), np.zeros(ratings.n_users)
    for i in range(ratings.n_users):
        mine = order[starts[i] : starts[i + 1]]
        rows, y = X[ratings.items[mine]], ratings.ratings[mine]
        if not len(y):
            continue
        middle, mean = (rows.mean(axis=0), y.mean()) if intercept else (np.zeros(X.shape[1]), 0.0)
        rows, y = rows - middle, y - mean
        if penalty > 0.0:
            weights[i] = np.linalg.solve(rows.T @ rows + penalty * np.eye(X.shape[1]), rows.T @ y)
        else:
            weights[i] = np.linalg.lstsq(rows, y, rcond=None)[0]
        intercepts[i] = mean - middle @ weights[i]
    return UserUtilities(weights, intercepts)
