"""Prices of stocks over time."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from smidgen.data.folder import contents
from smidgen.decision import FloatArray
from smidgen.errors import InvalidRecord


@dataclass(frozen=True, eq=False)
class Prices:
    """A table of prices.

    Attributes
    ----------
    name
        What this is.
    dates
        The day of each row, growing.
    stocks
        The name of each column.
    prices
        One row per day, one column per stock; all > 0.
    """

    name: str
    dates: NDArray[np.datetime64]
    stocks: tuple[str, ...]
    prices: FloatArray

    def __len__(self) -> int:
        return len(self.dates)

    def __repr__(self) -> str:
        return f"Prices({self.name!r}, {len(self)} days x {len(self.stocks)} stocks)"

    def weekly(self) -> Prices:
        """The last price of each week (Monday to Sunday); weeks without any row are skipped."""
        # Day 0 of numpy's calendar, 1 January 1970, is a Thursday: three days on from its Monday.
        week = (self.dates.astype("datetime64[D]").astype(np.int64) + 3) // 7
        last = np.flatnonzero(np.diff(week, append=week[-1:] + 1))
        return replace(self, dates=self.dates[last], prices=self.prices[last])

    def relatives(self) -> FloatArray:
        """Each price divided by the one in the row before: one row fewer than there are days."""
        return np.asarray(self.prices[1:] / self.prices[:-1])

    def returns(self) -> FloatArray:
        """The relative gain from row to row: `relatives` less 1."""
        return self.relatives() - 1.0

    def select(self, stocks: Any) -> Prices:
        """Only these stocks (indices or a mask), in this order."""
        picked = np.arange(len(self.stocks))[np.asarray(stocks)]
        return replace(
            self, stocks=tuple(self.stocks[j] for j in picked), prices=np.ascontiguousarray(self.prices[:, picked])
        )


def read_prices(source: str | Path | TextIO, *, name: str = "") -> Prices:
    r"""Read a table of prices: CSV with a header, a first column of dates (2005-02-04), one further column per stock.

    Parameters
    ----------
    source
        A path (plain or ``.gz``) or an open text file.
    name
        What to call it; by default the name of the file.

    Raises
    ------
    InvalidRecord
        If a date or a price is missing, is no date or no number > 0, or the dates do not grow. The message names the
        line and the column; fill gaps or drop the stock before you read the file.

    Examples
    --------
    >>> import io
    >>> from smidgen.data import read_prices
    >>> prices = read_prices(io.StringIO("date,A,B\n2005-02-04,10,4\n2005-02-11,11,2\n"))
    >>> prices.relatives()
    array([[1.1, 0.5]])
    """
    if isinstance(source, (str, Path)):
        text, name = contents(source).decode("utf-8-sig"), name or Path(source).name
    else:
        text, name = source.read(), name or str(getattr(source, "name", "prices"))
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    if len(rows) < 2 or len(rows[0]) < 2:
        raise InvalidRecord(
            f"{name} has no table of prices", "give a header, dates in the first column, a stock in each other"
        )
    header, body = rows[0], rows[1:]
    dates = np.array([_date(row[0], line, name) for line, row in enumerate(body, 2)])
    prices = np.array([_prices(row, header, line, name) for line, row in enumerate(body, 2)])
    stuck = np.flatnonzero(np.diff(dates) <= np.timedelta64(0, "D"))
    if stuck.size:
        raise InvalidRecord(
            f"{name}: {dates[stuck[0] + 1]} does not come after {dates[stuck[0]]}", "sort the rows by date"
        )
    return Prices(name, dates, tuple(header[1:]), prices)


def _date(cell: str, line: int, name: str) -> np.datetime64:
    try:
        date = np.datetime64(cell.strip() or "?", "D")
    except ValueError:
        raise InvalidRecord(f"{name}, line {line}: {cell!r} is no date", "write dates like 2005-02-04") from None
    return date


def _prices(row: list[str], header: list[str], line: int, name: str) -> list[float]:
    if len(row) != len(header):
        raise InvalidRecord(f"{name}, line {line}: {len(row)} cells under {len(header)} headings", "fill the row")
    values = []
    for cell, stock in zip(row[1:], header[1:], strict=True):
        try:
            value = float(cell)
        except ValueError:
            value = np.nan
        if not 0.0 < value < np.inf:
            raise InvalidRecord(
                f"{name}, line {line}: the price of {stock} is {cell!r} and must be a number > 0",
                "fill the gap (for instance with the price before) or drop the stock",
            )
        values.append(value)
    return values
