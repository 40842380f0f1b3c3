"""Many records at once: field by field where they are alike, which is quicker than record by record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from smidgen.errors import InvalidFeatures
from smidgen.features import limits
from smidgen.features.gathered import Gathered
from smidgen.features.reading import Field, Reader
from smidgen.features.record import refuse_many, shown
from smidgen.types import IntArray

FEW = 4  # records that are not worth the trouble
_NUMBERS = ({float}, {int}, {int, float})


def listed(records: Any) -> list[Any]:
    """Records as a list; what is one record, or none at all, is refused."""
    if isinstance(records, (str, bytes, dict)) or not isinstance(records, Iterable):
        raise InvalidFeatures(f"the records are {shown(records)}", "give a list of records, or a frame")
    return records if type(records) is list else list(records)


def read_many(reader: Reader, records: Sequence[Any], into: Gathered) -> None:
    """Read records, each a row."""
    fields = reader.root("")
    if len(records) >= FEW and _alike(records):
        _by_field(reader, fields, records, into)
        return
    for k, record in enumerate(records):
        try:
            reader.read(record, fields, "", into)
        except InvalidFeatures as error:
            raise InvalidFeatures(f"record {k}: {error.problem}", error.hint) from error
        into.end_row()


def _alike(records: Sequence[Any]) -> bool:
    """Whether all are dicts with the same fields in the same order."""
    if set(map(type, records)) != {dict}:
        return False
    return len(set(map(tuple, records))) == 1


def _by_field(reader: Reader, fields: dict[str, Field], records: Sequence[dict[str, Any]], into: Gathered) -> None:
    n, every = len(records), np.arange(len(records))
    if len(records[0]) > limits.FIELDS:
        refuse_many("the record", len(records[0]))
    rest: list[tuple[Field, list[Any]]] = []
    for key in records[0]:
        field = reader.field(fields, key, "")
        column = list(map(itemgetter(key), records))
        kinds = set(map(type, column))
        if kinds in _NUMBERS and _numbers(reader, field, column, every, into):
            continue
        if kinds <= {str, bool} and not field.words and _categories(reader, field, column, every, into):
            continue
        if kinds != {type(None)}:
            rest.append((field, column))
    if not rest:
        into.ends = [(0, 0)] * n
        into.row = n
        return
    for row in range(n):
        into.fields = len(records[0])
        for field, column in rest:
            try:
                reader.value(field, column[row], into)
            except InvalidFeatures as error:
                raise InvalidFeatures(f"record {row}: {error.problem}", error.hint) from error
        into.end_row()


def _numbers(reader: Reader, field: Field, column: list[Any], every: IntArray, into: Gathered) -> bool:
    """A column of numbers, if its statistics are known."""
    if field.slot < 0:
        field.slot = reader.scaling.slots.get(field.path, -1)
    if field.slot < 0:
        return False
    try:
        raw = np.array(column, np.float64)
    except OverflowError:
        return False  # read one by one: the refusal names the record
    if not (np.abs(raw) <= limits.LARGEST).all():
        return False
    into.number_blocks.append((every, np.full(len(every), field.slot), raw))
    return True


def _categories(reader: Reader, field: Field, column: list[Any], every: IntArray, into: Gathered) -> bool:
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
    into.blocks.append((every, np.array(found, np.int64)))
    return True
