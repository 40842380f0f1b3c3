"""The base of evaluators, and a log applied to a learner in batches.

Another learner on the way along a log: what it would have done, and what can be known of that.

The other learner is asked when each decision was made what it would have done, knowing the feedback in the log until
then; it learns from each feedback when that came, from the action that was really shown, with the probability with
which it was shown. How much a log can tell depends on the loop, whose file has the evaluator.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
from msgspec import structs

from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import InvalidArgument, InvalidRecord, NotTeachable, SmidgenError
from smidgen.features import Vectorizer
from smidgen.learners import Card, Feedback, Learner, cards
from smidgen.learners.coactive import Coactive
from smidgen.learners.coactive.base import RankingBatch, RankingStep
from smidgen.learners.log_batch import BatchLearner, LearnerSteps, LogBatch, LogStep, Outcomes, make_outcomes
from smidgen.learners.pipeline import add_classes
from smidgen.serialization import structure
from smidgen.service.loops.estimates import Estimate, OverlapDiagnostics, Point, share
from smidgen.service.schemas import ModelBody, Reward
from smidgen.structures import Clicks, structured

if TYPE_CHECKING:
    from smidgen.service.log.codec import EventLine

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

    def reward(self, value: Reward, name: str = "reward") -> float:
        """Scale a reward of the app to the range 0 to 1 of learners; ``name`` is the field that errors name."""


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
class TrainingSignal:
    """A training signal: an answer to teach (`Learner.teach`), or feedback as if an answer had been shown.

    Attributes
    ----------
    answer
        What ``teach`` takes as the answer; with ``shown``, what ``learn`` takes as feedback. None teaches nothing.
    context
        The context of the answer; None is the context of the learner's own decision, in the next field.
    shown
        What was shown instead of the learner's own answer, where it learns as if it had shown that itself.
    chance
        The probability with which that was shown, of learners that draw.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> from smidgen.service.loops.evaluator import TrainingSignal
    >>> learner = smidgen.PreferencePerceptron(dim=2)
    >>> own = learner.decide(smidgen.Choice(np.eye(2)))
    >>> TrainingSignal(1).give(learner, own)
    >>> learner.predict(smidgen.Choice(np.eye(2)))
    1
    """

    answer: Any
    context: Any = None
    shown: Any = None
    chance: float | None = None

    @property
    def is_standalone(self) -> bool:
        """True if it needs no decision: it teaches nothing, or has its own context."""
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
            raise InvalidRecord("it is about a decision that is not in the log", "use the whole log")
        as_shown = structs.replace(learner.adopt(decision), action=self.shown, propensity=self.chance)
        learner.learn(as_shown, self.answer)


def same(mine: Any, other: Any) -> bool:
    """True if two actions are equal."""
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

#: Maximum number of open decisions that are remembered; the oldest beyond that count as never answered.
OPEN = 200_000


class OpenDecisionBuffer(Generic[T]):
    """Buffer of open decisions until their answers arrive: the latest, up to a number.

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
        """Remove and return an entry."""
        return self._found.pop(id, None)

    def get(self, id: str) -> T | None:
        """Return an entry."""
        return self._found.get(id)

    def settle(self, id: str, value: T | None) -> None:
        """Remember something else of a decision, if it is still remembered; its turn stays."""
        if id in self._found:
            self._found[id] = value


class Steps(list[tuple["EventLine", Decision | None]]):
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
        """Keys that the events are about."""
        return {event.key for event, _ in self}

    @cached_property
    def plain(self) -> bool:
        """True if each step shows one of several candidates, by number."""
        return all(type((event.record_bytes() if made is None else made).action) is int for event, made in self)


