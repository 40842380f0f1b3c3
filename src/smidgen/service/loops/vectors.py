"""Features from the wire: by position, by name, hashed, or as one compact matrix."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import constant
from smidgen.decision import FloatArray
from smidgen.features import Row
from smidgen.features.record import shown
from smidgen.features.rows import sparse_rows
from smidgen.service.messages import ByName, Compact, ModelBody
from smidgen.service.refusals import Impossible

Given = list[float] | dict[str, Any]
#: A number may be as large as this, either way.
LARGEST = 1e100
#: How many numbers the features of one request may be, after names have found their columns: 80 MB.
NUMBERS = 10_000_000


class Vectors:
    """How a model's features become numbers.

    Parameters
    ----------
    model
        Its settings: names in order, hashed names, or neither (positions only).
    dim
        The number of features; None for learners without features.
    records
        Whether features are records, which the learner reads itself.
    """

    def __init__(self, model: ModelBody, dim: int | None, *, records: bool = False) -> None:
        self.dim = dim
        self.records = records
        self.hashed = isinstance(model.features, ByName) and not records
        names = model.features if isinstance(model.features, list) else []
        self.index = {name: i for i, name in enumerate(names)}
        self._pack = struct.Struct(f"{dim or 0}d").pack  # reads a list of floats several times faster than NumPy does

    def row(self, given: Given | None) -> Any:
        """One example: an array, a sparse row where names are hashed, or a record."""
        if self.records:
            return record(given, "features")
        if self.dim is None:
            if given is not None:
                raise Impossible("this learner takes no features", "leave them out")
            return None
        if given is None:
            raise Impossible("features are missing", f"give {self.dim} numbers")
        if self.hashed and isinstance(given, dict):
            return self._hashed_row(given)
        return self.rows([given])[0]

    def rows(self, given: Sequence[Given]) -> Any:
        """Several examples as a matrix; records as they are."""
        dim = self.dim or 0
        if self.records:
            return [record(features, f"candidates[{i}].features") for i, features in enumerate(given)]
        if self.hashed and any(isinstance(features, dict) for features in given):
            if not all(isinstance(features, dict) for features in given):
                raise Impossible("some features come by name and some by position", "give all in one way")
            parts = [self._hashed(features) for features in given if isinstance(features, dict)]
            starts = np.concatenate([[0], np.cumsum([len(columns) for columns, _ in parts])])
            columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
            return sparse_rows(values, columns, starts, dim)
        if len(given) * dim > NUMBERS:
            raise Impossible(
                f"{len(given)} rows of {dim} features are more than {NUMBERS} numbers", "send fewer rows in one call"
            )
        packed = b"".join([self._pack(*self._listed(features, dim)) for features in given])
        return sane(np.frombuffer(packed).reshape(len(given), dim))

    def matrix(self, given: Compact) -> FloatArray:
        """The matrix of a compact body."""
        n, d = given.shape
        if self.records:
            raise Impossible(
                f"features is a matrix of {n} × {d} numbers, and this model takes records",
                'send records, {"age": 31, "country": "se"}, or make the model with a list of "features"',
            )
        if self.dim is None or d != self.dim:
            raise Impossible(f"the matrix has {d} columns and {self.dim} features are required", "mend the shape")
        if len(given.f32) != 4 * n * d:
            raise Impossible(
                f"f32 holds {len(given.f32)} bytes and the shape needs {4 * n * d}", "mend the shape or the bytes"
            )
        matrix = np.frombuffer(given.f32, "<f4").reshape(n, d).astype(np.float64)
        if not math.isfinite(np.vdot(matrix, matrix)):  # squares of these have room
            raise Impossible("f32 holds a number that is not finite", "send finite numbers")
        matrix.flags.writeable = False
        return matrix

    def _listed(self, features: Given, dim: int) -> list[float]:
        """One row's numbers, in order."""
        if isinstance(features, dict):
            row = [0.0] * dim
            for name, value in features.items():
                row[self._place(name)] = value if type(value) is float else number(name, value)
            return row
        if len(features) != dim:
            raise Impossible(f"there are {len(features)} features and {dim} are required", "give one number for each")
        return features

    def _place(self, name: str) -> int:
        if name not in self.index:
            known = ", ".join(list(self.index)[:8]) or "none: this model's features go by position"
            raise Impossible(f"{name!r} is not a feature of this model", f"its features are {known}")
        return self.index[name]

    def _hashed_row(self, features: dict[str, Any]) -> Row:
        columns, values = self._hashed(features)
        return Row(constant(columns), values, self.dim or 1)

    def _hashed(self, features: dict[str, Any]) -> tuple[NDArray[np.uint32], FloatArray]:
        """Columns, in order, and values of one row.

        What falls into one column is summed up; a bit of the hash gives the sign, so collisions cancel on average.
        """
        dim, found = self.dim or 1, dict[int, float]()
        for name, value in features.items():
            amount = value if type(value) is float else number(name, value)
            column, sign = hashed_place(name, dim)
            found[column] = found[column] + sign * amount if column in found else sign * amount
        columns = sorted(found)
        return np.array(columns, np.uint32), sane(np.array([found[column] for column in columns], np.float64))


def hashed_place(name: str, dim: int) -> tuple[int, int]:
    """The column into which a name is hashed, and the sign with which it counts there."""
    hash32 = zlib.crc32(name.encode("utf-8", "surrogatepass"))
    return (hash32 >> 1) % dim, 1 if hash32 & 1 else -1


def record(given: Given | None, path: str) -> dict[str, Any]:
    """Features as a record; none at all are an empty one."""
    if isinstance(given, list):
        raise Impossible(
            f"{path} is a list of {len(given)} numbers, and this model takes records",
            'send an object, {"age": 31, "country": "se"}, or make the model with a list of "features" or with '
            '"dim" in params',
        )
    return given if given is not None else {}


def number(name: str, value: Any) -> float:
    """A feature's value, if it is a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Impossible(
            f"features.{name} is {shown(value)}, and this model's features are numbers",
            'send a number, or make a model without "features": it takes strings, booleans, texts and null as they are',
        )
    return float(value)


def sane(numbers: FloatArray) -> FloatArray:
    """Refuse numbers whose products could run out of range: one such request would spoil the weights for good."""
    if np.vdot(numbers, numbers) > LARGEST and max(numbers.max(), -numbers.min()) > LARGEST:
        raise Impossible(f"there is a number beyond ±{LARGEST:g}", "scale the numbers; about ±1 is best")
    return numbers
