"""Models from elsewhere: a copy of another, a saved learner, what a log leads to. Each is an event of the log."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from smidgen import records
from smidgen.errors import CorruptFile
from smidgen.knobs import Knobs
from smidgen.learners import Learner
from smidgen.learners.records.around import inside, vectorizer_of
from smidgen.service.loops import knob_bodies
from smidgen.service.messages import ModelBody
from smidgen.service.models.building import Blueprint
from smidgen.service.models.group import Group
from smidgen.service.models.served import Served
from smidgen.service.models.terms import Terms
from smidgen.service.models.whole import Commands
from smidgen.service.refusals import Conflict, Impossible
from smidgen.service.store import bodies
from smidgen.service.store.protocol import Reading
from smidgen.service.store.rebuilding import rebuild_all
from smidgen.service.store.recording import FileRecording

#: Learners by key; None is the key of a model without keys.
Learners = dict[str | None, Learner]


class Brought(NamedTuple):
    """What is brought from elsewhere.

    Attributes
    ----------
    blueprint
        The settings.
    learners
        By key; None is the key of a model without keys.
    groups
        What the keys of each slot share, if they do.
    names
        Of hashed features.
    """

    blueprint: Blueprint
    learners: Learners
    groups: Mapping[int, Group] = {}
    names: Sequence[str] = ()


class Bringing(Commands):
    """What is brought in, for all models."""

    def copy(self, name: str, to: str, *, learnt: bool) -> None:
        """Make a model with the settings of another, and, if it is asked for, with what that one has learnt."""
        source = self._models.get(name)
        if to in self._models.by_name:
            raise Conflict(f"there is a model {to!r} already", "choose another name")
        new = self._models.begin(to, source.blueprint.alone(), self._clock())
        for made, part in zip(new.parts, source.parts, strict=True) if learnt else ():
            if made.hashed is not None and part.hashed is not None and not part.keyed:
                made.hashed.add(part.hashed.told())
            self._share(made, self._learners.group(part), f"a copy of {name}")
            for key in keys_of(self._store, part):
                self._imported(made, key, self._learners.get(part, key).learner, f"a copy of {name}")
            self._store.derive(made.slot, part.slot, part.seq)

    def fill(self, name: str, brought: Brought, source: str) -> None:
        """Make a model of learners that were brought, or fill an empty one that has the same settings."""
        blueprint = brought.blueprint
        if (model := self._models.by_name.get(name)) is None:
            model = self._models.begin(name, blueprint, self._clock())
        elif model.decisions or model.version or model.archived_at is not None:
            raise Conflict(f"the model {name!r} is not empty", "choose another name")
        elif model.blueprint.record() != blueprint.record() or model.keyed != blueprint.body.keyed:
            raise Conflict(f"the model {name!r} has other settings", "choose another name, or make it alike")
        elif blueprint.body.slots not in (1, len(model.parts)):
            raise Conflict(
                f"the model {name!r} has {len(model.parts)} slots, and what is brought {blueprint.body.slots}",
                "choose another name, or make it alike; only what had one slot is spread over others",
            )
        elif model.blueprint.shared != blueprint.shared:
            raise Conflict(f"the keys of {name!r} share other things", "choose another name, or make it alike")
        if model.hashed is not None and not model.keyed:
            model.hashed.add(brought.names)
        self._models.hold(*model.parts)
        for part in model.parts:  # what was shared by the keys of one slot is known to all
            self._share(part, brought.groups.get(part.part if blueprint.body.slots > 1 else 0), source)
        for key, learner in brought.learners.items():
            self._imported(model.of(key), key, learner, source)

    def _share(self, model: Served, group: Group | None, source: str) -> None:
        """What the keys share, as an event of its own, ahead of theirs."""
        if group is not None:
            content = bodies.write({"source": source, "group": group.to_bytes()})
            self._store.append(model.slot, "imported", self._clock(), content, changes=True)
            self._learners.leave_group(model)

    def _imported(self, model: Served, key: str | None, learner: Learner, source: str) -> None:
        told = {"source": source, "learn": records.encode(np.frombuffer(learner.to_bytes(), np.uint8))}
        if model.hashed is not None and key is None:
            told["hashed"] = model.hashed.told()
        content = bodies.write(told)
        self._store.append(model.slot, "imported", self._clock(), content, key=key, changes=True)
        self._learners.leave(model, key)


def keys_of(reading: Reading, model: Served) -> list[str | None]:
    """The keys whose learners a model has; None is that of a model without keys."""
    if not model.keyed:
        return [None]
    return [key for (key,) in reading.look("keys", model.slot, prefix="", limit=1 << 31)]


def from_learner(content: bytes) -> Brought:
    """The settings and the learner that a saved learner (`Learner.save`) makes a model of."""
    try:
        learner = Learner.from_bytes(content, "the body")
    except CorruptFile as error:  # the caller's file, not one of ours
        raise Impossible(error.problem, error.hint) from error
    inner, features = inside(learner), vectorizer_of(learner)
    params: dict[str, Any] = records.pack(inner.asked)
    labels = getattr(inner, "labels", None)
    named = isinstance(labels, list) and all(isinstance(each, str) for each in labels)
    if named:
        raise Impossible("the learner's labels have names", "save one that was made with n_classes, not with labels")
    if features is not None:
        params.pop("dim", None)  # the vectorizer has it
    space = inner.params.get("space")
    knobs = knob_bodies.write(space) if isinstance(space, Knobs) else None
    if knobs is not None:
        del params["space"]  # the knobs are it
    body = ModelBody(loop=str(inner.card.loops[0]), learner=inner._kind, params=params, knobs=knobs)
    blueprint = Blueprint.recorded(body, records.pack(learner.fresh()), Terms.of(body), guarded=False)
    return Brought(blueprint, {None: learner})


def from_log(content: bytes) -> Brought:
    """The settings and the learners that an exported log leads to."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.ndjson"
        path.write_bytes(content)
        found = rebuild_all(FileRecording(path, "the log"))
    first = found.get(0)
    if first is None or first.blueprint is None or len(found) != first.blueprint.body.slots:
        raise Impossible("the log makes no model", "export it from its start, with all slots of its model")
    learners = {
        key: slot.learner(key)
        for slot in found.values()
        for key in sorted(slot.numbers.keys() | slot.learners.keys(), key=lambda key: key or "")
    }
    groups = {slot: each.group for slot, each in found.items() if each.group is not None}
    return Brought(first.blueprint, learners, groups, list(first.hashed))
