"""A user who is α-informative only on average (eq. 7; Section 6.2.4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core import users
from smidgen.errors import InvalidArgument
from smidgen.structures import Choice, Ranking
from smidgen.users.base import EXPECTED, CompiledUser
from smidgen.users.strict_alpha import StrictAlpha, as_alpha


class ExpectedAlpha:
    """A mixture: mostly a strictly informative answer, sometimes one of a few random objects.

    The random objects share as much probability as leaves the feedback α-informative in expectation.

    Parameters
    ----------
    w_star
        The user's utility is w_star·φ(x, y).
    alpha
        The share of the possible gain that is reached in expectation, in (0, 1].
    strict
        The α of the strictly informative answer, ≥ ``alpha`` (the paper: 0.5 for rankings, 1 for items).
    randoms
        How many random objects take part (the paper: five).
    seed
        Seeds the user's draws.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Choice, users
    >>> user = users.ExpectedAlpha(w_star=np.array([1.0]), alpha=0.5, seed=1)
    >>> menu = Choice(np.array([[0.0], [0.4], [0.6], [1.0]]))
    >>> answers = [user(menu, 0) for _ in range(1000)]
    >>> round(float(np.mean(menu.items[answers])), 1)  # half of the 1.0 that could be gained
    0.5
    """

    def __init__(self, *, w_star: Any, alpha: float, seed: int = 0, strict: float = 1.0, randoms: int = 5) -> None:
        self.alpha = as_alpha(alpha)
        self.strict = StrictAlpha(w_star=w_star, alpha=strict)
        if self.strict.alpha < self.alpha:
            raise InvalidArgument(
                f"strict is {strict} and must be at least alpha={alpha}",
                "omit it for 1.0, or lower alpha",
            )
        self.w_star = self.strict.w_star
        self._randoms = checks.whole("randoms", randoms, "omit it for 5", below=10_001)
        self._rng = np.random.default_rng(checks.seed(seed))

    def compiled_user(self) -> CompiledUser:
        """The user in compiled loops of rankings."""
        return CompiledUser(EXPECTED, alpha=self.alpha, strict=self.strict.alpha, randoms=self._randoms)

    def __call__(self, context: Any, action: Any) -> Any:
        """The improved object, or, at times, a random one."""
        if isinstance(context, Ranking):
            shown, scores = context.check(action), context.scores(self.w_star)
            better = np.empty(len(shown), np.int64)
            users.write_expected(scores, shown, context.discounts, self.compiled_user(), self._rng, better)
            return better
        answer = self.strict(context, action)
        others = [self._random_object(context) for _ in range(self._randoms)]

        def gain(y: Any) -> float:
            return float(self.w_star @ (context.phi(y) - context.phi(action)))

        best = context.argmax(self.w_star)
        target, strict, random = (
            self.alpha * gain(best),
            gain(answer),
            float(np.mean([gain(y) for y in others])),
        )
        if self._rng.random() < users.random_mass(target, strict, random):
            return others[self._rng.integers(self._randoms)]
        return answer

    def _random_object(self, context: Any) -> Any:
        if isinstance(context, Choice):
            return int(self._rng.choice(np.flatnonzero(context.available)))
        if hasattr(context, "candidates"):
            candidates = list(context.candidates())
            return candidates[self._rng.integers(len(candidates))]
        raise InvalidArgument(
            f"a {type(context).__name__} does not list its objects",
            "give it a method candidates() that lists its objects",
        )
