"""Examples whose answers are known: taught to a model's learner, once, as one event of the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from smidgen import records
from smidgen.errors import SmidgenError
from smidgen.service.messages import ExamplesBody, TaughtReply, digest
from smidgen.service.models.cost import Budget
from smidgen.service.models.group import Group
from smidgen.service.models.hashed_names import named_in
from smidgen.service.models.keyed_rows import Change
from smidgen.service.models.served import Served
from smidgen.service.models.whole import Commands
from smidgen.service.refusals import Conflict, Impossible
from smidgen.service.store import bodies
from smidgen.service.store.crash_points import reach


class Lessons(Commands):
    """The examples of all models."""

    def take(self, name: str, body: ExamplesBody) -> TaughtReply:
        """Teach all examples, or none; the same call again changes nothing."""
        model = self._models.get(name, {body.key, body.id, *(example.key for example in body.examples)})
        if model.archived_at is not None:
            raise Conflict(f"the model {name!r} is archived and learns no more", "create another")
        hashed = digest(body)
        for part in model.parts if body.id is not None else ():
            if (known := self._store.called(part.slot, body.id or "")) is not None:
                if known.hash != hashed:
                    raise Conflict(f"the id {body.id!r} was used for other examples", "use a new id for new examples")
                return _taught(part, len(body.examples))
        key = _key(model, body)
        model = model.of(key)
        lessons = self._read(model, key, body)
        held = self._learners.get(model, key)
        self._learners.changing(model, key)
        start = self._learners.begin(model, key, held)
        shared: dict[str, Any] = {} if start is None else {"start": start}
        if (group := self._learners.group(model)) is None:
            for place, (context, answer) in enumerate(lessons):
                with _naming(place):
                    held.learner.teach(context, answer)
        else:
            lessons, more = self._taught(model, key, group, lessons)
            shared |= more
        if model.hashed is not None:
            shared["hashed"] = model.hashed.new(name for example in body.examples for name in named_in(example))
            model.hashed.add(shared["hashed"])
            self._learners.undo.note(model.hashed.drop, shared["hashed"])
        told = {"id": body.id, "examples": len(lessons), "learn": records.encode(lessons), **shared}
        call = (body.id, hashed) if body.id is not None else None
        seq = self._store.append(
            model.slot, "taught", self._clock(), bodies.write(told), key=key, changes=True, call=call
        )
        self._learners.changed(model, key, held, seq)
        reach("taught")
        return _taught(model, len(lessons))

    def _taught(
        self, model: Served, key: str | None, group: Group, lessons: list[tuple[Any, Any]]
    ) -> tuple[list[tuple[Any, Any]], dict[str, Any]]:
        """Teach a key and what it shares with others; the examples as its log keeps them, and where their names are."""
        held, found, places = self._learners.get(model, key), [], []
        names: dict[int, tuple[int, str, int]] = {}
        for number, (context, answer) in enumerate(lessons):
            with _naming(number):
                given = group.encode(context)
                where, carried = group.places_of(given), group.carried(given, held.known)
                self._learners.learn(model, key, held, Change("taught", None, [(given, answer)], [where], carried))
            found.append((given, answer))
            places.append(where)
            names |= {place: (place, name, slot) for place, name, slot in carried}
        return found, {"places": places, "names": list(names.values())} if group.table is not None else {}

    def _read(self, model: Served, key: str | None, body: ExamplesBody) -> list[tuple[Any, Any]]:
        """What the learner is taught, checked, and not too much of it."""
        blueprint, found = model.blueprint, []
        learner, budget = blueprint.reader(self._learners.get(model, key).learner), Budget(blueprint.cost)
        for place, example in enumerate(body.examples):
            with _naming(place):
                blueprint.loop.check(example, but=("answer",))
                context, answer = blueprint.loop.lesson(learner, example, example.answer)
                budget.spend(context)
                found.append((context, answer))
        return found


def _taught(model: Served, count: int) -> TaughtReply:
    return TaughtReply(taught=count, model_version=model.version, slot=model.told_slot)


def _key(model: Served, body: ExamplesBody) -> str | None:
    """Whose learner is taught: one key in a call."""
    keys = {example.key for example in body.examples if example.key is not None} | {body.key} - {None}
    if any(example.id is not None for example in body.examples):
        raise Impossible("an example has an id of its own", "give one id for the whole call, beside the examples")
    if len(keys) > 1:
        raise Impossible(f"the examples have {len(keys)} keys", "teach one key in a call")
    if model.keyed and not keys:
        raise Impossible("key is missing", "this model has one learner per key: say whom to teach")
    if not model.keyed and keys:
        raise Impossible("this model has no keys", 'leave key out, or create the model with "keyed": true')
    return keys.pop() if keys else None


@contextmanager
def _naming(place: int) -> Iterator[None]:
    """A refusal says which example it is about."""
    try:
        yield
    except SmidgenError as error:
        raise Impossible(f"examples[{place}]: {error.problem}", error.hint) from error
