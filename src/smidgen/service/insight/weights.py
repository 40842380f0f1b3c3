"""What a model goes by: its strongest weights, under their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.errors import NoWeights
from smidgen.service.models.engine import Engine
from smidgen.service.models.served import Served
from smidgen.service.refusals import Unknown
from smidgen.service.store.protocol import Reading


def keys(reading: Reading, model: Served, prefix: str = "", limit: int = 50) -> list[str]:
    """Keys of a model that begin so, in order; each found by one step in the index."""
    if not model.keyed:
        return []
    return [key for (key,) in reading.look("keys", model.slot, prefix=prefix, limit=limit)]


def strengths(engine: Engine, model: Served, key: str | None, label: str | None, top: int = 20) -> dict[str, Any]:
    """The strongest weights of a model, or of one of its keys, or why there are none to show."""
    if model.keyed and key is None:
        seen = keys(engine.store, model, limit=1)
        if not seen:
            return _none("No key has been seen yet.")
        key = seen[0]
    if not model.keyed:
        key = None
    elif key not in keys(engine.store, model, key or "", 1):
        raise Unknown(f"there is no key {key!r}", "choose one that has had a decision")
    learner = engine.learners.get(model, key).learner
    try:
        weights = np.asarray(learner.weights, dtype=np.float64)
    except NoWeights as error:
        return {**_none(model.blueprint.loop.without_weights(learner, error)), "key": key}
    labels = _labels(model, weights)
    if label is not None and label not in (labels or ()):
        raise Unknown(f"there is no label {label!r}", f"choose among {', '.join(labels or ['none'])}")
    row = weights if weights.ndim == 1 else weights[(labels or []).index(label) if label is not None else 0]
    strongest = _strongest(row, top)
    return {
        "key": key,
        "label": (label or labels[0]) if labels else None,
        "labels": labels,
        "rounds": learner.rounds,
        "dim": len(row),
        "norm": float(np.linalg.norm(row)),
        "weights": [{"name": _name(model, int(i)), "weight": float(row[i])} for i in strongest],
        "why_not": None,
    }


def _none(why: str) -> dict[str, Any]:
    empty: dict[str, Any] = {"key": None, "label": None, "labels": None, "rounds": 0, "dim": 0, "norm": 0.0}
    return {**empty, "weights": [], "why_not": why}


def _labels(model: Served, weights: Any) -> list[str] | None:
    if weights.ndim == 1:
        return None
    return model.blueprint.body.labels or [str(i) for i in range(len(weights))]


def _strongest(row: Any, top: int) -> Any:
    size = np.abs(row)
    some = np.argpartition(-size, top - 1)[:top] if len(row) > top else np.arange(len(row))
    order = some[np.lexsort((some, -size[some]))]
    return order[size[order] > 0.0]


def _name(model: Served, index: int) -> str:
    names = model.blueprint.names
    return names[index] if names is not None else model.blueprint.loop.weight_name(index)
