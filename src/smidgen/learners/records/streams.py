"""Labelled records through a learner, round for round: by the two verbs, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from smidgen.errors import InvalidArgument
from smidgen.features.batch import listed
from smidgen.features.frames import frame_records, is_frame
from smidgen.history import History
from smidgen.learners.filter.base import Filter, as_relevance
from smidgen.learners.label.base import LabelLearner

if TYPE_CHECKING:
    from smidgen.learners.records.pipeline import Pipeline


def played(pipeline: Pipeline, records: Any, y: Any) -> History:
    """Play labelled records in their order."""
    given: list[Any] = frame_records(records) if is_frame(records) else listed(records)
    inner = pipeline.learner
    if isinstance(inner, LabelLearner):
        return _labels(pipeline, inner, given, y)
    if isinstance(inner, Filter):
        return _filter(pipeline, inner, given, y)
    raise InvalidArgument(
        f"a {type(inner).__name__} has no labelled stream", "decide on Candidates and learn, one after the other"
    )


def _labels(pipeline: Pipeline, inner: LabelLearner, records: list[Any], y: Any) -> History:
    truth = inner._classes.indices(y)
    _check(len(records), len(truth))
    actions, greedy = np.empty(len(truth), np.int64), np.empty(len(truth), np.int64)
    for t, record in enumerate(records):
        decision = pipeline.decide(record)
        actions[t], greedy[t] = inner._classes.index(decision.action), inner._classes.index(decision.greedy)
        true = inner.labels[truth[t]]
        pipeline.learn(decision, bool(actions[t] == truth[t]) if inner.feedback == "one-bit" else true)
    return History(actions, greedy, truth, inner.labels, learner=inner._kind, loop="label")


def _filter(pipeline: Pipeline, inner: Filter, records: list[Any], y: Any) -> History:
    truth = as_relevance(y)
    _check(len(records), len(truth))
    actions, greedy = np.empty(len(truth), np.bool_), np.empty(len(truth), np.bool_)
    for t, record in enumerate(records):
        decision = pipeline.decide(record)
        actions[t], greedy[t] = decision.action, decision.greedy
        if decision.action or inner.sees_everything:
            pipeline.learn(decision, bool(truth[t]))
    return History(actions, greedy, truth, learner=inner._kind, loop="filter")


def _check(records: int, labels: int) -> None:
    if records != labels:
        raise InvalidArgument(f"there are {records} records and {labels} labels", "give one label per record")
