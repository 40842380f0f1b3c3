"""All models by name and shard, and the catalogue of what can be created.

The way into shards that other workers write to as well.

A command acquires the shards that it touches before it reads anything: from then on nobody else writes to them until
the batch ends. Acquiring a shard applies the events that others wrote since.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from smidgen import serialization
from smidgen.errors import FOREIGN, InvalidArgument, SmidgenError
from smidgen.learners import Feedback, cards, learners
from smidgen.learners.recommended import USUAL, find
from smidgen.serialization import UNREADABLE
from smidgen.service.engine.blueprint import Blueprint, Shared, canonical, learners_for, settings_diff, with_salt
from smidgen.service.engine.champions import (
    champion_of,
    follower_blueprint,
    normalize,
    refuse_second,
    with_champion_defaults,
)
from smidgen.service.engine.learner_cache import ORDINARY, LearnerCache, OpenDecisions
from smidgen.service.engine.live_settings import LiveSettings, read_live_settings
from smidgen.service.engine.log_reader import EventLog
from smidgen.service.engine.model import HashedNames, ServedModel, SettingsEpoch, name_and_part, row_names
from smidgen.service.engine.stories import find_decision
from smidgen.service.engine.undo import UndoStack
from smidgen.service.errors import Conflict, Impossible, StorageFailed, UnknownModel, json_text
from smidgen.service.log import codec
from smidgen.service.loops.base import FeedbackKind, Loop
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import ModelBody
from smidgen.service.storage import formats
from smidgen.service.storage.protocol import Store, StoreReader
from smidgen.service.storage.records import Counts, DecisionRow, ModelRow, TokenRow
from smidgen.service.storage.sqlite_schema import RESTORE

# The models of a store, by name and by shard, and the one way to make and to archive them.


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
    by_name, by_shard
        The models.
    entrance
        The way into shards, where others write to them too.
    undone
        Called with a model whose making is undone: the next one may get its number, and its shard.
    """

    def __init__(self, store: Store, undo: UndoStack) -> None:
        self._store = store
        self._undo = undo
        self._rows: dict[int, ModelRow] = {}
        self.shard_access: ShardAccess | None = None
        self.on_undone: Callable[[ServedModel], None] = lambda model: None
        self.by_name: dict[str, ServedModel] = {}
        self.by_shard: dict[int, ServedModel] = {}

    def load(self) -> None:
        """Read the models from the store."""
        for model in load_models(self._store):
            states = self._store.states(model.shard)
            newest = next((state for state in states if state.own and not state.is_outdated), None)
            model.saved = newest.seq if newest is not None else 0
            self._name_columns(model)
            model.caught = model.seq
            self.by_shard[model.shard] = model
        self.by_name = models_by_name(self.by_shard.values())

    def refresh(self) -> None:
        """Read the models' rows again and apply others' changes. Models in memory keep their identity."""
        by_shard = dict(self.by_shard)
        for row in self._store.models():
            if self._rows.get(row.id) == row and row.shard in by_shard:
                continue
            self._rows[row.id] = row
            blueprint = recorded_blueprint(msgspec.json.decode(row.body, type=ModelBody), row.resolved)
            if (model := by_shard.get(row.shard)) is None:
                model = by_shard[row.shard] = _served_model(row, blueprint, self._store.counts(row.shard))
                model.saved = model.caught = model.seq
                self._name_columns(model)
                _link(model, row.resolved, by_shard.values())
            model.blueprint, model.past = blueprint, settings_epochs(row.resolved)
            model.archived_at, (model.name, model.part) = row.archived_at, name_and_part(row.name)
        self.by_shard, self.by_name = by_shard, models_by_name(by_shard.values())

    def _name_columns(self, model: ServedModel) -> None:
        if model.hashed is not None and model.blueprint.dim is not None:
            model.hashed = HashedNames.read(self._store, model.shard, model.blueprint.dim)

    def lookup(self, name: str) -> ServedModel:
        """The model of this name, as it is in memory."""
        if (model := self.by_name.get(name)) is None:
            raise UnknownModel(f'there is no model "{name}"', f"create it first: PUT /v1/models/{name}")
        return model

    def get(self, name: str, keys: Iterable[str | None] | None = None) -> ServedModel:
        """The model of this name; where others write too, it is entered, so that it is as it is.

        Of a model with several shards it is the first, and all are entered, or, if there are keys, only theirs.
        """
        if (entrance := self.shard_access) is None:
            return self.lookup(name)
        if name not in self.by_name:
            entrance.refresh(self._store.catalogue_number(now=True))
        while True:
            model = self.lookup(name)
            entrance.acquire(*(model.parts if keys is None else [model.shard_for(key) for key in keys]))
            if self.by_name.get(name) is model:  # nobody has given the name to another
                return model

    def acquire(self, *models: ServedModel) -> bool:
        """Enter the shards of models, where others write too; whether these wrote anything since."""
        return self.shard_access is not None and self.shard_access.acquire(*models)

    def find(self, log: EventLog, id: str, allowed: str | None) -> tuple[DecisionRow, ServedModel]:
        """A decision and its model, which is entered; one of a model that may not be seen looks unknown."""
        if self.shard_access is not None and (row := self._store.decision(id)) is not None:
            if row.shard not in self.by_shard:
                self.shard_access.refresh(self._store.catalogue_number(now=True))
            model = self.by_shard.get(row.shard)
            if model is not None and not self.shard_access.acquire(model) and model.is_visible_to(allowed):
                return row, model  # as it was read: nobody wrote since
        return find_decision(log, self.by_shard, id, allowed)

    def resolve_settings(self, body: ModelBody) -> ModelBody:
        """The settings, with what they leave to a champion."""
        body = normalize(body)
        if (champion := champion_of(body)) is not None:
            if (found := self.by_name.get(champion)) is None:
                raise Impossible(f"there is no model {json_text(champion)} to shadow or challenge", "create it first")
            body = with_champion_defaults(body, found)
        if body.shards > 1 and not body.keyed:
            raise Impossible(
                f"shards is {body.shards} and the model is not keyed",
                'remove "shards", or add "keyed": true: shards divide the keys of a model',
            )
        return body

    def create(self, name: str, body: ModelBody, now: float) -> bool:
        """Make a model; False if it is there already, with the same settings."""
        self._acquire_existing(name, champion_of(body))
        body = self.resolve_settings(body)
        content = canonical(body)
        if (old := self.by_name.get(name)) is not None:
            if old.archived_at is not None:
                raise Conflict(
                    f"the model {name!r} is archived",
                    "choose another name, restore the model (POST …:revive), or rename it (POST …:rename)",
                )
            if canonical(old.origin.body) != content:
                raise Conflict(
                    f'the model "{name}" exists with other settings', "choose another name, or send the same body"
                )
            return False
        leader = champion_of(body)
        blueprint = Blueprint(body) if leader is None else follower_blueprint(name, body, self.by_name[leader])
        self.add(name, blueprint, now)
        return True

    def _acquire_existing(self, *names: str | None) -> None:
        """With several workers: acquire the shards of those models that exist."""
        if self.shard_access is not None:
            if any(name not in self.by_name for name in names if name is not None):
                self.shard_access.refresh()
            for name in names:
                if name is not None and name in self.by_name:
                    self.get(name)

    def add(self, name: str, blueprint: Blueprint, now: float) -> ServedModel:
        """Enter a new model; what was amended since its settings were made is amended here too."""
        parts: list[ServedModel] = []
        if (holdout := with_salt(blueprint.terms.holdout)) is not blueprint.terms.holdout:
            blueprint = blueprint.amend(msgspec.structs.replace(blueprint.terms, holdout=holdout))
        for row in row_names(name, blueprint.body.shards):
            parts.append(model := self._add_shard(row, blueprint, now))
            model.parts = parts
        amendment = settings_diff(blueprint, LiveSettings.of(blueprint.body), blueprint.terms)
        if amendment["settings"] or amendment["labels"]:
            content = codec.encode({"changes": {}, "learn": serialization.encode(amendment)})
            for each in parts:
                self._store.append(each.shard, "amended", now, content)
        self.by_name[name] = parts[0]
        return parts[0]

    def _add_shard(self, row_name: str, blueprint: Blueprint, now: float) -> ServedModel:
        """Enter a new model, or one shard of it, with settings that were checked."""
        content, found, (name, part) = canonical(blueprint.body), resolved_settings(blueprint), name_and_part(row_name)
        if (leader := champion_of(blueprint.body)) is not None and leader in self.by_name:
            found["leader"] = self.by_name[leader].parts[part].id  # names may change, once it is archived
        row = self._store.create(row_name, content, found, now)
        if self.shard_access is not None:
            self.shard_access.add_new(row.shard)
        fields = {"format": formats.LOG, "model": msgspec.json.decode(content), "resolved": found}
        if row_name != name:
            fields["shard"] = part
        self._store.append(row.shard, "created", now, codec.encode(fields))
        model = _served_model(row, blueprint, self._store.counts(row.shard))
        _link(model, found, self.by_shard.values())
        self.by_shard[row.shard] = model
        self._undo.push(self._remove, name, row.shard)
        return model

    def replace_settings(self, model: ServedModel, blueprint: Blueprint, past: tuple[SettingsEpoch, ...]) -> None:
        """Go by other settings; ``past`` are those that it had before."""
        self._undo.push(setattr, model, "blueprint", model.blueprint)
        self._undo.push(setattr, model, "past", model.past)
        model.blueprint, model.past = blueprint, past
        self._rows.pop(model.id, None)
        leader = {"leader": model.leader.id} if model.leader is not None else {}
        self._store.amend(model.id, _resolved_with_past(blueprint, past) | leader)

    def archive(self, name: str, now: float) -> None:
        """No more decisions; the log stays."""
        for model in self.get(name).parts:
            if model.archived_at is None:
                self._store.archive(model.id, now)
                self._rows.pop(model.id, None)
                self._store.append(model.shard, "archived", now, None)
                model.archived_at = now
                self._undo.push(setattr, model, "archived_at", None)

    def revive(self, name: str, now: float) -> None:
        """An archived model decides again, and goes on where it was."""
        for model in self.get(name).parts:
            if model.archived_at is not None:
                if model.leader is not None:
                    refuse_second(model.leader, shadow=model.blueprint.body.shadow_of is not None)
                self._store.revive(model.id)
                self._rows.pop(model.id, None)
                self._store.append(model.shard, "revived", now, None)
                self._undo.push(setattr, model, "archived_at", model.archived_at)
                model.archived_at = None

    def rename(self, name: str, to: str, now: float) -> None:
        """Give an archived model another name, so that its own is free."""
        model = self.get(name)
        if model.archived_at is None:
            raise Conflict(
                f'the model "{name}" is active',
                "archive it before renaming it, or make a copy: apps call it by its name",
            )
        self._acquire_existing(to)
        if to in self.by_name:
            raise Conflict(f'a model "{to}" already exists', "choose another name")
        for part, row in zip(model.parts, row_names(to, len(model.parts)), strict=True):
            self._store.rename(part.id, row)
            self._rows.pop(part.id, None)
            self._store.append(part.shard, "renamed", now, codec.encode({"from": name, "to": to}))
        self._set_name(model, to)
        self._undo.push(self._set_name, model, name)

    def _set_name(self, model: ServedModel, name: str) -> None:
        """Know a model by another name."""
        del self.by_name[model.name]
        for part in model.parts:
            part.name = name
        self.by_name[name] = model

    def _remove(self, name: str, shard: int) -> None:
        self.by_name.pop(name, None)
        model = self.by_shard.pop(shard)
        if model.leader is not None:
            model.leader.followers.remove(model)
        self.on_undone(model)


