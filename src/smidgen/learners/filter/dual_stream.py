"""Streams through a ridge filter that keeps its examples: a block of items at a time.

With n examples an exact answer costs n² operations in any form, and n goes into the thousands. One item at a time that
is a walk through a large matrix; a block of items at a time it is a product of matrices, many times quicker. The
arithmetic is that of `SparseRidge`, for a block: an item that is learnt adds a row to the products of those after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from smidgen._core.filter import play_block
from smidgen.decision import FloatArray
from smidgen.learners.filter.base import Shown, Stream
from smidgen.learners.filter.exploring import Exploring
from smidgen.state.sparse_ridge import SparseRidge

#: Items of a block, and how many examples there must be before blocks pay: until then, the two verbs play.
BLOCK, MANY = 192, 200

Counts: TypeAlias = tuple[FloatArray, FloatArray]  # what was heard; surprises of a filter that tastes
ByVerbs: TypeAlias = Callable[[Stream, int, Shown], None]


def play_dual(
    ridge: SparseRidge,
    e: Exploring,
    counts: Counts,
    stream: Stream,
    wide: Stream,
    first: int,
    shown: Shown,
    by_verbs: ByVerbs,
) -> None:
    """Play a stream to its end; ``wide`` has the rows as the ridge sees them, with a constant if there is one.

    Equal to the two verbs to the last bit up to `MANY` examples, and to rounding from then on.
    """
    indices, values, starts, truth, order = stream
    at = 0
    while at < len(order):
        stop = min(at + BLOCK, len(order))
        part, then = order[at:stop], (shown[0][at:stop], shown[1][at:stop])
        if ridge.window is not None or len(ridge) < MANY:
            by_verbs((indices, values, starts, truth, part), first + at, then)
        else:
            asked = ridge.asked(*wide[:3], part)
            play_block(asked, e, counts, truth[part], first + at, then)
            ridge.take_over(asked)
        at = stop
