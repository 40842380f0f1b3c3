"""Many records at once: field by field where they are alike, which is quicker than record by record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import eq
from typing import Any

import numpy as np

from smidgen.errors import InvalidFeatures
from smidgen.features import limits
from smidgen.features.frames import Coded, frame_columns, is_frame
from smidgen.features.gathered import Gathered
from smidgen.features.memory import Memory
from smidgen.features.reading import Reader, RecordField
from smidgen.features.record import refuse_many, shown
from smidgen.features.sheet import Sheet, is_category

FEW = 4  # records that are not worth the trouble
_NUMBERS, _CATEGORIES = ({float}, {int}, {int, float}), ({str}, {bool}, {str, bool})


def listed(records: Any) -> Any:
    """Records as a list, or as the frame that they are; what is one record, or none at all, is refused."""
    if is_frame(records):
        return records
    if isinstance(records, (str, bytes, dict)) or not isinstance(records, Iterable):
        raise InvalidFeatures(f"the records are {shown(records)}", "give a list of records, or a frame")
    return records if type(records) is list else list(records)


def read_many(reader: Reader, records: Any, into: Gathered) -> None:
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
            raise _told(row, error) from error
        into.end_row()


def read_sheet(reader: Reader, memory: Memory, records: Any) -> Sheet | None:
    """Records of which every column fits into a `Sheet`; None for all others, which `read_many` takes."""
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
    sheet, fields = Sheet(reader, memory, len(records)), reader.root("")
    fits = all(sheet.read(reader.field(fields, *each), column) for *each, column in zip(keys, repeat(""), columns))
    return sheet if fits else None


def read_columns(reader: Reader, keys: Sequence[Any], columns: Sequence[Any], n: int, into: Gathered) -> None:
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
            raise _told(row, error) from error
        into.end_row()


def _from_frame(reader: Reader, field: RecordField, column: Any, into: Gathered) -> list[Any] | None:
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


def _coded(reader: Reader, field: RecordField, column: Coded, into: Gathered) -> bool:
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


def _told(row: int, error: InvalidFeatures) -> InvalidFeatures:
    return InvalidFeatures(f"record {row}: {error.problem}", error.hint)


def _numbers(reader: Reader, field: RecordField, column: Sequence[Any], into: Gathered) -> bool:
    """A column of numbers, if its statistics are known and every number can be taken."""
    if field.slot < 0:
        field.slot = reader.scaling.slots.get(field.path, -1)
    if field.slot < 0 or not all(-limits.LARGEST <= value <= limits.LARGEST for value in column):
        return False
    into.wide.slots.append(field.slot)
    into.wide.full.add(field.slot)
    into.wide.raw.extend(column)
    return True


def _categories(reader: Reader, field: RecordField, column: Sequence[Any], into: Gathered) -> bool:
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
