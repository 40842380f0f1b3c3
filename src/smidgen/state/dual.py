"""Second order by class in a kernel's feature space: everything as combinations of the examples learnt from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import kernel
from smidgen.decision import FloatArray
from smidgen.errors import InvalidRecord
from smidgen.state.kernel_functions import KernelFunction

#: A squared length beyond this many times A's start is shortened to it: what comes of the inverse of a Gram matrix has
#: an error that grows with the square of this, times a rounding.
LONGEST = 1e6


def shortening(own: float, start: float) -> float:
    """By what a row of the squared length ``own`` is multiplied, so that a Gram matrix can hold it."""
    return math.sqrt(LONGEST * start / own) if own > LONGEST * start else 1.0


@kernel
def least_width(own: float, start: float, lengths: float) -> float:
    """What xᵀA⁻¹x cannot be below, with the sum of the squared lengths of the examples: A ≤ (start + that sum)·I.

    A difference of two nearly equal numbers gave the width; below this it is rounding.
    """
    return (1.0 - 1e-9) * own / (start + lengths)


class DualClasses:
    """w_i = Σ_p coefficients[i, p]·φ(x_p), and A_i = start·I + Σ φ(x_p)φ(x_p)ᵀ over the examples of class i.

    With k_i(x) the kernel values between x and the examples of class i and G_i = (Gram_i + start·I)⁻¹,
    A_i⁻¹φ(x) = (φ(x) − Σ_m [G_i k_i(x)]_m φ(x_m)) / start, so that every primal update has its dual. G_i grows by
    one row and column per example (a Schur complement), O(n_i²). A φ(x) longer than √(`LONGEST`·start) counts as one of
    that length, in questions and in examples.

    Parameters
    ----------
    dim, columns
        Features, and places for classes.
    start
        A starts as start·I.
    kernel
        k(X, Z) → Gram matrix.
    """

    covariance = "kernel"

    def __init__(self, dim: int, columns: int, start: float, kernel: KernelFunction) -> None:
        self._start, self._kernel = start, kernel
        self.points: FloatArray = np.empty((0, dim))
        self.coefficients: FloatArray = np.empty((columns, 0))
        self.members: list[list[int]] = [[] for _ in range(columns)]
        self.inverse: list[FloatArray] = [np.empty((0, 0)) for _ in range(columns)]
        self._sizes: FloatArray = np.empty(0)  #: by what each φ(x_p) is shortened
        self._lengths: FloatArray = np.empty(0)  #: their squared lengths then

    def _own(self, x: FloatArray) -> float:
        """k(x, x)."""
        row = x[None, :]
        return float(self._kernel(row, row)[0, 0])

    @property
    def columns(self) -> int:
        """Places for classes."""
        return len(self.members)

    def widen(self, columns: int) -> None:
        """Make places for more classes, which start as all started."""
        more = columns - self.columns
        self.coefficients = np.vstack([self.coefficients, np.zeros((more, len(self.points)))])
        self.members += [[] for _ in range(more)]
        self.inverse += [np.empty((0, 0)) for _ in range(more)]

    def moments(self, x: FloatArray, means: FloatArray, widths: FloatArray) -> list[FloatArray]:
        """Write w_i·φ(x) and φ(x)ᵀA_i⁻¹φ(x) of every class; return the G_i k_i(x)."""
        own = self._own(x)
        size = shortening(own, self._start)
        own *= size * size
        k = self._kernel(self.points, x[None, :])[:, 0] * self._sizes * size if len(self.points) else np.empty(0)
        means[:] = self.coefficients @ k
        solved = []
        for i, members in enumerate(self.members):
            near = k[members]
            solved.append(self.inverse[i] @ near)
            width = (own - float(near @ solved[i])) / self._start
            least = least_width(own, self._start, float(self._lengths[members].sum()))
            widths[i] = least if width < least else width  # rounding away, but not NaN, which must be seen
        return solved

    def remember(self, x: FloatArray) -> int:
        """Add a point to the expansions, with no effect yet; return its position."""
        self.points = np.vstack([self.points, x[None, :]])
        own = self._own(x)
        size = shortening(own, self._start)
        self._sizes, self._lengths = np.append(self._sizes, size), np.append(self._lengths, own * size * size)
        self.coefficients = np.hstack([self.coefficients, np.zeros((self.columns, 1))])
        return len(self.points) - 1

    def shift(self, c: int, point: int, solved: FloatArray, rate: float) -> None:
        """w_c ← w_c + rate · A_c⁻¹φ(x), x the remembered point."""
        self.coefficients[c, point] += rate / self._start
        self.coefficients[c, self.members[c]] -= rate / self._start * solved

    def absorb(self, c: int, point: int, solved: FloatArray, width: float) -> tuple[float, float]:
        """A_c ← A_c + φ(x)φ(x)ᵀ; returns the width with the new A_c, and the growth of log|A_c|."""
        pivot = self._start * (1.0 + width)
        n = len(solved)
        grown = np.empty((n + 1, n + 1))
        grown[:n, :n] = self.inverse[c] + np.outer(solved, solved) / pivot
        grown[:n, n] = grown[n, :n] = -solved / pivot
        grown[n, n] = 1.0 / pivot
        self.inverse[c] = grown
        self.members[c].append(point)
        return width / (1.0 + width), math.log1p(width)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        found: dict[str, NDArray[Any]] = {"points": self.points, "coefficients": self.coefficients}
        for i in range(self.columns):
            found[f"members_{i}"] = np.array(self.members[i], dtype=np.int64)
            found[f"inverse_{i}"] = self.inverse[i]
        return found

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        points, coefficients = arrays["points"], arrays["coefficients"]
        members = [arrays[f"members_{i}"] for i in range(len(coefficients))]
        inverse = [arrays[f"inverse_{i}"] for i in range(len(coefficients))]
        fits = coefficients.shape[1] == len(points)
        for own, matrix in zip(members, inverse, strict=True):
            fits &= matrix.shape == (len(own), len(own)) and bool(((own >= 0) & (own < len(points))).all())
        if not fits:
            raise InvalidRecord("the points do not fit together", "give what arrays gave")
        self.points, self.coefficients = points, coefficients
        owns = np.array([self._own(x) for x in points])
        self._sizes = np.array([shortening(own, self._start) for own in owns])
        self._lengths = owns * self._sizes * self._sizes
        self.members, self.inverse = [own.tolist() for own in members], inverse
