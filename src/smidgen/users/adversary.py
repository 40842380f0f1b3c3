"""The adversary of Lemma 3: no coactive learner can have average regret below Ω(1/√T)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray
from smidgen.features.rows import sparse_rows
from smidgen.structures import Choice


class Adversary:
    """In each of ``horizon`` rounds a new axis, of which the learner picks a side; the other side was right.

    Round t offers the items +e_t and −e_t. The feedback is the one not shown, and w* is made up as it goes: ∓1/√T on
    each axis. The feedback is 1-informative throughout, ‖w*‖ = R = 1, and the average regret of *any* learner
    is 2/√T, which Theorem 1 bounds by 2/√T: the bound is tight.

    Parameters
    ----------
    horizon
        T, the number of rounds, and the number of features.

    Examples
    --------
    >>> import smidgen
    >>> adversary = smidgen.users.Adversary(horizon=100)
    >>> learner = smidgen.PreferencePerceptron(dim=100)
    >>> history = smidgen.simulate(learner, adversary.contexts(), adversary, utility=adversary.w_star)
    >>> print(f"{history.average_regret[-1]:.3f}")
    0.200

    References
    ----------
    .. [1] P. Shivaswamy, T. Joachims. Coactive Learning. JAIR 53, 2015. Lemma 3.
    """

    alpha = 1.0

    def __init__(self, *, horizon: int) -> None:
        self.horizon = checks.whole("horizon", horizon, "give the number of rounds", below=checks.MOST)
        self._w: FloatArray = np.zeros(self.horizon)

    def contexts(self) -> Iterator[Choice]:
        """The rounds: one choice between the two sides of a new axis each, as sparse rows."""
        for t in range(self.horizon):
            yield Choice(sparse_rows([1.0, -1.0], [t, t], [0, 1, 2], self.horizon))

    def __call__(self, context: Any, action: int) -> int:
        """The other side; from now on the user has always wanted it."""
        other = 1 - int(action)
        self._w += context.phi(other) / np.sqrt(self.horizon)
        return other

    def w_star(self) -> FloatArray:
        """The utility that all answers so far agree with."""
        return self._w.copy()
