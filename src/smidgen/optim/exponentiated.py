"""Exponentiated gradient (Kivinen and Warmuth 1997): multiplicative steps on the simplex."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import steps
from smidgen.decision import FloatArray
from smidgen.geometry.space import plain
from smidgen.optim.rules import EXPONENTIATED, Program, Rule, State, count, taken
from smidgen.serialization import structure


@structure
class Exponentiated(Rule):
    """w_i ∝ w_i · exp(η·direction_i), from w = 1/N, kept on the simplex by normalisation (the KL projection).

    Parameters
    ----------
    dim
        The number of features.
    bound
        S, the largest absolute value of a joint feature; it sets the rate, and is not held against directions.
    horizon
        T, the number of rounds to come: η = 1/(2S√T). Without it η = 1/(2S√t), t counting the steps.
    signed
        Work on the doubled features [φ, −φ], so that w may be negative; `weights` is the folded vector w⁺ − w⁻.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.optim import Exponentiated
    >>> rule = Exponentiated(dim=2, bound=1.0, horizon=4, signed=False)
    >>> rule.weights
    array([0.5, 0.5])
    >>> rule.step(np.array([4.0, 0.0]))  # η = 1/4: odds of e to 1
    >>> rule.weights
    array([0.7311, 0.2689])
    """

    def __init__(self, *, dim: int, bound: float, horizon: int | None = None, signed: bool = True) -> None:
        self.dim = checks.dimension(dim)
        self.bound = checks.number("bound", bound, "give the largest |feature| of φ, e.g. bound=1.0", above=0.0)
        self.horizon = None if horizon is None else checks.whole("horizon", horizon, "omit it if unknown")
        self.signed = checks.flag("signed", signed, "omit it for True")
        self._theta: FloatArray = np.zeros(self.dim)  # Σ η·direction: the log-weights, up to a constant
        self._w: FloatArray = np.empty(self.dim)
        self._t = 0
        steps.normalize(self._theta, self.signed, self._w)

    @classmethod
    def estimate_size(cls, arguments: Mapping[str, Any]) -> int:
        """Estimate the bytes of the log-weights and the weights."""
        return 2 * super().estimate_size(arguments)

    @property
    def weights(self) -> FloatArray:
        """The weights, folded to w⁺ − w⁻ if signed."""
        return self._w

    def step(self, direction: FloatArray) -> None:
        """Multiply and normalise."""
        end, w, t = np.empty(self.dim), np.empty(self.dim), self.horizon or self._t + 1
        squares = steps.exponentiated_move(self._theta, plain(direction), self.bound, t, self.signed, end, w)
        self._theta, self._w = taken(end, squares), w
        self._t += 1

    def program(self) -> Program:
        """The rule for compiled loops."""
        return Program(EXPONENTIATED, scale=self.bound, horizon=self.horizon or 0, signed=self.signed)

    def to_record(self) -> dict[str, Any]:
        """The arguments that make such a rule again."""
        return {"dim": self.dim, "bound": self.bound, "horizon": self.horizon, "signed": self.signed}

    def state(self) -> State:
        """The log-weights and the number of steps."""
        return {"theta": self._theta, "t": np.array(self._t)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a saved state."""
        self._theta, self._t = plain(state["theta"]), count(state, "t")
        self._w = np.empty(self.dim)
        steps.normalize(self._theta, self.signed, self._w)
