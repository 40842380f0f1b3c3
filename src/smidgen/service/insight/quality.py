"""How well a model does, by what its users did."""

from __future__ import annotations

import sqlite3

from smidgen.service.clock import stamp
from smidgen.service.insight.intervals import normal, wilson
from smidgen.service.messages import ModelReply, Quality
from smidgen.service.models.served import Served

LAST = 200


def quality(connection: sqlite3.Connection, model: Served) -> Quality:
    """The loop's figure over the last 200 learnt decisions, with a 95 % interval."""
    values = [
        value
        for (value,) in connection.execute(
            "SELECT measure FROM decisions WHERE model = ? AND learnt_version > ? AND measure IS NOT NULL",
            (model.id, model.version - LAST),
        )
    ]
    loop = model.blueprint.loop
    name = loop.measure
    if not values:
        return Quality(measure=name, value=None, low=None, high=None, of=0)
    value, low, high = wilson(sum(values), len(values)) if loop.share else normal(values)
    return Quality(measure=name, value=value, low=low, high=high, of=len(values))


def at_a_glance(connection: sqlite3.Connection, model: Served) -> ModelReply:
    """A model's settings, counts and figures."""
    body = model.blueprint.body
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
        model_version=model.version,
        decisions=model.decisions,
        answered=model.version + model.late,
        late=model.late,
        keys=model.keys if model.keyed else None,
        quality=quality(connection, model),
    )
