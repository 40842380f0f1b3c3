"""What theory promises about a served model, from what the service knows and has observed of it."""

from __future__ import annotations

from smidgen.service.models.served import Served
from smidgen.theory.guarantees import Guarantee, Rounds, promised


def guarantee(model: Served, points: Rounds) -> Guarantee:
    """The bound after so many rounds.

    Parameters
    ----------
    model
        The model.
    points
        Rounds, and by how many updates the deciding weights were behind at most until then.
    """
    if model.keyed:
        return Guarantee(why_not="Every key has a learner of its own, with its own rounds; theory speaks of each.")
    card = model.blueprint.card
    return promised(card.theorem, card.bound, model.blueprint.settings, points)
