"""The arithmetic of `QuadraticTuner`, compiled: a discounted quadratic surface, and candidates around its best point.

Points are z = 2x − 1 in [−1, 1]^d.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import inlined, kernel
from smidgen.decision import FloatArray
from smidgen.randomness import U64, philox
from smidgen.vector.lanes import fill, load, root, store
from smidgen.vector.normals import NORMALS, box_muller, take_apart

Words = NDArray[np.uint64]

RIDGE, FIRST_ERROR = 0.1, 0.05
#: Candidates of each of the two spreads; the present best point is one more.
EACH = 100
COUNT = 2 * EACH + 8  # twice eight at a time: the last seven are the best point again
WIDE, NARROW = 0.3, 0.1  # .15 and .05 of the edge, which is 2 long in z
#: Where the few numbers stand: losses learnt, discounted squared errors, the loss that counts .4 and the range above
#: it that counts as much again, whether all losses so far were the same, so that the range is not known yet, and
#: whether the latest loss lay far out (above: 1, below: −1).
LEARNT, ERRORS, LOW, RANGE, FLAT, SIDE, NUMBERS = 0, 1, 2, 3, 4, 5, 6
#: Where the settings stand in theirs.
KAPPA, FADING = 0, 1
#: Losses that the scale is taken from.
SCALE_ROUNDS = 8
#: So many ranges beyond what the scale knows a loss is far out; two in a row make it wider, at most tenfold at a time.
FAR, TENFOLD = 3.0, 10.0


def fresh_numbers() -> FloatArray:
    """The few numbers of a tuner that has learnt nothing."""
    numbers = np.zeros(NUMBERS)
    numbers[RANGE] = 1.0
    return numbers


def packed(width: float, forgetting: float) -> FloatArray:
    """The settings in one array, for `ask`."""
    settings = np.empty(2)
    settings[KAPPA], settings[FADING] = width, forgetting
    return settings


def losses_learnt(numbers: FloatArray) -> int:
    """How many losses the numbers know of."""
    return int(numbers[LEARNT])


def in_own_units(numbers: FloatArray, value: float) -> float:
    """A value of the surface in the unit of the losses."""
    return float(numbers[LOW] + (value - 0.4) / 0.4 * numbers[RANGE])


def features_of(dim: int) -> int:
    """The length of φ."""
    return 1 + dim + dim * (dim + 1) // 2


@inlined
def write_features(z: FloatArray, phi: FloatArray) -> None:
    """φ = [1, z_i, z_i·z_j with i ≤ j]."""
    d, k = z.shape[0], 1 + z.shape[0]
    phi[0] = 1.0
    for i in range(d):
        phi[1 + i] = z[i]
        for j in range(i, d):
            phi[k] = z[i] * z[j]
            k += 1


@kernel
def factorise(A: FloatArray, b: FloatArray, L: FloatArray, w: FloatArray) -> None:
    """A = LLᵀ, with 1/L_ii on the diagonal of L, and w = A⁻¹b."""
    p = b.shape[0]
    for i in range(p):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = 1.0 / math.sqrt(total)
            else:
                L[i, j] = total * L[j, j]
    for i in range(p):
        total = b[i]
        for k in range(i):
            total -= L[i, k] * w[k]
        w[i] = total * L[i, i]
    for i in range(p - 1, -1, -1):
        total = w[i]
        for k in range(i + 1, p):
            total -= L[k, i] * w[k]
        w[i] = total * L[i, i]


@kernel
def width_at(L: FloatArray, phi: FloatArray) -> float:
    """φᵀA⁻¹φ = ‖L⁻¹φ‖²."""
    p, total = phi.shape[0], 0.0
    v = np.empty(p)
    for i in range(p):
        s = phi[i]
        for k in range(i):
            s -= L[i, k] * v[k]
        v[i] = s * L[i, i]
        total += v[i] * v[i]
    return total


@kernel
def candidate_arrays(dim: int, features: int) -> tuple[Words, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Space for random words, normals, candidates by coordinate, their φ by feature, and two numbers of each."""
    pairs = dim * COUNT // 2  # whole blocks of eight, as COUNT holds such
    words, normals = np.empty((2, pairs), np.uint64), np.empty((NORMALS + 2, pairs))
    return words, normals, np.empty((dim, COUNT)), np.empty((features, COUNT)), np.empty((2, COUNT))


