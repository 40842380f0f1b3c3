"""Registry of loops: those of this folder and of plugins; builds the request bodies from their fields."""

from __future__ import annotations

import functools
import importlib
import operator
import pkgutil
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET

from smidgen.checks import suggest
from smidgen.errors import InvalidArgument
from smidgen.learners import Loop as Names
from smidgen.learners.card import plugin_loops
from smidgen.serialization import note_registration
from smidgen.service import loops as folder
from smidgen.service.errors import Impossible, json_text
from smidgen.service.loops.base import COMMON, Loop
from smidgen.service.schemas import (
    AT_ONCE,
    COMMON_FEEDBACK,
    BatchBody,
    DecisionBody,
    ExampleBody,
    ExamplesBody,
    FeedbackBody,
    Id,
    SeveralBody,
)

_ANNOTATED: Any = Annotated


#: The docstring of feedback in a batch.
ONE_OF_SEVERAL = """A decision, and what its user did.

Attributes
----------
decision
    The decision's id.
"""


class Registry(Mapping[str, type[Loop]]):
    """The loops by name, in the order of the enumeration, plugins last.

    Attributes
    ----------
    decision, batch, example, examples, feedback, several
        The structs that a request, a batch, one example and many, feedback and much of it are read into. They hold the
        fields of all loops, since the loop is known only when the model, or the decision that is answered, has been
        found; the loop then refuses what is not its own.
    """

    def __init__(self) -> None:
        found = [loop for module in _modules() for loop in _defined(module)]
        order = [str(name) for name in Names]
        found.sort(key=lambda loop: order.index(loop.name) if loop.name in order else len(order))
        self._loops = {loop.name: loop for loop in found}
        plugin_loops.update(self._loops.keys() - set(order))
        self._assemble()

    def __getitem__(self, name: str) -> type[Loop]:
        return self._loops[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loops)

    def __len__(self) -> int:
        return len(self._loops)

    def find(self, name: str) -> type[Loop]:
        """The loop of that name, or a refusal."""
        if name not in self._loops:
            raise Impossible(f"there is no loop {json_text(name)}", suggest(name, self._loops))
        return self._loops[name]

    def add(self, loop: type[Loop]) -> type[Loop]:
        """Register the loop of a plugin before the service starts. Can be used as a class decorator."""
        if loop.name in self._loops:
            raise InvalidArgument(f"a loop called {loop.name} is already registered", "give it another name")
        before = dict(self._loops)
        self._loops[loop.name] = loop
        try:
            self._assemble()
        except InvalidArgument:
            self._loops = before
            raise
        plugin_loops.add(loop.name)
        note_registration(loop.__module__)
        return loop

    def remove(self, name: str) -> None:
        """Remove a plugin's loop."""
        if name in set(Names):
            raise InvalidArgument(f"the loop {name} is not a plugin", "name a loop that was added")
        self._loops.pop(name)
        plugin_loops.discard(name)
        self._assemble()

    def _assemble(self) -> None:
        requested = [(name, kind, None) for name, kind in self._request_fields().items()]
        answered = [(name, kind, UNSET) for name, kind in self._feedback_fields().items()]
        asks = "A request for a decision; which fields belong depends on the loop."
        tells = "What the user did; which field belongs depends on the loop."
        self.decision: Any = _with(DecisionBody, requested, about=asks)
        self.batch: Any = _with(BatchBody, [("decisions", _several(self.decision) | None, None)])
        self.example: Any = _with(ExampleBody, requested)
        self.examples: Any = _with(ExamplesBody, [("examples", _several(self.example))])
        self.feedback: Any = _with(FeedbackBody, answered, about=tells)
        one = _with(self.feedback, [("decision", Id)], "FeedbackOnBody", ONE_OF_SEVERAL)
        self.several: Any = _with(SeveralBody, [("feedback", _several(one))])

    def _request_fields(self) -> dict[str, Any]:
        """The fields of all requests; one name has one type."""
        found: dict[str, Any] = {}
        for loop in self._loops.values():
            for field in msgspec.structs.fields(loop.request):
                if field.name in COMMON:
                    continue
                kind = field.type | None
                if found.setdefault(field.name, kind) != kind:
                    raise InvalidArgument(
                        f"{field.name} of the loop {loop.name} has another type than in other loops",
                        "give the field another name, or the same type",
                    )
        return found

    def _feedback_fields(self) -> dict[str, Any]:
        """The fields of all feedback; where one name has several types, any of them is read."""
        found: dict[str, list[Any]] = {}
        for loop in self._loops.values():
            for field in msgspec.structs.fields(loop.feedback):
                if field.name not in COMMON_FEEDBACK:
                    found.setdefault(field.name, []).append(field.type)
        return {name: functools.reduce(operator.or_, kinds) for name, kinds in found.items()}


def _with(base: Any, fields: list[Any], name: str | None = None, about: str | None = None) -> Any:
    """A struct with added fields. It keeps the name and docstring of its base unless others are given."""
    namespace = {"__doc__": about or base.__doc__}
    return msgspec.defstruct(name or base.__name__, fields, bases=(base,), kw_only=True, namespace=namespace)


def _several(kind: Any) -> Any:
    """A list of at most the number that one call may hold."""
    return operator.getitem(_ANNOTATED, (types.GenericAlias(list, (kind,)), AT_ONCE))


def _modules() -> Iterator[str]:
    return (f"{folder.__name__}.{module.name}" for module in pkgutil.iter_modules(folder.__path__))


def _defined(module: str) -> list[type[Loop]]:
    """The loops that a file of this folder defines."""
    if module == __name__:
        return []
    members = vars(importlib.import_module(module)).values()
    mine = [each for each in members if isinstance(each, type) and each.__module__ == module]
    return [each for each in mine if issubclass(each, Loop) and each is not Loop]


#: All loops of the service.
loops = Registry()
