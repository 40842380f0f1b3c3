"""Frames of pandas and polars, column by column. Neither is needed: they are known by what they can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import IntArray
from smidgen.errors import InvalidFeatures
from smidgen.features.names import NO_BYTES, Bytes, Strings

_NOT_NUMPYS = ("Decimal", "Int128", "UInt128")
_WIDTHS: dict[str, type[np.signedinteger[Any]]] = {"LargeStringArray": np.int64, "StringArray": np.int32}


class Coded(NamedTuple):
    """A column of categories: for every row a place among the distinct values, −1 where there is none."""

    codes: IntArray
    values: list[Any]

    def listed(self) -> list[Any]:
        """Row by row."""
        return [self.values[code] if code >= 0 else None for code in self.codes.tolist()]


def missing(value: Any) -> bool:
    """True if a value is a missing value of pandas: NaN, NaT, NA."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def is_frame(value: Any) -> bool:
    """True if the value is a frame of pandas or polars."""
    return (
        getattr(value, "ndim", 2) == 2 and hasattr(value, "columns") and (_pandas(value) or hasattr(value, "iter_rows"))
    )


def _pandas(value: Any) -> bool:
    return hasattr(value, "to_dict") and hasattr(value, "iloc")


def frame_records(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame as records."""
    made: list[dict[str, Any]] = frame.to_dict("records") if _pandas(frame) else list(frame.iter_rows(named=True))
    return [{key: None if missing(value) else value for key, value in record.items()} for record in made]


def frame_columns(frame: Any, texts: frozenset[str], quick: bool = False) -> tuple[list[Any], list[Any]]:
    """The names and the columns of a frame: arrays of numbers or bools, `Coded` categories, or lists.

    With ``quick``, strings come as Arrow keeps them, if it is there (`Strings`).
    """
    names = list(frame.columns)
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InvalidFeatures(f"the frame has two columns called {twice!r}", "give every column its own name")
    make = _pandas_column if _pandas(frame) else _polars_column
    return names, [make(frame[name], name in texts, quick) for name in names]


def _pandas_column(column: Any, text: bool, quick: bool) -> Any:
    kind, plain = column.dtype.kind, isinstance(column.dtype, np.dtype)
    if kind in "iufb" and (plain or kind != "b"):
        return _array(column.to_numpy() if plain else column.to_numpy(dtype=np.float64, na_value=np.nan))
    strings = column.dtype.name in ("str", "string")
    if strings and quick and (bare := _strings(column.array.__arrow_array__)) is not None:
        return bare
    if text and strings and not column.hasnans:
        items: list[Any] = column.tolist()
        return items
    if kind not in "OU" or text:
        return [None if missing(value) else value for value in column.tolist()]
    if strings and len(column):
        coded = _from_arrow(column.array)
        if coded is not None:
            return coded
    try:
        codes, values = column.factorize()
    except TypeError:  # lists, objects
        return [None if missing(value) else value for value in column.tolist()]
    return Coded(np.asarray(codes, np.int64), list(values))


def _from_arrow(values: Any) -> Coded | None:
    """A column of strings whose distinct values Arrow finds, in a third of pandas' time; None if Arrow is not there."""
    try:
        coded = values.__arrow_array__().dictionary_encode()
    except (AttributeError, ImportError):
        return None
    whole = coded.combine_chunks() if hasattr(coded, "combine_chunks") else coded
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Coded(np.asarray(codes, np.int64), whole.dictionary.to_pylist())


def _strings(arrow: Callable[[], Any]) -> Strings | None:
    """A column of strings by its buffers; None if Arrow is not there, or keeps it in pieces."""
    try:
        array = arrow()
    except (AttributeError, ImportError):
        return None
    whole = array.combine_chunks() if hasattr(array, "combine_chunks") else array
    width = _WIDTHS.get(type(whole).__name__)
    if width is None or not len(whole):
        return None
    there, starts, letters = whole.buffers()
    begin = np.frombuffer(starts, width)[whole.offset : whole.offset + len(whole) + 1].astype(np.int64, copy=False)
    return Strings(_bytes(letters), begin, _bytes(there), whole.offset)


def _bytes(buffer: Any) -> Bytes:
    return NO_BYTES if buffer is None else np.frombuffer(buffer, np.uint8)


def _polars_column(column: Any, text: bool, quick: bool) -> Any:
    kind = column.dtype.base_type().__name__
    if column.dtype.is_numeric() and kind not in _NOT_NUMPYS:
        if column.null_count():
            return np.array([np.nan if value is None else value for value in column.to_list()], np.float64)
        return _array(column.to_numpy())
    if kind == "Boolean" and not column.null_count():
        return column.to_numpy()
    if quick and kind == "String":
        strings = _strings(column.to_arrow)
        if strings is not None:
            return strings
    return column.to_list()


def _array(values: NDArray[Any]) -> NDArray[Any]:
    return values if values.dtype.kind == "b" else np.asarray(values, np.float64)
