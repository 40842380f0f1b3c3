"""A choice of one item, as a (very simple) structured object, and what items cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import ranking
from smidgen.arrays import read_only
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, InvalidFeedback
from smidgen.features import Rows, all_rows, as_rows, check_dim
from smidgen.features.parse import shown
from smidgen.features.rows import longest_row
from smidgen.serialization import same, structure
from smidgen.structures.base import Structure

Mask = NDArray[np.bool_]
#: A cost may be as large as this.
LARGEST_COST = 1e15
_NO_MASK: Mask = np.empty(0, np.bool_)
_MINUS, _SAME = np.array([1.0, -1.0]), np.zeros(2)  # the weights of φ(better) and φ(shown) in their difference


@structure
class Choice(Structure):
    """Items from which one is chosen.

    Parameters
    ----------
    items
        One row of features per item: a 2-D array or a scipy CSR matrix.
    available
        Which items may be chosen: a mask of bools or a list of indices; all of them if left out.
    costs
        What each item costs, where that is known before the choice: a list of amounts by currency, e.g.
        ``{"usd": [0.001, 0.02]}``, or for each item a mapping of currencies to amounts. They count for learners with a
        `Budget`. An amount of None is not known.

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

    __slots__ = ("costs", "mask", "rows")

    def __init__(self, items: Any, available: Any = None, costs: Any = None) -> None:
        self.rows: Rows = as_rows(items, "items")
        #: Available items, empty if all are: compiled code takes read-only arrays more slowly, so this one stays
        #: writable.
        self.mask: Mask = _NO_MASK if available is None else _as_mask(available, len(self))
        #: By currency, what each item costs; NaN where it is not known.
        self.costs: dict[str, FloatArray] | None = None if costs is None else known_costs(costs, len(self))

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
        """Mask of the items that may be chosen."""
        return read_only(self.mask) if len(self.mask) else np.ones(len(self), np.bool_)

    def only(self, available: Any) -> Choice:
        """Copy with another availability; the features are shared."""
        return self._with_mask(Choice(self.rows, available).mask)

    def without(self, *items: int) -> Choice:
        """Copy with some items no longer available; the features are shared."""
        mask = self.available.copy()
        mask[[self._index(item) for item in items]] = False
        return self._with_mask(Choice(self.rows, mask).mask)

    def with_costs(self, costs: Any) -> Choice:
        """Copy with other costs; the features are shared."""
        made = self._with_mask(self.mask)
        made.costs = known_costs(costs, len(self))
        return made

    def _with_mask(self, mask: Mask) -> Choice:
        made = Choice(self.rows)
        made.mask, made.costs = mask, self.costs
        return made

    def check_dim(self, dim: int) -> None:
        """Refuse a learner of another dimension."""
        check_dim(self.rows, dim, "items")

    def scores(self, w: FloatArray) -> FloatArray:
        """The score w·items[j] of each item, available or not."""
        return self.rows.scores(w, often=True)

    def best(self, scores: FloatArray) -> int:
        """The choice that given scores lead to."""
        return ranking.best_available(np.ascontiguousarray(scores, dtype=np.float64), self.mask)

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
            raise InvalidFeedback(f"item {y} is not available in this choice", "name an item that was offered")
        return index

    def difference(self, better: Any, shown: Any) -> FloatArray:
        """φ(better) − φ(shown)."""
        i, j = self.check(better), self.check(shown)
        return self.rows.combine(np.array([i, j]), _SAME if i == j else _MINUS)

    def longest(self) -> float:
        """The length of its longest item."""
        return longest_row(self.rows)

    def scaled(self, factor: float, /) -> Choice:
        """Copy with all features multiplied by a factor."""
        with np.errstate(under="ignore"):
            rows = self.rows.scaled(factor)
        rows.arms, rows.direction = self.rows.arms, self.rows.direction
        made = Choice(rows, self.available)
        made.costs = self.costs
        return made

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild this choice."""
        fields = {"items": self.rows.to_record(), "available": self.mask if len(self.mask) else None}
        if self.costs is None:
            return fields
        return {**fields, "costs": written_costs(self.costs)}

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


def check_cost(place: str, cost: Any) -> float:
    """Check one cost."""
    right = isinstance(cost, (int, float, np.integer, np.floating)) and not isinstance(cost, bool)
    if not right or not math.isfinite(cost) or not 0.0 <= cost <= LARGEST_COST:
        raise InvalidFeedback(f"{place} is {checks.shown(cost)}", f"give a number from 0 to {LARGEST_COST:g}")
    return float(cost)


def written_costs(costs: Mapping[str, FloatArray]) -> dict[str, list[float | None]]:
    """Costs by currency as a record has them: None where a cost is not known."""
    return {name: [None if math.isnan(x) else x for x in each.tolist()] for name, each in costs.items()}


def known_costs(given: Mapping[str, Any] | Sequence[Any], n: int) -> dict[str, FloatArray]:
    """Costs of candidates by currency, NaN where none is given.

    Parameters
    ----------
    given
        A list of amounts by currency, or for each candidate a mapping of currencies to amounts (or None).
    n
        Number of candidates.
    """
    found: dict[str, FloatArray] = {}
    if isinstance(given, Mapping):
        for name, amounts in given.items():
            values = list(amounts) if isinstance(amounts, Sequence | np.ndarray) else [amounts]
            if not isinstance(name, str) or len(values) != n:
                raise InvalidArgument(f"costs.{name} has {len(values)} amounts", f"give {n}, one for each candidate")
            found[name] = np.array([_amount(f"costs.{name}[{i}]", value) for i, value in enumerate(values)])
        return found
    if not isinstance(given, Sequence):
        raise InvalidArgument(f"costs is {shown(given)}", 'give amounts by currency, e.g. {"usd": [0.001, 0.02]}')
    each = list(given)
    if len(each) != n:
        raise InvalidArgument(f"costs has {len(each)} entries", f"give {n}, one for each candidate")
    for i, amounts in enumerate(each):
        if amounts is not None and not isinstance(amounts, Mapping):
            raise InvalidArgument(f"costs[{i}] is {checks.shown(amounts)}", 'give amounts by currency, e.g. {"usd": 1}')
        for name, value in (amounts or {}).items():
            column = found.setdefault(name, np.full(n, np.nan))
            column[i] = _amount(f"costs[{i}].{name}", value)
    return found


def _amount(place: str, value: Any) -> float:
    if value is None:
        return math.nan
    try:
        return check_cost(place, value)
    except InvalidFeedback as error:
        raise InvalidArgument(error.problem, error.hint) from error
