"""RIDGE-FIL: forward what a ridge estimate, less a shrinking margin of doubt, calls relevant."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import filter as core
from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument, InvalidRecord, NotFinite, NoWeights
from smidgen.features import Row
from smidgen.learners.bank import REMEMBERED, Restart, check_restarts, pack_restarts, unpack_restarts
from smidgen.learners.base import register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.filter.base import (
    EVERYTHING,
    HEARD,
    MEMORY,
    RELEVANT,
    RIDGES,
    RULES,
    WIDTH,
    Exploring,
    Filter,
    FullInformationFilter,
    Shown,
    Stream,
    as_relevant,
    margin_of,
    rows_with_constant,
    with_constant,
)
from smidgen.learners.filter.simple_fil import PAPER
from smidgen.learners.sizes import by_covariance
from smidgen.state.dual import KernelFunction, find_kernel
from smidgen.state.ridge import DiagonalRidge, ForgettingRidge, FullRidge, KernelRidge, Ridge
from smidgen.state.sparse_ridge import SparseRidge

#: Items of a block, and how many examples there must be before blocks pay: until then, the two verbs play.
BLOCK, MANY = 192, 200

#: In what is watched: labels since the last fresh start (CHANGED: relevance has changed), and in all.
WATCHED, ALL_LABELS, CHANGED = 2, 3, -1.0
ByVerbs: TypeAlias = Callable[[Stream, int, Shown], None]


LARGE = 1000  # features; beyond this the examples learnt from are usually fewer


def make_estimator(
    dim: int,
    a: float,
    covariance: str | None,
    kernel: str | KernelFunction | None,
    kernel_params: Mapping[str, Any] | None,
    forgetting: float,
    window: int | None,
    constant: bool = False,
) -> tuple[Ridge, dict[str, Any]]:
    """The estimator, and the settings that lead to it again; with a constant it holds one more feature."""
    start = checks.number("a", a, "give a number > 0, e.g. a=1.0", above=0.0)
    keep = checks.number("forgetting", forgetting, "give a number in (0, 1]; 1 forgets nothing", above=0.0, at_most=1.0)
    size = None if window is None else checks.whole("window", window, "omit it to keep everything")
    if covariance is not None:
        checks.one_of("covariance", covariance, ("full", "diagonal", "dual", "kernel"))
    if kernel is not None and not isinstance(kernel, str) and not callable(kernel):
        raise InvalidArgument(f"kernel is {kernel!r}", "give a name or a function k(X, Z) -> Gram matrix")
    kernel_params = checks.mapping("kernel_params", kernel_params, "give e.g. {'gamma': 0.5}")
    if kernel is not None and covariance not in (None, "kernel"):
        raise InvalidArgument(f"a kernel was given with covariance={covariance!r}", "omit covariance")
    if kernel_params and kernel is None:
        raise InvalidArgument("kernel_params was given without a kernel", "give kernel='rbf'")
    form = covariance or _form(dim, kernel, keep, size)
    checks.one_of("covariance", form, ("full", "diagonal", "dual", "kernel"))
    if keep < 1.0 and form != "full":
        raise InvalidArgument(f"forgetting={keep:g} was given with covariance={form!r}", "use 'full', or a window")
    if size is not None and form != "dual":
        raise InvalidArgument(f"a window was given with covariance={form!r}", "omit covariance, or give 'dual'")
    params: dict[str, Any] = {"a": start, "covariance": form}
    if form == "kernel":
        params |= {"kernel": kernel or "rbf", "kernel_params": dict(kernel_params or {})}
        found = find_kernel(kernel or "rbf", kernel_params)
        return KernelRidge(dim, start, _raised(found) if constant else found), params
    features = dim + constant
    if form == "dual":
        params |= {"window": size} if size else {}
        return SparseRidge(features, start, size), params
    if form == "diagonal":
        return DiagonalRidge(features, start), params
    if keep < 1.0:
        return ForgettingRidge(features, start, keep), {**params, "forgetting": keep}
    return FullRidge(features, start), params


def _raised(kernel: KernelFunction) -> KernelFunction:
    """The kernel of the feature space with an added constant: k + 1."""
    return lambda X, Z: kernel(X, Z) + 1.0


def ridge_size(settings: Mapping[str, Any]) -> int:
    """The bytes of a fresh estimator; the dual forms grow with the labels received."""
    if (form := settings.get("covariance")) is None:  # a learner that was made says which, and leaves out the rest
        form = _form(settings["dim"], settings["kernel"], settings["forgetting"], settings["window"])
    return by_covariance({**settings, "covariance": form})


def _form(dim: int, kernel: str | KernelFunction | None, forgetting: float, window: int | None) -> str:
    """Default form of the covariance."""
    if kernel is not None:
        return "kernel"
    return "dual" if window or (dim > LARGE and forgetting == 1.0) else "full"


class _RidgeState:
    """A ridge estimator, with or without a constant feature, and the number of labels received."""

    dim: int
    _ridge: Ridge
    _heard: FloatArray
    _constant: bool
    _watched: FloatArray = np.empty(0)

    @property
    def exact_stream(self) -> bool:
        """True if `run` equals the two verbs to the last bit; in the dual form, blocks round differently."""
        return not isinstance(self._ridge, SparseRidge) or self._ridge.window is not None

    def _wide(self, row: Row) -> Row:
        """The row with its constant; a kernel has it already."""
        return row if isinstance(self._ridge, KernelRidge) else with_constant(row)

    def _margin(self, row: Row) -> float:
        """Estimated relevance of the item: `margin_of` the ridge estimate."""
        margin = margin_of(*self._ridge.moments(self._wide(row) if self._constant else row))
        if not math.isfinite(margin):
            raise NotFinite("the features lead to a margin that is not finite", "scale them down")
        return margin

    def _play_ridge(
        self,
        e: Exploring,
        tasted: FloatArray,
        stream: Stream,
        first: int,
        shown: Shown,
        by_verbs: ByVerbs,
        start_again: Callable[[int], None] | None = None,
    ) -> None:
        """Play in compiled code where the state has such a stream, else by the two verbs.

        Where a change is detected, ``start_again`` receives the number of the decision.
        """
        if not isinstance(self._ridge, (FullRidge, DiagonalRidge, SparseRidge)):
            by_verbs(stream, first, shown)
            return
        indices, values, starts, truth, order = stream
        if self._constant:
            indices, values, starts = rows_with_constant(indices, values, starts, self.dim)
        at = 0
        while at < len(order):
            ridge, counts, then = self._ridge, (self._heard, tasted, self._watched), (shown[0][at:], shown[1][at:])
            wide, own = (indices, values, starts, truth, order[at:]), (*stream[:4], order[at:])
            if isinstance(ridge, FullRidge):
                at += core.stream_full(ridge.blocks.W, ridge.blocks.B, e, counts, wide, first + at, then)
            elif isinstance(ridge, DiagonalRidge):
                at += core.stream_diagonal(ridge.blocks.S, e, counts, wide, first + at, then)
            elif isinstance(ridge, SparseRidge):
                at += self._play_some(ridge, e, tasted, own, wide, first + at, then, by_verbs)
            if start_again is not None and self._watched[WATCHED] == CHANGED:
                start_again(first + at - 1)

    def _play_some(
        self,
        ridge: SparseRidge,
        e: Exploring,
        tasted: FloatArray,
        stream: Stream,
        wide: Stream,
        first: int,
        shown: Shown,
        by_verbs: ByVerbs,
    ) -> int:
        """Play the next block by the examples kept; how many rounds. ``wide`` has the rows with their constant.

        With n examples an exact answer costs n² operations in any form, and n goes into the thousands. One item at a
        time that is a walk through a large matrix; a block of items at a time it is a product of matrices, many times
        quicker. The arithmetic is that of `SparseRidge`, for a block: an item that is learnt adds a row to the products
        of those after it.

        Equal to the two verbs to the last bit up to `MANY` examples, and to rounding from then on.
        """
        part, then = stream[4][:BLOCK], (shown[0][:BLOCK], shown[1][:BLOCK])
        if ridge.window is not None or len(ridge) < MANY:
            by_verbs((*stream[:4], part), first, then)
            return len(part)
        asked = ridge.asked(*wide[:3], part)
        played = core.play_block(asked, e, (self._heard, tasted, self._watched), stream[3][part], first, then)
        ridge.take_over(asked)
        return played

    @property
    def weights(self) -> FloatArray:
        """The weights w = A⁻¹b, without the `intercept`; a kernel filter has none, see `support`."""
        weights = self._ridge.weights
        if weights is None:
            raise NoWeights("a kernel filter has no weights in feature space", "use learner.support")
        return weights[: self.dim]

    @property
    def intercept(self) -> float:
        """The weight of the constant feature; 0 if there is none."""
        if not self._constant:
            return 0.0
        if isinstance(self._ridge, KernelRidge):
            return float(self._ridge.dual.coefficients[0].sum())
        weights = self._ridge.weights
        return 0.0 if weights is None else float(weights[self.dim])

    @property
    def support(self) -> tuple[FloatArray, FloatArray]:
        """Of a kernel filter: the examples learnt from, and their coefficients."""
        if not isinstance(self._ridge, KernelRidge):
            raise NoWeights("only a kernel filter has support examples", "use learner.weights")
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
        recommended=(Recommended(feedback="relevance", settings={"explore": "sparing", "detect": True}),),
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
        The ridge; A starts as a·I (as a·I/10 with explore="scarce", "patient" or "sparing").
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
    explore
        How much to forward to learn. ``"paper"``: by the threshold −√(c·ln t / N). ``"found"``: less, as more relevant
        items have been found. ``"scarce"``: the same idea with a weaker ridge. ``"patient"``: a little longer, where
        features are not those of text. ``"sparing"``: like "patient", but less where many of the received labels are
        relevant; the recommended start. See Update; ``c`` applies to "paper" only.
    constant
        Whether a constant feature is added, of which `intercept` is the weight. Left out: with every rule but
        "paper". Say False where the features have a constant already.
    detect
        Whether the filter watches for change, and starts again when less of what it forwards is relevant than it
        estimated; `restarts` says when.
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** for forwarded items A ← A + xxᵀ, b ← b + yx, y = ±1; margin = b·A⁻¹x/(1 + xᵀA⁻¹x); forward iff margin ≥
    −√(c·ln t / N), and always while N = 0. With forgetting: A ← λA + (1−λ)aI + xxᵀ, b ← λb + yx. "found": forward iff
    margin ≥ −max(√(.1·ln t / (m + 1)), √(ln t / N)). "scarce": A starts as a'I, a' = a/10, and the floor is √(2·ln t /
    N); but where after 50 labels the mean width q of the labeled items (of the last five or so) has a'q > .3, as in
    text, where something is always new, the threshold is that of "found" times (1 + a'q)/(1 + q). "patient": the same,
    but elsewhere than in text the threshold is −max(min(.9, √(.15·ln t / (m + 1))), √(3·ln t / N)). "sparing": that
    times min(1, (1 − m/(N + 1))/.75), while a'q ≤ .3. With ``detect``, of each label before it is learnt: S ← .96 S +
    (p − y), V ← .96² V + max(p(1 − p), .05), p = (1 + w·x)/2 in [0, 1], y = 1 if relevant, else 0; after ten labels or
    more, if S > 4√V, everything but t starts again. **Symbols** t: ``decision.number``, N: items forwarded and labeled,
    m: relevant ones among them (with forgetting or a window: their present weight), margin and threshold in the
    decision. **Assumes** ‖x‖ = 1 and E[y] = u·x for an unknown u. **Bound** none is proved; see `PRidgeFil` for a
    relative that has one. **Cost** full: nnz·d to decide, d² more to learn, d² memory. Dual: n·nnz + n² for n items
    learnt from. Diagonal: nnz. Forgetting: d³ to learn. **Differs** eq. 3 lacks a transpose. The diagonal form treats
    features as uncorrelated. The weight N of a fading or sliding past in the threshold is ours: it keeps exploration
    alive, which drift needs. "found", "scarce", "patient", "sparing" and the constant are ours too: a ridge through the
    origin cannot say that nearly all items are irrelevant, and exploration should fall with what is scarce.

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
        explore: str = "paper",
        constant: bool | None = None,
        detect: bool = False,
        seed: int = 0,
    ) -> None:
        self.dim = checks.dimension(dim)
        watches = checks.flag("detect", detect, "give True or False")
        self._c = checks.number("c", c, "give a number >= 0, e.g. c=5.0", at_least=0.0)
        self._rule = RULES[checks.one_of("explore", explore, RULES)]
        chosen = None if constant is None else checks.flag("constant", constant, "give True or False, or omit it")
        self._constant = explore != "paper" if chosen is None else chosen
        ridge = checks.number("a", a, "give a number > 0, e.g. a=1.0", above=0.0)
        given = (self.dim, RIDGES[explore] * ridge, covariance, kernel, kernel_params, forgetting, window)
        self._estimator = partial(make_estimator, *given, self._constant)
        self._ridge, params = self._estimator()
        params["a"] = ridge
        self._rate = RIDGES[explore] * ridge if RULES[explore] >= RULES["scarce"] else self._c  # for the threshold
        self._keep, self._window = forgetting, window
        self._heard = np.zeros(MEMORY[explore])
        self._watched, self._restarts = np.zeros(4 if watches else 0), list[tuple[int, int]]()
        params |= {"detect": True} if watches else {}
        params |= {"explore": explore} if explore != "paper" else {}
        params |= {"constant": chosen} if chosen is not None else {}
        super().__init__(params={"dim": self.dim, "c": self._c, **params}, seed=seed)

    def _decide(self, context: Any, number: int) -> Decision:
        row = self._row(context)
        margin, tau = self._margin(row), core.threshold_of(self._rule, self._rate, number, self._heard)
        shown = None if math.isinf(tau) else tau
        return self._record(number, row, bool(margin >= tau), margin >= 0.0, margin, shown)

    def _learn_relevance(self, decision: Decision, relevant: bool) -> None:
        if self._hear_label(decision, relevant):
            self._start_again(decision.number)

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        relevant = as_relevant(answer)
        self._hear_label(self._record(number, self._row(context), True, True, 0.0, None), relevant, watched=False)

    def _hear_label(self, decision: Decision, relevant: bool, watched: bool = True) -> bool:
        """Learn a label; whether relevance has changed."""
        row = self._take_row(decision)
        row = self._wide(row) if self._constant else row
        asks = len(self._heard) > WIDTH or len(self._watched)
        mean, width = self._ridge.moments(row) if asks else (0.0, 0.0)
        self._ridge.learn(row, 1.0 if relevant else -1.0)
        core.count_label(self._heard, relevant, self._keep, width)
        if self._window is not None and isinstance(self._ridge, SparseRidge):
            self._heard[HEARD] = min(self._heard[HEARD], self._window)
            self._heard[RELEVANT:WIDTH] = self._ridge.positives
        if len(self._watched) and not watched:
            self._watched[ALL_LABELS] += 1.0
        return bool(len(self._watched)) and watched and core.watch_label(self._watched, mean, relevant)

    def _start_again(self, number: int) -> None:
        """Forget what was learnt, and remember the fresh start."""
        self._ridge, labels = self._estimator()[0], self._watched[ALL_LABELS]
        self._heard, self._watched = np.zeros(len(self._heard)), np.zeros(4)
        self._watched[ALL_LABELS] = labels
        self._restarts = [*self._restarts, (int(labels), number)][-REMEMBERED:]

    @property
    def restarts(self) -> list[Restart]:
        """The latest fresh starts, as (round, reason, decision)."""
        return [Restart(at, "less was relevant than estimated", number) for at, number in self._restarts]

    def _state(self) -> dict[str, NDArray[Any]]:
        more = {"watched": self._watched, "restarts": pack_restarts(self._restarts)} if len(self._watched) else {}
        return super()._state() | more

    def _check_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        super()._check_state(state)
        if len(self._watched):
            check_restarts(state["restarts"])
            if not np.isfinite(state["watched"]).all():
                raise InvalidRecord("what it watched is not finite", "give what Learner.save wrote")

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(state)
        if len(self._watched):
            self._watched, self._restarts = state["watched"], unpack_restarts(state["restarts"])

    def _predict(self, context: Any) -> bool:
        return self._margin(self._row(context)) >= 0.0

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        start_again = self._start_again if len(self._watched) else None
        exploring = Exploring(self._rule, self._rate)
        self._play_ridge(exploring, np.zeros(1), stream, first, shown, super()._play, start_again)


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
    """`RidgeFil` with threshold zero and the relevance of every item: an upper reference with full information.

    Parameters
    ----------
    dim
        The number of features d.
    a
        The ridge; A starts as a·I.
    kernel, kernel_params, forgetting, covariance, window
        As in `RidgeFil`.
    constant
        Whether a constant feature is added, of which `intercept` is the weight.
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
    >>> judge.learn(d, False)  # it also learns dropped items

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
        constant: bool = False,
        seed: int = 0,
    ) -> None:
        self.dim = checks.dimension(dim)
        self._constant = checks.flag("constant", constant, "give True or False")
        given = (self.dim, a, covariance, kernel, kernel_params, forgetting, window)
        self._ridge, params = make_estimator(*given, self._constant)
        self._heard = np.zeros(1)
        params |= {"constant": True} if self._constant else {}
        super().__init__(params={"dim": self.dim, **params}, seed=seed)

    def _step(self, row: Row, relevant: bool) -> None:
        self._ridge.learn(self._wide(row) if self._constant else row, 1.0 if relevant else -1.0)
        self._heard[0] += 1.0

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        self._play_ridge(Exploring(EVERYTHING), np.zeros(1), stream, first, shown, super()._play)
