"""Logs that nobody exported: real ones with a number, a type or a depth changed, and some written to do harm.

All are made from good ones by a seed. A few hundred bytes of a log can name gigabytes: a number of features, of
classes, of keys, a place among names, the extents of an array.
"""

from __future__ import annotations

import base64
import copy
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import msgspec
import numpy as np

import smidgen
from service.bodies import MODELS, feedback_body, model, play, request
from service.memory import CommittedTables, MemoryStore
from smidgen import serialization
from smidgen.learners import saving
from smidgen.service.engine.engine import Engine
from smidgen.service.schemas import AmendBody

SEED = 29
#: Numbers at the ends of what JSON can say.
EXTREMES: tuple[Any, ...] = (
    *(-1, 0, 2**25, 10**8, 2**31 - 1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, 2**64 - 1, 2**64, -(2**63), 10**300),
    *(1e308, -1e308, 1e-320, 1e19, 0.5),
)
#: Values of another type.
OTHERS: tuple[Any, ...] = (
    None,
    True,
    "",
    "x" * 1000,
    [],
    {},
    [[]],
    {"$": "array"},
    {"$": []},
    {"$": "Ball"},
    [0, 2**40],
)
#: Records with a text, a set and a number, whose names go into tables.
RECORDS = {"loop": "label", "labels": ["spam", "work"], "features": {"auto": {"dim": 64, "text": ["subject"]}}}
SHARING = {"loop": "choose", "keyed": True, "features": {"auto": {"dim": 64}}}


@cache
def good() -> dict[str, bytes]:
    """Logs of every kind of learner and of records, a few dozen events each; importing one works."""
    found: dict[str, bytes] = {}
    for name in ("rank", "second", "label", "arow", "filter", "tasting", "hashed", "tune", "keyed", "newcomers"):
        engine = Engine(MemoryStore(CommittedTables()), clock=lambda: 5.0)
        engine.create(name, model(MODELS[name]))
        play(engine, [name], 12, seed=SEED)
        found[name] = _log(engine, name)
    for name, body in (("records", RECORDS), ("sharing", SHARING)):
        engine = Engine(MemoryStore(CommittedTables()), clock=lambda: 5.0)
        engine.create(name, model(body))
        for number in range(5):
            made = engine.decide(name, request(_asked(name, number)))
            engine.feedback(made["decision"], feedback_body(**_feedback_for(name, number)))
        if name == "records":
            engine.amend(name, msgspec.convert({"add_labels": ["family"], "add_text": ["body"]}, AmendBody))
        found[name] = _log(engine, name)
    return found


def _asked(name: str, number: int) -> dict[str, Any]:
    if name == "records":
        return {"features": {"subject": f"word{number} of mail", "size": number, "tags": ["a", f"t{number}"]}}
    candidates = [{"id": f"c{i}", "features": {"price": i + number, "shop": f"s{i}"}} for i in range(3)]
    return {"key": f"k{number % 2}", "candidates": candidates, "context": {"hour": number}}


def _feedback_for(name: str, number: int) -> dict[str, Any]:
    return {"correct": number % 2 == 0} if name == "records" else {"reward": number / 5}


def _log(engine: Engine, name: str) -> bytes:
    return b"".join(line + b"\n" for line in engine.events.all_lines(engine.models[name]))


def changed() -> Iterator[tuple[str, bytes]]:
    """Good logs with one leaf changed, in a fixed order.

    Every number becomes every extreme, every value something of another type, and so do the numbers in arrays.
    """
    for name, content in good().items():
        events = [msgspec.json.decode(line) for line in content.splitlines()]
        seen: set[str] = set()
        for place, event in enumerate(events):
            if event["type"] in seen:
                continue
            seen.add(event["type"])
            for path, value in _leaves(event):
                number = isinstance(value, int | float) and not isinstance(value, bool)
                arrays = _other_arrays(value) if isinstance(value, dict) and value.get("$") == "array" else ()
                for other in (*(EXTREMES if number else ()), *arrays, *OTHERS):
                    new = copy.deepcopy(event)
                    _put(new, path, other)
                    yield f"{name}: {'.'.join(map(str, path))} = {str(other)[:40]}", _lines(events, place, new)


def some_changed(count: int) -> list[tuple[str, bytes]]:
    """A sample of `changed`, by the seed."""
    return random.Random(SEED).sample(list(changed()), count)


