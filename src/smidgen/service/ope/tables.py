"""Replay Parquet tables of examples.

Tables of examples with their answers, in Parquet: streams that compiled code plays, a batch of rows at a time.

A table has a column ``features`` with a list of numbers in each row (or one column for each number), and ``label`` (the
label loop) or ``relevant`` (the filter loop); with a column ``key`` every key has a learner of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument, InvalidFeatures, InvalidRecord
from smidgen.evaluate.play import play
from smidgen.jobs import Task, answers
from smidgen.jobs import backend as place_of_work
from smidgen.learners import Learner, Loop, recommended
from smidgen.learners.plugins import load_plugins
from smidgen.service.engine.blueprint import Blueprint
from smidgen.service.loops.estimates import Estimate, share
from smidgen.service.loops.evaluate_rewards import progressive
from smidgen.service.ope.parallel import Piece, by_key, by_learner, thin_out
from smidgen.service.ope.sources import files_of, open_parquet
from smidgen.service.ope.whatif import POINTS, KeyShard, Outcome, WhatIf, parse_learner_spec
from smidgen.service.schemas import ModelBody

#: Rows that are read and played at once; fewer, if they are wide.
ROWS, NUMBERS = 1 << 16, 1 << 22
#: Maximum number of labels.
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
        with open_parquet(self._paths[0]) as first:
            schema = first.schema_arrow
        found = [each for each in ANSWERS if each in schema.names]
        if len(found) != 1:
            raise InvalidRecord(
                f"{name} has the columns {', '.join(schema.names[:20])}", 'add a column "label" or "relevant"'
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
            raise InvalidRecord(
                f"{name} has labels that look the same, such as 1 and '1'", "write all labels as one type"
            )
        self.body = ModelBody(loop=self.loop, params={"dim": self.dim}, labels=labels, keyed=self.keyed)

    def batches(self) -> Iterator[TableRows]:
        """All rows, some at a time."""
        columns = [*self._features, self.answer, *(["key"] if self.keyed else [])]
        rows = ROWS
        for path in self._paths:
            with open_parquet(path) as file:
                if missing := set(columns) - set(file.schema_arrow.names):
                    raise InvalidRecord(f"{path} has no column {min(missing)!r}", "give files with the same columns")
                for part in file.iter_batches(batch_size=rows, columns=columns, use_threads=False):
                    X = self._numbers(part, path)
                    rows = max(1, min(ROWS, NUMBERS // max(1, X.shape[1])))
                    keys = part.column("key").cast("string").to_pylist() if self.keyed else None
                    if keys is not None and None in keys:
                        raise InvalidRecord(f"{path} has rows without a key", "give every row a key")
                    yield TableRows(X, self._answers(part.column(self.answer), path), keys)

    def _look(self) -> None:
        """Count the answers, and find the labels; only their column is read."""
        for path in self._paths:
            with open_parquet(path) as file:
                for part in file.iter_batches(batch_size=ROWS, columns=[self.answer], use_threads=False):
                    column = part.column(self.answer)
                    self.rows += len(column)
                    if self.loop == Loop.LABEL:
                        known = dict.fromkeys(self.labels)
                        self.labels = list(known | dict.fromkeys(column.unique().to_pylist()))
                        if len(self.labels) > LABELS:
                            raise InvalidRecord(f"{self.name} has more than {LABELS:,} labels", "use fewer labels")
                    counted = np.bincount(self._answers(column, path), minlength=max(2, len(self.labels)))
                    wider = np.zeros(max(len(counted), len(self.counts)), np.int64)
                    wider[: len(self.counts)] += self.counts
                    wider[: len(counted)] += counted
                    self.counts = wider
        if not self.rows:
            raise InvalidRecord(f"{self.name} has no rows", "give at least one example")

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
            raise InvalidFeatures(
                f"{path} has rows with different numbers of features", "give every row the same number of features"
            )
        X = flat.reshape(len(column), -1)
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        if (lengths != X.shape[1]).any():
            raise InvalidFeatures(
                f"{path} has rows with different numbers of features", "give every row the same number of features"
            )
        return _finite(np.ascontiguousarray(X), path)


def _features_of(schema: Any, answer: str, name: str) -> list[str]:
    """The columns with features: ``features``, or all numbers next to answer and key."""
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
        raise InvalidRecord(
            f'{name} has neither a column "features" nor other numeric columns', "add the features of each row"
        )
    return numbers


def _is_list(kind: Any) -> bool:
    import pyarrow

    types = pyarrow.types
    return bool(types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind))


def _finite(X: FloatArray, path: Path) -> FloatArray:
    if not np.isfinite(X).all():
        raise InvalidFeatures(f"{path} has features that are missing or not finite", "remove these rows")
    return X


def rows_of_keys(keys: Sequence[str], looked: Any) -> NDArray[np.bool_]:
    """Mask of the rows whose keys are included."""
    known: dict[str, bool] = {}
    return np.array([known[key] if key in known else known.setdefault(key, key in looked) for key in keys], np.bool_)


# A piece of a table's replay: some learners, or some keys, play the rows; what comes back are bits of rows.


class Bits(msgspec.Struct, kw_only=True):
    """Outcomes of the rows of some keys.

    Attributes
    ----------
    rows
        Which rows they are, a bit for each row of the table; None means all.
    said
        By learner, a bit for each of these rows: whether its label was right, or whether it would have forwarded it.
    """

    rows: bytes | None
    said: dict[str, bytes]


def blueprint_of(table: Table, spec: str) -> Blueprint:
    """The settings of a learner on a table; no guard stands before it, so that compiled streams are its own."""
    made = Blueprint(parse_learner_spec(table.body, spec))
    made.guarded = False
    return made


def play_rows(settings: dict[str, Any]) -> Iterator[int | bytes]:
    """Play the rows; the answer is `Bits` in MessagePack."""
    piece = msgspec.convert(settings, Piece)
    load_plugins(piece.modules)
    table = Table(piece.log, files_of(Path(piece.log)))
    players = {spec: _Players(blueprint_of(table, spec)) for spec in piece.learners}
    looked = KeyShard(piece.part, piece.of)
    rows = np.empty(0, np.bool_)
    pages: list[Any] = []
    said: dict[str, list[Any]] = {spec: [] for spec in players}

    def follow() -> Iterator[int]:
        done = 0
        for batch in table.batches():
            done += len(batch.y)
            mine = batch
            if batch.keys is not None and looked.of > 1:
                pages.append(rows_of_keys(batch.keys, looked))
                mine = _chosen(batch, pages[-1])
            for spec, each in players.items():
                actions = each.play(mine)
                said[spec].append(actions == mine.y if table.loop == Loop.LABEL else actions)
            yield done

    yield from thin_out(follow())
    if pages:
        rows = np.concatenate(pages)
    packed = {spec: np.packbits(np.concatenate(each)).tobytes() for spec, each in said.items()}
    yield msgspec.msgpack.encode(Bits(rows=np.packbits(rows).tobytes() if pages else None, said=packed))


def _chosen(batch: TableRows, rows: Any) -> TableRows:
    keys = [key for key, kept in zip(batch.keys or (), rows.tolist(), strict=True) if kept]
    return TableRows(np.ascontiguousarray(batch.X[rows]), batch.y[rows], keys)


class _Players:
    """A learner, or one for each key."""

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint
        self._learners: dict[str | None, Learner] = {}

    def play(self, batch: TableRows) -> Any:
        """Prediction for each row."""
        if batch.keys is None:
            return self._actions(None, batch.X, batch.y)
        said = np.empty(len(batch.y), batch.y.dtype)
        for key, rows in _by_key(batch.keys):
            said[rows] = self._actions(key, np.ascontiguousarray(batch.X[rows]), batch.y[rows])
        return said

    def _actions(self, key: str | None, X: Any, y: Any) -> Any:
        if not len(y):
            return y
        if key not in self._learners:
            self._learners[key] = self._blueprint.learner(key)
        truth = y.astype(np.bool_) if self._blueprint.loop.name == Loop.FILTER else y
        return np.asarray(play(self._learners[key], (X, truth)).actions)


def _by_key(keys: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The rows of each key, in order."""
    if not keys:
        return
    names, places = np.unique(np.array(keys, dtype=object).astype(str), return_inverse=True)
    order = np.argsort(places, kind="stable")
    for name, rows in zip(names, np.split(order, np.cumsum(np.bincount(places))[:-1]), strict=True):
        yield str(name), rows


