"""Contents of the golden data folders: small stories, played over the HTTP contract.

There is one for each thing that a log can say. A type of event that no story writes is noticed (`missing`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from service.asgi import Caller
from service.bodies import Clock
from smidgen.service.engine.log_sources import TYPES
from smidgen.service.engine.replay import STEPS
from smidgen.service.http.endpoints import all_endpoints
from smidgen.service.loops.registry import loops

#: Types that change no weights, and yet are written.
PLAIN = ("created", "decision", "held_out", "recorded", "reported", "withdrawn", "shown", "archived")
#: The same of calls that not every smidgen has.
CALLED = {"revived": ":revive", "renamed": ":rename", "retained": ":retain", "promoted": ":promote"}
#: Lines of an export that are no events: they tell of a base state.
TOLD = ("base", "base_state")
Scene = Callable[["Stage"], None]
SCENES: dict[str, Scene] = {}


def writable() -> set[str]:
    """The types of events that this smidgen can write, by its code: those that it folds, and the plain ones.

    A type that this file has not heard of counts: whoever adds one adds a story.
    """
    called = {type for type, end in CALLED.items() if any(call.path.endswith(end) for call in all_endpoints())}
    unheard = set(TYPES) - {*STEPS, *PLAIN, *CALLED, *TOLD}
    return unheard | (set(TYPES) - set(TOLD)) & ({*STEPS, *PLAIN} | called)


def missing(written: set[str]) -> set[str]:
    """The types that should have been written and were not; those that it cannot write yet are none."""
    return writable() - written


def scene(function: Scene) -> Scene:
    """Enter a story under its name."""
    SCENES[function.__name__] = function
    return function


class Stage:
    """A service that scenes are played on.

    Attributes
    ----------
    call
        Who calls it.
    clock
        Its time.
    """

    def __init__(self, call: Caller, clock: Clock) -> None:
        self.call, self.clock = call, clock

    def make(self, name: str, **body: Any) -> str:
        self._good(self.call.put(f"/v1/models/{name}", body))
        return name

    def decide(self, model: str, **body: Any) -> dict[str, Any]:
        self.clock.now += 1.0
        return self._good(self.call.post(f"/v1/models/{model}/decisions", body))

    def answer(self, reply: dict[str, Any], **body: Any) -> dict[str, Any]:
        self.clock.now += 1.0
        return self._good(self.call.post(f"/v1/decisions/{reply['decision']}/feedback", body))

    def do(self, path: str, body: Any = None) -> dict[str, Any]:
        self.clock.now += 1.0
        return self._good(self.call.post(f"/v1/{path}", {} if body is None else body))

    def has(self, path: str, method: str = "post") -> bool:
        """True if the service's OpenAPI document has this call."""
        return method in self.call.get("/openapi.json").json()["paths"].get(path, {})

    def types(self, model: str) -> list[str]:
        lines = self.call.get(f"/v1/models/{model}/log").text.splitlines()
        return [line.split('"type":"', 1)[1].split('"', 1)[0] for line in lines if line]

    def wait(self, model: str, type: str) -> None:
        """Until the service has written it by itself."""
        for _ in range(200):
            if type in self.types(model):
                return
            time.sleep(0.05)
        raise AssertionError(f"{model} has no event of the type {type!r}")

    @staticmethod
    def _good(answer: Any) -> dict[str, Any]:
        assert answer.status_code < 300, answer.text
        found: dict[str, Any] = answer.json()
        return found


def requests() -> Iterator[tuple[str, dict[str, Any], dict[str, Any], tuple[dict[str, Any], ...]]]:
    """A model of every loop as the loop's own example has it: its name, settings, a request, and what may come back."""
    for name, loop in loops.items():
        if loop.__module__.startswith("smidgen."):
            example = loop.example
            (field, *_), *_ = (body for _, body in example.feedback)
            yield (
                f"{name}-example",
                {"loop": name, "feedback": str(loop.kinds[field]), **example.model},
                dict(example.request),
                tuple(body for _, body in example.feedback),
            )


