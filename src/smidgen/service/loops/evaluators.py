"""One judge per loop: runs another learner along a log, and keeps score of what can be known of it.

The other learner is asked before each feedback what it would have done, and then learns from that feedback: from the
action that was really shown, with the probability with which it was shown.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import Any

import msgspec
import numpy as np

from smidgen.errors import InvalidArgument
from smidgen.learners import Learner, learners
from smidgen.service.insight.estimates import Estimate, importance, self_normalised, share
from smidgen.service.loops.all_loops import label_names, needs_label
from smidgen.service.models.building import Blueprint
from smidgen.service.store.recording import Line
from smidgen.types import Decision


class Judge(ABC):
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
    """

    measure: str

    def __init__(self, blueprint: Blueprint) -> None:
        self.blueprint = blueprint
        self._learners: dict[str | None, Learner] = {}
        self.curve: list[float] = []
        self.notes: list[str] = []

    def decided(self, event: Line) -> None:
        """A decision was made."""
        return

    @abstractmethod
    def answered(self, event: Line, made: Decision) -> None:
        """Feedback on a decision was learnt."""

    @abstractmethod
    def figures(self) -> list[Estimate]:
        """What was found."""

    def learner(self, key: str | None) -> Learner:
        """The other learner of a key."""
        if key not in self._learners:
            self._learners[key] = self.blueprint.learner(key)
        return self._learners[key]


class CoactiveJudge(Judge):
    """How often the other learner would have put the user's better object above the one shown.

    Its utility w·φ of both is compared before it learns that the one is better. Feedback that left the shown object as
    it was, or changed only what the features do not see, compares nothing and is not counted.
    """

    measure = "better above shown"

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        if blueprint.body.learner == "DuelingBandit":
            raise InvalidArgument(
                "a DuelingBandit learns only from duels with a rival of its own, which the log does not hold",
                "compare other learners",
            )
        self._pairs = self._above = self._ties = self._unchanged = 0

    def answered(self, event: Line, made: Decision) -> None:
        """Compare, then learn."""
        learner, context = self.learner(event.key), made.context
        better, shown = _pair(made, event.told())
        delta = context.difference(better, shown)
        if delta.any():
            gain = float(learner.weights @ delta)
            self._pairs += 1
            self._above += gain > 0.0
            self._ties += gain == 0.0
            self.curve.append(self._above / self._pairs)
        else:
            self._unchanged += 1
        learner.learn(msgspec.structs.replace(learner.decide(context), action=shown), better)

    def figures(self) -> list[Estimate]:
        """The share above, and the share of ties."""
        return [
            share("better above shown", self._above, self._pairs),
            share("tied", self._ties, self._pairs),
        ]


class LabelJudge(Judge):
    """How accurate the other learner's greedy label would have been.

    Known for sure where it says what was shown, where the right label is known, and (as wrong) where what was shown was
    right and it says otherwise; the rest gives bounds. Where the shown label was drawn, importance weights give an
    estimate.
    """

    measure = "accuracy"

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        self._matches: list[bool] = []
        self._rewards: list[bool] = []
        self._propensities: list[float | None] = []
        self._known: Counter[bool | None] = Counter()
        self._untaught = 0
        self._labels = label_names(blueprint.body)

    def answered(self, event: Line, made: Decision) -> None:
        """Compare, then learn."""
        learner, shown, p = self.learner(event.key), made.action, made.propensity
        right, true = self._truth(event.feedback, shown)
        said = learner.predict(made.context)
        match = bool(said == shown)
        self._matches.append(match)
        self._rewards.append(right)
        self._propensities.append(p)
        self._known[right if match else said == true if true is not None else False if right else None] += 1
        self.curve.append(self._running(match, right, p))
        mine = learner.decide(made.context)
        if not needs_label(learner):
            chance = p if p is not None else 1.0
            learner.learn(msgspec.structs.replace(mine, action=shown, propensity=chance), right)
        elif true is not None:
            learner.learn(mine, true)
        else:
            self._untaught += 1

    def figures(self) -> list[Estimate]:
        """The estimates that this log allows."""
        n, known = len(self._matches), self._known
        if known[None] == 0:
            return [share("accuracy", known[True], n)]
        found = []
        if (p := self.propensities()) is not None:
            found += [
                importance("accuracy (IPS)", self._matches, self._rewards, p),
                self_normalised("accuracy (self-normalised)", self._matches, self._rewards, p),
            ]
        else:
            self.notes.append("the labels of this log were not drawn at random: only bounds on the accuracy are known")
        right_there = sum(r for r, match in zip(self._rewards, self._matches, strict=True) if match)
        low, high = known[True] / n, (known[True] + known[None]) / n
        found.append(Estimate(measure="accuracy, sure bounds", value=None, low=low, high=high, of=n))
        found.append(share("accuracy where it says what was shown", right_there, sum(self._matches)))
        if self._untaught:
            self.notes.append(
                f"{self.blueprint.body.learner} needs the right label, and {self._untaught} of {n} answers only said "
                "that the shown one was wrong: it did not learn from them"
            )
        return found

    def propensities(self) -> list[float] | None:
        """The probabilities of what was shown, if all are known and some were below one."""
        p = [each for each in self._propensities if each is not None]
        return p if len(p) == len(self._propensities) and any(each < 1.0 for each in p) else None

    def _truth(self, feedback: dict[str, Any], shown: int) -> tuple[bool, int | None]:
        """Whether the shown label was right, and which one is, if that is known."""
        if "label" in feedback:
            true = self._labels.index(feedback["label"])
            return true == shown, true
        right = bool(feedback.get("correct"))
        return right, shown if right else 1 - shown if len(self._labels) == 2 else None

    def _running(self, match: bool, right: bool, p: float | None) -> float:
        """The mean so far of what is known, weighted where the labels were drawn."""
        z = (match and right) / (p if p is not None else 1.0)
        before = self.curve[-1] if self.curve else 0.0
        return before + (z - before) / (len(self.curve) + 1)


