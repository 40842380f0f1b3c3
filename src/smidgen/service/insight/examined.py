"""How far people look: the examination curve of a rank model, from the latest lists that were clicked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from smidgen.decision import Decision
from smidgen.evaluate import examination
from smidgen.service.insight.lists import Clicked
from smidgen.service.messages import ExaminationReply

#: How many places the curve tells of, at most.
PLACES = 10
#: The curve waits for so many lists with a click.
CLICKED = 30


class Examined(NamedTuple):
    """The curve, or why there is none."""

    curve: ExaminationReply | None
    why_not: str | None = None


def examined(shown: Sequence[Decision], lists: Sequence[Clicked], settings: Mapping[str, Any]) -> Examined:
    """The curve with its interval, as far as the clicks tell it; else the reason in words.

    Parameters
    ----------
    shown
        The latest lists of a model.
    lists
        Lists and their clicks.
    settings
        Those of its learner.
    """
    if any(each.log_propensity is None or each.scores is None for each in (*shown, *(one.decision for one in lists))):
        return Examined(
            None,
            "This learner does not draw its lists by chances that are known, so clicks cannot tell how far people look "
            "from how good things are. Others can: the one, say, that a model without a learner gets.",
        )
    if settings.get("alternate") is False:
        return Examined(
            None,
            "Pairs are fixed, (1, 2), (3, 4), …: nothing relates places 2 and 3. Make the model with "
            '"alternate": true in params.',
        )
    if not lists:
        return Examined(None, "No clicks have been learnt yet: how far people look comes from clicks on lists.")
    swap = float(settings.get("swap", 0.5))
    if swap in (0.0, 1.0):
        return Examined(None, f"Pairs are swapped with probability {swap:g}: only swaps by chance can tell.")
    hits = sum(len(each.clicks) > 0 for each in lists)
    if hits < CLICKED:
        return Examined(None, f"{hits} of the last {len(lists)} answered lists had a click; it takes {CLICKED}.")
    places = max(2, min(PLACES, max(len(each.decision.action) for each in lists)))
    found = examination(lists, places=places, swap=swap)
    known = int(np.isfinite(found.read + found.low + found.high).sum())
    if known < 2:
        return Examined(None, "No clicks came from places that were exchanged: more clicks will tell.")
    return Examined(
        ExaminationReply(
            places=list(range(1, known + 1)),
            value=found.read[:known].tolist(),
            low=found.low[:known].tolist(),
            high=found.high[:known].tolist(),
            n=found.rounds,
        )
    )
