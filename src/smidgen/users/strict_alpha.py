"""A user whose corrections are strictly α-informative (eq. 5), and one who only says which of two objects is better."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core import users
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument
from smidgen.structures import Choice, Ranking
from smidgen.users.base import STRICT, CompiledUser


def as_utility(w_star: Any) -> FloatArray:
    """Check the weights of a utility."""
    try:
        w = np.asarray(w_star)
    except ValueError as error:
        raise InvalidArgument(f"w_star is not a vector: {error}", "give a 1-D array of finite numbers") from error
    if w.ndim != 1 or w.dtype.kind not in "fiub" or not np.isfinite(w).all() or not len(w):
        raise InvalidArgument(f"w_star has shape {w.shape} and dtype {w.dtype}", "give a 1-D array of finite numbers")
    return w.astype(np.float64)


def as_alpha(alpha: float) -> float:
    """Check a level of informativeness."""
    return checks.number("alpha", alpha, "give a share of the possible gain in (0, 1]", above=0.0, at_most=1.0)


class StrictAlpha:
    """Improves what is shown by at least the share α of what could be gained, and by little more.

    *Ranking*: the shortest prefix of the shown list whose best ``top`` documents, moved to the top, satisfy eq. 5.
    *Choice*: the least useful available item that satisfies it. *Any other structure*: the least useful of its
    ``candidates()`` that satisfies it, or, if it has no such method, the best object.

    Parameters
    ----------
    w_star
        The user's utility is w_star·φ(x, y). The learner never sees it.
    alpha
        The share of the possible gain, in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Choice, users
    >>> user = users.StrictAlpha(w_star=np.array([1.0]), alpha=0.5)
    >>> user(Choice(np.array([[0.0], [0.4], [0.6], [1.0]])), 0)
    2
    """

    def __init__(self, *, w_star: Any, alpha: float) -> None:
        self.w_star, self.alpha = as_utility(w_star), as_alpha(alpha)

    def compiled_user(self) -> CompiledUser:
        """The user in compiled loops of rankings."""
        return CompiledUser(STRICT, alpha=self.alpha)

    def __call__(self, context: Any, action: Any) -> Any:
        """The improved object."""
        if isinstance(context, Ranking):
            shown = context.check(action)
            scores = context.scores(self.w_star)
            better = np.empty(len(shown), np.int64)
            users.write_strict(scores, shown, context.discounts, self.alpha, better)
            return better
        if isinstance(context, Choice):
            candidates: Any = np.flatnonzero(context.available)
            scores = context.scores(self.w_star)
            utilities, before = scores[candidates], scores[context.check(action)]
        elif hasattr(context, "candidates"):
            candidates = list(context.candidates())
            utilities = np.array([float(self.w_star @ context.phi(y)) for y in candidates])
            before = float(self.w_star @ context.phi(action))
        else:
            return context.argmax(self.w_star)
        best = utilities.max()
        if before >= best:
            return action
        useful = np.flatnonzero(utilities >= users.enough(float(before), float(best), self.alpha))
        choice = candidates[useful[np.argmin(utilities[useful])]]
        return int(choice) if isinstance(context, Choice) else choice


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
