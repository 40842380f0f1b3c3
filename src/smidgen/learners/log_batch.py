"""Batches of a log for compiled code: decisions and answers to them, one after the other.

`take_steps` lets a learner decide and learn along a batch, of rows (`BatchLearner`) or of rankings
(`smidgen.learners.coactive.base`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
#: Marks, in place of an action, that one must be decided. A smaller value v asks whether the action is the label −2 −
#: v.
DECIDE = -1


class LogStep(NamedTuple):
    """A step of a batch.

    Attributes
    ----------
    context
        What is decided on.
    action
        Of an answer: what was shown, by its number; of decisions, and of answers to what a learner itself decided: see
        `DECIDE`.
    feedback
        Of an answer: right or wrong, or a reward.
    chance
        Of an answer: how likely that was shown.
    decision
        Of an answer: the decision that is learnt from; None makes one.
    """

    context: Any
    action: int = DECIDE
    feedback: Any = None
    chance: float | None = None
    decision: Decision | None = None


class BatchArrays(NamedTuple):
    """A batch as kernels read it: rows below one another, and of each step its rows, and what came back."""

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
    steps
        The steps.
    kept
        Whether the contexts are those of the learner's own decisions, as it has kept them.

    Attributes
    ----------
    steps
        The steps.
    arrays
        The same for kernels; None if they have no such form: dense rows or sparse ones, all of one kind, candidates
        that are all on offer, and answers that are right, wrong, or rewards in [0, 1].
    dim
        The number of features, if there is a form for kernels.
    labels
        True if rows get labels; otherwise one of the candidates is chosen.
    feedback_types
        The types of its answers: bool, or float; empty if there are none.
    kept
        As it was given.
    """

    def __init__(self, steps: Sequence[LogStep], *, kept: bool = False) -> None:
        self.steps, self.kept = steps, kept
        self.arrays: BatchArrays | None = None
        self._unit: BatchArrays | None = None
        self._lengths: dict[bool, FloatArray] = {}
        self.dim, self.labels = 0, bool(steps) and type(steps[0].context) is Row
        feedback = [step.feedback for step in steps if step.action >= 0]
        self.feedback_types: set[type] = set(map(type, feedback))
        types = self.feedback_types
        fair = types <= {bool} or (types == {float} and all(0.0 <= each <= 1.0 for each in feedback))
        if len(steps) >= FEWEST and fair:
            self.arrays = self._make_arrays()

    def _make_arrays(self) -> BatchArrays | None:
        places: dict[int, int] = {}
        contexts: list[Any] = []
        of: list[int] = []
        for step in self.steps:
            place = places.get(id(step.context))
            if place is None or step.action == DECIDE:  # decided again: on rows of its own
                place = places[id(step.context)] = len(contexts)
                contexts.append(step.context)
            of.append(place)
        rows = _row_parts(contexts) if self.labels else _choice_parts(contexts)
        if rows is None:
            return None
        self.dim, parts, first, counts = rows
        steps, counts, actions = self.steps, counts[of], np.array([step.action for step in self.steps], np.int64)
        if not self.labels and (actions >= counts).any():
            return None
        return BatchArrays(
            *parts,
            first[of],
            counts,
            actions,
            np.array([0.0 if step.feedback is None else float(step.feedback) for step in steps]),
            np.array([math.nan if step.chance is None else step.chance for step in steps]),
        )

    def unit(self, scale: Callable[[FloatArray, IntArray, FloatArray], None]) -> BatchArrays | None:
        """Of labels: the same with every row scaled to unit length, worked out once.

        ``scale`` writes what each row is multiplied by.
        """
        if self._unit is None and self.arrays is not None:
            scales = np.empty(len(self.arrays.starts) - 1)
            scale(self.arrays.values, self.arrays.starts, scales)
            self._unit = self.arrays._replace(
                values=self.arrays.values * np.repeat(scales, np.diff(self.arrays.starts))
            )
        return self._unit

    def lengths(self, arrays: BatchArrays) -> FloatArray:
        """The length of the longest row of each answer, on this arrays or the one of unit length; worked out once."""
        place = arrays is self.arrays
        if place not in self._lengths:
            self._lengths[place] = _row_lengths(arrays) if self.labels else self._choice_lengths(arrays)
        return self._lengths[place]

    def _choice_lengths(self, arrays: BatchArrays) -> FloatArray:
        answers = [step.context.rows for step in self.steps if step.action != DECIDE]
        if len(arrays.starts) or not answers:
            return np.array([longest_row(rows) for rows in answers])
        blocks = [rows.array for rows in answers]
        starts = np.zeros(len(blocks) + 1, np.int64)
        np.cumsum([len(each) for each in blocks], out=starts[1:])
        return longest_of_each(np.concatenate(blocks), starts)


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
    """Arrays of choices whose candidates are all available."""
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


