"""The models of a store, by name and by slot, and the one way to make and to archive them."""

from __future__ import annotations

from typing import Any

import msgspec

from smidgen.service.messages import ModelBody
from smidgen.service.models.building import Blueprint, canonical
from smidgen.service.models.hashed_names import HashedNames
from smidgen.service.models.served import Served
from smidgen.service.models.sharing import Shared
from smidgen.service.models.terms import read
from smidgen.service.models.undo import Undo
from smidgen.service.refusals import Conflict, UnknownModel
from smidgen.service.store import bodies
from smidgen.service.store.protocol import Reading, Store
from smidgen.service.store.rows import Counts, ModelRow


class Registry:
    """The models in memory.

    Parameters
    ----------
    store
        Where they are kept.
    undo
        What is to be put back if a command fails.

    Attributes
    ----------
    by_name, by_slot
        The models.
    """

    def __init__(self, store: Store, undo: Undo) -> None:
        self._store = store
        self._undo = undo
        self.by_name: dict[str, Served] = {}
        self.by_slot: dict[int, Served] = {}

    def load(self) -> None:
        """Read the models from the store."""
        for model in served(self._store):
            newest = next((state for state in self._store.states(model.slot) if state.own), None)
            model.saved = newest.seq if newest is not None else 0
            if model.hashed is not None and model.blueprint.dim is not None:
                model.hashed = HashedNames.read(self._store, model.slot, model.blueprint.dim)
            self._enter(model)

    def get(self, name: str) -> Served:
        """The model of this name."""
        if name not in self.by_name:
            raise UnknownModel(f"there is no model {name!r}", "create it first: PUT /v1/models/NAME")
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
        self.enter(name, Blueprint(body), now)
        return True

    def enter(self, name: str, blueprint: Blueprint, now: float) -> Served:
        """Enter a new model with settings that were checked."""
        content, found = canonical(blueprint.body), resolved(blueprint)
        row = self._store.create(name, content, found, now)
        told = {"model": msgspec.json.decode(content), "resolved": found}
        self._store.append(row.slot, "created", now, bodies.write(told))
        model = _served(row, blueprint, self._store.counts(row.slot))
        self._enter(model)
        self._undo.note(self._leave, name, row.slot)
        return model

    def put(self, model: Served, blueprint: Blueprint) -> None:
        """Go by other settings."""
        self._undo.note(setattr, model, "blueprint", model.blueprint)
        model.blueprint = blueprint

    def archive(self, name: str, now: float) -> None:
        """No more decisions; the log stays."""
        model = self.get(name)
        if model.archived_at is None:
            self._store.archive(model.id, now)
            self._store.append(model.slot, "archived", now, None)
            model.archived_at = now
            self._undo.note(setattr, model, "archived_at", None)

    def _enter(self, model: Served) -> None:
        self.by_name[model.name] = self.by_slot[model.slot] = model

    def _leave(self, name: str, slot: int) -> None:
        del self.by_name[name], self.by_slot[slot]


def resolved(blueprint: Blueprint) -> dict[str, Any]:
    """What is recorded with a model beside its body: what was left open there and settled when it was made."""
    return {
        "learner": blueprint.kind,
        "settings": blueprint.record(),
        "guarded": blueprint.guarded,
        "terms": msgspec.to_builtins(blueprint.terms),
        **({"shared": msgspec.to_builtins(blueprint.shared)} if blueprint.body.keyed else {}),
    }


def recorded(body: ModelBody, found: dict[str, Any] | None) -> Blueprint:
    """The blueprint of a model that was made before; one whose log does not say what was resolved is built anew."""
    settings, guarded = (found or {}).get("settings"), bool((found or {}).get("guarded"))
    if settings is not None:
        shared = msgspec.convert((found or {}).get("shared", {}), Shared)
        return Blueprint.recorded(body, settings, read(found, body), guarded=guarded, shared=shared)
    blueprint = Blueprint(body)
    blueprint.guarded = guarded
    return blueprint


def served(reading: Reading) -> list[Served]:
    """The models of a store, in the order of their making, without their learners."""
    return [
        _served(row, recorded(msgspec.json.decode(row.body, type=ModelBody), row.resolved), reading.counts(row.slot))
        for row in reading.models()
    ]


def _served(row: ModelRow, blueprint: Blueprint, counts: Counts | None) -> Served:
    hashed = blueprint.loop.vectors.hashed and blueprint.dim is not None
    return Served(
        row.id,
        row.name,
        row.slot,
        blueprint,
        row.created_at,
        row.archived_at,
        counts if counts is not None else Counts(),
        hashed=HashedNames(blueprint.dim or 1) if hashed else None,
    )
