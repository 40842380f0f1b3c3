"""What the commands look at, while a service may be running: read only, one moment for all questions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from smidgen.service.messages import ModelBody
from smidgen.service.models.building import Blueprint
from smidgen.service.models.served import Served
from smidgen.service.refusals import StorageFailed, Unknown
from smidgen.service.store.database import open_database
from smidgen.service.store.log import Log
from smidgen.service.store.snapshots import Snapshots


class Inspection:
    """A data folder as it was when it was opened; a running service is not disturbed.

    Parameters
    ----------
    folder
        The service's data folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.snapshots = Snapshots(folder)
        try:
            self.connection = open_database(folder, readonly=True)
            self.connection.execute("BEGIN")
            self.connection.execute("SELECT count(*) FROM models").fetchone()
        except sqlite3.Error as error:
            raise StorageFailed(
                f"the database in {folder} cannot be read: {error}", "give the --data folder of a service"
            ) from error
        self.log = Log(self.connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def models(self) -> list[Served]:
        """The models, in the order of their making."""
        rows = self.connection.execute("SELECT id, name, body, created_at, archived_at FROM models ORDER BY id")
        return [
            Served(
                id, name, Blueprint(msgspec.json.decode(body, type=ModelBody)), made, archived, **self.log.counts(id)
            )
            for id, name, body, made, archived in rows.fetchall()
        ]

    def model(self, name: str) -> Served:
        """The model of this name."""
        models = {model.name: model for model in self.models()}
        if name not in models:
            raise Unknown(f"there is no model {name!r} in {self.folder}", f"there are: {', '.join(models) or 'none'}")
        return models[name]


def existing(folder: Path) -> Path:
    """The folder, if a service has used it; commands that only change something should not make one."""
    if not (folder / "smidgen.db").exists():
        raise StorageFailed(f"there is no database in {folder}", "give the --data folder of a service")
    return folder


@contextmanager
def writing(folder: Path) -> Iterator[sqlite3.Connection]:
    """The database for a small change beside a running service: waits its turn, and lasts when it returns."""
    try:
        connection = open_database(folder)
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        finally:
            connection.close()
    except (sqlite3.Error, OSError) as error:
        raise StorageFailed(f"the database in {folder} cannot be written: {error}", "see its --data folder") from error
