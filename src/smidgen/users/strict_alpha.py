"""A user whose corrections are strictly α-informative (eq. 5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import checks
from smidgen._kernel import kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.structures import Choice, Ranking
from smidgen.structures.ranking import put_first, utility
from smidgen.users.person import STRICT, Person

_ROUNDING = 1e-12


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


@kernel
def enough(before: float, best: float, alpha: float) -> float:
    """The utility that gains the share alpha of what could be gained (eq. 5), less what may be rounding."""
    return before + alpha * (best - before) - _ROUNDING * (abs(best) + abs(before))


@kernel
def inspect(scores: FloatArray, shown: IntArray, discounts: FloatArray, alpha: float) -> IntArray:
    """Go down the list; stop at the first prefix whose best documents, put on top, gain enough."""
    n, top = shown.shape[0], discounts.shape[0]
    by_score, best = np.sort(scores)[::-1], 0.0
    for i in range(top):
        best += discounts[i] * by_score[i]
    target = enough(utility(shown, scores, discounts), best, alpha)
    found = np.empty(top, np.int64)  # the best documents so far, best first; equals in the order shown
    filled = 0
    for k in range(n):
        place = min(filled, top)
        while place > 0 and scores[shown[k]] > scores[found[place - 1]]:
            place -= 1
        if place < top:
            filled = min(filled + 1, top)
            for i in range(filled - 1, place, -1):
                found[i] = found[i - 1]
            found[place] = shown[k]
        gained = 0.0
        for i in range(top):
            gained += discounts[i] * scores[found[i] if i < filled else shown[i]]
        if gained >= target:
            break
    return put_first(found[:filled], shown, n)


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

    def person(self) -> Person:
        """The user in compiled loops of rankings."""
        return Person(STRICT, alpha=self.alpha)

    def __call__(self, context: Any, action: Any) -> Any:
        """The improved object."""
        if isinstance(context, Ranking):
            shown = context.check(action)
            scores = context.scores(self.w_star)
            return inspect(scores, shown, context.discounts, self.alpha)
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
        useful = np.flatnonzero(utilities >= enough(float(before), float(best), self.alpha))
        choice = candidates[useful[np.argmin(utilities[useful])]]
        return int(choice) if isinstance(context, Choice) else choice
