"""Banks of models written the slow, obvious way: dense matrices, no fading on demand, every sum from the beginning."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import randomness
from smidgen.randomness import DIRECTION

COSINES = 100
DISCOUNT = 0.999


def unit(x: Any) -> Any:
    """A row of unit length; zeros stay zeros."""
    length = np.linalg.norm(x)
    return x / length if length > 0 else x


class Lift:
    """Random cosines of a unit row, behind the row, at unit length."""

    def __init__(self, dim: int, seed: int) -> None:
        self.omega = np.array([randomness.normals(seed, j, COSINES, stream=DIRECTION) for j in range(dim)])
        self.phases = 2 * np.pi * randomness.uniforms(seed, 4096, COSINES, stream=DIRECTION)

    def __call__(self, x: Any) -> Any:
        row = unit(x)
        return unit(np.concatenate([row, np.sqrt(2 / COSINES) * np.cos(row @ self.omega + self.phases)]))


class Ridge:
    """Ridge regression by its normal equations."""

    def __init__(self, dim: int, start: float) -> None:
        self.A, self.b = start * np.eye(dim), np.zeros(dim)

    def moments(self, x: Any) -> tuple[float, float]:
        return float(np.linalg.solve(self.A, self.b) @ x), float(x @ np.linalg.solve(self.A, x))

    def learn(self, x: Any, y: float) -> None:
        self.A += np.outer(x, x)
        self.b += y * x


class Watch:
    """The leader, and whether rewards have fallen."""

    def __init__(self) -> None:
        self.gains: dict[str, list[float]] = {}
        self.rewards: list[float] = []

    def leader(self) -> str:
        best, found = 0.0, "plain"
        for name, gains in self.gains.items():
            weights = DISCOUNT ** np.arange(len(gains))[::-1]
            ahead = weights @ np.array(gains) - np.sqrt(weights @ np.square(gains))
            if ahead > best:
                best, found = ahead, name
        return found

    def take(self, plain: float, others: dict[str, float], reward: float) -> bool:
        for name, error in others.items():
            self.gains.setdefault(name, []).append(plain - error)
        self.rewards.append(reward)
        if len(self.rewards) < 200:
            return False
        kept = np.array(self.rewards[-500:])
        old, new = kept[:-100], kept[-100:]
        spread = np.var([*kept, 0.0, 1.0]) * (1 / len(new) + 1 / len(old))
        return bool(old.mean() - new.mean() > 5.0 * np.sqrt(spread))


class SlowBlocks:
    """Estimates of the candidates from the vector of a context: A of each block, and its candidate."""

    def __init__(self, columns: int) -> None:
        self.columns, self.most = columns, 1024 // columns
        self.shared = self._fresh()
        self.held: dict[Any, Any] = {}  # in the order of the places
        self.recent: list[Any] = []
        self.gains: list[float] = []
        self.errors: list[float] = []

    def _fresh(self) -> Any:
        return [0.1 * np.eye(self.columns), np.zeros(self.columns)]

    def _own(self, name: Any, groups: tuple[Any, ...]) -> list[Any]:
        keys = [("id", name), *(("group", each) for each in groups)]
        return [self.held[key] for key in keys if key in self.held]

    @staticmethod
    def _moments(block: Any, z: Any) -> tuple[float, float]:
        A, w = block
        return float(w @ z), float(z @ np.linalg.solve(A, z))

    def _in_use(self) -> bool:
        weights = DISCOUNT ** np.arange(len(self.gains))[::-1]
        ahead = weights @ np.array(self.gains)
        return bool(ahead >= 0 or ahead**2 <= 9 * (weights @ np.square(self.gains)))

    def add(self, f: float, v: float, name: Any, groups: tuple[Any, ...], z: Any) -> tuple[float, float]:
        if not self._in_use():
            return f, v
        weights = DISCOUNT ** np.arange(len(self.errors))[::-1]
        noise = min(1.0, (weights @ np.array(self.errors) + 1.5) / (weights.sum() + 10) / 0.15)
        f += self._moments(self.shared, z)[0]
        for block in self._own(name, groups):
            mean, spread = self._moments(block, z)
            f, v = f + mean, v + noise * spread
        free = len(self.held) < self.most
        fresh = [free for each in groups if ("group", each) not in self.held]
        if ("id", name) not in self.held:
            fresh.append(free or any(kind == "group" for kind, _ in self.held))
        return f, v + sum(fresh) * noise * (z @ z) / 0.1

    def learn(self, f: float, v: float, y: float, name: Any, groups: tuple[Any, ...], z: Any) -> tuple[float, float]:
        """The leader's moments with what the blocks said, if they counted."""
        self._claim(name, groups)
        own = [self.shared, *self._own(name, groups)]
        found = [self._moments(block, z) for block in own]
        mean, spread = (float(sum(part)) for part in zip(*found, strict=True))
        for block in own:
            u = np.linalg.solve(block[0], z)
            block[1] = block[1] + u * (y - f - mean) / (1 + spread)
            block[0] = block[0] + np.outer(z, z)
        counted = self._in_use()
        without, with_them = (np.clip(f, 0, 1) - y) ** 2, (np.clip(f + mean, 0, 1) - y) ** 2
        self.errors.append(min(without, with_them))
        if spread <= 0.5:
            self.gains.append(without - with_them)
        return (f + mean, v + spread) if counted else (f, v)

    def _claim(self, name: Any, groups: tuple[Any, ...]) -> None:
        self.recent = [*self.recent, name][-1000:]
        if ("id", name) not in self.held:
            loser = None
            if len(self.held) >= self.most:
                taken = [key for key in self.held if key[0] == "group"]
                least = min(self.held, key=lambda key: self.recent.count(key[1]))
                more = self.recent.count(name) > self.recent.count(least[1])
                loser = taken[-1] if taken else least if more else None
                if loser is None:
                    return
            self.held = {("id", name) if key == loser else key: block for key, block in self.held.items()}
            self.held["id", name] = self._fresh()
        for each in groups:
            if ("group", each) not in self.held and len(self.held) < self.most:
                self.held["group", each] = self._fresh()


