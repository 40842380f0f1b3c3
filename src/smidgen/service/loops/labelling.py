"""Other learners on a log of labels: a run of their own where the right label is known, else by propensities."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from smidgen.decision import Decision, FloatArray
from smidgen.evaluate.offline.sequence import asymptotic
from smidgen.learners import Card, Feedback, Learner
from smidgen.learners.courses import Leg
from smidgen.service.insight.estimates import Estimate, share
from smidgen.service.insight.weighing import ALPHA, N0, Point, over_time
from smidgen.service.loops.along import Decided
from smidgen.service.loops.evaluator import chances
from smidgen.service.loops.rewards import RewardEvaluator
from smidgen.service.messages import ModelBody

if TYPE_CHECKING:
    from smidgen.service.models.building import Blueprint
    from smidgen.service.store.lines import Line


def label_names(model: ModelBody, added: Sequence[str] = ()) -> list[str]:
    """The labels of a label model, those that were added last; their numbers, if they have no names."""
    return [*model.labels, *added] if model.labels else _numbers(int(model.params["n_classes"]))


@lru_cache(maxsize=16)
def _numbers(count: int) -> list[str]:
    return [str(i) for i in range(count)]


class RewardedLabels(RewardEvaluator):
    """The same on labels: every label is a candidate."""

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        self._labels = label_names(blueprint.body, blueprint.terms.labels)

    def names(self, event: Line) -> list[Any]:
        """The labels."""
        return self._labels

    def labelled(self, labels: Sequence[int], names: Sequence[str]) -> None:
        """Labels were added."""
        super().labelled(labels, names)
        self._labels = [*self._labels, *names]


class LabelEvaluator(RewardedLabels):
    """How accurate the other learner would have been.

    Where the right label is known, it plays a run of its own and hears what it would have heard. Where only the shown
    label was judged, its accuracy is known for sure where it says what was shown, and (as wrong) where what was shown
    was right and it says otherwise; the rest gives bounds. Where the shown label was drawn, propensities give an
    estimate.
    """

    measure = "accuracy"

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        self._played = array("d")
        self._sure = self._unknown = 0.0
        self._where = self._right_there = self._judged = self._untaught = 0

    @classmethod
    def why_not(cls, card: Card, learner: str) -> str | None:
        """All that name labels can be asked."""
        return None

    @classmethod
    def about(cls, blueprint: Blueprint) -> list[str]:
        """Whether the log's rows are scaled."""
        unit = blueprint.card.unit_rows
        if unit is None or not unit(blueprint.settings):
            return []
        name = blueprint.kind
        return [f"this log's {name} scales features to unit length, and so the log holds them: others see that"]

    def answered(self, event: Line, made: Decision) -> None:
        """Compare, then learn."""
        mine = self.anew(event.key, self.mine(event, made), made)
        if (true := self._plays(event, made)) is not None:
            self._asked.take(event.decision or "")
            self._play(event, made, mine, true)
            return
        self._judge(event, made, chances(mine, len(self._labels)))
        self.hear(event, made, mine)

    def compare(self, event: Line, made: Decision, mine: Decided, place: int) -> None:
        """Compare, once all is learnt."""
        if (true := self._plays(event, made)) is not None:
            self._asked.take(event.decision or "")
            self.observe("played", mine.action(place) == true)
        else:
            self._judge(event, made, mine.chances(place, len(self._labels)))

    def _judge(self, event: Line, made: Decision, mine_p: FloatArray) -> None:
        right, _ = self._truth(event.feedback, made.action)
        self.observe("judged", float(mine_p[made.action]), right)
        self.weigh(event, made, float(right))

    def _plays(self, event: Line, made: Decision) -> int | None:
        """The right label, where it plays a round of its own."""
        _, true = self._truth(event.feedback, made.action)
        return true if "label" in event.feedback or len(self._labels) == 2 else None

    def hears(self, learner: Learner) -> bool:
        """Right or wrong, and nothing but that."""
        return Feedback.BIT in learner.card.kinds and Feedback.LABEL not in learner.card.kinds

    def leg(self, event: Line, made: Decision) -> Leg:
        """Right or wrong, of what was shown, or of its own label where the right one is known."""
        if (true := self._plays(event, made)) is not None:
            return Leg(made.context, -2 - true)
        return super().leg(event, made)

    def _play(self, event: Line, made: Decision, mine: Decision, true: int) -> None:
        """A round of its own: it says its label, and hears what it would have heard."""
        learner, right = self.learner(event.key), bool(mine.action == true)
        self.observe("played", right)
        told = true if Feedback.LABEL in learner.card.kinds else right
        learner.learn(mine, told)

    def _saw_judged(self, p: float, right: bool) -> None:
        """How likely it says what was shown, and whether that was right."""
        self._judged += 1
        self._where += p >= 0.5
        self._right_there += p >= 0.5 and right
        self._sure += p * right
        self._unknown += 0.0 if right else 1.0 - p

    def _saw_played(self, right: bool) -> None:
        self._played.append(float(right))
        before = self.curve[-1] if self.curve else 0.0
        self.curve.append(before + (right - before) / (len(self.curve) + 1))

    def _saw_untaught(self) -> None:
        self._untaught += 1

    def hear(self, event: Line, made: Decision, mine: Decision | None) -> None:
        """Right or wrong of what was shown; those that need the right label learn only where it is known."""
        learner = self.learner(event.key)
        if mine is None or Feedback.BIT in learner.card.kinds:
            super().hear(event, made, mine)
        elif (true := self._truth(event.feedback, made.action)[1]) is not None:
            learner.learn(mine, true)
        else:
            self.observe("untaught")

    def told(self, event: Line, made: Decision) -> Any:
        """Right or wrong."""
        return self._truth(event.feedback, made.action)[0]

    def figures(self) -> list[Estimate]:
        """The accuracy of a run of its own; else the estimates that this log allows, and what is sure."""
        found: list[Estimate] = []
        if self._played:
            found += progressive(self._played)
            self.notes.append(
                "where the right label is known it plays a run of its own: its own labels, its own feedback, no guess"
            )
        if not self._judged:
            return found
        if self._drawn:
            found += super().figures()
        else:
            self.notes.append("the labels of this log were not drawn at random: only bounds on the accuracy are known")
        n = self._judged
        low, high = self._sure / n, (self._sure + self._unknown) / n
        found.append(Estimate(measure="accuracy, sure bounds", value=None, low=low, high=high, of=n))
        found.append(share("accuracy where it says what was shown", self._right_there, self._where))
        if self._untaught:
            self.notes.append(
                f"{self.blueprint.kind} needs the right label, and {self._untaught} of {n} answers only said "
                "that the shown one was wrong: it did not learn from them"
            )
        return found

    @property
    def main(self) -> str:
        """Which of the figures is shown over time."""
        return super().main if self._judged else self.measure

    def band(self) -> list[Point]:
        """The accuracy over time."""
        if not self._played or self._judged:
            return super().band()
        return over_time(len(self._played), lambda n: progressive(self._played[:n])[0])

    def _truth(self, feedback: dict[str, Any], shown: int) -> tuple[bool, int | None]:
        """Whether the shown label was right, and which one is, if that is known."""
        if "label" in feedback:
            true = self._labels.index(feedback["label"])
            return true == shown, true
        right = bool(feedback.get("correct", feedback.get("reward", 0.0) >= 0.5))
        return right, shown if right else 1 - shown if len(self._labels) == 2 else None


def progressive(right: Any) -> list[Estimate]:
    """The accuracy of a run, and its error, with an interval that allows to look at any time."""
    found = asymptotic(np.array(right, np.float64), ALPHA, N0)
    value, low, high = found.value, max(0.0, found.low), min(1.0, found.high)
    return [
        Estimate(measure="accuracy", value=value, low=low, high=high, of=found.n),
        Estimate(measure="progressive error", value=1.0 - value, low=1.0 - high, high=1.0 - low, of=found.n),
    ]
