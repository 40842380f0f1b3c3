"""The rules in compiled loops: one step of any of them, by the kernels that the rules themselves step by.

A rule's `program` says what it is set to; a `RuleMemory` holds what it remembers, in place. `step` is the whole update:
the move of the rule, and the way back to its space.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._core import geometry as core
from smidgen._core import written_for
from smidgen.arrays import zeros
from smidgen.decision import FloatArray, IntArray
from smidgen.optim.rule import (
    Program,
    Rule,
    State,
)

STEPS, WAITING, SILENT, DECIDED, FILLED, PROJECTED = range(6)  # what `RuleMemory.counts` counts
COUNTS = 6


class RuleMemory(NamedTuple):
    """What a rule remembers. The kernels write to it; arrays that it does not need are empty."""

    dim: int  # of the weights; arrays may hold more, which stays 0
    w: FloatArray
    end: FloatArray  # space for the next weights
    theta: FloatArray  # exponentiated: the log-weights
    inverse: FloatArray  # Newton: A⁻¹ is inverse − v·vᵀ, by its lower triangle
    waiting: FloatArray  # v, and space for the diagonal
    total: FloatArray  # batch: the sum of its Δ so far
    pairs: FloatArray  # retrained: space for the Δ until the next training
    scratch: FloatArray  # space for a point of the space
    counts: IntArray


def program_of(rule: Rule) -> Program | None:
    """The program of a rule, if it has one that was written for its `step`."""
    return rule.program() if written_for(rule, "program", "step") else None


def memory_of(state: Mapping[str, NDArray[Any]], w: FloatArray, decided: int, multiple: int = 1) -> RuleMemory:
    """A copy of what a rule at w remembers; vectors are as long as a multiple of so many numbers."""
    n, inverse = len(w), state.get("inverse", np.empty((0, 0)))
    width, kept = n + -n % multiple, len(inverse)
    base, end = zeros((2, width), np.float64)
    waiting = zeros((2, kept and width), np.float64)
    B = zeros((kept + -kept % min(multiple, 4), kept and width), np.float64)
    base[:n], B[:kept, :kept] = w, inverse
    counts = np.zeros(COUNTS, np.int64)
    counts[DECIDED] = decided
    for place, name in ((STEPS, "t"), (WAITING, "batch_waiting"), (SILENT, "uninformative")):
        counts[place] = int(state.get(name, 0))
    theta, total = (np.array(state.get(name, np.empty(0)), order="C") for name in ("theta", "batch_sum"))
    return RuleMemory(n, base, end, theta, B, waiting, total, np.empty((0, n)), np.empty(n + 1), counts)


def state_of(m: RuleMemory, before: Mapping[str, NDArray[Any]]) -> State:
    """What a rule should take over after a loop: ``before`` says what it remembers, and what the loop does not know."""
    core.settle(m.inverse, m.waiting)
    core.mirror(m.inverse)
    now = {
        "w": m.w[: m.dim].copy(),
        "theta": m.theta,
        "inverse": m.inverse[: m.dim, : m.dim].copy(),
        "batch_sum": m.total,
        "t": np.array(m.counts[STEPS]),
        "batch_waiting": np.array(m.counts[WAITING]),
        "uninformative": np.array(m.counts[SILENT]),
    }
    return {name: now.get(name, old) for name, old in before.items()}


def is_finite(m: RuleMemory) -> bool:
    """Whether sums have stayed finite: those that overflow once never come back."""
    return all(bool(np.isfinite(array).all()) for array in (m.w, m.theta, m.total))