def resolved_settings(blueprint: Blueprint) -> dict[str, Any]:
    """Settings that the body left open and that were resolved when the model was created, for its row."""
    return {
        "learner": blueprint.kind,
        "settings": blueprint.record(),
        "guarded": blueprint.guarded,
        "terms": msgspec.to_builtins(blueprint.terms),
        **({"shared": msgspec.to_builtins(blueprint.shared)} if blueprint.body.keyed else {}),
    }


def _resolved_with_past(blueprint: Blueprint, past: tuple[SettingsEpoch, ...]) -> dict[str, Any]:
    """Resolved settings with the earlier ones, if another model was promoted into this one."""
    if not past:
        return resolved_settings(blueprint)
    before = [
        _with_body(era.blueprint) | {"until": era.until, "version": era.version, "by": era.by, "source": era.source}
        for era in past
    ]
    return _with_body(blueprint) | {"past": before}


def _with_body(blueprint: Blueprint) -> dict[str, Any]:
    return resolved_settings(blueprint) | {"body": msgspec.json.decode(canonical(blueprint.body))}


def settings_epochs(found: dict[str, Any]) -> tuple[SettingsEpoch, ...]:
    """The settings that a model had before its present ones, from what is recorded with it."""
    return tuple(
        SettingsEpoch(
            recorded_blueprint(msgspec.convert(each["body"], ModelBody), each),
            each["until"],
            each["version"],
            each["by"],
            each["source"],
        )
        for each in found.get("past", ())
    )


