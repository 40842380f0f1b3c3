"""A user who looks at each place with a chance of its own: the position-based model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smidgen.users.click_user import ClickUser, by_grade, reading


class PositionBased(ClickUser):
    """Looks at place k with probability read[k], and clicks what was looked at by its grade.

    Parameters
    ----------
    labels, feedback, seed
        As in `ClickUser`.
    read
        The chance that each place is looked at, from the first; nobody looks further. By default 1, 1/2, 1/3, …
    click
        P(click | looked at, grade); by default 0.1 for grade 0, rising to 1, twice as fast with every grade.
    grades
        The number of grades that the default of ``click`` is laid out for.
    depth
        How many places ``read`` has by default (10).

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Ranking, users
    >>> user = users.PositionBased(labels=[1, 1, 1], click=[0.0, 1.0], read=[1.0, 0.5, 0.0])
    >>> query = Ranking(np.eye(3))
    >>> clicks = [list(user(query, [0, 1, 2])) for _ in range(1000)]
    >>> [round(sum(place in each for each in clicks) / 1000, 1) for place in range(3)]
    [1.0, 0.5, 0.0]

    References
    ----------
    .. [1] M. Richardson, E. Dominowska, R. Ragno. Predicting clicks: estimating the click-through rate for new ads.
       WWW 2007.
    .. [2] T. Joachims, A. Swaminathan, T. Schnabel. Unbiased learning-to-rank with biased feedback. WSDM 2017.
    """

    def __init__(
        self,
        *,
        labels: Any,
        read: Sequence[float] | None = None,
        click: Sequence[float] | None = None,
        grades: int = 5,
        depth: int | None = None,
        feedback: str = "clicks",
        seed: int = 0,
    ) -> None:
        self.read, self.click = reading(read, depth), by_grade(click, grades)
        attract = np.outer(self.read, self.click)
        super().__init__(
            labels=labels,
            attract=attract,
            stop=np.zeros(attract.shape),
            depth=len(self.read),
            feedback=feedback,
            seed=seed,
        )
