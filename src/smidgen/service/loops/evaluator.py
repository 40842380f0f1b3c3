"""Another learner on the way along a log: what it would have done, and what can be known of that.

The other learner is asked before each feedback what it would have done, and then learns from that feedback: from the
action that was really shown, with the probability with which it was shown. How much a log can tell depends on the loop,
whose file has the evaluator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from smidgen.decision import Decision
from smidgen.learners import Card, Learner
from smidgen.service.insight.estimates import Estimate

if TYPE_CHECKING:
    from smidgen.service.models.building import Blueprint
    from smidgen.service.store.recording import Line


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

    @classmethod
    def why_not(cls, card: Card, learner: str) -> str | None:
        """Why a learner with this card cannot be asked along a log that it did not write; None if it can."""
        return None

    @classmethod
    def about(cls, blueprint: Blueprint) -> list[str]:
        """What is to be said of a log that this learner wrote."""
        return []
