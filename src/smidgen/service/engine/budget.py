"""The cost of a request, checked before any work is done: numbers to hold, names to keep, multiplications to make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from smidgen import serialization
from smidgen.features import Row
from smidgen.features.limits import CROSSES, DEPTH
from smidgen.learners import Card
from smidgen.service.errors import Impossible
from smidgen.service.loops.features import NUMBERS
from smidgen.structures import Candidates, Choice, Drafts, Ranking, Structure

#: How a constructor says no: to the form, to the value, to the range, to the size.
REFUSALS = (TypeError, ValueError, ArithmeticError, MemoryError)
#: Cost of a field of a record, on top of that of a number.
FIELD = 40
#: Maximum number of names in one request: fields, categories and crosses, each once. A new one costs some
#: microseconds.
NAMES = 40_000
#: Number of letters of a string that count as another name: it may be a text.
LETTERS = 16
#: Maximum number of multiplications of one request: some seconds.
WORK = 5_000_000_000


class Cost:
    """Cost of one decision of a model.

    A decision reads every feature once for every class; a learner with a matrix reads that too, and one that draws a
    direction draws it in all features.

    Parameters
    ----------
    card, settings, dim
        The learner's, and how many features it takes.
    crossed
        Whether every field of a context meets every field of a candidate.
    """

    def __init__(self, card: Card, settings: Mapping[str, Any], dim: int | None, *, crossed: bool = False) -> None:
        features = dim or 0
        self.crossed = crossed
        self.classes = max(1, int(settings.get("n_classes") or 1))
        try:
            numbers = card.size(settings) // 8
        except (AttributeError, LookupError, *REFUSALS):  # a plugin's, of another form
            numbers = 0
        matrix = numbers if numbers > 4 * max(1, features) * self.classes else 0
        self.each = matrix + (features if card.draws else 0)

    def of(self, numbers: int) -> int:
        """Multiplications of a decision on a number of values."""
        return numbers * self.classes + self.each


class Budget:
    """Remaining budget of one request."""

    def __init__(self, cost: Cost) -> None:
        self._cost = cost
        self._numbers, self._work, self._more = NUMBERS, WORK, NAMES
        self._names: set[tuple[str, str | None]] = set()

    def spend(self, context: Any) -> None:
        """Take a decision on this context off, or refuse."""
        if isinstance(context, Candidates | dict):
            self._name(context)
        size = count_numbers(context, crossed=self._cost.crossed)
        self._numbers -= size
        self._work -= self._cost.of(size)
        if self._more < len(self._names):
            raise Impossible(
                f"the records hold more than {NAMES} names: fields, categories, words and their crosses",
                'send fewer records in one call, put what varies into values, or create the model with fewer "crosses"',
            )
        if self._numbers < 0 and isinstance(context, Candidates | dict):
            raise Impossible(
                f"the records and their crosses have more than {NUMBERS // FIELD} features",
                'send fewer candidates or fields in one call, or create the model with fewer "crosses"',
            )
        if self._numbers < 0:
            raise Impossible(f"the features hold more than {NUMBERS} numbers", "send fewer rows in one call")
        if self._work < 0:
            raise Impossible(f"the request needs more than {WORK} multiplications", "send fewer rows in one call")

    def _name(self, context: Any) -> None:
        """Note the names of a record, or of candidates; crosses with their context, and words, are guessed."""
        if not isinstance(context, Candidates):
            self._more -= _note_names(context, "", self._names)
            return
        before, about = len(self._names), _count_values(context.context or {})
        self._names.update(("id", str(id)) for id in context.ids or ())
        for each in context.records:
            self._more -= _note_names(each, "", self._names)
            if self._more < len(self._names):
                return
        about += sum(1 + _count_values(slot.features or {}) for slot in context.slots)
        if self._cost.crossed and about:
            self._more -= min((len(self._names) - before) * about, CROSSES * len(context.records))
        if context.context is not None:
            self._more -= _note_names(context.context, "context.", self._names)
        for slot in context.slots:
            self._names.add(("context.slot.id", slot.id))
            self._more -= _note_names(slot.features or {}, "context.slot.", self._names)


def count_numbers(context: Any, *, crossed: bool = False) -> int:
    """Count the numbers of a context; a field of a record, or a cross, counts as several."""
    if type(context) is Ranking or type(context) is Choice:
        return _count_in_rows(context.rows)
    if isinstance(context, Candidates):
        about = _count_values(context.context or {}) if crossed else 0
        sizes = [1 + _count_values(each) for each in context.records]
        own = [about + crossed * (1 + _count_values(slot.features or {})) for slot in context.slots] or [about]
        return FIELD * sum(size + min(CROSSES, each * size) for each in own for size in sizes)
    if isinstance(context, dict):
        return FIELD * (1 + _count_values(context))
    if isinstance(context, Drafts):
        return len(context) * context.dim
    if isinstance(context, Structure) and not isinstance(context, Ranking | Choice):
        return _count_in_structure(context)
    if isinstance(context, Row):
        return len(context.values)
    return _count_in_rows(context.rows if isinstance(context, Ranking | Choice) else context)


def _count_in_rows(rows: Any) -> int:
    """Count the numbers in rows of features."""
    stored = getattr(rows, "data", None) if hasattr(rows, "indptr") else getattr(rows, "array", rows)
    return int(getattr(stored, "size", 0))


def _count_in_structure(value: Any) -> int:
    """Count numbers and words in a plugin's structure, by the fields of its record."""
    if isinstance(value, np.ndarray):
        return value.size
    if (name := serialization.registered_name(type(value))) is not None:
        value = serialization.fields_of(name, value)
    if isinstance(value, dict | list | tuple):
        return sum(map(_count_in_structure, value.values() if isinstance(value, dict) else value))
    return 1 + len(value) // FIELD if isinstance(value, str) else 1


def _note_names(record: Any, path: str, names: set[tuple[str, str | None]], depth: int = DEPTH) -> int:
    """Add the names in a record to those that were met; how many more its long strings may hold."""
    more = 0
    for key, value in record.items() if isinstance(record, dict) else ():
        kind = type(value)
        if kind is str:
            names.add((path + key, value))
            more += len(value) // LETTERS
        elif kind is dict:
            more += _note_names(value, f"{path}{key}.", names, depth - 1) if depth > 0 else 0
        elif kind is list:
            names.update((path + key, each) for each in value if type(each) is str)
        else:
            names.add((path + key, None))
    return more


def _count_values(record: Any, depth: int = DEPTH) -> int:
    """Count the values of a record, nested ones included; deeper nesting is refused later."""
    if isinstance(record, dict):
        return sum(_count_values(value, depth - 1) for value in record.values()) if depth >= 0 else 1
    return len(record) if isinstance(record, list) else 1