#: How models of other stories go on: a request, and what comes back.
NEXT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "banners": (
        {"candidates": [{"id": 1, "features": {"kind": "new"}}, {"id": "b"}], "context": {"device": "ios", "age": 44}},
        {"reward": 0.5},
    ),
    "triage": ({"features": {"title": "an invoice crashes", "age": 2}}, {"correct": False}),
    "undone": (
        {"candidates": [{"id": "x", "features": [1.0, 0.5]}, {"id": "y", "features": [0.0, 1.0]}]},
        {"clicked": ["y"]},
    ),
    "songs": (
        {"candidates": [{"id": "x", "features": {"mood": "calm"}}, {"id": "z"}], "key": "ann"},
        {"reward": 1.0},
    ),
    "feed": ({"features": {"w1": 1.0, "w9": 2.0}, "key": "cy"}, {"relevant": True}),
    "inbox": ({"features": {"from": "boss", "size": 700.0}, "key": "ann"}, {"correct": True}),
    "brought": (
        {"candidates": [{"id": "x", "features": [1.0, 0.5]}, {"id": "y", "features": [0.0, 1.0]}]},
        {"clicked": ["x"]},
    ),
    "retained": ({"features": [1.0, 1.0]}, {"correct": True}),
    "shop": ({"candidates": [{"id": "x"}, {"id": "z"}], "context": {"device": "ios"}}, {"reward": {"click": 1.0}}),
    "held": ({"candidates": [{"id": "x"}, {"id": "y"}], "unit": "user-9"}, {"reward": 1.0}),
    "router": ({"candidates": [{"id": "small"}, {"id": "large"}], "context": {"length": 9.0}}, {"reward": 0.5}),
    "articles": (
        {"candidates": [{"id": "x"}, {"id": "y"}], "context": {"topic": [1.0, 0.5, 0.0, 0.0, -0.5, 0.25]}},
        {"reward": 1.0},
    ),
    "champion": ({"candidates": [{"id": "x"}, {"id": "y"}], "context": {"device": "web"}}, {"reward": 0.0}),
    "front": (
        {"candidates": [{"id": "x"}, {"id": "y"}], "slots": [{"id": "hero"}, {"id": "side"}]},
        {"rewards": {"hero": 1.0, "side": 0.0}},
    ),
    "price": ({"context": {"size": "large", "seats": 40}}, {"loss": 0.5}),
    "results": (
        {"candidates": [{"id": "x", "features": [1.0, 0.5]}, {"id": "y", "features": [0.0, 1.0]}]},
        {"clicked": ["y"]},
    ),
}


@scene
def examples(stage: Stage) -> None:
    """Every loop."""
    for name, body, request, answers in requests():
        stage.make(name, **body)
        for turn in range(4):
            reply = stage.decide(name, **request)
            if turn < 3 and reply.get("forward", True):
                stage.answer(reply, **answers[turn % len(answers)])


@scene
def people(stage: Stage) -> None:
    """Records, with context, text, ids that are numbers; rewards, silence, activation, examples, amendments."""
    stage.make("banners", loop="choose", default_reward=0.0, window_s=60, explore=0.2)
    offered = [{"id": 1, "features": {"kind": "short"}}, {"id": "b", "features": {"kind": "long", "price": 3.5}}]
    for turn in range(6):
        context = {"device": "ios" if turn % 2 else "web", "tags": ["a", "b"], "age": 30 + turn, "note": None}
        reply = stage.decide("banners", candidates=offered, context=context, exclude=["b"] if turn == 4 else None)
        if turn % 3:
            stage.answer(reply, reward=0.75 if reply["choice"] == 1 else 0.25)
    ahead = stage.decide("banners", candidates=offered, activate=False)
    stage.do(f"decisions/{ahead['decision']}/shown")
    stage.clock.now += 1000.0
    stage.wait("banners", "expired")
    taught = [{"candidates": offered, "context": {"device": "ios"}, "answer": {"choice": "b", "reward": 1.0}}]
    stage.do("models/banners/examples", {"id": "seed", "examples": taught})
    assert stage.call("PATCH", "/v1/models/banners", json={"explore": 0.4}).status_code == 200
    stage.make("triage", loop="label", labels=["bug", "billing"], features={"auto": {"dim": 64, "text": ["title"]}})
    for turn in range(4):
        reply = stage.decide("triage", features={"title": "it crashes" if turn % 2 else "wrong invoice", "age": turn})
        stage.answer(reply, correct=turn != 1)
    assert stage.call("PATCH", "/v1/models/triage", json={"add_labels": ["praise"]}).status_code == 200
    stage.answer(stage.decide("triage", features={"title": "thank you"}), correct=False)


@scene
def undoing(stage: Stage) -> None:
    """Feedback that is taken back, and a way back to an earlier version."""
    stage.make("undone", loop="rank", features=["a", "b"], learner="PreferencePerceptron")
    documents = [{"id": "x", "features": [1.0, 0.0]}, {"id": "y", "features": [0.0, 1.0]}]
    replies = []
    for turn in range(4):
        replies.append(stage.decide("undone", candidates=documents))
        stage.answer(replies[-1], better=["y", "x"] if turn % 2 else ["x", "y"])
    stage.do(f"decisions/{replies[1]['decision']}:retract")
    stage.answer(replies[1], clicked=["x"])
    stage.do("models/undone:rollback", {"version": 2})
    stage.answer(stage.decide("undone", candidates=documents), clicked=["y"])


