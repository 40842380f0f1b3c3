"""What theory promises about a served model, from what the service knows and has observed of it."""

from __future__ import annotations

from smidgen.service.insight.conditions import Checked
from smidgen.service.models.served import Served
from smidgen.theory.guarantees import Guarantee, Rounds, promised


def guarantee(model: Served, points: Rounds, conditions: Checked) -> Guarantee:
    """The bound after so many rounds, if the data refute none of its conditions.

    Parameters
    ----------
    model
        The model.
    points
        Rounds, and by how many updates the deciding weights were behind at most until then.
    conditions
        What the data say of the conditions.
    """
    promise = _promised(model, points)
    if promise.why_not is not None:
        return promise
    if conditions.fails is not None:
        return Guarantee(theorem=promise.theorem, why_not=conditions.fails)
    return promise._replace(checked=conditions.holds)


def _promised(model: Served, points: Rounds) -> Guarantee:
    """What theory says, if all conditions hold."""
    if model.keyed:
        return Guarantee(why_not="Every key has a learner of its own, with its own rounds; theory speaks of each.")
    card = model.blueprint.card
    return promised(card.theorem, card.bound, model.blueprint.settings, points)
