"""Knobs: settings with names and units of their own, for the tune loop.

    from smidgen import Knobs, knobs
    Knobs({"threads": knobs.Integer(1, 64), "timeout": knobs.Log(0.01, 10), "ratio": (0, 1)})

A tuner works in the unit cube, one edge per number; the output, and what `best` says, is in the knobs' own units.
Names of things (which database, which color) have no order: a `Category` has one surface for each of its values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core import tune
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument
from smidgen.geometry import Box
from smidgen.serialization import structure
from smidgen.settings import CallMeta

__all__ = ["Best", "Category", "Integer", "Knobs", "Linear", "Log"]

#: The most knobs of one tuner, and the most combinations of the values of its categories.
MOST, MOST_CHOICES = 1000, 32
#: The most knobs that are numbers where decisions have a context, and the most columns of a context.
MOST_WITH_CONTEXT, MOST_COLUMNS = 5, 20
_HINT = 'give a name and limits for each, e.g. {"threads": knobs.Integer(1, 64), "ratio": (0, 1)}'


@structure("smidgen.knobs.Linear")
@dataclass(frozen=True)
class Linear:
    """A number between two limits; a plain pair ``(low, high)`` means the same.

    Examples
    --------
    >>> from smidgen import knobs
    >>> knobs.Linear(0, 10).value(0.25), knobs.Linear(0, 10).share(2.5)
    (2.5, 0.25)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        _limits(self.low, self.high)

    def value(self, share: float) -> float:
        """The value at a share of the way from low to high."""
        return min(max(self.low + share * (self.high - self.low), self.low), self.high)

    def share(self, value: float) -> float:
        """Position of a value between low and high, as a fraction."""
        return (value - self.low) / (self.high - self.low)


@structure("smidgen.knobs.Log")
@dataclass(frozen=True)
class Log:
    """A number above 0 whose size counts in factors: from .01 to .1 is as far as from 1 to 10.

    Examples
    --------
    >>> from smidgen import knobs
    >>> round(knobs.Log(0.01, 10).value(1 / 3), 6)
    0.1
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        _limits(self.low, self.high)
        if not self.low > 0.0:
            raise InvalidArgument(f"the lower limit of a Log is {self.low!r} and must be > 0", "use a pair (low, high)")
        if self.low < checks.SMALLEST_SHARE or not math.isfinite(self.high / self.low):
            raise InvalidArgument(
                f"the limits of a Log are {self.low!r} and {self.high!r}, and their ratio must be a finite number",
                f"give a lower limit of at least {checks.SMALLEST_SHARE:g}, and an upper one less than 1e308 times it",
            )

    def value(self, share: float) -> float:
        """The value at a share of the way from low to high, in factors."""
        return tune.log_value(self.low, self.high, share)

    def share(self, value: float) -> float:
        """Position of a value between low and high on a log scale, as a fraction."""
        return tune.log_share(self.low, self.high, value)


@structure("smidgen.knobs.Integer")
@dataclass(frozen=True)
class Integer:
    """A whole number from low to high, both included; each has the same share of the way.

    Examples
    --------
    >>> from smidgen import knobs
    >>> [knobs.Integer(1, 4).value(share) for share in (0.0, 0.3, 0.99, 1.0)]
    [1, 2, 4, 4]
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        for name, limit in (("low", self.low), ("high", self.high)):
            if not checks.is_whole(limit):
                raise InvalidArgument(
                    f"the {name} limit of an Integer is {limit!r}", "give whole numbers, e.g. Integer(1, 64)"
                )
        _limits(self.low, self.high)

    def value(self, share: float) -> int:
        """The value whose stretch of the way holds this share of it."""
        return int(min(max(math.floor(self.low + share * (self.high - self.low + 1)), self.low), self.high))

    def share(self, value: float) -> float:
        """The middle of the stretch that belongs to a value."""
        return (value - self.low + 0.5) / (self.high - self.low + 1)


