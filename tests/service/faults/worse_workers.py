"""Workers with a defect, for `smidgen serve --import`; the environment says which. The checks must find each."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import smidgen
from smidgen.service.engine.writer import Writer
from smidgen.service.storage import sql, sql_writes


@smidgen.structure("worse workers")
@dataclass(frozen=True)
class Plugin:
    """Makes this module a plugin; it is not used."""

    what: str


VARIABLE = "SMIDGEN_TEST_DEFECT"


def vars_of(owner: object, **others: Any) -> None:
    """Put others in the place of what something has."""
    for name, value in others.items():
        setattr(owner, name, value)


def _answers_before_the_commit() -> None:
    commit = Writer._finish

    def finish(self: Writer, done: list[Any], postponed: Sequence[Any] = (), *, repeated: bool = False) -> None:
        self._post([job.answer() for job in done], free=False)
        time.sleep(0.05)
        commit(self, [], [], repeated=repeated)
        self._post([], postponed, free=True)

    def finish_here(self: Writer, done: list[Any]) -> None:
        self._hand_over(partial(finish, self, done))

    vars_of(Writer, _finish=finish, _finish_here=finish_here)


def _locks_no_shard() -> None:
    lock = " FOR NO KEY UPDATE"
    shards, of_ids = sql.LOCK_SHARDS.replace(lock, ""), sql.LOCK_SHARDS_OF_IDS.replace(lock, "")
    vars_of(sql, LOCK_SHARDS=shards, LOCK_FREE_SHARDS=shards)
    vars_of(sql, LOCK_SHARDS_OF_IDS=of_ids, LOCK_FREE_SHARDS_OF_IDS=of_ids)
    vars_of(sql_writes, MOVE_SHARDS=sql_writes.MOVE_SHARDS.replace(" AND shards.seq = n.expected", ""))


_DEFECTS = {"answers-before-the-commit": _answers_before_the_commit, "locks-no-shard": _locks_no_shard}
if (_which := os.environ.get(VARIABLE)) is not None:
    _DEFECTS[_which]()
