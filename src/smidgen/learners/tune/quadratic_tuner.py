"""QuadraticTuner: a quadratic surface through the losses heard, and the most promising point near its best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._kernel import ordinary
from smidgen.decision import Decision, FloatArray
from smidgen.errors import DecisionMismatch, InvalidArgument, SmidgenError
from smidgen.geometry import Box
from smidgen.geometry.space import Space
from smidgen.knobs import Best, Knobs
from smidgen.learners.card import Card, Recommended, register
from smidgen.learners.tune.base import Tuner, as_loss
from smidgen.learners.tune.quadratic_round import (
    NUMBERS,
    SCALE_ROUNDS,
    ask,
    clear,
    features_of,
    fresh_numbers,
    from_box,
    in_own_units,
    learn_first,
    learn_later,
    losses_learnt,
    move_best,
    packed,
    to_box,
    variance,
    width_at,
    write_features,
)
from smidgen.randomness import COIN, DIRECTION, stream_key

LARGEST = 1e100  # the largest loss that can be squared and multiplied
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
        d, p = self.space.dim, features_of(self.space.dim)
        self._best: FloatArray = np.zeros(d)  # x̂ as z
        self._A, self._b = np.zeros((p, p)), np.zeros(p)
        self._L, self._w = np.zeros((p, p)), np.zeros(p)
        self._numbers = fresh_numbers()
        self._first_points, self._first_losses = np.zeros((SCALE_ROUNDS, d)), np.zeros(SCALE_ROUNDS)
        clear(self._A, self._b, self._L, self._w, self._numbers)
        self._limits: FloatArray = np.array([self.space.low, self.space.high])
        self._settings_of = packed(self._kappa, self._keep)
        self._show()
        self._choices, self._moves = stream_key(self._seed, DIRECTION), stream_key(self._seed, COIN)

    def _decide(self, context: Any, number: int) -> Decision:
        point = np.empty(self.space.dim)
        state = (self._best, self._L, self._w, self._numbers, self._settings_of)
        explored = ask(*state, self._choices, number, self._limits, point)
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
        z = np.empty(self.space.dim)
        try:
            point = self.from_own_units(context)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"the point is {context!r}", "give a point of the space") from error
        if not from_box(point, self._limits, z):
            raise InvalidArgument(f"the point {context!r} lies outside of the space", "give a point of the space")
        self._step(z, as_loss(answer, LARGEST), number)

    def _step(self, z: FloatArray, loss: float, number: int) -> None:
        """Learn one loss; from the first few on, move the best point."""
        n = losses_learnt(self._numbers)
        state = (self._A, self._b, self._L, self._w, self._numbers, self._keep)
        if n < SCALE_ROUNDS:
            self._first_points[n], self._first_losses[n] = z, loss
            learn_first(self._first_points, self._first_losses, n + 1, *state)
        else:
            learn_later(z, loss, *state)
        if n + 1 >= self.space.dim + 3:
            move_best(self._best, self._w, self._moves, number)
            self._show()

    def _show(self) -> None:
        """Note x̂ as a point of the box."""
        self._shown = np.empty(self.space.dim)
        to_box(self._best, self._limits, self._shown)
        self._shown.setflags(write=False)

    def _coordinates(self, decision: Decision) -> FloatArray:
        """The point of a decision as z."""
        try:
            point = self.from_own_units(decision.action)
        except (SmidgenError, TypeError, ValueError) as error:
            raise DecisionMismatch(
                f"decision {decision.id} does not say where it went", "give it as decide made it"
            ) from error
        z = np.empty(self.space.dim)
        if not from_box(ordinary(point), self._limits, z):
            raise DecisionMismatch(f"decision {decision.id} went outside of the space", "give it as decide made it")
        return z

    def best(self) -> Best:
        """The point that the surface thinks best, in own units, and the loss that it expects there."""
        point = self._named(self._shown.copy())
        if not losses_learnt(self._numbers):
            return Best(point, None, None, None)
        phi = np.empty(len(self._w))
        write_features(self._best, phi)
        width = 1.96 * math.sqrt(variance(self._numbers, self._keep) * width_at(self._L, phi))
        mean = float(self._w @ phi)
        return Best(point, *(in_own_units(self._numbers, value) for value in (mean, mean - width, mean + width)))

    @property
    def weights(self) -> FloatArray:
        """The best point x̂, in own units."""
        return self._as_array(self._shown.copy())

    def _state(self) -> dict[str, NDArray[Any]]:
        return {
            "best": self._best,
            "A": self._A,
            "b": self._b,
            "numbers": self._numbers,
            "first_points": self._first_points,
            "first_losses": self._first_losses,
            "L": self._L,
            "w": self._w,
        }

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._best, self._numbers = state["best"], state["numbers"]
        self._A, self._b, self._L, self._w = state["A"], state["b"], state["L"], state["w"]
        self._first_points, self._first_losses = state["first_points"], state["first_losses"]
        self._show()
