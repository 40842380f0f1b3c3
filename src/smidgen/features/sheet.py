"""Many records with the same fields, all of whose names are known: laid out in one compiled step, column by column.

What does not fit (a new name, a list, an object, a date, a second text) is no sheet; `smidgen.features.many` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.features import limits
from smidgen.features.categories import NONE, UNKNOWN, CategoryIndex, Strings
from smidgen.features.dates import as_moment
from smidgen.features.encoded import order_row
from smidgen.features.frames import Coded
from smidgen.features.gathered import Gathered
from smidgen.features.memory import Memory
from smidgen.features.reading import Reader, RecordField
from smidgen.features.scaling import standardise_column
from smidgen.features.words import weigh

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


@kernel
def _push(columns: NDArray[np.int32], values: FloatArray, at: int, first: int, column: Any, value: float) -> int:
    """One more entry of a row that begins at ``first``; added up if the last one has the same column."""
    if at > first and columns[at - 1] == column:
        values[at - 1] += value
        return at
    columns[at], values[at] = column, value
    return at + 1


@kernel
def _lay(ones: Ones, numbers: Numbers, words: WordColumns, columns: Columns, n: int) -> CSR:
    """Rows as CSR arrays: sorted by column; of one column, what is 1 stands before numbers, and those before words.

    So the sums of a shared column are those that one record would have.
    """
    some, every, missing = ones
    fixed, said, m, texts = every.shape[0], some.shape[0], numbers.columns.shape[0], words.starts.shape[0] > 0
    widest = 0
    for i in range(n if texts else 0):
        widest = max(widest, words.starts[i + 1] - words.starts[i])
    total = n * (fixed + said + m) + words.ids.shape[0]
    starts, laid, worth = np.zeros(n + 1, np.int64), np.empty(total, np.int32), np.empty(total)
    here, ending = np.empty(fixed + said + m, np.uint32), np.uint32(0xFFFFFFFF)
    word, weight = np.empty(widest, np.uint32), np.empty(widest)
    at = 0
    for i in range(n):
        count = 0
        for k in range(fixed + said + m):
            if k < fixed:
                found = every[k]
            elif k < fixed + said:
                found = some[k - fixed, i]
            else:
                j = k - fixed - said
                found = missing[j] if np.isnan(numbers.values[j, i]) else NONE
            if found == NONE:
                continue
            c, j = columns[found], count
            while j > 0 and here[j - 1] > c:
                here[j] = here[j - 1]
                j -= 1
            here[j] = c
            count += 1
        w = 0
        if texts:
            for k in range(words.starts[i], words.starts[i + 1]):
                word[w], weight[w] = columns[words.ids[k]], words.values[k]
                w += 1
            order_row(word, weight, 0, w)
        first, a, b, c = at, 0, 0, 0
        while True:
            while b < m and np.isnan(numbers.values[b, i]):
                b += 1
            one = here[a] if a < count else ending
            number = numbers.columns[b] if b < m else ending
            term = word[c] if c < w else ending
            if one <= number and one <= term:
                if a == count:
                    break
                at = _push(laid, worth, at, first, one, 1.0)
                a += 1
            elif number <= term:
                at = _push(laid, worth, at, first, number, numbers.values[b, i])
                b += 1
            else:
                at = _push(laid, worth, at, first, term, weight[c])
                c += 1
        starts[i + 1] = at
    return starts, laid[:at], worth[:at]


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
                standardise_column(memory.scaling.table[slot], values[k])
            if slot in expected and np.isnan(column).any():
                missing[k] = indicator(slot)
                every += [NONE] if missing[k] < 0 else []
        if any(found < 0 for found in every):
            return None
        places = memory.book.columns[memory.scaling.ids[np.array(slots, np.int64)[order]]]
        some = np.stack(self.ids) if self.ids else np.empty((0, self.n), np.int64)
        ones = Ones(some, np.array(every, np.int64), missing)
        return _lay(ones, Numbers(values, places), self._words(), memory.book.columns, self.n)

    def _words(self) -> WordColumns:
        if not self.texts.wide.texts:
            return WordColumns(_NO_IDS, _NO_IDS, _NOTHING)
        path, starts, ids, worth, _ = self.texts.wide.texts[0]
        seen = np.full(self.n, float(self.memory.frequencies.rows.get(path, 0)))
        weigh(self.memory.frequencies.df, starts, ids, seen, worth)
        return WordColumns(starts, ids, worth)


def is_category(value: Any) -> bool:
    """Whether a value is a category: a bool, or a string that is neither too long nor a date."""
    if type(value) is bool:
        return True
    return type(value) is str and len(value) <= limits.CATEGORY and (value[4:5] != "-" or as_moment(value) is None)
