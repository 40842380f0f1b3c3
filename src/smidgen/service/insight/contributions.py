"""Why an answer: what each feature adds to its score under the present weights, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smidgen.decision import Decision
from smidgen.errors import SmidgenError
from smidgen.features import DenseRows, Encoded, Row
from smidgen.learners import Learner
from smidgen.learners.records.around import inside
from smidgen.learners.records.front import explained
from smidgen.service.insight.weights import namer
from smidgen.service.messages import Contributions
from smidgen.service.models.engine import Engine
from smidgen.service.models.served import Served
from smidgen.structures import Choice, Ranking, structured
from smidgen.structures.structure import vector

#: How many are told of one answer, and how many of them in words.
MOST, TOLD = 100, 5


def contributions(engine: Engine, model: Served, key: str | None, decision: Decision) -> Contributions | None:
    """What the features of the answer add to its score, strongest first; None where no weights say so."""
    learner = engine.learners.get(model, key).learner
    found: list[tuple[str, float]] | None
    try:
        table = engine.learners.table(model, learner)
        if table is not None and isinstance(decision.context, Encoded):
            found = explained(table, inside(learner), decision).contributions
        else:
            found = _by_row(model, learner, decision, namer(engine, model, learner))
    except SmidgenError:  # a learner without weights
        return None
    if found is None:
        return None
    items = sorted(((name, value) for name, value in found if value), key=lambda each: (-abs(each[1]), each[0]))
    return Contributions(version=model.version, items=items[:MOST])


def in_words(found: Contributions | None) -> str | None:
    """The strongest of them as a sentence."""
    if found is None or not found.items:
        return None
    told = ", ".join(f"{name} ({value:+.3g})" for name, value in found.items[:TOLD])
    return f"By the weights of version {found.version:,} this speaks for it, or against: {told}."


def _by_row(
    model: Served, learner: Learner, decision: Decision, name: Callable[[int], str]
) -> list[tuple[str, float]] | None:
    row = _answered_row(learner, decision)
    if row is None:
        return None
    weights = np.asarray(learner.weights, dtype=np.float64)
    if weights.ndim == 2:
        weights = weights[int(decision.action)]
    columns, values = row
    if len(columns) and columns.max() >= len(weights):
        return None
    return [(name(int(c)), float(weights[c] * v)) for c, v in zip(columns, values, strict=True)]


def _answered_row(learner: Learner, decision: Decision) -> tuple[Any, Any] | None:
    """Columns and values of the row that was labelled, forwarded, chosen, or ranked first; φ of any other object."""
    context = decision.context
    if isinstance(context, Row):
        return np.asarray(context.indices, dtype=np.int64), np.asarray(context.values, dtype=np.float64)
    if not isinstance(context, Ranking | Choice):
        return _described(decision)
    first = int(np.ravel(np.asarray(decision.action))[0])
    seen = getattr(learner, "seen_rows", None)  # some scale the features of a query
    rows = context.rows if seen is None else seen(context)
    if isinstance(rows, DenseRows):
        return np.arange(rows.shape[1]), rows.array[first]
    part = slice(rows.indptr[first], rows.indptr[first + 1])
    return rows.indices[part], rows.data[part]


def _described(decision: Decision) -> tuple[Any, Any] | None:
    """All columns and φ of what was shown, of a structure of others; of two that were shown, the first."""
    known = structured(decision.context)
    if known is None:
        return None
    values = vector(known.phi(decision.greedy))
    return np.arange(len(values)), values
