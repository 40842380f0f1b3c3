"""The base of evaluators, and a log applied to a learner in batches.

Another learner on the way along a log: what it would have done, and what can be known of that.

The other learner is asked when each decision was made what it would have done, knowing what the log had heard until
then; it learns from each feedback when that came, from the action that was really shown, with the probability with
which it was shown. How much a log can tell depends on the loop, whose file has the evaluator.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from array import array
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
from msgspec import structs

from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument, InvalidRecord, NotTeachable, SmidgenError
from smidgen.features import Vectorizer
from smidgen.learners import Card, Feedback, Learner, cards
from smidgen.learners.coactive import Coactive
from smidgen.learners.coactive.base import RankingBatch, RankingOutcomes, RankingStep
from smidgen.learners.log_batch import BatchLearner, LearnerSteps, LogBatch, LogStep, Outcomes, notes_for
from smidgen.learners.pipeline import add_classes
from smidgen.serialization import structure
from smidgen.service.loops.estimates import Estimate, Overlapping, Point, share
from smidgen.service.schemas import ModelBody
from smidgen.structures import Clicks, structured

if TYPE_CHECKING:
    from smidgen.service.log.codec import Line

# The parts of a model's settings that loops and evaluators read; the engine implements them.


class Terms(Protocol):
    """The settings that may change during the life of a model."""

    @property
    def reward_range(self) -> tuple[float, float]:
        """The worst and the best reward that the app sends."""

    @property
    def default_reward(self) -> float | None:
        """The reward of a decision without feedback, in the range of the app; None if nothing is learnt from it."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that were added after the model was created."""

    def reward(self, value: float) -> float:
        """Scale a reward of the app to the range 0 to 1 of learners."""


class Blueprint(Protocol):
    """The settings of a model, and its learners."""

    @property
    def body(self) -> ModelBody:
        """The settings as the app sent them."""

    @property
    def terms(self) -> Terms:
        """The settings that may change."""

    @property
    def kind(self) -> str:
        """The class name of the learner that reads the rows."""

    @property
    def card(self) -> Card:
        """The metadata of that class."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The arguments of that class."""

    @property
    def features(self) -> Vectorizer | None:
        """The vectorizer of a model that takes records."""

    def learner(self, key: str | None) -> Learner:
        """Make a fresh learner for a key."""


# What a learner is taught by what another one showed, or by what the app had chosen itself.


@structure("lesson")
@dataclass(frozen=True)
class Lesson:
    """One lesson: an answer to be taught (`Learner.teach`), or what came of something as if it had been shown.

    Attributes
    ----------
    answer
        What ``teach`` takes as the answer; with ``shown``, what ``learn`` takes as feedback. None teaches nothing.
    context
        What it is the answer to; None is the context of the learner's own decision, which lies beside.
    shown
        What was shown in the place of the learner's own answer, where it learns as if it had shown that itself.
    chance
        The probability with which that was shown, of learners that draw.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> from smidgen.service.loops.evaluator import Lesson
    >>> learner = smidgen.PreferencePerceptron(dim=2)
    >>> own = learner.decide(smidgen.Choice(np.eye(2)))
    >>> Lesson(1).give(learner, own)
    >>> learner.predict(smidgen.Choice(np.eye(2)))
    1
    """

    answer: Any
    context: Any = None
    shown: Any = None
    chance: float | None = None

    @property
    def by_itself(self) -> bool:
        """Whether it is about no decision: it teaches nothing, or says what it is the answer to."""
        return self.answer is None or self.context is not None

    def give(self, learner: Learner, decision: Decision | None) -> None:
        """Teach it to a learner whose own decision on the same request this is; a refusal changes nothing."""
        if self.answer is None:
            return
        if self.shown is None:
            own = decision.context if decision is not None else None
            learner.teach(own if self.context is None else self.context, self.answer)
            return
        if decision is None:
            raise InvalidRecord("it is about a decision that is not in the log", "give all of the log")
        as_shown = structs.replace(learner.adopt(decision), action=self.shown, propensity=self.chance)
        learner.learn(as_shown, self.answer)


def same(mine: Any, other: Any) -> bool:
    """Whether two actions are one."""
    if isinstance(mine, bool | int | str) and isinstance(other, bool | int | str):
        return mine == other
    left, right = list(mine) if hasattr(mine, "__len__") else [mine], other
    return left == (list(right) if hasattr(right, "__len__") else [right])


def chance_of(mine: Decision, action: Any) -> float | None:
    """The probability with which a decision would have shown an action; None where it is not known."""
    if mine.propensities is not None:
        return float(mine.propensities[action])
    if mine.propensity is None or mine.propensity == 1.0:
        return float(same(mine.action, action))
    return mine.propensity if same(mine.action, action) else None


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


# The evaluator of all loops whose users send back something better: a better object above the one shown.

#: What a reader of what-if must know of such a log.
CAVEATS = (
    "a learner without exploration showed what it thought best, so in its own log the better object stands above "
    "that almost never (only when feedback was late): compare other learners with one another, not with it",
    "all pairs come from where the log's learner was corrected; a learner that resembles it is at a disadvantage",
)


