"""The usual click users of online learning to rank: perfect, navigational, informational, almost random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smidgen import checks
from smidgen.errors import InvalidArgument
from smidgen.users.click_user import ClickUser, probabilities

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


class ClickModel(ClickUser):
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
    feedback
        What the user gives when called: ``"better"``, the better ranking that the clicks stand for, or ``"clicks"``.
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
        feedback: str = "better",
        seed: int = 0,
    ) -> None:
        if (click is None) != (stop is None):
            raise InvalidArgument("click and stop were not both given", "give both, or a named model instead")
        if click is None or stop is None:
            if not checks.is_whole(grades) or grades not in MODELS:
                raise InvalidArgument(f"grades is {grades!r}", "choose 2, 3 or 5, or give click and stop")
            click, stop = MODELS[grades][checks.one_of("model", model, MODELS[grades])]
        self.click, self.stop = probabilities("click", click), probabilities("stop", stop)
        if len(self.click) != len(self.stop):
            raise InvalidArgument(f"click has {len(self.click)} grades and stop {len(self.stop)}", "give equally many")
        attract, after = self.click[None, :], self.stop[None, :]
        super().__init__(labels=labels, attract=attract, stop=after, depth=depth, feedback=feedback, seed=seed)