@scene
def keys(stage: Stage) -> None:
    """Keyed models; one key is deleted. Records and hashed names."""
    stage.make("feed", loop="filter", features={"hashed": 16}, keyed=True, learner="RidgeFil")
    stage.make("songs", loop="choose", keyed=True)
    stage.make("inbox", loop="label", labels=["now", "later", "never"], keyed=True, features={"auto": {"dim": 64}})
    for turn in range(9):
        key = ("ann", "bob", "cy")[turn % 3]
        reply = stage.decide("feed", features={f"w{turn % 4}": 1.0}, key=key)
        if reply["forward"]:
            stage.answer(reply, relevant=turn % 2 == 0)
        offered = [{"id": "x", "features": {"mood": "calm"}}, {"id": "y", "features": {"mood": "loud"}}]
        stage.answer(stage.decide("songs", candidates=offered, key=key), reward=(turn % 5) / 4)
        reply = stage.decide("inbox", features={"from": ["boss", "shop"][turn % 2], "size": 250.0 * turn}, key=key)
        stage.answer(reply, label=["now", "never"][turn % 2])
    for model in ("feed", "songs", "inbox"):
        assert stage.call("DELETE", f"/v1/models/{model}/keys/bob").status_code == 200


@scene
def elsewhere(stage: Stage) -> None:
    """Models that are copied, imported, archived."""
    import smidgen

    stage.do("models/undone:copy", {"to": "copied", "learnt": True})
    learner = smidgen.PDGD(dim=2)
    learner.learn(learner.decide(smidgen.Ranking([[1.0, 0.0], [0.0, 1.0]])), smidgen.Clicks([1]))
    media = {"content-type": "application/octet-stream"}
    answer = stage.call("POST", "/v1/models/brought:import", content=learner.to_bytes(), headers=media)
    assert answer.status_code in (200, 201), answer.text
    stage.make("closed", loop="tune", knobs={"threads": {"integer": [1, 8]}, "wait": {"log": [0.01, 10]}})
    for turn in range(3):
        stage.answer(stage.decide("closed"), loss=0.5 + 0.1 * turn)
    assert stage.call("DELETE", "/v1/models/closed").status_code == 200


@scene
def names(stage: Stage) -> None:
    """Archived models that decide again, or have another name."""
    if not stage.has("/v1/models/{name}:revive"):
        return
    for name in ("rested", "called"):
        stage.make(name, loop="filter", params={"dim": 2}, learner="RidgeFil")
        stage.answer(stage.decide(name, features=[1.0, 0.5]), relevant=True)
        assert stage.call("DELETE", f"/v1/models/{name}").status_code == 200
    stage.do("models/rested:revive")
    stage.decide("rested", features=[0.5, 1.0])
    stage.do("models/called:rename", {"to": "renamed"})


@scene
def retaining(stage: Stage) -> None:
    """Old events that were folded into a base state."""
    if not stage.has("/v1/models/{name}:retain"):
        return
    for name, keyed in (("retained", False), ("retained-keys", True)):
        stage.make(name, loop="label", params={"dim": 2}, labels=["a", "b"], learner="Confidit", keyed=keyed)
        key = {"key": "ann"} if keyed else {}
        for turn in range(4):
            stage.answer(stage.decide(name, features=[1.0, float(turn)], **key), correct=turn % 2 == 0)
        stage.clock.now += 100_000.0
        stage.do(f"models/{name}:retain", {"older_than_s": 1000})
        stage.answer(stage.decide(name, features=[0.0, 1.0], **key), correct=True)


@scene
def trials(stage: Stage) -> None:
    """A challenger and a shadow beside a champion, and a promotion."""
    if not stage.has("/v1/models/{name}:promote"):
        return
    stage.make("champion", loop="choose", learner="LinUCB")
    stage.make("challenger", loop="choose", learner="SquareCB", challenger_of={"model": "champion", "share": 0.5})
    stage.make("shadow", loop="choose", learner="ThompsonChoice", shadow_of={"model": "champion"})
    offered = [{"id": "x", "features": {"kind": "p"}}, {"id": "y", "features": {"kind": "q"}}]
    for turn in range(8):
        reply = stage.decide("champion", candidates=offered, context={"device": "ios" if turn % 2 else "web"})
        stage.answer(reply, reward=float(reply["choice"] == "y"))
    stage.do("models/challenger:promote")
    stage.answer(stage.decide("champion", candidates=offered, context={"device": "ios"}), reward=1.0)


