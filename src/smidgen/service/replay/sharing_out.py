"""A piece of work in several: by learner, or by key."""

from __future__ import annotations

import msgspec

from smidgen.service.replay.work import Piece


def by_learner(piece: Piece, jobs: int) -> list[Piece]:
    """As many pieces as jobs, with about as many learners each; the log's own goes with the first."""
    names: list[str | None] = [*([None] if piece.own_too else []), *piece.learners]
    shares = [names[start::jobs] for start in range(min(jobs, max(1, len(names))))]
    return [
        msgspec.structs.replace(piece, learners=[each for each in share if each is not None], own_too=None in share)
        for share in shares
    ]


def by_key(piece: Piece, jobs: int) -> list[Piece]:
    """As many pieces as jobs, with about as many keys each."""
    return [msgspec.structs.replace(piece, part=part, of=jobs) for part in range(jobs)]
