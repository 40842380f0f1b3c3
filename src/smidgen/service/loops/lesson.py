"""What a learner is taught by what another one showed, or by what the app had chosen itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec import structs

from smidgen.decision import Decision
from smidgen.errors import InvalidRecord
from smidgen.learners import Learner
from smidgen.records import structure


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
    >>> from smidgen.service.loops.lesson import Lesson
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
