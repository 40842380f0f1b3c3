"""Workers with a defect, for `smidgen serve --import`; the environment says which. The checks must find each."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import smidgen
from smidgen.service.engine.writer import Writer
from smidgen.service.storage import postgres


@smidgen.structure("worse workers")
@dataclass(frozen=True)
class Guest:
    """What makes this module a guest; nobody uses it."""

    what: str


VARIABLE = "SMIDGEN_TEST_DEFECT"


def vars_of(owner: object, **others: Any) -> None:
    """Put others in the place of what something has."""
    for name, value in others.items():
        setattr(owner, name, value)


def _answers_before_the_commit() -> None:
    commit = Writer._finish

    def finish(self: Writer, done: list[Any], aside: Sequence[Any] = ()) -> None:
        self._post([job.answer() for job in done], free=False)
        time.sleep(0.05)
        commit(self, [], [])
        self._post([], aside, free=True)

    vars_of(Writer, _finish=finish)


def _locks_no_shard() -> None:
    lock = " FOR NO KEY UPDATE"
    enter, enter_of = postgres._ENTER.replace(lock, ""), postgres._ENTER_OF.replace(lock, "")
    vars_of(postgres, _ENTER=enter, _ENTER_OF=enter_of, _ENTER_FREE=enter_of)

    def patient(self: postgres.PostgresShards, sql: str) -> str:
        return sql

    vars_of(postgres.PostgresShards, _patient=patient)


_DEFECTS = {"answers-before-the-commit": _answers_before_the_commit, "locks-no-shard": _locks_no_shard}
if (_which := os.environ.get(VARIABLE)) is not None:
    _DEFECTS[_which]()
