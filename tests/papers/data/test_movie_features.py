"""Movie features: alternating least squares against what defines its solution."""

from __future__ import annotations

import numpy as np
import pytest

from papers.data.real_data import needs
from smidgen.data import rating_matrix
from smidgen.errors import InvalidArgument, InvalidFeatures
from smidgen_papers.data import choose_features, factorize, movie_features, movielens, user_utilities

RATINGS = rating_matrix(users=60, items=40, rank=2, per_user=25, noise=0.1, taste=1.0, seed=1)


@pytest.mark.parametrize("per_rating", [False, True])
@pytest.mark.parametrize("center", ["none", "mean", "biases"])
def test_each_side_is_the_ridge_solution_of_the_other(center: str, per_rating: bool) -> None:
    penalty = 0.7
    f = factorize(RATINGS, 3, penalty, sweeps=4, center=center, per_rating=per_rating)
    base = f.mean + f.user_effects[RATINGS.users] + f.item_effects[RATINGS.items]
    for i in range(RATINGS.n_items):  # the items were solved last
        mine = RATINGS.items == i
        P, rest = f.users[RATINGS.users[mine]], (RATINGS.ratings - base)[mine]
        weight = penalty * mine.sum() if per_rating else penalty
        best = np.linalg.solve(P.T @ P + weight * np.eye(3), P.T @ rest)
        np.testing.assert_allclose(f.items[i], best, atol=1e-8)
    fitted = f.predict(RATINGS.users, RATINGS.items)
    assert np.sqrt(np.mean((RATINGS.ratings - fitted) ** 2)) == pytest.approx(f.errors[-1])


def test_the_objective_falls() -> None:
    def objective(sweeps: int) -> float:
        f = factorize(RATINGS, 3, 2.0, sweeps=sweeps)
        rest = RATINGS.ratings - f.predict(RATINGS.users, RATINGS.items)
        return float(rest @ rest + 2.0 * (np.sum(f.users**2) + np.sum(f.items**2)))

    values = [objective(sweeps) for sweeps in (1, 2, 4, 8, 16, 200, 400)]
    assert values == sorted(values, reverse=True)
    assert values[-2] - values[-1] < 0.001 * values[-1]  # it comes to rest


def test_columns_are_orthogonal_and_sorted() -> None:
    Q = movie_features(RATINGS, 4, 1.0)
    gram = Q.T @ Q
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-8)
    assert (np.diff(np.diag(gram)) <= 0).all()
    np.testing.assert_array_equal(Q, movie_features(RATINGS, 4, 1.0))


def test_an_item_without_ratings_gets_zeros_and_more_features_than_items_work() -> None:
    alone = RATINGS.only_users([0])
    Q = movie_features(alone, 50, 1.0, sweeps=2)
    assert Q.shape == (40, 50)
    unrated = np.setdiff1d(np.arange(40), alone.items)
    np.testing.assert_array_equal(Q[unrated], 0.0)


def test_low_rank_tastes_are_found() -> None:
    data = rating_matrix(users=300, items=80, rank=2, per_user=60, noise=0.2, taste=1.0, seed=3)
    chosen = choose_features(data, dims=(1, 5), regularizations=(1.0, 500.0), folds=2, center="biases")
    assert (chosen.dim, chosen.regularization) == (5, 1.0)
    assert chosen.errors[1, 0] == chosen.errors.min() < 0.8 * chosen.errors[:, 1].min()
    assert chosen.features.shape == (80, 5)


def test_utilities_are_least_squares() -> None:
    X = movie_features(RATINGS, 3, 1.0)
    for intercept in (False, True):
        fit = user_utilities(X, RATINGS, intercept=intercept)
        rest = RATINGS.ratings - fit.impute(X)[RATINGS.users, RATINGS.items]
        for u in range(RATINGS.n_users):
            mine = RATINGS.users == u
            np.testing.assert_allclose(X[RATINGS.items[mine]].T @ rest[mine], 0.0, atol=1e-8)
            if intercept:
                assert rest[mine].sum() == pytest.approx(0.0, abs=1e-8)
        assert intercept or not fit.intercepts.any()


def test_ridge_and_short_histories() -> None:
    X = np.random.default_rng(0).normal(size=(40, 30))
    few = RATINGS.only_users([3])
    exact = user_utilities(X, few)
    ridge = user_utilities(X, few, ridge=5.0)
    items, y = few.of_user(0)
    if len(items) < 30:
        np.testing.assert_allclose(exact.impute(X)[0, items], y, atol=1e-8)
    rows = X[items]
    np.testing.assert_allclose(ridge.weights[0], np.linalg.solve(rows.T @ rows + 5.0 * np.eye(30), rows.T @ y))
    assert np.linalg.norm(ridge.weights) < np.linalg.norm(exact.weights)


def test_senseless_settings_are_refused() -> None:
    with pytest.raises(InvalidFeatures, match="40 items"):
        user_utilities(np.ones((3, 2)), RATINGS)
    with pytest.raises(InvalidArgument):
        factorize(RATINGS, 2, 0.0)
    with pytest.raises(InvalidArgument):
        factorize(RATINGS, 2, 1.0, center="median")
    with pytest.raises(InvalidArgument):
        choose_features(RATINGS, dims=())


@needs("movielens")
def test_features_carry_over_to_new_users() -> None:
    known, new = movielens().split(seed=0)
    model = factorize(known, 5, 5.0, sweeps=6)
    # The ratings of users who had no part in the features: a fit of half of them predicts the other half.
    half = np.random.default_rng(0).random(len(new)) < 0.5
    from dataclasses import replace

    seen = replace(new, users=new.users[half], items=new.items[half], ratings=new.ratings[half])
    guess = user_utilities(model.items, seen, ridge=2.0).impute(model.items)[new.users[~half], new.items[~half]]
    error = np.sqrt(np.mean((new.ratings[~half] - guess) ** 2))
    assert error < 0.9 * new.ratings.std()
