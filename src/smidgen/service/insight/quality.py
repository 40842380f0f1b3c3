"""How well a model does, by what its users did."""

from __future__ import annotations

import math

from smidgen.service.clock import stamp
from smidgen.service.messages import ModelReply, Quality
from smidgen.service.models.served import Served
from smidgen.service.refusals import Unknown
from smidgen.service.store.protocol import Counts, Reading

LAST = 200


def quality(reading: Reading, model: Served, version: int) -> Quality:
    """The loop's figure over the last 200 learnt decisions, with a 95 % interval."""
    values = [value for (value,) in reading.look("measures", model.slot, after=version - LAST)]
    name = model.blueprint.translator.measure
    if not values:
        return Quality(measure=name, value=None, low=None, high=None, of=0)
    share = model.blueprint.body.loop != "tune"
    value, low, high = wilson(sum(values), len(values)) if share else normal(values)
    return Quality(measure=name, value=value, low=low, high=high, of=len(values))


def committed(reading: Reading, model: Served) -> Counts:
    """How far a model is, as the reader sees it; a model whose making is not committed is not there."""
    counts = reading.counts(model.slot)
    if counts is None:
        raise Unknown(f"there is no model {model.name!r}", "create it first: PUT /v1/models/NAME")
    return counts


def at_a_glance(reading: Reading, model: Served) -> ModelReply:
    """A model's settings, counts and figures."""
    body, counts = model.blueprint.body, committed(reading, model)
    return ModelReply(
        name=model.name,
        loop=body.loop,
        learner=body.learner,
        params=body.params,
        features=body.features if isinstance(body.features, list | None) else {"hashed": body.features.hashed},
        labels=body.labels,
        window_s=body.window_s,
        keyed=model.keyed,
        created_at=stamp(model.created_at),
        archived_at=stamp(model.archived_at) if model.archived_at is not None else None,
        model_version=counts.version,
        decisions=counts.decisions,
        answered=counts.version + counts.late,
        late=counts.late,
        keys=counts.keys if model.keyed else None,
        quality=quality(reading, model, counts.version),
    )


def wilson(hits: float, n: float) -> tuple[float, float, float]:
    """A share with Wilson's 95 % interval.

    Examples
    --------
    >>> from smidgen.service.insight.quality import wilson
    >>> tuple(round(x, 3) for x in wilson(8, 10))
    (0.8, 0.49, 0.943)
    """
    z = 1.959964
    p = hits / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return p, max(0.0, centre - half), min(1.0, centre + half)


def normal(values: list[float]) -> tuple[float, float, float]:
    """A mean with the normal 95 % interval."""
    n = len(values)
    mean = sum(values) / n
    spread = math.sqrt(sum((x - mean) ** 2 for x in values) / max(1, n - 1) / n)
    return mean, mean - 1.959964 * spread, mean + 1.959964 * spread