class SharedLogStats:
    """Statistics shared by all evaluators of a log. It receives events before they do."""

    #: True if it needs all decisions, also if only some keys are evaluated.
    listens: bool = False

    def on_decision(self, event: EventLine) -> None:
        """A decision was made."""
        return

    def on_feedback(self, event: EventLine, made: Decision) -> None:
        """Feedback on a decision was learnt."""
        return

    def follow(self, steps: Steps) -> None:
        """Add several decisions and answers in order, before the evaluators receive them."""
        for event, made in steps:
            if made is None:
                self.on_decision(event)
            else:
                self.on_feedback(event, made)


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
        What all evaluators of the log share (`Evaluator.make_shared_stats`).
    moves
        Whether rows may change between a decision and its answer: those of records, where new names get columns.
    tape
        Where observations go if they are to be counted elsewhere (`observe`); None counts them here.
    """

    measure: str
    #: True if it can process several events together: nothing that it does depends on its companion.
    patient: ClassVar[bool] = False

    def __init__(self, blueprint: Blueprint) -> None:
        self.blueprint = blueprint
        self._learners: dict[str | None, Learner] = {}
        self._classes: list[int] = []
        self._unable = 0
        self.curve = array("d")
        self.notes: list[str] = []
        self.observations: Callable[[str, tuple[Any, ...]], None] | None = None
        self._waiting: list[OpenDecisionBuffer[Any]] = []
        self.shared_stats = SharedLogStats()
        self.moves = False

    def on_decision(self, event: EventLine) -> None:
        """A decision was made."""
        return

    @abstractmethod
    def on_feedback(self, event: EventLine, made: Decision) -> None:
        """Feedback on a decision was learnt."""

    def follow(self, steps: Steps) -> None:
        """Several decisions and answers, one after the other."""
        for event, made in steps:
            if made is None:
                self.on_decision(event)
            else:
                self.on_feedback(event, made)

    def on_other_key(self, id: str, *, answered: bool) -> None:
        """A decision of a key that is looked at elsewhere, or its answer: it takes its place among those remembered."""
        for each in self._waiting:
            if answered:
                each.take(id)
            else:
                each.put(id, None)

    def remember(self, most: int = OPEN) -> OpenDecisionBuffer[Any]:
        """A memory of open decisions."""
        self._waiting.append(OpenDecisionBuffer(most))
        return self._waiting[-1]

    def observe(self, what: str, *values: Any) -> None:
        """Count an observation, by the method ``_saw_…`` of its name, here or where the tape leads.

        All that figures are made of goes through here, so that the keys of a log can be looked at apart from each other
        and their observations be counted in the order of the log. Values are plain: numbers, words, None.
        """
        if self.observations is not None:
            self.observations(what, values)
        else:
            getattr(self, f"_saw_{what}")(*values)

    def count(self, what: str, values: Sequence[Any]) -> None:
        """Count an observation, now."""
        getattr(self, f"_saw_{what}")(*values)

    @abstractmethod
    def figures(self) -> list[Estimate]:
        """The estimates."""

    @property
    def main(self) -> str:
        """Name of the figure that is shown over time."""
        return self.measure

    def band(self) -> list[Point]:
        """The main figure over time, with its interval; empty where there is none."""
        return []

    def overlap(self) -> OverlapDiagnostics | None:
        """Overlap of the log with this learner; None if nothing is weighted."""
        return None

    def on_examples(self, key: str | None, examples: Sequence[tuple[Any, Any]]) -> None:
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

    def on_signal(self, key: str | None, lesson: TrainingSignal, made: Decision | None) -> None:
        """Learn a training signal from another learner's answer, or from the app's own choice."""
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

    def on_costs(self, event: EventLine, made: Decision, costs: Mapping[str, float]) -> None:
        """Apply a reported cost of a decision, with a reward or without."""
        return

    def on_new_labels(self, labels: Sequence[int], names: Sequence[str]) -> None:
        """Labels were added: their numbers, and their names."""
        self._classes += labels
        for learner in self._learners.values():
            add_classes(learner, *labels)

    def remarks(self) -> list[str]:
        """Remarks for the reader, complete after the last event."""
        unable = f"it could not be taught {self._unable} of the examples that the log's learner was taught"
        return [*self.notes, *([unable] if self._unable else [])]

    def learner(self, key: str | None) -> Learner:
        """The other learner of a key."""
        if key not in self._learners:
            self._learners[key] = self.blueprint.learner(key)
            if self._classes:
                add_classes(self._learners[key], *self._classes)
        return self._learners[key]

    def redecide(self, key: str | None, mine: Decision | None, made: Decision) -> Decision:
        """The learner's decision on the present rows; decided now if it is no longer buffered."""
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
    def make_shared_stats(cls, blueprint: Blueprint) -> SharedLogStats:
        """Statistics shared by all evaluators of a log; ``blueprint`` is that of the log's own learner."""
        return SharedLogStats()

    @classmethod
    def why_not(cls, card: Card, learner: str) -> str | None:
        """Why a learner with this card cannot be asked along a log that it did not write; None if it can."""
        return None

    @classmethod
    def about(cls, blueprint: Blueprint) -> list[str]:
        """Remarks about a log that this learner wrote."""
        return []


