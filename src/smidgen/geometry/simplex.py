"""The probability simplex: shares that are not negative and add up to one.

`project_classes` is the projection of Confidit's Section 3.1: class scores that form probabilities, at least cost.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core import confidit
from smidgen._core import geometry as core
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument
from smidgen.geometry.space import SIMPLEX, Region, Space, finite_norm, nearest_in_norm, plain
from smidgen.serialization import structure


def nearest_shares(values: FloatArray, total: float) -> FloatArray:
    """Argmin over u ≥ 0 with Σu = total of ‖u − values‖².

    The solution is max(values − τ, 0); sorting finds τ in O(d log d) (Held, Wolfe and Crowder 1974).

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.geometry.simplex import nearest_shares
    >>> nearest_shares(np.array([0.9, 0.3, -2.0]), 1.0)
    array([0.8, 0.2, 0. ])
    """
    shares = np.array(values, dtype=np.float64)
    core.to_shares(shares, total)
    return shares


@structure
class Simplex(Space):
    """All x ≥ floor with Σx_i = 1: probabilities, budgets, mixtures.

    The set is flat in R^d, so it has d − 1 free coordinates: x = 1/d + Q·z with Q = [I − c·11ᵀ; −1ᵀ/√d] and
    c = 1/(d + √d), the first d − 1 columns of the reflection that takes the last axis to the diagonal. Q is
    orthonormal, its columns add up to 0, and a product with it costs O(d).

    Parameters
    ----------
    dim
        The number of shares, ≥ 2.
    floor
        The least share, 0 ≤ floor < 1/dim; a simplex shrunk by γ has the floor γ/dim.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Simplex
    >>> space = Simplex(dim=3)
    >>> space.embed(space.project(space.coordinates(np.array([0.9, 0.3, -0.2]))))
    array([0.8, 0.2, 0. ])
    >>> space.shrunk(0.3)
    Simplex(dim=3, floor=0.1)
    """

    reads_lower = True

    def __init__(self, *, dim: int, floor: float = 0.0) -> None:
        self.dim = checks.whole("dim", dim, "give the number of shares, e.g. dim=3", at_least=2, below=checks.MOST)
        hint = "omit it for 0.0, the whole simplex"
        self.floor = checks.number("floor", floor, hint, at_least=0.0)
        self._depth = 1.0 / self.dim - self.floor  # how far below the centre a share can fall
        if not self._depth > 0.0:
            raise InvalidArgument(f"floor is {floor!r} and must be < 1/dim = {1.0 / self.dim:g}", hint)

    def __repr__(self) -> str:
        return f"Simplex(dim={self.dim}{f', floor={self.floor:g}' if self.floor else ''})"

    @property
    def free_dim(self) -> int:
        """Dimension minus one: the last share follows from the others."""
        return self.dim - 1

    @property
    def centre(self) -> FloatArray:
        """Equal shares, 1/dim each."""
        return np.full(self.dim, 1.0 / self.dim)

    @property
    def diameter(self) -> float:
        """The edge, √2·(1 − dim·floor)."""
        return math.sqrt(2.0) * self.dim * self._depth

    @property
    def inner_radius(self) -> float:
        """The distance of the facets, (1 − dim·floor)/√(dim·(dim − 1))."""
        return self._depth * math.sqrt(self.dim / (self.dim - 1.0))

    @property
    def outer_radius(self) -> float:
        """The distance of the corners, (1 − dim·floor)·√((dim − 1)/dim)."""
        return self._depth * math.sqrt(self.dim * (self.dim - 1.0))

    def embed(self, z: FloatArray) -> FloatArray:
        """The shares x = 1/dim + Q·z; what is inside does not fall below the floor by rounding."""
        x = np.empty(self.dim)
        core.embed_in_simplex(plain(z), self.floor, x)
        return x

    def coordinates(self, x: FloatArray) -> FloatArray:
        """The free coordinates Qᵀ(x − 1/dim)."""
        return self.direction(x - 1.0 / self.dim)

    def direction(self, g: FloatArray) -> FloatArray:
        """Qᵀg: what of a gradient lies along the simplex."""
        out = np.empty(self.dim - 1)
        core.along_simplex(plain(g), out)
        return out

    def _lift(self, z: FloatArray) -> FloatArray:
        """Q·z."""
        x = np.empty(self.dim)
        core.lift(plain(z), x)
        return x

    def contains(self, point: FloatArray, tolerance: float = 1e-9) -> bool:
        """Return True if no share is below the floor, up to a tolerance relative to 1/dim − floor."""
        finite_norm(point)
        return bool(self._lift(point).min() >= -self._depth * (1.0 + tolerance))

    def project(self, point: FloatArray) -> FloatArray:
        """Argmin over u in the simplex of ‖u − point‖², by sorting: O(d log d)."""
        if self.contains(point, 0.0):
            return point
        return self.direction(nearest_shares(self._lift(point), self.dim * self._depth))

    def project_in_norm(self, point: FloatArray, inverse: FloatArray, tolerance: float = 1e-10) -> FloatArray:
        """Argmin over u in the simplex of (u − point)ᵀ A (u − point), given A⁻¹: a dual active-set method.

        The cost is d³/3 plus O(d²) for each share that meets the floor; see `smidgen.geometry.space`.
        """
        if self.contains(point, 0.0):
            return point
        return self.project(nearest_in_norm(point, inverse, SIMPLEX, np.array([self._depth]), tolerance))

    def region(self) -> Region:
        """The simplex for compiled code."""
        none = np.zeros(0)
        return Region(SIMPLEX, self.dim, np.array([self.floor]), none, none, np.array([self._depth]))

    def _scaled(self, factor: float) -> Simplex:
        return Simplex(dim=self.dim, floor=1.0 / self.dim - factor * self._depth)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Exponential variables, divided by their sum."""
        shares = rng.exponential(size=self.dim)
        x: FloatArray = self.floor + self.dim * self._depth * (shares / shares.sum())
        return x

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild this simplex."""
        return {"dim": self.dim, "floor": self.floor}


def project_classes(means: FloatArray, widths: FloatArray, alpha: float) -> FloatArray:
    """The shifts c_i with which w_i + c_i·A_i⁻¹x satisfies the constraints, nearest in the norms of the A_i.

    argmin Σ_i (u_i − w_i)ᵀA_i(u_i − w_i) over u_i·x ≥ −alpha, Σ_i u_i·x = 1 + alpha − K·alpha has the solution
    u_i = w_i + c_i·A_i⁻¹x with c_i = max(lam, −(alpha + m_i)/q_i), m_i = w_i·x, q_i = xᵀA_i⁻¹x. Sorting by
    (alpha + m_i)/q_i finds the classes whose bound is not tight, and with them lam: O(K log K).

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.geometry import project_classes
    >>> means, widths = np.array([0.9, 0.3, -2.0]), np.ones(3)
    >>> shifted = means + project_classes(means, widths, alpha=0.0) * widths
    >>> shifted  # a probability vector
    array([0.8, 0.2, 0. ])
    """
    out = np.empty(len(means))
    confidit.constraint_shifts(means, widths, alpha, out)
    return out
