"""Every learner that the service offers plays its first rounds as requests will ask for them."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from smidgen.decision import Decision
from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.service.engine.blueprint import Blueprint, learners_for
from smidgen.service.engine.registry import catalogue
from smidgen.service.errors import Impossible
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import ByName, DecisionBody, FeedbackBody, ModelBody

ROUNDS = 12
CANDIDATES = 5
#: How many names a hashed row has.
NAMES = 3
SERVED = [(loop, name) for loop in loops for name in learners_for(loop)]


def body(loop: str, name: str, hashed: bool = False) -> ModelBody:
    """A model as the dashboard's form would begin it."""
    (entry,) = [entry for entry in catalogue()[loop] if entry["name"] == name]
    columns = 16 if loop == "tune" else 64  # a tuner's context has at most 20
    features: Any = (ByName(hashed=columns) if hashed else ["a", "b", "c"]) if entry["features"] else None
    labels = ["yes", "no", "perhaps"] if loop == "label" else None
    return ModelBody(loop=loop, learner=name, params=entry["params"], features=features, labels=labels)


def rehearse(blueprint: Blueprint) -> int:
    """Decide, learn, write and read back on a fresh twin, as requests will; return the number of rounds learned."""
    loop = blueprint.loop
    twin = blueprint._made.fresh() if blueprint.shared.names else blueprint.learner(None)
    rng, learnt = np.random.default_rng(0), 0
    for number in range(ROUNDS):
        context, ids = loop.context(_request(blueprint, rng))
        decision = twin.decide(context)
        answer = loop.answer(decision, ids)
        if number == 1:
            twin, decision = (Learner.from_bytes(twin.to_bytes()), Decision.from_json(decision.to_json()))
        try:
            reader = blueprint.reader(twin)
            reaction = loop.parse_feedback(
                reader, decision, ids, _reaction(blueprint, reader, answer, ids, number).given()
            )
            twin.learn(decision, reaction.learn)
            learnt += 1
        except SmidgenError:  # nothing can be said of this decision: an item that was dropped, say
            continue
    return learnt


def _request(blueprint: Blueprint, rng: np.random.Generator) -> DecisionBody:
    """A request as apps send it."""
    loop, vectors = blueprint.loop, blueprint.loop.vectors

    def features() -> Any:
        if vectors.records:
            return {"number": float(rng.normal()), "word": f"word {rng.integers(3)}", "some": ["a", "b"], "flag": True}
        if vectors.hashed:
            return {f"feature {i}": value for i, value in enumerate(rng.normal(size=NAMES).tolist())}
        return rng.normal(size=vectors.dim).tolist()

    asked: dict[str, Any] = dict(loop.example.request)
    if "candidates" in asked:
        asked["candidates"] = [{"id": str(i), "features": features()} for i in range(CANDIDATES)]
    if vectors.records and ("candidates" in asked or loop.asks == "context"):
        asked["context"] = features()
    if "features" in asked:
        asked["features"] = features() if vectors.dim is not None else None
    body: DecisionBody = msgspec.convert(asked, loops.decision)
    return body


def _reaction(blueprint: Blueprint, twin: Learner, answer: Any, ids: Any, number: int) -> FeedbackBody:
    """A possible feedback to an answer, varied by number."""
    offered = blueprint.loop.feedback_form(type(twin), answer, ids)
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


@pytest.mark.parametrize(("loop", "name"), SERVED)
@pytest.mark.parametrize("hashed", [False, True])
def test_every_served_learner_plays_its_first_rounds(loop: str, name: str, hashed: bool) -> None:
    assert rehearse(Blueprint(body(loop, name, hashed))) >= 1
