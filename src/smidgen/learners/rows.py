"""Rows as contexts: checked on the way in, and again when a decision brings them back."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.errors import DecisionMismatch, NotFinite
from smidgen.features import Row, as_row
from smidgen.features.rows import LONGEST
from smidgen.state.classes import row_length
from smidgen.types import Decision


def given_row(context: Any, dim: int, dtype: type[np.floating[Any]] = np.float64) -> Row:
    """The context as a row of a length that can be squared and multiplied."""
    row = as_row(context, dim, dtype)
    if not row_length(row.values) < LONGEST:
        raise NotFinite(f"the features are longer than {LONGEST:g}", "scale them down; unit length is a good choice")
    return row


def kept_row(decision: Decision, dim: int, dtype: type[np.floating[Any]] = np.float64) -> Row:
    """The features that a decision was made on, if they are of our kind."""
    if not isinstance(decision.context, Row):
        raise DecisionMismatch(
            f"decision {decision.id} holds a {type(decision.context).__name__}, not a row", "give it whole"
        )
    return as_row(decision.context, dim, dtype)
