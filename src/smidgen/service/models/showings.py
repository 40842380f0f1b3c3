"""Decisions that were asked for ahead of time: they count once they are shown."""

from __future__ import annotations

from collections.abc import Callable

from smidgen.service.messages import ShownReply
from smidgen.service.models.registry import Registry
from smidgen.service.models.stories import refuse_beside
from smidgen.service.store.log import EventLog
from smidgen.service.store.protocol import Store


class Showings:
    """The showings of all decisions.

    Parameters
    ----------
    models, store, log
        Whose decisions they are, where it is written, how decisions are found.
    clock
        Seconds since 1970.
    """

    def __init__(self, models: Registry, store: Store, log: EventLog, clock: Callable[[], float]) -> None:
        self._models = models
        self._store = store
        self._log = log
        self._clock = clock

    def take(self, name: str, allowed: str | None = None) -> ShownReply:
        """Let a decision count, if its window is open; once is enough, and twice does no harm."""
        row, model = self._models.find(self._log, name, allowed)
        refuse_beside(name, row.beside)
        key = self._log.key(model, row.seq)
        counted = self._store.shown(row.slot, row.id, self._clock(), key)
        return ShownReply(status="late" if counted is None else "shown" if counted else "duplicate")
