"""What comes back to a learner, checked: the row of a decision, and a reward for what was shown."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from smidgen.decision import Decision
from smidgen.errors import DecisionMismatch, InvalidFeedback
from smidgen.features import Row, as_row
from smidgen.features.row import DOUBLE


def kept_row(decision: Decision, dim: int, dtype: DTypeLike = DOUBLE) -> Row:
    """The features that a decision was made on, if they are of our kind."""
    row = decision.context
    if not isinstance(row, Row):
        raise DecisionMismatch(f"decision {decision.id} holds a {type(row).__name__}, not a row", "give it whole")
    return row if row.dim == dim and row.values.dtype == dtype else as_row(row, dim, dtype)


def as_reward(feedback: Any) -> float:
    """Check a reward."""
    if type(feedback) is float and 0.0 <= feedback <= 1.0:
        return feedback
    hint = "give a number from 0 (worst) to 1 (best); map other ranges linearly"
    if isinstance(feedback, (bool, np.bool_)) or not isinstance(feedback, (int, float, np.integer, np.floating)):
        raise InvalidFeedback(f"the reward is {feedback!r} and must be a number in [0, 1]", hint)
    if not 0.0 <= feedback <= 1.0:  # NaN too
        raise InvalidFeedback(f"the reward is {feedback!r} and must be in [0, 1]", hint)
    return float(feedback)


def as_bit_or_reward(feedback: Any) -> float:
    """Check what says how right a label was: True, False, or a reward."""
    if feedback is True or feedback is False or isinstance(feedback, np.bool_):
        return 1.0 if feedback else 0.0
    try:
        return as_reward(feedback)
    except InvalidFeedback as error:
        raise InvalidFeedback(
            f"the feedback is {feedback!r} and must be True (the label was right), False, or a reward in [0, 1]",
            "compare the label with the truth, or use a full-information learner to give the label itself",
        ) from error
