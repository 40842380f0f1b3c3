"""A user who only says which of two objects is better."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.errors import InvalidArgument
from smidgen.users.strict_alpha import as_utility


class BetterOfTwo:
    """Compares a pair of objects, by utility or by rounded rating (Section 6.2.6, items).

    Parameters
    ----------
    w_star
        Compare by the utility w_star·φ(x, y); or
    ratings
        compare items by these ratings, rounded to whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Choice, users
    >>> user = users.BetterOfTwo(w_star=np.array([1.0]))
    >>> user(Choice(np.array([[0.0], [0.4]])), (0, 1))
    1
    """

    def __init__(self, *, w_star: Any = None, ratings: Any = None) -> None:
        if (w_star is None) == (ratings is None):
            raise InvalidArgument("w_star and ratings were both given, or neither", "give one of them")
        self.w_star = None if w_star is None else as_utility(w_star)
        self._ratings = None if ratings is None else np.rint(as_utility(ratings))

    def __call__(self, context: Any, action: tuple[Any, Any]) -> int:
        """1 if the second of the pair is strictly better, else 0."""
        if not isinstance(action, tuple) or len(action) != 2:
            raise InvalidArgument(f"the action is {action!r}, not a pair", "use this user with DuelingBandit and items")
        first, second = action
        if self._ratings is not None:
            if len(self._ratings) != len(context):
                raise InvalidArgument(
                    f"there are {len(self._ratings)} ratings", f"give one per item, {len(context)} here"
                )
            return int(self._ratings[second] > self._ratings[first])
        return int(self.w_star @ context.phi(second) > self.w_star @ context.phi(first))
