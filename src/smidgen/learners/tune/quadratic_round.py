"""The arrays of a `QuadraticTuner` as the compiled core reads them (_core/tune.cpp)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from smidgen._core.tune import begin
from smidgen.decision import FloatArray

#: Candidates of each of the two spreads; the present best point is one more, and fills the blocks up to COUNT.
EACH, COUNT = 100, 208
#: Where the few numbers stand that are read here, and how many there are: losses learned, the loss that counts .4, and
#: the range above it that counts as much again.
LEARNT, LOW, RANGE, NUMBERS = 0, 2, 3, 6
#: Losses that the scale is taken from.
SCALE_ROUNDS = 8


class Surface(NamedTuple):
    """A discounted quadratic surface through the losses; points are z = 2x − 1 in [−1, 1]^d.

    Attributes
    ----------
    best
        x̂ as z.
    A, b
        A = Σφφᵀ and b = Σℓ'φ, discounted.
    L, w
        A = LLᵀ, with 1/L_ii on the diagonal of L; w = A⁻¹b.
    numbers
        Losses learned, discounted squared errors, the scale of the losses.
    first_points, first_losses
        Those that the scale is taken from.
    """

    best: FloatArray
    A: FloatArray
    b: FloatArray
    L: FloatArray
    w: FloatArray
    numbers: FloatArray
    first_points: FloatArray
    first_losses: FloatArray

    @classmethod
    def fresh(cls, dim: int) -> Surface:
        """One that has learned nothing."""
        p, numbers = features_of(dim), np.zeros(NUMBERS)
        numbers[RANGE] = 1.0
        matrices = (np.zeros((p, p)), np.zeros(p), np.zeros((p, p)), np.zeros(p))
        made = cls(np.zeros(dim), *matrices, numbers, np.zeros((SCALE_ROUNDS, dim)), np.zeros(SCALE_ROUNDS))
        begin(made)
        return made

    @property
    def losses_learnt(self) -> int:
        """How many losses were learned."""
        return int(self.numbers[LEARNT])

    def in_own_units(self, value: float) -> float:
        """A value of the surface in the unit of the losses."""
        return float(self.numbers[LOW] + (value - 0.4) / 0.4 * self.numbers[RANGE])


def features_of(dim: int) -> int:
    """The length of φ = [1, z_i, z_i·z_j with i ≤ j]."""
    return 1 + dim + dim * (dim + 1) // 2
