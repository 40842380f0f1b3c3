"""Many records with the same fields, all of whose names are known: laid out in one compiled step, column by column.

What does not fit (a new name, a list, an object, a date, a second text) is no sheet; `smidgen.features.many` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._core.records import lay_sheet, standardize_column
from smidgen._core.text import weigh_texts
from smidgen.decision import FloatArray, IntArray
from smidgen.features import limits
from smidgen.features.categories import NONE, UNKNOWN, CategoryIndex, Strings
from smidgen.features.dates import as_moment
from smidgen.features.frames import Coded
from smidgen.features.gathered import Gathered
from smidgen.features.memory import Memory
from smidgen.features.reading import Reader, RecordField

Columns = NDArray[np.uint32]
CSR = tuple[IntArray, NDArray[np.int32], FloatArray]
_NUMBERS, _CATEGORIES = ({float}, {int}, {int, float}), ({str}, {bool}, {str, bool})
_NO_IDS: IntArray = np.empty(0, np.int64)
_NOTHING: FloatArray = np.empty(0)


class Ones(NamedTuple):
    """Features that are 1: ids by field and row (−1: none), ids that every row has, and the indicators of numbers."""

    some: IntArray
    every: IntArray
    missing: IntArray


class Numbers(NamedTuple):
    """Numbers by field and row (NaN: none), in the order of their columns; their columns."""

    values: FloatArray
    columns: Columns


class WordColumns(NamedTuple):
    """The terms of one text, from starts[i] on those of row i."""

    starts: IntArray
    ids: IntArray
    values: FloatArray


class Sheet:
    """What is read of the columns, until one does not fit."""

    def __init__(self, reader: Reader, memory: Memory, n: int) -> None:
        self.reader, self.memory, self.n = reader, memory, n
        self.ids: list[IntArray] = []
        self.numbers: list[tuple[int, FloatArray]] = []  #: slot, values
        self.texts = Gathered()

    def read(self, field: RecordField, column: Any) -> bool:
        """One column; whether it fits."""
        if isinstance(column, Strings):
            if field.words:
                return not self.texts.wide.texts and self.reader.texts_at_once(field, column, self.texts)
            return self._strings(field, column)
        if isinstance(column, Coded):
            return not field.words and self._coded(field, column)
        if isinstance(column, np.ndarray):
            return self._array(field, column)
        kinds = set(map(type, column)) - {type(None)}
        if not kinds:
            return True
        if kinds == {str} and field.words:
            return not self.texts.wide.texts and self.reader.texts_at_once(field, column, self.texts)
        if kinds in _CATEGORIES and not field.words:
            return self._values(field, column)
        return kinds in _NUMBERS and self._listed_numbers(field, column)

    def _strings(self, field: RecordField, column: Strings) -> bool:
        if field.strings is None:
            field.strings = CategoryIndex()
        ids = np.empty(self.n, np.int64)
        if not field.strings.find(column, ids) and not self._look_up(field, column, ids):
            return False
        self.ids.append(ids)
        return True

    def _look_up(self, field: RecordField, column: Strings, ids: IntArray) -> bool:
        """Ids of strings that the index does not hold; those that have a place of their own enter it."""
        seen: dict[str, int] = {}
        for i in np.flatnonzero(ids == UNKNOWN).tolist():
            value = column.at(i)
            found = seen.get(value)
            if found is None:
                found = seen[value] = self._category(field, value)
                if value in field.table and field.strings is not None:
                    field.strings.add(value, found)
            if found < 0:
                return False
            ids[i] = found
        return True

    def _category(self, field: RecordField, value: Any) -> int:
        """The id of a category; −1 where this is none, or a new one."""
        if not is_category(value):
            return NONE
        found = self.reader.category(field, value)
        return found if isinstance(found, int) else NONE

    def _coded(self, field: RecordField, column: Coded) -> bool:
        used = np.flatnonzero(np.bincount(column.codes + 1, minlength=len(column.values) + 1)[1:])
        table = np.full(len(column.values) + 1, NONE, np.int64)
        for code in used.tolist():
            table[code] = self._category(field, column.values[code])
            if table[code] < 0:
                return False
        self.ids.append(table[column.codes])
        return True

    def _values(self, field: RecordField, column: Sequence[Any]) -> bool:
        found: list[Any] = list(map(field.table.get, column))
        if None in found:
            ids = {value: self._category(field, value) for value in dict.fromkeys(column) if value is not None}
            if NONE in ids.values():
                return False
            found = [NONE if value is None else ids[value] for value in column]
        self.ids.append(np.array(found, np.int64))
        return True

    def _listed_numbers(self, field: RecordField, column: Sequence[Any]) -> bool:
        """Numbers, and None where one is absent."""
        known = [value for value in column if value is not None]
        try:
            values = np.array(known, np.float64)
        except OverflowError:
            return False
        if len(known) < self.n and (np.abs(values) <= limits.LARGEST).all():
            values = np.array([np.nan if value is None else value for value in column], np.float64)
            return self._number(field, values, absent=True)
        return self._number(field, values, absent=False)

    def _array(self, field: RecordField, column: NDArray[Any]) -> bool:
        if column.dtype.kind == "b":
            return not field.words and self._coded(field, Coded(column.astype(np.int64), [False, True]))
        return self._number(field, column, absent=True)

    def _number(self, field: RecordField, column: FloatArray, absent: bool) -> bool:
        """A column of numbers whose statistics are known; whether NaN may say that one is absent."""
        if field.slot < 0:
            field.slot = self.reader.scaling.slots.get(field.path, -1)
        if field.slot < 0:
            return False
        fits = np.abs(column) <= limits.LARGEST
        if not fits.all() and not (absent and (fits | np.isnan(column)).all()):
            return False  # and be told why, record by record
        self.numbers.append((field.slot, column))
        return True

    def lay(self, indicator: Callable[[int], int], scale: bool, constant: bool) -> CSR | None:
        """All rows; None if the name of an indicator is new."""
        if self.texts.names:
            return None
        memory, every = self.memory, [0] if constant else []
        expected, slots = memory.expected[""], [slot for slot, _ in self.numbers]
        every += [indicator(slot) for slot in sorted(expected.difference(slots))]
        order = np.argsort(memory.book.columns[memory.scaling.ids[slots]], kind="stable") if slots else _NO_IDS
        values, missing = np.empty((len(slots), self.n)), np.full(len(slots), NONE, np.int64)
        for k, j in enumerate(order.tolist()):
            slot, column = self.numbers[j]
            values[k] = column
            if scale:
                standardize_column(memory.scaling.table[slot], values[k])
            if slot in expected and np.isnan(column).any():
                missing[k] = indicator(slot)
                every += [NONE] if missing[k] < 0 else []
        if any(found < 0 for found in every):
            return None
        places = memory.book.columns[memory.scaling.ids[np.array(slots, np.int64)[order]]]
        some = np.stack(self.ids) if self.ids else np.empty((0, self.n), np.int64)
        ones = Ones(some, np.array(every, np.int64), missing)
        words = self._words()
        total = self.n * (len(self.ids) + len(every) + len(slots)) + len(words.ids)
        starts, laid, worth = np.empty(self.n + 1, np.int64), np.empty(total, np.int32), np.empty(total)
        filled = lay_sheet(ones, Numbers(values, places), words, memory.book.columns, starts, laid, worth)
        return starts, laid[:filled], worth[:filled]

    def _words(self) -> WordColumns:
        if not self.texts.wide.texts:
            return WordColumns(_NO_IDS, _NO_IDS, _NOTHING)
        path, starts, ids, worth, _ = self.texts.wide.texts[0]
        seen = np.full(self.n, float(self.memory.frequencies.rows.get(path, 0)))
        weigh_texts(self.memory.frequencies.df, starts, ids, seen, worth)
        return WordColumns(starts, ids, worth)


def is_category(value: Any) -> bool:
    """Whether a value is a category: a bool, or a string that is neither too long nor a date."""
    if type(value) is bool:
        return True
    return type(value) is str and len(value) <= limits.CATEGORY and (value[4:5] != "-" or as_moment(value) is None)
