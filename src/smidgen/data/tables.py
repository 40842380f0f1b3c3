"""Tables of the UCI and Delve collections: one row per case, one column per feature, one target."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from smidgen import checks
from smidgen.data.folder import contents, require
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, InvalidRecord

_SCALES = {"unit": "rows of length 1", "standard": "mean 0, deviation 1", "range": "from -1 to 1"}


@dataclass(frozen=True, eq=False)
class Table:
    """A table of numbers.

    Attributes
    ----------
    name
        What this is.
    X
        One row per case.
    y
        The target: a number (``task`` "regression") or +1 / −1 ("classification").
    columns
        The names of the features.
    task
        "regression" or "classification".
    """

    name: str
    X: FloatArray
    y: FloatArray
    columns: tuple[str, ...]
    task: str

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {len(self)} rows x {len(self.columns)} features, {self.task})"

    def scaled(self, scale: str | None = None, target: str | None = None) -> Table:
        """Scale the features, and the target if asked.

        Parameters
        ----------
        scale
            ``"standard"``: every feature to mean 0 and standard deviation 1; ``"range"``: every feature to [−1, 1], as
            the scaled sets on the LIBSVM page; ``"unit"``: every row to length 1 (zeros stay); None: as it is.
        target
            The same for the target: ``"standard"``, ``"range"`` or None. The labels of a classification stay ±1.
        """
        X = self.X if scale is None else _scale(self.X, checks.one_of("scale", scale, _SCALES))
        y = self.y
        if target is not None:
            checks.one_of("target", target, {"standard": 0, "range": 0})
            if self.task == "classification":
                raise InvalidArgument(f"target is {target!r} but the labels are ±1", "leave target out")
            y = _scale(y[:, None], target)[:, 0]
        return replace(self, X=X, y=y)

    def without(self, *columns: str) -> Table:
        """Leave out these features."""
        for column in columns:
            checks.one_of("column", column, dict.fromkeys(self.columns))
        kept = [j for j, column in enumerate(self.columns) if column not in columns]
        return replace(self, X=np.ascontiguousarray(self.X[:, kept]), columns=tuple(self.columns[j] for j in kept))

    def sample(self, rows: int, seed: int = 0) -> Table:
        """Draw rows without replacement."""
        n = checks.whole("rows", rows, f"give at most {len(self)}", below=len(self) + 1)
        picked = np.random.default_rng(checks.seed(seed)).permutation(len(self))[:n]
        return replace(self, X=self.X[picked], y=self.y[picked])


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


def _scale(X: FloatArray, how: str) -> FloatArray:
    if how == "unit":
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        return np.asarray(X / np.where(lengths > 0, lengths, 1.0))
    if how == "standard":
        spread = X.std(axis=0)
        return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
    low, high = X.min(axis=0), X.max(axis=0)
    return np.where(high > low, 2.0 * (X - low) / np.where(high > low, high - low, 1.0) - 1.0, 0.0)
