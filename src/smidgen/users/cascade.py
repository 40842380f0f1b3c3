"""Users who read from the top and stop at a click, always or by place: the cascade, and the dependent click model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smidgen.users.click_user import ClickUser, by_grade, probabilities


class Cascade(ClickUser):
    """Reads from the top, clicks the first document that it likes, and is gone.

    Parameters
    ----------
    labels, depth, feedback, seed
        As in `ClickUser`.
    click
        P(click | grade); by default 0.1 for grade 0, rising to 1, twice as fast with every grade.
    grades
        The number of grades that the default of ``click`` is laid out for.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Ranking, users
    >>> user = users.Cascade(labels=[0, 1, 1], click=[0.0, 1.0])
    >>> user(Ranking(np.eye(3)), [0, 2, 1])
    Clicks([2])

    References
    ----------
    .. [1] N. Craswell, O. Zoeter, M. Taylor, B. Ramsey. An experimental comparison of click position-bias models.
       WSDM 2008.
    """

    def __init__(
        self,
        *,
        labels: Any,
        click: Sequence[float] | None = None,
        grades: int = 5,
        depth: int | None = None,
        feedback: str = "clicks",
        seed: int = 0,
    ) -> None:
        self.click = by_grade(click, grades)
        attract = self.click[None, :]
        super().__init__(
            labels=labels, attract=attract, stop=np.ones(attract.shape), depth=depth, feedback=feedback, seed=seed
        )


class DependentClick(ClickUser):
    """Reads from the top, and after a click at place k goes on with probability go_on[k].

    Parameters
    ----------
    labels, depth, feedback, seed
        As in `ClickUser`.
    go_on
        λ of the model, one per place from the first; below its last place that one holds. By default 0.6 everywhere.
    click, grades
        As in `Cascade`.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Ranking, users
    >>> user = users.DependentClick(labels=[1, 1, 1], click=[0.0, 1.0], go_on=[1.0, 0.0])
    >>> user(Ranking(np.eye(3)), [0, 1, 2])
    Clicks([0, 1])

    References
    ----------
    .. [1] F. Guo, C. Liu, Y. M. Wang. Efficient multiple-click models in web search. WSDM 2009.
    """

    def __init__(
        self,
        *,
        labels: Any,
        go_on: Sequence[float] = (0.6,),
        click: Sequence[float] | None = None,
        grades: int = 5,
        depth: int | None = None,
        feedback: str = "clicks",
        seed: int = 0,
    ) -> None:
        self.go_on, self.click = probabilities("go_on", go_on, "place"), by_grade(click, grades)
        stop = np.repeat(1.0 - self.go_on[:, None], len(self.click), axis=1)
        attract = np.repeat(self.click[None, :], len(stop), axis=0)
        super().__init__(labels=labels, attract=attract, stop=stop, depth=depth, feedback=feedback, seed=seed)
