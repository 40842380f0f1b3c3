"""What a request will cost, judged before any of it is done: numbers to hold, multiplications to make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from smidgen import registry
from smidgen.features import Row
from smidgen.features.limits import CROSSES, DEPTH
from smidgen.learners import Card
from smidgen.service.loops.vectors import NUMBERS
from smidgen.service.models.sizes import REFUSALS
from smidgen.service.refusals import Impossible
from smidgen.structures import Candidates, Choice, Drafts, Ranking, Structure

#: What a field of a record costs beside a number.
FIELD = 40
#: How many names one request may hold: fields, categories and crosses, each once. A new one costs some microseconds.
NAMES = 40_000
#: So many letters of a string count as another name: it may be a text.
LETTERS = 16
#: How many multiplications one request may cost: some seconds.
WORK = 5_000_000_000


class Cost:
    """What one decision of a model costs.

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
        except (AttributeError, LookupError, *REFUSALS):  # a guest's, of another form
            numbers = 0
        matrix = numbers if numbers > 4 * max(1, features) * self.classes else 0
        self.each = matrix + (features if card.draws else 0)

    def of(self, numbers: int) -> int:
        """How many multiplications a decision on so many numbers takes."""
        return numbers * self.classes + self.each


class Budget:
    """What is left for one request of a model."""

    def __init__(self, cost: Cost) -> None:
        self._cost = cost
        self._numbers, self._work, self._more = NUMBERS, WORK, NAMES
        self._names: set[tuple[str, str | None]] = set()

    def spend(self, context: Any) -> None:
        """Take a decision on this context off, or refuse."""
        if isinstance(context, Candidates | dict):
            self._name(context)
        size = touched(context, crossed=self._cost.crossed)
        self._numbers -= size
        self._work -= self._cost.of(size)
        if self._more < len(self._names):
            raise Impossible(
                f"the records hold more than {NAMES} names: fields, categories, words and crosses of them",
                'send fewer records in one call, write what varies as a value, or make the model with fewer "crosses"',
            )
        if self._numbers < 0 and isinstance(context, Candidates | dict):
            raise Impossible(
                f"the records and their crosses are more than {NUMBERS // FIELD} features",
                'send fewer candidates or fields in one call, or make the model with fewer "crosses"',
            )
        if self._numbers < 0:
            raise Impossible(f"the features are more than {NUMBERS} numbers", "send fewer rows in one call")
        if self._work < 0:
            raise Impossible(f"this asks for more than {WORK} multiplications", "send fewer rows in one call")

    def _name(self, context: Any) -> None:
        """Note the names of a record, or of candidates; crosses with their context, and words, are guessed."""
        if not isinstance(context, Candidates):
            self._more -= _note(context, "", self._names)
            return
        before, about = len(self._names), _fields(context.context or {})
        self._names.update(("id", str(id)) for id in context.ids or ())
        for each in context.records:
            self._more -= _note(each, "", self._names)
            if self._more < len(self._names):
                return
        if self._cost.crossed and about:
            self._more -= min((len(self._names) - before) * about, CROSSES * len(context.records))
        if context.context is not None:
            self._more -= _note(context.context, "context.", self._names)


def touched(context: Any, *, crossed: bool = False) -> int:
    """How many numbers a context holds; a field of a record, or a cross, counts as several."""
    if type(context) is Ranking or type(context) is Choice:
        return _stored(context.rows)
    if isinstance(context, Candidates):
        about = _fields(context.context or {}) if crossed else 0
        sizes = [1 + _fields(each) for each in context.records]
        return FIELD * sum(size + min(CROSSES, about * size) for size in sizes)
    if isinstance(context, dict):
        return FIELD * (1 + _fields(context))
    if isinstance(context, Drafts):
        return len(context) * context.dim
    if isinstance(context, Structure) and not isinstance(context, Ranking | Choice):
        return _held(context)
    if isinstance(context, Row):
        return len(context.values)
    return _stored(context.rows if isinstance(context, Ranking | Choice) else context)


def _stored(rows: Any) -> int:
    """How many numbers rows of features hold."""
    stored = getattr(rows, "data", None) if hasattr(rows, "indptr") else getattr(rows, "array", rows)
    return int(getattr(stored, "size", 0))


def _held(value: Any) -> int:
    """How many numbers and words a structure of others holds, by the fields of its record."""
    if isinstance(value, np.ndarray):
        return value.size
    if (name := registry.known(type(value))) is not None:
        value = registry.fields_of(name, value)
    if isinstance(value, dict | list | tuple):
        return sum(map(_held, value.values() if isinstance(value, dict) else value))
    return 1 + len(value) // FIELD if isinstance(value, str) else 1


def _note(record: Any, path: str, names: set[tuple[str, str | None]], depth: int = DEPTH) -> int:
    """Add the names in a record to those that were met; how many more its long strings may hold."""
    more = 0
    for key, value in record.items() if isinstance(record, dict) else ():
        kind = type(value)
        if kind is str:
            names.add((path + key, value))
            more += len(value) // LETTERS
        elif kind is dict:
            more += _note(value, f"{path}{key}.", names, depth - 1) if depth > 0 else 0
        elif kind is list:
            names.update((path + key, each) for each in value if type(each) is str)
        else:
            names.add((path + key, None))
    return more


def _fields(record: Any, depth: int = DEPTH) -> int:
    """How many values a record holds, in objects and lists inside it too; what lies deeper will be refused."""
    if isinstance(record, dict):
        return sum(_fields(value, depth - 1) for value in record.values()) if depth >= 0 else 1
    return len(record) if isinstance(record, list) else 1
