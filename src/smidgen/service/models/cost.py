"""What a request will cost, judged before any of it is done: numbers to hold, multiplications to make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smidgen.features.limits import CROSSES
from smidgen.learners import Card
from smidgen.service.loops.vectors import NUMBERS
from smidgen.service.models.sizes import REFUSALS
from smidgen.service.refusals import Impossible
from smidgen.structures import Candidates, Choice, Ranking

#: What a field of a record costs beside a number: its name is kept until it has a column.
FIELD = 5
#: How many multiplications one request may cost: some seconds.
WORK = 5_000_000_000


class Cost:
    """What one decision of a model costs.

    A decision reads every feature once for every class; a learner with a matrix reads that too, and one that draws a
    direction draws it in all features.

    Parameters
    ----------
    card, settings, dim
        The learner's, and how many features it takes.
    """

    def __init__(self, card: Card, settings: Mapping[str, Any], dim: int | None) -> None:
        features = dim or 0
        self.classes = max(1, int(settings.get("n_classes") or 1))
        try:
            numbers = card.size(settings) // 8
        except (AttributeError, LookupError, *REFUSALS):  # a guest's, of another form
            numbers = 0
        matrix = numbers if numbers > 4 * max(1, features) * self.classes else 0
        self.each = matrix + (features if card.draws else 0)


class Budget:
    """What is left for one request of a model."""

    def __init__(self, cost: Cost) -> None:
        self._cost = cost
        self._numbers, self._work = NUMBERS, WORK

    def spend(self, context: Any) -> None:
        """Take a decision on this context off, or refuse."""
        size = touched(context)
        self._numbers -= size
        self._work -= size * self._cost.classes + self._cost.each
        if self._numbers < 0:
            raise Impossible(f"the features are more than {NUMBERS} numbers", "send fewer rows in one call")
        if self._work < 0:
            raise Impossible(f"this asks for more than {WORK} multiplications", "send fewer rows in one call")


def touched(context: Any) -> int:
    """How many numbers a context holds; a field of a record, or a cross, counts as several."""
    if isinstance(context, Candidates):
        about = len(context.context or ())
        return FIELD * sum(1 + len(each) + min(CROSSES, about * (1 + len(each))) for each in context.records)
    if isinstance(context, dict):
        return FIELD * (1 + len(context))
    rows = context.rows if isinstance(context, Ranking | Choice) else context
    stored = getattr(rows, "data", None) if hasattr(rows, "indptr") else getattr(rows, "array", rows)
    return int(getattr(stored, "size", 0))