def recorded_blueprint(body: ModelBody, found: dict[str, Any] | None) -> Blueprint:
    """Blueprint of an existing model. If its log has no resolved settings, they are resolved again."""
    if found is not None and "body" in found:
        body = msgspec.convert(found["body"], ModelBody)
    settings, guarded = (found or {}).get("settings"), bool((found or {}).get("guarded"))
    if settings is not None:
        shared = msgspec.convert((found or {}).get("shared", {}), Shared)
        return Blueprint.from_record(body, settings, read_live_settings(found, body), guarded=guarded, shared=shared)
    blueprint = Blueprint(body)
    blueprint.guarded = guarded
    return blueprint


def load_models(reading: StoreReader) -> list[ServedModel]:
    """The models of a store, in the order of their making, each shard of theirs, without their learners."""
    found: list[ServedModel] = []
    for row in reading.models():
        try:
            blueprint = recorded_blueprint(msgspec.json.decode(row.body, type=ModelBody), row.resolved)
            found.append(model := _served_model(row, blueprint, reading.counts(row.shard)))
            model.past = settings_epochs(row.resolved)
        except SmidgenError:
            raise
        except (*UNREADABLE, *FOREIGN) as error:
            raise StorageFailed(f'the settings of the model "{row.name}" cannot be read: {error}', RESTORE) from error
        _link(model, row.resolved, found)
    models_by_name(found)
    return found


