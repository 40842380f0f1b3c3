"""The models of a store, by name and by slot, and the one way to make and to archive them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from smidgen import records
from smidgen.service.messages import ModelBody
from smidgen.service.models.building import Blueprint, canonical
from smidgen.service.models.hashed_names import HashedNames
from smidgen.service.models.served import Era, Served
from smidgen.service.models.sharing import Shared
from smidgen.service.models.spreading import name_and_part, row_names
from smidgen.service.models.stories import find
from smidgen.service.models.terms import Terms, read, told_of
from smidgen.service.models.trials import champion_of, filled, joined, named, refuse_second
from smidgen.service.models.undo import Undo
from smidgen.service.refusals import Conflict, Impossible, UnknownModel
from smidgen.service.store import bodies, formats
from smidgen.service.store.log import EventLog
from smidgen.service.store.protocol import Reading, Store
from smidgen.service.store.rows import Counts, DecisionRow, ModelRow

if TYPE_CHECKING:
    from smidgen.service.models.entrance import Entrance


class Models:
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
    entrance
        The way into slots, where others write to them too.
    """

    def __init__(self, store: Store, undo: Undo) -> None:
        self._store = store
        self._undo = undo
        self._rows: dict[int, ModelRow] = {}
        self.entrance: Entrance | None = None
        self.by_name: dict[str, Served] = {}
        self.by_slot: dict[int, Served] = {}

    def load(self) -> None:
        """Read the models from the store."""
        for model in served(self._store):
            newest = next((state for state in self._store.states(model.slot) if state.own), None)
            model.saved = newest.seq if newest is not None else 0
            self._name_columns(model)
            model.caught = model.seq
            self.by_slot[model.slot] = model
        self.by_name = gathered(self.by_slot.values())

    def refresh(self) -> None:
        """Read the rows of the models anew, and take over what others changed; models in memory stay the objects."""
        by_slot = dict(self.by_slot)
        for row in self._store.models():
            if self._rows.get(row.id) == row and row.slot in by_slot:
                continue
            self._rows[row.id] = row
            blueprint = recorded(msgspec.json.decode(row.body, type=ModelBody), row.resolved)
            if (model := by_slot.get(row.slot)) is None:
                model = by_slot[row.slot] = _served(row, blueprint, self._store.counts(row.slot))
                model.saved = model.caught = model.seq
                self._name_columns(model)
                _link(model, row.resolved, by_slot.values())
            model.blueprint, model.past = blueprint, eras(row.resolved)
            model.archived_at, (model.name, model.part) = row.archived_at, name_and_part(row.name)
        self.by_slot, self.by_name = by_slot, gathered(by_slot.values())

    def _name_columns(self, model: Served) -> None:
        if model.hashed is not None and model.blueprint.dim is not None:
            model.hashed = HashedNames.read(self._store, model.slot, model.blueprint.dim)

    def known(self, name: str) -> Served:
        """The model of this name, as it is in memory."""
        if (model := self.by_name.get(name)) is None:
            raise UnknownModel(f"there is no model {name!r}", "create it first: PUT /v1/models/NAME")
        return model

    def get(self, name: str, keys: Iterable[str | None] | None = None) -> Served:
        """The model of this name; where others write too, it is entered, so that it is as it is.

        Of a model with several slots it is the first, and all are entered, or, if there are keys, only theirs.
        """
        if (entrance := self.entrance) is None:
            return self.known(name)
        if name not in self.by_name:
            entrance.look()
        while True:
            model = self.known(name)
            entrance.enter(*(model.parts if keys is None else [model.of(key) for key in keys]))
            if self.by_name.get(name) is model:  # nobody has given the name to another
                return model

    def hold(self, *models: Served) -> bool:
        """Enter the slots of models, where others write too; whether these wrote anything since."""
        return self.entrance is not None and self.entrance.enter(*models)

    def find(self, log: EventLog, id: str, allowed: str | None) -> tuple[DecisionRow, Served]:
        """A decision and its model, which is entered; one of a model that may not be seen looks unknown."""
        if self.entrance is not None and (row := self._store.decision(id)) is not None:
            if row.slot not in self.by_slot:
                self.entrance.look()
            model = self.by_slot.get(row.slot)
            if model is not None and not self.entrance.enter(model) and model.seen_by(allowed):
                return row, model  # as it was read: nobody wrote since
        return find(log, self.by_slot, id, allowed)

    def settled(self, body: ModelBody) -> ModelBody:
        """The settings, with what they leave to a champion."""
        body = named(body)
        if (champion := champion_of(body)) is not None:
            if (found := self.by_name.get(champion)) is None:
                raise Impossible(f"there is no model {champion!r} to stand beside", "create it first")
            body = filled(body, found)
        if body.slots > 1 and not body.keyed:
            raise Impossible(
                f"slots is {body.slots}, and the model has no keys to spread over them",
                'leave slots out, or make the model with "keyed": true',
            )
        return body

    def create(self, name: str, body: ModelBody, now: float) -> bool:
        """Make a model; False if it is there already, with the same settings."""
        self._meet(name, champion_of(body))
        body = self.settled(body)
        content = canonical(body)
        if (old := self.by_name.get(name)) is not None:
            if old.archived_at is not None:
                raise Conflict(
                    f"the model {name!r} is archived",
                    "choose another name; or let it decide again (POST …:revive), or free its name (POST …:rename)",
                )
            if canonical(old.origin.body) != content:
                raise Conflict(f"the model {name!r} has other settings", "choose another name, or send the same body")
            return False
        leader = champion_of(body)
        blueprint = Blueprint(body) if leader is None else joined(name, body, self.by_name[leader])
        self.begin(name, blueprint, now)
        return True

    def _meet(self, *names: str | None) -> None:
        """Where others write too: enter those of these models that are there."""
        if self.entrance is not None:
            if any(name not in self.by_name for name in names if name is not None):
                self.entrance.look()
            for name in names:
                if name is not None and name in self.by_name:
                    self.get(name)

    def begin(self, name: str, blueprint: Blueprint, now: float) -> Served:
        """Enter a new model; what was amended since its settings were made is amended here too."""
        parts: list[Served] = []
        for row in row_names(name, blueprint.body.slots):
            parts.append(model := self._enter(row, blueprint, now))
            model.parts = parts
        told = told_of(blueprint, Terms.of(blueprint.body), blueprint.terms)
        if told["settings"] or told["labels"]:
            content = bodies.write({"changes": {}, "learn": records.encode(told)})
            for each in parts:
                self._store.append(each.slot, "amended", now, content)
        self.by_name[name] = parts[0]
        return parts[0]

    def _enter(self, row_name: str, blueprint: Blueprint, now: float) -> Served:
        """Enter a new model, or one slot of it, with settings that were checked."""
        content, found, (name, part) = canonical(blueprint.body), resolved(blueprint), name_and_part(row_name)
        if (leader := champion_of(blueprint.body)) is not None and leader in self.by_name:
            found["leader"] = self.by_name[leader].parts[part].id  # names may change, once it is archived
        row = self._store.create(row_name, content, found, now)
        if self.entrance is not None:
            self.entrance.made(row.slot)
        told = {"format": formats.LOG, "model": msgspec.json.decode(content), "resolved": found}
        if row_name != name:
            told["slot"] = part
        self._store.append(row.slot, "created", now, bodies.write(told))
        model = _served(row, blueprint, self._store.counts(row.slot))
        _link(model, found, self.by_slot.values())
        self.by_slot[row.slot] = model
        self._undo.note(self._leave, name, row.slot)
        return model

    def put(self, model: Served, blueprint: Blueprint, past: tuple[Era, ...]) -> None:
        """Go by other settings; ``past`` are those that it had before."""
        self._undo.note(setattr, model, "blueprint", model.blueprint)
        self._undo.note(setattr, model, "past", model.past)
        model.blueprint, model.past = blueprint, past
        self._rows.pop(model.id, None)
        leader = {"leader": model.leader.id} if model.leader is not None else {}
        self._store.amend(model.id, _whole(blueprint, past) | leader)

    def archive(self, name: str, now: float) -> None:
        """No more decisions; the log stays."""
        for model in self.get(name).parts:
            if model.archived_at is None:
                self._store.archive(model.id, now)
                self._rows.pop(model.id, None)
                self._store.append(model.slot, "archived", now, None)
                model.archived_at = now
                self._undo.note(setattr, model, "archived_at", None)

    def revive(self, name: str, now: float) -> None:
        """An archived model decides again, and goes on where it was."""
        for model in self.get(name).parts:
            if model.archived_at is not None:
                if model.leader is not None:
                    refuse_second(model.leader, shadow=model.blueprint.body.shadow_of is not None)
                self._store.revive(model.id)
                self._rows.pop(model.id, None)
                self._store.append(model.slot, "revived", now, None)
                self._undo.note(setattr, model, "archived_at", model.archived_at)
                model.archived_at = None

    def rename(self, name: str, to: str, now: float) -> None:
        """Give an archived model another name, so that its own is free."""
        model = self.get(name)
        if model.archived_at is None:
            raise Conflict(f"the model {name!r} is at work", "apps know it by its name; archive it first, or copy it")
        self._meet(to)
        if to in self.by_name:
            raise Conflict(f"there is a model {to!r} already", "choose another name")
        for part, row in zip(model.parts, row_names(to, len(model.parts)), strict=True):
            self._store.rename(part.id, row)
            self._rows.pop(part.id, None)
            self._store.append(part.slot, "renamed", now, bodies.write({"from": name, "to": to}))
        self._call(model, to)
        self._undo.note(self._call, model, name)

    def _call(self, model: Served, name: str) -> None:
        """Know a model by another name."""
        del self.by_name[model.name]
        for part in model.parts:
            part.name = name
        self.by_name[name] = model

    def _leave(self, name: str, slot: int) -> None:
        self.by_name.pop(name, None)
        model = self.by_slot.pop(slot)
        if model.leader is not None:
            model.leader.followers.remove(model)


