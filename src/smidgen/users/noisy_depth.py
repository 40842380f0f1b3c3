"""A user who goes by relevance labels, to a certain depth (Section 6.1.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import checks
from smidgen._kernel import kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.structures.ranking import put_first, ranked
from smidgen.users.labels import Labels
from smidgen.users.person import NOISY, Person


@kernel
def best_seen(shown: IntArray, labels: FloatArray, depth: int, top: int) -> IntArray:
    """The ``top`` documents of highest label among those seen, best first, equals in the order shown."""
    seen = np.empty(min(depth, shown.shape[0]))
    for i in range(seen.shape[0]):
        seen[i] = labels[shown[i]]
    places = ranked(seen)
    front = np.empty(min(top, seen.shape[0]), np.int64)
    for i in range(front.shape[0]):
        front[i] = shown[places[i]]
    return front


class NoisyDepth:
    """Inspects the first ``depth`` documents and puts the ``top`` with the highest labels in front.

    Noisy, because no linear utility fits labels perfectly. Documents with equal labels keep the order shown.

    Parameters
    ----------
    labels
        The relevance labels: one array for every round, a sequence with one array per round (used in the
        order of the calls), or a function of the context.
    depth
        How many documents the user looks at.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Ranking, users
    >>> user = users.NoisyDepth(labels=[0, 2, 1, 3], depth=3)
    >>> user(Ranking(np.eye(4), top=2), [0, 1, 2, 3])
    array([1, 2, 0, 3])
    """

    def __init__(self, *, labels: Any, depth: int) -> None:
        self._labels = Labels(labels)
        self.depth = checks.whole("depth", depth, "give the number of documents that the user looks at, e.g. 10")

    def person(self) -> Person:
        """The user in compiled loops of rankings."""
        return Person(NOISY, depth=self.depth)

    def __call__(self, context: Any, action: Any) -> IntArray:
        """The improved ranking."""
        labels = self._labels(context)
        shown = context.check(action)
        return put_first(best_seen(shown, labels, self.depth, context.top), shown, len(shown))
