"""Replies as decisions of an ordinary draft model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from smidgen.learners import Feedback, Loop
from smidgen.learners.recommended import find
from smidgen.service.engine.engine import Engine
from smidgen.service.loops.draft import Draft
from smidgen.service.loops.registry import loops
from smidgen.service.monitoring.weights import taste_of
from smidgen.service.schemas import ModelBody
from smidgen_demos.base import DemoPage
from smidgen_demos.drafts.letters import letter
from smidgen_demos.drafts.styles import drafts

MODEL = ModelBody(loop=Loop.DRAFT, learner=find(Loop.DRAFT, Feedback.EDIT)[0].__name__, window_s=86400.0)
DEMO = DemoPage("drafts", "Drafts demo", Path(__file__).parent / "pages", MODEL, start=("reply", "reply"))


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
    """Traits that were learnt from the edits so far."""
    if name not in engine.models:
        return {"model": name, "learnt": 0, "taste": [], "traits": []}
    taste = taste_of(engine, engine.locked_model(name), None)
    traits = [{"name": t.name, "shown": t.shown, "wanted": t.wanted, "edits": t.edits} for t in taste.traits]
    return {"model": name, "learnt": engine.model(name).version, "taste": taste.taste, "traits": traits}
