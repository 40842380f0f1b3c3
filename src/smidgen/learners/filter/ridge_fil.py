"""RIDGE-FIL: forward what a ridge estimate, less a shrinking margin of doubt, calls relevant."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._kernel import kernel
from smidgen.errors import NotFinite, NoWeights
from smidgen.learners.card import Card, Recommended, register
from smidgen.learners.filter.base import Filter, FullInformationFilter, Shown, Stream
from smidgen.learners.filter.estimators import make_estimator, ridge_size
from smidgen.learners.filter.simple_fil import PAPER, threshold
from smidgen.state.classes import Block
from smidgen.state.kernels import Kernel as KernelFunction
from smidgen.state.ridge import (
    DiagonalRidge,
    FullRidge,
    KernelRidge,
    Ridge,
    ridge_diagonal,
    ridge_diagonal_learn,
    ridge_full,
    ridge_full_learn,
)
from smidgen.types import Decision, FloatArray


@kernel
def _stream_full(
    W: Block, B: Block, heard: FloatArray, c: float, everything: bool, stream: Stream, first: int, shown: Shown
) -> None:
    indices, values, starts, truth, order = stream
    product = np.empty(W.shape)
    for i in range(order.shape[0]):
        t = order[i]
        idx, val = indices[starts[t] : starts[t + 1]], values[starts[t] : starts[t + 1]]
        mean, width = ridge_full(W, B, idx, val, product)
        margin = mean / (1.0 + width)
        tau = 0.0 if everything else threshold(c, first + i, heard[0])
        shown[0][i], shown[1][i] = margin >= tau, margin >= 0.0
        if shown[0][i] or everything:
            ridge_full_learn(W, B, product, 1.0 if truth[t] else -1.0, mean, width)
            heard[0] += 1.0


@kernel
def _stream_diagonal(
    S: Block, heard: FloatArray, c: float, everything: bool, stream: Stream, first: int, shown: Shown
) -> None:
    indices, values, starts, truth, order = stream
    for i in range(order.shape[0]):
        t = order[i]
        idx, val = indices[starts[t] : starts[t + 1]], values[starts[t] : starts[t + 1]]
        mean, width = ridge_diagonal(S, idx, val)
        margin = mean / (1.0 + width)
        tau = 0.0 if everything else threshold(c, first + i, heard[0])
        shown[0][i], shown[1][i] = margin >= tau, margin >= 0.0
        if shown[0][i] or everything:
            ridge_diagonal_learn(S, idx, val, 1.0 if truth[t] else -1.0, mean, width)
            heard[0] += 1.0


class _RidgeState:
    """A ridge estimator and the number of labels heard."""

    _ridge: Ridge
    _heard: FloatArray

    def _margin(self, row: Any) -> float:
        """b·A⁻¹x / (1 + xᵀA⁻¹x): the estimate with x itself already counted in (eq. 3)."""
        mean, width = self._ridge.moments(row)
        margin = mean / (1.0 + width)
        if not math.isfinite(margin):
            raise NotFinite("the features lead to a margin that is not finite", "scale them down")
        return margin

    def _play_ridge(self, c: float, everything: bool, stream: Stream, first: int, shown: Shown) -> bool:
        """Play in compiled code, if the state has such a stream."""
        if isinstance(self._ridge, FullRidge):
            blocks = self._ridge.blocks
            _stream_full(blocks.W, blocks.B, self._heard, c, everything, stream, first, shown)
        elif isinstance(self._ridge, DiagonalRidge):
            _stream_diagonal(self._ridge.blocks.S, self._heard, c, everything, stream, first, shown)
        else:
            return False
        return True

    @property
    def weights(self) -> FloatArray:
        """The weights w = A⁻¹b; a kernel filter has none, see `support`."""
        weights = self._ridge.weights
        if weights is None:
            raise NoWeights("a kernel filter has no weights in feature space", "look at learner.support")
        return weights

    @property
    def support(self) -> tuple[FloatArray, FloatArray]:
        """Of a kernel filter: the examples learnt from, and their coefficients."""
        if not isinstance(self._ridge, KernelRidge):
            raise NoWeights("only a kernel filter has support examples", "look at learner.weights")
        return self._ridge.dual.points.copy(), self._ridge.dual.coefficients[0].copy()

    def _state(self) -> dict[str, NDArray[Any]]:
        return {"heard": self._heard, **self._ridge.arrays()}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._heard = state["heard"]
        self._ridge.restore(state)


@register(
    Card(
        loop="filter",
        feedback="relevance",
        paper=f"{PAPER}, Sec. 4",
        bound="none proved",
        cost="nnz·N (full), n·nnz + n² (dual)",
        example={"dim": 4},
        recommended=(Recommended(feedback="relevance"),),
        size=ridge_size,
    )
)
class RidgeFil(_RidgeState, Filter):
    """Forward iff the margin of a ridge estimate reaches a threshold below zero that rises as more is known.

    Parameters
    ----------
    dim
        The number of features d.
    c
        The constant of the threshold −√(c·ln t / N); the larger, the more is forwarded to learn.
    a
        The ridge; A starts as a·I.
    kernel, kernel_params
        Work in dual variables with this kernel: "linear", "rbf", "poly", a registered name, or a function.
    forgetting
        λ: old examples fade by this factor with every new one, for relevance that drifts; 1 forgets nothing.
    covariance
        ``"full"``: A⁻¹ as a matrix. ``"dual"``: the same estimate by the examples learnt from, for very many
        features. ``"diagonal"``: quick and not the same (see Differs). Left out: full up to 1,000 features, dual
        beyond, kernel with a kernel.
    window
        Learn from the latest ``window`` forwarded items only (dual).
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** for forwarded items A ← A + xxᵀ, b ← b + yx, y = ±1; margin = b·A⁻¹x/(1 + xᵀA⁻¹x); forward iff
    margin ≥ −√(c·ln t / N), and always while N = 0. With forgetting: A ← λA + (1−λ)aI + xxᵀ, b ← λb + yx.
    **Symbols** t: ``decision.number``, N: items forwarded and heard of (with forgetting or a window: their present
    weight), margin and threshold in the decision.
    **Assumes** ‖x‖ = 1 and E[y] = u·x for an unknown u.
    **Bound** none is proved; see `PRidgeFil` for a relative that has one.
    **Cost** full: nnz·d to decide, d² more to learn, d² memory. Dual: n·nnz + n² for n items learnt from. Diagonal:
    nnz. Forgetting: d³ to learn.
    **Differs** eq. 3 lacks a transpose. The diagonal form treats features as uncorrelated. The weight N of a fading
    or sliding past in the threshold is ours: it keeps exploration alive, which drift needs.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> alerts = smidgen.RidgeFil(dim=2)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(500):
    ...     x = np.eye(2)[rng.integers(2)]
    ...     d = alerts.decide(x)
    ...     if d.action:
    ...         alerts.learn(d, bool(x[0]))
    >>> alerts.predict(np.array([1.0, 0.0])), alerts.predict(np.array([0.0, 1.0]))
    (True, False)

    References
    ----------
    .. [1] N. Cesa-Bianchi, A. Conconi, C. Gentile. Margin-based algorithms for information filtering. NIPS 15, 2003.
    """

    def __init__(
        self,
        *,
        dim: int,
        c: float = 5.0,
        a: float = 1.0,
        kernel: str | KernelFunction | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        forgetting: float = 1.0,
        covariance: str | None = None,
        window: int | None = None,
        seed: int = 0,
    ) -> None:
        self.dim = checks.dimension(dim)
        self._c = checks.number("c", c, "give a number >= 0, e.g. c=5.0", at_least=0.0)
        self._ridge, params = make_estimator(self.dim, a, covariance, kernel, kernel_params, forgetting, window)
        self._keep, self._window = forgetting, window
        self._heard = np.zeros(1)
        super().__init__(params={"dim": self.dim, "c": self._c, **params}, seed=seed)

    def _decide(self, context: Any, number: int) -> Decision:
        row = self._row(context)
        margin, tau = self._margin(row), threshold(self._c, number, self._heard[0])
        shown = None if math.isinf(tau) else tau
        return self._record(number, row, bool(margin >= tau), margin >= 0.0, margin, shown)

    def _hear(self, decision: Decision, relevant: bool) -> None:
        self._ridge.learn(self._take_row(decision), 1.0 if relevant else -1.0)
        heard = self._keep * self._heard[0] + 1.0
        self._heard[0] = heard if self._window is None else min(heard, self._window)

    def _predict(self, context: Any) -> bool:
        return self._margin(self._row(context)) >= 0.0

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        if not self._play_ridge(self._c, False, stream, first, shown):
            super()._play(stream, first, shown)


@register(
    Card(
        loop="filter",
        feedback="relevance",
        paper=f"{PAPER}, Sec. 4.1",
        bound="none here",
        cost="nnz·N (full), n·nnz + n² (dual)",
        example={"dim": 4},
        size=ridge_size,
    )
)
class RidgeFull(_RidgeState, FullInformationFilter):
    """The same estimate with threshold zero, and told the relevance of every item: what full information would give.

    Parameters
    ----------
    dim
        The number of features d.
    a
        The ridge; A starts as a·I.
    kernel, kernel_params, forgetting, covariance, window
        As in `RidgeFil`.
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** for every item A ← A + xxᵀ, b ← b + yx; forward iff b·A⁻¹x ≥ 0.
    **Symbols** as in `RidgeFil`. **Assumes** as `RidgeFil`. **Bound** none here.
    **Cost** as `RidgeFil`, for all items.
    **Differs** not at all.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> judge = smidgen.RidgeFull(dim=2)
    >>> judge.learn(judge.decide(np.array([0.0, 1.0])), False)
    >>> d = judge.decide(np.array([0.0, 1.0]))
    >>> d.action
    False
    >>> judge.learn(d, False)  # it hears of dropped items too

    References
    ----------
    .. [1] N. Cesa-Bianchi, A. Conconi, C. Gentile. Margin-based algorithms for information filtering. NIPS 15, 2003.
    """

    def __init__(
        self,
        *,
        dim: int,
        a: float = 1.0,
        kernel: str | KernelFunction | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        forgetting: float = 1.0,
        covariance: str | None = None,
        window: int | None = None,
        seed: int = 0,
    ) -> None:
        self.dim = checks.dimension(dim)
        self._ridge, params = make_estimator(self.dim, a, covariance, kernel, kernel_params, forgetting, window)
        self._heard = np.zeros(1)
        super().__init__(params={"dim": self.dim, **params}, seed=seed)

    def _step(self, row: Any, relevant: bool) -> None:
        self._ridge.learn(row, 1.0 if relevant else -1.0)
        self._heard[0] += 1.0

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        if not self._play_ridge(0.0, True, stream, first, shown):
            super()._play(stream, first, shown)
