"""Which streams compiled code may play in the place of the two verbs: those that come out the same to the last bit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from smidgen.errors import InvalidArgument
from smidgen.evaluate.players.rankings import play_rankings
from smidgen.history import History
from smidgen.learners import Learner

if TYPE_CHECKING:
    from smidgen.evaluate.meter import Presenting
    from smidgen.evaluate.players.query_table import QueryTable
    from smidgen.evaluate.with_user import Measure


def as_compiled(learner: Learner) -> bool:
    """Whether compiled code speaks for this learner.

    It does not if a guard stands before its steps, if its stream is quicker than exact, nor for a class of others that
    changes how one of ours decides or learns, unless that class brings its own stream.
    """
    if learner.guarded is not None or not getattr(learner, "exact_stream", True):
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
    """A table of queries in compiled code; None if only the two verbs can play it."""
    if not as_compiled(learner) or callable(measure.utility):
        return None
    sizes, decided = np.diff(queries.starts)[:rounds], learner.decisions
    try:
        run = play_rankings(
            learner,
            queries,
            user,
            order=np.arange(len(sizes)),
            w_star=measure.utility,
            alpha=measure.alpha,
            loss=measure.loss,
            shown=int(sizes.max()),
        )
    except InvalidArgument:  # a user or a rule without a compiled form, labels that are used up in order
        if learner.decisions != decided:
            raise
        return None
    return replace(run, actions=[shown[:size] for shown, size in zip(run.actions, sizes, strict=True)])
