"""Split a replay over processes or Ray."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from smidgen.learners.plugins import load_plugins
from smidgen.service.loops.evaluate_clicks import ClickedPages
from smidgen.service.ope.sources import Observations, open_log
from smidgen.service.ope.whatif import OWN, KeyShard, results_of, run_replay, start_replay
from smidgen.service.storage.address import parse_address

# A piece of a replay, done wherever a backend puts it: some learners, or some keys, along the whole log.

#: How often a piece says how far it is, in seconds.
SAY_S = 0.25


class Piece(msgspec.Struct, kw_only=True):
    """A piece of work; plain data, so that it can be sent.

    Attributes
    ----------
    log, data
        The log's name, and the data folder or database, as paths and URLs that hold everywhere.
    learners
        Other learners, as people write them.
    own_too
        Whether the log's own learner is among those compared.
    examined
        Of rankings: how likely each place is looked at.
    modules
        What plugins bring.
    part, of
        Which of the parts that the keys hash to; all of them if there is one.
    """

    log: str
    data: str
    learners: list[str] = []
    own_too: bool = True
    examined: list[float] | None = None
    modules: list[str] = []
    part: int = 0
    of: int = 1


class Part(msgspec.Struct, kw_only=True):
    """Results for some keys of a log: counts over all of it, and the observations of these keys."""

    decisions: int
    answered: int
    back: int
    elsewhere: int
    places: tuple[list[float], list[float], list[float], int] | None
    tape: list[bytes]


def by_learners(settings: dict[str, Any]) -> Iterator[int | bytes]:
    """The whole log through some learners; the answer is a `WhatIf` in MessagePack."""
    piece = msgspec.convert(settings, Piece)
    load_plugins(piece.modules)
    examined = None if piece.examined is None else np.array(piece.examined)
    with open_log(piece.log, parse_address(piece.data)) as recording:
        bench, lines = start_replay(recording, piece.learners, examined, own_too=piece.own_too)
        yield from thin_out(run_replay(bench, lines))
        yield msgspec.msgpack.encode(results_of(bench, recording.name))


def by_keys(settings: dict[str, Any]) -> Iterator[int | bytes]:
    """Some keys of the log through all learners; the answer is a `Part` in MessagePack."""
    piece, tape = msgspec.convert(settings, Piece), Observations()
    load_plugins(piece.modules)
    examined = None if piece.examined is None else np.array(piece.examined)
    with open_log(piece.log, parse_address(piece.data)) as recording:
        looked = KeyShard(piece.part, piece.of)
        bench, lines = start_replay(recording, piece.learners, examined, own_too=piece.own_too, looked=looked)
        bench.tape = lambda what, values: tape.add(-1, what, values)
        for number, evaluator in enumerate(bench.evaluators.values()):
            evaluator.observations = lambda what, values, who=number: tape.add(who, what, values)

        def read() -> Iterator[Any]:
            for tape.seq, line in enumerate(lines):  # numbers of events are those of their shard
                yield line

        yield from thin_out(run_replay(bench, read()))
        seen = bench.companion.examination() if isinstance(bench.companion, ClickedPages) else None
        places = None if seen is None else (seen.read.tolist(), seen.low.tolist(), seen.high.tolist(), seen.rounds)
        counts = {name: getattr(bench, name) for name in ("decisions", "answered", "back", "elsewhere")}
        yield msgspec.msgpack.encode(Part(**counts, places=places, tape=tape.blocks()))


def names_of(bench_learners: list[str], own_too: bool) -> list[str]:
    """The learners of a piece by name, the log's own first."""
    return [*([OWN] if own_too else []), *bench_learners]


def thin_out(numbers: Iterator[int]) -> Iterator[int]:
    """A sample of the numbers, small enough to plot."""
    said = time.monotonic()
    for number in numbers:
        if time.monotonic() - said > SAY_S:
            said = time.monotonic()
            yield number


# A piece of work in several: by learner, or by key.


def by_learner(piece: Piece, jobs: int, dear: Mapping[str, float] | None = None) -> list[Piece]:
    """Split into as many pieces as jobs, with about equal work. The log's own learner is in the first piece.

    Parameters
    ----------
    piece, jobs
        What is shared out, and among how many.
    dear
        What a learner's work counts, where that is known; all count the same if it is left out.
    """
    names: list[str | None] = [*([None] if piece.own_too else []), *piece.learners]
    cost = {name: (dear or {}).get(name or "", 1.0) for name in names}
    shares: list[list[str | None]] = [[] for _ in range(min(jobs, max(1, len(names))))]
    for name in sorted(names, key=lambda name: -cost[name]):
        min(shares, key=lambda share: sum(cost[each] for each in share)).append(name)
    return [
        msgspec.structs.replace(piece, learners=[each for each in share if each is not None], own_too=None in share)
        for share in shares
    ]


def by_key(piece: Piece, jobs: int) -> list[Piece]:
    """Split into as many pieces as jobs, with about the same number of keys."""
    return [msgspec.structs.replace(piece, part=part, of=jobs) for part in range(jobs)]