def _other_arrays(packed: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The array with extremes in it, longer, shorter, and of other shapes."""
    array = serialization.unpack(packed)
    if array.dtype.kind in "iu":
        for number in (np.iinfo(array.dtype).max, np.iinfo(array.dtype).min, 10**6):
            yield serialization.pack(np.full_like(array, np.asarray(number).astype(array.dtype)))
    elif array.dtype.kind == "f":
        for value in (np.nan, np.inf, 1e308):
            yield serialization.pack(np.full_like(array, value))
    yield serialization.pack(np.concatenate([array.ravel()] * 2))
    yield serialization.pack(array.ravel()[1:])
    yield {**packed, "shape": [2**40, *packed["shape"]]}


def _lines(events: list[Any], place: int, event: Any) -> bytes:
    return b"".join(msgspec.json.encode(event if i == place else each) + b"\n" for i, each in enumerate(events))


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value inside, holders too, with the way to it."""
    if path:
        yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _leaves(inner, (*path, key))


def _put(value: Any, path: tuple[Any, ...], new: Any) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = new


def created(body: dict[str, Any], settings: dict[str, Any], **more: Any) -> bytes:
    """The first line of a log, with the settings that its learner is made of."""
    resolved = {"learner": body.get("learner"), "settings": settings, "guarded": True, "terms": {}, **more}
    return _line(1, "created", format="1.0", model=body, resolved=resolved)


def _line(seq: int, type: str, **fields: Any) -> bytes:
    return msgspec.json.encode({"seq": seq, "type": type, "at": "2026-11-18T00:00:00.000Z", **fields}) + b"\n"


def _rank(dim: Any, **body: Any) -> bytes:
    settings = {"$": "PreferencePerceptron", "$version": 1, "dim": dim}
    return created({"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": dim}, **body}, settings)


def _label(**params: Any) -> bytes:
    body = {"loop": "label", "learner": "Banditron", "params": params}
    return created(body, {"$": "Banditron", "$version": 1, **params})


def _records(dim: Any) -> bytes:
    features = {"$": "Vectorizer", "$version": 1, "dim": dim}
    inner = {"$": "PreferencePerceptron", "$version": 1, "dim": 64}
    body = {"loop": "rank", "learner": "PreferencePerceptron", "features": {"auto": {"dim": 64}}}
    return created(body, {"$": "Pipeline", "$version": 1, "features": features, "learner": inner})


def _tuner(space: dict[str, Any]) -> bytes:
    body = {"loop": "tune", "learner": "OGD", "params": {"gradient_bound": 1.0, "space": {"type": "Ball", "dim": 2}}}
    return created(body, {"$": "OGD", "$version": 1, "gradient_bound": 1.0, "space": space})


def _many_keys(count: int, dim: int) -> bytes:
    """A keyed model of large learners, and a short line for each key."""
    lines = [
        _line(seq, "decision", decision=f"d{seq}", key=f"k{seq}", number=1, reply={"model_version": 0})
        for seq in range(2, 2 + count)
    ]
    return b"".join([_rank(dim, keyed=True), *lines])


def _imported(array: dict[str, Any], count: int = 1) -> bytes:
    body = [_line(seq, "imported", key=f"k{seq}", model_version=seq - 1, learn=array) for seq in range(2, 2 + count)]
    return b"".join([_rank(3, keyed=True), *body])


def _saved(**params: Any) -> dict[str, Any]:
    """A saved learner whose header names more than it holds, as the log has it."""
    header, arrays = saving.decode_learner(smidgen.PreferencePerceptron(dim=3).to_bytes(), "the corpus")
    content = saving.encode_learner(msgspec.structs.replace(header, params=params), arrays)
    packed: dict[str, Any] = serialization.pack(np.frombuffer(content, np.uint8))
    return packed


def _array(shape: list[Any], dtype: str = "<f8", data: bytes = b"") -> dict[str, Any]:
    return {"$": "array", "dtype": dtype, "shape": shape, "data": base64.b64encode(data).decode()}


def _amended(**changes: Any) -> bytes:
    """A model that has decided, so that it has a learner, which receives this."""
    decided = _line(2, "decision", decision="d", number=1, reply={"model_version": 0})
    learn = {"settings": {}, "labels": None, **changes}
    return _label(dim=3, n_classes=2) + decided + _line(3, "amended", learn=learn)


def _with(name: str, change: Callable[[dict[str, Any]], None], type: str) -> bytes:
    """A good log with something of its first event of a type changed."""
    events = [msgspec.json.decode(line) for line in good()[name].splitlines()]
    place = next(i for i, event in enumerate(events) if event["type"] == type)
    change(events[place])
    return _lines(events, place, events[place])


def long_setting() -> bytes:
    """A good log whose settings say a number that the log of a service cannot hold."""
    return _with("rank", lambda event: event["model"].update(params={"dim": 2**64}), "created")


def _carry(event: dict[str, Any], place: int, slot: int) -> None:
    """Let a decision carry a name with a place, and a slot for its numbers."""
    event["shared"]["names"].append([place, "stranger", slot])


def _nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def _deep(field: str, levels: int) -> bytes:
    return b'{"seq":2,"type":"feedback","model_version":1,"%s":%s}\n' % (field.encode(), _nested(levels))


