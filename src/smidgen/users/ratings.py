"""Users who go by ratings rounded to whole stars (Section 6.1.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument
from smidgen.structures import Choice
from smidgen.users.base import as_numbers


class _Rater:
    """Ratings of all items, rounded to the nearest legal value."""

    def __init__(self, *, ratings: Any, legal: tuple[int, int] | None = None, seed: int = 0) -> None:
        given = as_numbers("ratings", ratings)
        if given.ndim != 1 or given.dtype.kind not in "fiub" or not np.isfinite(given).all():
            raise InvalidArgument(
                f"ratings has shape {given.shape} and dtype {given.dtype}", "give one finite number per item"
            )
        rounded: FloatArray = np.rint(given.astype(np.float64))
        limits = None if legal is None else as_numbers("legal", legal)
        if limits is not None and not (limits.shape == (2,) and limits.dtype.kind in "fiu" and limits[0] < limits[1]):
            raise InvalidArgument(f"legal is {legal!r}", "give the lowest and the highest rating, e.g. (1, 5)")
        self.ratings = rounded if limits is None else np.clip(rounded, limits[0], limits[1])
        self._rng = np.random.default_rng(checks.seed(seed))

    def _candidates(self, context: Any, action: Any) -> FloatArray:
        """The ratings, with −inf where an item is not to be had."""
        if not isinstance(context, Choice):
            raise InvalidArgument(f"the context is a {type(context).__name__}", "this user chooses items only")
        if len(context) != len(self.ratings):
            raise InvalidArgument(f"there are {len(self.ratings)} ratings", f"give one per item, {len(context)} here")
        context.check(action)
        return np.where(context.available, self.ratings, -np.inf)

    def _any(self, chosen: Any) -> int:
        return int(self._rng.choice(np.flatnonzero(chosen)))


class BetterRating(_Rater):
    """Answers with an item of the next higher rating, or with the same item if there is none.

    Among items of equal rating one is drawn.

    Parameters
    ----------
    ratings
        One number per item: the user's own ratings, or imputed ones. Rounded to whole numbers.
    legal
        The lowest and the highest legal rating, e.g. (1, 5); left out, ratings are only rounded.
    seed
        Seeds the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Choice, users
    >>> user = users.BetterRating(ratings=[1.2, 4.9, 2.6])
    >>> user(Choice(np.eye(3)), 0)
    2
    """

    def __call__(self, context: Any, action: Any) -> int:
        """The slightly better item."""
        ratings = self._candidates(context, action)
        higher = ratings[ratings > ratings[action]]
        return self._any(ratings == higher.min()) if len(higher) else int(action)


class BestRating(_Rater):
    """Answers with an item of the highest rating, or with the same item if it has that rating itself.

    Among items of equal rating one is drawn.

    Parameters
    ----------
    ratings
        One number per item: the user's own ratings, or imputed ones. Rounded to whole numbers.
    legal
        The lowest and the highest legal rating, e.g. (1, 5); left out, ratings are only rounded.
    seed
        Seeds the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Choice, users
    >>> user = users.BestRating(ratings=[1.2, 4.9, 2.6])
    >>> user(Choice(np.eye(3)), 0)
    1
    """

    def __call__(self, context: Any, action: Any) -> int:
        """The best item."""
        ratings = self._candidates(context, action)
        return self._any(ratings == ratings.max()) if ratings[action] < ratings.max() else int(action)
