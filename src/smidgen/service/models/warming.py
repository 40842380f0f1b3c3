"""Kernels made ready before anybody waits for them: a few rounds on a fresh twin, aside from the event loop.

A kernel is compiled on its first call, or loaded from its cache. Compiling takes seconds. So a model plays what its
callers will ask of it before it is said to be ready.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from smidgen.decision import Decision
from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.service.loops.registry import loops
from smidgen.service.messages import DecisionBody, FeedbackBody, ModelBody
from smidgen.service.models.building import Blueprint
from smidgen.service.models.served import Served
from smidgen.service.refusals import Impossible

if TYPE_CHECKING:
    from smidgen.service.models.engine import Engine

#: How many rounds are played, and for how long after the first two; large learners take their time.
ROUNDS, SECONDS = 12, 0.5
#: How many names a hashed row has.
NAMES = 3
#: Learners with more numbers than this are not written and read back: that needs no kernel of its own.
SMALL = 1_000_000

_log = logging.getLogger("smidgen.service")


class Warming:
    """Plays a model's first rounds, once for each set of settings.

    Parameters
    ----------
    stopped
        Asked between rounds: whether the service is ending and nobody waits any more.
    """

    def __init__(self, stopped: Callable[[], bool] = lambda: False) -> None:
        self._stopped = stopped
        self._played: set[bytes] = set()

    def all(self, blueprints: Iterable[Blueprint]) -> None:
        """Make the kernels of many models ready; a model that cannot play is told of and left out."""
        for blueprint in blueprints:
            if self._stopped():
                return
            try:
                self.one(blueprint)
            except Exception as error:
                _log.warning("a model of %s could not play its first rounds: %s", blueprint.kind, error)

    def knows(self, body: ModelBody) -> bool:
        """Whether such a model has played already."""
        return _name(body) in self._played

    def model(self, body: ModelBody) -> None:
        """Make the kernels of a model ready that is still to be made."""
        self.all([Blueprint(body)])

    def one(self, blueprint: Blueprint) -> None:
        """Make the kernels of one model ready."""
        if not self.knows(blueprint.body):
            rehearse(blueprint, self._stopped)
            self._played.add(_name(blueprint.body))


def recover(engine: Engine, warming: Warming, stopped: Callable[[], bool]) -> None:
    """Bring the models into memory, kernels first: what the log holds is learnt now, not when somebody asks.

    Keyed learners come when they are asked for; what they share comes now. A model that
    cannot be recovered is told of, and refuses on its own.
    """
    living, learners = [model for model in engine.slots.values() if model.archived_at is None], engine.learners

    def shared(model: Served) -> None:
        learners.group(engine.enter(model))

    warming.all(model.blueprint for model in living)
    for model in living:
        if stopped():
            return
        if not model.keyed or model.blueprint.grouped:
            try:
                if model.keyed:
                    engine.run(partial(shared, model))
                else:
                    learners.get(model, None)
            except Exception as error:
                _log.warning("model %s could not be recovered: %s", model.name, error)


def rehearse(blueprint: Blueprint, stopped: Callable[[], bool] = lambda: False) -> int:
    """Decide, learn, write and read back on a fresh twin, as requests will; how many rounds were learnt."""
    loop, twin = blueprint.loop, blueprint.whole()
    rng, learnt, ends = np.random.default_rng(0), 0, math.inf
    for number in range(ROUNDS):
        if number == 2:
            ends = time.monotonic() + SECONDS
        if stopped() or time.monotonic() > ends:
            break
        context, ids = loop.context(_request(blueprint, rng))
        decision = twin.decide(context)
        answer = loop.answer(decision, ids)
        if number == 1:
            twin, decision = _written(twin, decision, blueprint)
        try:
            reader = blueprint.reader(twin)
            reaction = loop.react(reader, decision, ids, _reaction(blueprint, reader, answer, ids, number).given())
            twin.learn(decision, reaction.learn)
            learnt += 1
        except SmidgenError:  # nothing can be said of this decision: an item that was dropped, say
            continue
    return learnt


def _name(body: ModelBody) -> bytes:
    """What decides on a model's kernels; its name does not."""
    features = len(body.features) if isinstance(body.features, list) else body.features
    sizes = [len(body.labels or ()), features, body.feedback, body.keyed, body.knobs]
    return hashlib.sha256(msgspec.json.encode([body.loop, body.learner, body.params, sizes])).digest()


def _request(blueprint: Blueprint, rng: np.random.Generator) -> DecisionBody:
    """A request as apps send it."""
    loop, vectors = blueprint.loop, blueprint.loop.vectors

    def features() -> Any:
        if vectors.records:
            return {"number": float(rng.normal()), "word": f"word {rng.integers(3)}", "some": ["a", "b"], "flag": True}
        if vectors.hashed:
            return {f"feature {i}": value for i, value in enumerate(rng.normal(size=NAMES).tolist())}
        return rng.normal(size=vectors.dim).tolist()

    body: DecisionBody = msgspec.convert(loop.rehearsal(features), loops.decision)
    return body


def _reaction(blueprint: Blueprint, twin: Learner, answer: Any, ids: Any, number: int) -> FeedbackBody:
    """What a user may say of an answer, now this, now that."""
    offered = blueprint.loop.offered(type(twin), answer, ids)
    if offered.options:
        said = offered.options[number % len(offered.options)].feedback
    elif offered.entry is not None and offered.entry.text:
        said = {offered.entry.field: ("Thank you!\n\nIt is done — Grüße.", "It is done.")[number % 2]}
    elif offered.entry is not None and offered.entry.field:
        value = (0.0, 0.5, 1e3, -1e3)[number % 4]  # large ones lead out of the space, and back into it
        many = next((len(each) for each in answer.values() if isinstance(each, list)), 1)
        said = {offered.entry.field: [value] * many if offered.entry.many else value}
    else:
        raise Impossible(offered.note or "nothing can be said of it", "ask for another decision")
    body: FeedbackBody = loops.feedback(**said)
    return body


def _written(twin: Learner, decision: Decision, blueprint: Blueprint) -> tuple[Learner, Decision]:
    """The twin and its decision as they come back from the disk."""
    dim, classes = blueprint.dim or 1, len(blueprint.body.labels or ()) or 1
    if dim * dim * classes > SMALL:
        return twin, decision
    return Learner.from_bytes(twin.to_bytes()), Decision.from_json(decision.to_json())