def chances(mine: Decision, count: int) -> FloatArray:
    """Probability of each candidate under a learner.

    One that draws and does not tell all chances spreads evenly what its best guess leaves, as the Banditron does.
    """
    if mine.propensities is not None:
        return mine.propensities
    return spread(mine.action, mine.greedy, mine.propensity, count)


@lru_cache(maxsize=4096)
def spread(action: int, greedy: int, propensity: float | None, count: int) -> FloatArray:
    """Probabilities from a decision that has only the probability of its action, or none."""
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
    """Evaluator of preferences: the share in which another learner ranks the preferred object above the shown one.

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
        """Reason against: learners of pairs need their own rivals; learners of rewards need their own answers."""
        if Feedback.BETTER not in card.kinds:
            return f"a {learner} learns from rewards, which the log does not hold"
        if not card.shows_pairs:
            return None
        return f"a {learner} learns only from duels with a rival of its own, which the log does not hold"

    def on_feedback(self, event: EventLine, made: Decision) -> None:
        """Compare, then learn."""
        learner = self.learner(event.key)
        known = event.__dict__.get("its pair")
        if known is None or known[0] is not made:  # once for all learners
            known = event.__dict__["its pair"] = (made, *preference_pair(made, event.learner_input()))
        _, better, shown, delta = known
        self.observe("pair", float(learner.weights @ delta) if delta is not None else None)
        self.learn(event, msgspec.structs.replace(self.mine(event, made), action=shown), better)

    def _saw_pair(self, gain: float | None) -> None:
        """Add the score difference of the preferred over the shown object; None if there is none."""
        if gain is None:
            return
        self._pairs += 1
        self._above += gain > 0.0
        self._ties += gain == 0.0
        self.curve.append(self._above / self._pairs)

    def mine(self, event: EventLine, made: Decision) -> Decision:
        """The learner's decision on the same candidates."""
        return self.learner(event.key).decide(made.context)

    def learn(self, event: EventLine, decision: Decision, better: Any) -> None:
        """Let it learn that another object was better than the one shown."""
        self.learner(event.key).learn(decision, better)

    def figures(self) -> list[Estimate]:
        """The share above, and the share of ties."""
        return [
            share("better above shown", self._above, self._pairs),
            share("tied", self._ties, self._pairs),
        ]


def preference_pair(made: Decision, feedback: Any) -> tuple[Any, Any, FloatArray | None]:
    """The better object, the one shown, and how their features differ; None if they do not."""
    better, shown = shown_and_better(made, feedback)
    known = structured(made.context)
    if known is None:
        raise InvalidRecord(
            f"the log holds a {type(made.context).__name__} where a structure belongs", "restore the log from a backup"
        )
    delta = known.difference(better, shown)
    return better, shown, delta if delta.any() else None


def shown_and_better(made: Decision, feedback: Any) -> tuple[Any, Any]:
    """The better object and the one shown; of a duel, the winner and the loser."""
    if _is_duel(made):
        return made.action[feedback], made.action[1 - feedback]
    return (feedback.better(made.action) if isinstance(feedback, Clicks) else feedback), made.action


