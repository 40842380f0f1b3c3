"""Files that nobody wrote: saved learners and decisions, cut, flipped, swollen, or false in every part.

All are made from good ones by a seed, so that the corpus is the same everywhere and takes no room.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

import smidgen
from smidgen import serialization
from smidgen.learners import saving

SEED = 14


def learners() -> dict[str, smidgen.Learner]:
    """Small learners of every kind of state, each with a few rounds behind it."""
    rng = np.random.default_rng(SEED)
    made: dict[str, smidgen.Learner] = {
        "additive": smidgen.PreferencePerceptron(dim=3).guard(),
        "newton": smidgen.SecondOrderPreferencePerceptron(dim=3, radius=2.0),
        "classes": smidgen.Confidit(dim=3, labels=["a", "b"], covariance="full"),
        "dual": smidgen.RidgeFil(dim=3, covariance="dual"),
        "kernel": smidgen.RidgeFull(dim=3, kernel="rbf"),
        "values": smidgen.ONSEG(space=smidgen.Ball(dim=2), loss_bound=1.0, delta=0.1, beta="practical"),
    }
    for name, learner in made.items():
        for _ in range(4):
            if name in ("additive", "newton"):
                learner.learn(learner.decide(smidgen.Choice(rng.normal(size=(3, 3)))), 0)
            elif name == "values":
                learner.learn(learner.decide(), 0.5)
            else:
                decision = learner.decide(rng.normal(size=3))
                if decision.action is not False:
                    learner.learn(decision, True)
    return made


def decisions() -> list[smidgen.Decision]:
    """Decisions of every form."""
    rng = np.random.default_rng(SEED)
    return [
        smidgen.PreferencePerceptron(dim=3).decide(smidgen.Ranking(rng.normal(size=(4, 3)))),
        smidgen.DuelingBandit(dim=3, explore=0.5, step=0.1).decide(smidgen.Choice(rng.normal(size=(4, 3)))),
        smidgen.Banditron(dim=3, n_classes=2).decide(rng.normal(size=3)),
        smidgen.OGDEG(space=smidgen.Ball(dim=2), loss_bound=1.0, delta=0.1).decide(),
    ]


def damaged(content: bytes, n: int) -> Iterator[bytes]:
    """The bytes cut short, with bits flipped, with parts repeated, replaced or moved, with numbers made huge."""
    rng = random.Random(SEED + len(content))
    yield from (b"", content[:1], content[:-1], content + b"\x00", content * 2)
    for _ in range(n):
        at = rng.randrange(len(content))
        yield content[:at]
        flipped = bytearray(content)
        for _ in range(rng.randrange(1, 4)):
            flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        yield bytes(flipped)
        end = min(len(content), at + rng.randrange(1, 9))
        yield content[:at] + b"\xff" * (end - at) + content[end:]
        yield content[:at] + content[end:]
        yield content[:at] + content[at:end] * 3 + content[end:]


def false_learners() -> Iterator[bytes]:
    """Whole files with a right checksum whose parts are false."""
    for learner in learners().values():
        header, arrays = saving.decode_learner(learner.to_bytes(), "the corpus")
        for name, array in arrays.items():
            if array.dtype.kind == "f" and array.size:
                for value in (np.nan, np.inf):
                    yield saving.encode_learner(header, {**arrays, name: np.full_like(array, value)})
            for other in _others(array):
                yield saving.encode_learner(header, {**arrays, name: other})
            yield saving.encode_learner(header, {each: kept for each, kept in arrays.items() if each != name})
        yield saving.encode_learner(header, {**arrays, "more": np.zeros(3)})
        for change in _headers(header):
            yield saving.encode_learner(change, arrays)


def _others(array: Any) -> Iterator[Any]:
    """Arrays of other shapes and types."""
    yield np.zeros((*array.shape, 2), array.dtype)
    yield np.zeros(7, np.float32)
    yield np.zeros((3, 3), np.int8)
    yield np.zeros(0)
    yield np.full(array.shape, -1, np.int64)


def _headers(header: saving.Header) -> Iterator[saving.Header]:
    """Heads that name what is not there, or far too much of it."""
    replace = msgspec.structs.replace
    yield from (replace(header, kind=kind) for kind in ("", "Learner", "object", "a" * 100_000, "\x00"))
    yield from (replace(header, decided=number) for number in (-1, 0, 2**63 - 1))
    yield from (replace(header, settings_version=99), replace(header, state_version=99))
    for size in (0, -1, 10**6, 2**31 - 1, 2**62):
        yield replace(header, params={**header.params, "dim": size})
        yield replace(header, params={**header.params, "n_classes": size})
    yield replace(header, params={"$": "Ball"})
    yield replace(header, params={})
    yield replace(header, notes=[])
    yield replace(header, params={**header.params, "seed": _deep(400)})


def _deep(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def false_values() -> Iterator[bytes]:
    """Bytes for `serialization.decode`: extents and lengths far beyond what follows, and deep nesting."""
    good = serialization.encode({"w": np.arange(6.0).reshape(2, 3), "names": ["a", "b"]})
    yield from damaged(good, 60)
    for head in (b"\xdd", b"\xdf", b"\xdb", b"\xc6", b"\xc9"):  # list, map, text, bytes, extension of 2³² − 1
        yield head + b"\xff" * 4
        yield head + b"\xff" * 4 + b"\x01" * 8
    yield b"\x91" * 100_000 + b"\xc0"
    yield b"\x81\xa1a" * 50_000 + b"\xc0"


def false_json() -> Iterator[bytes]:
    """JSON for `Decision.from_json`."""
    for decision in decisions():
        content = decision.to_json()
        yield from damaged(content, 40)
        fields = msgspec.json.decode(content)
        for name in fields:
            for value in (None, -1, 2**63, 1e308, "x", [], {}, [[]], {"$": "ndarray"}, {"$": "Ranking"}, {"$": []}):
                yield msgspec.json.encode({**fields, name: value})
            yield msgspec.json.encode({each: kept for each, kept in fields.items() if each != name})
    yield b"[" * 100_000
    yield b'{"a":' * 100_000
