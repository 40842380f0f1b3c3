"""Settings that change while a model lives: an event of the log; what was learnt stays, what is open stays open."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from smidgen import records
from smidgen.learners import learners
from smidgen.service.messages import AmendBody
from smidgen.service.models.building import Blueprint, once
from smidgen.service.models.served import Era, Served
from smidgen.service.models.terms import Terms, exploring, told_of
from smidgen.service.models.trials import OWN
from smidgen.service.models.whole import Commands
from smidgen.service.refusals import Conflict, Impossible
from smidgen.service.store import bodies


class Amending(Commands):
    """The amendments of all models."""

    def take(self, name: str, body: AmendBody) -> None:
        """Put what was sent in force; what says nothing new changes nothing."""
        model = self._models.get(name)
        if model.archived_at is not None:
            raise Conflict(f"the model {name!r} is archived", "create another")
        given = body.given()
        if not given:
            raise Impossible("there is nothing to change", f"send one of {', '.join(AmendBody.__struct_fields__)}")
        _refuse_others(model, given)
        common = {name: value for name, value in given.items() if name not in OWN}
        for part in model.parts:
            self._amend(part, given)
            for other in part.beside if common else ():
                self._amend(other, common)

    def _amend(self, model: Served, given: dict[str, Any]) -> None:
        terms = _terms(model.blueprint, given)
        if terms == model.blueprint.terms:
            return
        told = told_of(model.blueprint, model.blueprint.terms, terms)
        blueprint = model.blueprint.amend(terms)
        amended = self._learners.amended(model, told)
        content = bodies.write({"changes": given, "learn": records.encode(told)})
        seq = self._store.append(model.slot, "amended", self._clock(), content)
        for held in amended:
            held.seq = seq
        if terms.default_reward is None and model.blueprint.terms.default_reward is not None:
            self._store.unwait(model.slot)
        self._recent.clear()
        self._models.put(model, blueprint, tuple(_also(era, given) for era in model.past))


def _refuse_others(model: Served, given: dict[str, Any]) -> None:
    """Refuse what is the champion's to change, or nobody's."""
    challenger = model.blueprint.body.challenger_of is not None
    if "share" in given and not challenger:
        raise Impossible("this model is no challenger", 'share is for models made with "challenger_of"')
    if model.leader is not None and (others := [name for name in given if name not in OWN]):
        raise Impossible(
            f"{others[0]} is that of the champion {model.leader.name!r}", "change it there, and it changes here too"
        )


def _also(era: Era, given: dict[str, Any]) -> Era:
    """Settings that a return would put in force again, amended too; shares of exploration as far as they have any."""
    try:
        terms = _terms(era.blueprint, given)
    except Impossible:
        terms = _terms(era.blueprint, {name: value for name, value in given.items() if name not in OWN})
    return era._replace(blueprint=era.blueprint.amend(terms))


def _terms(blueprint: Blueprint, given: dict[str, Any]) -> Terms:
    """The terms as they will be."""
    old = blueprint.terms
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
