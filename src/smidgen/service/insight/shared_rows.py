"""The records of a log whose keys share names, as the rows that were made of them: other learners read the same."""

from __future__ import annotations

from typing import Any

from smidgen.decision import Decision
from smidgen.features import Encoded
from smidgen.features.memory import Carried
from smidgen.learners.records.front import as_context, on_columns
from smidgen.service.models.building import Blueprint
from smidgen.service.models.group import Group
from smidgen.service.models.keyed_rows import Change
from smidgen.service.store.events import ERASED
from smidgen.service.store.lines import Line, as_bytes

#: What is to be said of learners that are compared on such a log.
ALONE = "newcomers among the keys began with what the others shared; of other learners every key begins with nothing"


class SharedRows:
    """Follows the table of names along a log.

    Parameters
    ----------
    own
        The log's own settings.
    """

    def __init__(self, own: Blueprint) -> None:
        self._own = own
        self._group = Group(own)
        self._reader = own.learner(None)

    def of(self, key: str | None, made: Decision) -> Decision:
        """A decision on rows, with new names in the columns that they would get now."""
        table = self._group.table
        if table is None or not isinstance(made.context, Encoded):
            return made
        return on_columns(self._reader, made, table.planned(made.context)[1])

    def context(self, key: str | None, context: Any) -> Any:
        """The context of an example on rows."""
        table = self._group.table
        if table is None or not isinstance(context, Encoded):
            return context
        return as_context(context, table.planned(context)[1])

    def keep(self, event: Line, made: Decision | None, names: Carried) -> None:
        """Let names keep their columns that an event told and that was taken back."""
        if event.type == ERASED:
            self._group.reserve(event.places)
        elif event.group is not None:
            self._group.keep_all(as_bytes(event.group), f"event {event.seq}")
        else:
            self._group.keep(Change(event.type, made, event.told(), event.places, names))

    def take(self, event: Line, made: Decision | None, names: Carried = ()) -> None:
        """Learn the names that the log's own learners have learnt."""
        if event.type == "amended":
            self._group.amend(event.told())
        elif event.type == ERASED:
            self._group.reserve(event.places)
        elif event.group is not None:
            self._group = Group.from_bytes(as_bytes(event.group), self._own, f"event {event.seq}")
        else:
            self._group.take(Change(event.type, made, event.told(), event.places, names))
