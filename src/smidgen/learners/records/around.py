"""A learner with a vectorizer around it, or without one: what other rooms ask without knowing which it is."""

from __future__ import annotations

from typing import Any

from smidgen.decision import Decision
from smidgen.features import Vectorizer
from smidgen.features.state import Carried
from smidgen.learners.base import Learner
from smidgen.learners.records.explanation import Contributions
from smidgen.learners.records.pipeline import Pipeline


def around(features: Vectorizer, learner: Learner) -> Learner:
    """The learner with a vectorizer in front of it."""
    return Pipeline(features=features, learner=learner, seed=learner.params["seed"])


def vectorizer_of(learner: Learner) -> Vectorizer | None:
    """The vectorizer in front of a learner, if there is one."""
    return learner.features if isinstance(learner, Pipeline) else None


def takes_records(learner: Learner) -> bool:
    """Whether a vectorizer stands in front of a learner."""
    return isinstance(learner, Pipeline)


def inside(learner: Learner) -> Learner:
    """The learner that reads the rows: behind a vectorizer, or the learner itself."""
    return learner.learner if isinstance(learner, Pipeline) else learner


def on_rows(learner: Learner, decision: Decision) -> Decision:
    """A decision as the learner that reads the rows has it."""
    return learner.within(decision) if isinstance(learner, Pipeline) else decision


def rows_of(learner: Learner, context: Any) -> Any:
    """A context as the learner that reads the rows has it."""
    return learner.context_within(context) if isinstance(learner, Pipeline) else context


def know(learner: Learner, context: Any = None, names: Carried = ()) -> None:
    """Let the vectorizer in front of a learner know the names of a context, or names where they are; nothing else."""
    if isinstance(learner, Pipeline):
        learner.features.adopt(names)
        if context is not None:
            learner.note(context)


def contributions(learner: Learner, decision: Decision) -> Contributions | None:
    """What each named feature adds to the answer's score; None of a learner that knows no names."""
    return learner.explain(decision).contributions if isinstance(learner, Pipeline) else None


def seeded(learner: Learner, seed: int) -> Learner:
    """A fresh learner that draws by this seed; behind a vectorizer, it is the learner inside that draws."""
    if isinstance(learner, Pipeline):
        return learner.fresh(learner=learner.params["learner"].fresh(seed=seed), seed=seed)
    return learner.fresh(seed=seed)