def resolved(blueprint: Blueprint) -> dict[str, Any]:
    """What is recorded with a model beside its body: what was left open there and settled when it was made."""
    return {
        "learner": blueprint.kind,
        "settings": blueprint.record(),
        "guarded": blueprint.guarded,
        "terms": msgspec.to_builtins(blueprint.terms),
        **({"shared": msgspec.to_builtins(blueprint.shared)} if blueprint.body.keyed else {}),
    }


def _whole(blueprint: Blueprint, past: tuple[Era, ...]) -> dict[str, Any]:
    """The same with the settings that it had before, if another model was promoted into its place."""
    if not past:
        return resolved(blueprint)
    before = [
        _with_body(era.blueprint) | {"until": era.until, "version": era.version, "by": era.by, "source": era.source}
        for era in past
    ]
    return _with_body(blueprint) | {"past": before}


def _with_body(blueprint: Blueprint) -> dict[str, Any]:
    return resolved(blueprint) | {"body": msgspec.json.decode(canonical(blueprint.body))}


def eras(found: dict[str, Any]) -> tuple[Era, ...]:
    """The settings that a model had before its present ones, from what is recorded with it."""
    return tuple(
        Era(
            recorded(msgspec.convert(each["body"], ModelBody), each),
            each["until"],
            each["version"],
            each["by"],
            each["source"],
        )
        for each in found.get("past", ())
    )


