"""Base class of convex sets: a center, free coordinates, and projections.

The nearest point of a polytope may be asked for in the norm of a matrix A of which only the inverse is known
(`nearest_in_norm`). A polytope is known there only by its separation: given a point, the most violated of the
constraints n·u ≤ b. So the 2^d facets of an L1 ball are never listed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from smidgen import checks
from smidgen._core import geometry as core
from smidgen._core import written_for
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, NotFinite
from smidgen.settings import VersionedSettings


class Region(NamedTuple):
    """A space for compiled code (see `smidgen.geometry.space`).

    Attributes
    ----------
    kind
        BALL, BOX or SIMPLEX.
    dim
        The number of coordinates of a point (one more than the free ones, on a simplex).
    low, centre, high
        Of a box. Of a simplex, low[0] is the floor.
    bounds
        The radius; half of each edge; how far below the centre a share can fall.
    """

    kind: int
    dim: int
    low: FloatArray
    centre: FloatArray
    high: FloatArray
    bounds: FloatArray


class Space(VersionedSettings, ABC):
    """A bounded convex set with a centre.

    Users see points x of ``dim`` coordinates. Learners work in the *free coordinates* z of the set: x = centre + Q·z
    with an orthonormal Q of ``free_dim`` columns, so z = 0 is the centre and distances are the same in both. Q is the
    identity unless the set is flat, as the simplex is. To shrink a set around its centre is to scale z.

    To write your own, say what is abstract here (and `embed`, `coordinates`, `direction`, if Q is not the identity),
    and put `@smidgen.structure` on it if learners that use it should be saved.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import Box
    >>> space = Box(low=[0.0, 10.0], high=[1.0, 20.0])
    >>> space.embed(np.zeros(2))  # the centre
    array([ 0.5, 15. ])
    >>> space.shrunk(0.5)
    Box(low=[0.25, 12.5], high=[0.75, 17.5])
    """

    dim: int

    #: True if `project_in_norm` reads no more of A⁻¹ than its lower triangle; then it need not be given more.
    reads_lower: ClassVar[bool] = False

    @property
    def free_dim(self) -> int:
        """The number of free coordinates: the dimension of the set itself."""
        return self.dim

    @property
    @abstractmethod
    def centre(self) -> FloatArray:
        """The point with the free coordinates 0."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """The largest distance between two points of the set."""

    @property
    @abstractmethod
    def inner_radius(self) -> float:
        """The radius of the largest ball around the centre, in free coordinates, that lies in the set."""

    @property
    @abstractmethod
    def outer_radius(self) -> float:
        """The radius of the smallest ball around the centre that holds the set."""

    def embed(self, z: FloatArray) -> FloatArray:
        """The point x = centre + Q·z."""
        return self.centre + z

    def coordinates(self, x: FloatArray) -> FloatArray:
        """The free coordinates Qᵀ(x − centre)."""
        return x - self.centre

    def direction(self, g: FloatArray) -> FloatArray:
        """A gradient with respect to x as one with respect to z: Qᵀg."""
        return g

    @abstractmethod
    def contains(self, point: FloatArray, tolerance: float = 1e-9) -> bool:
        """Return True if the point with the free coordinates ``point`` is in the set, up to a relative tolerance."""

    @abstractmethod
    def project(self, point: FloatArray) -> FloatArray:
        """Argmin over u in the set of ‖u − point‖², in free coordinates; a point inside is returned as it is."""

    @abstractmethod
    def project_in_norm(self, point: FloatArray, inverse: FloatArray, tolerance: float = 1e-10) -> FloatArray:
        """Argmin over u in the set of (u − point)ᵀ A (u − point), given A⁻¹, in free coordinates."""

    def region(self) -> Region | None:
        """The space for compiled code; None if it has no such form, and is played by the two verbs."""
        return None

    def shrunk(self, gamma: float) -> Self:
        """The set scaled by 1 − gamma around its centre, 0 ≤ gamma < 1."""
        hint = "give a share of the set to leave out, e.g. gamma=0.1"
        gamma = checks.number("gamma", gamma, hint, at_least=0.0)
        if gamma >= 1.0:
            raise InvalidArgument(f"gamma is {gamma!r} and must be < 1: the shrunk set would be empty", hint)
        return self if gamma == 0.0 else self._scaled(1.0 - gamma)

    @abstractmethod
    def _scaled(self, factor: float) -> Self:
        """The set scaled by 0 < factor < 1 around its centre."""

    @abstractmethod
    def sample(self, rng: np.random.Generator) -> FloatArray:
        """A point x, uniform in the set."""

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild this space."""


