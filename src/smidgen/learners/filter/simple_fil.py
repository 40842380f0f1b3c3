"""SIMPLE-FIL: items without features, all relevant with the same unknown probability."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._core import filter as core
from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidFeatures, NoWeights
from smidgen.learners.base import register
from smidgen.learners.card import Card
from smidgen.learners.filter.base import Filter, Shown, Stream

PAPER = "Cesa-Bianchi, Conconi & Gentile 2003"
C = 4.0  # of the threshold


@register(
    Card(
        loop="filter",
        feedback="relevance",
        paper=f"{PAPER}, Sec. 3",
        cost="1",
        example={},
        theorem="filtering without features",
    )
)
class SimpleFil(Filter):
    """Forward as long as it pays, or as long as too little is known to say that it does not.

    Parameters
    ----------
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** N ← N + 1 and p̂ ← the share of relevant items, for forwarded ones; forward iff p̂ − 1/2 ≥ −√(4·ln t /
    N), and always while N = 0.
    **Symbols** p̂ − 1/2: ``estimate``, t: ``decision.number``, N: ``rounds``.
    **Assumes** items relevant independently with one probability p = 1/2 + δ.
    **Bound** expected regret of n items ≤ (32/|δ| + 2)·ln n + 4 (Theorem 1; `smidgen.bounds.simple_fil`).
    **Cost** a few operations; memory two numbers.
    **Differs** t counts decisions, N feedback that has come; in the paper it comes at once.

    Examples
    --------
    >>> import smidgen
    >>> gate = smidgen.SimpleFil()
    >>> for _ in range(200):
    ...     d = gate.decide()
    ...     if d.action:
    ...         gate.learn(d, False)
    >>> gate.decisions, gate.rounds < 150
    (200, True)

    References
    ----------
    .. [1] N. Cesa-Bianchi, A. Conconi, C. Gentile. Margin-based algorithms for information filtering. NIPS 15, 2003.
    """

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__(params={}, seed=seed)
        self._memory = np.zeros(2)  # forwarded items with labels, relevant ones among them

    def _decide(self, context: Any, number: int) -> Decision:
        margin, tau = core.simple_decide(self._memory, C, number)
        shown = None if math.isinf(tau) else tau
        return self._record(number, None, bool(margin >= tau), margin >= 0.0, margin, shown)

    def _learn_relevance(self, decision: Decision, relevant: bool) -> None:
        self._memory += (1.0, relevant)

    def _row(self, context: Any) -> None:
        """Items have no features."""
        return

    def _predict(self, context: Any) -> bool:
        return self.estimate >= 0.0

    def _stream(self, X: Any) -> Any:
        """Items have no features; only their number counts."""
        shape = getattr(X, "shape", None) or (len(X) if isinstance(X, Sized) else 0,)
        if not shape[0]:
            raise InvalidFeatures(
                f"X is {X!r} and holds no items", "give a sequence or matrix, one entry or row per item"
            )
        return np.empty(0, np.uint32), np.empty(0), np.zeros(shape[0] + 1, np.int64)

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        core.simple_stream(self._memory, C, stream[3], first, shown)

    @property
    def estimate(self) -> float:
        """p̂ − 1/2: by how much more than half of the forwarded items were relevant."""
        return core.simple_decide(self._memory, C, 1)[0]

    @property
    def weights(self) -> FloatArray:
        """There are none."""
        raise NoWeights("SimpleFil uses no features and has no weights", "use learner.estimate")

    def _state(self) -> dict[str, NDArray[Any]]:
        return {"memory": self._memory}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._memory = state["memory"]
