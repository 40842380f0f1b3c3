"""A user who goes by relevance labels, to a certain depth (Section 6.1.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core import users
from smidgen.decision import IntArray
from smidgen.users.base import NOISY, CompiledUser, Labels


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

    def compiled_user(self) -> CompiledUser:
        """The user in compiled loops of rankings."""
        return CompiledUser(NOISY, depth=self.depth)

    def __call__(self, context: Any, action: Any) -> IntArray:
        """The improved ranking."""
        labels = self._labels(context)
        shown = context.check(action)
        better: IntArray = np.empty(len(shown), np.int64)
        users.write_noisy(labels, shown, self.depth, context.top, better)
        return better
