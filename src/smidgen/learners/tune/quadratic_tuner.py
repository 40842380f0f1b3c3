"""QuadraticTuner: a quadratic surface through the losses heard, and the most promising point near its best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core.tune import ask, begin, expect, from_box, learn, to_box
from smidgen.decision import Decision, FloatArray
from smidgen.errors import DecisionMismatch, InvalidArgument, SmidgenError
from smidgen.geometry import Box
from smidgen.geometry.space import Space
from smidgen.knobs import Best, Knobs
from smidgen.learners.base import register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.tune.base import Tuner, as_loss
from smidgen.randomness import COIN, DIRECTION, stream_key

#: Candidates of each of the two spreads; the present best point is one more, and fills the blocks up to COUNT.
EACH, COUNT = 100, 208
#: Where the few numbers stand that are read here, and how many there are: losses learned, the loss that counts .4, and
#: the range above it that counts as much again.
LEARNT, LOW, RANGE, NUMBERS = 0, 2, 3, 6
#: Losses that the scale is taken from.
SCALE_ROUNDS = 8


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
        Those that the scale is taken from.
    """

    best: FloatArray
    A: FloatArray
    b: FloatArray
    L: FloatArray
    w: FloatArray
    numbers: FloatArray
    first_points: FloatArray
    first_losses: FloatArray

    @classmethod
    def fresh(cls, dim: int) -> Surface:
        """One that has learned nothing."""
        p, numbers = features_of(dim), np.zeros(NUMBERS)
        numbers[RANGE] = 1.0
        matrices = (np.zeros((p, p)), np.zeros(p), np.zeros((p, p)), np.zeros(p))
        made = cls(np.zeros(dim), *matrices, numbers, np.zeros((SCALE_ROUNDS, dim)), np.zeros(SCALE_ROUNDS))
        begin(made)
        return made

    @property
    def losses_learnt(self) -> int:
        """How many losses were learned."""
        return int(self.numbers[LEARNT])

    def in_own_units(self, value: float) -> float:
        """A value of the surface in the unit of the losses."""
        return float(self.numbers[LOW] + (value - 0.4) / 0.4 * self.numbers[RANGE])


def features_of(dim: int) -> int:
    """The length of φ = [1, z_i, z_i·z_j with i ≤ j]."""
    return 1 + dim + dim * (dim + 1) // 2


LARGEST = 1e100  # the largest loss that can be squared and multiplied
#: The arrays of a saved surface, in the order of the file.
_STORED = ("best", "A", "b", "numbers", "first_points", "first_losses", "L", "w")
MOST = 5  # knobs; beyond them a quadratic surface has too many numbers for the losses there are


def _size(settings: Mapping[str, Any]) -> int:
    """Bytes of state; a space that is not made yet counts as the largest."""
    d = min(MOST, getattr(settings.get("space"), "dim", MOST))
    p = features_of(d)
    return 8 * (2 * p * (p + 1) + d * (SCALE_ROUNDS + 1) + SCALE_ROUNDS + NUMBERS)