class SlowChoiceBank:
    """ChoiceBank with full covariances, for candidates that have names or none."""

    def __init__(self, dim: int, seed: int = 0, width: float = 0.3, columns: int = 1) -> None:
        self.columns = columns
        self.dim, self.width, self.lift, self.restarts, self.rounds = dim, width, Lift(dim, seed), [], 0
        self._begin()

    def _begin(self) -> None:
        self.plain, self.curved, self.watch = Ridge(self.dim, 0.1), Ridge(self.dim + COSINES, 0.1), Watch()
        self.fast, self.evidence, self.gained = np.zeros(self.dim), 0.0, [0.0, 0.0]
        self.arms: dict[Any, list[tuple[int, float, float]]] = {}  # by name: round, reward, residual
        self.blocks = SlowBlocks(self.columns)

    def _arm(self, name: Any) -> tuple[float, float]:
        heard = [reward for _, reward, _ in self.arms.get(name, [])]
        return sum(heard) / (len(heard) + 0.2), 1 / (len(heard) + 0.2)

    def _led(self, x: Any, name: Any) -> tuple[float, float]:
        leads = self.watch.leader()
        if leads == "context-free":
            return self._arm(name)
        return self.plain.moments(unit(x)) if leads == "plain" else self.curved.moments(self.lift(x))

    def estimates(self, rows: Any, names: Any = None, vector: Any = None, groups: Any = None) -> tuple[Any, Any]:
        """The estimate and the width of each candidate."""
        found = []
        for k, x in enumerate(rows):
            name = self._name(x, None if names is None else names[k])
            f, v = self._led(x, name)
            heard = self.arms.get(name, [])
            if heard or names is not None:
                fade = np.array([0.995 ** (self.rounds - at) for at, _, _ in heard])
                n = fade.sum()
                f += float(fade @ np.array([left for _, _, left in heard])) / (n + 2) if heard else 0.0
                v += 1 / (n + 2)
            if vector is not None:
                f, v = self.blocks.add(f, v, name, groups[k] if groups else (), vector)
            found.append((f, self.width * np.sqrt(v)))
        return tuple(np.array(found).T)

    @staticmethod
    def _name(x: Any, name: Any) -> Any:
        if name is not None:
            return name
        there = np.flatnonzero(x)
        return int(there[0]) if len(there) == 1 else None

    def learn(self, x: Any, reward: float, name: Any = None, vector: Any = None, groups: tuple[Any, ...] = ()) -> None:
        """Let every model learn the reward of one row."""
        name = self._name(x, name)
        f, v = self._led(x, name)
        if vector is not None:
            f, v = self.blocks.learn(f, v, reward, name, groups, vector)
        self.rounds += 1
        errors = {}
        plain = (np.clip(self.plain.moments(unit(x))[0], 0, 1) - reward) ** 2
        errors["curved"] = (np.clip(self.curved.moments(self.lift(x))[0], 0, 1) - reward) ** 2
        if name is None:
            self.watch.gains.pop("context-free", None)  # there is no such model of this row
        else:
            errors["context-free"] = (np.clip(self._arm(name)[0], 0, 1) - reward) ** 2
            self.arms.setdefault(name, []).append((self.rounds, reward, (reward - f) / (1 + v)))
        self.plain.learn(unit(x), reward)
        self.curved.learn(self.lift(x), reward)
        fallen = self.watch.take(plain, errors, reward)
        if (vector is None and self._moved(unit(x), f, reward)) or fallen:
            self.restarts.append(self.rounds)
            self._begin()

    def _moved(self, row: Any, f: float, reward: float) -> bool:
        """True if a model that forgets quickly explains the rewards better than the leader alone."""
        if len(self.watch.rewards) <= 200:
            return False
        h = self.fast @ row
        slow, quick = np.clip([f, f + h], 0.05, 0.95)
        gain = reward * np.log(quick / slow) + (1 - reward) * np.log((1 - quick) / (1 - slow))
        usual = 4 * max(0.0, self.gained[0] / (self.gained[1] + 20))
        if len(self.watch.rewards) > 300:
            self.evidence = max(0.0, self.evidence + gain - 0.01 - usual)
        self.gained = [0.99 * self.gained[0] + gain, 0.99 * self.gained[1] + 1]
        self.fast = self.fast + 0.3 * (reward - f - h) * row
        return bool(self.evidence > 8.5)


