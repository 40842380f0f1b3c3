"""The latest lists that a rank model has shown, and those that were clicked: so many and no more, from its log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from smidgen.decision import Decision
from smidgen.errors import SmidgenError
from smidgen.service.models.served import Served
from smidgen.service.store.events import Event
from smidgen.service.store.log import EventLog, answered
from smidgen.service.store.protocol import Reading
from smidgen.service.store.rows import Outcome
from smidgen.structures import Clicks

#: How many of the latest lists are looked at, and how many of the latest answered ones.
SHOWN, ANSWERED = 400, 2_000
#: How many bytes of decisions are read at most for either.
BYTES = 16 << 20


class Clicked(NamedTuple):
    """A list and the clicks on it."""

    decision: Decision
    clicks: Clicks


class Lists:
    """Reads the lists of a model.

    Parameters
    ----------
    reading
        What is committed.
    model
        The model, of the loop rank, or one slot of it.
    """

    def __init__(self, reading: Reading, model: Served) -> None:
        self._reading = reading
        self._model = model
        self._log = EventLog(reading)
        self._of = len(model.parts)  # slots that share what may be read

    def shown(self, most: int = SHOWN) -> list[Decision]:
        """The latest lists that anybody saw, the latest first."""
        rows = (Outcome(*row) for row in self._reading.look("lately", self._model.slot, limit=-(-most // self._of)))
        return [decision for _, decision in self._decisions(row for row in rows if row.went_out)]

    def clicked(self, most: int = ANSWERED) -> list[Clicked]:
        """The latest lists that were answered with clicks, perhaps with none, and learnt from; the latest first."""
        rows = (Outcome(*row) for row in self._reading.look("answers", self._model.slot, limit=-(-most // self._of)))
        found: list[Clicked] = []
        for row, decision in self._decisions(rows):
            event = self._event(row.feedback_seq)
            if event is None or event.type != "feedback":
                continue
            told = answered(event).learn
            if isinstance(told, Clicks):
                found.append(Clicked(decision, told))
        return found

    def _decisions(self, rows: Iterable[Outcome]) -> Iterator[tuple[Outcome, Decision]]:
        size = 0
        for row in rows:
            event = self._event(row.seq)
            if event is None or event.type != "decision":  # erased meanwhile
                continue
            size += len(event.body or b"")
            if size > BYTES // self._of:
                return
            try:
                yield row, self._log.made(self._model, event)
            except SmidgenError:  # of settings that are not known any more
                continue

    def _event(self, seq: int | None) -> Event | None:
        return self._reading.event(self._model.slot, seq) if seq is not None else None
