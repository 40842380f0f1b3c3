"""A user who takes what stands high for good: the trust bias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.users.click_user import ClickUser, by_grade, reading


class TrustBias(ClickUser):
    """Looks as in `PositionBased`, and clicks a document that it would not have clicked because it stands high.

    P(click | looked at place k, grade g) = click[g] + trust/k·(1 − click[g]). So a bad document on top is clicked
    often, and no weight by place alone makes up for it.

    Parameters
    ----------
    labels, feedback, seed
        As in `ClickUser`.
    trust
        How much the first place is trusted, from 0 (a `PositionBased` user) to 1.
    read, click, grades, depth
        As in `PositionBased`.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Ranking, users
    >>> user = users.TrustBias(labels=[0, 0], click=[0.0, 1.0], read=[1.0, 1.0], trust=0.6)
    >>> query = Ranking(np.eye(2))
    >>> clicks = [list(user(query, [0, 1])) for _ in range(2000)]
    >>> [round(sum(place in each for each in clicks) / 2000, 1) for place in range(2)]
    [0.6, 0.3]

    References
    ----------
    .. [1] A. Agarwal, X. Wang, C. Li, M. Bendersky, M. Najork. Addressing trust bias for unbiased learning-to-rank.
       WWW 2019.
    """

    def __init__(
        self,
        *,
        labels: Any,
        trust: float = 0.5,
        read: Sequence[float] | None = None,
        click: Sequence[float] | None = None,
        grades: int = 5,
        depth: int | None = None,
        feedback: str = "clicks",
        seed: int = 0,
    ) -> None:
        self.trust = checks.number("trust", trust, "give a share from 0 to 1", at_least=0.0, at_most=1.0)
        self.read, self.click = reading(read, depth), by_grade(click, grades)
        trusted = self.trust / np.arange(1.0, len(self.read) + 1.0)
        attract = self.read[:, None] * (self.click + np.outer(trusted, 1.0 - self.click))
        super().__init__(
            labels=labels,
            attract=np.minimum(attract, 1.0),
            stop=np.zeros(attract.shape),
            depth=len(self.read),
            feedback=feedback,
            seed=seed,
        )
