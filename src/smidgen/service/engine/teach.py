"""Examples with known answers.

dsjson in: what another system has shown, and what came of it, as examples for a choose model by reward.

A line is read as Vowpal Wabbit's ``--dsjson`` does: ``c`` has the context by namespace and the actions in ``_multi``,
``_label_Action`` (from 1) is the one that was shown, ``_label_cost`` the negative of its reward. An action is called by
its ``_tag`` or ``_id``, else by its place, from 1. Lines without a label, and those that say ``_skipLearn``, are passed
over and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from smidgen import serialization
from smidgen.errors import SmidgenError
from smidgen.serialization import UNREADABLE
from smidgen.service.engine.budget import Budget
from smidgen.service.engine.context import CommandHandler
from smidgen.service.engine.model import ServedModel, feature_names
from smidgen.service.engine.replay import LearningEvent
from smidgen.service.engine.shared_state import SharedKeyState
from smidgen.service.errors import Conflict, Impossible, StorageFailed, Taken, json_text, refuse_deep
from smidgen.service.log import codec
from smidgen.service.loops.features import lenient_record
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import ROWS, Candidate, ExamplesBody, TaughtReply, digest
from smidgen.service.storage.crash_points import crash_point

# Examples whose answers are known: taught to a model's learner, once, as one event of the log.


class TeachHandler(CommandHandler):
    """The examples of all models."""

    def handle(self, name: str, body: ExamplesBody) -> TaughtReply:
        """Teach all examples, or none; the same call again changes nothing."""
        model = self._models.get(name, {body.key, body.id, *(example.key for example in body.examples)})
        if model.archived_at is not None:
            raise Conflict(
                f'the model "{name}" is archived',
                f"restore it with POST /v1/models/{name}:revive, or use another model",
            )
        hashed = digest(body)
        for part in model.parts if body.id is not None else ():
            if (known := self._store.find_call(part.shard, body.id or "")) is not None:
                if known.hash != hashed:
                    raise Conflict(
                        f"id is {json_text(body.id)}, which was used for other examples", "use a new id for each call"
                    )
                return _to_reply(part, len(body.examples))
        key = _key(model, body)
        model = model.shard_for(key)
        lessons = self._read_examples(model, key, body)
        held = self._learners.get(model, key)
        self._learners.before_change(model, key)
        start = self._learners.start_key(model, key, held)
        shared: dict[str, Any] = {} if start is None else {"start": start}
        if (group := self._learners.shared_state(model)) is None:
            for place, (context, answer) in enumerate(lessons):
                with _name_example(place):
                    held.learner.teach(context, answer)
        else:
            lessons, more = self._teach_shared(model, key, group, lessons)
            shared |= more
        if model.hashed is not None:
            shared["hashed"] = model.hashed.new(name for example in body.examples for name in feature_names(example))
            model.hashed.add(shared["hashed"])
            self._learners.undo.push(model.hashed.drop, shared["hashed"])
        fields = {"id": body.id, "examples": len(lessons), "learn": serialization.encode(lessons), **shared}
        call = (body.id, hashed) if body.id is not None else None
        seq = self._store.append(
            model.shard, "taught", self._clock(), codec.encode(fields), key=key, changes=True, call=call
        )
        self._learners.after_change(model, key, held, seq)
        crash_point("taught")
        return _to_reply(model, len(lessons))

    def _teach_shared(
        self, model: ServedModel, key: str | None, group: SharedKeyState, lessons: list[tuple[Any, Any]]
    ) -> tuple[list[tuple[Any, Any]], dict[str, Any]]:
        """Teach a key and what it shares with others; the examples as its log keeps them, and where their names are."""
        held, found, places = self._learners.get(model, key), [], []
        names: dict[int, tuple[int, str, int]] = {}
        for number, (context, answer) in enumerate(lessons):
            with _name_example(number):
                given = group.encode(context)
                where, carried = group.places_of(given), group.carried_names(given, held.known)
                self._learners.learn(
                    model, key, held, LearningEvent("taught", None, [(given, answer)], [where], carried)
                )
            found.append((given, answer))
            places.append(where)
            names |= {place: (place, name, slot) for place, name, slot in carried}
        return found, {"places": places, "names": list(names.values())} if group.table is not None else {}

    def _read_examples(self, model: ServedModel, key: str | None, body: ExamplesBody) -> list[tuple[Any, Any]]:
        """Read and check the examples within the budget of a request."""
        blueprint, found = model.blueprint, []
        learner, budget = blueprint.reader(self._learners.get(model, key).learner), Budget(blueprint.cost)
        for place, example in enumerate(body.examples):
            with _name_example(place):
                blueprint.loop.check(example, but=("answer",))
                context, answer = blueprint.loop.parse_example(learner, example, example.answer)
                budget.spend(context)
                found.append((context, answer))
        return found


def _to_reply(model: ServedModel, count: int) -> TaughtReply:
    return TaughtReply(taught=count, model_version=model.version, shard=model.shard_in_reply)


def _key(model: ServedModel, body: ExamplesBody) -> str | None:
    """Key of the learner that is taught: one per call."""
    keys = {example.key for example in body.examples if example.key is not None} | {body.key} - {None}
    if any(example.id is not None for example in body.examples):
        raise Impossible("an example has its own id", 'send one "id" for the whole call, next to "examples"')
    if len(keys) > 1:
        raise Impossible(f"the examples have {len(keys)} different keys", "send the examples of one key per call")
    if model.keyed and not keys:
        raise Impossible("key is missing", 'this model has one learner per key: add "key", e.g. the user\'s id')
    if not model.keyed and keys:
        raise Impossible(
            "key is given and the model is not keyed", 'remove "key", or create the model with "keyed": true'
        )
    return keys.pop() if keys else None


@contextmanager
def _name_example(place: int) -> Iterator[None]:
    """A refusal says which example it is about."""
    try:
        yield
    except (StorageFailed, Taken):  # of the store, not of this example
        raise
    except SmidgenError as error:
        raise Impossible(f"examples[{place}]: {error.problem}", error.hint) from error


class Examples(NamedTuple):
    """Examples to teach, and how many lines held none."""

    body: ExamplesBody | None
    passed_over: int


def read_dsjson(content: bytes, id: str) -> Examples:
    """The examples of a text; ``id`` is what the call is known again by."""
    lines = [line for line in content.splitlines() if line.strip()]
    if len(lines) > ROWS:
        raise Impossible(f"there are {len(lines):,} lines", f"send at most {ROWS:,} in one call")
    found = [read_dsjson_line(text, f"line {number}") for number, text in enumerate(lines, 1)]
    examples = [each for each in found if each is not None]
    body = loops.examples(id=id, examples=examples) if examples else None
    return Examples(body, len(found) - len(examples))


def read_dsjson_line(text: bytes, place: str) -> Any:
    """The example of a line, None if it holds none; ``place`` is its name in refusals."""
    try:
        line = msgspec.json.decode(text)
    except UNREADABLE as error:
        raise Impossible(f"{place} is not valid JSON: {error}", "send one event per line") from error
    if not isinstance(line, dict):
        raise Impossible(f"{place} is not an object", "send one event per line")
    refuse_deep(text, line, place)
    if "_label_cost" not in line or line.get("_skipLearn") is True:
        return None
    about = line.get("c")
    actions = about.get("_multi") if isinstance(about, dict) else None
    if not isinstance(about, dict) or not isinstance(actions, list) or not actions:
        raise Impossible(f"{place} has no c._multi", "send events with several actions (cb_adf)")
    shown, cost = line.get("_label_Action"), line["_label_cost"]
    if not isinstance(shown, int) or isinstance(shown, bool) or not 1 <= shown <= len(actions):
        raise Impossible(f"{place}: _label_Action is {json_text(shown)}", f"send a position from 1 to {len(actions)}")
    if not isinstance(cost, int | float) or isinstance(cost, bool):
        raise Impossible(f"{place}: _label_cost is {json_text(cost)}", "send a number: the negative of the reward")
    candidates = [_candidate(action, number, place) for number, action in enumerate(actions, 1)]
    context = lenient_record({name: value for name, value in about.items() if name != "_multi"})
    return loops.example(
        candidates=candidates,
        context=context or None,
        answer={"choice": candidates[shown - 1].id, "reward": 0.0 - cost},
    )


def _candidate(action: Any, number: int, place: str) -> Candidate:
    if not isinstance(action, dict):
        raise Impossible(f"{place}: action {number} is not an object", "send its namespaces, each with its features")
    name = action.get("_tag", action.get("_id", str(number)))
    if not isinstance(name, str) or not 0 < len(name) <= 256:
        raise Impossible(
            f"{place}: the name of action {number} is {json_text(name)}", "send a name of 1 to 256 characters"
        )
    return Candidate(id=name, features=lenient_record(action))
