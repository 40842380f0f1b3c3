"""The records of a log whose learners have vectorizers of their own, as rows: other learners read the same."""

from __future__ import annotations

from typing import Any

from smidgen.decision import Decision
from smidgen.features.memory import Carried
from smidgen.learners import Learner
from smidgen.learners.records.around import on_rows, rows_of
from smidgen.service.models.building import Blueprint
from smidgen.service.models.fold import keep, take
from smidgen.service.models.keyed_rows import Change
from smidgen.service.store.lines import Line


class RowsOfRecords:
    """The records of a log as the rows that its own vectorizers made of them: others read the same.

    The log's own learners are learnt again beside the others, so that names get the columns that they had.
    """

    def __init__(self, own: Blueprint) -> None:
        self._own = own
        self._learners: dict[str | None, Learner] = {}
        self._amendments: list[Line] = []

    def of(self, key: str | None, made: Decision) -> Decision:
        """A decision on rows."""
        return on_rows(self._learner(key), made)

    def context(self, key: str | None, context: Any) -> Any:
        """The context of an example on rows."""
        return rows_of(self._learner(key), context)

    def keep(self, event: Line, made: Decision | None, names: Carried) -> None:
        """Let names keep their columns that an event told and that was taken back."""
        keep(self._learner(event.key), Change(event.type, made, event.told()))

    def take(self, event: Line, made: Decision | None, names: Carried = ()) -> None:
        """Learn what the log's own learner has learnt."""
        wide = event.type == "amended"
        if wide:
            self._amendments.append(event)
        for key in list(self._learners) if wide else [event.key]:
            learner = self._learner(key)
            decision = None if made is None else learner.adopt(made)
            self._learners[key] = take(learner, event.type, event.seq, decision, event.told(), key)

    def _learner(self, key: str | None) -> Learner:
        if key not in self._learners:
            made = self._own.learner(key)
            for event in self._amendments:
                made = take(made, event.type, event.seq, None, event.told(), key)
            self._learners[key] = made
        return self._learners[key]
