"""Replies as decisions of an ordinary draft model, and the name it goes by."""

from __future__ import annotations

from typing import Any

from smidgen.learners import Feedback, Loop
from smidgen.learners.recommended import find
from smidgen.service.drafting.letters import letter
from smidgen.service.drafting.styles import drafts
from smidgen.service.insight.tastes import taste_of
from smidgen.service.loops.draft import Draft
from smidgen.service.loops.registry import loops
from smidgen.service.messages import ModelBody
from smidgen.service.models.building import canonical
from smidgen.service.models.engine import Engine

MODEL = ModelBody(loop=Loop.DRAFT, learner=find(Loop.DRAFT, Feedback.EDIT)[0].__name__, window_s=86400.0)
STEM = "demo-drafts"


def demo_name(engine: Engine) -> str:
    """The name of the demo's model, or the first free one for it; a fresh start is a new model."""
    number = 1
    while True:
        name = STEM if number == 1 else f"{STEM}-{number}"
        model = engine.models.get(name)
        if model is None or (model.archived_at is None and canonical(model.blueprint.body) == canonical(MODEL)):
            return name
        number += 1


def next_letter(engine: Engine, name: str) -> dict[str, Any]:
    """The next message, and the draft that the model chooses for it."""
    engine.create(name, MODEL)
    number = engine.model(name).decisions
    asks = letter(number)
    texts = drafts(asks)
    offered = [Draft(id=place, text=text) for place, text in enumerate(texts)]
    reply = engine.decide(name, loops.decision(drafts=offered))
    return {
        "model": name,
        "decision": reply["decision"],
        "model_version": reply["model_version"],
        "number": number,
        "from": f"{asks.first} {asks.last}",
        "subject": asks.subject,
        "text": asks.text,
        "draft": texts[reply["choice"]],
        "of": len(texts),
    }


def learnt(engine: Engine, name: str) -> dict[str, Any]:
    """What the edits say so far."""
    if name not in engine.models:
        return {"model": name, "learnt": 0, "taste": [], "traits": []}
    told = taste_of(engine, engine.entered(name), None)
    traits = [{"name": t.name, "shown": t.shown, "wanted": t.wanted, "edits": t.edits} for t in told.traits]
    return {"model": name, "learnt": engine.model(name).version, "taste": told.taste, "traits": traits}


def start_anew(engine: Engine) -> str:
    """Archive the model, if there is one, and make the next; gives the new name."""
    name = demo_name(engine)
    if name in engine.models:
        engine.archive(name)
        name = demo_name(engine)
    engine.create(name, MODEL)
    return name
