"""The way into slots that other workers write to as well.

A command enters the slots that it touches before it looks at anything: from then on nobody else writes to them until
the batch ends. What others wrote since is heeded on the way in.
"""

from __future__ import annotations

from collections.abc import Sequence

from smidgen.service.models.catching_up import ORDINARY
from smidgen.service.models.hashed_names import HashedNames
from smidgen.service.models.learner_cache import LearnerCache
from smidgen.service.models.recent import Recent
from smidgen.service.models.registry import Models
from smidgen.service.models.served import Served
from smidgen.service.store.log import EventLog
from smidgen.service.store.protocol import Store
from smidgen.service.store.rows import TokenRow


class Entrance:
    """Takes slots for the batch that is open, and keeps the memory of this worker true to what others wrote.

    Parameters
    ----------
    store, models, events, learners, recent
        What is shared, and what this worker has in memory of it.

    Attributes
    ----------
    tokens
        As of the last look.
    wanted
        The slots that the latest command has asked for: who was told that one is taken begins with all of them.
    """

    def __init__(self, store: Store, models: Models, events: EventLog, learners: LearnerCache, recent: Recent) -> None:
        self._store = store
        self._models = models
        self._events = events
        self._learners = learners
        self._recent = recent
        self._held: set[int] = set()
        self.wanted: set[int] = set()
        self.tokens: Sequence[TokenRow] = ()
        self.number = -1  #: the catalogue's, when the rows of the models were last read

    def holds(self, slot: int) -> bool:
        """Whether the open batch holds a slot."""
        return slot in self._held

    def mark(self) -> tuple[frozenset[int], int]:
        """A command begins: the slots that are held, and the catalogue's number."""
        self.wanted = set()
        return frozenset(self._held), self.number

    def back(self, mark: tuple[frozenset[int], int]) -> None:
        """The command is undone: what it took may be another's by now, and a number that it made another's too."""
        self._held &= mark[0]
        self.number = mark[1]

    def look(self, number: int | None = None) -> bool:
        """Read the rows of models and tokens anew if somebody has changed any; whether that is so."""
        if (number := self._store.catalogue() if number is None else number) <= self.number:
            return False
        self._models.refresh()
        self.tokens = self._store.tokens()
        self.number = number
        return True

    def begin(self, wanted: set[int]) -> None:
        """Take slots that a command could not have in the last batch, while none is held: this may wait."""
        self.look()
        slots = sorted(slot for slot in wanted if slot in self._models.by_slot)
        if slots:
            self._take(slots)

    def expect(self, wanted: Sequence[tuple[str | None, Sequence[str]]]) -> None:
        """Take what commands will be about, as far as that is known: the model's name of each, and its decisions.

        It waits for what the first one wants, if nothing is held; of the rest, what is free is taken.
        """
        named: list[list[int | str]] = [[*self._alone(name), *about] for name, about in wanted]
        if named:
            self._store.expect(named[0], [each for one in named[1:] for each in one])

    def _alone(self, name: str | None) -> list[int]:
        """The slots that any command about a model takes; which of several it takes, its key will say."""
        model = self._models.by_name.get(name or "")
        return sorted(_family(model)) if model is not None and len(model.parts) == 1 else []

    def enter(self, *models: Served) -> bool:
        """Take the slots of models and of those that stand beside them; whether there was news in any."""
        news = False
        while new := sorted({slot for model in models for slot in _family(model)} - self._held):
            self.wanted.update(new)
            news |= self._take(new)
        return news

    def made(self, slot: int) -> None:
        """A slot that the open batch has made is its own."""
        self._held.add(slot)

    def end(self, *, committed: bool) -> None:
        """The batch has ended: others may write."""
        if not committed:
            self.number = -1
        else:
            for slot in self._held:
                if (model := self._models.by_slot.get(slot)) is not None:
                    model.caught = model.seq
        self._held.clear()

    def _take(self, slots: list[int]) -> bool:
        self._store.enter(*slots)
        self._held.update(slots)
        self.look()  # whoever makes a model beside another holds that one's slot: this is how it becomes known
        news = [self._heed(self._models.by_slot[slot]) for slot in slots]
        return any(news)

    def _heed(self, model: Served) -> bool:
        """Heed what others wrote since; whether there was any."""
        if (seq := model.seq) == model.caught:
            return False
        model.others = seq
        if seq < model.caught or not self._store.kinds(model.slot, model.caught) <= ORDINARY:
            self._renew(model)
        elif model.hashed is not None:
            model.hashed.follow(self._store, model.slot, model.caught)
        model.caught = seq
        return True

    def _renew(self, model: Served) -> None:
        """Let go of all that is in memory of a model whose past, or whose settings, others changed."""
        self._learners.leave_all(model.slot)
        self._events.let_go(model)
        self._recent.clear()
        model.scaled.clear()
        model.rewritten += 1
        if model.hashed is not None and model.blueprint.dim is not None:
            model.hashed = HashedNames.read(self._store, model.slot, model.blueprint.dim)


def _family(model: Served) -> set[int]:
    """A model with its champion, and with all that stand beside that one and still decide."""
    first = model.leader if model.leader is not None else model
    return {model.slot, first.slot, *(each.slot for each in first.beside)}
