"""Calls that change nothing change no byte of a learner, caches included, except those listed here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from laws.loops import CASES
from smidgen.errors import SmidgenError
from smidgen.testing import Case

#: Scratch that is written before it is read, each time; and tables of names that a vectorizer has met, which it says.
SAID = {"_where", "_values", "_absent", "_fields", "_roots", "_tables"}


def held(thing: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Everything that can be reached from an object: arrays by their bytes, all else by what it says."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield path, (thing.shape, str(thing.dtype), thing.tobytes())
    elif isinstance(thing, dict):
        yield path, len(thing)
        for name, value in thing.items():
            yield from held(value, f"{path}[{name!r}]", seen)
    elif isinstance(thing, (list, tuple)):
        yield path, len(thing)
        for i, value in enumerate(thing):
            yield from held(value, f"{path}[{i}]", seen)
    elif isinstance(thing, (int, float, str, bytes, bool)) or thing is None:
        yield path, repr(thing)
    elif type(thing).__module__.startswith("smidgen"):
        slots = [name for cls in type(thing).__mro__ for name in getattr(cls, "__slots__", ())]
        named = {name: getattr(thing, name) for name in slots if hasattr(thing, name)} | getattr(thing, "__dict__", {})
        yield path, type(thing)
        for name, value in named.items():
            if name not in SAID:
                yield from held(value, f"{path}.{name}", seen)
    else:
        yield path, id(thing)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_looking_at_a_learner_leaves_every_byte_as_it_was(case: Case) -> None:
    contexts, learner = case.form.contexts(4, 12), case.make()
    case.play(learner, contexts[:8])
    pending = learner.decide(contexts[8])
    before = dict(held(learner, "learner", set()))
    for context in contexts:
        learner.predict(context)
    for name in ("weights", "rounds", "decisions", "params", "mean_weights", "support", "estimate"):
        with contextlib.suppress(SmidgenError, AttributeError):
            getattr(learner, name)
    repr(learner)
    learner.to_compact(pending)
    after = dict(held(learner, "learner", set()))
    assert [path for path in {**before, **after} if before.get(path) != after.get(path)] == []
