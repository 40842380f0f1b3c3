"""The named questions of a store, held against answers worked out here."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from smidgen.service.storage.protocol import Question, Store
from smidgen.service.storage.records import Asked, Told


def answers_named_questions(store: Store, shard: int, batch: Callable[[Store, Callable[[], Any]], Any]) -> None:
    """Play a small log whose figures are known, and ask every question.

    Parameters
    ----------
    store, shard
        An empty shard of it, with its first event.
    batch
        Commits one command.
    """
    keys = ["ab", "a", "b", "ab", "ac", "a"]
    asked = [
        Asked(f"{1800 + n:024x}", float(n), 1e6, key, n + 1, None, None, n % 2 == 0, None if n == 1 else n > 2, b"")
        for n, key in enumerate(keys)
    ]
    batch(store, lambda: store.decided(shard, asked))  # events 2 … 7
    figures: list[tuple[Any, ...]] = [
        (3, 1.0, 2.0),
        (0, 0.0, None),
        (4, None, 1.0),
        (1, 0.5, 4.0),
    ]  # decision, measure, position
    told = [
        Told(asked[n].decision, 100.0 + n, asked[n].key, b"", measure, position, b"")
        for n, measure, position in figures
    ]
    batch(store, lambda: store.answered(shard, told))  # events 8 … 11, versions 1 … 4
    batch(store, lambda: store.answered(shard, [Told(asked[5].decision, 2e6, "a", b"", None, None, b"")]))  # late

    def look(question: Question, expected: list[tuple[Any, ...]], **values: Any) -> None:
        for reading in (store, reader):
            found = [tuple(row) for row in reading.look(question, shard, **values)]
            if len(found) != len(expected) or not all(map(_same, found, expected)):
                raise AssertionError(f"the question {question!r} ({values}) is answered with {found}, not {expected}")

    reader = store.reader()
    try:
        blocks = [(0, 2, 2, 1.0, 1.0, 1, 2.0, 1), (1, 2, 1, 0.5, 0.25, 2, 5.0, 3)]
        look("learnt_blocks", blocks, after=0, upto=4, block=2)
        look("learnt_blocks", blocks[1:], after=2, upto=4, block=2)
        look("learnt_blocks", [(0, 1, 1, 1.0, 1.0, 1, 2.0, 0)], after=0, upto=1, block=5)
        made = [(0, 2, 1.0, 1, 0.0), (1, 3, 2.0, 3, 2.0), (2, 1, 0.0, 1, 1.0)]
        look("made_blocks", made, after=0, upto=12, block=3)
        look("made_blocks", made[1:2], after=3, upto=6, block=3)
        look("waits", [(100.0,), (100.0,), (100.0,), (100.0,)], after=0)
        look("waits", [(100.0,)], after=3)
        look("measures", [(1.0,), (0.0,), (0.5,)], after=0)
        look("measures", [(0.5,)], after=2)
        look("keys", [("a",), ("ab",), ("ac",), ("b",)], prefix="", limit=50)
        look("keys", [("ab",)], prefix="ab", limit=50)
        look("keys", [("a",), ("ab",)], prefix="a", limit=2)
        look("keys", [], prefix="z", limit=50)
        look("tally", [(6, 4, 1, 0)])
        latest = [store.decision(asked[n].decision) for n in (3, 2)]
        look("lately", [_outcome(asked[n], n, figures) for n in (5, 4, 3)], limit=3)
        look("answers", [_outcome(asked[n], n, figures) for n in (1, 4, 0)], limit=3)
        look("open", [(0, 0)], now=1e6, limit=9)  # of what was forwarded one is answered late, the others in time
        look("ended", [], now=1e6, limit=3)
        look("ended", [_outcome(asked[n], n, figures) for n in (5, 4)], now=1.5e6, limit=2)
        look("latest", [tuple(row) for row in latest if row is not None], before=6, limit=2)
        batch(store, lambda: store.decided(shard, [asked[5]._replace(decision=f"{1899:024x}", shown=False)]))
        look("lately", [_outcome(asked[5], 5, figures)], limit=1)  # what was not shown does not count
        look("open", [(0, 1)], now=1e6, limit=9)
        look("open", [(0, 0)], now=1.5e6, limit=9)
        look("ended", [_outcome(asked[5], 5, figures)], now=1.5e6, limit=1)
        hidden = [asked[5]._replace(decision=f"{1890 + n:024x}", shown=False) for n in range(4)]
        batch(store, lambda: store.decided(shard, hidden))
        look("lately", [], limit=1)  # nor is it looked through without end
        look("ended", [], now=1.5e6, limit=1)
        look("lately", [_outcome(asked[n], n, figures) for n in (5, 4)], limit=2)
        fresh = [asked[1]._replace(decision=f"{1880 + n:024x}", number=9 + n) for n in range(2)]
        batch(store, lambda: store.decided(shard, fresh))
        look("open", [(2, 5)], now=1e6, limit=99)
        look("open", [(1, 0)], now=1e6, limit=1)
    finally:
        reader.close()


def _outcome(asked: Asked, n: int, figures: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """What became of the n-th decision of the log, as `Outcome` says it."""
    head = (n + 2, asked.at, asked.key, asked.expires_at, asked.explored, asked.forwarded)
    answered = {each[0]: (place + 8, place + 1, each[1], "feedback", 100.0 + n) for place, each in enumerate(figures)}
    late = (12, None, None, "feedback", 2e6)
    return (*head, *answered.get(n, late if n == 5 else (None, None, None, None, None)))


def _same(found: tuple[Any, ...], expected: tuple[Any, ...]) -> bool:
    """Equal but for rounding."""
    if len(found) != len(expected):
        return False
    return all(
        math.isclose(one, other) if isinstance(other, float) and one is not None else one == other
        for one, other in zip(found, expected, strict=True)
    )
