"""A model of the rewards of a log, fitted on the way along it: what candidates may be worth that were not shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from smidgen.decision import Decision, FloatArray
from smidgen.features import Row
from smidgen.features.rows import DenseRows, SparseRows
from smidgen.learners import Feedback, Loop, recommended
from smidgen.learners.choose.base import RewardLearner
from smidgen.learners.courses import DECIDE, Course, Leg
from smidgen.service.loops.evaluator import Companion, Steps, Waiting
from smidgen.structures import Choice

if TYPE_CHECKING:
    from smidgen.service.store.lines import Line

#: A model of the rewards of labels looks at no more numbers than this in one decision.
MODELLED = 20_000
#: So many of the latest decisions are kept whole; of earlier ones only the numbers.
WHOLE = 4096


class RewardModel(Companion):
    """A ridge regression of the rewards, fitted on the way: asked when a decision was made, told when its reward came.

    It never sees the future of a decision that it is asked about. There is a constant beside the features; each label
    has weights of its own.
    """

    listens = True

    def __init__(self) -> None:
        self._ridge: RewardLearner | None = None
        self._offers: Waiting[tuple[Decision, Choice | None]] = Waiting(WHOLE)

    def decided(self, event: Line) -> None:
        """Predict the rewards of all candidates."""
        self._follow([(event, None)])

    def answered(self, event: Line, made: Decision) -> None:
        """Learn what the shown one was worth."""
        self._follow([(event, made)])

    def follow(self, steps: Steps) -> None:
        """Several decisions and answers, at one go."""
        self._follow(steps)

    def _follow(self, steps: Sequence[tuple[Line, Decision | None]]) -> None:
        asked = [event.made() for event, made in steps if made is None]
        offers = zip(asked, _all_offered(asked), strict=True)
        legs: list[Leg] = []
        events: list[Line] = []
        for event, made in steps:
            id = event.decision or ""
            if made is None:
                kept = next(offers)
                self._offers.put(id, kept)
                offer, shown, reward = kept[1], DECIDE, None
            else:
                before = self._offers.take(id)
                offer = before[1] if before is not None and before[0] is made else _offered(made)
                shown, reward = int(made.action), reward_of(event, made)
            if offer is None or (made is not None and self._ridge is None):
                continue
            if self._ridge is None:
                made_for = recommended(loop=Loop.CHOOSE, feedback=Feedback.REWARD, dim=offer.dim)
                if not isinstance(made_for, RewardLearner):
                    continue
                self._ridge = made_for
            if offer.dim == self._ridge.dim:
                legs.append(Leg(offer, shown, reward))
                events.append(event)
        if self._ridge is not None and legs:
            for event, leg, scores in zip(events, legs, self._ridge.teach_along(Course(legs)), strict=True):
                if leg.action == DECIDE:
                    event.__dict__["its rewards"] = scores

    def predicted(self, event: Line, count: int) -> FloatArray | None:
        """What it predicted for the candidates of a decision."""
        found: FloatArray | None = event.__dict__.get("its rewards")
        return found if found is not None and len(found) == count else None


def reward_of(event: Line, made: Decision) -> float:
    """The reward of what was shown, in [0, 1]; right and wrong are 1 and 0."""
    told = event.told()
    if "label" in event.feedback and not isinstance(told, bool):
        return float(told == made.action)
    return float(told)


def _all_offered(many: Sequence[Decision]) -> list[Choice | None]:
    """What `_offered` gives of each; dense candidates, and rows of one form, are laid out in one pass."""
    contexts = [made.context for made in many]
    if contexts and all(type(each) is Choice and type(each.rows) is DenseRows for each in contexts):
        arrays = [each.rows.array for each in contexts]
        if len({each.shape[1] for each in arrays}) == 1:
            rows, cuts = _with_one(np.concatenate(arrays)), np.cumsum([0, *map(len, arrays)]).tolist()
            return [Choice(DenseRows(rows[a:b])) for a, b in pairwise(cuts)]
    forms = {(count := _labels(made)) and (count, len(made.context.indices), made.context.dim) for made in many}
    form = forms.pop() if len(forms) == 1 else 0
    if form and form[0] * (form[1] + 1) <= MODELLED:
        indices, values = np.stack([row.indices for row in contexts]), np.stack([row.values for row in contexts])
        return list(_by_label(indices, values, form[0], form[2]))
    return list(map(_offered, many))


def _offered(made: Decision) -> Choice | None:
    """The candidates as rows of one matrix, with a constant; of labels, one for each; None if there are none."""
    context, count = made.context, _labels(made)
    if isinstance(context, Choice):
        rows = context.rows
        return Choice(DenseRows(_with_one(rows.array))) if isinstance(rows, DenseRows) else context  # records have one
    if not count or count * (len(context.indices) + 1) > MODELLED:
        return None
    return next(_by_label(context.indices[None, :], context.values[None, :], count, context.dim))


def _labels(made: Decision) -> int:
    """How many labels a row could be given; 0 if none was labelled."""
    return len(made.scores) if isinstance(made.context, Row) and made.scores is not None else 0


def _with_one(rows: FloatArray) -> FloatArray:
    """Rows with a constant behind."""
    out = np.ones((len(rows), rows.shape[1] + 1))
    out[:, :-1] = rows
    out.setflags(write=False)
    return out


def _by_label(indices: Any, values: Any, count: int, dim: int) -> Iterator[Choice]:
    """Of each row so many candidates: the row with a constant, in columns of its own for each label."""
    many, each = indices.shape[0], indices.shape[1] + 1
    where, what = np.empty((many, count, each), np.int64), np.ones((many, count, each))
    where[:, :, :-1], what[:, :, :-1], where[:, :, -1] = indices[:, None, :], values[:, None, :], dim
    where += (dim + 1) * np.arange(count)[:, None]
    starts = np.arange(0, count * each + 1, each)
    for array in (where, what, starts):
        array.setflags(write=False)
    for i in range(many):
        yield Choice(SparseRows(what[i].ravel(), where[i].ravel(), starts, (dim + 1) * count))