def models_by_name(models: Iterable[ServedModel]) -> dict[str, ServedModel]:
    """The first shard of each model by its name, those of one model made known to one another."""
    found: dict[str, list[ServedModel]] = {}
    for model in sorted(models, key=lambda each: each.part):
        found.setdefault(model.name, []).append(model)
    for parts in found.values():
        for model in parts:
            model.parts = parts
    return {name: parts[0] for name, parts in found.items()}


def _link(model: ServedModel, found: dict[str, Any], models: Iterable[ServedModel]) -> None:
    """Link a model and its champion."""
    if (id := found.get("leader")) is None:
        return
    if (leader := next((each for each in models if each.id == id), None)) is not None:
        model.leader = leader
        leader.followers.append(model)


def _served_model(row: ModelRow, blueprint: Blueprint, counts: Counts | None) -> ServedModel:
    hashed = blueprint.loop.vectors.hashed and blueprint.dim is not None
    name, part = name_and_part(row.name)
    return ServedModel(
        row.id,
        name,
        row.shard,
        blueprint,
        row.created_at,
        row.archived_at,
        counts if counts is not None else Counts(),
        hashed=HashedNames(blueprint.dim or 1) if hashed else None,
        part=part,
    )


# What can be created: the loops, and the learners of each, as the pages show them.

_ASKED_ELSEWHERE = ("dim", "n_classes", "labels", "safe")


def catalogue() -> dict[str, Any]:
    """Learners by loop, the recommended one first."""
    return {name: [_entry(each, loop) for each in _sorted(loop)] for name, loop in loops.items()}


def describe_loops() -> dict[str, Any]:
    """The loops as they describe themselves: what may come back, and examples with the recommended learner."""
    return {
        name: {
            **loop.description(),
            "example": _example(loop),
            "back": _feedback_kinds(loop),
            "settings": _body_settings(),
        }
        for name, loop in loops.items()
    }


def first_learner(loop: type[Loop], feedback: str | None = None) -> str | None:
    """The learner to begin with, if any serves the loop."""
    names = learners_for(loop.name)
    return _recommended(loop, feedback) or (names[0] if names else None)


def _recommended(loop: type[Loop], feedback: str | None) -> str | None:
    names = learners_for(loop.name)
    wanted = (feedback,) if feedback is not None else (None, *loop.kinds.values())
    for served, kind in itertools.product((loop.name, *loop.served_by), wanted):
        try:
            found = find(served, kind)[0].__name__
        except InvalidArgument:
            continue
        if found in names and set(cards[found].kinds) & set(loop.kinds.values()):
            return found
    return None


