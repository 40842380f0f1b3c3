"""Apple tasting: any full-information filter, made to live on what it forwards."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._core import filter as core
from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument
from smidgen.learners.base import State, register
from smidgen.learners.card import Card
from smidgen.learners.filter.base import TASTING, Exploring, Filter, FullInformationFilter, Shown, Stream
from smidgen.learners.filter.perceptron_filter import PerceptronFilter
from smidgen.learners.filter.ridge_fil import RidgeFull
from smidgen.learners.filter.simple_fil import PAPER
from smidgen.randomness import COIN, stream_key


@register(
    Card(
        loop="filter",
        feedback="relevance",
        draws=True,
        paper=f"Helmbold, Littlestone & Long 2000 (STAP); {PAPER}",
        bound="by the inner filter's mistakes, in the paper",
        cost="that of the inner filter",
        example={"learner": PerceptronFilter(dim=4)},
        first={"learner": {"type": "RidgeFull"}},
        size=lambda settings: settings["learner"].card.size(settings["learner"].params),
    )
)
class AppleTasting(Filter):
    """Forward with a falling probability although the inner filter would drop. Surprises keep the probability up.

    Parameters
    ----------
    learner
        A full-information filter: `RidgeFull` or `PerceptronFilter`. Its settings count; a fresh one is started.
    seed
        Seeds the exploration; a draw is a function of the decision's number.

    Notes
    -----
    **Update** forward what the inner filter forwards; what it would drop, with probability √((1 + m)/(t + 1)), m the
    relevant items found that way. The inner filter learns from what was forwarded.
    **Symbols** t: ``decision.number``, m: ``surprises``; ``decision.propensity`` is the probability of what was done.
    **Assumes** a mistake bound for the inner filter.
    **Bound** false alarms and misses in terms of the inner filter's mistakes [1]; not a function here.
    **Cost** that of the inner filter, one draw more.
    **Differs** not at all. It does not look at margins, and pays for that: see `RidgeFil`.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> taster = smidgen.AppleTasting(learner=smidgen.RidgeFull(dim=2))
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(500):
    ...     x = np.eye(2)[rng.integers(2)]
    ...     d = taster.decide(x)
    ...     if d.action:
    ...         taster.learn(d, bool(x[0]))
    >>> taster.predict(np.array([1.0, 0.0])), taster.predict(np.array([0.0, 1.0]))
    (True, False)

    References
    ----------
    .. [1] D. Helmbold, N. Littlestone, P. Long. Apple tasting. Information and Computation 161, 2000.
    """

    def __init__(self, *, learner: FullInformationFilter, seed: int = 0) -> None:
        if not isinstance(learner, FullInformationFilter):
            raise InvalidArgument(f"learner is {learner!r}", "give a full-information filter, e.g. RidgeFull(dim=3)")
        super().__init__(params={"learner": learner.fresh()}, seed=seed)
        self._inner = learner.fresh()
        self.dim = learner.dim
        self._surprises = 0
        self._key = stream_key(self._seed, COIN)

    def _decide(self, context: Any, number: int) -> Decision:
        row = self._inner._row(context)
        margin = self._inner._margin(row)
        forward, chance = core.taste(margin, float(self._surprises), self._key, number)
        greedy = margin >= 0.0
        propensity = 1.0 if greedy else chance if forward else 1.0 - chance
        return self._record(number, row, forward, greedy, margin, 0.0, propensity)

    def _learn_relevance(self, decision: Decision, relevant: bool) -> None:
        self._inner._step(self._take_row(decision), relevant)
        self._surprises += decision.explored and relevant

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        if not isinstance(self._inner, RidgeFull):
            super()._play(stream, first, shown)
            return
        tasted = np.array([float(self._surprises)])
        tasting = Exploring(TASTING, key=self._key)
        self._inner._play_ridge(tasting, tasted, stream, first, shown, partial(self._taste, tasted))
        self._surprises = int(tasted[0])

    def _taste(self, tasted: FloatArray, stream: Stream, first: int, shown: Shown) -> None:
        """A stretch of a stream by the two verbs."""
        super()._play(stream, first, shown)
        tasted[0] = self._surprises

    @property
    def exact_stream(self) -> bool:
        """True if `run` equals the two verbs to the last bit, as `run` of the inner filter does."""
        return self._inner.exact_stream

    def _predict(self, context: Any) -> bool:
        return bool(self._inner._predict(context))

    @property
    def surprises(self) -> int:
        """m: how many relevant items were found among those that the inner filter would have dropped."""
        return self._surprises

    @property
    def weights(self) -> FloatArray:
        """The weights of the inner filter."""
        return self._inner.weights

    def _notes(self) -> dict[str, Any]:
        return {"state_version": self._inner.state_version, "inner": self._inner._notes()}

    def _take_notes(self, notes: Mapping[str, Any]) -> None:
        self._inner._take_notes(notes["inner"])

    def _upgrade(self, version: int, state: State, notes: Mapping[str, Any]) -> tuple[State, Mapping[str, Any]]:
        state, notes = super()._upgrade(version, state, notes)
        inner = {name.removeprefix("inner_"): array for name, array in state.items() if name.startswith("inner_")}
        inner, remarks = self._inner._upgrade(notes["state_version"], inner, notes["inner"])
        own = {name: array for name, array in state.items() if not name.startswith("inner_")}
        return own | {f"inner_{name}": array for name, array in inner.items()}, {**notes, "inner": remarks}

    def _state(self) -> dict[str, NDArray[Any]]:
        inner = {f"inner_{name}": array for name, array in self._inner._state().items()}
        return {"surprises": np.array(self._surprises), **inner}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._surprises = int(state["surprises"])
        self._inner._restore({k.removeprefix("inner_"): v for k, v in state.items() if k.startswith("inner_")})
