"""The features of many decisions, column by column: how large they are, and whether they tell anything apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import FloatArray, IntArray
from smidgen.features import DenseRows, Encoded, Row
from smidgen.structures import Choice, Ranking

#: So many numbers are looked at.
NUMBERS = 1_000_000


class Lines(NamedTuple):
    """The rows of one decision, as CSR arrays."""

    starts: IntArray
    columns: NDArray[Any]
    values: FloatArray


class FeatureTable(NamedTuple):
    """Figures of columns over the rows of many decisions.

    Attributes
    ----------
    decisions, rows
        How many there were.
    columns
        The columns that were met, in order.
    size
        Of each: the root of its mean square, where it is not zero.
    varies
        Of each: whether it takes two values: among the candidates of a decision, or among all rows if a decision has
        one row.
    fixed
        Of each: whether it has one value throughout, other than zero.
    alike
        In how many decisions of at least two candidates all rows are the same; of single rows, all decisions or none.
    compared
        How many decisions there are in which rows can be compared.
    """

    decisions: int
    rows: int
    columns: IntArray
    size: FloatArray
    varies: NDArray[np.bool_]
    fixed: NDArray[np.bool_]
    alike: int
    compared: int


def lines(context: Any) -> Lines | None:
    """The rows of a decision; new names of a record have columns beyond its own."""
    if isinstance(context, Row):
        return _entries(np.array([0, len(context.indices)]), context.indices, context.values)
    if isinstance(context, Encoded):
        new = np.arange(context.dim, context.dim + len(context.names), dtype=np.uint32)
        return _entries(*context.with_columns(new))
    if not isinstance(context, Ranking | Choice):
        return None
    rows = context.rows
    if isinstance(rows, DenseRows):
        n, d = rows.shape
        return _entries(np.arange(0, n * d + 1, d), np.tile(np.arange(d), n), rows.array.ravel())
    return _entries(rows.indptr, rows.indices, rows.data)


def _entries(starts: Any, columns: Any, values: Any) -> Lines:
    """Without the entries that are zero: there and not there are the same."""
    given = np.asarray(values, dtype=np.float64)
    kept = given != 0.0
    before = np.concatenate([[0], np.cumsum(kept)])
    return Lines(before[np.asarray(starts, dtype=np.int64)], np.asarray(columns)[kept].astype(np.int64), given[kept])


def table(contexts: list[Any]) -> FeatureTable:
    """Figures over the contexts of decisions; those without features are passed over."""
    parts: list[Lines] = []
    offers, left = False, NUMBERS
    for context in reversed(contexts):
        part = lines(context)
        if part is None:
            continue
        left -= len(part.values)
        if left < 0 and parts:
            break
        parts.append(part)
        offers = offers or isinstance(context, Ranking | Choice) or bool(getattr(context, "candidates", False))
    if not parts:
        none = np.zeros(0)
        return FeatureTable(0, 0, none.astype(np.int64), none, none.astype(np.bool_), none.astype(np.bool_), 0, 0)
    several = [each for each in parts if len(each.starts) > 2] if offers else [_stacked(parts)]
    met, place = np.unique(np.concatenate([each.columns for each in parts]), return_inverse=True)
    values = np.concatenate([each.values for each in parts])
    count = np.bincount(place, minlength=len(met))
    with np.errstate(over="ignore"):
        size = np.sqrt(np.bincount(place, weights=values**2, minlength=len(met)) / np.maximum(count, 1))
    varies = np.zeros(len(met), np.bool_)
    for each in several:
        varies[np.searchsorted(met, _varying(each))] = True
    rows = sum(len(each.starts) - 1 for each in parts)
    fixed = (count == rows) & ~_spread(place, values, len(met))
    alike = sum(not len(_varying(each)) for each in several if len(each.starts) > 2)
    compared = len(several) if offers else len(parts) if len(parts) > 1 else 0
    return FeatureTable(len(parts), rows, met, size, varies, fixed, alike if offers else alike * len(parts), compared)


def _stacked(parts: list[Lines]) -> Lines:
    """Single rows, one below the other."""
    ends = np.cumsum([len(each.values) for each in parts])
    return Lines(
        np.concatenate([[0], ends]),
        np.concatenate([each.columns for each in parts]),
        np.concatenate([each.values for each in parts]),
    )


def _varying(rows: Lines) -> IntArray:
    """The columns that do not have one value in all rows."""
    met, place, count = np.unique(rows.columns, return_inverse=True, return_counts=True)
    return met[(count < len(rows.starts) - 1) | _spread(place, rows.values, len(met))]


def _spread(place: NDArray[Any], values: FloatArray, n: int) -> NDArray[np.bool_]:
    """Of each of n groups: whether its values differ."""
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(low, place, values)
    np.maximum.at(high, place, values)
    return high > low
