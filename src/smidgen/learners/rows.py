"""Rows as contexts: checked again when a decision brings them back."""

from __future__ import annotations

from numpy.typing import DTypeLike

from smidgen.decision import Decision
from smidgen.errors import DecisionMismatch
from smidgen.features import Row, as_row
from smidgen.features.row import DOUBLE


def kept_row(decision: Decision, dim: int, dtype: DTypeLike = DOUBLE) -> Row:
    """The features that a decision was made on, if they are of our kind."""
    row = decision.context
    if not isinstance(row, Row):
        raise DecisionMismatch(f"decision {decision.id} holds a {type(row).__name__}, not a row", "give it whole")
    return row if row.dim == dim and row.values.dtype == dtype else as_row(row, dim, dtype)
