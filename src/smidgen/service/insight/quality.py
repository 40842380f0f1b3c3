"""How well a model does, by what its users did."""

from __future__ import annotations

from smidgen.service.clock import stamp
from smidgen.service.insight.intervals import normal, wilson
from smidgen.service.messages import ModelReply, Quality
from smidgen.service.models.served import Served
from smidgen.service.refusals import Unknown
from smidgen.service.store.protocol import Reading
from smidgen.service.store.rows import Counts

LAST = 200


def quality(reading: Reading, model: Served, version: int) -> Quality:
    """The loop's figure over the last 200 learnt decisions, with a 95 % interval."""
    values = [value for (value,) in reading.look("measures", model.slot, after=version - LAST)]
    loop = model.blueprint.loop
    name = loop.measure
    if not values:
        return Quality(measure=name, value=None, low=None, high=None, of=0)
    value, low, high = wilson(sum(values), len(values)) if loop.share else normal(values)
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
        learner=model.blueprint.kind,
        feedback=model.blueprint.feedback,
        params=model.blueprint.params,
        features=model.blueprint.shown_features,
        labels=body.labels,
        window_s=body.window_s,
        keyed=model.keyed,
        created_at=stamp(model.created_at),
        archived_at=stamp(model.archived_at) if model.archived_at is not None else None,
        model_version=counts.version,
        decisions=counts.decisions,
        answered=counts.answered,
        late=counts.late,
        keys=counts.keys if model.keyed else None,
        quality=quality(reading, model, counts.version),
        guarded=sum(model.scaled.values()) if model.blueprint.guarded else None,
    )
