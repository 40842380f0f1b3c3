"""Balls, boxes and simplices, projections in the norm of a matrix, and products with its inverse."""

from __future__ import annotations

import math

import numpy as np

from smidgen.decision import FloatArray
from smidgen.geometry.space import BALL, BOX, L1_BALL, SIMPLEX, Region
from smidgen_papers.compiled.arrays import clear, dot
from smidgen_papers.compiled.kernel import borrowing, inlined, kernel
from smidgen_papers.compiled.lanes import Lanes, add_to, fill, load, store, total, totals

PANEL = 128  # rows


@kernel
def shrink(B: FloatArray, v: FloatArray) -> None:
    """B ← B − v·vᵀ."""
    n = v.shape[0]
    for i in range(B.shape[0]):
        vi = v[i]
        for j in range(min(i - i % 8 + 8, n)):
            B[i, j] -= vi * v[j]


@borrowing
def settle(B: FloatArray, waiting: FloatArray) -> None:
    """B ← B − v·vᵀ, v the first row of ``waiting``, after which nothing waits."""
    shrink(B, waiting[0])
    clear(waiting[0])


@inlined
def _four_rows(B: FloatArray, x: FloatArray, out: FloatArray, i: int) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """What rows i … i + 3 have to do with `multiply`: each number counts for its own place, and for the one across.

    Adds to the products of the rows above; gives those of these four rows with the columns up to their own block.
    """
    n, block = x.shape[0], i - i % 8
    a, b, c, d = i * n, (i + 1) * n, (i + 2) * n, (i + 3) * n
    x0, x1, x2, x3 = fill(x[i]), fill(x[i + 1]), fill(x[i + 2]), fill(x[i + 3])
    s0, s1, s2, s3 = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
    for j in range(0, block, 8):
        xj, b0, b1, b2, b3 = load(x, j), load(B, a + j), load(B, b + j), load(B, c + j), load(B, d + j)
        s0, s1, s2, s3 = s0 + b0 * xj, s1 + b1 * xj, s2 + b2 * xj, s3 + b3 * xj
        add_to(out, j, (b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3))
    b0, b1, b2, b3 = load(B, a + block), load(B, b + block), load(B, c + block), load(B, d + block)
    add_to(out, block, (b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3))
    return s0, s1, s2, s3


@inlined
def _multiply_rows(B: FloatArray, x: FloatArray, out: FloatArray, first: int, last: int) -> None:
    """What the rows first … last − 1 add to B·x; their numbers are multiples of eight, but for n."""
    n = x.shape[0]
    whole = last - last % 8
    for i in range(first, whole, 8):
        s0, s1, s2, s3 = _four_rows(B, x, out, i)
        s4, s5, s6, s7 = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
        if i + 4 < B.shape[0]:
            s4, s5, s6, s7 = _four_rows(B, x, out, i + 4)
        if i > 0:
            add_to(out, i, totals(s0, s1, s2, s3, s4, s5, s6, s7))
    for i in range(whole, last):  # the rows and columns that make no block of eight
        s0, x0 = fill(0.0), fill(x[i])
        for j in range(0, whole, 8):
            b0 = load(B, i * n + j)
            s0 = s0 + b0 * load(x, j)
            add_to(out, j, b0 * x0)
        out[i] += total(s0) + B[i, i] * x[i]
        for j in range(whole, i):
            out[i] += B[i, j] * x[j]
            out[j] += B[i, j] * x[i]


@inlined
def _add_panels(parts: FloatArray, out: FloatArray) -> None:
    """Out = the sum of the parts, of which the k-th ends with its panel."""
    n = out.shape[0]
    clear(out)
    for k in range(parts.shape[0]):
        for j in range(min((k + 1) * PANEL, n)):
            out[j] += parts[k, j]


