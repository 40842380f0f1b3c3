"""Made-up ratings: tastes of low rank, a few popular items, whole stars."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._scipy import scipy
from smidgen.decision import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Ratings:
    """Who rated what, and how.

    Attributes
    ----------
    name
        What this is.
    users, items
        Of each rating: the user and the item, counted from 0 without gaps.
    ratings
        Of each rating: the number of stars.
    user_ids, item_ids
        The original number of each user and item.
    titles
        The title of each item ("" where none is known).
    """

    name: str
    users: IntArray
    items: IntArray
    ratings: FloatArray
    user_ids: IntArray
    item_ids: IntArray
    titles: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ratings)

    def __repr__(self) -> str:
        return f"Ratings({self.name!r}, {len(self)} ratings, {self.n_users} users x {self.n_items} items)"

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.item_ids)

    def matrix(self) -> Any:
        """The ratings as a scipy CSR matrix, users × items; what is not stored was not rated."""
        shape = (self.n_users, self.n_items)
        return scipy("sparse", "a matrix of ratings").csr_matrix((self.ratings, (self.users, self.items)), shape=shape)

    def of_user(self, user: int) -> tuple[IntArray, FloatArray]:
        """The items that one user rated, and the ratings. It goes through all ratings: for many users take `matrix`."""
        mine = np.flatnonzero(self.users == user)
        return self.items[mine], self.ratings[mine]

    def only_users(self, users: Any) -> Ratings:
        """Keep these users (indices), numbered anew in the given order, over the same items."""
        picked = np.asarray(users, np.int64)
        number = np.full(self.n_users, -1)
        number[picked] = np.arange(len(picked))
        mine = np.flatnonzero(number[self.users] >= 0)
        return replace(
            self,
            users=number[self.users[mine]],
            items=self.items[mine],
            ratings=self.ratings[mine],
            user_ids=self.user_ids[picked],
        )

    def split(self, seed: int = 0) -> tuple[Ratings, Ratings]:
        """Two random halves of the users, over the same items (the first half takes the odd user)."""
        order = np.random.default_rng(checks.seed(seed)).permutation(self.n_users)
        middle = (self.n_users + 1) // 2
        return self.only_users(np.sort(order[:middle])), self.only_users(np.sort(order[middle:]))


def rating_matrix(
    *,
    users: int = 1000,
    items: int = 1000,
    rank: int = 8,
    per_user: int = 120,
    taste: float = 0.6,
    noise: float = 0.8,
    seed: int = 0,
) -> Ratings:
    """Ratings of the shape of MovieLens: 3.6 + effect of the user + effect of the item + p·q + noise, in whole stars.

    How many items a user rates is log-normal (at least 20, or all there are). Which ones is drawn by popularity, which
    falls like 1/rank^0.8; popular items are also rated higher. Ratings are rounded to 1, …, 5.

    Parameters
    ----------
    users, items
        How many (MovieLens 1M: 6,040 and 3,706).
    rank
        The length of p and q.
    per_user
        How many items a user rates on average, roughly (MovieLens 1M: 166).
    taste
        The standard deviation of p·q.
    noise
        The standard deviation of the noise.
    seed
        The same seed, the same ratings.

    Examples
    --------
    >>> from smidgen.data import rating_matrix
    >>> ratings = rating_matrix(users=200, items=100, per_user=40)
    >>> ratings.n_users, ratings.n_items, float(ratings.ratings.min()), float(ratings.ratings.max())
    (200, 100, 1.0, 5.0)
    """
    n, m, k = (
        checks.whole(name, value, "at least 1") for name, value in (("users", users), ("items", items), ("rank", rank))
    )
    mean = checks.whole("per_user", per_user, "at least 1")
    hint = "give a number, at least 0"
    spread = checks.number("taste", taste, hint, at_least=0.0)
    sigma = checks.number("noise", noise, hint, at_least=0.0)
    rng = np.random.default_rng(checks.seed(seed))
    popularity = -0.8 * np.log(np.arange(1.0, m + 1.0))
    item_effects = 0.35 * rng.normal(size=m) + 0.2 * (popularity - popularity.mean()) / max(popularity.std(), 1e-12)
    shuffled = rng.permutation(m)  # item numbers say nothing about popularity
    popularity, item_effects = popularity[shuffled], item_effects[shuffled]
    user_effects = 0.4 * rng.normal(size=n)
    scale = np.sqrt(spread / np.sqrt(k))
    P, Q = scale * rng.normal(size=(n, k)), scale * rng.normal(size=(m, k))
    sizes = np.clip(rng.lognormal(np.log(mean) - 0.32, 0.8, size=n).astype(np.int64), min(20, m), m)
    chosen = [  # a draw without replacement by popularity: the largest of popularity plus Gumbel noise
        np.sort(np.argpartition(-(popularity + rng.gumbel(size=m)), size - 1)[:size]) for size in sizes
    ]
    rows, columns = np.repeat(np.arange(n), sizes), np.concatenate(chosen)
    exact = 3.6 + user_effects[rows] + item_effects[columns] + np.einsum("ij,ij->i", P[rows], Q[columns])
    stars = np.clip(np.rint(exact + sigma * rng.normal(size=len(rows))), 1.0, 5.0)
    titles = tuple(f"item {j + 1}" for j in range(m))
    return Ratings("generated", rows, columns, stars, np.arange(1, n + 1), np.arange(1, m + 1), titles)
