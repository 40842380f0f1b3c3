"""The nearest point of a polytope in the norm of a matrix A of which only the inverse is known.

A polytope is known here only by its separation: given a point, the most violated of the constraints n·u ≤ b. So the
2^d facets of an L1 ball are never listed.
"""

from __future__ import annotations

import numpy as np

from smidgen._core import geometry as core
from smidgen.decision import FloatArray
from smidgen.geometry.space import plain

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
    **Cost**: d³/3 for L, then O(d²) per constraint that enters: about one per active constraint on a box or a simplex
    (two if A is ill-conditioned); on an L1 ball, of which every facet touches every coordinate, up to d, or several
    times d if A is ill-conditioned.

    References
    ----------
    .. [1] D. Goldfarb, A. Idnani. A numerically stable dual method for solving strictly convex quadratic programs.
       Mathematical Programming 27, 1983.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.geometry.polytope import BOX, nearest_in_norm
    >>> inverse = np.array([[2.0, 1.0], [1.0, 1.0]])
    >>> nearest_in_norm(np.array([3.0, 0.0]), inverse, BOX, np.ones(2), 1e-10)  # clipping would give (1, 0)
    array([ 1., -1.])
    """
    u = np.array(point, dtype=np.float64)
    core.move_to_nearest(u, plain(inverse), kind, plain(bounds), tolerance)
    return u
