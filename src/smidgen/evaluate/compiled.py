"""Which streams compiled code may play in the place of the two verbs: those that come out the same to the last bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from smidgen.errors import InvalidArgument
from smidgen.evaluate.ranking_play import play_rankings
from smidgen.history import History
from smidgen.learners import Learner
from smidgen.learners.coactive import Coactive
from smidgen.optim import Gradient, Newton
from smidgen.users import ClickUser, NoisyDepth, StrictAlpha

if TYPE_CHECKING:
    from smidgen.evaluate.meter import Presenting
    from smidgen.evaluate.ranking_table import QueryTable
    from smidgen.evaluate.with_user import Measure

#: Rules whose verbs leave sums to BLAS, which adds in an order of its own.
_BY_BLAS = (Gradient, Newton)
#: Users whose answers come out the same, draws included.
_EXACT = (StrictAlpha, NoisyDepth, ClickUser)


def as_compiled(learner: Learner) -> bool:
    """Whether compiled code speaks for this learner.

    It does not if a guard stands before its steps, nor for a class of others that changes how one of ours decides or
    learns, unless that class brings its own stream.
    """
    if learner.guarded is not None:
        return False
    for cls in type(learner).__mro__:
        if cls.__module__.startswith("smidgen.") or "run" in vars(cls) or "_play" in vars(cls):
            return True
        if any(callable(value) and not name.startswith("__") for name, value in vars(cls).items()):
            return False
    return False


def compiled_rankings(
    learner: Presenting, queries: QueryTable, user: Any, measure: Measure, rounds: int | None
) -> History | None:
    """A table of queries in compiled code; None if only the two verbs can play it, or play it exactly."""
    rule = getattr(learner.rule, "rule", learner.rule) if isinstance(learner, Coactive) else None
    if not as_compiled(learner) or isinstance(rule, _BY_BLAS) or callable(measure.utility):
        return None
    if not isinstance(user, _EXACT):
        return None
    silent = getattr(learner, "uninformative", 0)
    sizes, decided = np.diff(queries.starts), learner.decisions
    try:
        run = play_rankings(
            learner,
            queries,
            user,
            order=np.arange(len(queries))[:rounds],
            w_star=measure.utility,
            alpha=measure.alpha,
            loss=measure.loss,
            shown=int(sizes.max()),
        )
    except InvalidArgument:  # a user's labels that are used up in order, a rule of somebody else's
        if learner.decisions != decided:
            raise
        return None
    return History(
        [shown[:size] for shown, size in zip(run.shown, sizes, strict=False)],
        learner=type(learner).__name__,
        loop="rank",
        utility=run.utility,
        better_utility=run.better_utility,
        best_utility=run.best_utility,
        alpha=run.alpha,
        loss=measure.loss,
        uninformative=getattr(learner, "uninformative", 0) - silent,
    )
