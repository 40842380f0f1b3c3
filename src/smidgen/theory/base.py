"""A theorem: the function that computes its bound, its formula in words, and of what it speaks.

Bounds are taken at one number of rounds or at many: numbers stay numbers, arrays become curves. Losses are convex ones
of the utility gap θ = U(x, y) − U(x, y*) ≤ 0 (Sections 5.2, 5.3, 6.4 of the coactive paper).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument
from smidgen.optim import Rule


class Linear:
    """c(θ) = −θ: the convex regret is the regret.

    Examples
    --------
    >>> from smidgen import losses
    >>> losses.Linear()(-2.0)
    2.0
    """

    strong_convexity = 0.0
    peak = float("inf")

    def __call__(self, theta: Any) -> Any:
        """The loss at θ."""
        return -theta

    def slope(self, lowest: float) -> float:
        """G: the steepest fall on [lowest, ∞)."""
        return 1.0


class Quadratic:
    """c(θ) = (θ − M)²: strongly convex with λ = 2, non-increasing up to M, steepest at the lowest θ.

    Parameters
    ----------
    peak
        M, the utility beyond which nothing gets better. The paper takes the largest utility of any object under any
        w of norm ‖w*‖.

    Examples
    --------
    >>> from smidgen import losses
    >>> loss = losses.Quadratic(peak=1.0)
    >>> loss(-1.0) - loss(0.0), loss.slope(lowest=-1.0)
    (3.0, 4.0)
    """

    strong_convexity = 2.0

    def __init__(self, *, peak: float) -> None:
        self.peak = checks.number("peak", peak, "give the largest possible utility", above=0.0)

    def __call__(self, theta: Any) -> Any:
        """The loss at θ."""
        return (theta - self.peak) ** 2

    def slope(self, lowest: float) -> float:
        """G: the steepest fall on [lowest, M]."""
        return 2.0 * (self.peak - lowest)


Loss = Linear | Quadratic


Curve = float | FloatArray


def rounds(T: Any) -> Any:
    """Check a number of rounds, or an array of them."""
    hint = "give the number of rounds, a whole number of at least 1, or an array of them"
    try:
        t = np.asarray(T, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"T is {T!r}", hint) from error
    if not t.size or not ((t >= 1) & (t == np.rint(t))).all():
        raise InvalidArgument(f"T is {T!r}", hint)
    return t if t.ndim else float(t)


def size(name: str, value: Any) -> Any:
    """Check a number or a curve that cannot be negative."""
    found = np.asarray(value, dtype=np.float64)
    if not (np.isfinite(found).all() and (found >= 0.0).all()):
        raise InvalidArgument(f"{name} is {value!r} and must be >= 0", "give a finite number, or a curve of them")
    return found if found.ndim else float(found)


def plain(value: Any) -> Curve:
    """A float for a number, the array itself for a curve."""
    return float(value) if np.ndim(value) == 0 else value


def average(value: Any, t: Any, per_round: bool | None) -> Curve:
    """A bound that its theorem states per round, in the unit that was asked for."""
    return plain(value if per_round is None or _asked(per_round) else value * t)


def total(value: Any, t: Any, per_round: bool | None) -> Curve:
    """A bound that its theorem states on the sum over the rounds, in the unit that was asked for."""
    return plain(value / t if per_round is not None and _asked(per_round) else value)


def _asked(per_round: bool) -> bool:
    return checks.flag("per_round", per_round, "give True, False, or omit it for the theorem's own unit")


R = TypeVar("R", bound=Rule)
Known: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Measured:
    """Quantities of a run that the theorems need; R and S are running maxima, so every bound is a curve."""

    T: FloatArray
    R: FloatArray
    S: FloatArray
    w_star: FloatArray
    alpha: float
    slacks: FloatArray
    gains: FloatArray
    loss: Loss | None

    @property
    def w_norm(self) -> float:
        """‖w*‖."""
        return float(np.linalg.norm(self.w_star))


class Premises(NamedTuple):
    """On which premises a theorem speaks of a model.

    Attributes
    ----------
    known
        The arguments of the bound, but ``per_round``; the number of rounds only where the theorem speaks of one alone.
    assumes
        What must be true of the users, in words.
    title
        A remark in addition to the theorem's title.
    """

    known: Known
    assumes: str
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Theorem:
    """Theorems about an algorithm: stated once, for metadata, measured runs and served models.

    Attributes
    ----------
    name
        What a card calls it by.
    title
        How people cite it.
    formula
        The bound on the average regret in one line, which the cards show.
    bound
        The function of `smidgen.bounds` that computes it. One with an argument ``lag`` holds for late feedback, too.
    terms
        A function of a learner's `params` and of the rounds learnt: the terms, or why the theorem does not speak.
    unit
        What the numbers are multiples of, where users keep a quantity to themselves.
    counts
        The argument of the bound that is the number of rounds.
    rule, run
        The type of the update rule that it is about, and a function of such a rule and of a measured run: the arguments
        of the bound, or why the theorem does not speak.
    on
        What it bounds in a measured run: an attribute of `smidgen.History`.
    """

    name: str
    title: str
    formula: str
    bound: Callable[..., Curve]
    terms: Callable[[Mapping[str, Any], int], Premises | str]
    unit: str = ""
    counts: str = "T"
    rule: type[Rule] | None = None
    run: Callable[[Any, Measured], Known | str] | None = None
    on: str = "average_regret"

    @property
    def allows_lag(self) -> bool:
        """True if it also holds for late feedback."""
        return "lag" in inspect.signature(self.bound).parameters

    def per_round(self, known: Known) -> Curve:
        """The bound on the average regret."""
        return self.bound(per_round=True, **known)


#: By name.
stated: dict[str, Theorem] = {}


def state(theorem: Theorem) -> Theorem:
    """Enter a theorem, so that cards can name it."""
    if theorem.name in stated and stated[theorem.name] != theorem:
        raise InvalidArgument(f"a theorem called {theorem.name!r} is already registered", "give it another name")
    stated[theorem.name] = theorem
    return theorem


def find(name: str) -> Theorem:
    """The theorem of that name."""
    if name not in stated:
        raise InvalidArgument(f"there is no theorem {name!r}", checks.suggest(name, sorted(stated)))
    return stated[name]