# A table through several learners, shared out by learner or by key; each plays a run of its own.

#: Work that justifies a process: rows, each once for every learner; a costly row counts as several.
WORTH = 500_000
#: Multiplications that double the cost of a row.
DEAR = 5_000
OWN_RUN = "the table has the answers of all rows: each learner plays a run of its own, with its own feedback"

Flags = NDArray[np.bool_]


def replay(
    log: str,
    learners: Sequence[str],
    *,
    backend: str = "processes",
    jobs: int = 1,
    split: str = "auto",
    modules: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> WhatIf:
    """Play a table through learners; see `smidgen.service.ope.replay.replay`."""
    table = Table(log, files_of(Path(log)))
    given = list(dict.fromkeys(learners)) or [_usual(table)]
    made = {spec: blueprint_of(table, spec) for spec in given}  # refuses what makes no sense
    if split == "key" and not table.keyed:
        raise InvalidArgument('split is key and the table has no column "key"', "remove split, or use split=learner")
    dear = {spec: 1 + each.cost.of(table.dim) / DEAR for spec, each in made.items()}
    if backend == "processes":
        jobs = max(1, min(jobs, int(table.rows * sum(dear.values()) / WORTH)))
    path = str(Path(log).absolute())
    piece = Piece(log=path, data="", learners=given, own_too=False, modules=list(modules))
    keyed = split == "key" or (split == "auto" and table.keyed and len(given) < jobs)
    pieces = by_key(piece, jobs) if keyed else by_learner(piece, jobs, dear)
    tasks = [Task(f"{__name__}:{play_rows.__name__}", msgspec.to_builtins(each)) for each in pieces]
    total = table.rows * len(tasks)
    results = answers(place_of_work(backend, jobs), tasks, None if progress is None else lambda at: progress(at, total))
    said = _combine(table, results)
    relevant = np.concatenate([batch.y for batch in table.batches()]) > 0 if table.loop == Loop.FILTER else None
    return WhatIf(
        log=log,
        loop=table.loop,
        decisions=table.rows,
        answered=table.rows,
        logged=_baseline(table),
        outcomes=[_outcome(spec, repr(made[spec].learner(None)), said[spec], relevant) for spec in given],
        notes=[OWN_RUN],
    )


def _usual(table: Table) -> str:
    classes = len(table.labels) if table.loop == Loop.LABEL else None
    return type(recommended(loop=table.loop, dim=table.dim, n_classes=classes)).__name__


def _combine(table: Table, results: Sequence[bytes]) -> dict[str, Flags]:
    """Predictions of each learner for every row, in the order of the rows."""
    found: dict[str, Flags] = {}
    for each in results:
        bits = msgspec.msgpack.decode(each, type=Bits)
        rows = np.ones(table.rows, np.bool_) if bits.rows is None else _unpacked(bits.rows, table.rows)
        for spec, packed in bits.said.items():
            found.setdefault(spec, np.zeros(table.rows, np.bool_))[rows] = _unpacked(packed, int(rows.sum()))
    return found


def _unpacked(packed: bytes, count: int) -> Flags:
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=count).astype(np.bool_)