class FilterJudge(Judge):
    """What the other filter would have forwarded, and what is known of it.

    It decides on every item of the log, exploration included. The relevance is known only of what was really forwarded
    and answered; it learns from that, also where it would have dropped the item.
    """

    measure = "precision on what is known"

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        self._mine: dict[str, Decision] = {}
        self._items = self._forwards = self._hits = self._heard = self._relevant = 0
        self._drawn: list[tuple[bool, float]] = []
        self._random = True

    def decided(self, event: Line) -> None:
        """Decide on the same item."""
        made = event.made()
        mine = self.learner(event.key).decide(made.context)
        self._items += 1
        self._forwards += bool(mine.action)
        self._random &= made.propensity is not None
        if made.action or getattr(learners.get(made.kind), "sees_everything", False):
            self._mine[event.decision or ""] = mine

    def answered(self, event: Line, made: Decision) -> None:
        """Take note of the relevance, and learn it."""
        learner, relevant = self.learner(event.key), bool(event.told())
        mine = self._mine.pop(event.decision or "")
        self._relevant += relevant
        if mine.action:
            self._heard += 1
            self._hits += relevant
            self.curve.append(self._hits / self._heard)
            if made.propensity is not None:
                self._drawn.append((relevant, made.propensity))
        learner.learn(msgspec.structs.replace(mine, action=True), relevant)

    def figures(self) -> list[Estimate]:
        """Rates, precision where the relevance is known, and bounds for the rest."""
        unknown = self._forwards - self._heard
        found = [
            share("would forward", self._forwards, self._items),
            share("precision on what is known", self._hits, self._heard),
            share("forwards, of what is known to be relevant", self._hits, self._relevant),
        ]
        if self._forwards:
            low, high = self._hits / self._forwards, (self._hits + unknown) / self._forwards
            bounds = Estimate(measure="precision, sure bounds", value=None, low=low, high=high, of=self._forwards)
            found.insert(2, bounds)
        if self._random and self._drawn:
            rewards, p = zip(*self._drawn, strict=True)
            found.insert(2, self_normalised("precision (self-normalised)", np.ones(len(p)), rewards, p))
        if unknown:
            self.notes.append(
                f"of {self._forwards} items that it would forward, {unknown} were dropped or never answered: their "
                "relevance cannot be known from this log"
            )
        return found


JUDGES: dict[str, type[Judge]] = {
    "rank": CoactiveJudge,
    "choose": CoactiveJudge,
    "label": LabelJudge,
    "filter": FilterJudge,
}


def _pair(made: Decision, told: Any) -> tuple[Any, Any]:
    """The better object and the one shown; of a duel, the winner and the loser."""
    if isinstance(made.action, tuple):
        return made.action[told], made.action[1 - told]
    return told, made.action
