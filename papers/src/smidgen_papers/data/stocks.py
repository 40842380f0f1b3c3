"""Prices of stocks over time."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TextIO

import numpy as np

from smidgen.data.datasets import Prices
from smidgen.errors import InvalidRecord
from smidgen_papers.data.folder import contents


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
    >>> from smidgen_papers.data import read_prices
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