def harmful() -> dict[str, bytes]:
    """Logs that must be refused, by what they try."""
    found = {
        "100,000,000 features": _rank(10**8),
        "a billion features": _rank(10**9),
        "2**62 features": _rank(2**62),
        "-1 features": _rank(-1),
        "a decision's number of 64 bits": _with("rank", lambda event: event["record"].update(number=2**63), "decision"),
        "features that are a fraction": _rank(3.5),
        "features that are a list": _rank([3]),
        "a matrix between 100,000 features": created(
            {"loop": "rank", "learner": "SecondOrderPreferencePerceptron", "params": {"dim": 10**5}},
            {"$": "SecondOrderPreferencePerceptron", "$version": 1, "dim": 10**5},
        ),
        "16 million classes": _label(dim=1, n_classes=2**24 - 1),
        "2**31 classes": _label(dim=3, n_classes=2**31),
        "a class for each of a million features": _label(dim=10**6, n_classes=10**5),
        "16 million columns of records": _records(2**24 - 1),
        "2**40 columns of records": _records(2**40),
        "a ball of 2**30 dimensions": _tuner({"$": "Ball", "$version": 1, "dim": 2**30}),
        "a simplex of 2**62 shares": _tuner({"$": "Simplex", "$version": 1, "dim": 2**62}),
        "a box whose limits lie": _tuner({"$": "Box", "$version": 1, "low": _array([2**40]), "high": _array([2**40])}),
        "a ridge that is almost nothing": created(
            {"loop": "filter", "learner": "RidgeFil", "params": {"dim": 3, "a": 1e-320}},
            {"$": "RidgeFil", "$version": 1, "dim": 3, "a": 1e-320},
        ),
        "settings that are no learner": created({"loop": "rank"}, {"$": "Ball", "$version": 1, "dim": 3}),
        "settings that are nothing": created({"loop": "rank"}, {"$": "unheard of"}),
        "terms that are none": created({"loop": "rank"}, {"$": "PreferencePerceptron", "dim": 3}, terms=5),
        "rewards of infinite range": created(
            {"loop": "choose", "learner": "LinUCB", "params": {"dim": 3}, "reward_range": [-1e308, 1e308]},
            {"$": "LinUCB", "$version": 1, "dim": 3},
            terms={"reward_range": [-1e308, 1e308]},
        ),
        "a thousand keys of large learners": _many_keys(1000, 10**6),
        "an array whose extents lie": _imported(_array([2**40], "|u1")),
        "an array of negative extents": _imported(_array([-1], "|u1")),
        "an array of a thousand axes": _imported(_array([1] * 1000, "|u1", b"x")),
        "a saved learner of 2**31 features": _imported(_saved(dim=2**31 - 1)),
        "a saved learner of 100,000,000 features": _imported(_saved(dim=10**8)),
        "a saved learner that is smaller than it says": _imported(_saved(dim=2 * 10**6), 200),
        "a billion labels added": _amended(labels=[2, 10**9]),
        "labels that count down": _amended(labels=[10**9, 2]),
        "labels that are words": _amended(labels=["a", "b"]),
        "other features by amendment": _amended(settings={"dim": 10**9}),
        "an amendment of nothing": _amended(labels=None, settings=None),
        "a place far among names": _with("sharing", lambda event: event.update(places=[[2**40], [-1]]), "feedback"),
        "places that are words": _with("sharing", lambda event: event.update(places="x"), "feedback"),
        "a name far from all others": _with("sharing", lambda event: _carry(event, 2**40, -1), "decision"),
        "a number far from all others": _with("sharing", lambda event: _carry(event, 1, 2**40), "decision"),
        "a row of 2**40 columns": _with("rank", lambda event: _swell(event, 2**40), "decision"),
        "no model": _line(1, "decision", decision="d", number=1),
        "nothing": b"",
        "no JSON": b"\x00\xff\xfe" * 100,
        "half a line": good()["rank"][:100],
        "a number of 5,000 digits": b'{"seq":%s,"type":"created"}\n' % (b"9" * 5000),
        "a line of 100,000 lists": _nested(100_000) + b"\n",
        "a line of 100,000 objects": b'{"a":' * 100_000 + b"\n",
    }
    for field in ("learn", "reply", "record", "resolved", "shared", "names", "unheard_of"):
        for levels in (100, 900, 100_000):
            found[f"{field} of {levels} lists"] = _rank(3) + _deep(field, levels)
    return found


def _swell(event: dict[str, Any], width: int) -> None:
    """Let the arrays of a decision's record claim to be wider."""
    for path, value in list(_leaves(event["record"])):
        if path[-1] == "shape":
            _put(event["record"], path, [*value[:-1], width])
