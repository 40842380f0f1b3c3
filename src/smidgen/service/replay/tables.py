"""Tables of examples with their answers, in Parquet: streams that compiled code plays, a batch of rows at a time.

A table has a column ``features`` with a list of numbers in each row (or one column for each number), and ``label`` (the
label loop) or ``relevant`` (the filter loop); with a column ``key`` every key has a learner of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidFeatures, InvalidRecord
from smidgen.learners import Loop
from smidgen.service.messages import ModelBody
from smidgen.service.replay.parquet import opened

#: Rows that are read and played at once; fewer, if they are wide.
ROWS, NUMBERS = 1 << 16, 1 << 22
#: So many labels at most.
LABELS = 100_000
ANSWERS = {"label": Loop.LABEL, "relevant": Loop.FILTER}


class TableRows(NamedTuple):
    """Some rows: features, answers as numbers, and whose they are."""

    X: FloatArray
    y: IntArray
    keys: list[str] | None


class Table:
    """A table in one file or several, which are read in the order of their names.

    Parameters
    ----------
    name
        What it is called.
    paths
        The files.

    Attributes
    ----------
    loop, body
        What is played: the loop, and the settings of a model without a learner.
    labels
        Of the label loop: in the order in which they appear.
    rows
        How many there are.
    counts
        How often each label appears; of the filter loop, how many are not relevant, and how many are.
    keyed
        Whether every key has a learner of its own.
    """

    def __init__(self, name: str, paths: Sequence[Path]) -> None:
        self.name, self._paths = name, list(paths)
        with opened(self._paths[0]) as first:
            schema = first.schema_arrow
        found = [each for each in ANSWERS if each in schema.names]
        if len(found) != 1:
            raise InvalidRecord(
                f"{name} has the columns {', '.join(schema.names[:20])}", "one of them must be label, or relevant"
            )
        self.answer, self.loop = found[0], ANSWERS[found[0]]
        self.keyed = "key" in schema.names
        self._features = _features_of(schema, self.answer, name)
        self.labels: list[Any] = []
        self.rows, self.counts = 0, np.zeros(2, np.int64)
        self._look()
        self.dim = next(self.batches(), TableRows(np.empty((0, 1)), np.empty(0, np.int64), None)).X.shape[1]
        labels = [str(each) for each in self.labels] if self.loop == Loop.LABEL else None
        if labels is not None and len(set(labels)) < len(labels):
            raise InvalidRecord(f"{name} has labels that read alike, as 1 and '1' do", "write them in one way")
        self.body = ModelBody(loop=self.loop, params={"dim": self.dim}, labels=labels, keyed=self.keyed)

    def batches(self) -> Iterator[TableRows]:
        """All rows, some at a time."""
        columns = [*self._features, self.answer, *(["key"] if self.keyed else [])]
        rows = ROWS
        for path in self._paths:
            with opened(path) as file:
                if missing := set(columns) - set(file.schema_arrow.names):
                    raise InvalidRecord(f"{path} has no column {min(missing)!r}", "give files with the same columns")
                for part in file.iter_batches(batch_size=rows, columns=columns, use_threads=False):
                    X = self._numbers(part, path)
                    rows = max(1, min(ROWS, NUMBERS // max(1, X.shape[1])))
                    keys = part.column("key").cast("string").to_pylist() if self.keyed else None
                    if keys is not None and None in keys:
                        raise InvalidRecord(f"{path} has rows without a key", "give every row one")
                    yield TableRows(X, self._answers(part.column(self.answer), path), keys)

    def _look(self) -> None:
        """Count the answers, and find the labels; only their column is read."""
        for path in self._paths:
            with opened(path) as file:
                for part in file.iter_batches(batch_size=ROWS, columns=[self.answer], use_threads=False):
                    column = part.column(self.answer)
                    self.rows += len(column)
                    if self.loop == Loop.LABEL:
                        known = dict.fromkeys(self.labels)
                        self.labels = list(known | dict.fromkeys(column.unique().to_pylist()))
                        if len(self.labels) > LABELS:
                            raise InvalidRecord(f"{self.name} has more than {LABELS:,} labels", "name them by fewer")
                    counted = np.bincount(self._answers(column, path), minlength=max(2, len(self.labels)))
                    wider = np.zeros(max(len(counted), len(self.counts)), np.int64)
                    wider[: len(self.counts)] += self.counts
                    wider[: len(counted)] += counted
                    self.counts = wider
        if not self.rows:
            raise InvalidRecord(f"{self.name} has no rows", "give some examples")

    def _answers(self, column: Any, path: Path) -> IntArray:
        if column.null_count:
            raise InvalidRecord(f"{path} has rows without {self.answer}", "give only rows whose answer is known")
        if self.loop == Loop.FILTER:
            return np.asarray(column.cast("bool").to_numpy(zero_copy_only=False)).astype(np.int64)
        import pyarrow.compute

        known = pyarrow.array(self.labels, column.type)
        places: IntArray = pyarrow.compute.index_in(column, known).to_numpy(zero_copy_only=False).astype(np.int64)
        return places

    def _numbers(self, part: Any, path: Path) -> FloatArray:
        """The features of some rows as a matrix."""
        if len(self._features) > 1 or not _is_list(part.column(self._features[0]).type):
            columns = [part.column(name).to_numpy(zero_copy_only=False) for name in self._features]
            return _finite(np.ascontiguousarray(np.column_stack(columns), np.float64), path)
        column = part.column(self._features[0])
        flat = column.flatten().to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        if column.null_count or len(column) == 0 or len(flat) % len(column):
            raise InvalidFeatures(f"{path} has rows with other features", "give every row as many numbers")
        X = flat.reshape(len(column), -1)
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        if (lengths != X.shape[1]).any():
            raise InvalidFeatures(f"{path} has rows with other features", "give every row as many numbers")
        return _finite(np.ascontiguousarray(X), path)


def _features_of(schema: Any, answer: str, name: str) -> list[str]:
    """The columns with features: ``features``, or all numbers beside answer and key."""
    if "features" in schema.names:
        return ["features"]
    import pyarrow

    numbers = [
        field.name
        for field in schema
        if field.name not in (answer, "key")
        and (pyarrow.types.is_floating(field.type) or pyarrow.types.is_integer(field.type))
    ]
    if not numbers:
        raise InvalidRecord(f"{name} has no column features, and no other numbers", "give the features of each row")
    return numbers


def _is_list(kind: Any) -> bool:
    import pyarrow

    types = pyarrow.types
    return bool(types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind))


def _finite(X: FloatArray, path: Path) -> FloatArray:
    if not np.isfinite(X).all():
        raise InvalidFeatures(f"{path} has features that are missing or not finite", "leave such rows out")
    return X


def looked_at(keys: Sequence[str], looked: Any) -> NDArray[np.bool_]:
    """Which rows are those of the keys that are looked at."""
    known: dict[str, bool] = {}
    return np.array([known[key] if key in known else known.setdefault(key, key in looked) for key in keys], np.bool_)