def recorded(body: ModelBody, found: dict[str, Any] | None) -> Blueprint:
    """The blueprint of a model that was made before; one whose log does not say what was resolved is built anew."""
    if found is not None and "body" in found:
        body = msgspec.convert(found["body"], ModelBody)
    settings, guarded = (found or {}).get("settings"), bool((found or {}).get("guarded"))
    if settings is not None:
        shared = msgspec.convert((found or {}).get("shared", {}), Shared)
        return Blueprint.recorded(body, settings, read(found, body), guarded=guarded, shared=shared)
    blueprint = Blueprint(body)
    blueprint.guarded = guarded
    return blueprint


def served(reading: Reading) -> list[Served]:
    """The models of a store, in the order of their making, each slot of theirs, without their learners."""
    found: list[Served] = []
    for row in reading.models():
        blueprint = recorded(msgspec.json.decode(row.body, type=ModelBody), row.resolved)
        found.append(model := _served(row, blueprint, reading.counts(row.slot)))
        model.past = eras(row.resolved)
        _link(model, row.resolved, found)
    gathered(found)
    return found


def gathered(models: Iterable[Served]) -> dict[str, Served]:
    """The first slot of each model by its name, those of one model made known to one another."""
    found: dict[str, list[Served]] = {}
    for model in sorted(models, key=lambda each: each.part):
        found.setdefault(model.name, []).append(model)
    for parts in found.values():
        for model in parts:
            model.parts = parts
    return {name: parts[0] for name, parts in found.items()}


def _link(model: Served, found: dict[str, Any], models: Iterable[Served]) -> None:
    """Let a model know the champion that it stands beside, and that one it."""
    if (id := found.get("leader")) is None:
        return
    if (leader := next((each for each in models if each.id == id), None)) is not None:
        model.leader = leader
        leader.followers.append(model)


def _served(row: ModelRow, blueprint: Blueprint, counts: Counts | None) -> Served:
    hashed = blueprint.loop.vectors.hashed and blueprint.dim is not None
    name, part = name_and_part(row.name)
    return Served(
        row.id,
        name,
        row.slot,
        blueprint,
        row.created_at,
        row.archived_at,
        counts if counts is not None else Counts(),
        hashed=HashedNames(blueprint.dim or 1) if hashed else None,
        part=part,
    )