def _row_lengths(arrays: BatchArrays) -> FloatArray:
    """The length of the row of each answer."""
    answered = arrays.first[arrays.actions != DECIDE]
    sizes = np.diff(arrays.starts)
    if len(sizes) and sizes.min() == sizes.max() and sizes[0]:
        rows = arrays.values.reshape(len(sizes), -1)[answered]
        return longest_of_each(rows, np.arange(len(rows) + 1)) if len(rows) else np.empty(0)
    cuts = arrays.starts.tolist()
    return np.array([longest(arrays.values[None, cuts[i] : cuts[i + 1]]) for i in answered.tolist()])


def take_steps(
    learner: Learner,
    answered: NDArray[np.bool_],
    numbers: IntArray,
    ahead: Callable[[int, int], int] | None,
    lengths: Callable[[], FloatArray],
    verb: Callable[[int], None],
) -> None:
    """Decide and learn along a batch: in compiled code while the guard bounds nothing, else by the verbs, bit for bit.

    Parameters
    ----------
    learner
        Who decides and learns.
    answered
        Of each step: whether it is an answer.
    numbers
        Of each step: the number of its decision.
    ahead
        Takes the steps from one up to another in compiled code; returns a step that the verbs must take, or the end.
        None: there is none.
    lengths
        The length of the longest row of each answer; asked for if there is a guard.
    verb
        Takes one step by `decide` or `learn`.
    """
    answers, total, start, at = np.flatnonzero(answered), len(answered), 0, 0
    while start < total:
        guard, end = learner._guard, start
        if ahead is not None and (guard is None or guard.settled):
            rest = np.empty(0) if guard is None else lengths()[at:]
            count, seen = (len(answers) - at, None) if guard is None else guard.unbounded(rest)
            until = int(answers[at + count]) if at + count < len(answers) else total
            end = ahead(start, until) if until > start else start
            learnt = numbers[start:end][answered[start:end]].tolist()
            for number in learnt:
                learner._learnt.add(number)
            learner._decided = max(learner._decided, int(numbers[start:end].max(initial=0)))
            if guard is not None and seen is not None:
                guard.passed(seen if len(learnt) == count else guard.unbounded(rest[: len(learnt)])[1])
            at += len(learnt)
        if end < total:
            verb(end)
            at += bool(answered[end])
            end += 1
        start = end


class LearnerSteps(NamedTuple):
    """Input of one learner, by step: the number of the decision, and the position where it is an outcome."""

    numbers: IntArray
    places: IntArray


class Outcomes(NamedTuple):
    """Decisions of a learner, by position: a decision's position is its step; earlier decisions have later positions.

    Attributes
    ----------
    actions, greedy
        By their numbers.
    p
        How likely the action was; NaN if nothing was drawn.
    shares
        By row of the batch: how likely each candidate was; of labels, if there is space for it, how likely each label
        was, where several were tied, else NaN.
    scores
        By row of the batch: the estimate of each candidate; of labels nothing.
    """

    actions: IntArray
    greedy: IntArray
    p: FloatArray
    shares: FloatArray
    scores: FloatArray


