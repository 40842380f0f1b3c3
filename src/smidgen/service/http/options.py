"""What `smidgen serve` sets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from smidgen.service.http.board import Board
from smidgen.service.store.places import Database


@dataclass(frozen=True)
class Options:
    """What `smidgen serve` sets.

    Attributes
    ----------
    data
        The data folder, or the database.
    max_body
        The largest body in bytes.
    max_connections
        How many connections are served at once; past it they are turned away.
    snapshot_every, keyed_in_memory
        See `Engine`.
    synchronous
        SQLite's setting.
    retention_s
        After how many seconds events are folded into base states and erased, of models that do not say themselves; None
        if they stay.
    modules
        What guests bring: imported before anything else.
    personalizer, apprentice
        The model that calls of the retired hosted product mean, and whether it only watches what the app would do.
    workers, worker
        How many workers share the port, and which of them this is, from 0.
    board
        Where they say how they are.
    """

    data: Path | Database
    max_body: int = 8 << 20
    max_connections: int = 1_000
    snapshot_every: int = 20_000
    keyed_in_memory: int = 2_000
    synchronous: str = "FULL"
    retention_s: float | None = None
    modules: tuple[str, ...] = ()
    personalizer: str = "personalizer"
    apprentice: bool = False
    workers: int = 1
    worker: int = 0
    board: Board | None = None
