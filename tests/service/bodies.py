"""Bodies and a driver for the tests of the service."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec

from smidgen.service.engine.engine import Engine
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import BatchBody, DecisionBody, FeedbackBody, ModelBody
from smidgen.service.storage.protocol import Store

MODELS: dict[str, dict[str, Any]] = {
    "rank": {"loop": "rank", "learner": "PreferencePerceptron", "features": ["a", "b", "c"]},
    "second": {"loop": "rank", "learner": "SecondOrderPreferencePerceptron", "params": {"dim": 3}},
    "choose": {"loop": "choose", "learner": "ConvexPreferencePerceptron", "params": {"dim": 3, "radius": 1.0}},
    "duel": {"loop": "choose", "learner": "DuelingBandit", "params": {"dim": 3, "explore": 0.3, "step": 0.1}},
    "label": {"loop": "label", "learner": "Confidit", "features": ["a", "b", "c"], "labels": ["x", "y"]},
    "banditron": {"loop": "label", "learner": "Banditron", "params": {"dim": 3}, "labels": ["x", "y", "z"]},
    "arow": {"loop": "label", "learner": "AROW", "params": {"dim": 3}, "labels": ["x", "y", "z"]},
    "filter": {"loop": "filter", "learner": "RidgeFil", "params": {"dim": 3}},
    "full": {"loop": "filter", "learner": "RidgeFull", "params": {"dim": 3}},
    "tasting": {
        "loop": "filter",
        "learner": "AppleTasting",
        "params": {"learner": {"type": "PerceptronFilter", "dim": 3}},
    },
    "simple": {"loop": "filter", "learner": "SimpleFil"},
    "hashed": {"loop": "filter", "learner": "RidgeFil", "features": {"hashed": 16}, "keyed": True},
    "tune": {
        "loop": "tune",
        "learner": "ONSEG",
        "params": {"space": {"type": "Ball", "dim": 3, "radius": 1.0}, "loss_bound": 1.0, "delta": 0.1, "gamma": 0.2},
    },
    "ogd": {
        "loop": "tune",
        "learner": "OGD",
        "params": {"space": {"type": "Box", "low": [0, 0, 0], "high": [1, 1, 1]}, "gradient_bound": 2.0},
    },
    "draft": {"loop": "draft", "learner": "SoftPreferencePerceptron"},
    "sealed": {"loop": "draft", "learner": "SoftPreferencePerceptron", "keep_texts": False},
    "keyed": {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 3}, "keyed": True},
    "newcomers": {"loop": "choose", "features": ["a", "b", "c"], "keyed": True},
}  # fmt: skip


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def model(body: dict[str, Any]) -> ModelBody:
    return msgspec.convert(body, ModelBody)


def request(body: dict[str, Any]) -> DecisionBody:
    return msgspec.convert(body, loops.decision)


def batch(body: dict[str, Any]) -> BatchBody:
    return msgspec.convert(body, loops.batch)


def feedback_body(**body: Any) -> FeedbackBody:
    return loops.feedback(**body)


def decision_body(name: str, rng: random.Random) -> dict[str, Any]:
    """A possible request for a decision of this model."""
    settings = MODELS[name]
    body: dict[str, Any] = {}
    if settings.get("keyed"):
        body["key"] = f"user{rng.randrange(60 if name == 'newcomers' else 4)}"
    row = [round(rng.uniform(-1, 1), 3) for _ in range(3)]
    if settings["loop"] in ("rank", "choose"):
        body["candidates"] = [
            {"id": f"d{i}", "features": [round(rng.uniform(-1, 1), 3) for _ in range(3)]} for i in range(5)
        ]
    elif settings["loop"] == "draft":
        body["drafts"] = [
            {
                "id": f"d{i}",
                "text": f"{'Hello! ' * rng.randrange(3)}Box {rng.randrange(9)} is on its way.",
                "features": {},
            }
            for i in range(4)
        ]
    elif name == "hashed":
        body["features"] = {f"w{rng.randrange(9)}": 1.0, "bias": 1.0}
    elif name != "simple" and settings["loop"] != "tune":
        body["features"] = row
    return body


def reaction(name: str, reply: dict[str, Any], rng: random.Random) -> dict[str, Any] | None:
    """A possible reaction to the decision, or None where there can be none."""
    loop, learner = MODELS[name]["loop"], MODELS[name].get("learner")
    if name == "newcomers":
        return {"reward": round(rng.random(), 3)}
    if loop == "rank":
        return {"clicked": [rng.choice(reply["ranking"])]} if rng.random() < 0.5 else {"better": reply["ranking"][2:4]}
    if loop == "choose":
        return {"better": rng.choice(reply["pair"]) if "pair" in reply else f"d{rng.randrange(5)}"}
    if loop == "draft":
        return {"edited": f"Box {rng.randrange(9)} is {rng.choice(['late', 'on its way'])}."}
    if loop == "label":
        return {"label": rng.choice(MODELS[name]["labels"])} if learner == "AROW" else {"correct": rng.random() < 0.5}
    if loop == "filter":
        return {"relevant": rng.random() < 0.4} if reply["forward"] or learner == "RidgeFull" else None
    return {"gradient": [0.1, -0.2, rng.random()]} if learner == "OGD" else {"loss": rng.random()}


def play(engine: Engine, names: list[str], rounds: int, seed: int) -> None:
    """Decisions and feedback on these models, some of it delayed, some never given."""
    rng = random.Random(seed)
    open_: list[tuple[str, dict[str, Any]]] = []
    for _ in range(rounds):
        name = rng.choice(names)
        body = request(decision_body(name, rng))
        reply = engine.run(lambda name=name, body=body: engine.decide(name, body))
        open_.append((name, reply))
        if rng.random() < 0.7:
            chosen, answered = open_.pop(rng.randrange(len(open_)))
            given = reaction(chosen, answered, rng)
            if given is not None:
                feedback = feedback_body(**given)
                engine.run(lambda a=answered, f=feedback: engine.feedback(a["decision"], f))


def engine_with(folder: Path, names: list[str], **options: Any) -> Engine:
    engine = Engine(folder, **{"synchronous": "OFF", **options})
    for name in names:
        engine.run(lambda name=name: engine.create(name, model(MODELS[name])))
    return engine


def log_of(place: Path | Store, name: str) -> str:
    """Log of thirty rounds of a model, with decision ids replaced by their order."""
    engine = Engine(place, clock=lambda: 5.0)
    engine.create(name, model(MODELS[name]))
    play(engine, [name], 30, seed=4)
    engine.maintain(every=1)
    text = b"\n".join(engine.events.all_lines(engine.models[name])).decode()
    ids = [event.decision for event in engine.store.events(1) if event.type == "decision"]
    for place_in_log, id in enumerate(ids):
        text = text.replace(str(id), f"decision {place_in_log}")
    engine.store.close()
    return text
