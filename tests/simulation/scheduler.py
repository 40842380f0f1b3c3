"""Histories: what is set up, and the steps that a seed decides.

A step is a name and a number. All that a step draws comes from a generator with that number, so that a history without
some of its steps is still a history: the others do what they did, as far as they can.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from simulation.catalogue import Spec, spec

#: Steps and how often they are drawn. Those of the first group are what apps do all day.
OFTEN = {"decide": 26, "feedback": 30, "batch": 5, "several": 6, "shown": 4, "wait": 9, "turn": 8, "read": 8}
SELDOM = {
    "teach": 3,
    "patch": 3,
    "retract": 5,
    "rollback": 4,
    "forget": 4,
    "retain": 3,
    "rival": 3,
    "promote": 3,
    "copy": 2,
    "import": 2,
    "archive": 2,
    "revive": 2,
    "rename": 1,
    "maintain": 3,
    "restart": 3,
    "kill": 3,
    "fault": 3,
    "lease": 3,
    "story": 5,
}


class Step(NamedTuple):
    """Something that happens, and the number that all its details are drawn from."""

    what: str
    number: int


@dataclass(frozen=True)
class Setup:
    """Setup of a history.

    Attributes
    ----------
    store
        ``memory``, ``sqlite``, or ``shared``: memory that several workers share.
    workers
        How many engines there are.
    keyed_in_memory, snapshot_every
        Options of the engines.
    slow
        Whether commands seem slow, so that the writer's thread runs all of them.
    models
        What is created first.
    """

    store: str
    workers: int
    keyed_in_memory: int
    snapshot_every: int
    slow: bool
    models: tuple[Spec, ...]


@dataclass(frozen=True)
class History:
    """A set-up and steps."""

    seed: int
    setup: Setup
    steps: tuple[Step, ...]


def history(seed: int, *, store: str | None = None, length: int | None = None) -> History:
    """The history of a seed."""
    rng = random.Random(seed)
    kind = rng.choices(["memory", "shared", "sqlite"], [72, 18, 10])[0]
    kind = kind if store is None else store
    setup = Setup(
        store=kind,
        workers=rng.choice([2, 3]) if kind == "shared" else 1,
        keyed_in_memory=rng.choice([1, 2, 3]),
        snapshot_every=rng.choice([3, 8, 1000]),
        slow=rng.random() < 0.5,
        models=tuple(spec(rng, number) for number in range(rng.choice([1, 1, 1, 2]))),
    )
    # Some of the rare steps, often: so that two of them meet in a short history.
    favourites = rng.sample(list(SELDOM), 4)
    weights = {**OFTEN, **{name: weight / 3 for name, weight in SELDOM.items()}}
    for name in favourites:
        weights[name] = 3 * SELDOM[name]
    count = rng.randrange(8, 40) if length is None else length
    names = rng.choices(list(weights), list(weights.values()), k=count)
    return History(seed, setup, tuple(Step(name, rng.getrandbits(32)) for name in names))


def shrink(found: History, fails: Callable[[History], bool], most: int = 400) -> History:
    """Drop steps as long as it still fails: halves, then single ones; then the set-up is made simpler."""
    tried = 0

    def attempt(candidate: History) -> bool:
        nonlocal tried
        tried += 1
        return tried <= most and fails(candidate)

    size = max(1, len(found.steps) // 2)
    while size >= 1:
        place, dropped = 0, False
        while place < len(found.steps):
            candidate = replace(found, steps=found.steps[:place] + found.steps[place + size :])
            if attempt(candidate):
                found, dropped = candidate, True
            else:
                place += size
        size = size if dropped and size == 1 else size // 2
    for simpler in _simpler(found.setup):
        candidate = replace(found, setup=simpler(found.setup))
        if candidate != found and attempt(candidate):
            found = candidate
    return found


def _simpler(setup: Setup) -> Iterator[Callable[[Setup], Setup]]:
    yield lambda now: replace(now, slow=False)
    yield lambda now: replace(now, snapshot_every=1000)
    yield lambda now: replace(now, keyed_in_memory=3)
    if setup.store == "sqlite":
        yield lambda now: replace(now, store="memory")
    if setup.workers > 2:
        yield lambda now: replace(now, workers=2)
    for place in range(len(setup.models) - 1):
        yield lambda now, place=place: replace(
            now, models=tuple(each for i, each in enumerate(now.models) if i != place) or now.models
        )
