"""What a learner decides and learns along some events of a log, on rows: planned ahead, then done at one go."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from smidgen.decision import Decision, FloatArray
from smidgen.learners.courses import Course, Leg
from smidgen.learners.follower import Follower, Noted, Trip, notes_for
from smidgen.service.loops.evaluator import Steps, spread


class Mine(NamedTuple):
    """What a learner decided, as far as that is needed when the answer comes; `p` is NaN if nothing was drawn."""

    number: int
    action: int
    greedy: int
    p: float

    def decision(self, learner: Follower, context: Any) -> Decision:
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

    def __init__(self, key: str | None, learner: Follower) -> None:
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

    def follow(self, steps: Steps, answer: Callable[[Any, Decision], Leg]) -> Decided:
        """Do it. All learners follow the same course, so that it is made once; ``answer`` says what an answer is."""
        place = ("course", self._key, *self._anew)
        course: Course | None = steps.shared.get(place)
        if course is None:
            course = steps.shared[place] = Course(self._legs(steps, answer))
        noted = notes_for(course, self._before)
        places = np.array(self._places)
        behind = places < 0
        places[behind] = len(course.legs) - 1 - places[behind]
        every = self._learner.follow(course, Trip(np.array(self._numbers), places), noted)
        return Decided(course, noted, every, self._numbers)

    def _legs(self, steps: Steps, answer: Callable[[Any, Decision], Leg]) -> Sequence[Leg]:
        out: list[Leg] = []
        for event, made in steps:
            if event.key != self._key:
                continue
            if made is None:
                out.append(Leg(event.made().context))
                continue
            if len(out) in self._anew:
                out.append(Leg(made.context))
            out.append(answer(event, made))
        return out


class Decided:
    """What a learner decided along a course; places of earlier decisions are below 0."""

    def __init__(self, course: Course, noted: Noted, every: Mapping[int, FloatArray], numbers: Sequence[int]) -> None:
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