class CoactiveEvaluator(Evaluator):
    """How often the other learner would have put the user's better object above the one shown.

    Its utility w·φ of both is compared before it learns that the one is better. Feedback that left the shown object as
    it was, or changed only what the features do not see, compares nothing and is not counted.
    """

    measure = "better above shown"

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        if (why := self.why_not(blueprint.card, blueprint.kind)) is not None:
            raise InvalidArgument(why, "compare other learners")
        self._pairs = self._above = self._ties = 0

    @classmethod
    def why_not(cls, card: Card, learner: str) -> str | None:
        """One that shows pairs hears only of its own rivals, one that hears rewards of what it has shown."""
        if Feedback.BETTER not in card.kinds:
            return f"a {learner} learns from rewards, which the log does not hold"
        if not card.shows_pairs:
            return None
        return f"a {learner} learns only from duels with a rival of its own, which the log does not hold"

    def answered(self, event: Line, made: Decision) -> None:
        """Compare, then learn."""
        learner = self.learner(event.key)
        known = event.__dict__.get("its pair")
        if known is None or known[0] is not made:  # once for all learners
            known = event.__dict__["its pair"] = (made, *compared(made, event.told()))
        _, better, shown, delta = known
        self.observe("pair", float(learner.weights @ delta) if delta is not None else None)
        self.learn(event, msgspec.structs.replace(self.mine(event, made), action=shown), better)

    def _saw_pair(self, gain: float | None) -> None:
        """By how much the better object lies above the one shown; None if nothing tells them apart."""
        if gain is None:
            return
        self._pairs += 1
        self._above += gain > 0.0
        self._ties += gain == 0.0
        self.curve.append(self._above / self._pairs)

    def mine(self, event: Line, made: Decision) -> Decision:
        """What the other learner decides on the same candidates."""
        return self.learner(event.key).decide(made.context)

    def learn(self, event: Line, decision: Decision, better: Any) -> None:
        """Let it learn that another object was better than the one shown."""
        self.learner(event.key).learn(decision, better)

    def figures(self) -> list[Estimate]:
        """The share above, and the share of ties."""
        return [
            share("better above shown", self._above, self._pairs),
            share("tied", self._ties, self._pairs),
        ]


def compared(made: Decision, told: Any) -> tuple[Any, Any, FloatArray | None]:
    """The better object, the one shown, and how their features differ; None if they do not."""
    better, shown = pair(made, told)
    known = structured(made.context)
    if known is None:
        raise InvalidRecord(f"the log holds a {type(made.context).__name__} where a structure belongs", "restore it")
    delta = known.difference(better, shown)
    return better, shown, delta if delta.any() else None


def pair(made: Decision, told: Any) -> tuple[Any, Any]:
    """The better object and the one shown; of a duel, the winner and the loser."""
    if _is_duel(made):
        return made.action[told], made.action[1 - told]
    return (told.better(made.action) if isinstance(told, Clicks) else told), made.action


def _is_duel(made: Decision) -> bool:
    """Whether two objects were shown beside each other; an object of a guest's may itself be a tuple."""
    card = cards.get(made.kind)
    draws_rivals = made.perturbation is not None or (card is not None and card.shows_pairs)
    return draws_rivals and made.teams is None and isinstance(made.action, tuple)


# What a learner decides and learns along some events of a log, on rows: planned ahead, then done at one go.


class Mine(NamedTuple):
    """What a learner decided, as far as that is needed when the answer comes; `p` is NaN if nothing was drawn."""

    number: int
    action: int
    greedy: int
    p: float

    def decision(self, learner: BatchLearner, context: Any) -> Decision:
        """The same as a decision."""
        chance = None if math.isnan(self.p) else self.p
        return learner._as_decided(context, self.number, self.action, self.greedy, chance)


