"""Users who click: one family, told apart by two tables of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core.users import write_clicks
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.structures import Clicks, from_clicks
from smidgen.users.labels import Labels
from smidgen.users.person import CLICKING, Person

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
                "give equally many places, grades",
            )
        self.depth = None if depth is None else checks.whole("depth", depth, "leave it out to look at everything")
        self.feedback = checks.one_of("feedback", feedback, TELLS)
        self._rng = np.random.default_rng(checks.seed(seed))

    def person(self) -> Person:
        """The user in compiled loops of rankings."""
        depth, tells = self.depth or np.iinfo(np.int64).max, self.feedback == "clicks"
        return Person(CLICKING, depth=depth, attract=self.attract, stop=self.stopping, tells=tells)

    def clicks(self, context: Any, action: Any) -> list[int]:
        """The clicked documents, in the order of the clicks."""
        shown, labels = context.check(action), self._labels(context)
        self.grades(labels, shown[: self.depth])
        clicked = np.empty(len(shown), np.int64)
        count = write_clicks(self.person(), shown, labels, self._rng, clicked)
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
    places = 10 if depth is None else checks.whole("depth", depth, "leave it out to look at ten places", below=10_001)
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