@scene
def several_reports(stage: Stage) -> None:
    """Rewards of several reports, a holdout, a budget, and vectors."""
    stage.make("shop", loop="choose", rewards={"click": 0.2, "purchase": 1.0}, window_s=60)
    offered = [{"id": "x", "features": {"kind": "p"}}, {"id": "y", "features": {"kind": "q"}}]
    for turn in range(4):
        reply = stage.decide("shop", candidates=offered, context={"device": "ios" if turn % 2 else "web"})
        stage.answer(reply, reward={"click": 1.0})
        if turn % 2:
            stage.answer(reply, reward={"purchase": 1.0})
    dropped = stage.decide("shop", candidates=offered, context={"device": "ios"})
    stage.answer(dropped, reward={"click": 1.0})
    stage.do(f"decisions/{dropped['decision']}:retract")
    stage.clock.now += 1000.0
    stage.wait("shop", "settled")
    stage.make("held", loop="choose", holdout={"share": 0.5, "policy": "first", "salt": "s"})
    for turn in range(6):
        reply = stage.decide("held", candidates=offered, unit=f"user-{turn}")
        stage.answer(reply, reward=float(reply["choice"] == "y"))
    stage.make("router", loop="choose", budget={"usd": 0.001})
    priced = [{"id": "small", "costs": {"usd": 0.0002}}, {"id": "large", "costs": {"usd": 0.004}}]
    for turn in range(6):
        reply = stage.decide("router", candidates=priced, context={"length": 10.0 * turn})
        stage.answer(reply, reward=0.9 if reply["choice"] == "large" else 0.6, costs={"usd": 0.0003})
    stage.make("articles", loop="choose", features={"auto": {"vectors": 4}})
    for turn in range(6):
        vector = [((turn * 7 + i * 3) % 5 - 2) / 2 for i in range(6)]
        reply = stage.decide("articles", candidates=offered, context={"topic": vector})
        stage.answer(reply, reward=float(reply["choice"] == "xy"[turn % 2]))


@scene
def places(stage: Stage) -> None:
    """Several slots in one decision, knobs with a context and a safe setting, pages that mix two rankings."""
    stage.make("front", loop="choose", default_reward=0.0, window_s=60)
    offered = [{"id": id, "features": {"kind": kind}} for id, kind in (("x", "p"), ("y", "q"), ("z", "p"))]
    slots = [{"id": "hero", "features": {"size": "large"}}, {"id": "side", "exclude": ["z"]}]
    for turn in range(6):
        page = stage.decide("front", candidates=offered, context={"device": "ios"}, slots=slots)
        shown = {each["slot"]: float(each["choice"] == "y") for each in page["choices"]}
        stage.answer(page, rewards=shown if turn % 2 else {"hero": shown["hero"]})
    stage.clock.now += 1000.0
    stage.wait("front", "settled")
    knobs = {"price": [5, 50], "mode": {"categories": ["monthly", "yearly"]}}
    safe = {"knobs": {"price": 20.0, "mode": "monthly"}, "margin": 0.5}
    stage.make("price", loop="tune", knobs=knobs, safe=safe)
    for turn in range(12):
        large = bool(turn % 2)
        price = stage.decide("price", context={"size": "large" if large else "small", "seats": 10 + turn})
        missed = price["knobs"]["price"] - (35 if large else 15)
        stage.answer(price, loss=(missed / 10) ** 2)
    for name, more in (("results", {}), ("rival", {"challenger_of": {"model": "results", "share": 0.5}})):
        if more:
            more["challenger_of"]["compare"] = "interleave"
        stage.make(name, loop="rank", learner="PreferencePerceptron", params={"dim": 2}, **more)
    documents = [{"id": id, "features": [place / 4, 1 - place / 3]} for place, id in enumerate("abcd")]
    for turn in range(8):
        page = stage.decide("results", candidates=documents)
        stage.answer(page, clicked=["abcd"[turn % 4]])


def tell(folder: Path) -> set[str]:
    """Tell all stories to a service on a new folder; the types of events that were written."""
    clock = Clock()
    clock.now = 1_800_000_000.0
    with Caller(folder, clock=clock) as call:
        stage = Stage(call, clock)
        for each in SCENES.values():
            each(stage)
        found = {type for model in call.get("/v1/models").json()["models"] for type in stage.types(model["name"])}
    return found - set(TOLD)
