"""QuadraticTuner: a quadratic surface through the observed losses, and the most promising point near its best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import tune
from smidgen.decision import Decision, FloatArray
from smidgen.errors import DecisionMismatch, InvalidArgument, SmidgenError
from smidgen.features import LONGEST, Row, as_row
from smidgen.geometry import Box
from smidgen.geometry.space import Space
from smidgen.knobs import MOST_COLUMNS, MOST_WITH_CONTEXT, Best, Knobs
from smidgen.learners.base import check_shapes, kept_row, register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.tune.base import Tuner, as_loss
from smidgen.randomness import COIN, DIRECTION, stream_key

#: Candidates of each of the two spreads; the present best point is one more, and fills the blocks up to COUNT.
EACH, COUNT = 100, 208
#: Where the few numbers stand that are read here, and how many there are: losses learned, their squared errors, the
#: loss that counts .4, and the range above it that counts as much again.
LEARNT, ERRORS, LOW, RANGE, NUMBERS = 0, 1, 2, 3, 6
#: Where the number of columns of the context seen stands, among two more.
SEEN = 0
#: The usual f, and that of a surface with a context.
WITHOUT, WITH_CONTEXT = 0.998, 0.9995
#: Losses that the scale is taken from.
SCALE_ROUNDS = 8
#: How many deviations above its mean a point must be safe, and how many times the terms over the losses more.
SURE, EARLY = 3.0, 0.4
#: Above MANY coordinates the surface has squares only; the first PAIRED columns of a context have products as well.
MANY, PAIRED = 10, 8
#: The most coordinates.
MOST = 64
LARGEST = 1e100  # the largest loss that can be squared and multiplied
_SAFE_HINT = 'give {"knobs": a setting known to be safe, "margin": how much more another may cost}'


def features_of(dim: int, columns: int = 0) -> int:
    """The terms 1, z_i, z_i·z_j with i ≤ j (or z_i² alone), and of every column c_j, c_j·z_i, c_j·c_i (or c_j²)."""
    own = 1 + dim + (dim * (dim + 1) // 2 if dim <= MANY else dim)
    return own + sum(1 + dim + (j + 1 if j < PAIRED else 1) for j in range(columns))


def points_kept(dim: int) -> int:
    """Number of the latest points that are kept for local fits."""
    return max(32, 4 * features_of(dim))


class Surface(NamedTuple):
    """A discounted quadratic surface through the losses; points are z = 2x − 1 in [−1, 1]^d.

    Attributes
    ----------
    best
        x̂ as z.
    A, b
        A = Σφφᵀ and b = Σℓ'φ, discounted.
    L, w
        A = LLᵀ, with 1/L_ii on the diagonal of L; w = A⁻¹b.
    numbers
        Losses learned, discounted squared errors, the scale of the losses.
    first_points, first_losses
        Those that the scale is taken from; points with their contexts.
    points, losses
        The latest, for local fits.
    more
        Columns of the context seen, and the radius of a local fit.
    """

    best: FloatArray
    A: FloatArray
    b: FloatArray
    L: FloatArray
    w: FloatArray
    numbers: FloatArray
    first_points: FloatArray
    first_losses: FloatArray
    points: FloatArray
    losses: FloatArray
    more: FloatArray

    @property
    def losses_learnt(self) -> int:
        """Number of losses learned."""
        return int(self.numbers[LEARNT])

    def in_own_units(self, value: float) -> float:
        """A value of the surface in the unit of the losses."""
        return float(self.numbers[LOW] + (value - 0.4) / 0.4 * self.numbers[RANGE])


def _shapes(dim: int, columns: int, kept: int) -> dict[str, tuple[int, ...]]:
    """The arrays of a saved surface, in the order of the file."""
    p = features_of(dim, columns)
    return {
        "best": (dim,),
        "A": (p, p),
        "b": (p,),
        "numbers": (NUMBERS,),
        "first_points": (SCALE_ROUNDS, dim + columns),
        "first_losses": (SCALE_ROUNDS,),
        "L": (p, p),
        "w": (p,),
        "points": (kept, dim),
        "losses": (kept,),
        "more": (2,),
    }


#: The arrays that nothing is learned in without local fits and contexts: they are not saved then.
_OF_GROWING = ("points", "losses", "more")


def _size(settings: Mapping[str, Any]) -> int:
    """Bytes of state; a space that is not made yet counts as one of five."""
    space, columns = settings.get("space"), min(MOST_COLUMNS, settings.get("dim") or 0)
    d = min(MOST, getattr(space, "dim", MOST_WITH_CONTEXT))
    numbers = sum(math.prod(shape) for shape in _shapes(d, columns, points_kept(d)).values())
    return 8 * numbers * int(getattr(space, "choices", 1))


@register(
    Card(
        loop="tune",
        feedback="loss",
        draws=True,
        paper="this library; after Box & Wilson 1951",
        cost="200·N⁴, N ≤ 10; 200·N² beyond",
        example={"space": Box(low=[0.0, -1.0, 2.0], high=[1.0, 1.0, 5.0])},
        first={"space": {"type": "Box", "low": [0.0, 0.0, 0.0], "high": [1.0, 1.0, 1.0]}},
        recommended=(Recommended(feedback="loss", strength=2, up_to=MOST),),
        size=_size,
    )
)
class QuadraticTuner(Tuner):
    """Fit a quadratic surface to the losses, and try the point near its best that may be best of all.

    Parameters
    ----------
    space
        A `Box` or `smidgen.Knobs` of up to 64 coordinates; up to 5 with a context. A `knobs.Category` has a surface for
        each of its values.
    dim
        The number of columns of a context, at most 20; 0: decisions have no context. In front of records a `Pipeline`
        with ``Vectorizer(dim=20, constant=False)``.
    width
        κ, how much uncertainty counts: the larger, the more is tried.
    forgetting
        f: old losses fade by this factor with every new one, for losses that drift; 1 forgets nothing. Left out: .998,
        of a surface that has had a context .9995.
    settle
        Whether local fits take over where losses have no noise.
    safe
        ``{"knobs": setting, "margin": .05}``: a setting that is known to be safe, and how much more another may cost.
        Of a Box, "knobs" is a point. Names of categories stay those of the safe setting.
    seed
        Seeds the candidates; each draw is a function of a decision's number.

    Notes
    -----
    **Update** z = 2x − 1 with x in [0, 1]^N, φ = [1, z_i, z_i·z_j]; A ← fA + (1−f)aI + φφᵀ, b ← fb + ℓ'φ, w = A⁻¹b,
    a = .1; sse ← f·sse + (ℓ' − w·φ)²/(1 + φᵀA⁻¹φ) with w and A as they were, .05 at first;
    s² = sse/(1 + min(n, 1/(1−f))). Candidates are x̂ and, around it, 100 normal points with deviation .15 and 100 with
    .05, clipped. Play the one of least w·φ − κ√(s²·φᵀA⁻¹φ). x̂ is the centre until N + 3 losses are learnt; then each
    learnt loss moves it to the candidate of least w·φ. Above 5 coordinates products z_i·z_j have ten times the ridge,
    above 10 there are squares only.
    Context: φ has c_j, c_j·z_i and c_j·c_i too (of columns beyond the eighth c_j² alone), and x̂ is the least value of
    the surface in that context, by one coordinate after the other.
    Settle: a quadratic fit to the max(2p, 16) points nearest to x̂, p its terms, of the latest max(4p, 32); while its
    residuals are below .3 of the deviation of their losses, x̂ moves to its least value within r/√N, r the reach of
    these points, and what is played lies around x̂ with deviation min(.05, r/(4√N)).
    Safe: N + 3 losses near the safe setting (deviation .02); then only candidates with w·φ + 3(1 + .4p/n)√(s²·φᵀA⁻¹φ),
    p the terms of the coordinates, at most what the surface says of the safe setting, and the margin; where there is
    none, near the safe setting again. a = .01 there, as losses near to one point say little of the surface elsewhere.
    ``best`` is x̂ if that holds of it, in the context asked for, else the safe setting.
    Categories: the first N + 3 losses of every value in turn, then the surface with the candidate of the least bound.
    **Symbols** x: ``decision.action``, x̂: ``decision.greedy``, κ: ``width``, f: ``forgetting``, n: losses learnt.
    **Assumes** that near its best the loss is about quadratic; offsets and units of losses do not matter:
    ℓ' = .4 + .4(ℓ − min)/range, by the least and the range of the first 8 losses.
    **Bound** none is known; a safe setting is kept with high probability only as far as the surface is right.
    **Cost** 200 candidates, each a product with a triangle of (N + 1)(N + 2)/2 rows. Memory the same triangle, and that
    of the context.
    **Differs** from response surfaces as a plan of experiments: every loss moves the surface at once. The scale is
    frozen after 8 losses. A loss more than three ranges outside counts as if it lay three ranges outside; a second one
    in a row on the same side makes the scale wider (tenfold at most), as if it had been so from the start. If the first
    8 are all the same, the first other one makes the scale.

    Examples
    --------
    >>> import smidgen
    >>> space = smidgen.Box(low=[0.0, 0.0], high=[1.0, 10.0])
    >>> tuner = smidgen.QuadraticTuner(space=space)
    >>> for _ in range(300):
    ...     d = tuner.ask()
    ...     x, y = d.action
    ...     tuner.tell(d, 500 + 20 * (x - 0.3) ** 2 + (y / 10 - 0.8) ** 2)
    >>> best = tuner.best()
    >>> bool(abs(best.point[0] - 0.3) < 0.1), bool(best.low <= best.loss <= best.high)
    (True, True)

    References
    ----------
    .. [1] G. Box, K. Wilson. On the experimental attainment of optimum conditions. JRSS B 13, 1951.
    .. [2] P. Auer. Using confidence bounds for exploitation-exploration trade-offs. JMLR 3, 2002.
    """

    settings_version = 2
    older_settings = MappingProxyType({1: {"forgetting": 0.998, "settle": False}})
    takes_categories = True

    def __init__(
        self,
        *,
        space: Space | Knobs,
        dim: int = 0,
        width: float = 1.0,
        forgetting: float | None = None,
        settle: bool = True,
        safe: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        self._kappa = checks.number("width", width, "give κ >= 0, e.g. width=1.0", at_least=0.0)
        most = f"give the number of columns of a context, 0 to {MOST_COLUMNS}"
        self.dim = checks.whole("dim", dim, most, at_least=0, below=MOST_COLUMNS + 1)
        hint = "give a number in (0, 1]; 1 forgets nothing"
        given = None if forgetting is None else checks.number("forgetting", forgetting, hint, above=0.0, at_most=1.0)
        self._given_keep = given
        self._settle = checks.flag("settle", settle, "give True or False")
        params: dict[str, Any] = {"width": self._kappa, "forgetting": given, "settle": self._settle}
        params |= {"dim": self.dim} if self.dim else {}
        params |= {"safe": dict(checks.mapping("safe", safe, _SAFE_HINT))} if safe is not None else {}
        super().__init__(space=space, params=params, seed=seed)
        if not isinstance(self.space, Box):
            raise InvalidArgument(f"space is {space!r} and must be a Box or Knobs", "use OGDEG on other spaces")
        most_here = MOST_WITH_CONTEXT if self.dim else MOST
        if self.space.dim > most_here:
            raise InvalidArgument(
                f"space has {self.space.dim} coordinates and must have at most {most_here}"
                + (" with a context" if self.dim else ""),
                'use OGDEG(space=…, baseline="mean") for more' if not self.dim else "leave knobs out, or the context",
            )
        self._limits: FloatArray = np.array([self.space.low, self.space.high])
        self._choice, self._safe = self._as_safe(safe)
        self._kept = points_kept(self.space.dim) if self._settle else 0
        self._grows = bool(self._kept or self.dim)
        self._choices = 1 if self.knobs is None else self.knobs.choices
        self._take(self._empty(0))
        for surface in self._surfaces:
            surface.best[:] = self._safe[0] if safe is not None else 0.0
        self._asks, self._moves = stream_key(self._seed, DIRECTION), stream_key(self._seed, COIN)

    def _empty(self, columns: int) -> dict[str, NDArray[Any]]:
        """The arrays of surfaces with ``columns`` columns of context, before the first loss."""
        shapes = _shapes(self.space.dim, columns, self._kept)
        arrays = {name: np.zeros((self._choices, *shape)) for name, shape in shapes.items()}
        for i in range(self._choices):
            surface = Surface(**{name: array[i] for name, array in arrays.items()})
            surface.numbers[RANGE] = 1.0
            tune.begin(surface)
        return arrays

    def _as_safe(self, safe: Mapping[str, Any] | None) -> tuple[int, tuple[FloatArray, float]]:
        """The combination of names of a safe setting, its point as z, and the margin; no point if there is none."""
        if safe is None:
            return 0, (np.zeros(0), 0.0)
        if safe.keys() != {"knobs", "margin"}:
            raise InvalidArgument(f"safe is {safe!r}", _SAFE_HINT)
        margin = checks.number("safe.margin", safe["margin"], "give how much more than there it may cost", at_least=0.0)
        try:
            z, inside = self._as_z(safe["knobs"])
            choice = 0 if self.knobs is None else self.knobs.choice(safe["knobs"])
        except (SmidgenError, TypeError, ValueError) as error:
            raise InvalidArgument(f"safe.knobs is {safe['knobs']!r}: {error}", "give a setting of the space") from error
        if not inside:
            raise InvalidArgument(f"safe.knobs is {safe['knobs']!r}, outside of the space", "give one inside")
        return choice, (np.clip(z, -1.0, 1.0), margin)

    def _decide(self, context: Any, number: int) -> Decision:
        row = self._row(context) if self.dim else None
        numbers = self._dense(row)
        point, greedy = np.empty(self.space.dim), np.empty(self.space.dim)
        played, least, explored = 0, math.inf, False
        for choice in self._open(number):
            trial, best = np.empty(self.space.dim), np.empty(self.space.dim)
            surface, key = self._surfaces[choice], self._asks
            given = (self._kappa, self._factor(surface, numbers), key, number, self._limits, numbers, self._safe)
            other, bound = tune.ask(surface, *given, trial, best)
            if bound < least or least == math.inf:
                played, least, explored, point, greedy = choice, bound, other, trial, best
        return Decision(
            kind=self._kind,
            settings=self._settings,
            number=number,
            action=self._named(point, played),
            greedy=self._named(greedy, played),
            context=row,
            explored=explored,
        )

    def _open(self, number: int) -> list[int]:
        """The combinations of names to compare: those whose turn it is while some have few losses, else all."""
        if self._choices == 1 or self._safe[0].size:
            return [self._choice]
        few = self.space.dim + 3
        behind = [i for i, surface in enumerate(self._surfaces) if surface.losses_learnt < few]
        return [behind[(number - 1) % len(behind)]] if behind else list(range(self._choices))

    def _learn(self, decision: Decision, feedback: Any) -> None:
        z, choice = self._coordinates(decision)
        row = kept_row(decision, self.dim) if self.dim else None
        self._step(choice, z, self._dense(row), as_loss(feedback, LARGEST), decision.number)

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        """A point in own units and the loss there; with a context, that and (point, loss)."""
        row = None
        if isinstance(answer, (tuple, list)) and len(answer) == 2:
            row = self._row(context) if self.dim else None
            context, answer = answer
        try:
            z, inside = self._as_z(context)
            choice = 0 if self.knobs is None else self.knobs.choice(context)
        except SmidgenError:
            raise
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"the point is {context!r}", "give a point of the space") from error
        if not inside:
            raise InvalidArgument(f"the point {context!r} is outside the space", "give a point of the space")
        self._step(choice, z, self._dense(row), as_loss(answer, LARGEST), number)

    def _step(self, choice: int, z: FloatArray, context: FloatArray, loss: float, number: int) -> None:
        """Learn one loss; from the first few on, move the best point."""
        surface = self._surfaces[choice]
        tune.learn(surface, self._factor(surface, context), z, context, loss, self._safe, self._moves, number)

    def _factor(self, surface: Surface, context: FloatArray) -> float:
        """f: what was asked for, or the usual one with a context, or without."""
        if self._given_keep is not None:
            return self._given_keep
        return WITH_CONTEXT if surface.more[SEEN] or context.any() else WITHOUT

    def _row(self, context: Any) -> Row:
        """A context as a row; none is an empty one."""
        if context is None:
            return Row(np.zeros(0, np.uint32), np.zeros(0), self.dim)
        return as_row(context, self.dim, longest=LONGEST)

    def _dense(self, row: Row | None) -> FloatArray:
        """The numbers of a context, one for each column that the surfaces have; they get more where needed."""
        width = 0 if row is None or not len(row.indices) else int(row.indices.max()) + 1
        if width > self._columns:
            self._take(self._moved(self._arrays, self._empty(width)))
        numbers = np.zeros(self._columns)
        if row is not None and width:
            numbers[row.indices] = row.values
        return numbers

    def _named(self, point: FloatArray, choice: int = 0) -> Any:
        if self.knobs is not None:
            return self.knobs.point(point, choice)
        point.setflags(write=False)
        return point

    def _coordinates(self, decision: Decision) -> tuple[FloatArray, int]:
        """The point of a decision as z, and its combination of names."""
        try:
            z, inside = self._as_z(decision.action)
            choice = 0 if self.knobs is None else self.knobs.choice(decision.action)
        except (SmidgenError, TypeError, ValueError) as error:
            raise DecisionMismatch(
                f"decision {decision.id} does not hold its point", "pass the decision as decide returned it"
            ) from error
        if not inside:
            raise DecisionMismatch(
                f"decision {decision.id} has a point outside the space", "pass the decision as decide returned it"
            )
        return z, choice

    def _as_z(self, action: Any) -> tuple[FloatArray, bool]:
        """A point in own units as z, and whether it lies in the space."""
        point, z = np.require(self.from_own_units(action), requirements=["C", "A"]), np.empty(self.space.dim)
        return z, tune.from_box(point, self._limits, z)

    def best(self, context: Any = None) -> Best:
        """The point that the surface thinks best, in own units, and the loss that it expects there.

        With a safe setting: that one, if the best point might cost more than the margin above it.
        """
        numbers = self._dense(self._row(context) if self.dim else None)
        found: list[tuple[float, float, FloatArray, int]] = []
        for choice in range(self._choices) if not self._safe[0].size else [self._choice]:
            surface, point = self._surfaces[choice], np.empty(self.space.dim)
            mean, deviation = tune.expect(surface, self._factor(surface, numbers), numbers, self._limits, point)
            if surface.losses_learnt and self._safe[0].size:
                mean, deviation = self._or_safe(surface, numbers, mean, deviation, point)
            if surface.losses_learnt:
                width = 1.96 * deviation / 0.4 * surface.numbers[RANGE]
                found.append((surface.in_own_units(mean), width, point, choice))
            elif choice == self._choice:
                unknown = point
        if not found:
            return Best(self._named(unknown, self._choice), None, None, None)
        loss, width, point, choice = min(found, key=lambda each: each[0])
        return Best(self._named(point, choice), loss, float(loss - width), float(loss + width))

    def _or_safe(
        self, surface: Surface, context: FloatArray, mean: float, deviation: float, point: FloatArray
    ) -> tuple[float, float]:
        """The mean and deviation of ``point``, or, if it might cost too much, of the safe setting, which it becomes."""
        (z, margin), f, n = self._safe, self._factor(surface, context), surface.losses_learnt
        few = surface.numbers.copy()  # a surface that has few losses does not look for its best point: it is z
        few[ERRORS] /= 1.0 + (n if f >= 1.0 else min(n, 1.0 / (1.0 - f)))
        few[LEARNT] = 0.0
        setting = np.empty(self.space.dim)
        safe_mean, safe_deviation = tune.expect(
            surface._replace(best=z, numbers=few), f, context, self._limits, setting
        )
        upper = mean + SURE * (1.0 + EARLY * features_of(self.space.dim) / n) * deviation
        if upper <= safe_mean + 0.4 * margin / surface.numbers[RANGE]:
            return mean, deviation
        point[:] = setting
        return safe_mean, safe_deviation

    def _predict(self, context: Any) -> Any:
        return self.best(context).point

    @property
    def weights(self) -> FloatArray:
        """The best point x̂ without a context, in own units: the knobs that are numbers."""
        point = self.best().point
        if self.knobs is None:
            return np.array(point)
        return np.array([point[name] for name in self.knobs.numbers], dtype=np.float64)

    def _take(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Hold these arrays, of all surfaces."""
        self._arrays = dict(arrays)
        self._columns = arrays["first_points"].shape[-1] - self.space.dim
        self._surfaces = [Surface(**{name: array[i] for name, array in arrays.items()}) for i in range(self._choices)]

    def _moved(self, arrays: Mapping[str, NDArray[Any]], into: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Arrays with another number of columns of context: the terms of a column come after those before it."""
        for name, array in arrays.items():
            shared = tuple(slice(0, min(pair)) for pair in zip(array.shape, into[name].shape, strict=True))
            into[name][shared] = array[shared]
        return into

    def _state(self) -> dict[str, NDArray[Any]]:
        arrays, seen = self._arrays, int(self._arrays["more"][:, SEEN].max())
        if seen < self._columns:  # columns that no loss has had yet are as at the beginning
            arrays = self._moved(arrays, self._empty(seen))
        kept = arrays if self._grows else [name for name in arrays if name not in _OF_GROWING]
        return {name: arrays[name] if self._choices > 1 else arrays[name][0] for name in kept}

    def _check_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        columns = state["first_points"].shape[-1] - self.space.dim if "first_points" in state else 0
        fresh = self._empty(min(max(columns, 0), self.dim))
        check_shapes({name: fresh[name] if self._choices > 1 else fresh[name][0] for name in self._state()}, state)

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        arrays = {name: array if self._choices > 1 else array[None] for name, array in state.items()}
        fresh = self._empty(arrays["first_points"].shape[-1] - self.space.dim)
        self._take({name: arrays.get(name, array) for name, array in fresh.items()})
