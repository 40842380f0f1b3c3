"""Settings that change while a model lives: an event of the log; what was learnt stays, what is open stays open."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import msgspec

from smidgen import records
from smidgen.learners import learners
from smidgen.service.messages import AmendBody
from smidgen.service.models.building import Blueprint, once
from smidgen.service.models.recent import Recent
from smidgen.service.models.registry import Registry, resolved
from smidgen.service.models.served import LearnerCache, Served
from smidgen.service.models.terms import Terms, exploring
from smidgen.service.refusals import Conflict, Impossible
from smidgen.service.store import bodies
from smidgen.service.store.protocol import Store


class Amending:
    """The amendments of all models.

    Parameters
    ----------
    models, store, learners
        Whose settings they are, where they are written, who goes on under them.
    recent
        The decisions that wait for feedback in memory.
    clock
        Seconds since 1970.
    """

    def __init__(
        self, models: Registry, store: Store, learners: LearnerCache, recent: Recent, clock: Callable[[], float]
    ) -> None:
        self._models = models
        self._store = store
        self._learners = learners
        self._recent = recent
        self._clock = clock

    def take(self, name: str, body: AmendBody) -> None:
        """Put what was sent in force; what says nothing new changes nothing."""
        model = self._models.get(name)
        if model.archived_at is not None:
            raise Conflict(f"the model {name!r} is archived", "create another")
        given = body.given()
        if not given:
            raise Impossible("there is nothing to change", f"send one of {', '.join(AmendBody.__struct_fields__)}")
        terms = _terms(model, given)
        if terms == model.blueprint.terms:
            return
        told = told_of(model.blueprint, model.blueprint.terms, terms)
        blueprint = model.blueprint.amend(terms)
        self._learners.amended(model, told)
        content = bodies.write({"changes": given, "learn": records.encode(told)})
        self._store.append(model.slot, "amended", self._clock(), content)
        self._store.amend(model.id, resolved(blueprint))
        if terms.default_reward is None and model.blueprint.terms.default_reward is not None:
            self._store.unwait(model.slot)
        self._recent.clear()
        self._models.put(model, blueprint)


def _terms(model: Served, given: dict[str, Any]) -> Terms:
    """The terms as they will be."""
    blueprint, old = model.blueprint, model.blueprint.terms
    changes = {name: value for name, value in given.items() if not name.startswith("add_")}
    if (labels := given.get("add_labels")) is not None:
        if (known := blueprint.labels) is None:
            raise Impossible("this model has no labels with names", "add_labels is for models made with labels")
        once("add_labels", labels)
        new = [label for label in labels if label not in known]  # the same amendment again changes nothing
        changes["labels"] = (*old.labels, *new)
    if (text := given.get("add_text")) is not None:
        if blueprint.features is None:
            raise Impossible("this model takes no records", "add_text is for models that take records")
        new = [path for path in dict.fromkeys(text) if path not in (*blueprint.features.text, *old.text)]
        changes["text"] = (*old.text, *new)
    terms = msgspec.structs.replace(old, **changes)
    exploring(terms, {}, inspect.signature(learners[blueprint.kind]).parameters, blueprint.kind)
    return terms


def told_of(blueprint: Blueprint, old: Terms, terms: Terms) -> dict[str, Any]:
    """What learners are told from some terms to others: settings that change, and which labels are new."""
    settings: dict[str, Any] = {}
    accepted = inspect.signature(learners[blueprint.kind]).parameters
    if (terms.explore, terms.min_share) != (old.explore, old.min_share):
        exploring(terms, settings, accepted, blueprint.kind)
        if terms.explore and "draw" in accepted:
            settings["draw"] = True
    if terms.text != old.text and blueprint.features is not None:
        settings["text"] = [*blueprint.features.text, *terms.text]
    first = len(blueprint.body.labels or ()) + len(old.labels)
    added = len(terms.labels) - len(old.labels)
    return {"settings": settings, "labels": [first, first + added] if added else None}
