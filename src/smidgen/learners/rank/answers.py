"""What a user's answer says of the documents: clicks and better rankings in one form.

Every document gets a standing, the lower the better: clicked documents 0 and the others 1, or its place in the better
ranking. An answer speaks of the first places only: clicks of those down to the one below the last click, which
the user will have seen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from smidgen._kernel import kernel
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


@kernel
def stand_clicked(shown: IntArray, clicked: IntArray, standing: IntArray) -> int:
    """Write the standing of clicks; returns the places that they speak of, 0 without any, −1 for a strange document."""
    n = shown.shape[0]
    standing[:] = 1
    for i in range(clicked.shape[0]):
        if clicked[i] >= n:
            return -1
        standing[clicked[i]] = 0
    last = n - 1
    while last >= 0 and standing[shown[last]] == 1:
        last -= 1
    return min(last + 2, n) if last >= 0 else 0


@kernel
def stand_placed(better: IntArray, standing: IntArray) -> int:
    """Write the standing of a better ranking, which may hold later documents too; returns the places."""
    n = len(standing)
    for i in range(better.shape[0]):
        if better[i] < n:
            standing[better[i]] = i
    return n


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
    return Answer(standing, stand_placed(order, standing), False)
