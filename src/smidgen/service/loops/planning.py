"""What a learner decides and learns along some events of a log, planned ahead and done at one go."""

from __future__ import annotations

import numpy as np

from smidgen.decision import Decision, FloatArray
from smidgen.learners.coactive import Coactive
from smidgen.learners.coactive.stretches import Followed, Stretch, Stride
from smidgen.service.loops.candidates import compared, pair
from smidgen.service.loops.evaluator import Steps


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

    def follow(self, steps: Steps) -> tuple[Followed, list[FloatArray | None]]:
        """Do it; beside what came of it, how the rankings of each answer differ in their features, None: not at all.

        All learners follow the same stretch, so that it is made once.
        """
        place = (self._key, *self._anew)
        if place not in steps.shared:
            steps.shared[place] = self._stretch(steps)
        stretch, deltas = steps.shared[place]
        return self._learner.follow(stretch, self._numbers), deltas

    def _stretch(self, steps: Steps) -> tuple[Stretch, list[FloatArray | None]]:
        out: list[Stride] = []
        told: list[tuple[Decision, object]] = []
        for event, made in steps:
            if event.key != self._key:
                continue
            if made is None:
                out.append(Stride(event.made().context))
                continue
            if len(told) in self._anew:
                out.append(Stride(made.context))
            told.append((made, event.told()))
            out.append(Stride(made.context, True, *pair(*told[-1])))
        stretch = Stretch(out)
        if stretch.columns is None:
            return stretch, [compared(*each)[2] for each in told]
        differ: list[bool] = np.any(stretch.deltas, axis=1).tolist()
        return stretch, [delta if differs else None for delta, differs in zip(stretch.deltas, differ, strict=True)]
