"""Models of every loop, the requests that apps send them, and what their users may answer."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

IDS = "abcd"
#: A word that only one person's requests have: it must not outlive them.
SECRET = "zzsecret"


@dataclass(frozen=True)
class Kind:
    """A kind of model.

    Attributes
    ----------
    body
        How it is created.
    form
        ``array``, ``record``, ``hashed`` or ``none``: what its requests hold.
    rewards
        Whether it takes a reward, so that missing feedback can have one.
    rival
        The learner of a shadow or challenger; None is the recommended one.
    feedback
        What its users answer, where the loop takes several kinds.
    taught
        Whether a shadow or a challenger can be taught whatever comes of a decision.
    safe
        Safe settings that a PATCH may give it.
    """

    body: dict[str, Any]
    form: str = "array"
    rewards: bool = False
    rival: str | None = None
    feedback: str = ""
    taught: bool = False
    safe: tuple[Any, ...] = ()

    @property
    def loop(self) -> str:
        return str(self.body["loop"])


_BOX = {"space": {"type": "Box", "low": [0, 0], "high": [1, 1]}}
KINDS: dict[str, Kind] = {
    "lists": Kind({"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 2}}),
    "search": Kind({"loop": "rank"}, "record"),
    "songs": Kind(
        {"loop": "choose", "learner": "ConvexPreferencePerceptron", "params": {"dim": 2, "radius": 1.0}},
        feedback="better",
        taught=True,
    ),
    "banners": Kind({"loop": "choose"}, "record", rewards=True, rival="LinUCB", taught=True),
    "offers": Kind({"loop": "choose", "learner": "LinUCB", "features": ["x", "y"]}, rewards=True, taught=True),
    "friends": Kind({"loop": "choose", "feedback": "better"}, "record", feedback="better", taught=True),
    "mail": Kind({"loop": "label", "labels": ["x", "y"]}, "record", rival="Confidit"),
    "topics": Kind({"loop": "label", "labels": ["x", "y"], "learner": "AROW", "features": ["x", "y"]}, rival="AROW"),
    "bits": Kind({"loop": "label", "labels": ["x", "y"], "learner": "Confidit", "features": ["x", "y"]}),
    "spam": Kind({"loop": "filter", "learner": "RidgeFil", "params": {"dim": 2}}),
    "words": Kind({"loop": "filter", "learner": "RidgeFil", "features": {"hashed": 16}}, "hashed"),
    "knobs": Kind({"loop": "tune", "params": _BOX}, "none"),
    "limits": Kind({"loop": "tune", "knobs": {"threads": {"integer": [1, 9]}, "ratio": [0, 1]}}, "none"),
    "prices": Kind(
        {"loop": "tune", "knobs": {"price": [5, 15], "ratio": [0, 1], "mode": {"categories": ["bulk", "stream"]}}},
        "record",
    ),
    "doses": Kind(
        {
            "loop": "tune",
            "knobs": {"dose": {"log": [0.1, 10]}, "ratio": [0, 1]},
            "safe": {"knobs": {"dose": 1.0, "ratio": 0.5}, "margin": 0.1},
        },
        "record",
        safe=({"knobs": {"dose": 2.0, "ratio": 0.5}, "margin": 0.2}, None),
    ),
    "letters": Kind({"loop": "draft"}, "text"),
}


@dataclass
class Spec:
    """A model of a history."""

    name: str
    kind: str
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def of(self) -> Kind:
        return KINDS[self.kind]


def spec(rng: random.Random, number: int) -> Spec:
    """A random set-up of a model."""
    kind = rng.choice(list(KINDS))
    of = KINDS[kind]
    body: dict[str, Any] = {**of.body, "window_s": rng.choice([20.0, 100.0])}
    if rng.random() < 0.55:
        body["keyed"] = True
        if rng.random() < 0.25:
            body["shards"] = rng.choice([2, 3])
        if rng.random() < 0.3 and of.loop != "tune" and of.loop != "filter":
            body["shared_start"] = rng.random() < 0.6
    if of.rewards and rng.random() < 0.5:
        body["default_reward"] = rng.choice([0.0, 0.25])
    own = random.Random(repr((number, body)))
    if of.loop in ("rank", "choose", "label") and own.random() < 0.35:
        body["holdout"] = holdout(own)
    if of.loop == "choose" and of.rewards and own.random() < 0.5:
        body["budget"] = {"usd": own.choice([0.5, 2.0])}
    elif of.rewards and own.random() < 0.7:
        body["rewards"] = own.choice(["sum", "max", "last"])
    return Spec(f"{kind}{number}", kind, body)


def holdout(rng: random.Random) -> dict[str, Any]:
    """A holdout; nothing of it is drawn by the service, so that two runs of a history are alike."""
    return {"share": rng.choice([0.2, 0.5]), "policy": rng.choice(["first", {"candidate": "b"}]), "salt": "s"}


def request(rng: random.Random, spec: Spec, key: str | None) -> dict[str, Any]:
    """A request for a decision."""
    of, body = spec.of, dict[str, Any]()
    if key is not None:
        body["key"] = key
    secret = key == "k0"
    if of.loop in ("rank", "choose"):
        ids = rng.sample(IDS, 3)
        if of.form == "array":
            body["candidates"] = [{"id": id, "features": [_number(rng), _number(rng)]} for id in ids]
        else:
            body["candidates"] = [{"id": id, "features": {"size": _number(rng)}} for id in ids]
            body["context"] = _record(rng, secret)
        if "budget" in spec.body:
            for place, each in enumerate(body["candidates"]):
                each["costs"] = {"usd": float((len(ids[0]) + 3 * place) % 5)}
        if of.form == "record" and of.rewards and random.Random(repr(body)).random() < 0.4:
            body["slots"] = [{"id": "s"}, {"id": "t", "features": {"wide": True}, "exclude": [ids[1]]}]
    elif of.loop == "draft":
        body["drafts"] = [{"id": id, "text": "Dear all, " * rng.randrange(3) + f"{id} is late."} for id in "ab"]
    elif of.form == "record" and of.loop == "tune":
        body |= {"context": _record(rng, secret)} if rng.random() < 0.9 else {}
    elif of.form == "record":
        body["features"] = _record(rng, secret)
    elif of.form == "hashed":
        body["features"] = {f"w{rng.randrange(5)}": 1.0, "bias": 1.0, **({SECRET: 1.0} if secret else {})}
    elif of.form == "array":
        body["features"] = [_number(rng), _number(rng)]
    if of.form == "record" and of.loop != "tune" and (own := random.Random(f"{body} vector")).random() < 0.3:
        where = body["features"] if "features" in body else body["context"]
        where["emb"] = [own.randrange(-4, 5) / 4 for _ in range(3)]
    if key is None:
        body["unit"] = f"u{random.Random(repr(body)).randrange(6)}"
    return body


def wrong(spec: Spec, body: dict[str, Any]) -> dict[str, Any]:
    """A request with a field that the loop does not have."""
    return {**body, "top": 3} if spec.of.loop != "rank" else {**body, "features": [1.0]}


def _number(rng: random.Random) -> float:
    return rng.randrange(-4, 5) / 4


def _record(rng: random.Random, secret: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"device": rng.choice(["ios", "web"])}
    if rng.random() < 0.5:
        found["age"] = rng.randrange(20, 60)
    if secret:
        found |= {f"pay {SECRET}": rng.randrange(9), "town": f"{SECRET} town"}
    return found


def answer(rng: random.Random, spec: Spec, reply: dict[str, Any], *, impossible: bool) -> dict[str, Any]:
    """Feedback on a decision; what is impossible is refused with 422."""
    of = spec.of
    if impossible:
        return {"loss": 0.5} if of.loop != "tune" else {"relevant": True}
    if of.loop == "rank":
        ids = reply["ranking"]
        return {"clicked": [rng.choice(ids)]} if rng.random() < 0.7 else {"better": [rng.choice(ids)]}
    if of.loop == "choose":
        if of.feedback == "better":
            return {"better": reply["choice"] if rng.random() < 0.5 else rng.choice(reply.get("ids", IDS))}
        if "choices" in reply:
            return _slot_answer(rng, spec)
        if "rewards" in spec.body:
            more = [{}, {}, {"id": rng.choice("xyz")}, {"costs": {"usd": 0.5}}, {"final": True}]
            return {"reward": rng.randrange(5) / 4, **rng.choice(more)}
        return {"reward": rng.randrange(5) / 4}
    if of.loop == "label":
        if of.body.get("learner") == "AROW":
            return {"label": rng.choice("xy")}
        return {"correct": rng.random() < 0.5}
    if of.loop == "filter":
        return {"relevant": rng.random() < 0.5}
    if of.loop == "tune":
        return {"loss": rng.randrange(8) / 8}
    return {"edited": rng.choice(["Dear all, so be it.", "No.", "It is late."])}


def _slot_answer(rng: random.Random, spec: Spec) -> dict[str, Any]:
    """Feedback on a decision with slots: on all of them, or on one."""
    slots = rng.choice([["s", "t"], ["s", "t"], ["s"], ["t"]])
    found: dict[str, Any] = {"rewards": {slot: rng.randrange(5) / 4 for slot in slots}}
    if rng.random() < 0.2:
        found = {"reward": rng.randrange(5) / 4}
    if "rewards" in spec.body:
        found |= rng.choice([{}, {"id": rng.choice("xyz")}, {"costs": {"usd": 0.5}}, {"final": True}])
    return found


def example(rng: random.Random, spec: Spec) -> dict[str, Any]:
    """An example with its answer."""
    of, body = spec.of, request(rng, spec, None)
    body.pop("slots", None)
    ids = [each["id"] for each in body.get("candidates", ())]
    answers: dict[str, Any] = {
        "rank": ids[:1],
        "choose": ids[0] if ids and of.feedback == "better" else {"choice": ids[0] if ids else "", "reward": 0.75},
        "label": rng.choice("xy"),
        "filter": rng.random() < 0.5,
        "tune": {"knobs": {"dose": 1.5, "ratio": 0.25}, "loss": 0.25} if of.safe else [0.5, 0.5],
        "draft": "So be it.",
    }
    return {**body, "answer": answers[of.loop]}


def chosen(rng: random.Random, spec: Spec, body: dict[str, Any]) -> Any:
    """A choice of the app itself; None if it cannot choose."""
    of = spec.of
    if of.loop == "rank":
        return [each["id"] for each in body["candidates"]][:1]
    if "slots" in body:
        return [body["candidates"][0]["id"], body["candidates"][2]["id"]]
    if of.loop in ("choose", "draft"):
        return rng.choice([each["id"] for each in body.get("candidates", body.get("drafts"))])
    return {"label": rng.choice("xy"), "filter": rng.random() < 0.5}.get(of.loop)


def rival(rng: random.Random, spec: Spec, shadow: bool) -> dict[str, Any]:
    """Settings of a shadow or a challenger of a model."""
    of, how = spec.of, "shadow_of" if shadow else "challenger_of"
    body: dict[str, Any] = {"loop": of.loop, how: {"model": spec.name, "share": 0.5}}
    if of.loop == "rank" and not shadow and random.Random(spec.name).random() < 0.6:
        body[how]["compare"] = "interleave"
    if of.rival:
        body["learner"] = of.rival
    elif of.form in ("array", "hashed") and "learner" in of.body:
        body["learner"] = of.body["learner"]
        if of.body["learner"] == "ConvexPreferencePerceptron":
            body["params"] = {"radius": 1.0}
    if "shared_start" in spec.body and rng.random() < 0.5:
        body["shared_start"] = spec.body["shared_start"]
    return body
