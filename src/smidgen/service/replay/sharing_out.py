"""A piece of work in several: by learner, or by key."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from smidgen.service.replay.work import Piece


def by_learner(piece: Piece, jobs: int, dear: Mapping[str, float] | None = None) -> list[Piece]:
    """As many pieces as jobs, with about as much work each; the log's own learner goes with the first.

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
    """As many pieces as jobs, with about as many keys each."""
    return [msgspec.structs.replace(piece, part=part, of=jobs) for part in range(jobs)]
