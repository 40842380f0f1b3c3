"""The box: every coordinate between its own two limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from smidgen._core import geometry as core
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument
from smidgen.geometry.space import BOX, Region, Space, finite_norm, nearest_in_norm, plain
from smidgen.serialization import structure

_HINT = "give one limit per coordinate, e.g. low=[0.0, 0.0], high=[1.0, 5.0]"


@structure
class Box(Space):
    """All points x with low_i ≤ x_i ≤ high_i.

    Parameters
    ----------
    low
        The lower limits, one per coordinate; or one number for all.
    high
        The upper limits, above the lower ones; or one number for all. Two numbers make an interval.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Box
    >>> space = Box(low=[0.0, 10.0], high=[1.0, 20.0])
    >>> space.embed(space.project(space.coordinates(np.array([0.3, 25.0]))))
    array([ 0.3, 20. ])
    """

    reads_lower = True

    def __init__(self, *, low: ArrayLike, high: ArrayLike) -> None:
        a, b = _limits("low", low), _limits("high", high)
        if a.ndim and b.ndim and len(a) != len(b):
            raise InvalidArgument(
                f"low has {len(a)} limits and high has {len(b)}, and both must have the same number", _HINT
            )
        self.low, self.high = (np.array(np.atleast_1d(limits)) for limits in np.broadcast_arrays(a, b))
        self.dim = len(self.low)
        with np.errstate(over="ignore"):
            self._half: FloatArray = (self.high - self.low) / 2.0
            self._centre: FloatArray = self.low + self._half
            self._diameter = math.sqrt(np.sum((self.high - self.low) ** 2))
        if not (self._half > 0.0).all():
            i = int(np.argmin(self._half > 0.0))
            raise InvalidArgument(
                f"low[{i}] is {self.low[i]!r} and must be below high[{i}] = {self.high[i]!r}",
                "remove coordinates that cannot vary, and give the lower limit first",
            )
        if not math.isfinite(self._diameter):
            raise InvalidArgument(
                "low and high are too far apart: the diameter is not finite", "measure in larger units"
            )
        for limits in (self.low, self.high, self._half, self._centre):
            limits.setflags(write=False)

    def __repr__(self) -> str:
        return f"Box(low={_listed(self.low)}, high={_listed(self.high)})"

    @property
    def centre(self) -> FloatArray:
        """The middle, (low + high)/2."""
        return self._centre

    @property
    def diameter(self) -> float:
        """The diagonal, ‖high − low‖."""
        return self._diameter

    @property
    def inner_radius(self) -> float:
        """Half of the shortest edge."""
        return float(self._half.min())

    @property
    def outer_radius(self) -> float:
        """Half of the diagonal."""
        return self._diameter / 2.0

    def embed(self, z: FloatArray) -> FloatArray:
        """The point x = centre + z; what is inside, up to rounding, does not leave the limits."""
        x = np.empty(self.dim)
        core.embed_in_box(plain(z), self.low, self._centre, self.high, x)
        return x

    def contains(self, point: FloatArray, tolerance: float = 1e-9) -> bool:
        """Return True if every free coordinate is within half an edge of 0, up to a relative tolerance."""
        finite_norm(point)
        return bool((np.abs(point) <= self._half * (1.0 + tolerance)).all())

    def project(self, point: FloatArray) -> FloatArray:
        """Argmin over u in the box of ‖u − point‖²: every coordinate clipped."""
        if self.contains(point, 0.0):
            return point
        clipped = np.array(point, dtype=np.float64)
        core.clip_to_box(clipped, self._half)
        return clipped

    def project_in_norm(self, point: FloatArray, inverse: FloatArray, tolerance: float = 1e-10) -> FloatArray:
        """Argmin over u in the box of (u − point)ᵀ A (u − point), given A⁻¹: a dual active-set method.

        The cost is d³/3 plus O(d²) for each coordinate that meets its limit; see `smidgen.geometry.space`.
        """
        if self.contains(point, 0.0):
            return point
        return self.project(nearest_in_norm(point, inverse, BOX, self._half, tolerance))

    def region(self) -> Region:
        """The box for compiled code."""
        low, centre, high, half = (array.copy() for array in (self.low, self._centre, self.high, self._half))
        return Region(BOX, self.dim, low, centre, high, half)

    def _scaled(self, factor: float) -> Box:
        return Box(low=self._centre - factor * self._half, high=self._centre + factor * self._half)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Every coordinate uniform between its limits."""
        return rng.uniform(self.low, self.high)

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild this box."""
        return {"low": self.low, "high": self.high}


def _limits(name: str, value: ArrayLike) -> FloatArray:
    try:
        limits = np.asarray(value)
    except ValueError:  # rows of unequal length
        limits = np.asarray(None)
    if limits.dtype.kind not in "fiu" or limits.ndim > 1 or limits.size == 0:
        raise InvalidArgument(f"{name} is {value!r} and must be a number or a list of numbers", _HINT)
    if not np.isfinite(limits).all():
        raise InvalidArgument(f"{name} is {value!r} and must be finite", _HINT)
    return limits.astype(np.float64)


def _listed(limits: FloatArray) -> str:
    shown = [f"{limit:g}" for limit in limits[:4]]
    return f"[{', '.join(shown if len(limits) <= 4 else [*shown, '…'])}]"
