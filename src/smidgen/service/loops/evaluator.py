"""Another learner on the way along a log: what it would have done, and what can be known of that.

The other learner is asked when each decision was made what it would have done, knowing what the log had heard until
then; it learns from each feedback when that came, from the action that was really shown, with the probability with
which it was shown. How much a log can tell depends on the loop, whose file has the evaluator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec
import numpy as np

from smidgen.decision import Decision, FloatArray
from smidgen.errors import NotTeachable, SmidgenError
from smidgen.learners import Card, Learner
from smidgen.learners.amending import add_classes
from smidgen.service.insight.estimates import Estimate
from smidgen.service.insight.weighing import Overlapping, Point
from smidgen.service.loops.lesson import Lesson

if TYPE_CHECKING:
    from smidgen.service.models.building import Blueprint
    from smidgen.service.store.lines import Line

T = TypeVar("T")

#: So many open decisions are remembered; the oldest beyond that count as never answered.
OPEN = 200_000


class Waiting(Generic[T]):
    """What is remembered of open decisions until their answers come: the latest, up to a number.

    Parameters
    ----------
    most
        How many.
    """

    def __init__(self, most: int = OPEN) -> None:
        self._found: OrderedDict[str, T | None] = OrderedDict()
        self._most = most

    def put(self, id: str, value: T | None) -> None:
        """Remember something of a decision; None only takes the place of something."""
        self._found[id] = value
        if len(self._found) > self._most:
            self._found.popitem(last=False)

    def take(self, id: str) -> T | None:
        """What was remembered, once."""
        return self._found.pop(id, None)

    def get(self, id: str) -> T | None:
        """What was remembered."""
        return self._found.get(id)

    def settle(self, id: str, value: T | None) -> None:
        """Remember something else of a decision, if it is still remembered; its turn stays."""
        if id in self._found:
            self._found[id] = value


class Steps(list[tuple["Line", Decision | None]]):
    """Some decisions of a log and answers to decisions, in their order: the event, and the decision that it answers.

    Attributes
    ----------
    shared
        What one evaluator worked out of them and others need too.
    """

    def __init__(self) -> None:
        super().__init__()
        self.shared: dict[Any, Any] = {}

    def whose(self) -> set[str | None]:
        """Whose they are."""
        return {event.key for event, _ in self}

    @cached_property
    def plain(self) -> bool:
        """Whether one thing of several was shown each time, by its number."""
        return all(type((event.made() if made is None else made).action) is int for event, made in self)


class Companion:
    """What all evaluators of one log share; it hears of events before them."""

    #: Whether it must hear of all decisions, also where only some keys are looked at.
    listens: bool = False

    def decided(self, event: Line) -> None:
        """A decision was made."""
        return

    def answered(self, event: Line, made: Decision) -> None:
        """Feedback on a decision was learnt."""
        return

    def follow(self, steps: Steps) -> None:
        """Several decisions and answers, one after the other, of which the evaluators hear after this."""
        for event, made in steps:
            if made is None:
                self.decided(event)
            else:
                self.answered(event, made)


class Evaluator(ABC):
    """Another learner (one per key, if the model is keyed) on the way along a log.

    Parameters
    ----------
    blueprint
        The other learner's settings.

    Attributes
    ----------
    curve
        The running figure, one value for each observation.
    notes
        What a reader of the figures must know.
    companion
        What all evaluators of the log share (`Evaluator.companion_of`).
    moves
        Whether rows may change between a decision and its answer: those of records, where new names get columns.
    tape
        Where observations go if they are to be counted elsewhere (`observe`); None counts them here.
    """

    measure: str
    #: Whether it can be told of several events together: nothing that it does on the way depends on its companion.
    patient: ClassVar[bool] = False

    def __init__(self, blueprint: Blueprint) -> None:
        self.blueprint = blueprint
        self._learners: dict[str | None, Learner] = {}
        self._classes: list[int] = []
        self._unable = 0
        self.curve = array("d")
        self.notes: list[str] = []
        self.tape: Callable[[str, tuple[Any, ...]], None] | None = None
        self._waiting: list[Waiting[Any]] = []
        self.companion = Companion()
        self.moves = False

    def decided(self, event: Line) -> None:
        """A decision was made."""
        return

    @abstractmethod
    def answered(self, event: Line, made: Decision) -> None:
        """Feedback on a decision was learnt."""

    def follow(self, steps: Steps) -> None:
        """Several decisions and answers, one after the other."""
        for event, made in steps:
            if made is None:
                self.decided(event)
            else:
                self.answered(event, made)

    def passed(self, id: str, *, answered: bool) -> None:
        """A decision of a key that is looked at elsewhere, or its answer: it takes its place among those remembered."""
        for each in self._waiting:
            if answered:
                each.take(id)
            else:
                each.put(id, None)

    def remember(self, most: int = OPEN) -> Waiting[Any]:
        """A memory of open decisions."""
        self._waiting.append(Waiting(most))
        return self._waiting[-1]

    def observe(self, what: str, *values: Any) -> None:
        """Count an observation, by the method ``_saw_…`` of its name, here or where the tape leads.

        All that figures are made of goes through here, so that the keys of a log can be looked at apart from each other
        and their observations be counted in the order of the log. Values are plain: numbers, words, None.
        """
        if self.tape is not None:
            self.tape(what, values)
        else:
            getattr(self, f"_saw_{what}")(*values)

    def count(self, what: str, values: Sequence[Any]) -> None:
        """Count an observation, now."""
        getattr(self, f"_saw_{what}")(*values)

    @abstractmethod
    def figures(self) -> list[Estimate]:
        """What was found."""

    @property
    def main(self) -> str:
        """Which of the figures is shown over time."""
        return self.measure

    def band(self) -> list[Point]:
        """The main figure over time, with its interval; empty where there is none."""
        return []

    def overlapping(self) -> Overlapping | None:
        """How much of the log bears on this learner; None where nothing is weighed."""
        return None

    def taught(self, key: str | None, examples: Sequence[tuple[Any, Any]]) -> None:
        """Examples whose answers are known were taught: so is this learner, if it can be."""
        learner = self.learner(key)
        for context, answer in examples:
            try:
                learner.teach(context, answer)
            except NotTeachable:
                self.observe("unable", len(examples))
                return
            except SmidgenError:
                self.observe("unable", 1)

    def _saw_unable(self, examples: int) -> None:
        self._unable += examples

    def given(self, key: str | None, lesson: Lesson, made: Decision | None) -> None:
        """What came of something that another learner showed, or the app itself, was taught: so is this learner."""
        context = lesson.context if lesson.context is not None else made.context if made is not None else None
        learner = self.learner(key)
        try:
            if lesson.shown is None:
                learner.teach(context, lesson.answer)
            else:
                as_shown = {"action": lesson.shown, "propensity": lesson.chance}
                learner.learn(msgspec.structs.replace(learner.decide(context), **as_shown), lesson.answer)
        except SmidgenError:
            self.observe("unable", 1)

    def labelled(self, labels: Sequence[int], names: Sequence[str]) -> None:
        """Labels were added: their numbers, and their names."""
        self._classes += labels
        for learner in self._learners.values():
            add_classes(learner, *labels)

    def remarks(self) -> list[str]:
        """What a reader must know, once all is read."""
        unable = f"it could not be taught {self._unable} of the examples that the log's learner was taught"
        return [*self.notes, *([unable] if self._unable else [])]

    def learner(self, key: str | None) -> Learner:
        """The other learner of a key."""
        if key not in self._learners:
            self._learners[key] = self.blueprint.learner(key)
            if self._classes:
                add_classes(self._learners[key], *self._classes)
        return self._learners[key]

    def anew(self, key: str | None, mine: Decision | None, made: Decision) -> Decision:
        """What the other learner decided, on the rows as they are now; decided now, if it is not remembered."""
        learner = self.learner(key)
        if mine is None:
            return learner.decide(made.context)
        if not self.moves:
            return mine
        before = learner.decisions
        context = learner.decide(made.context).context
        learner.withdraw(before)
        return msgspec.structs.replace(mine, context=context)

    @classmethod
    def companion_of(cls, blueprint: Blueprint) -> Companion:
        """What all evaluators of a log share; ``blueprint`` is that of the log's own learner."""
        return Companion()

    @classmethod
    def why_not(cls, card: Card, learner: str) -> str | None:
        """Why a learner with this card cannot be asked along a log that it did not write; None if it can."""
        return None

    @classmethod
    def about(cls, blueprint: Blueprint) -> list[str]:
        """What is to be said of a log that this learner wrote."""
        return []


def chances(mine: Decision, count: int) -> FloatArray:
    """How likely a learner would have shown each of so many candidates.

    One that draws and does not tell all chances spreads evenly what its best guess leaves, as the Banditron does.
    """
    if mine.propensities is not None:
        return mine.propensities
    return spread(mine.action, mine.greedy, mine.propensity, count)


@lru_cache(maxsize=4096)
def spread(action: int, greedy: int, propensity: float | None, count: int) -> FloatArray:
    """The same of one that tells the probability of its action only, or draws nothing."""
    p = np.zeros(count)
    if propensity is None or count < 2:
        p[action] = 1.0
    elif action == greedy or propensity > 1.0 / count:  # an optimist's best guess need not be the greedy one
        p[:] = (1.0 - propensity) / (count - 1)
        p[action] = propensity
    else:
        best = 1.0 - (count - 1) * propensity
        p[:] = (1.0 - best) / (count - 1)
        p[greedy] = best
    p.setflags(write=False)
    return p
