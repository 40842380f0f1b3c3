"""What the edits of a model's users say of their taste."""

from __future__ import annotations

from smidgen.learners.coactive import Coactive
from smidgen.service.insight.weights import learner_of
from smidgen.service.messages import TasteReply, TraitReply
from smidgen.service.models.engine import Engine
from smidgen.service.models.served import Served
from smidgen.service.refusals import Impossible


def taste_of(engine: Engine, model: Served, key: str | None) -> TasteReply:
    """The taste of a model's users, or of one key, in words and by trait."""
    if not model.blueprint.loop.takes_texts:
        raise Impossible(f"a model of the loop {model.blueprint.loop.name} has no taste", "see /weights")
    learner = learner_of(engine, model, key)
    if not isinstance(learner, Coactive):
        return TasteReply(taste=[], traits=[])
    traits = [TraitReply(name=w.name, shown=w.shown, wanted=w.wanted, edits=w.edits) for w in learner.taste]
    return TasteReply(taste=learner.in_words(), traits=traits)
