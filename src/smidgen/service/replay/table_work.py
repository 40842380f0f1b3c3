"""A piece of a table's replay: some learners, or some keys, play the rows; what comes back are bits of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from smidgen.evaluate.play import play
from smidgen.learners import Learner, Loop
from smidgen.service.guests import welcome
from smidgen.service.insight.bench import Looked
from smidgen.service.insight.specs import other_body
from smidgen.service.models.building import Blueprint
from smidgen.service.replay.opening import files_of
from smidgen.service.replay.tables import Table, TableRows, looked_at
from smidgen.service.replay.work import Piece, now_and_then


class Bits(msgspec.Struct, kw_only=True):
    """What came of the rows of some keys.

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
    made = Blueprint(other_body(table.body, spec))
    made.guarded = False
    return made


def played(settings: dict[str, Any]) -> Iterator[int | bytes]:
    """Play the rows; the answer is `Bits` in MessagePack."""
    piece = msgspec.convert(settings, Piece)
    welcome(piece.modules)
    table = Table(piece.log, files_of(Path(piece.log)))
    players = {spec: _Players(blueprint_of(table, spec)) for spec in piece.learners}
    looked = Looked(piece.part, piece.of)
    rows = np.empty(0, np.bool_)
    pages: list[Any] = []
    said: dict[str, list[Any]] = {spec: [] for spec in players}

    def follow() -> Iterator[int]:
        done = 0
        for batch in table.batches():
            done += len(batch.y)
            mine = batch
            if batch.keys is not None and looked.of > 1:
                pages.append(looked_at(batch.keys, looked))
                mine = _chosen(batch, pages[-1])
            for spec, each in players.items():
                actions = each.play(mine)
                said[spec].append(actions == mine.y if table.loop == Loop.LABEL else actions)
            yield done

    yield from now_and_then(follow())
    if pages:
        rows = np.concatenate(pages)
    packed = {spec: np.packbits(np.concatenate(each)).tobytes() for spec, each in said.items()}
    yield msgspec.msgpack.encode(Bits(rows=np.packbits(rows).tobytes() if pages else None, said=packed))


def _chosen(batch: TableRows, rows: Any) -> TableRows:
    keys = [key for key, kept in zip(batch.keys or (), rows.tolist(), strict=True) if kept]
    return TableRows(np.ascontiguousarray(batch.X[rows]), batch.y[rows], keys)


class _Players:
    """One learner, or one for each key."""

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint
        self._learners: dict[str | None, Learner] = {}

    def play(self, batch: TableRows) -> Any:
        """What was said to each row."""
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
