"""Decisions that were asked for ahead of time: they count once they are shown."""

from __future__ import annotations

from smidgen.service.messages import ShownReply
from smidgen.service.models.stories import refuse_beside
from smidgen.service.models.whole import Commands


class Showings(Commands):
    """The showings of all decisions."""

    def take(self, name: str, allowed: str | None = None) -> ShownReply:
        """Let a decision count, if its window is open; once is enough, and twice does no harm."""
        row, model = self._models.find(self._log, name, allowed)
        refuse_beside(name, row.beside)
        key = self._log.key(model, row.seq)
        counted = self._store.shown(row.slot, row.id, self._clock(), key)
        return ShownReply(status="late" if counted is None else "shown" if counted else "duplicate")
