"""The workers of a store: who lives, who owns which shard, and how far behind this one is."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import msgspec

from smidgen.service.engine.description import committed_counts, describe_progress
from smidgen.service.schemas import UndoingReply
from smidgen.service.storage.records import pool_counts

if TYPE_CHECKING:
    from smidgen.service.http.metrics import Note
    from smidgen.service.http.resources import Service
    from smidgen.service.storage.records import Counts

#: How often a worker says how it is.
TELL_S = 0.5


def worker_status(here: Service) -> Note:
    """Status of this worker."""
    status = here.metrics.status_of(here.engine, here.writer)
    if here.options.board is not None:
        status["worker"] = here.options.worker
    if (owning := here.engine.leases) is not None:
        status |= {"worker": here.options.worker, "pid": os.getpid(), "name": owning.name, "able": here.writer.healthy}
        models = list(here.engine.shards.values())
        status["owned"] = sum(here.engine.owns(model.shard) for model in models)
        status["undoing"] = {each.name: describe_progress(each.undoing) for each in models if each.undoing is not None}
    return status


def all_statuses(here: Service) -> list[Note]:
    """Statuses of the workers of this machine: this one now, the others as last published."""
    own, board = worker_status(here), here.options.board
    if board is None:
        return [own]
    others = [each for each in board.read() if each["worker"] != here.options.worker]
    return sorted([own, *others], key=lambda each: int(each["worker"]))


def job_progress(here: Service, name: str) -> UndoingReply | None:
    """Progress of a job on a model's log that another worker of this machine runs."""
    for each in here.options.board.read() if here.options.board is not None else ():
        if (status := each.get("undoing", {}).get(name)) is not None:
            return msgspec.convert(status, UndoingReply)
    return None


async def publish_status(here: Service) -> None:
    """Publish the status of this worker, again and again."""
    while here.engine.store.shared:
        if (board := here.options.board) is not None:
            board.write(here.options.worker, worker_status(here))
        await asyncio.sleep(TELL_S)


def replication_lag(here: Service, only: str | None = None) -> list[tuple[str, Counts, int]]:
    """Of each model: its name, how far it is, and how many events of other workers this worker has not applied yet.

    A worker applies them before it decides or learns; so a lag is the amount to catch up with, not the age of answers
    are.
    """
    found = []
    for model in here.models():
        if only in (None, model.name):
            each = {part.shard: committed_counts(here.reading, part) for part in model.parts}
            behind = (max(0, each[part.shard].seq - max(part.caught, part.seq)) for part in model.parts)
            found.append((model.name, pool_counts(list(each.values())), sum(behind) if here.engine.store.shared else 0))
    return found


def describe_workers(here: Service, only: str | None = None) -> dict[str, Any]:
    """The workers as the pages show them."""
    seen = [part for model in here.models() if only in (None, model.name) for part in model.parts]
    shards = {each.shard: each.label for each in seen}
    owners = {shards[lease.shard]: lease.owner for lease in here.engine.store.leases() if lease.shard in shards}
    workers = [
        {name: each[name] for name in ("worker", "pid", "name", "able", "commits", "commands")}
        for each in all_statuses(here)
    ]
    return {
        "worker": here.options.worker,
        "workers": workers,
        "of": here.options.workers,
        "owners": owners,
        "lag": {name: lag for name, _, lag in replication_lag(here, only)},
    }