class Agenda:
    """The decisions and answers of one key, in their order, for one learner.

    Parameters
    ----------
    key
        Whose they are.
    learner
        Who will decide and learn.
    """

    def __init__(self, key: str | None, learner: BatchLearner) -> None:
        self._key, self._learner, self._number = key, learner, learner.decisions
        self._numbers: list[int] = []
        self._places: list[int] = []  # those of earlier decisions are counted from −1 downward
        self._before: list[tuple[int, int, float]] = []
        self._anew: list[int] = []  # the steps that decide again, since their decisions are forgotten

    def decide(self) -> int:
        """Plan a decision; returns its place."""
        self._number += 1
        self._numbers.append(self._number)
        self._places.append(len(self._places))
        return len(self._places) - 1

    def answer(self, mine: int | Mine | Decision | None) -> int:
        """Plan to learn from an answer to a decision, to a new one if it is forgotten; returns the decision's place."""
        if mine is None:
            self._anew.append(len(self._places))
            mine = self.decide()
        if isinstance(mine, int):
            self._numbers.append(self._numbers[mine])
            self._places.append(mine)
            return mine
        if isinstance(mine, Decision):
            p = math.nan if mine.propensity is None else mine.propensity
            mine = Mine(mine.number, *self._learner._note(mine), p)
        self._before.append(mine[1:])
        self._numbers.append(mine.number)
        self._places.append(-len(self._before))
        return -len(self._before)

    def follow(self, steps: Steps, answer: Callable[[Any, Decision], LogStep]) -> Decided:
        """Do it. All learners follow the same course, so that it is made once; ``answer`` says what an answer is."""
        place = ("course", self._key, *self._anew)
        course: LogBatch | None = steps.shared.get(place)
        if course is None:
            course = steps.shared[place] = LogBatch(self._legs(steps, answer))
        noted = notes_for(course, self._before)
        places = np.array(self._places)
        behind = places < 0
        places[behind] = len(course.legs) - 1 - places[behind]
        every = self._learner.follow(course, LearnerSteps(np.array(self._numbers), places), noted)
        return Decided(course, noted, every, self._numbers)

    def _legs(self, steps: Steps, answer: Callable[[Any, Decision], LogStep]) -> Sequence[LogStep]:
        out: list[LogStep] = []
        for event, made in steps:
            if event.key != self._key:
                continue
            if made is None:
                out.append(LogStep(event.made().context))
                continue
            if len(out) in self._anew:
                out.append(LogStep(made.context))
            out.append(answer(event, made))
        return out


class Decided:
    """What a learner decided along a course; places of earlier decisions are below 0."""

    def __init__(
        self, course: LogBatch, noted: Outcomes, every: Mapping[int, FloatArray], numbers: Sequence[int]
    ) -> None:
        self._way, self._shares, self._every = course.way, noted.shares, every
        self._numbers, size = numbers, len(course.legs)
        self._actions: list[int]
        self._greedy: list[int]
        self._p: list[float]
        # those from before stand at the end, the first of them last: −1 is the first
        self._actions, self._greedy, self._p = (
            [*each[:size].tolist(), *each[size:][::-1].tolist()] for each in (noted.actions, noted.greedy, noted.p)
        )

    def mine(self, place: int) -> Mine:
        """A decision of this course."""
        return Mine(self._numbers[place], self.action(place), self._greedy[place], self._p[place])

    def action(self, place: int) -> int:
        """What was decided."""
        return self._actions[place]

    def chances(self, place: int, count: int) -> FloatArray:
        """How likely each of so many candidates would have been shown."""
        if self._way is not None and len(self._shares):
            first = self._way.first[place]
            return self._shares[first : first + self._way.counts[place]]
        if place in self._every:
            return self._every[place]
        p = self._p[place]
        return spread(self._actions[place], self._greedy[place], None if p != p else p, count)


# What a learner decides and learns along some events of a log, planned ahead and done at one go.


class Itinerary:
    """The decisions and answers of one key, in their order, for one learner.

    Parameters
    ----------
    key
        Whose they are.
    learner
        Who will decide and learn.
    """

    def __init__(self, key: str | None, learner: Coactive) -> None:
        self._key, self._learner, self._number = key, learner, learner.decisions
        self._decided = 0
        self._numbers: list[int] = []  # of the decisions that are learnt from
        self._anew: list[int] = []  # the answers whose decisions are forgotten, and made anew

    def decide(self) -> tuple[int, int]:
        """Plan a decision; returns its place among those of the plan, and its number."""
        self._decided += 1
        return self._decided - 1, self._number + self._decided

    def answer(self, number: int | None) -> int:
        """Plan to learn from an answer to the decision of that number, to a new one if it is forgotten; its place."""
        if number is None:
            self._anew.append(len(self._numbers))
            _, number = self.decide()
        self._numbers.append(number)
        return len(self._numbers) - 1

    def follow(self, steps: Steps) -> tuple[RankingOutcomes, list[FloatArray | None]]:
        """Do it; beside what came of it, how the rankings of each answer differ in their features, None: not at all.

        All learners follow the same stretch, so that it is made once.
        """
        place = (self._key, *self._anew)
        if place not in steps.shared:
            steps.shared[place] = self._stretch(steps)
        stretch, deltas = steps.shared[place]
        return self._learner.follow(stretch, self._numbers), deltas

    def _stretch(self, steps: Steps) -> tuple[RankingBatch, list[FloatArray | None]]:
        out: list[RankingStep] = []
        told: list[tuple[Decision, object]] = []
        for event, made in steps:
            if event.key != self._key:
                continue
            if made is None:
                out.append(RankingStep(event.made().context))
                continue
            if len(told) in self._anew:
                out.append(RankingStep(made.context))
            told.append((made, event.told()))
            out.append(RankingStep(made.context, True, *pair(*told[-1])))
        stretch = RankingBatch(out)
        if stretch.columns is None:
            return stretch, [compared(*each)[2] for each in told]
        differ: list[bool] = np.any(stretch.deltas, axis=1).tolist()
        return stretch, [delta if differs else None for delta, differs in zip(stretch.deltas, differ, strict=True)]