def _feedback_kinds(loop: type[Loop]) -> list[dict[str, Any]]:
    """Kinds of feedback of a loop, the default first, each with its recommended learner and settings."""
    first = {field: body for _, body in loop.example.feedback for field in body}
    found: dict[str, dict[str, Any]] = {}
    order = [str(kind) for kind in USUAL.get(loop.name, ())]
    fields = sorted(loop.kinds.items(), key=lambda item: order.index(item[1]) if item[1] in order else len(order))
    for field, kind in fields:
        learner = _recommended(loop, kind) or next(
            (name for name in learners_for(loop.name) if kind in cards[name].kinds), None
        )
        if kind in found or learner is None:
            continue
        described = loop.words.back.get(kind) or FeedbackKind(title=kind[0].upper() + kind[1:])
        found[kind] = {
            "feedback": str(kind),
            "title": described.title,
            "note": described.note,
            "example": described.example or first.get(field, {}),
            "learner": learner,
            "recommended": _recommended(loop, kind) is not None,
            "settings": _settings(learner, kind),
        }
    return list(found.values())


def _settings(learner: str, kind: str | None = None) -> list[str]:
    """Settings of a model that make sense with this learner only, or with this kind of feedback."""
    accepted = inspect.signature(learners[learner]).parameters
    drawn = [
        said for said, name in (("explore", "floor"), ("min_share", "min_share"), ("safe", "safe")) if name in accepted
    ]
    return ["default_reward", "reward_range", "rewards", *drawn] if kind == Feedback.REWARD else drawn


def _body_settings() -> list[str]:
    """All that the body of a new model may have, so that pages ask for nothing that is not taken."""
    return list(ModelBody.__struct_fields__)


def _sorted(loop: type[Loop]) -> list[str]:
    first = first_learner(loop)
    return sorted(learners_for(loop.name), key=lambda name: (name != first, name))


def _entry(name: str, loop: type[Loop]) -> dict[str, Any]:
    parameters = inspect.signature(learners[name]).parameters
    card = cards[name]
    optional = {
        key: value.default
        for key, value in parameters.items()
        if value.default is not inspect.Parameter.empty and key not in _ASKED_ELSEWHERE
    }
    return {
        "name": name,
        "feedback": card.feedback_in_words,
        "kinds": [str(kind) for kind in card.kinds],
        "settings": _settings(name),
        "paper": card.paper,
        "bound": card.bound,
        "cost": card.cost,
        "features": loop.dim is None and ("dim" in parameters or "learner" in parameters),
        "params": dict(card.first),
        "optional": optional,
    }


def _example(loop: type[Loop]) -> dict[str, Any]:
    """The loop's example, with the learner for the feedback that it shows."""
    example: dict[str, Any] = msgspec.to_builtins(loop.example)
    kinds = [loop.kinds[field] for _, body in loop.example.feedback for field in body if field in loop.kinds]
    learner = first_learner(loop, kinds[0] if kinds else None)
    if knobs := example["model"].get("knobs"):  # they are its space, and how many they are decides on the learner
        found = find(loop.name, kinds[0] if kinds else None, len(knobs))[0].__name__
        return {**example, "model": {"loop": loop.name, "learner": found, **example["model"]}}
    model = {"loop": loop.name, "learner": learner, **example["model"]}
    first = cards[learner].first if learner is not None else {}
    if params := {**first, **model.get("params", {})}:
        model["params"] = params
    return {**example, "model": model}


