"""The nearest point of a polytope in the norm of a matrix A of which only the inverse is known.

A polytope is known here only by its separation: given a point, the most violated of the constraints n·u ≤ b. So the
2^d facets of an L1 ball are never listed.
"""

from __future__ import annotations

import math

import numpy as np

from smidgen._kernel import kernel, ordinary
from smidgen.decision import FloatArray

BOX, SIMPLEX, L1_BALL, BALL = 0, 1, 2, 3


@kernel
def _factor(H: FloatArray) -> FloatArray:
    """The lower triangular L with L·Lᵀ = H; a pivot lost to rounding is lifted to the size of the rounding."""
    n = H.shape[0]
    L, floor = np.zeros((n, n)), 0.0
    for i in range(n):
        floor = max(floor, 1e-16 * n * H[i, i])
    for i in range(n):
        for j in range(i + 1):
            total = H[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(max(total, floor)) if i == j else total / L[j, j]
    return L


@kernel
def _separate(kind: int, bounds: FloatArray, u: FloatArray, normal: FloatArray) -> tuple[float, float]:
    """The most violated constraint normal·u ≤ bound: writes its normal, returns the violation and the bound."""
    n = u.shape[0]
    if kind == L1_BALL:  # s·u ≤ radius for every s of signs
        total = 0.0
        for i in range(n):
            normal[i] = 1.0 if u[i] >= 0.0 else -1.0
            total += abs(u[i])
        return total - bounds[0], bounds[0]
    worst, found = 0, -np.inf
    normal[:] = 0.0
    if kind == BOX:  # ±u_i ≤ bounds_i
        for i in range(n):
            if abs(u[i]) - bounds[i] > found:
                worst, found = i, abs(u[i]) - bounds[i]
        normal[worst] = 1.0 if u[worst] >= 0.0 else -1.0
        return found, bounds[worst]
    # −(Qu)_i ≤ bounds_0 for the n + 1 rows of Q = [I − c·11ᵀ; −1ᵀ/√(n + 1)]
    total, root = 0.0, math.sqrt(n + 1.0)
    for i in range(n):
        total += u[i]
    c = 1.0 / (n + 1.0 + root)
    worst, lowest = n, -total / root
    for i in range(n):
        if u[i] - c * total < lowest:
            worst, lowest = i, u[i] - c * total
    if worst == n:
        normal[:] = 1.0 / root
    else:
        normal[:] = c
        normal[worst] -= 1.0
    return -lowest - bounds[0], bounds[0]


@kernel
def _split(v: FloatArray, Q: FloatArray, T: FloatArray, m: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The active part of v and the rest: v = Σ_j r_j v_j + rest = Σ_k q_k Q_k + rest; gives q, r, rest."""
    n = v.shape[0]
    q, r, rest = np.zeros(m), np.empty(m), v.copy()
    for _ in range(2):  # Gram and Schmidt, twice: orthogonal up to rounding
        for k in range(m):
            inner = 0.0
            for i in range(n):
                inner += Q[k, i] * rest[i]
            q[k] += inner
            for i in range(n):
                rest[i] -= inner * Q[k, i]
    r[:] = q
    _back(T, r, m)
    return q, r, rest


@kernel
def _back(T: FloatArray, x: FloatArray, m: int) -> None:
    """X ← T⁻ᵀx for the lower triangular T."""
    for k in range(m - 1, -1, -1):
        x[k] /= T[k, k]
        for j in range(k):
            x[j] -= T[k, j] * x[k]


@kernel
def _drop(leaving: int, Q: FloatArray, T: FloatArray, m: int) -> None:
    """Remove the row ``leaving`` of T, and turn T back to a triangle, Q with it."""
    n = Q.shape[1]
    for k in range(leaving, m - 1):
        T[k, :m] = T[k + 1, :m]
    for k in range(leaving, m - 1):
        length = math.hypot(T[k, k], T[k, k + 1])
        cos, sin = T[k, k] / length, T[k, k + 1] / length
        for j in range(k, m - 1):
            a, b = T[j, k], T[j, k + 1]
            T[j, k], T[j, k + 1] = cos * a + sin * b, cos * b - sin * a
        for i in range(n):
            a, b = Q[k, i], Q[k + 1, i]
            Q[k, i], Q[k + 1, i] = cos * a + sin * b, cos * b - sin * a


@kernel
def _norm(x: FloatArray) -> float:
    return math.sqrt(np.sum(x * x))


@kernel
def _nearest(H: FloatArray, z: FloatArray, kind: int, bounds: FloatArray, tolerance: float) -> tuple[FloatArray, int]:
    """The dual active-set method, see `nearest_in_norm`; gives the point and the number of rounds."""
    n = z.shape[0]
    L = _factor(H)
    size = math.sqrt(np.trace(H))
    Q, T = np.empty((n, n)), np.zeros((n + 1, n + 1))  # the active v_j = Σ_k T_jk Q_k, Q_k orthonormal
    h, lam, lengths = np.empty(n + 1), np.zeros(n + 1), np.empty(n + 1)
    u, p, normal, v, m = z.copy(), np.zeros(n), np.empty(n), np.empty(n), 0
    limit = 50 * (n + 10)
    for rounds in range(limit):
        violation, bound = _separate(kind, bounds, u, normal)
        rounding = 1e-15 * _norm(normal) * (_norm(z) + size * _norm(p))
        if violation <= tolerance * bound + rounding:
            return u, rounds
        for j in range(n):
            total = 0.0
            for i in range(j, n):
                total += L[i, j] * normal[i]
            v[j] = total
        entered = False
        while not entered:
            q, r, rest = _split(v, Q, T, m)
            noise = _norm(v)
            for j in range(m):
                noise += abs(r[j]) * lengths[j]
            square = np.sum(rest * rest)
            independent = m < n and math.sqrt(square) > 1e-14 * noise
            t, leaving = violation / square if independent else np.inf, -1
            for j in range(m):
                if r[j] > 0.0 and lam[j] < t * r[j]:
                    t, leaving = lam[j] / r[j], j
            if not np.isfinite(t):  # only rounding leads here: the set is not empty
                return u, rounds
            lam[:m] -= t * r
            if independent:
                violation = max(0.0, violation - t * square)
            if leaving >= 0:
                _drop(leaving, Q, T, m)
                for j in range(leaving, m - 1):
                    h[j], lam[j], lengths[j] = h[j + 1], lam[j + 1], lengths[j + 1]
                m -= 1
                continue
            T[m, :m] = q
            T[m, m] = math.sqrt(square)
            Q[m] = rest / T[m, m]
            h[m], lengths[m] = np.sum(normal * z) - bound, _norm(v)
            m += 1
            entered = True
        # afresh from the active constraints, so that rounding does not add up: p = Σ_k c_k Q_k, T c = h, Tᵀlam = c
        c = np.empty(m)
        p[:] = 0.0
        for k in range(m):
            total = h[k]
            for j in range(k):
                total -= T[k, j] * c[j]
            c[k] = total / T[k, k]
            p += c[k] * Q[k]
        lam[:m] = c
        _back(T, lam, m)
        for j in range(m):
            lam[j] = max(lam[j], 0.0)
        for i in range(n):
            total = 0.0
            for j in range(i + 1):
                total += L[i, j] * p[j]
            u[i] = z[i] - total
    return u, limit


@kernel
def move_to_nearest(z: FloatArray, inverse: FloatArray, kind: int, bounds: FloatArray, tolerance: float) -> None:
    """Z ← argmin over u in the polytope of (u − z)ᵀ A (u − z); of A⁻¹ only as much counts as z has coordinates."""
    n, trace, squares = z.shape[0], 0.0, 0.0
    for i in range(n):
        trace += inverse[i, i]
        squares += z[i] * z[i]
    length = math.sqrt(squares)
    scaled = inverse[:n, :n] / (trace if trace > 0.0 else 1.0)  # so that nothing overflows
    u, _ = _nearest(scaled, z / length, kind, bounds / length, tolerance)
    for i in range(n):
        z[i] = u[i] * length


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
    move_to_nearest(u, np.ascontiguousarray(inverse, dtype=np.float64), kind, ordinary(bounds), tolerance)
    return u