def _is_duel(made: Decision) -> bool:
    """True if two objects were shown as a pair. A plugin's object may itself be a tuple."""
    card = cards.get(made.kind)
    draws_rivals = made.perturbation is not None or (card is not None and card.shows_pairs)
    return draws_rivals and made.teams is None and isinstance(made.action, tuple)


# What a learner decides and learns along some events of a log: planned ahead, then done at one go.


class ReplayedDecision(NamedTuple):
    """The parts of a decision that its answer needs; `p` is NaN if nothing was random."""

    number: int
    action: int
    greedy: int
    p: float

    def decision(self, learner: BatchLearner, context: Any) -> Decision:
        """Convert to a `Decision`."""
        chance = None if math.isnan(self.p) else self.p
        return learner._as_decided(context, self.number, self.action, self.greedy, chance)


class ReplayPlan:
    """The decisions and answers of one key, in their order, for one learner.

    Parameters
    ----------
    key
        Whose they are.
    learner
        Who will decide and learn.
    """

    def __init__(self, key: str | None, learner: Learner) -> None:
        self._key, self._number = key, learner.decisions
        self._numbers: list[int] = []  # of each step's decision
        self._forgotten: list[int] = []  # the steps that decide again, since their decisions are forgotten

    def decide(self) -> int:
        """Plan a decision; returns its place."""
        self._number += 1
        self._numbers.append(self._number)
        return len(self._numbers) - 1

    def _decide_again(self) -> int:
        self._forgotten.append(len(self._numbers))
        return self.decide()

    def _shared(self, steps: Steps, make: Callable[[], T]) -> T:
        """The batch of these steps. All learners follow the same, so that it is made once."""
        place = (type(self), self._key, *self._forgotten)
        if place not in steps.shared:
            steps.shared[place] = make()
        found: T = steps.shared[place]
        return found

    def _events(self, steps: Steps) -> Iterator[tuple[EventLine, Decision | None, Any]]:
        """Each event of the key, the decision that it answers, and what was decided on; forgotten decisions too."""
        place = 0
        for event, made in steps:
            if event.key != self._key:
                continue
            if made is not None and place in self._forgotten:
                yield event, None, made.context
                place += 1
            yield event, made, (event.record_bytes() if made is None else made).context
            place += 1


class RowPlan(ReplayPlan):
    """Of a learner of rows.

    Parameters
    ----------
    key, learner
        As for `ReplayPlan`.
    """

    def __init__(self, key: str | None, learner: BatchLearner) -> None:
        super().__init__(key, learner)
        self._learner = learner
        self._places: dict[int, int] = {}  # of answers: the place of the decision, those from before below 0
        self._before: list[tuple[int, int, float]] = []

    def answer(self, mine: int | ReplayedDecision | Decision | None) -> int:
        """Plan to learn from an answer to a decision, to a new one if it is forgotten; returns the decision's place."""
        if mine is None:
            mine = self._decide_again()
        if isinstance(mine, int):
            number = self._numbers[mine]
        else:
            if isinstance(mine, Decision):
                p = math.nan if mine.propensity is None else mine.propensity
                mine = ReplayedDecision(mine.number, *self._learner._note(mine), p)
            self._before.append(mine[1:])
            number, mine = mine.number, -len(self._before)
        self._places[len(self._numbers)] = mine
        self._numbers.append(number)
        return mine

    def follow(self, steps: Steps, answer: Callable[[Any, Decision], LogStep]) -> ReplayResult:
        """Do it; ``answer`` says what an answer is."""

        def make() -> LogBatch:
            every = self._events(steps)
            return LogBatch([LogStep(on) if made is None else answer(event, made) for event, made, on in every])

        batch = self._shared(steps, make)
        outcomes = make_outcomes(batch, self._before, getattr(self._learner, "n_classes", 0))
        places = np.array([self._places.get(t, t) for t in range(len(self._numbers))])
        behind = places < 0
        places[behind] = len(batch.steps) - 1 - places[behind]
        every = self._learner.follow(batch, LearnerSteps(np.array(self._numbers), places), outcomes)
        return ReplayResult(batch, outcomes, every, self._numbers)


