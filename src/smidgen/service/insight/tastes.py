"""What the edits of a model's users say of their taste."""

from __future__ import annotations

from smidgen.learners.coactive import Coactive
from smidgen.service.insight.weights import keys
from smidgen.service.messages import TasteReply, TraitReply
from smidgen.service.models.engine import Engine
from smidgen.service.models.served import Served
from smidgen.service.refusals import Impossible, Unknown


def taste_of(engine: Engine, model: Served, key: str | None) -> TasteReply:
    """The taste of a model's users, or of one key, in words and by trait."""
    if not model.blueprint.loop.takes_texts:
        raise Impossible(f"a model of the loop {model.blueprint.loop.name} has no taste", "see /weights")
    if model.keyed and key is None:
        raise Impossible("key is missing", "this model has one learner per key: say ?key=…")
    if not model.keyed and key is not None:
        raise Impossible("this model has no keys", "leave key out")
    if key is not None and key not in keys(engine.store, model, key, 1):
        raise Unknown(f"there is no key {key!r}", "choose one that has had a decision")
    learner = engine.learners.get(model, key).learner
    if not isinstance(learner, Coactive):
        return TasteReply(taste=[], traits=[])
    traits = [TraitReply(name=w.name, shown=w.shown, wanted=w.wanted, edits=w.edits) for w in learner.taste]
    return TasteReply(taste=learner.in_words(), traits=traits)
