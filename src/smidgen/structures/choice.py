"""One item out of many as a (very simple) structured object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core.ranking import best_available
from smidgen.arrays import read_only
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, InvalidFeedback
from smidgen.features import Rows, all_rows, as_rows, check_dim
from smidgen.features.rows import longest_row
from smidgen.records import same, structure
from smidgen.structures.structure import Structure

Mask = NDArray[np.bool_]
_NO_MASK: Mask = np.empty(0, np.bool_)
_MINUS, _SAME = np.array([1.0, -1.0]), np.zeros(2)  # the weights of φ(better) and φ(shown) in their difference


@structure
class Choice(Structure):
    """Items of which one is to be chosen.

    Parameters
    ----------
    items
        One row of features per item: a 2-D array or a scipy CSR matrix.
    available
        Which items may be chosen: a mask of bools or a list of indices; all of them if left out.

    Notes
    -----
    **Feature map** φ(x, j) = items[j]. **Argmax**: the available item of highest score, the first of equals.
    **Cost**: n·d for the argmax. The items are checked and, if they could still be written to, copied once; use
    `only` or `without` to offer the same items again at no such cost. A large dense matrix that is scored again and
    again is copied once more, into an order that is quicker to read.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Choice
    >>> menu = Choice(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.6]]))
    >>> menu.argmax(np.array([0.0, 1.0]))
    1
    >>> menu.without(1).argmax(np.array([0.0, 1.0]))
    2
    """

    __slots__ = ("mask", "rows")

    def __init__(self, items: Any, available: Any = None) -> None:
        self.rows: Rows = as_rows(items, "items")
        #: Which items may be chosen, empty if all may be: for compiled code, which takes arrays that could be written
        #: to sooner; nobody does.
        self.mask: Mask = _NO_MASK if available is None else _as_mask(available, len(self))

    def __len__(self) -> int:
        return self.rows.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and same(self, other)

    def __repr__(self) -> str:
        return f"Choice({int(self.available.sum())} of {len(self)} items x {self.dim} features)"

    @property
    def dim(self) -> int:
        """The number of features."""
        return self.rows.shape[1]

    @property
    def items(self) -> Any:
        """The features, one row per item (read-only)."""
        return self.rows.public()

    @property
    def available(self) -> Mask:
        """Which items may be chosen, as a mask."""
        return read_only(self.mask) if len(self.mask) else np.ones(len(self), np.bool_)

    def only(self, available: Any) -> Choice:
        """The same items with another availability; the features are shared."""
        return Choice(self.rows, available)

    def without(self, *items: int) -> Choice:
        """The same items, some of them no longer available; the features are shared."""
        mask = self.available.copy()
        mask[[self._index(item) for item in items]] = False
        return Choice(self.rows, mask)

    def check_dim(self, dim: int) -> None:
        """Refuse a learner of another dimension."""
        check_dim(self.rows, dim, "items")

    def scores(self, w: FloatArray) -> FloatArray:
        """The score w·items[j] of each item, available or not."""
        return self.rows.scores(w, often=True)

    def best(self, scores: FloatArray) -> int:
        """The choice that given scores lead to."""
        return best_available(np.ascontiguousarray(scores, dtype=np.float64), self.mask)

    def argmax(self, w: FloatArray) -> int:
        """The available item of highest utility under ``w``."""
        return self.best(self.scores(w))

    def present(self, w: FloatArray, /) -> tuple[int, FloatArray]:
        """The available item of highest utility, and the score of each item."""
        scores = self.scores(w)
        return self.best(scores), scores

    def phi(self, y: int) -> FloatArray:
        """The features of item ``y``."""
        return self.rows.combine(np.array([self._index(y)]), np.ones(1))

    def check(self, y: Any) -> int:
        """Return ``y`` if it is one of the available items, else refuse it."""
        index = self._index(y)
        if len(self.mask) and not self.mask[index]:
            raise InvalidFeedback(f"item {y} is not available in this choice", "name one that was on offer")
        return index

    def difference(self, better: Any, shown: Any) -> FloatArray:
        """φ(better) − φ(shown)."""
        i, j = self.check(better), self.check(shown)
        return self.rows.combine(np.array([i, j]), _SAME if i == j else _MINUS)

    def longest(self) -> float:
        """The length of its longest item."""
        return longest_row(self.rows)

    def scaled(self, factor: float, /) -> Choice:
        """The same items with all features times a factor."""
        with np.errstate(under="ignore"):
            return Choice(self.rows.scaled(factor), self.available)

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild this choice."""
        return {"items": self.rows.to_record(), "available": self.mask if len(self.mask) else None}

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Choice:
        """Rebuild from `to_record`."""
        return cls(**fields)

    @classmethod
    def from_records(cls, many: Sequence[dict[str, Any]]) -> list[Choice]:
        """Rebuild many from `to_record`."""
        rows = all_rows([fields["items"] for fields in many], "items")
        return [cls(**{**fields, "items": each}) for fields, each in zip(many, rows, strict=True)]

    def _index(self, y: Any) -> int:
        if type(y) is not int and not checks.is_whole(y):
            raise InvalidFeedback(f"the item is {y!r}, not an index", f"give one of 0 … {len(self) - 1}")
        if not 0 <= y < len(self):
            raise InvalidFeedback(f"item {y} is not one of the {len(self)} items", f"give one of 0 … {len(self) - 1}")
        return int(y)


def _as_mask(available: Any, n: int) -> Mask:
    hint = f"give {n} bools, or indices from 0 to {n - 1}, at least one of them"
    try:
        given = np.asarray(available)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"available is {available!r}", hint) from error
    if given.dtype.kind == "b" and given.shape == (n,):
        mask = given.astype(np.bool_)
    elif given.dtype.kind in "iu" and given.ndim == 1 and ((given >= 0) & (given < n)).all():
        mask = np.zeros(n, np.bool_)
        mask[given] = True
    else:
        raise InvalidArgument(f"available has shape {given.shape} and dtype {given.dtype}", hint)
    if not mask.any():
        raise InvalidArgument("available leaves no item to choose", hint)
    return mask
