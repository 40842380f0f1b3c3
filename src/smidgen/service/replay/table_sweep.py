"""A table through several learners, shared out by learner or by key; each plays a run of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen.errors import InvalidArgument
from smidgen.jobs import Task, answers
from smidgen.jobs import backend as place_of_work
from smidgen.learners import Loop, recommended
from smidgen.service.insight.estimates import Estimate, share
from smidgen.service.insight.whatif import POINTS, Outcome, WhatIf
from smidgen.service.loops.labelling import progressive
from smidgen.service.replay import table_work
from smidgen.service.replay.opening import files_of
from smidgen.service.replay.sharing_out import by_key, by_learner
from smidgen.service.replay.table_work import Bits, blueprint_of
from smidgen.service.replay.tables import Table
from smidgen.service.replay.work import Piece

#: So much work is worth a process: rows, each once for every learner; a dear row counts as several.
WORTH = 500_000
#: So many multiplications more make a row twice as dear.
DEAR = 5_000
OWN_RUN = (
    "the table has the answers of all rows: each learner plays a run of its own, and hears what it would have heard"
)

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
    """Play a table through learners; see `smidgen.service.replay.sweep.replay`."""
    table = Table(log, files_of(Path(log)))
    given = list(dict.fromkeys(learners)) or [_usual(table)]
    made = {spec: blueprint_of(table, spec) for spec in given}  # refuses what makes no sense
    if split == "key" and not table.keyed:
        raise InvalidArgument("the table has no column key to split by", "leave the split out, or split by learner")
    dear = {spec: 1 + each.cost.of(table.dim) / DEAR for spec, each in made.items()}
    if backend == "processes":
        jobs = max(1, min(jobs, int(table.rows * sum(dear.values()) / WORTH)))
    path = str(Path(log).absolute())
    piece = Piece(log=path, data="", learners=given, own_too=False, modules=list(modules))
    keyed = split == "key" or (split == "auto" and table.keyed and len(given) < jobs)
    pieces = by_key(piece, jobs) if keyed else by_learner(piece, jobs, dear)
    tasks = [Task(f"{table_work.__name__}:{table_work.played.__name__}", msgspec.to_builtins(each)) for each in pieces]
    total = table.rows * len(tasks)
    told = answers(place_of_work(backend, jobs), tasks, None if progress is None else lambda at: progress(at, total))
    said = _together(table, told)
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


def _together(table: Table, told: Sequence[bytes]) -> dict[str, Flags]:
    """What each learner said to every row, in the order of the rows."""
    found: dict[str, Flags] = {}
    for each in told:
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
