"""The models of a database, by name and by number, and the one way to write to their logs."""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from smidgen.service.messages import ModelBody
from smidgen.service.models.building import Blueprint, canonical
from smidgen.service.models.served import Served
from smidgen.service.refusals import Conflict, Unknown
from smidgen.service.store.crash_points import reach
from smidgen.service.store.log import Log
from smidgen.service.store.snapshots import Snapshots


class Registry:
    """The models in memory.

    Parameters
    ----------
    log
        The log, over the one writing connection.
    snapshots
        The files that tell how much of a log is not in a snapshot yet.

    Attributes
    ----------
    by_name, by_id
        The models.
    written
        How many events were written since the start.
    """

    def __init__(self, log: Log, snapshots: Snapshots) -> None:
        self._log = log
        self._snapshots = snapshots
        self.by_name: dict[str, Served] = {}
        self.by_id: dict[int, Served] = {}
        self.written = 0

    @property
    def connection(self) -> sqlite3.Connection:
        """The one writing connection."""
        return self._log.connection

    def load(self) -> None:
        """Read the models from disk."""
        self.by_name.clear()
        self.by_id.clear()
        for id, name, body, created, archived in self.connection.execute(
            "SELECT id, name, body, created_at, archived_at FROM models ORDER BY id"
        ).fetchall():
            blueprint = Blueprint(msgspec.json.decode(body, type=ModelBody))
            model = Served(id, name, blueprint, created, archived, **self._log.counts(id))
            newest = next(self._snapshots.of_log(id, self._log), None)
            model.fresh = model.seq - (newest.seq if newest is not None else 0)
            self._enter(model)

    def get(self, name: str) -> Served:
        """The model of this name."""
        if name not in self.by_name:
            raise Unknown(f"there is no model {name!r}", "create it first: PUT /v1/models/NAME")
        return self.by_name[name]

    def create(self, name: str, body: ModelBody, now: float) -> bool:
        """Make a model; False if it is there already, with the same settings."""
        content = canonical(body)
        if (old := self.by_name.get(name)) is not None:
            if old.archived_at is not None:
                raise Conflict(f"the model {name!r} is archived", "choose another name; its log stays")
            if canonical(old.blueprint.body) != content:
                raise Conflict(f"the model {name!r} has other settings", "choose another name, or send the same body")
            return False
        blueprint = Blueprint(body)
        cursor = self.connection.execute(
            "INSERT INTO models (name, body, created_at) VALUES (?, ?, ?)", (name, content, now)
        )
        model = Served(int(cursor.lastrowid or 0), name, blueprint, now)
        self._enter(model)
        self.append(model, "created", None, None, now, {"model": msgspec.Raw(content)})
        return True

    def archive(self, name: str, now: float) -> None:
        """No more decisions; the log stays."""
        model = self.get(name)
        if model.archived_at is None:
            model.archived_at = now
            self.connection.execute("UPDATE models SET archived_at = ? WHERE id = ?", (now, model.id))
            self.append(model, "archived", None, None, now, {})

    def append(self, model: Served, type: str, decision: str | None, key: str | None, at: float, body: Any) -> int:
        """Write the next event of a model; its number."""
        model.seq += 1
        model.fresh += 1
        self.written += 1
        self._log.append(model.id, model.seq, type, decision, key, at, body)
        reach(f"{type}-appended")
        return model.seq

    def _enter(self, model: Served) -> None:
        self.by_name[model.name] = self.by_id[model.id] = model
