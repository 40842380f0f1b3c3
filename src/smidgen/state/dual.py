"""Second order by class in a kernel's feature space: everything as combinations of the examples learnt from.

Kernel functions have names and give Gram matrices k(X, Z). Those named here give the same bits on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import dual
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument, InvalidFeatures, InvalidRecord

KernelFunction = Callable[[FloatArray, FloatArray], FloatArray]

_registered: dict[str, KernelFunction] = {}


def linear(X: FloatArray, Z: FloatArray) -> FloatArray:
    """X·Zᵀ."""
    out = np.empty((len(X), len(Z)))
    dual.linear_kernel(X, Z, out)
    return out


def rbf(X: FloatArray, Z: FloatArray, *, gamma: float = 1.0) -> FloatArray:
    """exp(−gamma·‖x − z‖²)."""
    out = np.empty((len(X), len(Z)))
    dual.rbf_kernel(X, Z, gamma, out)
    return out


def poly(X: FloatArray, Z: FloatArray, *, degree: int = 2, offset: float = 1.0) -> FloatArray:
    """(x·z + offset)^degree."""
    out = np.empty((len(X), len(Z)))
    dual.poly_kernel(X, Z, degree, offset, out)
    return out


NAMED: dict[str, Callable[..., FloatArray]] = {"linear": linear, "rbf": rbf, "poly": poly}


def register_kernel(name: str) -> Callable[[KernelFunction], KernelFunction]:
    """Register a kernel of yours by name, so that learners which use it can be saved.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> @smidgen.register_kernel("overlap")
    ... def overlap(X, Z):
    ...     return np.minimum(X[:, None, :], Z[None, :, :]).sum(axis=2)
    >>> learner = smidgen.Confidit(dim=2, n_classes=2, covariance="kernel", kernel="overlap")
    """

    def enter(kernel: KernelFunction) -> KernelFunction:
        if name in NAMED:
            raise InvalidArgument(f"the kernel name {name!r} is already registered", "choose another name")
        _registered[name] = kernel
        return kernel

    return enter


def find_kernel(kernel: str | KernelFunction, params: Mapping[str, Any] | None) -> KernelFunction:
    """The kernel of that name (or the callable itself), with its parameters filled in."""
    settings = dict(params or {})
    if isinstance(kernel, str):
        everything: dict[str, Any] = {**NAMED, **_registered}
        chosen = everything[checks.one_of("kernel", kernel, everything)]
    elif callable(kernel):
        chosen = kernel
    else:
        raise InvalidArgument(f"kernel is {kernel!r}", "give a name or a function k(X, Z) -> Gram matrix")

    return partial(_gram, chosen, settings)


def _gram(kernel: Callable[..., FloatArray], settings: dict[str, Any], X: FloatArray, Z: FloatArray) -> FloatArray:
    """The Gram matrix, checked: the kernel may be a user's."""
    result = np.asarray(kernel(X, Z, **settings), dtype=np.float64)
    if result.shape != (len(X), len(Z)) or not np.isfinite(result).all():
        raise InvalidFeatures(
            f"the kernel returned an array of shape {result.shape}",
            f"return {len(X)} × {len(Z)} finite numbers for {len(X)} and {len(Z)} rows",
        )
    return result


#: A squared length beyond this many times A's start is shortened to it: what comes of the inverse of a Gram matrix has
#: an error that grows with the square of this, times a rounding.
LONGEST = 1e6


def shortening(own: float, start: float) -> float:
    """By what a row of the squared length ``own`` is multiplied, so that a Gram matrix can hold it."""
    return math.sqrt(LONGEST * start / own) if own > LONGEST * start else 1.0


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
        self.members: list[IntArray] = [np.empty(0, np.int64) for _ in range(columns)]
        self._G: list[FloatArray] = [np.empty((0, 0)) for _ in range(columns)]  #: each with space for more members
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
        self.members += [np.empty(0, np.int64) for _ in range(more)]
        self._G += [np.empty((0, 0)) for _ in range(more)]

    def moments(self, x: FloatArray, means: FloatArray, widths: FloatArray) -> list[FloatArray]:
        """Write w_i·φ(x) and φ(x)ᵀA_i⁻¹φ(x) of every class; return the G_i k_i(x)."""
        k, own = self._asked(x[None, :])
        solved = []
        for i, members in enumerate(self.members):
            solved.append(np.empty(len(members)))
            known = (self.coefficients, i, k[0], members, self._G[i], float(own[0]), self._start, self._lengths)
            means[i], widths[i] = dual.class_moments(*known, solved[i])
        return solved

    def scores(self, X: FloatArray, out: FloatArray) -> None:
        """Write w_i·φ(x) of every row and class."""
        dual.write_class_scores(self.coefficients, self._asked(X)[0], out)

    def _asked(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The kernel values between every row and the points, and of every row with itself; all shortened."""
        own = np.array([self._own(x) for x in X])
        sizes = np.array([shortening(each, self._start) for each in own.tolist()])
        if not len(self.points):
            return np.empty((len(X), 0)), own * sizes * sizes
        k = np.ascontiguousarray(self._kernel(self.points, X).T)
        return k * self._sizes * sizes[:, None], own * sizes * sizes

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
        n = len(solved)
        if n == len(self._G[c]):
            larger = np.empty((max(8, 2 * n), max(8, 2 * n)))
            larger[:n, :n] = self._G[c]
            self._G[c] = larger
        self.members[c] = np.append(self.members[c], point)
        return dual.class_absorb(self._G[c], solved, self._start, width)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        found: dict[str, NDArray[Any]] = {"points": self.points, "coefficients": self.coefficients}
        for i in range(self.columns):
            n = len(self.members[i])
            found[f"members_{i}"] = self.members[i]
            found[f"inverse_{i}"] = self._G[i][:n, :n].copy()
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
            raise InvalidRecord("the arrays of points have different lengths", "pass the arrays that arrays returned")
        self.points, self.coefficients = points, coefficients
        owns = np.array([self._own(x) for x in points])
        self._sizes = np.array([shortening(own, self._start) for own in owns])
        self._lengths = owns * self._sizes * self._sizes
        self.members, self._G = members, inverse
