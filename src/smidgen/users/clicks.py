"""Users who click: one family, distinguished by two tables of probabilities.

The cascade and the dependent click model read from the top and stop at a click, always or by place. The position-based
model looks at each place with a chance of its own. With trust bias, what stands high is taken for good. `ClickModel`
has the usual users of online learning to rank: perfect, navigational, informational, almost random.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core import users
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.structures import Clicks, from_clicks
from smidgen.users.base import CLICKING, CompiledUser, Labels

#: What a click user gives when called.
TELLS = {"clicks": "the clicks", "better": "the better ranking that they stand for"}
#: The chance of a click on a document of grade 0 that was looked at, where nothing else is said.
ERROR = 0.1


class ClickUser:
    """Goes down the list, clicks, and stops after some clicks: the family of all click users here.

    A member is two tables, of a row per place and a column per grade: the chance of a click there, and the chance of
    stopping after one. The named members fill them in; give your own for others.

    Parameters
    ----------
    labels
        Relevance grades 0, 1, …: one array for every round, a sequence with one array per round (used in the
        order of the calls), or a function of the context.
    attract, stop
        The tables. Places below the last row have that row; a single row holds for all places.
    depth
        How many documents the user looks at in the end; all of them if left out.
    feedback
        What the user gives when called: ``"clicks"``, or ``"better"``, the better ranking that they stand for.
    seed
        Seeds the user's draws.

    Examples
    --------
    Someone who clicks on everything good among the first two, and on nothing else:

    >>> import numpy as np
    >>> from smidgen import Ranking, users
    >>> user = users.ClickUser(labels=[0, 1, 1], attract=[[0.0, 1.0]], stop=[[0.0, 0.0]], depth=2)
    >>> user(Ranking(np.eye(3)), [2, 0, 1])
    Clicks([2])
    """

    def __init__(
        self,
        *,
        labels: Any,
        attract: Any,
        stop: Any,
        depth: int | None = None,
        feedback: str = "clicks",
        seed: int = 0,
    ) -> None:
        self._labels = Labels(labels)
        self.attract, self.stopping = _table("attract", attract), _table("stop", stop)
        if self.attract.shape != self.stopping.shape:
            raise InvalidArgument(
                f"attract has shape {self.attract.shape} and stop {self.stopping.shape}",
                "give the same number of positions and grades",
            )
        self.depth = None if depth is None else checks.whole("depth", depth, "omit it to examine all positions")
        self.feedback = checks.one_of("feedback", feedback, TELLS)
        self._rng = np.random.default_rng(checks.seed(seed))

    def compiled_user(self) -> CompiledUser:
        """The user in compiled loops of rankings."""
        depth, tells = self.depth or np.iinfo(np.int64).max, self.feedback == "clicks"
        return CompiledUser(CLICKING, depth=depth, attract=self.attract, stop=self.stopping, tells=tells)

    def clicks(self, context: Any, action: Any) -> list[int]:
        """The clicked documents, in the order of the clicks."""
        shown, labels = context.check(action), self._labels(context)
        self.grades(labels, shown[: self.depth])
        clicked = np.empty(len(shown), np.int64)
        count = users.write_clicks(self.compiled_user(), shown, labels, self._rng, clicked)
        return [int(document) for document in clicked[:count]]

    def grades(self, labels: Any, seen: Any) -> IntArray:
        """The labels of some documents as whole numbers that the tables know, or a refusal."""
        known, found = self.attract.shape[1], labels[seen].astype(np.int64)
        if (found < 0).any() or (found >= known).any() or (found != labels[seen]).any():
            raise InvalidArgument(
                f"the labels run from {labels.min()} to {labels.max()}", f"use whole grades 0 … {known - 1}"
            )
        return np.asarray(found)

    def __call__(self, context: Any, action: Any) -> Any:
        """The clicks, or the improved ranking that they stand for."""
        clicked = self.clicks(context, action)
        return Clicks(clicked) if self.feedback == "clicks" else from_clicks(action, clicked)


def probabilities(name: str, values: Any, of: str = "grade") -> FloatArray:
    """Check a row of probabilities."""
    hint = f"give one probability per {of}, each from 0 to 1"
    try:
        array = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"{name} is {values!r}", hint) from error
    if array.ndim != 1 or not len(array) or not ((array >= 0) & (array <= 1)).all():
        raise InvalidArgument(f"{name} is {values!r}", hint)
    return array


def by_grade(click: Sequence[float] | None, grades: int) -> FloatArray:
    """The chance of a click on a document that was looked at: as given, or from `ERROR` up to 1, doubling by grade."""
    if click is not None:
        return probabilities("click", click)
    known = checks.whole("grades", grades, "give the number of grades, e.g. 5, or click", at_least=2, below=65)
    return np.asarray(ERROR + (1.0 - ERROR) * (np.exp2(np.arange(known)) - 1.0) / (2.0 ** (known - 1) - 1.0))


def reading(read: Sequence[float] | None, depth: int | None) -> FloatArray:
    """The chance that a place is looked at: as given, or 1/k for place k down to the depth."""
    if read is not None:
        return probabilities("read", read, "place")
    places = 10 if depth is None else checks.whole("depth", depth, "omit it to examine ten positions", below=10_001)
    return 1.0 / np.arange(1.0, places + 1.0)


def _table(name: str, values: Any) -> FloatArray:
    hint = "give a row of probabilities per place, one column per grade"
    try:
        array = np.ascontiguousarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"{name} is {values!r}", hint) from error
    if array.ndim != 2 or 0 in array.shape or not ((array >= 0) & (array <= 1)).all():
        raise InvalidArgument(f"{name} is {values!r}", hint)
    return array


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
            raise InvalidArgument(
                f"click has {len(self.click)} grades and stop has {len(self.stop)}", "give the same number of both"
            )
        attract, after = self.click[None, :], self.stop[None, :]
        super().__init__(labels=labels, attract=attract, stop=after, depth=depth, feedback=feedback, seed=seed)


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


class PositionBased(ClickUser):
    """Looks at place k with probability read[k], and clicks what was looked at by its grade.

    Parameters
    ----------
    labels, feedback, seed
        As in `ClickUser`.
    read
        The probability that each position is examined, from the first; zero beyond the end. By default 1, 1/2, 1/3, …
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
