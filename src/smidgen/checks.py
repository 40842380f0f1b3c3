"""Checks of settings: each error names the value, the requirement and a fix."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any, TypeGuard

import numpy as np

from smidgen.errors import InvalidArgument

#: More features or classes than this are a mistake.
MOST = 2**31
#: The range of positive settings. Learners square and invert them: beyond it, results overflow or vanish.
SMALLEST, LARGEST = 1e-100, 1e100
#: The same where a learner remembers in single precision.
SMALLEST_SINGLE, LARGEST_SINGLE = 1e-12, 1e12
#: The smallest share or probability: below it, floats lose their digits.
SMALLEST_SHARE = 1e-300
#: Counts (rounds, a window, a horizon) lie below this: floats hold them exactly.
COUNTS = 2**53


class _Short(reprlib.Repr):
    """Values in error messages: short, however long or deep they are."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxlong = self.maxother = 100

    def repr_int(self, value: int, level: int) -> str:
        """A whole number; one of many digits by its size, since Python does not print it."""
        return repr(value) if abs(value) < 2**64 else f"a whole number of {value.bit_length()} bits"


#: The value as an error message shows it.
shown = _Short().repr
#: Number of names that `nearest` compares, and that `suggest` lists.
_COMPARED, _LISTED = 1000, 20
_LONGEST_NAME = 64


def nearest(given: object, known: Iterable[object]) -> str | None:
    """Return the known name that is spelled most like ``given``, or None if none is close.

    Upper and lower case count as the same letter. The cost is bounded: long names are cut, and only the first thousand
    known names are compared.

    Examples
    --------
    >>> from smidgen.checks import nearest
    >>> nearest("linucb", ["LinUCB", "SquareCB"])
    'LinUCB'
    """
    names = {str(name)[:_LONGEST_NAME].lower(): str(name) for name in islice(known, _COMPARED)}
    found = get_close_matches(str(given)[:_LONGEST_NAME].lower(), names, n=1)
    return names[found[0]] if found else None


def cut(name: str) -> str:
    """Return a name, shortened if it is long."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def suggest(given: object, known: Iterable[object], otherwise: str = "there is nothing to choose from") -> str:
    """Return the hint for a name that is not known: the nearest one, and the list of all.

    Parameters
    ----------
    given
        The name that is not known.
    known
        The names that are.
    otherwise
        The hint if no name is known.

    Examples
    --------
    >>> from smidgen.checks import suggest
    >>> suggest("chose", ["choose", "rank"])
    'did you mean "choose"? Choose one of choose, rank'
    """
    names = [str(name) for name in known]
    if not names:
        return otherwise
    listed = ", ".join(cut(name) for name in names[:_LISTED]) + (
        f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    )
    near = nearest(given, names)
    return f"choose one of {listed}" if near is None else f'did you mean "{cut(near)}"? Choose one of {listed}'


def number(
    name: str,
    value: object,
    hint: str,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    single: bool = False,
) -> float:
    """Return ``value`` as a finite float within the given limits, or refuse it.

    A number that must be > 0 lies within `SMALLEST` (`SMALLEST_SHARE` if it is at most 1) and `LARGEST`; one that must
    be >= 0 is at most `LARGEST`. With ``single`` the range is that of `SMALLEST_SINGLE` and `LARGEST_SINGLE`.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InvalidArgument(f"{name} is {shown(value)} and must be a number", hint)
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    smallest, largest = (SMALLEST_SINGLE, LARGEST_SINGLE) if single else (SMALLEST, LARGEST)
    smallest = smallest if at_most > 1.0 else SMALLEST_SHARE
    least = max(at_least, smallest) if above >= 0.0 else at_least
    most = min(at_most, largest) if max(above, at_least) >= 0.0 else at_most
    if not math.isfinite(result):
        raise InvalidArgument(f"{name} is {shown(value)} and must be finite", hint)
    if result <= above:
        raise InvalidArgument(f"{name} is {shown(value)} and must be > {above:g}", hint)
    if result < least:
        raise InvalidArgument(f"{name} is {shown(value)} and must be >= {least:g}", hint)
    if result > most:
        raise InvalidArgument(f"{name} is {shown(value)} and must be <= {most:g}", hint)
    return result


def is_whole(value: object) -> TypeGuard[int]:
    """Return True if ``value`` is one whole number: a Python or numpy int, not a bool, not an array of several."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iu"
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def whole(name: str, value: object, hint: str, *, at_least: int = 1, below: int = COUNTS) -> int:
    """Return ``value`` as an int within the given limits, or refuse it."""
    if not is_whole(value):
        raise InvalidArgument(f"{name} is {shown(value)} and must be a whole number", hint)
    result = int(value)
    if result < at_least:
        raise InvalidArgument(f"{name} is {shown(value)} and must be >= {at_least}", hint)
    if result >= below:
        raise InvalidArgument(f"{name} is {shown(value)} and must be < {below}", hint)
    return result


def flag(name: str, value: object, hint: str) -> bool:
    """Return ``value`` if it is True or False, or refuse it."""
    if not isinstance(value, bool):
        raise InvalidArgument(f"{name} is {shown(value)} and must be True or False", hint)
    return value


def dimension(value: object) -> int:
    """Return ``value`` as a number of features: indices of them have 32 bits."""
    return whole("dim", value, "give the number of features, e.g. dim=docs.shape[1]", below=MOST)


def mapping(name: str, value: object, hint: str) -> dict[str, Any]:
    """Return ``value`` as a dict, empty if it is None, or refuse it."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value):
        raise InvalidArgument(f"{name} is {shown(value)} and must be a mapping of names to values", hint)
    return dict(value)


def instance(name: str, value: object, kind: Any, hint: str) -> None:
    """Refuse ``value`` unless it is of that class."""
    if not isinstance(value, kind):
        raise InvalidArgument(f"{name} is {shown(value)} and must be a {kind.__name__}", hint)


def seed(value: object) -> int:
    """Return ``value`` as a seed of the counter-based generator (64 bits, not negative)."""
    return whole("seed", value, "give a whole number, e.g. seed=0", at_least=0, below=2**64)


def one_of(name: str, value: str, choices: Collection[str]) -> str:
    """Return ``value`` if it names one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidArgument(f"{name} is {shown(value)}, which is not known", suggest(value, choices))
    return value