def _baseline(table: Table) -> Estimate:
    most = int(table.counts.max())
    if table.loop == Loop.LABEL:
        return share("share of the most frequent label", most, table.rows)
    return share("share of relevant items", int(table.counts[1]), table.rows)


def _outcome(spec: str, settings: str, said: Flags, relevant: Flags | None) -> Outcome:
    if relevant is None:
        measure, figures, hits, of = "accuracy", progressive(said), said, np.ones(len(said), np.bool_)
    else:
        measure, hits, of = "precision", said & relevant, said
        figures = [
            share("would forward", int(said.sum()), len(said)),
            share("precision", int(hits.sum()), int(said.sum())),
            share("forwards, of what is relevant", int(hits.sum()), int(relevant.sum())),
        ]
    return Outcome(
        learner=spec,
        settings=settings,
        measure=measure,
        main=measure,
        figures=figures,
        curve=_curve(hits, of),
        notes=[],
    )


def _curve(hits: Flags, of: Flags) -> list[tuple[int, float]]:
    """The running share at some of the observations, the last among them."""
    counted = hits[of]
    step = max(1, -(-len(counted) // POINTS))
    counts = np.arange(len(counted), 0, -step)[::-1]
    sums = np.cumsum(counted)
    return [(int(count), float(sums[count - 1] / count)) for count in counts]
