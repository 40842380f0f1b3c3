"""Tables of the UCI and Delve collections: one row per case, one column per feature, one target."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

from smidgen import checks
from smidgen.data.datasets import Table
from smidgen.decision import FloatArray
from smidgen.errors import InvalidRecord
from smidgen_papers.data.folder import contents, require


def table(
    name: str,
    folder: str | Path | None = None,
    *,
    scale: str | None = None,
    target: str | None = None,
) -> Table:
    """Load one of the four tables of the bandit optimisation paper.

    Parameters
    ----------
    name
        ``"abalone"``: 4,177 × 8, the number of rings; the column Sex is 1 (M), 2 (F) or 3 (infant), as on the LIBSVM
        page; `Table.without` drops it. ``"kin8nm"``: 8,192 × 8. ``"ionosphere"``: 351 × 33 (the second of 34 columns is
        constant and left out), +1 for good. ``"cancer"``: the 683 complete rows of 699, 9 features, +1 for malignant.
    folder
        The data folder, see `data_folder`.
    scale, target
        See `Table.scaled`.
    """
    checks.one_of("name", name, _LOADERS)
    [path] = require(name, folder)
    try:
        loaded = _LOADERS[name](list(csv.reader(io.StringIO(contents(path).decode("ascii")))))
    except (ValueError, IndexError, KeyError) as error:
        raise InvalidRecord(f"{path} is not the table {name!r}: {error}", "get the file again") from None
    return loaded.scaled(scale, target)


def _abalone(rows: list[list[str]]) -> Table:
    codes = {"M": "1", "F": "2", "I": "3"}
    numbers = np.array([[codes[row[0]], *row[1:]] for row in rows[1:] if row], float)
    return Table("abalone", _whole(numbers[:, :-1]), numbers[:, -1].copy(), tuple(rows[0][:-1]), "regression")


def _kin8nm(rows: list[list[str]]) -> Table:
    numbers = np.array([row for row in rows[1:] if row], float)
    return Table("kin8nm", _whole(numbers[:, :-1]), numbers[:, -1].copy(), tuple(rows[0][:-1]), "regression")


def _ionosphere(rows: list[list[str]]) -> Table:
    numbers = np.array([row[:-1] for row in rows if row], float)
    y = np.array([{"g": 1.0, "b": -1.0}[row[-1]] for row in rows if row])
    varies = np.flatnonzero(np.ptp(numbers, axis=0) > 0)
    columns = tuple(f"pulse{j // 2 + 1}_{'imaginary' if j % 2 else 'real'}" for j in varies)
    return Table("ionosphere", _whole(numbers[:, varies]), y, columns, "classification")


def _cancer(rows: list[list[str]]) -> Table:
    numbers = np.array([row[1:] for row in rows if row and "?" not in row], float)
    columns = ("thickness", "size", "shape", "adhesion", "epithelial", "nuclei", "chromatin", "nucleoli", "mitoses")
    y = np.where(numbers[:, -1] == 4, 1.0, -1.0)
    return Table("cancer", _whole(numbers[:, :-1]), y, columns, "classification")


_LOADERS: dict[str, Callable[[list[list[str]]], Table]] = {
    "abalone": _abalone,
    "kin8nm": _kin8nm,
    "ionosphere": _ionosphere,
    "cancer": _cancer,
}


def _whole(X: FloatArray) -> FloatArray:
    return np.ascontiguousarray(X)
