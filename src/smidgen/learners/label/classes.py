"""The labels of a label learner: any hashable values outside, 0 … K−1 inside."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.decision import IntArray
from smidgen.errors import InvalidArgument, InvalidFeedback

SMALL = 2**16
MOST = 2**24  # classes


def _listed(labels: Any) -> bool:
    """Whether these are several: text is one, and so is an array without extent."""
    one = isinstance(labels, (str, bytes)) or (isinstance(labels, np.ndarray) and labels.ndim == 0)
    return isinstance(labels, Iterable) and not one


class Classes:
    """A growing list of distinct labels.

    Parameters
    ----------
    n_classes
        How many there are; without ``labels`` they are the ints 0 … n_classes−1.
    labels
        Their names: strings, ints, tuples, anything hashable.
    """

    __slots__ = ("_bools", "_index", "_type", "labels", "named")

    def __init__(self, n_classes: int | None, labels: Sequence[Hashable] | None) -> None:
        hint = "give n_classes=3, or labels=['bug', 'question', 'praise']"
        if labels is None:
            if n_classes is None:
                raise InvalidArgument("neither n_classes nor labels was given", hint)
            labels = range(checks.whole("n_classes", n_classes, hint, at_least=2, below=MOST))
            self.named = False
        else:
            self.named = True
            if not _listed(labels):
                raise InvalidArgument(f"labels is {labels!r} and must be a list", hint)
        self.labels: list[Any] = []
        self._index: dict[Any, int] = {}
        self.grow(labels)
        if len(self.labels) < 2:
            raise InvalidArgument(f"there is {len(self.labels)} class and there must be at least 2", hint)
        if n_classes is not None and n_classes != len(self.labels):
            raise InvalidArgument(f"n_classes is {n_classes} and there are {len(self.labels)} labels", hint)

    def __len__(self) -> int:
        return len(self.labels)

    def grow(self, labels: Iterable[Hashable]) -> None:
        """Announce more labels; all of them, or none if one is known already."""
        plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
        known = set(self._index)
        for label in plain:
            try:
                taken = label in known
            except TypeError as error:
                raise InvalidArgument(f"the label {label!r} is not hashable", "use strings, ints or tuples") from error
            if label != label:
                raise InvalidArgument(f"the label {label!r} is not equal to itself", "use strings, ints or tuples")
            if taken:
                raise InvalidArgument(f"the label {label!r} is there already", "announce each label once")
            known.add(label)
        for label in plain:
            self._index[label] = len(self.labels)
            self.labels.append(label)
        self._bools = any(isinstance(label, bool) for label in self.labels[:2])
        types = {type(label) for label in self.labels}
        self._type = types.pop() if len(types) == 1 else None  # of all labels, if they have one

    def index(self, label: Any) -> int:
        """The number of an announced label."""
        if type(label) is self._type and (found := self._index.get(label)) is not None:
            return found
        plain = label.item() if isinstance(label, np.generic) else label
        try:
            found = self._index.get(plain) if isinstance(plain, bool) is self._bools else None
        except TypeError:
            found = None
        if found is None:
            shown = ", ".join(map(repr, self.labels[:8])) + (", …" if len(self) > 8 else "")
            raise InvalidFeedback(
                f"the label is {label!r} and is not one of {shown}",
                "announce a new class with learner.add_classes first",
            )
        return found

    def indices(self, labels: Any) -> IntArray:
        """The numbers of a whole array of labels."""
        if not isinstance(labels, np.ndarray) and len({type(label) for label in labels} - {str, int, float, bool}) == 0:
            labels = np.asarray(labels) if len({type(label) for label in labels}) == 1 else list(labels)
        if isinstance(labels, np.ndarray) and labels.dtype != object:
            if labels.ndim != 1:
                raise InvalidArgument(f"y has shape {labels.shape} and must be 1-D", "give one label per row of X")
            if labels.dtype.kind in "iu" and labels.size and labels.min() >= 0 and labels.max() < SMALL:
                return self._small_indices(labels.astype(np.int64))
            values, inverse = np.unique(labels, return_inverse=True)
            return np.array([self.index(value) for value in values], dtype=np.int64)[inverse]
        return np.array([self.index(label) for label in labels], dtype=np.int64)  # tuples, mixtures: one by one

    def _small_indices(self, labels: IntArray) -> IntArray:
        """The same for ints from 0 to SMALL, by a table: sorting them would take longer."""
        counts = np.bincount(labels)
        table = np.zeros(len(counts), np.int64)
        for label in np.flatnonzero(counts):
            table[label] = self.index(label)
        return table[labels]
