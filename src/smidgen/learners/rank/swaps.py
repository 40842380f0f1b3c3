"""The pairs of neighbours that a decision swapped, or could have swapped."""

from __future__ import annotations

import numpy as np

from smidgen.arrays import writable
from smidgen.decision import Decision, IntArray
from smidgen.errors import DecisionMismatch


def kept_pairs(decision: Decision, n: int) -> IntArray:
    """The pairs that a decision says its places belong to, checked."""
    teams = decision.teams
    if teams is None or teams.shape != (n,) or teams.dtype.kind not in "iu":
        raise DecisionMismatch(f"decision {decision.id} does not say which places are a pair", "give it whole")
    return writable(np.asarray(teams, dtype=np.int64))
