"""What can be created: the loops, and the learners of each, as the pages show them."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import msgspec

from smidgen.errors import InvalidArgument
from smidgen.learners import cards, learners
from smidgen.learners.recommended import find
from smidgen.service.loops.loop import Loop
from smidgen.service.loops.registry import loops
from smidgen.service.models.building import fitting

_ASKED_ELSEWHERE = ("dim", "n_classes", "labels")


def catalogue() -> dict[str, Any]:
    """Learners by loop, the recommended one first."""
    return {name: [_entry(each, loop) for each in _sorted(loop)] for name, loop in loops.items()}


def described() -> dict[str, Any]:
    """The loops as they describe themselves, their examples with the recommended learner."""
    return {name: {**loop.description(), "example": _example(loop)} for name, loop in loops.items()}


def first_learner(loop: type[Loop], feedback: str | None = None) -> str | None:
    """The learner to begin with, if any serves the loop."""
    names = fitting(loop.name)
    wanted = (feedback,) if feedback is not None else (None, *loop.kinds.values())
    for served, kind in itertools.product((loop.name, *loop.served_by), wanted):
        try:
            found = find(served, kind)[0].__name__
        except InvalidArgument:
            continue
        if found in names and set(cards[found].kinds) & set(loop.kinds.values()):
            return found
    return names[0] if names else None


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
    model = {"loop": loop.name, "learner": learner, **told["model"]}
    first = cards[learner].first if learner is not None else {}
    if params := {**first, **model.get("params", {})}:
        model["params"] = params
    return {**told, "model": model}