@structure("smidgen.knobs.Category")
class Category:
    """One of several names without an order: a mode, a database, a color.

    Examples
    --------
    >>> from smidgen import knobs
    >>> knobs.Category("bulk", "stream").values
    ('bulk', 'stream')
    """

    def __init__(self, *values: str) -> None:
        hint = 'give two or more different names, e.g. knobs.Category("bulk", "stream")'
        if not 2 <= len(values) <= MOST_CHOICES or not all(isinstance(value, str) and value for value in values):
            raise InvalidArgument(f"the values of a Category are {values!r}", hint)
        if len(set(values)) < len(values):
            raise InvalidArgument(f"the values of a Category are {values!r}, and one is there twice", hint)
        self.values = values

    def __repr__(self) -> str:
        return f"Category({', '.join(map(repr, self.values))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Category) and other.values == self.values

    def __hash__(self) -> int:
        return hash(self.values)

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild it."""
        return {"values": list(self.values)}

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Category:
        """Rebuild from `to_record`."""
        return cls(*fields["values"])


Number = Linear | Log | Integer
Knob = Number | Category


@structure("smidgen.Knobs")
class Knobs(metaclass=CallMeta):
    """Named knobs, each with limits in units of its own: what a tuner of the tune loop may be given as its space.

    Parameters
    ----------
    knobs
        A knob by name: ``(low, high)``, `Log`, `Integer`, `Linear` or `Category`; at least one is a number.

    Attributes
    ----------
    numbers, categories
        The knobs that are numbers, and those that are names.
    dim
        How many numbers there are: the edges of the cube.
    choices
        How many combinations of names there are; 1 without categories.

    Examples
    --------
    >>> import smidgen
    >>> from smidgen import knobs
    >>> space = smidgen.Knobs({"threads": knobs.Integer(1, 64), "timeout": knobs.Log(0.01, 10), "ratio": (0, 1)})
    >>> tuner = smidgen.QuadraticTuner(space=space)
    >>> decision = tuner.ask()
    >>> sorted(decision.action)
    ['ratio', 'threads', 'timeout']
    >>> tuner.tell(decision, 3.2)
    """

    def __init__(self, knobs: Mapping[str, Any], /) -> None:
        if not isinstance(knobs, Mapping) or not 1 <= len(knobs) <= MOST:
            raise InvalidArgument(f"knobs is {knobs!r}", _HINT)
        self.knobs: dict[str, Knob] = {}
        for name, knob in knobs.items():
            if not isinstance(name, str) or not name or name == "$":
                raise InvalidArgument(f"the name of a knob is {name!r}", _HINT)
            self.knobs[name] = _knob(name, knob)
        self.numbers = {name: knob for name, knob in self.knobs.items() if not isinstance(knob, Category)}
        self.categories = {name: knob for name, knob in self.knobs.items() if isinstance(knob, Category)}
        self.dim = len(self.numbers)
        self.choices = math.prod(len(knob.values) for knob in self.categories.values())
        if not self.numbers:
            raise InvalidArgument(
                "no knob is a number", "choose among names alone with a learner of the choose loop, or add a number"
            )
        if self.choices > MOST_CHOICES:
            raise InvalidArgument(
                f"the categories have {self.choices} combinations and must have at most {MOST_CHOICES}",
                "leave values out, or choose among them with a learner of the choose loop",
            )
        self.box = Box(low=np.zeros(self.dim), high=np.ones(self.dim))  #: where tuners work

    def __repr__(self) -> str:
        return f"Knobs({self.knobs!r})"

    def __len__(self) -> int:
        return len(self.knobs)

    @property
    def names(self) -> list[str]:
        """The names, in the order given."""
        return list(self.knobs)

    def point(self, shares: Any, choice: int = 0) -> dict[str, float | int | str]:
        """The knobs' own values at a point of the unit cube, with that combination of names."""
        values: dict[str, float | int | str] = self._named(choice)
        pairs = zip(self.numbers.items(), np.asarray(shares, dtype=np.float64).tolist(), strict=True)
        values |= {name: knob.value(share) for (name, knob), share in pairs}
        return {name: values[name] for name in self.knobs} if self.categories else values

    def _named(self, choice: int) -> dict[str, float | int | str]:
        """The combination of names with that number: the last category changes first."""
        found: dict[str, float | int | str] = {}
        for name, knob in reversed(self.categories.items()):
            choice, place = divmod(choice, len(knob.values))
            found[name] = knob.values[place]
        return found

    def shares(self, point: Any) -> FloatArray:
        """The point of the unit cube that belongs to the knobs' own values; refused if they are none."""
        self.choice(point)
        shares = np.empty(self.dim)
        for i, (name, knob) in enumerate(self.numbers.items()):
            value = checks.number(name, point[name], f"give a number from {knob.low:g} to {knob.high:g}")
            if not knob.low <= value <= knob.high:
                raise InvalidArgument(
                    f"{name} is {value!r} and must lie from {knob.low:g} to {knob.high:g}",
                    "give a value within the limits",
                )
            shares[i] = knob.share(value)
        return shares

    def choice(self, point: Any) -> int:
        """The number of the combination of names in a point; refused if there is none."""
        if not isinstance(point, Mapping) or set(point) != set(self.knobs):
            raise InvalidArgument(f"the point is {point!r}", f"give a value for each of {', '.join(self.knobs)}")
        number = 0
        for name, knob in self.categories.items():
            if point[name] not in knob.values:
                raise InvalidArgument(f"{name} is {point[name]!r}", f"give one of {', '.join(knob.values)}")
            number = number * len(knob.values) + knob.values.index(point[name])
        return number

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild these knobs."""
        return {"knobs": [[name, knob] for name, knob in self.knobs.items()]}

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Knobs:
        """Rebuild from `to_record`."""
        return cls(dict(fields["knobs"]))


@dataclass(frozen=True, eq=False)
class Best:
    """The tuner's best value, in the knob's own units.

    Attributes
    ----------
    point
        The point: values by name, for knobs; an array for other spaces.
    loss
        The loss that it expects there; None if it cannot say.
    low, high
        An interval for that loss, about 95 %.
    """

    point: Any
    loss: float | None
    low: float | None
    high: float | None


def _knob(name: str, knob: Any) -> Knob:
    if isinstance(knob, (Linear, Log, Integer, Category)):
        return knob
    if isinstance(knob, (tuple, list)) and len(knob) == 2:
        return Linear(*knob)
    raise InvalidArgument(
        f"the knob {name} is {knob!r}",
        "give a pair (low, high), knobs.Log(low, high), knobs.Integer(low, high) or knobs.Category(name, …)",
    )


def _limits(low: Any, high: Any) -> None:
    a, b = (
        checks.number(name, limit, "give two numbers, the lower first")
        for name, limit in (("low", low), ("high", high))
    )
    if not a < b or not math.isfinite(b - a):
        raise InvalidArgument(
            f"the limits are {low!r} and {high!r}, and the first must be smaller", "give the lower limit first"
        )