class Hinge:
    """HingeConfidit's models with full covariances: one inverse per class."""

    def __init__(self, dim: int, classes: int) -> None:
        self.A = np.array([0.3 * np.eye(dim)] * classes)
        self.w = np.zeros((classes, dim))

    def scores(self, x: Any) -> tuple[Any, Any]:
        return self.w @ x, np.array([0.5 * np.sqrt(x @ np.linalg.solve(A, x)) for A in self.A])

    def learn(self, x: Any, c: int, reward: float) -> float:
        mean, target = float(self.w[c] @ x), -0.2 + 1.2 * reward
        if not ((reward >= 1 and mean >= 1) or (reward <= 0 and mean <= -0.2)):
            u = np.linalg.solve(self.A[c], x)
            self.w[c] += (target - mean) * u / (1 + x @ u)
            self.A[c] += np.outer(x, x)
        return float((np.clip(mean, -0.2, 1) - target) ** 2)


class SlowLabelBank:
    """LabelBank with full covariances."""

    def __init__(self, dim: int, classes: int, seed: int = 0) -> None:
        self.dim, self.classes, self.lift, self.restarts, self.rounds = dim, classes, Lift(dim, seed), [], 0
        self._begin()

    def _begin(self) -> None:
        self.plain, self.curved = Hinge(self.dim, self.classes), Hinge(self.dim + COSINES, self.classes)
        self.watch = Watch()

    def scores(self, x: Any) -> tuple[Any, Any]:
        """The leader's score and width of each class."""
        plain = self.watch.leader() == "plain"
        return self.plain.scores(unit(x)) if plain else self.curved.scores(self.lift(x))

    def learn(self, x: Any, c: int, reward: float) -> None:
        """Let both models learn how right class c was."""
        self.rounds += 1
        plain = self.plain.learn(unit(x), c, reward)
        if self.watch.take(plain, {"curved": self.curved.learn(self.lift(x), c, reward)}, reward):
            self.restarts.append(self.rounds)
            self._begin()
