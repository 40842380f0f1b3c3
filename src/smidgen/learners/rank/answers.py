"""What a user's answer says of the documents: clicks and better rankings in one form.

Every document gets a standing, the lower the better: clicked documents 0 and the others 1, or its place in the better
ranking. An answer speaks of the first places only: clicks of those down to the one below the last click, which
the user will have seen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from smidgen._core.rank import stand_clicked, stand_placed
from smidgen.decision import IntArray
from smidgen.errors import InvalidFeedback
from smidgen.structures import Clicks, ExtendedRanking, Ranking


class Answer(NamedTuple):
    """An answer, by document.

    Attributes
    ----------
    standing
        Of each document: the lower, the better.
    places
        How many of the first places it speaks of.
    clicks
        Whether these are clicks: two documents of other standing are then a preference whichever stood above. Of a
        better ranking only what was turned round is one.
    """

    standing: IntArray
    places: int
    clicks: bool


def read_answer(context: Ranking, shown: IntArray, feedback: Any) -> Answer:
    """What the feedback on a shown ranking says, or a refusal."""
    standing = np.empty(len(shown), np.int64)
    if type(feedback) is Clicks:
        places = stand_clicked(shown, feedback.documents, standing)
        if places < 0:
            raise InvalidFeedback(
                f"document {feedback.documents.max()} was clicked and there are {len(shown)}",
                f"give indices of shown documents, 0 … {len(shown) - 1}",
            )
        return Answer(standing, places, True)
    better = context.check(feedback)
    order = better.order if isinstance(better, ExtendedRanking) else better
    stand_placed(order, standing)
    return Answer(standing, len(shown), False)
