"""What can be created: the loops, and the learners of each, as the pages show them."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import msgspec

from smidgen.errors import InvalidArgument
from smidgen.learners import Feedback, cards, learners
from smidgen.learners.recommended import USUAL, find
from smidgen.service.loops.loop import Loop
from smidgen.service.loops.registry import loops
from smidgen.service.loops.words import Back
from smidgen.service.messages import ModelBody
from smidgen.service.models.building import fitting

_ASKED_ELSEWHERE = ("dim", "n_classes", "labels")


def catalogue() -> dict[str, Any]:
    """Learners by loop, the recommended one first."""
    return {name: [_entry(each, loop) for each in _sorted(loop)] for name, loop in loops.items()}


def described() -> dict[str, Any]:
    """The loops as they describe themselves: what may come back, and examples with the recommended learner."""
    return {
        name: {**loop.description(), "example": _example(loop), "back": _back(loop), "settings": _body_settings()}
        for name, loop in loops.items()
    }


def first_learner(loop: type[Loop], feedback: str | None = None) -> str | None:
    """The learner to begin with, if any serves the loop."""
    names = fitting(loop.name)
    return _recommended(loop, feedback) or (names[0] if names else None)


def _recommended(loop: type[Loop], feedback: str | None) -> str | None:
    names = fitting(loop.name)
    wanted = (feedback,) if feedback is not None else (None, *loop.kinds.values())
    for served, kind in itertools.product((loop.name, *loop.served_by), wanted):
        try:
            found = find(served, kind)[0].__name__
        except InvalidArgument:
            continue
        if found in names and set(cards[found].kinds) & set(loop.kinds.values()):
            return found
    return None


def _back(loop: type[Loop]) -> list[dict[str, Any]]:
    """What may come back, the usual first, each with the learner to begin with and the settings that go with it."""
    first = {field: body for _, body in loop.example.feedback for field in body}
    found: dict[str, dict[str, Any]] = {}
    order = [str(kind) for kind in USUAL.get(loop.name, ())]
    fields = sorted(loop.kinds.items(), key=lambda item: order.index(item[1]) if item[1] in order else len(order))
    for field, kind in fields:
        learner = _recommended(loop, kind) or next(
            (name for name in fitting(loop.name) if kind in cards[name].kinds), None
        )
        if kind in found or learner is None:
            continue
        told = loop.words.back.get(kind) or Back(title=kind[0].upper() + kind[1:])
        found[kind] = {
            "feedback": str(kind),
            "title": told.title,
            "note": told.note,
            "example": told.example or first.get(field, {}),
            "learner": learner,
            "recommended": _recommended(loop, kind) is not None,
            "settings": _settings(learner, kind),
        }
    return list(found.values())


def _settings(learner: str, kind: str | None = None) -> list[str]:
    """Settings of a model that make sense with this learner only, or with this kind of feedback."""
    accepted = inspect.signature(learners[learner]).parameters
    drawn = [said for said, name in (("explore", "floor"), ("min_share", "min_share")) if name in accepted]
    return ["default_reward", "reward_range", *drawn] if kind == Feedback.REWARD else drawn


def _body_settings() -> list[str]:
    """All that the body of a new model may have, so that pages ask for nothing that is not taken."""
    return list(ModelBody.__struct_fields__)


def _sorted(loop: type[Loop]) -> list[str]:
    first = first_learner(loop)
    return sorted(fitting(loop.name), key=lambda name: (name != first, name))


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
    told: dict[str, Any] = msgspec.to_builtins(loop.example)
    kinds = [loop.kinds[field] for _, body in loop.example.feedback for field in body if field in loop.kinds]
    learner = first_learner(loop, kinds[0] if kinds else None)
    if knobs := told["model"].get("knobs"):  # they are its space, and how many they are decides on the learner
        found = find(loop.name, kinds[0] if kinds else None, len(knobs))[0].__name__
        return {**told, "model": {"loop": loop.name, "learner": found, **told["model"]}}
    model = {"loop": loop.name, "learner": learner, **told["model"]}
    first = cards[learner].first if learner is not None else {}
    if params := {**first, **model.get("params", {})}:
        model["params"] = params
    return {**told, "model": model}
