"""The latest decisions that wait for feedback, kept in memory: quick feedback need not read them back."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from smidgen.decision import Decision
from smidgen.features.memory import Carried
from smidgen.service.models.served import Served


class Made(NamedTuple):
    """A decision without feedback, and all that its feedback needs.

    Attributes
    ----------
    model
        The model that decided.
    seq
        The decision's event.
    key
        Whose learner decided, of a keyed model.
    expires_at
        When its window ends, in seconds since 1970.
    decision
        The learner's own record.
    ids
        The candidates' ids, in the order of their features.
    beside
        The decision that was shown in its place, if another model made that.
    names
        Names of columns that its event tells.
    """

    model: Served
    seq: int
    key: str | None
    expires_at: float
    decision: Decision
    ids: list[str]
    beside: str | None = None
    names: Carried = ()


class Recent:
    """Unanswered decisions by their ids, the oldest dropped when they are too large together.

    Parameters
    ----------
    limit
        How many bytes of records may be kept.
    """

    def __init__(self, limit: int = 16 << 20) -> None:
        self._limit = limit
        self._held: OrderedDict[str, tuple[Made, int]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._held)

    def add(self, name: str, made: Made, size: int) -> None:
        """Keep a decision whose record has so many bytes."""
        self._held[name] = made, size + 1000  # the objects around the record
        self._size += size + 1000
        while self._size > self._limit:
            _, (_, dropped) = self._held.popitem(last=False)
            self._size -= dropped

    def get(self, name: str) -> Made | None:
        """The decision, if it is still here."""
        held = self._held.get(name)
        return held[0] if held is not None else None

    def drop(self, name: str) -> None:
        """Let go of a decision: it has its feedback."""
        if (held := self._held.pop(name, None)) is not None:
            self._size -= held[1]

    def clear(self) -> None:
        """Let go of all."""
        self._held.clear()
        self._size = 0
