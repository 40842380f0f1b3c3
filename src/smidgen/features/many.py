"""Many records at once: field by field where they are alike, which is quicker than record by record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import eq
from typing import Any

from smidgen.errors import InvalidFeatures
from smidgen.features import limits
from smidgen.features.gathered import Gathered
from smidgen.features.reading import Field, Reader
from smidgen.features.record import refuse_many, shown

FEW = 4  # records that are not worth the trouble
_NUMBERS, _CATEGORIES = ({float}, {int}, {int, float}), ({str}, {bool}, {str, bool})


def listed(records: Any) -> list[Any]:
    """Records as a list; what is one record, or none at all, is refused."""
    if isinstance(records, (str, bytes, dict)) or not isinstance(records, Iterable):
        raise InvalidFeatures(f"the records are {shown(records)}", "give a list of records, or a frame")
    return records if type(records) is list else list(records)


def read_many(reader: Reader, records: Sequence[Any], into: Gathered) -> None:
    """Read records, each a row."""
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


def read_columns(reader: Reader, keys: Sequence[Any], columns: Sequence[Any], n: int, into: Gathered) -> None:
    """Read n records that have the same fields, field by field."""
    if len(keys) > limits.FIELDS:
        refuse_many("the record", len(keys))
    fields, rest = reader.root(""), []
    for key, column in zip(keys, columns, strict=True):
        field = reader.field(fields, key, "")
        kinds = set(map(type, column))
        if kinds in _NUMBERS and _numbers(reader, field, column, into):
            continue
        if kinds in _CATEGORIES and not field.words and _categories(reader, field, column, into):
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


def _told(row: int, error: InvalidFeatures) -> InvalidFeatures:
    return InvalidFeatures(f"record {row}: {error.problem}", error.hint)


def _numbers(reader: Reader, field: Field, column: Sequence[Any], into: Gathered) -> bool:
    """A column of numbers, if its statistics are known and every number can be taken."""
    if field.slot < 0:
        field.slot = reader.scaling.slots.get(field.path, -1)
    if field.slot < 0 or not all(-limits.LARGEST <= value <= limits.LARGEST for value in column):
        return False
    into.wide_slots.append(field.slot)
    into.wide_raw.extend(column)
    return True


def _categories(reader: Reader, field: Field, column: Sequence[Any], into: Gathered) -> bool:
    """A column of categories, if all of them are known."""
    found: list[Any] = list(map(field.table.get, column))
    if None in found:
        for value in dict.fromkeys(column):
            if type(value) is str and (len(value) > limits.CATEGORY or value[4:5] == "-"):
                return False
            reader.category(field, value)
        found = list(map(field.table.get, column))
        if None in found:
            return False
    into.wide_cats.extend(found)
    return True