class BatchLearner(Learner):
    """A learner that may have kernels which follow batches."""

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
        steps = [
            LogStep(decision.context, action, report, decision.propensity, decision)
            for decision, (action, _), report in zip(decisions, known, feedback, strict=True)
        ]
        batch = LogBatch(steps, kept=True)
        if self._takes(batch) is None:
            super().learn_many(decisions, feedback)
            return
        outcomes = make_outcomes(batch, [(*each, math.nan) for each in known])
        self.follow(batch, LearnerSteps(np.array(numbers), np.arange(len(steps), 2 * len(steps))), outcomes)

    def follow(self, batch: LogBatch, own: LearnerSteps, outcomes: Outcomes) -> dict[int, FloatArray]:
        """Decide and learn along a batch: what the verbs do, bit for bit.

        Parameters
        ----------
        batch
            The steps.
        own
            The numbers and places of its decisions.
        outcomes
            Where what it decides is written; at the places behind stands what it decided before.

        Returns
        -------
        By place how likely each candidate was, where a batch without a form for kernels has no rows to note that by.
        """
        every: dict[int, FloatArray] = {}
        arrays, answered = self._takes(batch), np.array([step.action != DECIDE for step in batch.steps])

        def verb(t: int) -> None:
            self._by_verb(batch, t, own, outcomes, every)

        if arrays is None:
            take_steps(self, answered, own.numbers, None, lambda: np.empty(0), verb)
        else:
            known = arrays
            take_steps(
                self,
                answered,
                own.numbers,
                lambda start, end: self._ahead(known, own, start, end, outcomes),
                lambda: batch.lengths(known),
                verb,
            )
        return every

    def _by_verb(
        self, batch: LogBatch, t: int, own: LearnerSteps, outcomes: Outcomes, every: dict[int, FloatArray]
    ) -> None:
        """Replay one step through `decide` and `learn`."""
        step, place, arrays = batch.steps[t], int(own.places[t]), batch.arrays
        if step.action == DECIDE:
            made = self.decide(step.context)
            outcomes.actions[place], outcomes.greedy[place] = self._note(made)
            outcomes.p[place] = math.nan if made.propensity is None else made.propensity
            if arrays is None and made.propensities is not None:
                every[place] = made.propensities
            elif arrays is not None and made.propensities is not None and batch.labels:
                if len(outcomes.shares):
                    K = len(made.propensities)
                    outcomes.shares[arrays.first[t] * K : arrays.first[t] * K + K] = made.propensities
            elif arrays is not None and made.propensities is not None:
                part = slice(arrays.first[t], arrays.first[t] + arrays.counts[t])
                outcomes.shares[part], outcomes.scores[part] = made.propensities, made.scores
            return
        action, feedback, chance = step.action, step.feedback, step.chance
        if action < DECIDE:  # a round of its own
            action, p = int(outcomes.actions[place]), float(outcomes.p[place])
            feedback, chance = action == -2 - step.action, None if math.isnan(p) else p
        number, greedy = int(own.numbers[t]), int(outcomes.greedy[place])
        self.learn(step.decision or self._as_decided(step.context, number, action, greedy, chance), feedback)

    def _takes(self, batch: LogBatch) -> BatchArrays | None:
        """The batch as its kernels read it; None: it goes by the verbs."""
        ours = written_for(self, "_ahead", "_learn") and written_for(self, "_ahead", "_decide")
        return batch.arrays if ours and batch.dim == self.dim else None

    def _ahead(self, arrays: BatchArrays, own: LearnerSteps, begin: int, end: int, outcomes: Outcomes) -> int:
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


def make_outcomes(batch: LogBatch, before: Sequence[tuple[int, int, float]] = (), classes: int = 0) -> Outcomes:
    """Arrays for the decisions of a replay, given those before: actions, greedy actions, probabilities.

    With ``classes``, how many labels there are, the shares of labels are noted too.
    """
    arrays, known = batch.arrays, np.array([*[(0, 0, math.nan)] * len(batch.steps), *before], np.float64).reshape(-1, 3)
    whole = known[:, :2].astype(np.int64)
    noted = whole[:, 0].copy(), whole[:, 1].copy(), known[:, 2].copy()
    if arrays is not None and batch.labels:
        return Outcomes(*noted, np.full((len(arrays.starts) - 1) * classes, math.nan), np.empty(0))
    rows = 0 if arrays is None else int((arrays.first + arrays.counts).max())
    return Outcomes(*noted, np.empty(rows), np.empty(rows))
