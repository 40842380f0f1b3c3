"""Users who click: cascade models with click and stop probabilities per grade of relevance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.errors import InvalidArgument
from smidgen.structures import from_clicks
from smidgen.types import FloatArray, IntArray
from smidgen.users.labels import Labels

Table = dict[str, tuple[tuple[float, ...], tuple[float, ...]]]

#: P(click | grade) and P(stop | click, grade), by the number of grades (Hofmann 2013; Schuth et al. 2013).
MODELS: dict[int, Table] = {
    2: {
        "perfect": ((0.0, 1.0), (0.0, 0.0)),
        "navigational": ((0.05, 0.95), (0.2, 0.9)),
        "informational": ((0.4, 0.9), (0.1, 0.5)),
        "almost random": ((0.4, 0.6), (0.5, 0.5)),
    },
    3: {
        "perfect": ((0.0, 0.5, 1.0), (0.0, 0.0, 0.0)),
        "navigational": ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
        "informational": ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
        "almost random": ((0.4, 0.5, 0.6), (0.5, 0.5, 0.5)),
    },
    5: {
        "perfect": ((0.0, 0.2, 0.4, 0.8, 1.0), (0.0, 0.0, 0.0, 0.0, 0.0)),
        "navigational": ((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
        "informational": ((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
        "almost random": ((0.4, 0.45, 0.5, 0.55, 0.6), (0.5, 0.5, 0.5, 0.5, 0.5)),
    },
}


class ClickModel:
    """Goes down the list, clicks with a probability per grade, and after a click stops with another.

    Parameters
    ----------
    labels
        Relevance grades 0, 1, …: one array for every round, a sequence with one array per round (used in the
        order of the calls), or a function of the context.
    model
        ``"perfect"``, ``"navigational"``, ``"informational"`` or ``"almost random"``.
    grades
        The number of grades that the model is laid out for: 2, 3 or 5.
    click, stop
        Instead of a named model: the probability of a click, and of stopping after one, per grade.
    depth
        How many documents the user looks at in the end; all of them if left out.
    seed
        Seeds the user's draws.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Ranking, users
    >>> user = users.ClickModel(labels=[0, 0, 1], model="perfect", grades=2)
    >>> query = Ranking(np.eye(3))
    >>> user.clicks(query, [0, 1, 2])
    [2]
    >>> user(query, [0, 1, 2])
    array([2, 0, 1])

    References
    ----------
    .. [1] K. Hofmann. Fast and reliable online learning to rank for information retrieval. PhD thesis, 2013.
    .. [2] A. Schuth, K. Hofmann, S. Whiteson, M. de Rijke. Lerot: an online learning to rank framework. 2013.
    """

    def __init__(
        self,
        *,
        labels: Any,
        model: str = "navigational",
        grades: int = 5,
        click: Sequence[float] | None = None,
        stop: Sequence[float] | None = None,
        depth: int | None = None,
        seed: int = 0,
    ) -> None:
        self._labels = Labels(labels)
        if (click is None) != (stop is None):
            raise InvalidArgument("click and stop were not both given", "give both, or a named model instead")
        if click is None or stop is None:
            if not checks.is_whole(grades) or grades not in MODELS:
                raise InvalidArgument(f"grades is {grades!r}", "choose 2, 3 or 5, or give click and stop")
            click, stop = MODELS[grades][checks.one_of("model", model, MODELS[grades])]
        self.click, self.stop = _probabilities("click", click), _probabilities("stop", stop)
        if len(self.click) != len(self.stop):
            raise InvalidArgument(f"click has {len(self.click)} grades and stop {len(self.stop)}", "give equally many")
        self.depth = None if depth is None else checks.whole("depth", depth, "leave it out to look at everything")
        self._rng = np.random.default_rng(checks.seed(seed))

    def clicks(self, context: Any, action: Any) -> list[int]:
        """The clicked documents, in the order of the clicks."""
        labels = self._labels(context)
        seen = context.check(action)[: self.depth]
        grades = labels[seen].astype(np.int64)
        if (grades < 0).any() or (grades >= len(self.click)).any() or (grades != labels[seen]).any():
            raise InvalidArgument(
                f"the labels run from {labels.min()} to {labels.max()}",
                f"use whole grades 0 … {len(self.click) - 1}",
            )
        draws = self._rng.random((2, len(seen)))
        clicked = draws[0] < self.click[grades]
        stopped = np.flatnonzero(clicked & (draws[1] < self.stop[grades]))
        end = stopped[0] + 1 if len(stopped) else len(seen)
        return [int(document) for document in seen[:end][clicked[:end]]]

    def __call__(self, context: Any, action: Any) -> IntArray:
        """The improved ranking that the clicks stand for."""
        return from_clicks(action, self.clicks(context, action))


def _probabilities(name: str, values: Sequence[float]) -> FloatArray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"{name} is {values!r}", "give one probability per grade, each from 0 to 1") from error
    if array.ndim != 1 or not len(array) or not ((array >= 0) & (array <= 1)).all():
        raise InvalidArgument(f"{name} is {values!r}", "give one probability per grade, each from 0 to 1")
    return array
