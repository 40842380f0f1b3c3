"""Base classes of simulated users: relevance labels, and their settings in compiled loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument
from smidgen.structures import Ranking

STRICT, NOISY, EXPECTED, CLICKING = range(4)  # kinds of users


class CompiledUser(NamedTuple):
    """The settings of a user. A kind reads its own fields."""

    kind: int
    alpha: float = 1.0
    strict: float = 1.0
    depth: int = 1
    randoms: int = 1
    attract: FloatArray = np.zeros((1, 1))  # the tables of a `ClickUser`
    stop: FloatArray = np.zeros((1, 1))
    tells: bool = False  # its clicks, not the better ranking that they stand for


def as_numbers(name: str, value: Any) -> Any:
    """An array of what may be numbers; a ragged list is refused."""
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"{name} is {value!r}", "give a list of numbers") from error


class Labels:
    """Finds the relevance labels that belong to a ranking problem.

    Parameters
    ----------
    labels
        A function of the context; or one array that holds for every round; or a sequence of arrays, one per round,
        which are used up in the order of the calls.
    """

    def __init__(self, labels: Any) -> None:
        self._find: Callable[[Ranking], Any] | None = labels if callable(labels) else None
        self._fixed: FloatArray | None = None
        self._rest: Iterator[Any] = iter(())
        if self._find is None:
            scalar = isinstance(labels, (str, bytes, Mapping)) or (isinstance(labels, np.ndarray) and labels.ndim == 0)
            if scalar or not hasattr(labels, "__len__") or not hasattr(labels, "__getitem__"):
                raise InvalidArgument(
                    f"labels is {labels!r}", "give one label per document, one array per round, or a function"
                )
            if len(labels) and np.ndim(labels[0]) == 0:
                self._fixed = np.asarray(labels)
            else:
                self._rest = iter(labels)

    def as_it_is(self) -> Labels:
        """A copy that uses up what is left from here on."""
        made = copy(self)
        made._rest = copy(self._rest)
        return made

    def __call__(self, context: Any) -> FloatArray:
        """The labels of the documents of ``context``, in their given order."""
        if not isinstance(context, Ranking):
            raise InvalidArgument(f"the context is a {type(context).__name__}", "this user corrects rankings only")
        if self._find is not None:
            found = self._find(context)
        elif self._fixed is not None:
            found = self._fixed
        else:
            found = next(self._rest, None)
            if found is None:
                raise InvalidArgument("there are no labels left for this round", "give one array of labels per round")
        labels = np.asarray(found)
        if labels.shape != (len(context),) or labels.dtype.kind not in "fiub" or not np.isfinite(labels).all():
            raise InvalidArgument(
                f"the labels have shape {labels.shape} and dtype {labels.dtype}",
                f"give one finite number per document, {len(context)} here",
            )
        return np.ascontiguousarray(labels, dtype=np.float64)  # unsigned and bool labels have no negative
