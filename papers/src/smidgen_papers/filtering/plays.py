"""Filters over streams of documents, one topic after the other: the work behind Figure 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smidgen.learners.filter import AppleTasting, FilterHistory, PerceptronFilter, PRidgeFil, RidgeFil, RidgeFull
from smidgen_papers.filtering.documents import labels, matrix, stream, tasks
from smidgen_papers.filtering.exact import Flags, ridge_full
from smidgen_papers.part import Place, Values

#: Stretches of a stream of which the counts are kept.
STRETCHES = 40
#: Documents beyond which RIDGE-FULL, n² numbers of memory, works in single precision.
MANY = 9000

Filtered = Callable[[Any, Flags], FilterHistory]


def play(
    place: Place,
    *,
    source: str,
    stories: str,
    reading: str,
    documents: int,
    learner: str,
    settings: dict[str, Any],
    shares: list[float],
    seed: int,
) -> Values:
    """One filter on every topic with a share in the given range: what it forwarded, by stretches of the stream.

    ``settings`` go to the filter. Row k of ``forwarded``, ``found`` and ``relevant`` belongs to topic k and holds
    cumulative counts: documents forwarded, relevant ones among them, relevant ones that came; ``explored`` counts those
    that were forwarded in spite of their margin.
    """
    arrays = stream(place, source=source, stories=stories, reading=reading, documents=documents, seed=seed)
    X, names = matrix(arrays), tasks(arrays, *shares)
    Y = np.column_stack([labels(arrays, name) for name in names])
    if learner == "RIDGE-FULL":
        histories = ridge_full(X, Y, single=X.shape[0] > MANY, **settings)
    else:
        filtered = _filter(learner, X.shape[1], settings)
        histories = [filtered(X, np.ascontiguousarray(Y[:, k])) for k in range(len(names))]
    ends = np.linspace(0, X.shape[0], STRETCHES + 1).astype(int)[1:] - 1
    return {
        "topics": names,
        "ends": ends + 1,
        "dim": X.shape[1],
        "forwarded": _counts([h.actions for h in histories], ends),
        "found": _counts([h.actions & h.truth for h in histories], ends),
        "relevant": _counts([h.truth for h in histories], ends),
        "explored": _counts([h.explored for h in histories], ends),
    }


def _filter(learner: str, dim: int, settings: dict[str, Any]) -> Filtered:
    """A filter by its name, fresh for every topic; a "form" is the learner itself with a covariance or a window."""
    if learner.startswith("STAP on "):
        inner = PerceptronFilter(dim=dim) if learner == "STAP on perceptron" else RidgeFull(dim=dim)
        return lambda X, y: AppleTasting(learner=inner, **settings).run(X, y)
    if learner == "perceptron":
        return lambda X, y: PerceptronFilter(dim=dim).run(X, y)
    if learner == "P-RIDGE-FIL":
        return lambda X, y: PRidgeFil(dim=dim, horizon=X.shape[0], **settings).run(X, y)
    if learner == "RIDGE-FULL, form":
        return lambda X, y: RidgeFull(dim=dim, **settings).run(X, y)
    return lambda X, y: RidgeFil(dim=dim, **settings).run(X, y)


def _counts(flags: list[Flags], ends: Any) -> Any:
    return np.array([np.cumsum(row)[ends] for row in flags])
