"""Other learners on a log of rewards for what was shown: what each would have earned, by its propensities."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from smidgen._kernel import constant
from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument
from smidgen.features import Row
from smidgen.features.rows import DenseRows, SparseRows
from smidgen.learners import Card, Feedback, Learner, Loop, recommended
from smidgen.service.insight.estimates import Estimate
from smidgen.service.insight.weighing import Overlapping, Point, Weighing
from smidgen.service.loops.evaluator import Companion, Evaluator, Waiting, chances
from smidgen.structures import Choice

if TYPE_CHECKING:
    from smidgen.service.models.building import Blueprint
    from smidgen.service.store.lines import Line

#: A model of the rewards of labels looks at no more numbers than this in one decision.
MODELLED = 20_000
#: So many ids are counted.
IDS = 10_000
#: So many of the latest decisions are kept whole; of earlier ones only the numbers.
WHOLE = 4096
NOT_DRAWN = (
    "nothing in this log was drawn at random (no decision has a propensity below 1): what was never shown cannot be "
    "judged, so no estimate is given; serve with explore or min_share for a while, then replay again"
)
TAUGHT = (
    "it learns along from what the log showed, as a shadow does, not from what it would have shown itself; the figures "
    "are those of such a learner, round by round, each before it has heard of the round"
)


class RewardModel(Companion):
    """A ridge regression of the rewards, fitted on the way: asked when a decision was made, told when its reward came.

    It never sees the future of a decision that it is asked about. There is a constant beside the features; each label
    has weights of its own.
    """

    listens = True

    def __init__(self) -> None:
        self._ridge: Learner | None = None
        self._predicted: Waiting[FloatArray] = Waiting()
        self._offers: Waiting[tuple[Decision, Choice | None]] = Waiting(WHOLE)

    def decided(self, event: Line) -> None:
        """Predict the rewards of all candidates."""
        made = event.made()
        offered = _offered(made)
        self._offers.put(event.decision or "", (made, offered))
        if offered is None:
            return
        if self._ridge is None:
            self._ridge = recommended(loop=Loop.CHOOSE, feedback=Feedback.REWARD, dim=offered.dim)
        if offered.dim == self._ridge.params["dim"]:
            scores = self._ridge.decide(offered).scores
            if scores is not None:
                self._predicted.put(event.decision or "", np.clip(scores, 0.0, 1.0))

    def answered(self, event: Line, made: Decision) -> None:
        """Learn what the shown one was worth."""
        self._predicted.take(event.decision or "")
        kept = self._offers.take(event.decision or "")
        offered = kept[1] if kept is not None and kept[0] is made else _offered(made)
        if self._ridge is not None and offered is not None and offered.dim == self._ridge.params["dim"]:
            self._ridge.teach(offered, (int(made.action), reward_of(event, made)))

    def predicted(self, id: str, count: int) -> FloatArray | None:
        """What it predicted for the candidates of a decision."""
        found = self._predicted.get(id)
        return found if found is not None and len(found) == count else None


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

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        if (why := self.why_not(blueprint.card, blueprint.kind)) is not None:
            raise InvalidArgument(why, "compare other learners")
        low, high = blueprint.terms.reward_range
        self.weighing = Weighing(self.measure, low, high)
        self._asked: Waiting[Weighed] = self.remember()
        self._mine: Waiting[Decision] = self.remember(WHOLE)
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
        ids = self.names(event)
        count = len(made.propensities) if made.propensities is not None else max(len(ids), 1)
        if np.ndim(made.action):  # two were shown beside each other
            self.passed(id, answered=False)
            return
        mine = self.learner(event.key).decide(made.context)
        mine_p, shown = chances(mine, count), int(made.action)
        model = self.companion.predicted(id, count) if isinstance(self.companion, RewardModel) else None
        expected, predicted = (math.nan, math.nan)
        if model is not None:
            expected, predicted = min(1.0, max(0.0, float(mine_p @ model))), float(model[shown])
        name = None
        if len(ids) == count:
            name = ids[shown]
            self.observe("names", ids[int(mine_p.argmax())], name)
        self._mine.put(id, mine)
        self._asked.put(id, Weighed(float(mine_p[shown]), expected, predicted, name))
        if made.propensities is not None:
            never = made.propensities <= 0.0
            self.observe("asked", float(mine_p[never].sum()) if never.any() else 0.0)
        elif made.propensity is not None:
            self.observe("asked", 0.0 if made.propensity < 1.0 else 1.0 - float(mine_p[shown]))

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
        self.hear(event, made, self._mine.take(event.decision or ""))

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

    def names(self, event: Line) -> list[Any]:
        """The names of what can be shown."""
        return list(event.ids)

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


def reward_of(event: Line, made: Decision) -> float:
    """The reward of what was shown, in [0, 1]; right and wrong are 1 and 0."""
    told = event.told()
    if "label" in event.feedback and not isinstance(told, bool):
        return float(told == made.action)
    return float(told)


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 or share == 0.0 else f"{share:.1%}"


def _offered(made: Decision) -> Choice | None:
    """The candidates as rows of one matrix, with a constant; of labels, one for each; None if there are none."""
    context = made.context
    if isinstance(context, Choice):
        rows = context.rows
        if not isinstance(rows, DenseRows):
            return context  # records: the vectorizer has put a constant among them
        with_one = np.ones((len(context), context.dim + 1))
        with_one[:, :-1] = context.items
        with_one.setflags(write=False)
        return Choice(with_one)
    count = len(made.scores) if made.scores is not None else 0
    if not isinstance(context, Row) or not count or count * (len(context.indices) + 1) > MODELLED:
        return None
    wide, each = context.dim + 1, len(context.indices) + 1
    indices, values = np.empty((count, each), np.int64), np.ones((count, each))
    indices[:, :-1], values[:, :-1] = context.indices, context.values
    indices[:, -1] = context.dim
    indices += wide * np.arange(count)[:, None]
    starts = np.arange(0, count * each + 1, each)
    return Choice(SparseRows(constant(values.ravel()), constant(indices.ravel()), constant(starts), wide * count))
