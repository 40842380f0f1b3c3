"""The references: naive, slow, obvious versions of what the package does quickly.

Plain Python loops and plain numpy, nothing imported from the package. A fast version earns its place by agreeing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# --- structures: joint feature maps, argmax, clicks ------------------------------------------------------------------


def discount(position: int) -> float:
    """1/log2(i + 1) for the position i = 1, 2, …"""
    return 1.0 / math.log2(position + 1)


def scores(rows: Any, w: Any) -> list[float]:
    """One inner product per row, summed in the order of the features."""
    found = []
    for row in rows:
        total = 0.0
        for value, weight in zip(row, w, strict=True):
            total += float(value) * float(weight)
        found.append(total)
    return found


def ranking_phi(docs: Any, y: Sequence[int], top: int) -> FloatArray:
    """Σ_{i ≤ top} docs[y_i] / log2(i + 1)."""
    phi = np.zeros(len(docs[0]))
    for position, document in enumerate(list(y)[:top], start=1):
        for feature in range(len(phi)):
            phi[feature] += discount(position) * docs[document][feature]
    return phi


def ranking_utility(score: Sequence[float], y: Sequence[int], top: int) -> float:
    """w·φ, by the scores of the documents."""
    return sum(discount(i) * score[document] for i, document in enumerate(list(y)[:top], start=1))


def best_first(documents: Iterable[int], value: Any) -> list[int]:
    """By descending value; equals keep their order. Picks the first of the best again and again."""
    left, order = list(documents), []
    while left:
        best = left[0]
        for document in left[1:]:
            if value[document] > value[best]:
                best = document
        left.remove(best)
        order.append(best)
    return order


def ranking_argmax(docs: Any, w: Any) -> list[int]:
    """All documents by descending score; equals keep the given order."""
    return best_first(range(len(docs)), scores(docs, w))


def choice_argmax(items: Any, w: Any, available: Iterable[int]) -> int:
    """The first of the available items with the highest score."""
    return best_first(sorted(available), scores(items, w))[0]


def to_the_front(shown: Sequence[int], front: Sequence[int]) -> list[int]:
    """Some documents first, in their own order; the rest as shown."""
    return [*front, *[document for document in shown if document not in front]]


def from_clicks(shown: Sequence[int], clicked: Iterable[int]) -> list[int]:
    """Clicked documents first, in the order of the first click on each."""
    front: list[int] = []
    for document in clicked:
        if document not in front:
            front.append(document)
    return to_the_front(shown, front)


# --- users -----------------------------------------------------------------------------------------------------------

ROUNDING = 1e-12


def informative(before: float, after: float, best: float, alpha: float) -> bool:
    """Eq. 5: U(ȳ) − U(y) ≥ α(U(y*) − U(y)), up to rounding."""
    return after - before >= alpha * (best - before) - ROUNDING * (abs(best) + abs(before))


def strict_alpha_ranking(score: Sequence[float], shown: Sequence[int], top: int, alpha: float) -> list[int]:
    """The shortest prefix of the shown list whose best ``top`` documents, moved to the top, satisfy eq. 5."""
    before = ranking_utility(score, shown, top)
    best = ranking_utility(score, best_first(range(len(score)), score), top)
    for k in range(1, len(shown) + 1):
        better = to_the_front(shown, best_first(shown[:k], score)[:top])
        if informative(before, ranking_utility(score, better, top), best, alpha):
            return better
    raise AssertionError("the whole list, sorted, is the best ranking")


def strict_alpha_choice(score: Sequence[float], shown: int, available: Iterable[int], alpha: float) -> int:
    """The least useful available item that satisfies eq. 5; the shown one if nothing is better."""
    offered = sorted(available)
    best = max(score[item] for item in offered)
    if score[shown] >= best:
        return shown
    enough = [item for item in offered if informative(score[shown], score[item], best, alpha)]
    return min(enough, key=lambda item: score[item])


def noisy_depth(labels: Sequence[float], shown: Sequence[int], top: int, depth: int) -> list[int]:
    """The best ``top`` by label of the first ``depth`` documents, in front."""
    return to_the_front(shown, best_first(shown[:depth], labels)[:top])


# --- the dueling bandit's interleaving -------------------------------------------------------------------------------


def is_team_draft(order: Sequence[int], teams: Sequence[int], first: Sequence[int], second: Sequence[int]) -> bool:
    """True if two captains could have picked this list in turns, each taking its best document left."""
    taken: list[int] = []
    for place, (document, team) in enumerate(zip(order, teams, strict=True)):
        wish = next(d for d in (first, second)[team] if d not in taken)
        if document != wish or (place % 2 == 1 and team == teams[place - 1]):
            return False
        taken.append(document)
    return True


def team_draft_credit(shown: Sequence[int], teams: Sequence[int], better: Sequence[int], top: int) -> tuple[int, int]:
    """Number of the user's first ``top`` documents that each team contributed."""
    count = [0, 0]
    for document in list(better)[:top]:
        for place, contributed in enumerate(shown):
            if contributed == document:
                count[teams[place]] += 1
    return count[0], count[1]


