"""Many records at once: field by field where they are alike, which is quicker than record by record.

Records with the same fields, all of whose names are known, are laid out in one compiled step, column by column
(`ColumnEncoder`). What does not fit (a new name, a list, an object, a date, a second text) is read by `read_many`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from operator import eq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._core import records as core_records
from smidgen._core import text
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidFeatures
from smidgen.features import limits
from smidgen.features.frames import Coded, frame_columns, is_frame
from smidgen.features.names import NONE, UNKNOWN, CategoryIndex, Strings
from smidgen.features.parse import ParsedRecords, Reader, RecordField, as_moment, refuse_many, shown
from smidgen.features.state import VectorizerState
from smidgen.features.words import CONSTANT

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


class ColumnEncoder:
    """Reader of whole columns; it gives up at the first column that does not fit."""

    def __init__(self, reader: Reader, memory: VectorizerState, n: int) -> None:
        self.reader, self.memory, self.n = reader, memory, n
        self.ids: list[IntArray] = []
        self.numbers: list[tuple[int, FloatArray]] = []  #: slot, values
        self.texts = ParsedRecords()

    def read(self, field: RecordField, column: Any) -> bool:
        """Read a column. True if it fits."""
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
            return False  # the error is raised record by record
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
                core_records.standardize_column(memory.scaling.table[slot], values[k])
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
        filled = core_records.lay_sheet(ones, Numbers(values, places), words, memory.book.columns, starts, laid, worth)
        if constant and len(words.starts):
            worth[starts[:-1][np.diff(words.starts) > 0]] = CONSTANT
        return starts, laid[:filled], worth[:filled]

    def _words(self) -> WordColumns:
        if not self.texts.wide.texts:
            return WordColumns(_NO_IDS, _NO_IDS, _NOTHING)
        path, starts, ids, worth, _ = self.texts.wide.texts[0]
        seen = np.full(self.n, float(self.memory.frequencies.rows.get(path, 0)))
        text.weigh_texts(self.memory.frequencies.df, starts, ids, seen, worth)
        return WordColumns(starts, ids, worth)


def is_category(value: Any) -> bool:
    """True if the value is a category: a bool, or a string that is neither too long nor a date."""
    if type(value) is bool:
        return True
    return type(value) is str and len(value) <= limits.CATEGORY and (value[4:5] != "-" or as_moment(value) is None)


FEW = 4  # records that are not worth the trouble


def listed(records: Any) -> Any:
    """Records as a list, or as the frame that they are; what is one record, or none at all, is refused."""
    if is_frame(records):
        return records
    if isinstance(records, (str, bytes, dict)) or not isinstance(records, Iterable):
        raise InvalidFeatures(f"the records are {shown(records)}", "give a list of records, or a frame")
    return records if type(records) is list else list(records)


def read_many(reader: Reader, records: Any, into: ParsedRecords) -> None:
    """Read records, or the rows of a frame, each a row."""
    if is_frame(records):
        read_columns(reader, *frame_columns(records, reader.texts), len(records), into)
        return
    if len(records) >= FEW and set(map(type, records)) == {dict}:
        keys = tuple(records[0])
        if all(map(eq, map(tuple, records), repeat(keys))):
            read_columns(reader, keys, list(zip(*map(dict.values, records), strict=True)), len(records), into)
            return
    fields = reader.root("")
    for row, record in enumerate(records):
        try:
            reader.read(record, fields, "", into)
        except InvalidFeatures as error:
            raise _in_record(row, error) from error
        into.end_row()


def read_sheet(reader: Reader, memory: VectorizerState, records: Any) -> ColumnEncoder | None:
    """Records of which every column fits into a `ColumnEncoder`; None for all others, which `read_many` takes."""
    if is_frame(records):
        keys, columns = frame_columns(records, reader.texts, quick=True)
    elif len(records) >= FEW and set(map(type, records)) == {dict}:
        keys = list(records[0])
        if not all(map(eq, map(tuple, records), repeat(tuple(keys)))):
            return None
        columns = list(zip(*map(dict.values, records), strict=True))
    else:
        return None
    if not len(records) or len(keys) > limits.FIELDS or not all(type(key) is str for key in keys):
        return None
    sheet, fields = ColumnEncoder(reader, memory, len(records)), reader.root("")
    fits = all(sheet.read(reader.field(fields, *each), column) for *each, column in zip(keys, repeat(""), columns))
    return sheet if fits else None


def read_columns(reader: Reader, keys: Sequence[Any], columns: Sequence[Any], n: int, into: ParsedRecords) -> None:
    """Read n records that have the same fields, field by field."""
    if len(keys) > limits.FIELDS:
        refuse_many("the record", len(keys))
    fields, rest = reader.root(""), []
    for key, column in zip(keys, columns, strict=True):
        field = reader.field(fields, key, "")
        if not isinstance(column, (tuple, list)) or isinstance(column, Coded):
            column = _from_frame(reader, field, column, into)
            if column is None:
                continue
        kinds = set(map(type, column))
        if kinds in _NUMBERS and _numbers(reader, field, column, into):
            continue
        if kinds in _CATEGORIES and not field.words and _categories(reader, field, column, into):
            continue
        if field.words and kinds <= {str, type(None)} and reader.texts_at_once(field, column, into):
            continue
        if kinds != {type(None)}:
            rest.append((field, column))
    if not rest:
        into.ends, into.row = [(0, 0)] * n, n
        return
    for row in range(n):
        into.fields = len(keys)
        try:
            for field, column in rest:
                reader.value(field, column[row], into)
        except InvalidFeatures as error:
            raise _in_record(row, error) from error
        into.end_row()


def _from_frame(reader: Reader, field: RecordField, column: Any, into: ParsedRecords) -> list[Any] | None:
    """A column of a frame at once; if that cannot be done, as a list that is read value by value."""
    if isinstance(column, Coded):
        return None if _coded(reader, field, column, into) else column.listed()
    if column.dtype.kind == "b":
        codes = Coded(column.astype(np.int64), [False, True])
        return None if _coded(reader, field, codes, into) else codes.listed()
    if field.slot < 0:
        field.slot = reader.scaling.slots.get(field.path, -1)
    known = ~np.isnan(column)
    if field.slot < 0 or not (np.abs(column[known]) <= limits.LARGEST).all():
        return [value if here else None for value, here in zip(column.tolist(), known.tolist(), strict=True)]
    if known.all():
        into.wide.full.add(field.slot)
    into.wide.number_arrays.append((np.flatnonzero(known), field.slot, column[known]))
    return None


def _coded(reader: Reader, field: RecordField, column: Coded, into: ParsedRecords) -> bool:
    """A column of categories, if they are categories and all of them are known."""
    if field.words or any(not is_category(value) for value in column.values):
        return False
    found = [reader.category(field, value) for value in column.values]
    if not all(isinstance(each, int) for each in found):
        return False
    ids, here = np.array([*found, -1], np.int64)[column.codes], column.codes >= 0
    rows = np.flatnonzero(here)
    into.wide.arrays.append((rows, ids[rows]))
    return True


def _in_record(row: int, error: InvalidFeatures) -> InvalidFeatures:
    return InvalidFeatures(f"record {row}: {error.problem}", error.hint)


def _numbers(reader: Reader, field: RecordField, column: Sequence[Any], into: ParsedRecords) -> bool:
    """A column of numbers, if its statistics are known and every number can be taken."""
    if field.slot < 0:
        field.slot = reader.scaling.slots.get(field.path, -1)
    if field.slot < 0 or not all(-limits.LARGEST <= value <= limits.LARGEST for value in column):
        return False
    into.wide.slots.append(field.slot)
    into.wide.full.add(field.slot)
    into.wide.raw.extend(column)
    return True


def _categories(reader: Reader, field: RecordField, column: Sequence[Any], into: ParsedRecords) -> bool:
    """A column of categories, if all of them are known."""
    found: list[Any] = list(map(field.table.get, column))
    if None in found:
        for value in dict.fromkeys(column):
            if not is_category(value):
                return False
            reader.category(field, value)
        found = list(map(field.table.get, column))
        if None in found:
            return False
    into.wide.cats.extend(found)
    return True
