"""The references of the filter loop: dense matrices, linear solves, plain loops, one object per algorithm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from reference import project_ball_in_norm

FloatArray = np.ndarray


def threshold(c: float, t: int, heard: float) -> float:
    """−√(c·ln t / N), and −∞ while nothing has been forwarded."""
    return -math.sqrt(c * math.log(t) / heard) if heard else -math.inf


class SimpleFil:
    """Section 3: the share of relevant items among those forwarded."""

    def __init__(self) -> None:
        self.labels: list[bool] = []

    def margin(self, x: Any = None) -> float:
        return sum(self.labels) / len(self.labels) - 0.5 if self.labels else 0.0

    def forward(self, x: Any, t: int) -> bool:
        return self.margin() >= threshold(4.0, t, len(self.labels))

    def learn(self, x: Any, relevant: bool) -> None:
        self.labels.append(relevant)


class RidgeFil:
    """Eq. 3, with all examples kept and the estimate found again every time."""

    def __init__(
        self,
        dim: int,
        *,
        c: float = 5.0,
        a: float = 1.0,
        forgetting: float = 1.0,
        window: int | None = None,
        explore: str = "paper",
        constant: bool | None = None,
    ) -> None:
        self.explore, self.constant = explore, explore != "paper" if constant is None else constant
        self.dim, self.c, self.forgetting, self.window = dim + self.constant, c, forgetting, window
        self.a, self.width = a / 10 if explore in ("scarce", "patient", "sparing") else a, 0.0
        self.examples: list[tuple[FloatArray, float]] = []

    def counted(self) -> list[tuple[float, FloatArray, float]]:
        """The examples that still count: how much, x and y."""
        latest = self.examples if self.window is None else self.examples[-self.window :]
        ages = range(len(latest) - 1, -1, -1)
        return [(self.forgetting**age, x, y) for age, (x, y) in zip(ages, latest, strict=True)]

    def system(self) -> tuple[FloatArray, FloatArray]:
        counted = self.counted()
        X = np.array([x for _, x, _ in counted]).reshape(-1, self.dim)
        shares, y = np.array([share for share, _, _ in counted]), np.array([y for _, _, y in counted])
        return self.a * np.eye(self.dim) + (shares * X.T) @ X, X.T @ (shares * y)

    def weights(self) -> FloatArray:
        return np.linalg.solve(*self.system())

    def wide(self, x: FloatArray) -> FloatArray:
        return np.append(x, 1.0) if self.constant else x

    def margin(self, x: FloatArray) -> float:
        (A, b), z = self.system(), self.wide(x)
        return float(np.linalg.solve(A + np.outer(z, z), b) @ z)

    def heard(self) -> float:
        return sum(share for share, _, _ in self.counted())

    def relevant(self) -> float:
        return sum(share for share, _, y in self.counted() if y > 0)

    def threshold(self, t: int) -> float:
        if self.explore == "paper" or not self.heard():
            return threshold(self.c, t, self.heard())
        found, a, q = math.sqrt(0.1 * math.log(t) / (self.relevant() + 1)), self.a, self.width
        text = self.heard() >= 50 and a * q > 0.3
        if self.explore == "scarce" and not text:
            return -max(found, math.sqrt(2 * math.log(t) / self.heard()))
        if self.explore in ("patient", "sparing") and not text:
            longer = min(0.9, math.sqrt(0.15 * math.log(t) / (self.relevant() + 1)))
            patient = max(longer, math.sqrt(3 * math.log(t) / self.heard()))
            if self.explore == "patient" or a * q > 0.3:
                return -patient
            return -patient * min(1.0, (1.0 - self.relevant() / (self.heard() + 1)) / 0.75)
        factor = (1 + a * q) / (1 + q) if self.explore != "found" else 1.0
        return -max(found, math.sqrt(math.log(t) / self.heard())) * factor

    def forward(self, x: FloatArray, t: int) -> bool:
        return self.margin(x) >= self.threshold(t)

    def learn(self, x: FloatArray, relevant: bool) -> None:
        z = self.wide(x)
        width = float(z @ np.linalg.solve(self.system()[0], z))
        self.examples.append((z, 1.0 if relevant else -1.0))
        self.width += max(0.2, 1 / self.heard()) * (width - self.width)


class RidgeFull(RidgeFil):
    """Threshold zero, and all labels."""

    def forward(self, x: FloatArray, t: int) -> bool:
        return self.margin(x) >= 0.0


class PRidgeFil:
    """Figure 2, mended, with the slow projection."""

    def __init__(self, dim: int, *, a: float, p: float, draws: Any) -> None:
        self.A, self.w, self.p, self.draws = a * np.eye(dim), np.zeros(dim), p, draws
        self.projected = 0

    def margin(self, x: FloatArray) -> float:
        return float(self.w @ x)

    def forward(self, x: FloatArray, t: int) -> bool:
        return self.margin(x) >= 0.0 or self.draws(t) < self.p

    def learn(self, x: FloatArray, relevant: bool) -> None:
        y = 1.0 if relevant else -1.0
        self.A = self.A + np.outer(x, x)
        middle = self.w + (y - self.w @ x) * np.linalg.solve(self.A, x)
        self.projected += np.linalg.norm(middle) > 1.0
        self.w = project_ball_in_norm(middle, self.A, 1.0)


class Perceptron:
    """A step on every mistake."""

    def __init__(self, dim: int) -> None:
        self.w = np.zeros(dim)

    def margin(self, x: FloatArray) -> float:
        return float(self.w @ x)

    def forward(self, x: FloatArray, t: int) -> bool:
        return self.margin(x) >= 0.0

    def learn(self, x: FloatArray, relevant: bool) -> None:
        if self.forward(x, 0) != relevant:
            self.w = self.w + (x if relevant else -x)


class Stap:
    """Apple tasting around any of the judges that hear everything."""

    def __init__(self, inner: Any, draws: Any) -> None:
        self.inner, self.draws, self.surprises = inner, draws, 0

    def margin(self, x: FloatArray) -> float:
        return self.inner.margin(x)

    def chance(self, t: int) -> float:
        return min(1.0, math.sqrt((1 + self.surprises) / (t + 1)))

    def forward(self, x: FloatArray, t: int) -> bool:
        return self.margin(x) >= 0.0 or self.draws(t) < self.chance(t)

    def learn(self, x: FloatArray, relevant: bool) -> None:
        if self.margin(x) < 0.0 and relevant:
            self.surprises += 1
        self.inner.learn(x, relevant)
