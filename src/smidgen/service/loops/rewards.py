"""Other learners on a log of rewards for what was shown: what each would have earned, by its propensities."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument
from smidgen.learners import Card, Feedback, Learner
from smidgen.learners.courses import FEWEST, Leg
from smidgen.learners.follower import Follower
from smidgen.service.insight.estimates import Estimate
from smidgen.service.insight.weighing import Overlapping, Point, Weighing
from smidgen.service.loops.along import Agenda, Decided, Mine
from smidgen.service.loops.evaluator import Companion, Evaluator, Steps, Waiting, chances
from smidgen.service.loops.reward_model import WHOLE, RewardModel, reward_of

if TYPE_CHECKING:
    from smidgen.service.models.building import Blueprint
    from smidgen.service.store.lines import Line

#: So many ids are counted.
IDS = 10_000
NOT_DRAWN = (
    "nothing in this log was drawn at random (no decision has a propensity below 1): what was never shown cannot be "
    "judged, so no estimate is given; serve with explore or min_share for a while, then replay again"
)
TAUGHT = (
    "it learns along from what the log showed, as a shadow does, not from what it would have shown itself; the figures "
    "are those of such a learner, round by round, each before it has heard of the round"
)


class Weighed(NamedTuple):
    """What a learner said to a decision.

    Attributes
    ----------
    target
        Its probability of what was shown.
    expected, predicted
        What the model of the rewards expects of it, and of what was shown.
    shown
        The name of what was shown, if it has one.
    """

    target: float
    expected: float
    predicted: float
    shown: Any = None


class RewardEvaluator(Evaluator):
    """What the other learner would have earned: weighted by propensities, by a model of the rewards, and by both."""

    measure = "mean reward"
    patient = True

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        if (why := self.why_not(blueprint.card, blueprint.kind)) is not None:
            raise InvalidArgument(why, "compare other learners")
        low, high = blueprint.terms.reward_range
        self.weighing = Weighing(self.measure, low, high)
        self._asked: Waiting[Weighed] = self.remember()
        self._mine: Waiting[Any] = self.remember(WHOLE)  # a decision, or `Mine`; within a course its place
        self._would: Counter[Any] = Counter()
        self._shown: Counter[Any] = Counter()
        self._heard: Counter[Any] = Counter()
        self._without = self._missed = self._drawn = 0

    @classmethod
    def companion_of(cls, blueprint: Blueprint) -> Companion:
        """A model of the rewards."""
        return RewardModel()

    @classmethod
    def why_not(cls, card: Card, learner: str) -> str | None:
        """One that shows pairs, or cannot hear rewards, has nothing to learn from here."""
        if Feedback.REWARD in card.kinds:
            return None
        return f"a {learner} learns from {card.feedback_in_words}, which the log does not hold"

    def decided(self, event: Line) -> None:
        """Ask the learner, knowing what it knows by now."""
        made, id = event.made(), event.decision or ""
        if type(made.action) is not int and np.ndim(made.action):  # two were shown beside each other
            self.passed(id, answered=False)
            return
        mine = self.learner(event.key).decide(made.context)
        self._mine.put(id, mine)
        self.ask(event, made, lambda count: chances(mine, count))

    def ask(self, event: Line, made: Decision, mine: Callable[[int], FloatArray]) -> None:
        """Take note of what the learner would show: how likely each of so many candidates."""
        ids = self.names(event)
        count = len(made.propensities) if made.propensities is not None else max(len(ids), 1)
        mine_p, shown = mine(count), int(made.action)
        model = self.companion.predicted(event, count) if isinstance(self.companion, RewardModel) else None
        expected, predicted = (math.nan, math.nan)
        if model is not None:
            expected, predicted = min(1.0, max(0.0, float(mine_p @ model))), float(model[shown])
        name, target = None, float(mine_p[shown])
        if len(ids) == count:
            name = ids[shown]
            self.observe("names", ids[int(mine_p.argmax())], name)
        self._asked.put(event.decision or "", Weighed(target, expected, predicted, name))
        if made.propensities is not None:
            if "never shown" not in event.__dict__:  # once for all learners
                never = made.propensities <= 0.0
                event.__dict__["never shown"] = never if never.any() else None
            never = event.__dict__["never shown"]
            self.observe("asked", 0.0 if never is None else float(mine_p[never].sum()))
        elif made.propensity is not None:
            self.observe("asked", 0.0 if made.propensity < 1.0 else 1.0 - target)

    def follow(self, steps: Steps) -> None:
        """Several decisions and answers: together, if the learner can; what comes of it is the same."""
        learners = {key: self.learner(key) for key in steps.whose()}
        plans = {
            key: Agenda(key, learner)
            for key, learner in learners.items()
            if isinstance(learner, Follower) and self.hears(learner)
        }
        if len(steps) < FEWEST or len(plans) < len(learners) or not steps.plain:
            super().follow(steps)
            return
        places: list[int] = []
        waiting: dict[str, tuple[str | None, int]] = {}  # what is not answered yet
        for event, made in steps:
            key, id = event.key, event.decision or ""
            if made is None:
                place = plans[key].decide()
                self._mine.put(id, place)  # until it is known
                waiting[id] = key, place
            else:
                place = plans[key].answer(self._mine.take(id))
                waiting.pop(id, None)
            places.append(place)
        found = {key: plan.follow(steps, self.leg) for key, plan in plans.items()}
        for (event, made), place in zip(steps, places, strict=True):
            mine = found[event.key]
            if made is None:
                self.ask(event, event.made(), partial(mine.chances, place))
            else:
                self.compare(event, made, mine, place)
        for id, (key, place) in waiting.items():
            self._mine.settle(id, found[key].mine(place))

    def hears(self, learner: Learner) -> bool:
        """Whether a learner hears what `leg` says."""
        return Feedback.REWARD in learner.card.kinds

    def leg(self, event: Line, made: Decision) -> Leg:
        """What the learner is told by an answer."""
        p = made.propensity if made.propensity is not None else 1.0
        return Leg(made.context, made.action, self.told(event, made), p)

    def compare(self, event: Line, made: Decision, mine: Decided, place: int) -> None:
        """Take note of an answer to the decision of that place."""
        self.weigh(event, made, reward_of(event, made))

    def _saw_names(self, would: Any, shown: Any) -> None:
        """What it would show and what was shown, while they are few enough to count."""
        if len(self._would) < IDS:
            self._would[would] += 1
            self._shown[shown] += 1

    def _saw_asked(self, impossible: float) -> None:
        self.weighing.ask(impossible)

    def answered(self, event: Line, made: Decision) -> None:
        """Weigh the reward, then learn it."""
        self.weigh(event, made, reward_of(event, made))
        self.hear(event, made, self.mine(event, made))

    def mine(self, event: Line, made: Decision) -> Decision | None:
        """What it decided, if it is remembered."""
        mine, learner = self._mine.take(event.decision or ""), self.learner(event.key)
        return (
            mine.decision(learner, made.context) if isinstance(mine, Mine) and isinstance(learner, Follower) else mine
        )

    def weigh(self, event: Line, made: Decision, reward: float) -> None:
        """Take note of what came of what was shown."""
        asked = self._asked.take(event.decision or "")
        if asked is None:
            self.observe("missed")
        else:
            self.observe("weighed", reward, made.propensity, *asked)

    def _saw_missed(self) -> None:
        self._missed += 1

    def _saw_weighed(
        self, reward: float, p: float | None, target: float, expected: float, predicted: float, shown: Any
    ) -> None:
        """A reward, its propensity, and what `Weighed` says of the decision."""
        if len(self._heard) < IDS or shown in self._heard:
            self._heard[shown] += 1
        if p is None:
            self._without += 1
            return
        self.weighing.add(reward, p, target, expected, predicted)
        self._drawn += p < 1.0
        before = self.curve[-1] if self.curve else 0.0
        self.curve.append(before + (reward * target / p - before) / (len(self.curve) + 1))

    def hear(self, event: Line, made: Decision, mine: Decision | None) -> None:
        """Let the learner learn what the log heard of what it showed."""
        mine = self.anew(event.key, mine, made)
        p = made.propensity if made.propensity is not None else 1.0
        told = msgspec.structs.replace(mine, action=made.action, propensity=p)
        self.learner(event.key).learn(told, self.told(event, made))

    def told(self, event: Line, made: Decision) -> Any:
        """What the learner is told."""
        return reward_of(event, made)

    def names(self, event: Line) -> Sequence[Any]:
        """The names of what can be shown."""
        return event.ids

    def figures(self) -> list[Estimate]:
        """The estimates that this log allows."""
        if not self._drawn:
            self.notes.append(NOT_DRAWN)
            return []
        self.notes.append(TAUGHT)
        if self._without:
            self.notes.append(f"{self._without} answered decisions have no propensity and are left out")
        if self._missed:
            self.notes.append(f"{self._missed} answers came too late to be compared, and were only learnt from")
        if not self.weighing.modelled:
            self.notes.append(
                "there is no model of the rewards here: the doubly robust and direct figures are left out"
            )
        return self.weighing.estimates()

    @property
    def main(self) -> str:
        """Which of the figures is shown over time."""
        return f"{self.measure} (self-normalised)"

    def band(self) -> list[Point]:
        """The self-normalised figure over time."""
        return self.weighing.curve() if self._drawn else []

    def overlapping(self) -> Overlapping | None:
        """The weights, and what they hang on."""
        return self.weighing.overlapping(self._rare()) if self._drawn else None

    def _rare(self) -> list[str]:
        """What it would show far more often than the log did, if the estimate hangs on that."""
        would, shown = sum(self._would.values()), sum(self._shown.values())
        if not would:
            return []
        name = max(self._would, key=lambda each: self._would[each] / would - self._shown[each] / shown)
        wanted, had = self._would[name] / would, self._shown[name] / shown
        if wanted < 2.0 * had or wanted < 0.05:
            return []
        return [
            f"It prefers {name} in {_percent(wanted)} of the decisions, and the log shows {name} in {_percent(had)}: "
            f"for these the estimate hangs on {self._heard[name]} answered decisions."
        ]


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 or share == 0.0 else f"{share:.1%}"
