"""Confidit: upper confidence bounds for one-bit feedback (Crammer and Gentile 2013)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import confidit, label
from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument, NotFinite, NoWeights
from smidgen.features import LONGEST, Row, as_row
from smidgen.learners.base import as_bit_or_reward, kept_row, register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.label.base import Csr, LabelLearner, Shown, Stream
from smidgen.learners.log_batch import BatchArrays, LearnerSteps, LogBatch, Outcomes
from smidgen.learners.sizes import by_covariance
from smidgen.randomness import COIN, stream_key
from smidgen.state.dual import DualClasses, KernelFunction, find_kernel
from smidgen.state.second_order import Block, DiagonalClasses, FullClasses, padded

GRAM_BLOCK = 2**20  # how many numbers of sparse rows are made dense at once for a kernel

#: Where things stand in a learner's one array of numbers, as the core reads it (_core/confidit.cpp). First what is
#: remembered: rounds learnt, widths, log-determinants, approximation errors so far. Then the settings; the number of
#: the decision whose moments stand ready (0: none); space for the projection's shifts, one per class.
#: Last the approximation errors q_1, q_2, …
LOGDET, MEMORY = 2, 4


class Settings(NamedTuple):
    """The settings that the compiled core reads."""

    alpha: float
    eta: float
    theory: bool
    norm_bound: float
    delta: float
    project: bool
    printed: bool


FRESH = MEMORY + len(Settings._fields)
SHIFTS = FRESH + 1


@register(
    Card(
        loop="label",
        feedback=("bit", "reward"),
        draws=True,
        paper="Crammer & Gentile 2013, Fig. 1",
        cost="K·nnz (diagonal), K·nnz·N (full)",
        example={"dim": 4, "n_classes": 3, "eta": 0.5, "alpha": 0.6},
        recommended=(Recommended(feedback="bit"),),
        theorem="one bit",
        size=by_covariance,
        unit_rows=lambda settings: bool(settings.get("normalize", True)),
    )
)
class Confidit(LabelLearner):
    """Show the label of highest score plus uncertainty; learn only about the label shown.

    Parameters
    ----------
    dim
        The number of features d.
    n_classes
        K; labels are 0 … K−1 unless ``labels`` names them.
    alpha
        α in (−1, 1], the closeness of the classes in the label model (eq. 2). 1 is deterministic, and best in the
        paper.
    eta
        A number: ε² = η·xᵀA⁻¹x (eq. 11), to be tuned; ``"theory"``: ε² = 2η_t·xᵀA⁻¹x (eq. 9).
    norm_bound
        ‖U‖, the norm of the true weights, or a bound on it (theory only).
    delta
        δ, the probability with which the theorem may fail (theory only).
    approximation
        q, how far the label model is from linear: a number for every round, or q_1, q_2, … (the last one
        holds on). Makes this Modified Confidit (eq. 10; theory only).
    covariance
        ``"diagonal"`` (large sparse features), ``"full"``, or ``"kernel"`` (dual variables).
    update
        ``"residual"`` or ``"printed"``, for diagonal covariance; see Differs.
    kernel, kernel_params
        For covariance="kernel": "linear", "rbf", "poly", a registered name, or a function k(X, Z) → Gram matrix.
    project
        Project W on the constraints of the label model in every round (Section 3.1).
    normalize
        Scale every x to unit length, as the analysis assumes.
    labels
        Names of the labels: any hashable values.
    dtype
        "float64" or "float32".
    seed
        Seeds the randomised update (α < 1); a draw is a function of the decision's number.

    Notes
    -----
    **Update** ŷ = argmax w_i·x + ε_i. s = +1 if right; if wrong, −1 with probability (1+α)/2, else +1; for a reward r
    between 0 (wrong) and 1 (right) s = (1+α)r − α, which is the same on average. For the class shown: A ← A + xxᵀ,
    w ← w + (s − w·x)·A_new⁻¹x; A = (1+α)²I at first. Diagonal: with u = x/a (old a), w ← w + (s − w·x)·u/(1 + x·u),
    then a ← a + x².
    **Symbols** x: ``context``, ŷ: ``decision.action``, ỹ: ``decision.greedy``, w_i·x: ``decision.scores``,
    ε_i: ``decision.widths``, α: ``alpha``, η: ``eta``, ‖U‖: ``norm_bound``, δ: ``delta``, q_t: ``approximation``.
    **Assumes** labels drawn by eq. 2, P(y = i | x) = (α + u_i·x)/(1 + α), ‖x‖ = 1, α ≥ 0 in the analysis.
    **Bound** with eta="theory", project=True, covariance="full": regret ≤ 2√(B₁T(B₂ + B₃)B₃) with probability 1 − δ
    (Theorem 1; `smidgen.bounds.confidit`; B₃ is `log_determinant`); Theorem 2 with ``approximation``.
    **Cost** K·nnz to decide and nnz to learn (diagonal); K·nnz·d and d² (full); K·n² for n examples learnt (kernel).
    Memory 2K·d, K·d², or n² (kernel).
    **Differs** eq. 12 misprints the start of A. Step 8 with diagonal A, to the letter (``update="printed"``), does
    not shrink the step by how well the other features know already, and on text it does not reach the printed
    results; the residual form, which is what full A amounts to, does. Both are here.
    The argmax leaves ties open: one of the m labels whose Δ̂ + ε equal the highest to 1e-12 of it is drawn by (seed,
    decision number), with ``propensity`` 1/m.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.Confidit(dim=2, labels=["bug", "question"], eta=0.1)
    >>> for _ in range(20):
    ...     for x, y in ((np.array([1.0, 0.2]), "bug"), (np.array([0.1, 1.0]), "question")):
    ...         d = learner.decide(x)
    ...         learner.learn(d, d.action == y)
    >>> learner.predict(np.array([0.0, 1.0]))
    'question'

    References
    ----------
    .. [1] K. Crammer, C. Gentile. Multiclass classification with bandit feedback using adaptive regularization.
       Machine Learning 90, 2013.
    """

    feedback = "one-bit"

    def __init__(
        self,
        *,
        dim: int,
        n_classes: int | None = None,
        alpha: float = 1.0,
        eta: float | str = 1.0,
        norm_bound: float = 1.0,
        delta: float = 0.05,
        approximation: float | Sequence[float] | None = None,
        covariance: str = "diagonal",
        update: str = "residual",
        kernel: str | KernelFunction | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        project: bool = False,
        normalize: bool = True,
        labels: Sequence[Hashable] | None = None,
        dtype: str = "float64",
        seed: int = 0,
    ) -> None:
        theory = isinstance(eta, str) and eta == "theory"
        kernel_params = checks.mapping("kernel_params", kernel_params, "give e.g. {'gamma': 0.5}")
        if isinstance(eta, str) and not theory:
            raise InvalidArgument(f"eta is {eta!r}", "give a number (eq. 11) or 'theory' (eq. 9)")
        if approximation is not None and not theory:
            raise InvalidArgument("approximation was given with a fixed eta", "give eta='theory' (eq. 10)")
        checks.one_of("covariance", covariance, ("diagonal", "full", "kernel"))
        checks.one_of("update", update, ("residual", "printed"))
        if update == "printed" and covariance != "diagonal":
            raise InvalidArgument(
                f"update='printed' was given with covariance={covariance!r}", "give covariance='diagonal'"
            )
        if covariance != "kernel" and (kernel is not None or kernel_params):
            raise InvalidArgument(f"a kernel was given with covariance={covariance!r}", "give covariance='kernel'")
        if covariance == "kernel" and dtype != "float64":
            raise InvalidArgument(f"dtype is {dtype!r} with covariance='kernel'", "omit it: kernels use float64")
        self._s = Settings(
            alpha=checks.number("alpha", alpha, "give a number in (-1, 1]", above=-1.0, at_most=1.0),
            eta=0.0 if theory else checks.number("eta", eta, "give a number >= 0, or 'theory'", at_least=0.0),
            theory=theory,
            norm_bound=checks.number("norm_bound", norm_bound, "give a bound on ‖U‖", at_least=0.0),
            delta=checks.number("delta", delta, "give a probability in (0, 1]", above=0.0, at_most=1.0),
            project=checks.flag("project", project, "give True or False"),
            printed=update == "printed",
        )
        self._normalize = checks.flag("normalize", normalize, "give True or False")
        params: dict[str, Any] = {"alpha": self._s.alpha, "eta": eta, "covariance": covariance}
        params |= {"update": update} if covariance == "diagonal" else {}
        params |= {"norm_bound": self._s.norm_bound, "delta": self._s.delta} if theory else {}
        params |= {"approximation": approximation} if approximation is not None else {}
        if covariance == "kernel":
            params |= {"kernel": kernel or "rbf", "kernel_params": dict(kernel_params or {})}
        params |= {"project": project, "normalize": normalize}
        super().__init__(dim=dim, n_classes=n_classes, labels=labels, dtype=dtype, params=params, seed=seed)
        start, columns = (1.0 + self._s.alpha) ** 2, padded(self.n_classes)
        self._state_of: DiagonalClasses | FullClasses | DualClasses
        if covariance == "diagonal":
            self._state_of = DiagonalClasses(self.dim, columns, start, self._dtype)
        elif covariance == "full":
            self._state_of = FullClasses(self.dim, columns, start, self._dtype)
        else:
            self._kernel = find_kernel(kernel or "rbf", kernel_params)
            self._state_of = DualClasses(self.dim, columns, start, self._kernel)
        self._errors = _errors(approximation)
        self._numbers = self._fresh_numbers()
        self._key = stream_key(self._seed, COIN)
        self._latest: Decision | None = None  # the one whose moments stand ready in the state

    @classmethod
    def version(cls, number: int, *, dim: int, n_classes: int | None = None, **settings: Any) -> Self:
        """Version 1 to 5 of Table 2: 1 is Algorithm 1 in full, 5 the practical one.

        ========  ==========  ==========  ==========
        version   projection  confidence  covariance
        ========  ==========  ==========  ==========
        1         yes         eq. 9       full
        2         no          eq. 11      full
        3         no          eq. 9       full
        4         yes         eq. 11      full
        5         no          eq. 11      diagonal
        ========  ==========  ==========  ==========
        """
        table: dict[int, dict[str, Any]] = {
            1: {"project": True, "eta": "theory", "covariance": "full"},
            2: {"covariance": "full"},
            3: {"eta": "theory", "covariance": "full"},
            4: {"project": True, "covariance": "full"},
            5: {"covariance": "diagonal"},
        }
        if number not in table:
            raise InvalidArgument(f"version is {number!r}", "choose 1, 2, 3, 4 or 5 (Table 2)")
        if clash := sorted(settings.keys() & table[number].keys()):
            raise InvalidArgument(f"version {number} sets {', '.join(clash)} itself", "omit them, or use Confidit(…)")
        return cls(dim=dim, n_classes=n_classes, **table[number], **settings)

    def _decide(self, context: Any, number: int) -> Decision:
        row, K = self._row(context), self.n_classes
        scores, eps = np.empty(K), np.empty(K)  # unpacking one array of two rows takes 3.5 times as long
        (action, greedy, tied), widths = self._choose(row, number, scores, eps)
        chance, every = None, None
        if tied > 1:
            chance, every = 1.0 / tied, np.empty(K)
            shifts = self._numbers[SHIFTS : SHIFTS + K]
            label.tie_shares(scores + shifts * widths[:K] + eps, 0.0, every)
        self._latest = decision = self._record(number, row, action, greedy, scores, chance, eps, every)
        return decision

    def _choose(self, row: Row, number: int, scores: FloatArray, eps: FloatArray) -> tuple[tuple[int, int, int], Block]:
        """ŷ, ỹ and how many are tied, and the widths, with the scores and ε of every class.

        The moments stay ready for learning, but of number 0.
        """
        state, idx, val = self._state_of, row.indices, row.values
        numbers = self._numbers if number else self._numbers.copy()
        if isinstance(state, DiagonalClasses):
            moments = state.moments if number else np.empty_like(state.moments)
            made = confidit.decide_diagonal(state.S, idx, val, numbers, self._key, number, moments, scores, eps)
            return made, moments[1]
        if isinstance(state, FullClasses):
            scratch = (state.moments, state.products)
            scratch = scratch if number else (np.empty_like(state.moments), np.empty_like(state.products))
            made = confidit.decide_full(state.W, state.B, idx, val, numbers, self._key, number, *scratch, scores, eps)
            return made, scratch[0][1]
        dual = self._dual_moments(state, row)[0]
        return confidit.show(dual, self._s, numbers, self._key, number, scores, eps), dual[1]

    def _row(self, context: Any) -> Row:
        return as_row(context, self.dim, self._dtype, LONGEST, self._normalize)

    def _learn(self, decision: Decision, feedback: Any) -> None:
        reward, row, state = as_bit_or_reward(feedback), kept_row(decision, self.dim, self._dtype), self._state_of
        idx, val, K, number, numbers = row.indices, row.values, self.n_classes, decision.number, self._numbers
        c = self._classes.index(decision.action)
        if decision is not self._latest:
            numbers[FRESH] = 0.0
        if isinstance(state, DiagonalClasses):
            finite = confidit.learn_diagonal(state.S, idx, val, K, c, reward, numbers, self._key, number, state.moments)
        elif isinstance(state, FullClasses):
            scratch = (state.moments, state.products)
            finite = confidit.learn_full(state.W, state.B, idx, val, K, c, reward, numbers, self._key, number, *scratch)
        else:
            finite = self._learn_dual(state, row, c, confidit.sign_of(reward, self._s.alpha, self._key, number))
        if not finite:
            raise NotFinite("the features lead to scores that are not finite", "scale them down, or normalize")

    def _learn_dual(self, state: DualClasses, row: Row, c: int, sign: float) -> bool:
        """Learn one example in dual variables."""
        moments, solved = self._dual_moments(state, row)
        if not confidit.prepare(moments, self.n_classes, self._s, self._numbers):
            return False
        point, shifts = state.remember(row.dense()), self._numbers[SHIFTS:]
        if self._s.project:
            for i in range(self.n_classes):
                state.shift(i, point, solved[i], shifts[i])
        mean, width = moments[0, c] + shifts[c] * moments[1, c], moments[1, c]
        state.shift(c, point, solved[c], (sign - mean) / (1.0 + width))
        confidit.count_round(self._numbers, self._columns, *state.absorb(c, point, solved[c], width))
        return True

    def _dual_moments(self, state: DualClasses, row: Row) -> tuple[FloatArray, list[FloatArray]]:
        """w_i·φ(x) and φ(x)ᵀA_i⁻¹φ(x) of every class, and the products that led there."""
        moments = np.empty((2, self._columns))
        return moments, state.moments(row.dense(), moments[0], moments[1])

    def _score_rows(self, rows: Csr, out: Block) -> None:
        state, (indices, values, starts) = self._state_of, rows
        scales = np.repeat(self._scales(values, starts), np.diff(starts))
        rows = (indices, (values * scales).astype(self._dtype, copy=False), starts)
        if isinstance(state, DiagonalClasses):
            label.scores_by_feature(state.S, rows, out)
        elif isinstance(state, FullClasses):
            label.scores_by_class(state.W, rows, out)
        elif len(state.points):
            size = max(1, GRAM_BLOCK // self.dim)
            for first in range(0, len(out), size):
                block = _dense(rows, first, min(first + size, len(out)), self.dim)
                state.scores(block, out[first : first + size])

    def probabilities(self, X: Any) -> FloatArray:
        """Probabilities by the model of eq. 2 for many rows: those nearest to (α + w_i·x)/(1 + α).

        They mean as much as that model fits: the scores are least squares estimates, not calibrated. Changes nothing.
        """
        probabilities = (self._s.alpha + self.scores(X)) / (1.0 + self._s.alpha)
        ordered = -np.sort(-probabilities, axis=1)  # the projection onto the simplex, row by row
        places = np.arange(1, self.n_classes + 1)
        excess = (np.cumsum(ordered, axis=1) - 1.0) / places
        last = np.count_nonzero(ordered > excess, axis=1) - 1
        out: FloatArray = np.maximum(probabilities - excess[np.arange(len(probabilities)), last][:, None], 0.0)
        return out

    def _predict(self, context: Any) -> Any:
        (_, greedy, _), _ = self._choose(self._row(context), 0, np.empty(self.n_classes), np.empty(self.n_classes))
        return self._classes.labels[greedy]

    def _scales(self, values: Block, starts: NDArray[np.int64]) -> FloatArray:
        """Factor of each row: 1, or the one that makes its length 1."""
        scales = np.ones(len(starts) - 1)
        if self._normalize:
            confidit.row_scales(values, starts, scales)
        return scales

    def _takes(self, batch: LogBatch) -> BatchArrays | None:
        if isinstance(self._state_of, DualClasses) or (known := super()._takes(batch)) is None:
            return None
        return batch.unit(confidit.row_scales) if self._normalize and not batch.kept else known

    def _ahead(self, arrays: BatchArrays, own: LearnerSteps, begin: int, end: int, outcomes: Outcomes) -> int:
        state, along = self._state_of, (self.n_classes, self._numbers, self._key, arrays, own, begin, end, outcomes)
        self._numbers[FRESH] = 0.0
        if isinstance(state, DiagonalClasses):
            reached = confidit.follow_diagonal(state.S, *along)
        elif isinstance(state, FullClasses):
            reached = confidit.follow_full(state.W, state.B, *along)
        else:
            reached = begin
        self._numbers[FRESH] = 0.0
        return reached

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        state, K = self._state_of, self.n_classes
        if isinstance(state, DualClasses):
            before = {name: array.copy() for name, array in self._state().items()}
            try:
                self._play_by_verbs(stream, first, shown)
            except BaseException:  # a kernel of the user's may fail half-way
                self._restore(before)
                raise
            return
        self._numbers[FRESH] = 0.0
        played = (stream, self._scales(stream[1], stream[2]), first, shown)
        if isinstance(state, DiagonalClasses):
            confidit.stream_diagonal(state.S, K, self._numbers, self._key, played)
        else:
            confidit.stream_full(state.W, state.B, K, self._numbers, self._key, played)

    @property
    def weights(self) -> FloatArray:
        """The weights, one row per class; a kernel learner has none, see `support`."""
        if isinstance(self._state_of, DualClasses):
            raise NoWeights("a kernel learner has no weights in feature space", "use learner.support")
        return self._state_of.weights(self.n_classes)

    @property
    def support(self) -> tuple[FloatArray, FloatArray]:
        """Of a kernel learner: the examples learnt from, and their coefficients, one row per class."""
        if not isinstance(self._state_of, DualClasses):
            raise NoWeights("only a kernel learner has support examples", "use learner.weights")
        return self._state_of.points.copy(), self._state_of.coefficients[: self.n_classes].copy()

    @property
    def log_determinant(self) -> float:
        """B₃ of the theorems: Σ_i log(|A_i| / |A_i,0|)."""
        state = self._state_of
        return state.log_determinant() if isinstance(state, DiagonalClasses) else float(self._memory[LOGDET])

    @property
    def _memory(self) -> FloatArray:
        """Statistics of the past that the confidence needs: a view of the first of the numbers."""
        return self._numbers[:MEMORY]

    @property
    def _columns(self) -> int:
        return self._state_of.columns

    def _widen(self, columns: int) -> None:
        self._state_of.widen(columns)
        self._renumber(self._memory)

    @property
    def shared_start(self) -> str | None:
        """With the weights of one that was taught everything; A begins as it always does. Not with a kernel."""
        return None if isinstance(self._state_of, DualClasses) else "pooled"

    def _start_from(self, start: Mapping[str, NDArray[Any]]) -> None:
        if not isinstance(self._state_of, DualClasses):
            self._state_of.begin(start["w"])
            self._numbers[FRESH] = 0.0

    def _state(self) -> dict[str, NDArray[Any]]:
        return {"memory": self._memory, **self._state_of.arrays()}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._state_of.restore(state)
        self._renumber(state["memory"])

    def _renumber(self, memory: FloatArray) -> None:
        """Recompute the numbers for the columns that the state has now."""
        self._numbers = self._fresh_numbers()
        self._memory[:] = memory

    def _fresh_numbers(self) -> FloatArray:
        """The numbers of a learner that has not learnt yet."""
        settings, space = np.array(self._s, np.float64), np.zeros(1 + self._columns)
        return np.concatenate([np.zeros(MEMORY), settings, space, self._errors])


def _dense(rows: Csr, first: int, last: int, dim: int) -> FloatArray:
    """Some of the rows as a dense array."""
    indices, values, starts = rows
    part = slice(starts[first], starts[last])
    dense = np.zeros((last - first, dim))
    dense[np.repeat(np.arange(last - first), np.diff(starts[first : last + 1])), indices[part]] += values[part]
    return dense


def _errors(approximation: float | Sequence[float] | None) -> FloatArray:
    errors = np.atleast_1d(np.asarray(0.0 if approximation is None else approximation, dtype=np.float64))
    if errors.ndim != 1 or not len(errors) or not ((errors >= 0.0) & (errors <= checks.LARGEST)).all():
        raise InvalidArgument(f"approximation is {approximation!r}", "give q >= 0, or a sequence q_1, q_2, …")
    return errors
