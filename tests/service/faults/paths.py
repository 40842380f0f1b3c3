"""Ways through the service that chance or the environment chooses, for `smidgen serve --import`."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass
from typing import Any

import smidgen
from service.faults.worse_workers import vars_of
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.leases import ShardLeases
from smidgen.service.http.routing import Router
from smidgen.service.storage.postgres_batch import PostgresLocks

#: ``locks``: every batch locks its shards, and nothing is passed on. ``mixed``: chance chooses for each batch and
#: request, and chooses whether a worker knows that it has lost a lease.
VARIABLE = "SMIDGEN_TEST_PATH"
#: Seconds by which the clock of every second process is ahead.
SKEW_VARIABLE = "SMIDGEN_TEST_SKEW"


@smidgen.structure("paths")
@dataclass(frozen=True)
class Guest:
    """Makes this module a plugin; it is not used."""

    what: str


_begin, _owner, _epoch, _init = PostgresLocks.begin, Router._owner, ShardLeases.epoch, Engine.__init__


def _is_other() -> bool:
    return os.environ[VARIABLE] == "locks" or random.random() < 0.5


def _begin_otherwise(self: PostgresLocks, *, local: bool = False) -> bool:
    if _is_other():
        self.doubt()
    return _begin(self, local=local)


def _owner_otherwise(self: Router, target: bytes, body: bytes) -> Any:
    return None if _is_other() else _owner(self, target, body)


def _epoch_as_before(self: ShardLeases, shard: int) -> int | None:
    """The epoch of a lease that another worker may have by now."""
    epoch = _epoch(self, shard)
    if epoch is not None:
        _known.setdefault(id(self), {})[shard] = epoch
    elif random.random() < 0.5:
        return _known.get(id(self), {}).get(shard)
    return epoch


_known: dict[int, dict[int, int]] = {}


def _with_another_clock(self: Engine, *arguments: Any, **options: Any) -> None:
    ahead = float(os.environ[SKEW_VARIABLE]) * (os.getpid() % 2)
    _init(self, *arguments, **{**options, "clock": lambda: time.time() + ahead})


if (_path := os.environ.get(VARIABLE)) is not None:
    vars_of(PostgresLocks, begin=_begin_otherwise)
    vars_of(Router, _owner=_owner_otherwise)
    if _path == "mixed":
        vars_of(ShardLeases, epoch=_epoch_as_before)
if SKEW_VARIABLE in os.environ:
    vars_of(Engine, __init__=_with_another_clock)