@register(
    Card(
        loop="tune",
        feedback="loss",
        draws=True,
        paper="this library; after Box & Wilson 1951",
        cost="200·N⁴, N ≤ 5",
        example={"space": Box(low=[0.0, -1.0, 2.0], high=[1.0, 1.0, 5.0])},
        first={"space": {"type": "Box", "low": [0.0, 0.0, 0.0], "high": [1.0, 1.0, 1.0]}},
        recommended=(Recommended(feedback="loss", strength=2, up_to=5),),
        size=_size,
    )
)
class QuadraticTuner(Tuner):
    """Fit a quadratic surface to the losses, and try the point near its best that may be best of all.

    Parameters
    ----------
    space
        A `Box` or `smidgen.Knobs` of up to 5 coordinates.
    width
        κ, how much uncertainty counts: the larger, the more is tried.
    forgetting
        f: old losses fade by this factor with every new one, for losses that drift; 1 forgets nothing.
    seed
        Seeds the candidates; each draw is a function of a decision's number.

    Notes
    -----
    **Update** z = 2x − 1 with x in [0, 1]^N, φ = [1, z_i, z_i·z_j]; A ← fA + (1−f)aI + φφᵀ, b ← fb + ℓ'φ, w = A⁻¹b,
    a = .1; sse ← f·sse + (ℓ' − w·φ)²/(1 + φᵀA⁻¹φ) with w and A as they were, .05 at first;
    s² = sse/(1 + min(n, 1/(1−f))). Candidates are x̂ and, around it, 100 normal points with deviation .15 and 100 with
    .05, clipped. Play the one of least w·φ − κ√(s²·φᵀA⁻¹φ). x̂ is the centre until N + 3 losses are learnt; then each
    learnt loss moves it to the candidate of least w·φ.
    **Symbols** x: ``decision.action``, x̂: ``decision.greedy``, κ: ``width``, f: ``forgetting``, n: losses learnt.
    **Assumes** that near its best the loss is about quadratic; offsets and units of losses do not matter:
    ℓ' = .4 + .4(ℓ − min)/range, by the least and the range of the first 8 losses.
    **Bound** none is known.
    **Cost** 200 candidates, each a product with a triangle of (N + 1)(N + 2)/2 rows. Memory the same triangle.
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

    def __init__(self, *, space: Space | Knobs, width: float = 1.0, forgetting: float = 0.998, seed: int = 0) -> None:
        self._kappa = checks.number("width", width, "give κ >= 0, e.g. width=1.0", at_least=0.0)
        hint = "give a number in (0, 1]; 1 forgets nothing"
        self._keep = checks.number("forgetting", forgetting, hint, above=0.0, at_most=1.0)
        super().__init__(space=space, params={"width": self._kappa, "forgetting": self._keep}, seed=seed)
        if not isinstance(self.space, Box):
            raise InvalidArgument(f"space is {space!r} and must be a Box or Knobs", "use OGDEG on other spaces")
        if self.space.dim > MOST:
            raise InvalidArgument(
                f"space has {self.space.dim} coordinates and must have at most {MOST}",
                'use OGDEG(space=…, baseline="mean") for more',
            )
        self._surface = Surface.fresh(self.space.dim)
        self._limits: FloatArray = np.array([self.space.low, self.space.high])
        self._show()
        self._choices, self._moves = stream_key(self._seed, DIRECTION), stream_key(self._seed, COIN)

    def _decide(self, context: Any, number: int) -> Decision:
        point = np.empty(self.space.dim)
        explored = ask(self._surface, self._kappa, self._keep, self._choices, number, self._limits, point)
        return Decision(
            kind=self._kind,
            settings=self._settings,
            number=number,
            action=self._named(point),
            greedy=self._shown if self.knobs is None else self._named(self._shown),
            context=None,
            explored=explored,
        )

    def _learn(self, decision: Decision, feedback: Any) -> None:
        self._step(self._coordinates(decision), as_loss(feedback, LARGEST), decision.number)

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        """A point in own units, and the loss there."""
        try:
            z, inside = self._as_z(context)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"the point is {context!r}", "give a point of the space") from error
        if not inside:
            raise InvalidArgument(f"the point {context!r} lies outside of the space", "give a point of the space")
        self._step(z, as_loss(answer, LARGEST), number)

    def _step(self, z: FloatArray, loss: float, number: int) -> None:
        """Learn one loss; from the first few on, move the best point."""
        if learn(self._surface, self._keep, z, loss, self._moves, number):
            self._show()

    def _show(self) -> None:
        """Note x̂ as a point of the box."""
        self._shown = np.empty(self.space.dim)
        to_box(self._surface.best, self._limits, self._shown)
        self._shown.setflags(write=False)

    def _coordinates(self, decision: Decision) -> FloatArray:
        """The point of a decision as z."""
        try:
            z, inside = self._as_z(decision.action)
        except (SmidgenError, TypeError, ValueError) as error:
            raise DecisionMismatch(
                f"decision {decision.id} does not say where it went", "give it as decide made it"
            ) from error
        if not inside:
            raise DecisionMismatch(f"decision {decision.id} went outside of the space", "give it as decide made it")
        return z

    def _as_z(self, action: Any) -> tuple[FloatArray, bool]:
        """A point in own units as z, and whether it lies in the space."""
        point, z = np.require(self.from_own_units(action), requirements=["C", "A"]), np.empty(self.space.dim)
        return z, from_box(point, self._limits, z)

    def best(self) -> Best:
        """The point that the surface thinks best, in own units, and the loss that it expects there."""
        point = self._named(self._shown.copy())
        if not self._surface.losses_learnt:
            return Best(point, None, None, None)
        mean, deviation = expect(self._surface, self._keep)
        width = 1.96 * deviation
        return Best(point, *map(self._surface.in_own_units, (mean, mean - width, mean + width)))

    @property
    def weights(self) -> FloatArray:
        """The best point x̂, in own units."""
        return self._as_array(self._shown.copy())

    def _state(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self._surface, name) for name in _STORED}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._surface = Surface(**{name: state[name] for name in Surface._fields})
        self._show()