# --- the theorems, for scalars; the slack is the sequence ξ_1 … ξ_T --------------------------------------------------


def bound_preference_perceptron(T: int, R: float, w_norm: float, alpha: float, slack: Sequence[float]) -> float:
    """Theorem 1."""
    return sum(slack[:T]) / (alpha * T) + 2 * R * w_norm / (alpha * math.sqrt(T))


def bound_expected_preference_perceptron(
    T: int, R: float, w_norm: float, alpha: float, slack: Sequence[float]
) -> float:
    """Corollary 2: the same in expectation."""
    return sum(slack[:T]) / (alpha * T) + 2 * R * w_norm / (alpha * math.sqrt(T))


def bound_below(T: int) -> float:
    """Lemma 3."""
    return 2 / math.sqrt(T)


def bound_batch_preference_perceptron(
    T: int, R: float, w_norm: float, alpha: float, batch: int, slack: Sequence[float]
) -> float:
    """Lemma 4."""
    return sum(slack[:T]) / (alpha * T) + 2 * R * w_norm * math.sqrt(batch) / (alpha * math.sqrt(T))


def bound_exponentiated_preference_perceptron(
    T: int, S: float, n_features: int, alpha: float, slack: Sequence[float], w_norm: float, horizon: int
) -> float:
    """Theorem 5, mended: ‖w*‖₁·(log N/η + η·(2S)²·T)/(αT) with η = 1/(2S√horizon), and the slack."""
    rate = 1 / (2 * S * math.sqrt(horizon))
    progress = math.log(n_features) / rate + rate * (2 * S) ** 2 * T
    return sum(slack[:T]) / (alpha * T) + w_norm * progress / (alpha * T)


def bound_convex_preference_perceptron(
    T: int, R: float, diameter: float, alpha: float, slack: Sequence[float], lipschitz: float, scale: float
) -> float:
    """Theorem 6, mended, for the step scale/√t."""
    clipped = sum(max(0.0, xi) for xi in slack[:T])
    noise = 2 * lipschitz * clipped / (alpha * T)
    start = diameter**2 / (2 * scale * math.sqrt(T)) + diameter**2 / T
    steps = 4 * R**2 * scale / math.sqrt(T)
    return noise + lipschitz / alpha * (start + steps)


def bound_second_order_preference_perceptron(
    T: int,
    R: float,
    diameter: float,
    dim: int,
    alpha: float,
    gamma: float,
    epsilon: float,
    lipschitz: float,
    slack: Sequence[float],
) -> float:
    """Theorem 8, mended."""
    clipped = [max(0.0, xi) for xi in slack[:T]]
    squares = lipschitz * gamma * sum(xi**2 for xi in clipped) / (2 * alpha**2 * T)
    noise = 2 * lipschitz * sum(clipped) / (alpha * T)
    start = lipschitz * epsilon * diameter**2 / (alpha * T)
    volume = lipschitz * dim * math.log(4 * R**2 * T * gamma / epsilon + 1) / (2 * gamma * alpha * T)
    return squares + noise + start + volume


# --- geometry and update rules ---------------------------------------------------------------------------------------


def project_ball(v: FloatArray, radius: float) -> FloatArray:
    """The nearest point of the ball."""
    norm = math.sqrt(sum(x * x for x in v))
    return v.copy() if norm <= radius else v * (radius / norm)


def project_ball_in_norm(v: FloatArray, A: FloatArray, radius: float) -> FloatArray:
    """argmin (u − v)ᵀA(u − v) with ‖u‖ ≤ radius: a full eigendecomposition and a bisection on the multiplier."""
    if np.linalg.norm(v) <= radius:
        return v.copy()
    values, vectors = np.linalg.eigh(A)
    c = values * (vectors.T @ v)
    low, high = 0.0, 1.0
    while np.linalg.norm(c / (values + high)) > radius:
        high *= 2.0
    for _ in range(200):
        middle = (low + high) / 2
        if np.linalg.norm(c / (values + middle)) > radius:
            low = middle
        else:
            high = middle
    return vectors @ (c / (values + high))


def gradient(steps: FloatArray, radius: float, scale: float) -> FloatArray:
    """Projected gradient steps of length scale/√t."""
    w = np.zeros(steps.shape[1])
    for t, direction in enumerate(steps, start=1):
        w = project_ball(w + scale / math.sqrt(t) * direction, radius)
    return w


