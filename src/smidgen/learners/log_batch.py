"""Batches of a log: many decisions on rows of features, and answers to them, one after the other, for compiled code."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from smidgen._core import written_for
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import SmidgenError
from smidgen.features import LONGEST, DenseRows, Row
from smidgen.features.row import DOUBLE
from smidgen.features.rows import longest, longest_of_each, longest_row
from smidgen.learners.base import Learner
from smidgen.state.second_order import Indices
from smidgen.state.sqrt_ridge import candidate_arrays
from smidgen.structures import Choice

#: Fewer steps are taken by the verbs.
FEWEST = 4
#: In the place of an action: one is to be decided on. What is less asks whether its own one is the label −2 − this.
DECIDE = -1


class LogStep(NamedTuple):
    """A step of a course.

    Attributes
    ----------
    context
        What is decided on.
    action
        Of an answer: what was shown, by its number; of decisions, and of answers to what a learner itself decided: see
        `DECIDE`.
    told
        Of an answer: right or wrong, or a reward.
    chance
        Of an answer: how likely that was shown.
    decision
        Of an answer: the decision that is learnt from; None makes one.
    """

    context: Any
    action: int = DECIDE
    told: Any = None
    chance: float | None = None
    decision: Decision | None = None


class BatchArrays(NamedTuple):
    """A course as kernels read it: rows below one another, and of each step its rows, and what came back."""

    indices: Indices  # dense rows have no starts: there the indices are those of every row
    values: FloatArray
    starts: IntArray
    first: IntArray
    counts: IntArray
    actions: IntArray
    rewards: FloatArray
    chances: FloatArray


class LogBatch:
    """Steps in their order.

    Parameters
    ----------
    legs
        The steps.
    kept
        Whether the contexts are those of the learner's own decisions, as it has kept them.

    Attributes
    ----------
    legs
        The steps.
    way
        The same for kernels; None if they have no such form: dense rows or sparse ones, all of one kind, candidates
        that are all on offer, and answers that are right, wrong, or rewards in [0, 1].
    dim
        The number of features, if there is a form for kernels.
    labels
        Whether rows are to be labelled; else candidates are to be chosen from.
    told
        What its answers are: bools, or floats; nothing if there are none.
    kept
        As it was given.
    """

    def __init__(self, legs: Sequence[LogStep], *, kept: bool = False) -> None:
        self.legs, self.kept = legs, kept
        self.way: BatchArrays | None = None
        self._unit: BatchArrays | None = None
        self._lengths: dict[bool, FloatArray] = {}
        self.dim, self.labels = 0, bool(legs) and type(legs[0].context) is Row
        told = [leg.told for leg in legs if leg.action >= 0]
        self.told: set[type] = set(map(type, told))
        fair = self.told <= {bool} or (self.told == {float} and all(0.0 <= each <= 1.0 for each in told))
        if len(legs) >= FEWEST and fair:
            self.way = self._way()

    def _way(self) -> BatchArrays | None:
        places: dict[int, int] = {}
        contexts: list[Any] = []
        of: list[int] = []
        for leg in self.legs:
            place = places.get(id(leg.context))
            if place is None or leg.action == DECIDE:  # decided anew: on rows of its own
                place = places[id(leg.context)] = len(contexts)
                contexts.append(leg.context)
            of.append(place)
        rows = _row_parts(contexts) if self.labels else _choice_parts(contexts)
        if rows is None:
            return None
        self.dim, parts, first, counts = rows
        legs, counts, actions = self.legs, counts[of], np.array([leg.action for leg in self.legs], np.int64)
        if not self.labels and (actions >= counts).any():
            return None
        return BatchArrays(
            *parts,
            first[of],
            counts,
            actions,
            np.array([0.0 if leg.told is None else float(leg.told) for leg in legs]),
            np.array([math.nan if leg.chance is None else leg.chance for leg in legs]),
        )

    def unit(self, scale: Callable[[FloatArray, IntArray, FloatArray], None]) -> BatchArrays | None:
        """Of labels: the same with every row scaled to unit length, worked out once.

        ``scale`` writes what each row is multiplied by.
        """
        if self._unit is None and self.way is not None:
            scales = np.empty(len(self.way.starts) - 1)
            scale(self.way.values, self.way.starts, scales)
            self._unit = self.way._replace(values=self.way.values * np.repeat(scales, np.diff(self.way.starts)))
        return self._unit

    def lengths(self, way: BatchArrays) -> FloatArray:
        """The length of the longest row of each answer, on this way or the one of unit length; worked out once."""
        place = way is self.way
        if place not in self._lengths:
            self._lengths[place] = _row_lengths(way) if self.labels else self._choice_lengths(way)
        return self._lengths[place]

    def _choice_lengths(self, way: BatchArrays) -> FloatArray:
        answers = [leg.context.rows for leg in self.legs if leg.action != DECIDE]
        if len(way.starts) or not answers:
            return np.array([longest_row(rows) for rows in answers])
        arrays = [rows.array for rows in answers]
        starts = np.zeros(len(arrays) + 1, np.int64)
        np.cumsum([len(each) for each in arrays], out=starts[1:])
        return longest_of_each(np.concatenate(arrays), starts)


def _row_parts(contexts: Sequence[Any]) -> tuple[int, tuple[Any, Any, Any], IntArray, IntArray] | None:
    """The dimension, the rows, and of each context its row and a one; None if they are not of one kind."""
    dim = contexts[0].dim
    if any(type(each) is not Row or each.dim != dim or each.values.dtype != DOUBLE for each in contexts):
        return None
    values = np.concatenate([each.values for each in contexts])
    if not np.abs(values).max(initial=0.0) < LONGEST / (1.0 + dim):  # too long to be squared, perhaps
        return None
    starts = np.zeros(len(contexts) + 1, np.int64)
    np.cumsum([len(each.indices) for each in contexts], out=starts[1:])
    indices = np.concatenate([each.indices for each in contexts])
    return dim, (indices, values, starts), np.arange(len(contexts)), np.ones(len(contexts), np.int64)


def _choice_parts(contexts: Sequence[Any]) -> tuple[int, tuple[Any, Any, Any], IntArray, IntArray] | None:
    """The same of choices whose candidates are all on offer."""
    if any(type(each) is not Choice or len(each.mask) for each in contexts):
        return None
    rows = [each.rows for each in contexts]
    kinds, dims = set(map(type, rows)), {each.shape[1] for each in rows}
    if len(kinds) > 1 or len(dims) > 1:
        return None
    counts = np.array([each.shape[0] for each in rows], np.int64)
    first = np.cumsum(counts) - counts
    indices, _, starts = candidate_arrays(rows[0])
    if kinds == {DenseRows}:
        values = np.concatenate([each.array for each in rows]).reshape(-1)
    else:
        values = np.concatenate([each.data for each in rows])
        indices = np.concatenate([each.indices for each in rows]).astype(np.uint32)
        starts = np.zeros(int(counts.sum()) + 1, np.int64)
        sizes = np.diff(np.concatenate([each.indptr for each in rows]))  # one between two contexts means nothing
        np.cumsum(np.delete(sizes, np.cumsum(counts + 1)[:-1] - 1), out=starts[1:])
    values.setflags(write=False)  # as those of a context: a kernel is compiled once
    return dims.pop(), (indices, values, starts), first, counts


def _row_lengths(way: BatchArrays) -> FloatArray:
    """The length of the row of each answer."""
    answered = way.first[way.actions != DECIDE]
    sizes = np.diff(way.starts)
    if len(sizes) and sizes.min() == sizes.max() and sizes[0]:
        rows = way.values.reshape(len(sizes), -1)[answered]
        return longest_of_each(rows, np.arange(len(rows) + 1)) if len(rows) else np.empty(0)
    cuts = way.starts.tolist()
    return np.array([longest(way.values[None, cuts[i] : cuts[i + 1]]) for i in answered.tolist()])


class LearnerSteps(NamedTuple):
    """What one learner brings along, by step: the number of the decision, and the place where it is noted."""

    numbers: IntArray
    places: IntArray


class Outcomes(NamedTuple):
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


class BatchLearner(Learner):
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
            LogStep(decision.context, action, told, decision.propensity, decision)
            for decision, (action, _), told in zip(decisions, known, feedback, strict=True)
        ]
        course = LogBatch(legs, kept=True)
        if self._takes(course) is None:
            super().learn_many(decisions, feedback)
            return
        noted = notes_for(course, [(*each, math.nan) for each in known])
        self.follow(course, LearnerSteps(np.array(numbers), np.arange(len(legs), 2 * len(legs))), noted)

    def follow(self, course: LogBatch, trip: LearnerSteps, noted: Outcomes) -> dict[int, FloatArray]:
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

    def _by_verb(
        self, course: LogBatch, t: int, trip: LearnerSteps, noted: Outcomes, every: dict[int, FloatArray]
    ) -> None:
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

    def _takes(self, course: LogBatch) -> BatchArrays | None:
        """The course as its kernels read it; None: it goes by the verbs."""
        ours = written_for(self, "_ahead", "_learn") and written_for(self, "_ahead", "_decide")
        return course.way if ours and course.dim == self.dim else None

    def _ahead(self, way: BatchArrays, trip: LearnerSteps, begin: int, end: int, noted: Outcomes) -> int:
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


def notes_for(course: LogBatch, before: Sequence[tuple[int, int, float]] = ()) -> Outcomes:
    """Where a learner notes what it decides, given what it decided before: actions, greedy ones, chances."""
    way, known = course.way, np.array([*[(0, 0, math.nan)] * len(course.legs), *before], np.float64).reshape(-1, 3)
    rows = 0 if way is None or course.labels else int((way.first + way.counts).max())
    whole = known[:, :2].astype(np.int64)
    return Outcomes(whole[:, 0].copy(), whole[:, 1].copy(), known[:, 2].copy(), np.empty(rows), np.empty(rows))