class ReplayResult:
    """Decisions of a learner along a batch; earlier decisions have places below 0."""

    def __init__(
        self, batch: LogBatch, outcomes: Outcomes, every: Mapping[int, FloatArray], numbers: Sequence[int]
    ) -> None:
        self._arrays, self._labels, self._shares, self._every = batch.arrays, batch.labels, outcomes.shares, every
        self._numbers, size = numbers, len(batch.steps)
        self._actions: list[int]
        self._greedy: list[int]
        self._p: list[float]
        # those from before stand at the end, the first of them last: −1 is the first
        self._actions, self._greedy, self._p = (
            [*each[:size].tolist(), *each[size:][::-1].tolist()]
            for each in (outcomes.actions, outcomes.greedy, outcomes.p)
        )

    def mine(self, place: int) -> ReplayedDecision:
        """A decision of this batch."""
        return ReplayedDecision(self._numbers[place], self.action(place), self._greedy[place], self._p[place])

    def action(self, place: int) -> int:
        """Action at a place."""
        return self._actions[place]

    def chances(self, place: int, count: int) -> FloatArray:
        """Probability of each candidate at a place."""
        if self._arrays is not None and len(self._shares) and not self._labels:
            first = self._arrays.first[place]
            return self._shares[first : first + self._arrays.counts[place]]
        if self._arrays is not None and len(self._shares) and place >= 0:
            K = len(self._shares) // (len(self._arrays.starts) - 1)
            first = self._arrays.first[place] * K
            if not math.isnan(self._shares[first]):
                return self._shares[first : first + K]
        if place in self._every:
            return self._every[place]
        p = self._p[place]
        return spread(self._actions[place], self._greedy[place], None if p != p else p, count)


class RankingPlan(ReplayPlan):
    """Of a learner of rankings.

    Parameters
    ----------
    key, learner
        As for `ReplayPlan`.
    """

    def __init__(self, key: str | None, learner: Coactive) -> None:
        super().__init__(key, learner)
        self._learner = learner
        self._answers: list[int] = []  # the places of the answers

    def number(self, place: int) -> int:
        """The number of the decision at a place."""
        return self._numbers[place]

    def answer(self, number: int | None) -> int:
        """Plan to learn from an answer to the decision of that number, to a new one if it is forgotten; its place."""
        if number is None:
            number = self._numbers[self._decide_again()]
        self._answers.append(len(self._numbers))
        self._numbers.append(number)
        return self._answers[-1]

    def follow(self, steps: Steps) -> RankingResult:
        """Do it."""
        batch, deltas = self._shared(steps, lambda: self._batch(steps))
        found = self._learner.follow(batch, [self._numbers[place] for place in self._answers])
        decided = sorted({*range(len(self._numbers))} - {*self._answers})
        return RankingResult(
            dict(zip(decided, found.orders, strict=True)),
            dict(zip(self._answers, found.weights, strict=True)),
            dict(zip(self._answers, deltas, strict=True)),
        )

    def _batch(self, steps: Steps) -> tuple[RankingBatch, list[FloatArray | None]]:
        out: list[RankingStep] = []
        pairs: list[tuple[Decision, object]] = []
        for event, made, context in self._events(steps):
            if made is None:
                out.append(RankingStep(context))
            else:
                pairs.append((made, event.learner_input()))
                out.append(RankingStep(context, True, *shown_and_better(*pairs[-1])))
        batch = RankingBatch(out)
        if batch.arrays is None:
            return batch, [preference_pair(*each)[2] for each in pairs]
        differ: list[bool] = np.any(batch.deltas, axis=1).tolist()
        return batch, [delta if differs else None for delta, differs in zip(batch.deltas, differ, strict=True)]


class RankingResult(NamedTuple):
    """Result of a ranking learner on a batch, by place.

    Attributes
    ----------
    orders
        Of decisions: its ranking.
    weights
        Of answers: its weights before it learnt.
    deltas
        Of answers: how the two rankings differ in their features; None: not at all.
    """

    orders: dict[int, IntArray]
    weights: dict[int, FloatArray]
    deltas: dict[int, FloatArray | None]
