"""Stretches of a log: many decisions and answers about rankings, one after the other, in compiled code.

A stretch is read once and followed by any number of learners. Each piece is the one that the verbs go by: the
structure's argmax and difference, the rule's step. Whatever a stretch has no form for goes by the verbs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from smidgen._core import written_for
from smidgen._core.coactive import follow as follow_columns
from smidgen._core.coactive import write_differences
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.features import DenseRows
from smidgen.features.rows import longest_of_each
from smidgen.geometry.polytope import BALL
from smidgen.optim.program import is_finite, memory_of, program_of, state_of
from smidgen.optim.rule import RETRAINED, Program
from smidgen.structures import Ranking

if TYPE_CHECKING:
    from smidgen.learners.coactive.base import Coactive

#: Fewer steps are taken by the verbs.
FEWEST = 4
_WHOLE = np.dtype(np.int64)


class Stride(NamedTuple):
    """A ranking to be decided on, or an answer: what is better than what was shown.

    Attributes
    ----------
    context
        What is ranked.
    answered
        Whether it is an answer.
    better, shown
        Of an answer: the two rankings.
    decision
        Of an answer: the decision that is learnt from; None makes one.
    """

    context: Any
    answered: bool = False
    better: Any = None
    shown: Any = None
    decision: Decision | None = None


class Followed(NamedTuple):
    """What a learner made of a stretch.

    Attributes
    ----------
    orders
        Its ranking at each step that is none of an answer, in order.
    weights
        Its weights before each answer, one row each.
    """

    orders: list[IntArray]
    weights: list[FloatArray]


class _Columns(NamedTuple):
    """A stretch as kernels read it."""

    X: FloatArray  # the documents of all steps, below one another
    starts: IntArray  # where those of each step begin, and where the last end
    answers: IntArray  # the number of each step's answer, −1 of decisions
    deltas: FloatArray  # φ(better) − φ(shown), by answer


class Stretch:
    """Steps in their order.

    Parameters
    ----------
    steps
        The steps.

    Attributes
    ----------
    steps
        The steps.
    columns
        The same for kernels; None if they have no such form: rankings of dense rows, and answers that are rankings of
        all documents.
    deltas
        How the two rankings of each answer differ in their features, if there is a form for kernels.
    lengths
        The length of the longest row of each answer, if there is a form for kernels.
    """

    def __init__(self, steps: Sequence[Stride]) -> None:
        self.steps = steps
        self.columns = _columns(steps) if len(steps) >= FEWEST else None
        self.deltas: FloatArray = np.empty((0, 0)) if self.columns is None else self.columns.deltas
        self.lengths: FloatArray = np.empty(0)
        if self.columns is not None:
            self.lengths = longest_of_each(self.columns.X, self.columns.starts)[self.columns.answers >= 0]


def follow(learner: Coactive, stretch: Stretch, numbers: Sequence[int], trace: bool = True) -> Followed:
    """Let a learner decide and learn along a stretch: what the verbs do, bit for bit.

    Parameters
    ----------
    learner, stretch
        Who, along what.
    numbers
        The numbers of the decisions that the answers are about, in order.
    trace
        Whether orders and weights are wanted.
    """
    steps, c = stretch.steps, stretch.columns
    program = None if c is None or c.X.shape[1] != learner.dim else form_of(learner)
    out, at, start = Followed([], []), 0, 0
    while start < len(steps):
        end = start
        if c is not None and program is not None and (learner._guard is None or learner._guard.settled):
            found = _ahead(learner, program, c, start, stretch.lengths[at:], numbers[at:], out if trace else None)
            end, program = (start, None) if found is None else (found, program)
            at += int((c.answers[start:end] >= 0).sum())
        if end == start:
            step, end = steps[start], start + 1
            if not step.answered:
                out.orders.append(learner.decide(step.context).action)
            else:
                out.weights.append(learner.weights)
                made = step.decision or decision_of(learner, step.context, step.shown, numbers[at])
                learner.learn(made, step.better)
                at += 1
        start = end
    return out


def form_of(learner: Coactive) -> Program | None:
    """The program of a learner whose steps are those of its rule; None: it goes by the verbs."""
    if not written_for(learner, "follow", "_learn") or not written_for(learner, "follow", "_decide"):
        return None
    program = program_of(learner.rule)
    return None if program is None or program.kind == RETRAINED or program.region.kind != BALL else program


def _ahead(
    learner: Coactive,
    program: Program,
    c: _Columns,
    start: int,
    lengths: FloatArray,
    numbers: Sequence[int],
    out: Followed | None,
) -> int | None:
    """Go on in compiled code for as long as the guard bounds nothing; returns where the verbs take over.

    None: here, and for all that follows. Nothing has changed if they take over here.
    """
    guard, seen = learner._guard, None
    answers = np.flatnonzero(c.answers[start:] >= 0)
    count = len(answers)
    if guard is not None:
        count, seen = guard.unbounded(lengths)
    end = len(c.answers) if count == len(answers) else start + int(answers[count])
    if end - start < FEWEST:
        return start
    state = learner._state()
    m = memory_of(state, learner.weights, learner.decisions)
    places = c.starts[start : end + 1]
    orders = np.empty(places[-1] - places[0] if out is not None else 0, np.int64)
    weights = np.empty((count if out is not None else 0, learner.dim))
    if follow_columns(c, start, end, program, m, orders, weights) < end or not is_finite(m):
        return None
    learner._restore(state_of(m, state))
    learner._decided = max(learner._decided + end - start - count, *numbers[:count], 0)
    for number in numbers[:count]:
        learner._learnt.add(number)
    if guard is not None and seen is not None:
        guard.passed(seen)
    if out is not None:
        orders.setflags(write=False)
        cuts = (places - places[0]).tolist()
        decided = np.flatnonzero(c.answers[start:end] < 0).tolist()
        out.orders.extend(orders[cuts[i] : cuts[i + 1]] for i in decided)
        out.weights.extend(weights)
    return end


def decision_of(learner: Coactive, context: Any, order: Any, number: int) -> Decision:
    """A decision as far as learning needs it."""
    return Decision(
        kind=learner._kind, settings=learner._settings, number=number, action=order, greedy=order, context=context
    )


def _columns(steps: Sequence[Stride]) -> _Columns | None:
    contexts = [step.context for step in steps]
    if set(map(type, contexts)) != {Ranking}:
        return None
    rows = [each.rows for each in contexts]
    if set(map(type, rows)) != {DenseRows} or len({each.shape[1] for each in rows}) > 1:
        return None
    answered = [step for step in steps if step.answered]
    for orders in ([step.better for step in answered], [step.shown for step in answered]):
        if set(map(type, orders)) - {np.ndarray} or {order.dtype for order in orders} - {_WHOLE}:
            return None
        if [order.shape for order in orders] != [step.context.rows.shape[:1] for step in answered]:
            return None
    arrays = [each.array for each in rows]
    X, starts = np.concatenate(arrays), _starts(arrays)
    answers = np.array([0 if step.answered else -1 for step in steps])
    answers[answers == 0] = np.arange(len(answered))
    deltas = np.empty((len(answered), X.shape[1]))
    if answered:
        discounts = [step.context.discounts for step in answered]
        better = np.concatenate([step.better for step in answered])
        shown = np.concatenate([step.shown for step in answered])
        where = np.flatnonzero(answers >= 0)
        if not write_differences(
            X, starts, where, np.concatenate(discounts), _starts(discounts), better, shown, deltas
        ):
            return None
    return _Columns(X, starts, answers, deltas)


def _starts(arrays: Sequence[Any]) -> IntArray:
    out: IntArray = np.zeros(len(arrays) + 1, np.int64)
    np.cumsum([len(each) for each in arrays], out=out[1:])
    return out