def plain(array: ArrayLike) -> FloatArray:
    """The array as the compiled core reads it: contiguous and aligned, in double precision."""
    if type(array) is np.ndarray and array.dtype == np.float64:
        flags = array.flags
        if flags.c_contiguous and flags.aligned:
            return array
    return np.require(array, np.float64, ("C", "A"))


def finite_norm(point: FloatArray) -> float:
    """The Euclidean norm, summed as compiled loops sum it; refused if it is not finite."""
    norm = core.norm(plain(point))
    if not math.isfinite(norm):
        raise NotFinite(f"the point has the norm {norm}", "scale the features down; unit length is a good choice")
    return norm


TOLERANCE = 1e-10  # that of `Space.project_in_norm`


def region_of(space: Space) -> Region | None:
    """The region of a space, if it has one that was written for its projection."""
    return space.region() if written_for(space, "region", "project") else None


BOX, SIMPLEX, L1_BALL, BALL = 0, 1, 2, 3


def nearest_in_norm(
    point: FloatArray, inverse: FloatArray, kind: int, bounds: FloatArray, tolerance: float
) -> FloatArray:
    """Argmin over u in a polytope of (u − point)ᵀ A (u − point), given A⁻¹.

    The method is the dual active-set method of Goldfarb and Idnani [1]_. It starts from the point itself, adds the most
    violated constraint, and drops those whose multiplier would turn negative, so the distance grows in every round
    and no active set returns. With A⁻¹ = L·Lᵀ and u = point − L·p the problem asks for the shortest p with
    (Lᵀn)·p ≥ n·point − b for every constraint n·u ≤ b, so the active constraints are kept as an orthonormal basis and a
    triangle, updated by rotations: rounding counts with the root of A's condition number.

    Parameters
    ----------
    point
        The point to project, in coordinates relative to the centre of the polytope.
    inverse
        A⁻¹, symmetric and positive definite.
    kind, bounds
        BOX: ``|u_i| ≤ bounds[i]``. SIMPLEX: ``(Qu)_i ≥ −bounds[0]`` with Q as in `smidgen.Simplex`.
        L1_BALL: ``Σ|u_i| ≤ bounds[0]``.
    tolerance
        A constraint counts as met when it is exceeded by no more than ``tolerance`` times its distance b.

    Returns
    -------
    u
        The solution, up to the tolerance outside: the caller brings it inside.

    Notes
    -----
    **Cost**: d³/3 for L, then O(d²) per constraint that becomes active: about one per active constraint on a box or a
    simplex (two if A is ill-conditioned); on an L1 ball, of which every facet touches every coordinate, up to d, or
    several times d if A is ill-conditioned.

    References
    ----------
    .. [1] D. Goldfarb, A. Idnani. A numerically stable dual method for solving strictly convex quadratic programs.
       Mathematical Programming 27, 1983.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.geometry.space import BOX, nearest_in_norm
    >>> inverse = np.array([[2.0, 1.0], [1.0, 1.0]])
    >>> nearest_in_norm(np.array([3.0, 0.0]), inverse, BOX, np.ones(2), 1e-10)  # clipping would give (1, 0)
    array([ 1., -1.])
    """
    u = np.array(point, dtype=np.float64)
    core.move_to_nearest(u, plain(inverse), kind, plain(bounds), tolerance)
    return u
