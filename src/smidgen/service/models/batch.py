"""A batch of commands is one transaction: all of it lasts, or none; a command that fails is undone alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from smidgen.service.models.entrance import Entrance
from smidgen.service.models.learner_cache import LearnerCache
from smidgen.service.models.recent import Recent
from smidgen.service.models.registry import Models
from smidgen.service.models.served import Served
from smidgen.service.models.undo import Undo
from smidgen.service.models.whole import Whole
from smidgen.service.refusals import Busy, Taken
from smidgen.service.store.log import EventLog
from smidgen.service.store.protocol import Store
from smidgen.service.store.rows import TokenRow

T = TypeVar("T")
#: How often a command begins anew because other workers write to the same slots.
TRIES = 50


class Batches:
    """Runs commands over one store, and keeps what is in memory of it true to it.

    A refused command changes nothing: it is undone by its savepoint in the store, and step by step in memory. If the
    commit fails, nothing of the batch has happened.

    Parameters
    ----------
    store
        Where everything is kept.
    clock
        Seconds since 1970.
    keyed_in_memory
        How many keyed learners stay in memory.
    """

    def __init__(self, store: Store, clock: Callable[[], float], keyed_in_memory: int) -> None:
        self.store = store
        self.clock = clock
        self._undo = Undo()
        self.events = EventLog(self.store)
        self.learners = LearnerCache(self.store, self._undo, keyed_in_memory)
        self._models = Models(self.store, self._undo)
        self._recent = Recent()
        self._all = Whole(self._models, self.store, self.events, self.learners, self._recent, self._undo, clock)
        self._entrance: Entrance | None = None
        if self.store.shared:
            self._entrance = Entrance(self.store, self._models, self.events, self.learners, self._recent)
            self._models.entrance, self.learners.holds = self._entrance, self._entrance.holds

    @property
    def models(self) -> dict[str, Served]:
        """The models by name: of each its first slot, which knows the others."""
        return self._models.by_name

    @property
    def slots(self) -> dict[int, Served]:
        """All slots of all models."""
        return self._models.by_slot

    def begin(self, wanted: set[int] | None = None) -> None:
        """Open a batch, with the slots that commands could not have in the last one."""
        self.store.begin()
        if wanted is not None and self._entrance is not None:
            self._entrance.begin(wanted)

    @property
    def wanted(self) -> set[int]:
        """The slots that the latest command has asked for, where others write too."""
        return self._entrance.wanted if self._entrance is not None else set()

    def look(self, number: int | None = None) -> bool:
        """Take over what others changed of models and tokens; whether that was anything.

        With the number of the catalogue, if somebody knows that it has come to that.
        """
        return self._entrance is not None and self._entrance.look(number)

    @property
    def tokens(self) -> Sequence[TokenRow]:
        """The tokens as of the last look, where others write too; any thread may ask."""
        return self._entrance.tokens if self._entrance is not None else ()

    @property
    def catalogue(self) -> int:
        """The number of the catalogue as it was last looked at; 0 where nobody else writes."""
        return self._entrance.number if self._entrance is not None else 0

    def expect(self, wanted: Sequence[tuple[str | None, Sequence[str]]]) -> None:
        """Within a batch: commands will be about these models and decisions; where others write too, take them."""
        if self._entrance is not None:
            self._entrance.expect(wanted)

    def enter(self, model: Served) -> Served:
        """Within a batch: see to it that a model is as it is, whatever others wrote."""
        self._models.hold(model)
        return model

    def entered(self, name: str) -> Served:
        """Within a batch: the model of this name, as it is, in all its slots."""
        return self._models.get(name)

    def entered_for(self, name: str, key: str | None) -> Served:
        """Within a batch: the slot of a model where a key is at home, as it is."""
        return self._models.get(name, [key]).of(key)

    def begin_at_once(self) -> bool:
        """Open a batch, if nothing is to be waited for: no other process that writes, no store that is elsewhere."""
        return self.store.begin_at_once()

    def attempt(self, command: Callable[[], T]) -> T:
        """Run a command of the open batch; if it fails, it alone is undone."""
        mark, entrance = self._undo.mark(), self._entrance
        self.store.savepoint()
        place = entrance.mark() if entrance is not None else None
        try:
            answer = command()
        except BaseException:
            self._undo.back(mark)
            self.store.undo()
            if entrance is not None and place is not None:
                entrance.back(place)
            raise
        self.store.release()
        return answer

    def commit(self) -> None:
        """Make the batch last: returns when it does."""
        self.store.commit()
        self._undo.clear()
        if self._entrance is not None:
            self._entrance.end(committed=True)

    def abandon(self) -> None:
        """Undo the batch, in the store and in memory."""
        try:
            self.store.rollback()
        finally:
            if self._entrance is not None:
                self._entrance.end(committed=False)
        self._undo.back()

    def run(self, command: Callable[[], T]) -> T:
        """One command as a batch of its own, or as a part of the one that is open."""
        if self.store.in_batch:
            return command()
        wanted: set[int] | None = None
        for _ in range(TRIES):
            try:
                self.begin(wanted)
                answer = self.attempt(command)
                self.commit()
            except Taken:  # another worker is at it
                wanted = self.wanted | (wanted or set())
                self.abandon()
            except BaseException:
                self.abandon()
                raise
            else:
                return answer
        raise Busy("other workers are writing to the same models", "try again in a moment")