@kernel
def _multiply_panels(B: FloatArray, x: FloatArray, out: FloatArray, back: bool) -> None:
    """Out = B·x, panel by panel."""
    n = x.shape[0]
    parts = np.empty((-(-n // PANEL), n))
    for turn in range(parts.shape[0]):
        k = parts.shape[0] - 1 - turn if back else turn
        last = min((k + 1) * PANEL, n)
        clear(parts[k, :last])
        _multiply_rows(B, x, parts[k], k * PANEL, last)
    _add_panels(parts, out)


@borrowing
def multiply(B: FloatArray, x: FloatArray, out: FloatArray, back: bool) -> float:
    """Out = B·x; gives x·B·x. It may go back from the end of B: the result is the same."""
    if x.shape[0] > PANEL:
        _multiply_panels(B, x, out, back)
    else:
        clear(out)
        _multiply_rows(B, x, out, 0, x.shape[0])
    return dot(x, out)


@inlined
def _four_rows_shrunk(
    B: FloatArray, waiting: FloatArray, x: FloatArray, out: FloatArray, i: int
) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """`_four_rows` after `shrink`."""
    n, block, v, diagonal = x.shape[0], i - i % 8, waiting[0], waiting[1]
    a, b, c, d = i * n, (i + 1) * n, (i + 2) * n, (i + 3) * n
    x0, x1, x2, x3 = fill(x[i]), fill(x[i + 1]), fill(x[i + 2]), fill(x[i + 3])
    v0, v1, v2, v3 = fill(v[i]), fill(v[i + 1]), fill(v[i + 2]), fill(v[i + 3])
    s0, s1, s2, s3 = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
    for k in range(i, i + 4):  # before the rows are written: to read what was just written in lanes is slow
        diagonal[k] = B[k, k] - v[k] * v[k]
    for j in range(0, block + 8, 8):
        xj, vj = load(x, j), load(v, j)
        b0, b1 = load(B, a + j) - v0 * vj, load(B, b + j) - v1 * vj
        b2, b3 = load(B, c + j) - v2 * vj, load(B, d + j) - v3 * vj
        store(B, a + j, b0)
        store(B, b + j, b1)
        store(B, c + j, b2)
        store(B, d + j, b3)
        add_to(out, j, (b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3))
        if j < block:
            s0, s1, s2, s3 = s0 + b0 * xj, s1 + b1 * xj, s2 + b2 * xj, s3 + b3 * xj
    return s0, s1, s2, s3


@inlined
def _shrink_rows(B: FloatArray, waiting: FloatArray, x: FloatArray, out: FloatArray, first: int, last: int) -> None:
    """`_multiply_rows` after `shrink`."""
    n, v, diagonal = x.shape[0], waiting[0], waiting[1]
    whole = last - last % 8
    for i in range(first, whole, 8):
        s0, s1, s2, s3 = _four_rows_shrunk(B, waiting, x, out, i)
        s4, s5, s6, s7 = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
        if i + 4 < B.shape[0]:
            s4, s5, s6, s7 = _four_rows_shrunk(B, waiting, x, out, i + 4)
        if i > 0:
            add_to(out, i, totals(s0, s1, s2, s3, s4, s5, s6, s7))
    for i in range(whole, last):
        s0, x0, v0 = fill(0.0), fill(x[i]), fill(v[i])
        for j in range(0, whole, 8):
            b0 = load(B, i * n + j) - v0 * load(v, j)
            store(B, i * n + j, b0)
            s0 = s0 + b0 * load(x, j)
            add_to(out, j, b0 * x0)
        for j in range(whole, n):
            B[i, j] -= v[i] * v[j]
        diagonal[i] = B[i, i]
        out[i] += total(s0) + B[i, i] * x[i]
        for j in range(whole, i):
            out[i] += B[i, j] * x[j]
            out[j] += B[i, j] * x[i]


@kernel
def _shrink_panels(B: FloatArray, waiting: FloatArray, x: FloatArray, out: FloatArray, back: bool) -> None:
    """`_multiply_panels` after `shrink`."""
    n = x.shape[0]
    parts = np.empty((-(-n // PANEL), n))
    for turn in range(parts.shape[0]):
        k = parts.shape[0] - 1 - turn if back else turn
        last = min((k + 1) * PANEL, n)
        clear(parts[k, :last])
        _shrink_rows(B, waiting, x, parts[k], k * PANEL, last)
    _add_panels(parts, out)


@borrowing
def shrink_and_multiply(B: FloatArray, waiting: FloatArray, x: FloatArray, out: FloatArray, back: bool) -> float:
    """`shrink` and `multiply` in one pass: B ← B − v·vᵀ, then out = B·x; gives x·B·x.

    v is the first row of ``waiting``; its second row takes B's diagonal, which is at hand now and scattered later.
    """
    if x.shape[0] > PANEL:
        _shrink_panels(B, waiting, x, out, back)
    else:
        clear(out)
        _shrink_rows(B, waiting, x, out, 0, x.shape[0])
    return dot(x, out)


#: A direction longer than this under B (squared) takes the careful way.
LONG = 1e8

#: A squared product beyond this is refused: the factor of the step must fit next to it.
LONGEST = 1e200

#: What is left of a pivot when rounding has eaten it up; the diagonal is 1.
_PIVOT = 1e-15


@borrowing
def sound(diagonal: FloatArray, product: FloatArray, quadratic: float) -> bool:
    """Check whether B·x and x·B·x can come of a B without negative eigenvalues: (B·x)_i² ≤ B_ii · x·B·x."""
    if not quadratic >= 0.0:
        return False
    worst = 0
    for i in range(diagonal.shape[0]):
        worst += product[i] * product[i] > 2.0 * diagonal[i] * quadratic + 1e-300
    return worst == 0


@kernel
def _factored(B: FloatArray, sizes: FloatArray) -> FloatArray:
    """L with B = S·L·Lᵀ·S, S = diag(sizes), for the next B without negative eigenvalues; writes the sizes."""
    n = sizes.shape[0]
    L = np.zeros((n, n))
    for i in range(n):
        sizes[i] = math.sqrt(max(B[i, i], 1e-300))
    for i in range(n):
        for j in range(i):
            rest = min(max(B[i, j] / sizes[i] / sizes[j], -1.0), 1.0)
            for k in range(j):
                rest -= L[i, k] * L[j, k]
            L[i, j] = rest / L[j, j]
        rest = 1.0
        for k in range(i):
            rest -= L[i, k] * L[i, k]
        L[i, i] = math.sqrt(max(rest, _PIVOT))
    return L


@kernel
def absorb_carefully(B: FloatArray, d: FloatArray, gamma: float, product: FloatArray) -> float:
    """B ← (B⁻¹ + gamma·d·dᵀ)⁻¹; writes B·d with the new B, and gives d·B·d with the old one.

    A result that is not finite, or a product whose square is not, says that nothing was done to B.
    """
    n = B.shape[0]
    sizes, u = np.empty(n), np.zeros(n)
    L = _factored(B, sizes)
    for i in range(n):
        for j in range(i + 1):
            u[j] += L[i, j] * (sizes[i] * d[i])
    squares = 0.0
    for j in range(n):
        squares += u[j] * u[j]
    if not math.isfinite(gamma * squares):
        return math.inf
    growth = 1.0 + gamma * squares
    shrinking = (1.0 / math.sqrt(growth) - 1.0) / squares if squares > 0.0 else 0.0
    length = 0.0
    for i in range(n):  # F = L·(I + shrinking·u·uᵀ), a row at a time
        along = 0.0
        for j in range(i + 1):
            along += L[i, j] * u[j]
        product[i] = sizes[i] * along / growth
        length += product[i] * product[i]
        for j in range(n):
            L[i, j] += shrinking * along * u[j]
    if not length < LONGEST:
        return math.inf
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += L[i, k] * L[j, k]
            B[i, j] = B[j, i] = sizes[i] * sizes[j] * total
    return squares


@inlined
def shorten(z: FloatArray, norm: float, radius: float) -> None:
    """Bring z, which has this norm, to that length."""
    factor = radius / norm
    for i in range(z.shape[0]):
        z[i] *= factor


@kernel
def _solve_shifted(a: FloatArray, b: FloatArray, lam: float, pivot: FloatArray, x: FloatArray) -> None:
    """X ← (I + lam·T)⁻¹ x for the symmetric tridiagonal T with diagonal a and off-diagonal b; pivot is scratch."""
    m = x.shape[0]
    pivot[0] = 1.0 + lam * a[0]
    for i in range(1, m):
        factor = lam * b[i - 1] / pivot[i - 1]
        pivot[i] = 1.0 + lam * a[i] - factor * lam * b[i - 1]
        x[i] -= factor * x[i - 1]
    x[m - 1] /= pivot[m - 1]
    for i in range(m - 2, -1, -1):
        x[i] = (x[i] - lam * b[i] * x[i + 1]) / pivot[i]


@kernel
def _multiplier(a: FloatArray, b: FloatArray, norm: float, radius: float, lam: float, z: FloatArray) -> float:
    """The lam ≥ 0 with ‖z‖ = radius for z = (I + lam·T)⁻¹ norm·e_1, from a guess at it; writes z.

    1/‖z‖ is concave in lam, so one of Newton's steps from above the root leads below it, and the steps from there rise
    to it and never overshoot.
    """
    m = z.shape[0]
    Tz, pivot = np.empty(m), np.empty(m)
    for k in range(200):
        z[:] = 0.0
        z[0] = norm
        _solve_shifted(a, b, lam, pivot, z)
        length = math.sqrt(dot(z, z))
        if abs(length - radius) <= 1e-15 * radius or (k > 0 and length < radius):
            break
        for i in range(m):
            Tz[i] = a[i] * z[i]
            if i > 0:
                Tz[i] += b[i - 1] * z[i - 1]
            if i < m - 1:
                Tz[i] += b[i] * z[i + 1]
        _solve_shifted(a, b, lam, pivot, Tz)
        next_lam = max(lam + (length - radius) / radius * length * length / dot(z, Tz), 0.0)
        if k > 0 and next_lam <= lam:
            break
        lam = next_lam
    return lam


@kernel
def _add(x: FloatArray, y: FloatArray, factor: float) -> None:
    """X ← x + factor·y."""
    for i in range(x.shape[0]):
        x[i] += factor * y[i]


@kernel
def project_on_ball(B: FloatArray, v: FloatArray, radius: float, tolerance: float) -> FloatArray:
    """(I + lam·B)⁻¹ v with norm radius: Lanczos on (B, v) until the residual is below tolerance·radius.

    Of B only the lower triangle counts (see `smidgen.geometry.symmetric`).
    """
    n, m, lam = v.shape[0], 1, 0.0
    norm = math.sqrt(dot(v, v))
    Q = np.empty((min(n, 16), n))
    a, b, z, u = np.empty(n), np.zeros(n), np.empty(n), np.empty(n)
    for i in range(n):
        Q[0, i] = v[i] / norm
    while True:
        a[m - 1] = multiply(B, Q[m - 1], u, m % 2 == 0)
        for _ in range(2):  # full reorthogonalisation, twice: the basis is short, so this is cheap
            for k in range(m):
                _add(u, Q[k], -dot(u, Q[k]))
        b[m - 1] = math.sqrt(dot(u, u))
        lam = _multiplier(a[:m], b[:m], norm, radius, lam, z[:m])
        # Lanczos: (I + lam·B)Qᵀz − v = lam·b_m·z_m·q_{m+1}, so this is the residual, and it bounds the error
        if m == n or lam * b[m - 1] * abs(z[m - 1]) <= tolerance * radius:
            break
        if m == Q.shape[0]:
            more = np.empty((min(n, 2 * m), n))
            more[:m] = Q
            Q = more
        for i in range(n):
            Q[m, i] = u[i] / b[m - 1]
        m += 1
    w = np.zeros(n)
    for k in range(m):
        _add(w, Q[k], z[k])
    length = math.sqrt(dot(w, w))
    if not (0.0 < length < math.inf):  # rounding has left nothing of the metric: the shortest way, then
        return v * (radius / norm)
    return w * min(1.0, radius / length)


@kernel
def embed_in_box(z: FloatArray, low: FloatArray, centre: FloatArray, high: FloatArray, x: FloatArray) -> None:
    """X = centre + z; what is inside, up to rounding, does not leave the limits."""
    for i in range(z.shape[0]):
        x[i] = centre[i] + z[i]
        half = (high[i] - low[i]) / 2.0
        if abs(z[i]) <= half + 1e-14 * (abs(centre[i]) + half):
            x[i] = min(max(x[i], low[i]), high[i])


@kernel
def clip_to_box(z: FloatArray, half: FloatArray) -> None:
    """Z ← argmin over u in the box of ‖u − z‖²: every coordinate clipped."""
    for i in range(z.shape[0]):
        z[i] = min(max(z[i], -half[i]), half[i])


@kernel
def lift(z: FloatArray, x: FloatArray) -> None:
    """X = Q·z."""
    n, total = z.shape[0], 0.0
    for i in range(n):
        total += z[i]
    root = math.sqrt(n + 1.0)
    for i in range(n):
        x[i] = z[i] - total / (n + 1.0 + root)
    x[n] = -total / root


@kernel
def along_simplex(g: FloatArray, out: FloatArray) -> None:
    """Out = Qᵀg: what of a gradient lies along the simplex."""
    n, total = out.shape[0], 0.0
    root = math.sqrt(n + 1.0)
    for i in range(n):
        total += g[i]
    shift = total / (n + 1.0 + root) + float(g[n]) / root
    for i in range(n):
        out[i] = g[i] - shift


@kernel
def embed_in_simplex(z: FloatArray, floor: float, x: FloatArray) -> None:
    """X = 1/dim + Q·z; what is inside does not fall below the floor by rounding."""
    lift(z, x)
    n = x.shape[0]
    for i in range(n):
        x[i] += 1.0 / n
        if floor - 1e-14 < x[i] < floor:
            x[i] = floor


@kernel
def to_shares(values: FloatArray, total: float) -> None:
    """`nearest_shares`, in place: max(values − τ, 0) with the τ for which they add up to the total."""
    n, highest = values.shape[0], values.max()
    for i in range(n):
        values[i] -= highest  # the positive shares lie within `total` of the largest: no digits are lost
    falling = np.sort(values)
    added, tau = 0.0, 0.0
    for k in range(1, n + 1):
        value = falling[n - k]
        added += value
        if value * k > added - total:
            tau = (added - total) / k
    for i in range(n):
        values[i] = max(values[i] - tau, 0.0)


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


TOLERANCE = 1e-10  # that of `Space.project_in_norm`


@kernel
def embed(region: Region, z: FloatArray, x: FloatArray) -> None:
    """Write the point x with the free coordinates z, as `Space.embed` does."""
    if region.kind == BOX:
        embed_in_box(z, region.low, region.centre, region.high, x)
    elif region.kind == SIMPLEX:
        embed_in_simplex(z, region.low[0], x)
    else:
        x[:] = z


@kernel
def along(region: Region, g: FloatArray, out: FloatArray) -> None:
    """Write the gradient g with respect to x as one with respect to z, as `Space.direction` does."""
    if region.kind == SIMPLEX:
        along_simplex(g, out)
    else:
        out[:] = g


@kernel
def inside(region: Region, z: FloatArray, norm: float, x: FloatArray) -> bool:
    """Check whether z, which has this norm, lies in the set; x is scratch."""
    within = True
    if region.kind == BALL:
        within = norm <= float(region.bounds[0])
    elif region.kind == BOX:
        for i in range(z.shape[0]):
            within = within and abs(z[i]) <= region.bounds[i]
    else:
        lift(z, x)
        for i in range(region.dim):
            within = within and x[i] >= -region.bounds[0]
    return within


@kernel
def to_nearest(region: Region, z: FloatArray, norm: float, x: FloatArray) -> None:
    """Move z, which has this norm and may lie outside, to the nearest point of the set: the Euclidean projection."""
    if inside(region, z, norm, x):
        return
    if region.kind == BALL:
        shorten(z, norm, region.bounds[0])
    elif region.kind == BOX:
        clip_to_box(z, region.bounds)
    else:
        lift(z, x)
        to_shares(x, region.dim * region.bounds[0])
        along_simplex(x, z)


@kernel
def to_nearest_in_norm(region: Region, z: FloatArray, inverse: FloatArray, x: FloatArray) -> None:
    """Move z, which lies outside, to the nearest point of the set in the norm of A, given A⁻¹ (and zeros beyond)."""
    if region.kind == BALL:
        z[:] = project_on_ball(inverse, z, region.bounds[0], TOLERANCE)
        return
    move_to_nearest(z, inverse, region.kind, region.bounds, TOLERANCE)
    squares = 0.0
    for i in range(z.shape[0]):
        squares += z[i] * z[i]
    to_nearest(region, z, math.sqrt(squares), x)