def newton(
    steps: FloatArray, radius: float, gamma: float, epsilon: float, scale: float
) -> tuple[FloatArray, FloatArray]:
    """Online Newton steps with A itself, a linear solve per round, and the slow projection."""
    n = steps.shape[1]
    w, A = np.zeros(n), epsilon * np.eye(n)
    for direction in steps:
        A = A + gamma * np.outer(direction, direction)
        w = project_ball_in_norm(w + scale * np.linalg.solve(A, direction), A, radius)
    return w, A


def exponentiated(steps: FloatArray, S: float, horizon: int | None, signed: bool) -> FloatArray:
    """Multiply, normalise, on doubled features if signed; the folded vector."""
    n = steps.shape[1]
    N = 2 * n if signed else n
    w = [1.0 / N] * N
    for t, direction in enumerate(steps, start=1):
        eta = 1.0 / (2.0 * S * math.sqrt(t if horizon is None else horizon))
        doubled = [*direction, *(-direction)] if signed else list(direction)
        w = [w_i * math.exp(eta * d_i) for w_i, d_i in zip(w, doubled, strict=True)]
        total = sum(w)
        w = [w_i / total for w_i in w]
    return np.array(w[:n]) - np.array(w[n:]) if signed else np.array(w)


# --- the nearest point of a polytope, in rational numbers ------------------------------------------------------------

Row = list[Fraction]
Face = tuple[list[Row], Row]  # the equations E u = f


def rational(values: Any) -> Any:
    """Floats are rational numbers: the same values, without rounding from here on."""
    return [rational(value) for value in values] if hasattr(values, "__len__") else Fraction(float(values))


def solve_rational(M: list[Row], rhs: Row) -> Row | None:
    """Gauss' elimination; None if M is singular."""
    n = len(M)
    table = [[*M[i], rhs[i]] for i in range(n)]
    for k in range(n):
        pivot = next((i for i in range(k, n) if table[i][k] != 0), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        for i in range(n):
            if i != k and table[i][k] != 0:
                factor = table[i][k] / table[k][k]
                table[i] = [a - factor * b for a, b in zip(table[i], table[k], strict=True)]
    return [table[k][n] / table[k][k] for k in range(n)]


def dot(a: Row, b: Row) -> Fraction:
    """The inner product of two rational rows."""
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def box_faces(half: Row) -> list[Face]:
    """Every coordinate free, at −half or at +half."""
    n, faces = len(half), []
    for choice in itertools.product((0, -1, 1), repeat=n):
        tight = [i for i in range(n) if choice[i]]
        faces.append(([unit(i, n) for i in tight], [choice[i] * half[i] for i in tight]))
    return faces


def floor_faces(rows: list[Row], depth: Fraction) -> list[Face]:
    """Every set of fewer than all of the constraints rows_i·u = −depth."""
    n = len(rows[0])
    chosen = [c for k in range(n + 1) for c in itertools.combinations(range(len(rows)), k)]
    return [([rows[i] for i in c], [-depth for _ in c]) for c in chosen]


def l1_faces(n: int, radius: Fraction) -> list[Face]:
    """Some coordinates zero, the others with given signs and the sum of their absolute values equal to the radius."""
    faces: list[Face] = []
    for signs in itertools.product((-1, 0, 1), repeat=n):
        zero = [i for i in range(n) if signs[i] == 0]
        if len(zero) < n:
            row = [Fraction(s) for s in signs]
            faces.append(([*(unit(i, n) for i in zero), row], [*(Fraction(0) for _ in zero), radius]))
    return faces


def unit(i: int, n: int) -> Row:
    """The i-th unit vector."""
    return [Fraction(int(i == j)) for j in range(n)]


def project_faces_in_norm(v: Any, inverse: Any, faces: list[Face], inside: Callable[[Row], bool]) -> FloatArray:
    """argmin (u − v)ᵀA(u − v) over a polytope, given A⁻¹: the best point of every face's plane that is in the set.

    The solution lies inside just one face, and is the best point of its plane; and no candidate is outside. Exact.
    """
    v, H = rational(v), rational(inverse)
    best, found = None, None
    for E, f in faces:
        HE = [[dot(row, e) for row in H] for e in E]
        mu = solve_rational(
            [[dot(e, he) for he in HE] for e in E], [dot(e, v) - f_i for e, f_i in zip(E, f, strict=True)]
        )
        if mu is None:
            continue
        u = [v[i] - sum((m * he[i] for m, he in zip(mu, HE, strict=True)), Fraction(0)) for i in range(len(v))]
        if inside(u):
            distance = dot(mu, [dot(e, v) - f_i for e, f_i in zip(E, f, strict=True)])
            if best is None or distance < best:
                best, found = distance, u
    assert found is not None, "the polytope is empty"
    return np.array([float(x) for x in found])
