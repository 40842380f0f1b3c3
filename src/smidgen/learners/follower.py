"""Learners that follow courses in compiled code.

A course is laid out once and followed by any number of learners. Each step is that of the verbs: a learner goes ahead
by the kernels that its `decide` and `learn` call. Whatever a course has no form for goes by the verbs.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from smidgen._core import written_for
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import SmidgenError
from smidgen.learners.base import Learner
from smidgen.learners.courses import DECIDE, FEWEST, Course, Leg, Way


class Trip(NamedTuple):
    """What one learner brings along, by step: the number of the decision, and the place where it is noted."""

    numbers: IntArray
    places: IntArray


class Noted(NamedTuple):
    """What a learner decided, by place: that of a decision is its step; decisions from before have places behind.

    Attributes
    ----------
    actions, greedy
        By their numbers.
    p
        How likely the action was; NaN if nothing was drawn.
    shares
        By row of the course: how likely each candidate was; of labels nothing.
    scores
        By row of the course: the estimate of each candidate; of labels nothing.
    """

    actions: IntArray
    greedy: IntArray
    p: FloatArray
    shares: FloatArray
    scores: FloatArray


class Follower(Learner):
    """A learner that may have kernels which follow courses."""

    dim: int

    def learn_many(self, decisions: Sequence[Decision], feedback: Sequence[Any]) -> None:
        """Learn from each decision in turn, as `learn` does, bit for bit: in compiled code where it can be."""
        numbers = [decision.number for decision in decisions if self._admissible(decision)]
        if not FEWEST <= len(numbers) == len(decisions) == len(feedback) == len(set(numbers)):
            super().learn_many(decisions, feedback)
            return
        try:
            known = [self._note(decision) for decision in decisions]
        except SmidgenError:  # the verbs learn up to the one that is at fault
            super().learn_many(decisions, feedback)
            return
        legs = [
            Leg(decision.context, action, told, decision.propensity, decision)
            for decision, (action, _), told in zip(decisions, known, feedback, strict=True)
        ]
        course = Course(legs, kept=True)
        if self._takes(course) is None:
            super().learn_many(decisions, feedback)
            return
        noted = notes_for(course, [(*each, math.nan) for each in known])
        self.follow(course, Trip(np.array(numbers), np.arange(len(legs), 2 * len(legs))), noted)

    def follow(self, course: Course, trip: Trip, noted: Noted) -> dict[int, FloatArray]:
        """Decide and learn along a course: what the verbs do, bit for bit.

        Parameters
        ----------
        course
            The steps.
        trip
            The numbers and places of its decisions.
        noted
            Where what it decides is written; at the places behind stands what it decided before.

        Returns
        -------
        By place how likely each candidate was, where a course without a form for kernels has no rows to note that by.
        """
        every: dict[int, FloatArray] = {}
        way, steps = self._takes(course), len(course.legs)
        heard = np.array([leg.action != DECIDE for leg in course.legs])
        answers, start, at = np.flatnonzero(heard), 0, 0
        while start < steps:
            guard, end = self._guard, start
            if way is not None and (guard is None or guard.settled):
                lengths = np.empty(0) if guard is None else course.lengths(way)
                count, seen = (len(answers) - at, None) if guard is None else guard.unbounded(lengths[at:])
                until = int(answers[at + count]) if at + count < len(answers) else steps
                end = self._ahead(way, trip, start, until, noted) if until > start else start
                numbers = trip.numbers[start:end]
                learnt = numbers[heard[start:end]].tolist()
                for number in learnt:
                    self._learnt.add(number)
                self._decided = max(self._decided, int(numbers.max(initial=0)))
                if guard is not None and seen is not None:
                    guard.passed(seen if len(learnt) == count else guard.unbounded(lengths[at : at + len(learnt)])[1])
                at += len(learnt)
            if end < steps:
                self._by_verb(course, end, trip, noted, every)
                at += bool(heard[end])
                end += 1
            start = end
        return every

    def _by_verb(self, course: Course, t: int, trip: Trip, noted: Noted, every: dict[int, FloatArray]) -> None:
        """One step."""
        leg, place, way = course.legs[t], int(trip.places[t]), course.way
        if leg.action == DECIDE:
            made = self.decide(leg.context)
            noted.actions[place], noted.greedy[place] = self._note(made)
            noted.p[place] = math.nan if made.propensity is None else made.propensity
            if way is None and made.propensities is not None:
                every[place] = made.propensities
            elif way is not None and made.propensities is not None:
                part = slice(way.first[t], way.first[t] + way.counts[t])
                noted.shares[part], noted.scores[part] = made.propensities, made.scores
            return
        action, told, chance = leg.action, leg.told, leg.chance
        if action < DECIDE:  # a round of its own
            action, p = int(noted.actions[place]), float(noted.p[place])
            told, chance = action == -2 - leg.action, None if math.isnan(p) else p
        number, greedy = int(trip.numbers[t]), int(noted.greedy[place])
        self.learn(leg.decision or self._as_decided(leg.context, number, action, greedy, chance), told)

    def _takes(self, course: Course) -> Way | None:
        """The course as its kernels read it; None: it goes by the verbs."""
        ours = written_for(self, "_ahead", "_learn") and written_for(self, "_ahead", "_decide")
        return course.way if ours and course.dim == self.dim else None

    def _ahead(self, way: Way, trip: Trip, begin: int, end: int, noted: Noted) -> int:
        """Take the steps begin … end − 1 in compiled code; returns the end, or a step that the verbs must take.

        A learner that has kernels says how, in the class that has its `_decide` and `_learn`.
        """
        return begin

    @abstractmethod
    def _note(self, decision: Decision) -> tuple[int, int]:
        """The numbers of the action and of the greedy one; refused if it has none."""

    @abstractmethod
    def _as_decided(self, context: Any, number: int, action: int, greedy: int, chance: float | None) -> Decision:
        """A decision as far as learning needs it."""


def notes_for(course: Course, before: Sequence[tuple[int, int, float]] = ()) -> Noted:
    """Where a learner notes what it decides, given what it decided before: actions, greedy ones, chances."""
    way, known = course.way, np.array([*[(0, 0, math.nan)] * len(course.legs), *before], np.float64).reshape(-1, 3)
    rows = 0 if way is None or course.labels else int((way.first + way.counts).max())
    whole = known[:, :2].astype(np.int64)
    return Noted(whole[:, 0].copy(), whole[:, 1].copy(), known[:, 2].copy(), np.empty(rows), np.empty(rows))
