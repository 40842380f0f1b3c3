"""Losses: convex ones of the utility gap, for regret, and streams of losses of a point, for the tune loop.

Of a stream, round t has a convex f_t, and the tune loop chooses x. Rounds count from 0, as the rows of an array do.
Bounds on losses and slopes are worst cases over the ball that the space lies in (its centre and `outer_radius`): they
hold, and they are not the smallest.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from smidgen import checks
from smidgen._core import losses as core
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument
from smidgen.geometry import Space
from smidgen.theory.base import Linear, Loss, Quadratic

__all__ = ["LeastSquares", "Linear", "Logistic", "Loss", "PointLosses", "Portfolio", "Quadratic", "Repeated"]

#: How near to the least value the search comes, relative to it, and after how many steps it gives up.
_TOLERANCE, _STEPS = 1e-10, 20_000


def minimise(f: Callable[[FloatArray], tuple[float, FloatArray]], space: Space) -> FloatArray:
    """Argmin of a convex f over the space, in free coordinates; f gives value and gradient.

    Accelerated projected gradients with a step that adapts, restarted when they overshoot (O'Donoghue, Candès).
    """
    z = ahead = best = np.zeros(space.free_dim)
    least, speed = math.inf, 1.0
    step = space.outer_radius / max(float(np.linalg.norm(f(z)[1])), 1e-300)
    for _ in range(_STEPS):
        value, gradient = f(ahead)
        while True:
            end = space.project(ahead - step * gradient)
            move = end - ahead
            reached, slope = f(end)
            allowed = value + gradient @ move + move @ move / (2.0 * step)
            if reached <= allowed + 1e-15 * abs(value) or step < 1e-14 * space.outer_radius:
                break
            step *= 0.5
        if reached < least:
            best, least = end, reached
        if slope @ (end - furthest_along(space, -slope)) <= _TOLERANCE * max(abs(reached), 1e-6):
            return end
        if gradient @ (end - z) > 0.0:
            speed = 1.0  # the momentum leads uphill
        faster = (1.0 + math.sqrt(1.0 + 4.0 * speed**2)) / 2.0
        ahead, z, speed = end + (speed - 1.0) / faster * (end - z), end, faster
        step *= 1.1
    return best


def furthest_along(space: Space, direction: FloatArray) -> FloatArray:
    """The point of the space that is furthest along a direction, up to 1e-9 of its size: a far point, projected."""
    length = float(np.linalg.norm(direction))
    return direction if length == 0.0 else space.project(direction * (1e9 * space.outer_radius / length))


LEAST_SQUARES, LOGISTIC, PORTFOLIO = 0, 1, 2


def _costs(kind: int, scores: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The losses of scores x·z_t of the point, and their slopes."""
    losses, slopes = np.empty(len(scores)), np.empty(len(scores))
    core.write_costs(kind, scores, targets, losses, slopes)
    return losses, slopes


class PointLosses(ABC):
    """A convex loss f_t of a point for every round t, which counts from 0.

    To write your own, say what is abstract here; `smidgen.tune` plays it.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __call__(self, t: int, x: FloatArray) -> float:
        """f_t(x)."""

    @abstractmethod
    def gradient(self, t: int, x: FloatArray) -> FloatArray:
        """∇f_t(x)."""

    @abstractmethod
    def bound(self, space: Space) -> float:
        """F: |f_t(x)| is at most this, for every round and every point of the space."""

    @abstractmethod
    def lipschitz(self, space: Space) -> float:
        """G: no f_t is steeper than this, along the space, at any of its points."""

    def check(self, space: Space, rounds: int | None = None) -> None:
        """Refuse a space that the losses are not made for, or more rounds than there are."""
        return

    def values(self, x: FloatArray, rounds: int | None = None) -> FloatArray:
        """The losses of one point in the first ``rounds`` rounds (in all, if left out)."""
        return np.array([self(t, x) for t in range(len(self) if rounds is None else rounds)])

    def mean(self, x: FloatArray, rounds: int | None = None) -> tuple[float, FloatArray]:
        """The mean of the first ``rounds`` losses at a point, and its gradient."""
        T = len(self) if rounds is None else rounds
        return float(self.values(x, T).mean()), np.mean([self.gradient(t, x) for t in range(T)], axis=0)

    def best(self, space: Space, rounds: int | None = None) -> FloatArray:
        """The best fixed point in hindsight: argmin over the space of the sum of the first ``rounds`` losses.

        Found by accelerated projected gradients. They end when the duality gap ∇·(x − u), u the point of the space that
        is best for the gradient, shows that the mean loss is within 1e-10 (of its scale) of the least one, or after
        20,000 steps; smooth losses get there.
        """
        self.check(space, rounds)
        return space.embed(minimise(lambda z: self._along(space, z, rounds), space))

    def _along(self, space: Space, z: FloatArray, rounds: int | None) -> tuple[float, FloatArray]:
        value, gradient = self.mean(np.asarray(space.embed(z)), rounds)
        return value, space.direction(gradient)


class RowLosses(PointLosses):
    """Losses of the inner product of the point with a row of features: of one kind each, by the kernels above."""

    kind: ClassVar[int]

    def __init__(self, name: str, rows: ArrayLike, y: ArrayLike | None = None) -> None:
        self.Z = _table(name, rows)
        self.y = np.zeros(len(self.Z)) if y is None else _targets(y, len(self.Z))

    def _cost(self, t: int, x: FloatArray) -> tuple[float, float]:
        return core.cost(self.kind, float(self.Z[t] @ x), float(self.y[t]))

    def __call__(self, t: int, x: FloatArray) -> float:
        """f_t(x)."""
        return self._cost(t, x)[0]

    def gradient(self, t: int, x: FloatArray) -> FloatArray:
        """∇f_t(x)."""
        return np.asarray(self._cost(t, x)[1] * self.Z[t])

    def values(self, x: FloatArray, rounds: int | None = None) -> FloatArray:
        """The losses of one point, all at once."""
        return _costs(self.kind, self.Z[:rounds] @ x, self.y[:rounds])[0]

    def mean(self, x: FloatArray, rounds: int | None = None) -> tuple[float, FloatArray]:
        """The mean loss at a point, and its gradient."""
        losses, slopes = _costs(self.kind, self.Z[:rounds] @ x, self.y[:rounds])
        return float(losses.mean()), slopes @ self.Z[:rounds] / len(losses)

    def __len__(self) -> int:
        return len(self.Z)

    def check(self, space: Space, rounds: int | None = None) -> None:
        """Refuse a space of another dimension, and more rounds than rows."""
        if space.dim != self.Z.shape[1]:
            raise InvalidArgument(
                f"the space has dim={space.dim} and a round has {self.Z.shape[1]} features",
                "give the same number of features to both",
            )
        if rounds is not None and not 1 <= rounds <= len(self):
            raise InvalidArgument(
                f"rounds is {rounds} and the stream has {len(self)}", "play the stream again from the start"
            )

    def _spread(self, space: Space) -> tuple[FloatArray, FloatArray]:
        """The scores of the centre, and how far they move per unit of distance."""
        self.check(space)
        slopes = np.array([space.direction(row) for row in self.Z])
        return self.Z @ space.centre, np.sqrt((slopes**2).sum(axis=1))


class LeastSquares(RowLosses):
    """Regression: f_t(x) = ½(x·z_t − y_t)².

    Parameters
    ----------
    Z
        One row of features z_t per round.
    y
        The targets, one number per round.

    Examples
    --------
    >>> import smidgen
    >>> loss = smidgen.losses.LeastSquares(Z=[[1.0, 0.0], [0.0, 2.0]], y=[0.5, 1.0])
    >>> loss(1, [1.0, 1.0]), loss.gradient(1, [1.0, 1.0])
    (0.5, array([0., 2.]))
    >>> loss.best(smidgen.Ball(dim=2))
    array([0.5, 0.5])
    """

    kind = LEAST_SQUARES

    def __init__(self, *, Z: ArrayLike, y: ArrayLike) -> None:
        super().__init__("Z", Z, y)

    def bound(self, space: Space) -> float:
        """½(|c·z − y| + R‖z‖)², the largest of all rounds; c is the centre, R the outer radius."""
        return 0.5 * float(self._furthest(space).max()) ** 2

    def lipschitz(self, space: Space) -> float:
        """(|c·z − y| + R‖z‖)·‖z‖, the largest of all rounds."""
        return float((self._furthest(space) * self._spread(space)[1]).max())

    def exp_concavity(self, space: Space) -> float:
        """α = 1/(2F): exp(−α·f_t) is concave, as `smidgen.ONS` asks."""
        return 1.0 / (2.0 * self.bound(space))

    def _furthest(self, space: Space) -> FloatArray:
        centre, slope = self._spread(space)
        return np.asarray(np.abs(centre - self.y) + space.outer_radius * slope)


class Logistic(RowLosses):
    """Classification: f_t(x) = log(1 + exp(−y_t·x·z_t)).

    Parameters
    ----------
    Z
        One row of features z_t per round.
    y
        The classes, +1 or −1, one per round.

    Examples
    --------
    >>> import smidgen
    >>> loss = smidgen.losses.Logistic(Z=[[1.0, 0.0], [0.0, 2.0]], y=[1, -1])
    >>> loss(0, [0.0, 0.0]), loss.gradient(0, [0.0, 0.0])
    (0.6931, array([-0.5, -0. ]))
    """

    kind = LOGISTIC

    def __init__(self, *, Z: ArrayLike, y: ArrayLike) -> None:
        super().__init__("Z", Z, y)
        if not np.isin(self.y, (-1.0, 1.0)).all():
            raise InvalidArgument("y holds other values than +1 and −1", "give y = 2·label − 1 for labels 0 and 1")

    def bound(self, space: Space) -> float:
        """log(1 + exp(R‖z‖ − y·c·z)), the largest of all rounds; c is the centre, R the outer radius."""
        return float(np.logaddexp(0.0, -self._lowest(space)).max())

    def lipschitz(self, space: Space) -> float:
        """‖z‖/(1 + exp(y·c·z − R‖z‖)), the largest of all rounds."""
        return float((_doubt(self._lowest(space)) * self._spread(space)[1]).max())

    def exp_concavity(self, space: Space) -> float:
        """α = exp(m), m the least margin y·x·z: exp(−α·f_t) is concave, as `smidgen.ONS` asks."""
        return float(np.exp(self._lowest(space).min()))

    def _lowest(self, space: Space) -> FloatArray:
        centre, slope = self._spread(space)
        return np.asarray(self.y * centre - space.outer_radius * slope)


class Portfolio(RowLosses):
    """Returns of a portfolio, to be maximised: f_t(x) = −x·r_t.

    Parameters
    ----------
    returns
        One row per round: the return r of every asset, 0.02 for two per cent. x are the shares of a `Simplex`.

    Examples
    --------
    >>> import smidgen
    >>> loss = smidgen.losses.Portfolio(returns=[[0.02, -0.01], [0.01, 0.03]])
    >>> loss(0, [0.5, 0.5])  # half a per cent was earned, so the loss is negative
    -0.005
    >>> loss.best(smidgen.Simplex(dim=2))  # all of it in the first: 3 per cent against 2
    array([1., 0.])
    """

    kind = PORTFOLIO

    def __init__(self, *, returns: ArrayLike) -> None:
        super().__init__("returns", returns)

    def bound(self, space: Space) -> float:
        """|c·r| + R‖r‖, the largest of all rounds; c is the centre, R the outer radius."""
        centre, slope = self._spread(space)
        return float((np.abs(centre) + space.outer_radius * slope).max())

    def lipschitz(self, space: Space) -> float:
        """‖r‖ along the space, the largest of all rounds."""
        return float(self._spread(space)[1].max())


class Repeated(PointLosses):
    """A loss that does not change between rounds: any convex callable f(x).

    Parameters
    ----------
    f
        The function: an array goes in, a number comes out.
    gradient
        Its gradient; central differences of f, which look 1e-6 beyond the point, if left out.
    rounds
        Number of rounds; `smidgen.tune` can set it instead.
    bound, lipschitz
        F and G over the space, if known: nothing can be said of a function that can only be called.

    Examples
    --------
    >>> import smidgen
    >>> loss = smidgen.losses.Repeated(lambda x: float((x[0] - 0.25) ** 2), rounds=100, bound=0.6)
    >>> loss.best(smidgen.Box(low=[0.0], high=[1.0]))
    array([0.25])
    """

    def __init__(
        self,
        f: Callable[[FloatArray], float],
        gradient: Callable[[FloatArray], FloatArray] | None = None,
        *,
        rounds: int | None = None,
        bound: float | None = None,
        lipschitz: float | None = None,
    ) -> None:
        if not callable(f):
            raise InvalidArgument(
                f"f is {f!r} and must be callable", "give a function of a point, e.g. lambda x: x @ x"
            )
        self._f, self._gradient = f, gradient
        self._rounds = None if rounds is None else checks.whole("rounds", rounds, "omit it if unknown")
        self._F = None if bound is None else checks.number("bound", bound, "omit it if unknown", above=0.0)
        self._G = None if lipschitz is None else checks.number("lipschitz", lipschitz, "omit it", at_least=0.0)

    def __len__(self) -> int:
        if self._rounds is None:
            raise InvalidArgument("the number of rounds is not known", "give rounds=, here or to smidgen.tune")
        return self._rounds

    def __call__(self, t: int, x: FloatArray) -> float:
        """f(x), whatever t."""
        return float(self._f(np.asarray(x)))

    def gradient(self, t: int, x: FloatArray) -> FloatArray:
        """The gradient that was given, or central differences."""
        if self._gradient is not None:
            return np.asarray(self._gradient(np.asarray(x)), dtype=np.float64)
        step = 1e-6 * np.eye(len(x))
        return np.array([(self(t, x + e) - self(t, x - e)) / 2e-6 for e in step])

    def values(self, x: FloatArray, rounds: int | None = None) -> FloatArray:
        """A loss that is constant over the rounds."""
        return np.full(len(self) if rounds is None else rounds, self(0, x))

    def mean(self, x: FloatArray, rounds: int | None = None) -> tuple[float, FloatArray]:
        """The loss and its gradient."""
        return self(0, x), self.gradient(0, x)

    def bound(self, space: Space) -> float:
        """The bound that was given."""
        if self._F is None:
            raise InvalidArgument("the largest |f| is not known", "give bound=, the largest |f(x)| over the space")
        return self._F

    def lipschitz(self, space: Space) -> float:
        """The Lipschitz constant that was given."""
        if self._G is None:
            raise InvalidArgument("the steepest slope of f is not known", "give lipschitz=, e.g. the largest gradient")
        return self._G


def _doubt(margin: Any) -> Any:
    """1/(1 + exp(margin)), without overflow."""
    return np.exp(-np.logaddexp(0.0, margin))


def _table(name: str, rows: ArrayLike) -> FloatArray:
    try:
        table = np.array(rows, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"{name} is not a table of numbers", "give one row of features per round") from error
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise InvalidArgument(
            f"{name} has shape {table.shape} and must be a table of finite numbers", "give one row per round"
        )
    return table


def _targets(y: ArrayLike, rounds: int) -> FloatArray:
    try:
        targets = np.array(y, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"y is {y!r} and must be numbers", "give one number per round") from error
    if targets.shape != (rounds,) or not np.isfinite(targets).all():
        raise InvalidArgument(
            f"y has shape {targets.shape} and must be {rounds} finite numbers", "give one number per row of Z"
        )
    return targets
