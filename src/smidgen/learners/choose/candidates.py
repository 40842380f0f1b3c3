"""What a context offers to choose from, checked: a `Choice`, or anything like it."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import checks
from smidgen.errors import InvalidArgument, InvalidFeedback
from smidgen.features import Rows, check_dim
from smidgen.features.rows import DenseRows, SparseRows
from smidgen.learners.choose.round import Mask
from smidgen.structures import Choice


def candidates(context: Any, dim: int) -> tuple[Rows, Mask]:
    """The rows of the candidates, and which of them are on offer (an empty mask: all)."""
    if type(context) is Choice:
        rows, mask = context.rows, context.mask
    else:
        rows, mask = _other_candidates(context)
    if rows.shape[1] != dim:
        check_dim(rows, dim, "items")
    return rows, mask


def _other_candidates(context: Any) -> tuple[Rows, Mask]:
    """The same of an object that is like a choice: it has rows, and says which are available."""
    rows, mask = getattr(context, "rows", None), getattr(context, "available", None)
    if not isinstance(rows, (DenseRows, SparseRows)) or not isinstance(mask, np.ndarray):
        raise InvalidArgument(
            f"the context is a {type(context).__name__} without rows of candidates",
            "give a Choice: smidgen.Choice(items), one row of features per candidate",
        )
    return rows, np.ascontiguousarray(mask)


def chosen(action: Any, rows: Rows, mask: Mask) -> int:
    """The action as the index of a candidate that was on offer."""
    if (type(action) is not int and not checks.is_whole(action)) or not 0 <= action < rows.shape[0]:
        raise InvalidFeedback(f"the action is {action!r}", f"give one of 0 … {rows.shape[0] - 1}")
    if len(mask) and not mask[action]:
        raise InvalidFeedback(f"candidate {action} was not on offer", "name one that may be chosen")
    return int(action)
