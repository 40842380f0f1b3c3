"""What the keys of a model share, settled once, when it is made: the names of their features, and how they begin."""

from __future__ import annotations

import msgspec

from smidgen.learners import Feedback, Learner
from smidgen.service.messages import ModelBody
from smidgen.service.refusals import Impossible

#: What comes back where keys share their start if nobody says.
USUALLY = (Feedback.REWARD, Feedback.BIT, Feedback.BETTER, Feedback.EDIT)


class Shared(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What keys share.

    Attributes
    ----------
    names
        One table of names and statistics for the slot; else, of models that take records, each key has its own.
    start
        What a newcomer begins with.
    """

    names: bool = False
    start: bool = False


def settled(body: ModelBody, learner: Learner, feedback: str | None, *, records: bool) -> Shared:
    """What the keys of a new model share.

    Parameters
    ----------
    body
        What was asked for.
    learner
        The learner that reads the rows.
    feedback
        What the model hears first of all.
    records
        Whether it takes records.
    """
    if not body.keyed:
        if body.shared_start:
            raise Impossible("shared_start is for models with keys", 'create it with "keyed": true')
        return Shared()
    start = body.shared_start
    if start is None:
        start = body.learner is None and feedback in USUALLY and learner.shared_start is not None
    elif start and learner.shared_start is None:
        raise Impossible(
            f"a {type(learner).__name__} has no start to share", "leave shared_start out: every key begins with nothing"
        )
    return Shared(names=records, start=start)