class ShardAccess:
    """Takes shards for the batch that is open, and keeps the memory of this worker true to what others wrote.

    Parameters
    ----------
    store, models, events, learners, recent
        What is shared, and what this worker has in memory of it.

    Attributes
    ----------
    tokens
        As of the last look.
    wanted
        The shards that the latest command has asked for: a caller that found one taken tries again with all of them.
    """

    def __init__(
        self, store: Store, models: Models, events: EventLog, learners: LearnerCache, recent: OpenDecisions
    ) -> None:
        self._store = store
        self._models = models
        self._events = events
        self._learners = learners
        self._recent = recent
        self._held: set[int] = set()
        self.wanted: set[int] = set()
        self.tokens: Sequence[TokenRow] = ()
        self.number = -1  #: the catalogue's, when the rows of the models were last read

    def holds(self, shard: int) -> bool:
        """Check whether the open batch holds a shard."""
        return shard in self._held

    def savepoint(self) -> tuple[frozenset[int], int]:
        """A command begins: the shards that are held, and the catalogue's number."""
        self.wanted = set()
        return frozenset(self._held), self.number

    def rollback_to_savepoint(self, mark: tuple[frozenset[int], int]) -> None:
        """The command is undone: what it took may be another's by now, and a number that it made another's too."""
        self._held &= mark[0]
        self.number = mark[1]

    def refresh(self, number: int | None = None) -> bool:
        """Read the rows of models and tokens again if any has changed. Returns whether one has."""
        if (number := self._store.catalogue_number() if number is None else number) <= self.number:
            return False
        self._models.refresh()
        self.tokens = self._store.tokens()
        self.number = number
        return True

    def begin(self, wanted: set[int]) -> None:
        """Take shards that a command could not have in the last batch, while none is held: this may wait."""
        self.refresh()
        shards = sorted(shard for shard in wanted if shard in self._models.by_shard)
        if shards:
            self._acquire_shards(shards)

    def prefetch(self, wanted: Sequence[tuple[str | None, Sequence[str]]]) -> None:
        """Take what commands will be about, as far as that is known: the model's name of each, and its decisions.

        It waits for what the first one wants, if nothing is held; of the rest, what is free is taken.
        """
        named: list[list[int | str]] = [
            [*self._shards_of_any_command(name), *(each for each in about if self._is_unknown(each))]
            for name, about in wanted
        ]
        if named:
            self._store.prefetch(named[0], [each for one in named[1:] for each in one])

    def _is_unknown(self, id: str) -> bool:
        """True if a decision has to be read, or locked, before feedback on it."""
        opened = self._recent.get(id)
        return opened is None or not self._store.trusts(opened.model.shard)

    def _shards_of_any_command(self, name: str | None) -> list[int]:
        """The shards that any command about a model takes; which of several it takes, its key will say."""
        model = self._models.by_name.get(name or "")
        return sorted(_family(model)) if model is not None and len(model.parts) == 1 else []

    def acquire(self, *models: ServedModel) -> bool:
        """Acquire the shards of models and of their shadows and challengers. Returns whether any had news."""
        news = False
        while new := sorted({shard for model in models for shard in _family(model)} - self._held):
            self.wanted.update(new)
            news |= self._acquire_shards(new)
        return news

    def add_new(self, shard: int) -> None:
        """A shard that the open batch has made is its own."""
        self._held.add(shard)

    def end(self, *, committed: bool) -> None:
        """The batch has ended: others may write."""
        if not committed:
            self.number = -1
        else:
            for shard in self._held:
                if (model := self._models.by_shard.get(shard)) is not None:
                    model.caught = model.seq
        self._held.clear()

    def _acquire_shards(self, shards: list[int]) -> bool:
        self._store.acquire(*shards)
        self._held.update(shards)
        self.refresh()  # creating a follower acquires the shard of its champion: this is how it becomes known
        news = [self._sync(self._models.by_shard[shard]) for shard in shards]
        return any(news)

    def _sync(self, model: ServedModel) -> bool:
        """Apply the events that other workers wrote since; return whether there were any."""
        if (seq := model.seq) == model.caught:
            return False
        model.others, model.lengths = seq, None
        if seq < model.caught or not self._store.event_types(model.shard, model.caught) <= ORDINARY:
            self._evict(model)
        elif model.hashed is not None:
            model.hashed.follow(self._store, model.shard, model.caught)
        model.caught = seq
        return True

    def _evict(self, model: ServedModel) -> None:
        """Let go of all that is in memory of a model whose past, or whose settings, others changed."""
        self._learners.evict_shard(model.shard)
        self._events.evict(model)
        self._recent.clear()
        model.scaled.clear()
        model.rewritten += 1
        model.lengths = None
        if model.hashed is not None and model.blueprint.dim is not None:
            model.hashed = HashedNames.read(self._store, model.shard, model.blueprint.dim)


def _family(model: ServedModel) -> set[int]:
    """A model with its champion, and with all active shadows and challengers of that champion."""
    first = model.leader if model.leader is not None else model
    return {model.shard, first.shard, *(each.shard for each in first.arms)}