@inlined
def write_candidates(key: U64, number: int, best: FloatArray, words: Words, normals: FloatArray, Z: FloatArray) -> None:
    """Candidates around the best point, clipped to the cube, by coordinate: 100 wide, 100 narrow, the point itself."""
    pairs = normals.shape[1]
    for k in range(0, pairs, 2):
        words[0, k], words[1, k], words[0, k + 1], words[1, k + 1] = philox(key, np.uint64(k // 2), np.uint64(number))
    for k in range(pairs):
        take_apart(words[0, k], words[1, k], k, normals)
    box_muller(normals)
    drawn = normals[NORMALS:].reshape(Z.shape)
    for i in range(Z.shape[0]):
        centre = best[i]
        for c in range(COUNT):
            spread = WIDE if c < EACH else NARROW if c < 2 * EACH else 0.0
            Z[i, c] = min(max(centre + spread * drawn[i, c], -1.0), 1.0)


@inlined
def write_all_features(Z: FloatArray, F: FloatArray) -> None:
    """φ of every candidate, by feature."""
    d, k = Z.shape[0], 1 + Z.shape[0]
    for c in range(COUNT):
        F[0, c] = 1.0
    for i in range(d):
        for c in range(COUNT):
            F[1 + i, c] = Z[i, c]
        for j in range(i, d):
            for c in range(COUNT):
                F[k, c] = Z[i, c] * Z[j, c]
            k += 1


@inlined
def write_means(w: FloatArray, F: FloatArray, out: FloatArray) -> None:
    """w·φ of every candidate, eight at a time."""
    for c in range(0, COUNT, 8):
        total = fill(0.0)
        for k in range(w.shape[0]):
            total = total + fill(w[k]) * load(F, k * COUNT + c)
        store(out, c, total)


@inlined
def write_widths(L: FloatArray, F: FloatArray, V: FloatArray, out: FloatArray) -> None:
    """√(φᵀA⁻¹φ) of every candidate, twice eight at a time, as each sum waits; V has a row of them for each feature."""
    for c in range(0, COUNT, 16):
        total, other = fill(0.0), fill(0.0)
        for i in range(L.shape[0]):
            s, t = load(F, i * COUNT + c), load(F, i * COUNT + c + 8)
            for k in range(i):
                factor = fill(L[i, k])
                s, t = s - factor * load(V, k * 16), t - factor * load(V, k * 16 + 8)
            s, t = s * fill(L[i, i]), t * fill(L[i, i])
            store(V, i * 16, s)
            store(V, i * 16 + 8, t)
            total, other = total + s * s, other + t * t
        store(out, COUNT + c, root(total))
        store(out, COUNT + c + 8, root(other))


@inlined
def least(values: FloatArray) -> int:
    """The first candidate of least value among those that count."""
    best = 0
    for c in range(1, 2 * EACH + 1):
        if values[c] < values[best]:
            best = c
    return best


@kernel
def choose(
    best: FloatArray, L: FloatArray, w: FloatArray, deviation: float, key: U64, number: int, out: FloatArray
) -> bool:
    """The candidate of least w·φ − κs√(φᵀA⁻¹φ), given κs; whether it is another point than the best one."""
    words, normals, Z, F, values = candidate_arrays(best.shape[0], w.shape[0])
    write_candidates(key, number, best, words, normals, Z)
    write_all_features(Z, F)
    write_means(w, F, values)
    write_widths(L, F, np.empty((w.shape[0], 16)), values)
    for c in range(COUNT):
        values[0, c] -= deviation * values[1, c]
    chosen = least(values[0])
    other = False
    for i in range(best.shape[0]):
        out[i] = Z[i, chosen]
        other |= out[i] != best[i]
    return other


@kernel
def to_box(z: FloatArray, limits: FloatArray, out: FloatArray) -> None:
    """Write x = low + (high − low)(z + 1)/2, within the limits."""
    for i in range(z.shape[0]):
        low, high = limits[0, i], limits[1, i]
        out[i] = min(max(low + (high - low) * 0.5 * (z[i] + 1.0), low), high)


@kernel
def from_box(x: FloatArray, limits: FloatArray, out: FloatArray) -> bool:
    """Write z = 2(x − low)/(high − low) − 1; whether x lies within the limits."""
    inside = True
    for i in range(x.shape[0]):
        low, high = limits[0, i], limits[1, i]
        inside &= low <= x[i] <= high
        out[i] = 2.0 * (x[i] - low) / (high - low) - 1.0
    return inside


@kernel
def ask(
    best: FloatArray,
    L: FloatArray,
    w: FloatArray,
    numbers: FloatArray,
    settings: FloatArray,
    key: U64,
    number: int,
    limits: FloatArray,
    x: FloatArray,
) -> bool:
    """The point to play, of the box with these limits; ``settings`` by `packed`."""
    z = np.empty(best.shape[0])
    deviation = settings[KAPPA] * math.sqrt(variance(numbers, settings[FADING]))
    other = choose(best, L, w, deviation, key, number, z)
    to_box(z, limits, x)
    return other


@kernel
def move_best(best: FloatArray, w: FloatArray, key: U64, number: int) -> None:
    """x̂ ← the candidate of least w·φ."""
    words, normals, Z, F, values = candidate_arrays(best.shape[0], w.shape[0])
    write_candidates(key, number, best, words, normals, Z)
    write_all_features(Z, F)
    write_means(w, F, values)
    chosen = least(values[0])
    for i in range(best.shape[0]):
        best[i] = Z[i, chosen]


@kernel
def absorb(
    A: FloatArray, b: FloatArray, L: FloatArray, w: FloatArray, numbers: FloatArray, phi: FloatArray, y: float, f: float
) -> None:
    """One loss, in the tuner's own scale: errors, then A ← fA + (1−f)aI + φφᵀ, b ← fb + yφ, and what follows."""
    p, mean = b.shape[0], 0.0
    for i in range(p):
        mean += w[i] * phi[i]
    numbers[ERRORS] = f * numbers[ERRORS] + (y - mean) ** 2 / (1.0 + width_at(L, phi))
    for i in range(p):
        for j in range(i + 1):
            A[i, j] = f * A[i, j] + phi[i] * phi[j]
        A[i, i] += (1.0 - f) * RIDGE
        b[i] = f * b[i] + y * phi[i]
    factorise(A, b, L, w)
    numbers[LEARNT] += 1.0


@kernel
def clear(A: FloatArray, b: FloatArray, L: FloatArray, w: FloatArray, numbers: FloatArray) -> None:
    """As it was before the first loss."""
    A[:], b[:], L[:], w[:] = 0.0, 0.0, 0.0, 0.0
    for i in range(b.shape[0]):
        A[i, i], L[i, i] = RIDGE, 1.0 / math.sqrt(RIDGE)
    numbers[LEARNT], numbers[ERRORS] = 0.0, FIRST_ERROR


@kernel
def rescale(
    A: FloatArray, b: FloatArray, L: FloatArray, w: FloatArray, numbers: FloatArray, low: float, spread: float
) -> None:
    """Take another scale, as if it had been there from the first loss on."""
    old_low, old = numbers[LOW], numbers[RANGE]
    factor = old / spread
    shift = 0.4 + 0.4 * (old_low - low) / spread - 0.4 * factor
    for i in range(b.shape[0]):
        b[i] = factor * b[i] + shift * (A[i, 0] - (RIDGE if i == 0 else 0.0))
    numbers[ERRORS] *= factor * factor
    numbers[LOW], numbers[RANGE] = low, spread
    factorise(A, b, L, w)


@kernel
def variance(numbers: FloatArray, f: float) -> float:
    """s² = sse/(1 + min(n, 1/(1−f)))."""
    n = numbers[LEARNT]
    return float(numbers[ERRORS] / (1.0 + (n if f >= 1.0 else min(n, 1.0 / (1.0 - f)))))


@kernel
def scaled(numbers: FloatArray, loss: float) -> float:
    """A loss in the tuner's own scale: .4 for the least of the first eight, .8 for the greatest."""
    return float(0.4 + 0.4 * (loss - numbers[LOW]) / numbers[RANGE])


@kernel
def learn_first(
    points: FloatArray,
    losses: FloatArray,
    n: int,
    A: FloatArray,
    b: FloatArray,
    L: FloatArray,
    w: FloatArray,
    numbers: FloatArray,
    f: float,
) -> None:
    """The first losses anew, in the scale that they make together."""
    clear(A, b, L, w, numbers)
    numbers[LOW] = losses[:n].min()
    spread = losses[:n].max() - numbers[LOW]
    numbers[RANGE], numbers[FLAT] = (spread, 0.0) if spread > 0.0 else (1.0, 1.0)
    phi = np.empty(b.shape[0])
    for i in range(n):
        write_features(points[i], phi)
        absorb(A, b, L, w, numbers, phi, scaled(numbers, losses[i]), f)


@kernel
def learn_later(
    z: FloatArray,
    loss: float,
    A: FloatArray,
    b: FloatArray,
    L: FloatArray,
    w: FloatArray,
    numbers: FloatArray,
    f: float,
) -> None:
    """A later loss; one that lies far out counts for no more than `FAR`, a second one makes the scale wider."""
    low, spread, before = numbers[LOW], numbers[RANGE], numbers[SIDE]
    distance = max(low - loss, loss - low - spread)
    numbers[SIDE] = 0.0 if distance <= FAR * spread else 1.0 if loss > low else -1.0
    if numbers[FLAT] > 0.0:
        if loss != low:
            rescale(A, b, L, w, numbers, min(low, loss), abs(loss - low))
            numbers[FLAT] = 0.0
        numbers[SIDE] = 0.0
    elif numbers[SIDE] != 0.0 and numbers[SIDE] == before:
        wider = min(spread + distance, TENFOLD * spread)
        rescale(A, b, L, w, numbers, low + spread - wider if loss < low else low, wider)
    y = min(max(scaled(numbers, loss), 0.4 - 0.4 * FAR), 0.8 + 0.4 * FAR)
    phi = np.empty(b.shape[0])
    write_features(z, phi)
    absorb(A, b, L, w, numbers, phi, y, f)
