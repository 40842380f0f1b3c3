"""A sample model with simulated users, so that a newcomer sees learning happen before writing any code."""

from __future__ import annotations

import itertools
from typing import Annotated

import numpy as np
from msgspec import Meta

from smidgen.learners import Feedback, Loop
from smidgen.learners.recommended import find
from smidgen.service.engine.blueprint import canonical
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.model import ServedModel
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import Candidate, Message, ModelBody

#: What the simulated readers like; the model never sees it.
TASTE = {
    "topic match": 1.0,
    "freshness": 0.6,
    "author followed": 0.5,
    "has picture": 0.25,
    "popularity": 0.1,
    "length": -0.4,
}
SAMPLE = ModelBody(
    loop=Loop.RANK, learner=find(Loop.RANK, Feedback.CLICKS)[0].__name__, features=list(TASTE), window_s=3600.0
)
CANDIDATES = 8
LOOKED_AT = 5
CARELESS = 0.05


class SampleBody(Message):
    """Number of simulated users to play."""

    users: Annotated[int, Meta(ge=1, le=200)] = 20


def name_for(engine: Engine, name: str, body: ModelBody) -> str:
    """The name of the model that has these settings and decides, or the first free one for it: NAME, NAME-2, …."""
    for number in itertools.count(1):
        numbered = name if number == 1 else f"{name}-{number}"
        if (model := engine.models.get(numbered)) is None or _decides(model, body):
            break
    return numbered


def is_sample(model: ServedModel) -> bool:
    """Check whether simulated users may play on this model: its settings are the sample's, and so is its name."""
    return _decides(model, SAMPLE) and model.name.startswith("sample")


def _decides(model: ServedModel, body: ModelBody) -> bool:
    return model.archived_at is None and canonical(model.blueprint.body) == canonical(body)


def play(engine: Engine, name: str) -> None:
    """A simulated reader: gets a ranking, looks at the first five articles, and opens the one they like most.

    One in twenty opens any of the five. The same number of decisions always brings the same reader.
    """
    engine.create(name, SAMPLE)
    rng = np.random.default_rng([7, engine.model(name).decisions])
    articles = rng.normal(size=(CANDIDATES, len(TASTE))).round(2)
    ids = [f"article {letter}" for letter in "ABCDEFGH"]
    candidates = [Candidate(id=id, features=row) for id, row in zip(ids, articles.tolist(), strict=True)]
    reply = engine.decide(name, loops.decision(candidates=candidates))
    pleasure = dict(zip(ids, (articles @ np.array(list(TASTE.values()))).tolist(), strict=True))
    seen = reply["ranking"][:LOOKED_AT]
    opened = seen[int(rng.integers(len(seen)))] if rng.random() < CARELESS else max(seen, key=pleasure.__getitem__)
    engine.feedback(reply["decision"], loops.feedback(clicked=[opened]))
