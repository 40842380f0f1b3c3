"""HingeConfidit: Confidit that leaves alone what it knows already, with another start and another covariance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import confidit, hinge, label
from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument, InvalidRecord, NotFinite
from smidgen.features import LONGEST, Row, as_row
from smidgen.learners.base import as_bit_or_reward, check_shapes, kept_row, register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.label.base import Csr, LabelLearner, Shown, Stream
from smidgen.learners.log_batch import BatchArrays, LearnerSteps, LogBatch, Outcomes
from smidgen.randomness import COIN, stream_key
from smidgen.state.second_order import ActiveColumns, Block, DiagonalClasses, FullClasses, padded

#: Where the number of the decision whose moments stand ready (0: none) is in a learner's one array of numbers, as the
#: compiled core reads it (_core/hinge.cpp). After it come the settings in force.
FRESH = 0
LIMIT = 256  # columns in use up to which "auto" keeps full matrices
#: The start of A, the target of a wrong label, and κ, by the covariance in force.
DEFAULTS = {"full": (0.3, -0.2, 0.5), "diagonal": (1.0, -1.0, math.sqrt(0.1))}
_NOWHERE = np.empty(0, np.int32), np.empty(0, np.uint32)  # the slots of a state that has all features in use


def _size(settings: Mapping[str, Any]) -> int:
    """Bytes of state; of "auto" the larger of its two forms."""
    dim, form = int(settings["dim"]), settings.get("covariance", "auto")
    columns = padded(int(settings.get("n_classes") or len(settings.get("labels") or "12")))
    each = 4 if settings.get("dtype") == "float32" else 8
    full, diagonal = each * columns * dim * (dim + 1), each * 2 * columns * dim
    if form == "auto":
        return full if dim <= LIMIT else max(diagonal, each * columns * LIMIT * (LIMIT + 1)) + 4 * dim
    return full if form == "full" else diagonal


@register(
    Card(
        loop="label",
        feedback=("bit", "reward"),
        draws=True,
        paper="this library; after Crammer & Gentile 2013",
        cost="K·nnz (diagonal), K·nnz·N (full)",
        example={"dim": 4, "n_classes": 3},
        recommended=(Recommended(feedback="bit", strength=2), Recommended(feedback="reward")),
        size=_size,
        unit_rows=lambda settings: bool(settings.get("normalize", True)),
    )
)
class HingeConfidit(LabelLearner):
    """Show the label of highest score plus uncertainty; learn about the label shown, unless it is known already.

    Parameters
    ----------
    dim
        The number of features d.
    n_classes
        K; labels are 0 … K−1 unless ``labels`` names them.
    covariance
        ``"full"``, ``"diagonal"``, or ``"auto"``: full over the columns in use until a learnt row brings the 257th,
        diagonal from then on.
    prior
        A₀: A starts as prior·I. Left out: by the covariance in force, .3 (full) or 1 (diagonal).
    wrong
        The target of a wrong label, below 1. Left out: −.2 (full) or −1 (diagonal).
    width
        κ, how much uncertainty counts. Left out: .5 (full) or √.1 (diagonal).
    normalize
        Scale every x to unit length.
    floor
        The share of rounds that show a label drawn uniformly from all: then ``decision.propensity`` is known.
    labels
        Names of the labels: any hashable values.
    dtype
        "float64" or "float32".
    seed
        Seeds the draws of the floor; a draw is a function of the decision's number.

    Notes
    -----
    **Update** ŷ = argmax w_i·x + κ√(xᵀA_i⁻¹x). The target is y = 1 if right, ``wrong`` if wrong, and
    wrong + (1 − wrong)·r for a reward r in [0, 1]. For the class shown, unless it was right and w·x ≥ 1, or wrong and
    w·x ≤ ``wrong``: w ← w + (y − w·x)·A⁻¹x/(1 + xᵀA⁻¹x), then A ← A + xxᵀ (diagonal: A ← A + diag(x²)).
    **Symbols** x: ``context``, ŷ: ``decision.action``, argmax w_i·x: ``decision.greedy``, w_i·x: ``decision.scores``,
    κ√(xᵀA_i⁻¹x): ``decision.widths``.
    **Assumes** nothing that is needed to run; text does best with inverse document frequencies.
    **Bound** none is known: Confidit's theorems need a step in every round and the start (1+α)²I.
    **Cost** K·nnz to decide and nnz to learn (diagonal); K·nnz·d and d² (full). Memory 2K·d or K·d², d counting the
    columns in use under "auto".
    **Differs** from `Confidit`: the start of A, the target of a wrong label and the confidence are chosen by the
    covariance; a round that would only confirm takes no step, so that A does not grow stiff; a reward is learnt too.
    When "auto" leaves full matrices, w stays, and of A the diagonal stays, its start exchanged for the new one.
    Ties are drawn there and here, by (seed, decision number): each of m tied labels has (1 − floor)/m + floor/K.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.HingeConfidit(dim=2, labels=["bug", "question"])
    >>> for _ in range(20):
    ...     for x, y in ((np.array([1.0, 0.2]), "bug"), (np.array([0.1, 1.0]), "question")):
    ...         d = learner.decide(x)
    ...         learner.learn(d, d.action == y)
    >>> learner.predict(np.array([0.0, 1.0]))
    'question'
    >>> learner.learn(learner.decide(np.array([1.0, 0.0])), 0.7)  # a reward, where there is no right or wrong

    References
    ----------
    .. [1] K. Crammer, C. Gentile. Multiclass classification with bandit feedback using adaptive regularization.
       Machine Learning 90, 2013.
    .. [2] K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer. Online passive-aggressive algorithms.
       JMLR 7, 2006. Where steps are taken only inside the margin.
    """

    feedback = "one-bit"

    def __init__(
        self,
        *,
        dim: int,
        n_classes: int | None = None,
        covariance: str = "auto",
        prior: float | None = None,
        wrong: float | None = None,
        width: float | None = None,
        normalize: bool = True,
        floor: float = 0.0,
        labels: Sequence[Hashable] | None = None,
        dtype: str = "float64",
        seed: int = 0,
    ) -> None:
        checks.one_of("covariance", covariance, ("auto", "full", "diagonal"))
        by_covariance, single = "or omit it to have it by the covariance", dtype == "float32"
        hint = f"give a number > 0, {by_covariance}"
        self._given = (
            None if prior is None else checks.number("prior", prior, hint, above=0.0, single=single),
            None if wrong is None else _below_one(wrong),
            None if width is None else checks.number("width", width, f"give κ >= 0, {by_covariance}", at_least=0.0),
        )
        self._floor = checks.number("floor", floor, "give a share of the rounds in [0, 1]", at_least=0.0, at_most=1.0)
        self._normalize = checks.flag("normalize", normalize, "give True or False")
        params: dict[str, Any] = {"covariance": covariance}
        params |= dict(zip(("prior", "wrong", "width"), self._given, strict=True))
        params |= {"normalize": self._normalize, "floor": self._floor}
        super().__init__(dim=dim, n_classes=n_classes, labels=labels, dtype=dtype, params=params, seed=seed)
        columns, start = padded(self.n_classes), self._in_force("diagonal" if covariance == "diagonal" else "full")[0]
        self._state_of: DiagonalClasses | FullClasses | ActiveColumns
        if covariance == "diagonal":
            self._state_of = DiagonalClasses(self.dim, columns, start, self._dtype)
        elif covariance == "full" or self.dim <= LIMIT:
            self._state_of = FullClasses(self.dim, columns, start, self._dtype)
        else:
            self._state_of = ActiveColumns(self.dim, columns, start, self._dtype, LIMIT)
        self._renumber()
        self._key = stream_key(self._seed, COIN)
        self._latest: Decision | None = None  # the one whose moments stand ready in the state

    @property
    def covariance(self) -> str:
        """The covariance in force: "full" or "diagonal"."""
        return self._state_of.covariance

    def _in_force(self, covariance: str) -> tuple[float, float, float]:
        """The start of A, the target of a wrong label, and κ: what was given, the rest by the covariance."""
        prior, wrong, width = (
            usual if given is None else given for given, usual in zip(self._given, DEFAULTS[covariance], strict=True)
        )
        return prior, wrong, width

    def _renumber(self) -> None:
        _, wrong, width = self._in_force(self.covariance)
        self._numbers = np.array([0.0, wrong, width, self._floor])

    def _decide(self, context: Any, number: int) -> Decision:
        row, K = self._row(context), self.n_classes
        scores, eps = np.empty(K), np.empty(K)
        action, greedy, chance, tied = self._choose(row, number, scores, eps)
        p, every = None if self._floor == 0.0 and tied == 1 else chance, None
        if tied > 1:
            every = np.empty(K)
            label.tie_shares(scores + eps, self._floor, every)
        self._latest = decision = self._record(number, row, action, greedy, scores, p, eps, every)
        return decision

    def _choose(self, row: Row, number: int, scores: FloatArray, eps: FloatArray) -> tuple[int, int, float, int]:
        """ŷ and ỹ, the probability of ŷ, and how many are tied, with the scores and widths of every class.

        The moments stay ready for learning, but of number 0.
        """
        state, idx, val, key = self._state_of, row.indices, row.values, self._key
        numbers = self._numbers if number else self._numbers.copy()
        if isinstance(state, DiagonalClasses):
            moments = state.moments if number else np.empty_like(state.moments)
            return hinge.decide_diagonal(state.S, idx, val, numbers, key, number, moments, scores, eps)
        full, more = state.full if isinstance(state, ActiveColumns) else state, 0.0
        if isinstance(state, ActiveColumns):
            idx, val, _, more = state.part(idx, val)
        scratch = (full.moments, full.products)
        scratch = scratch if number else (np.empty_like(full.moments), np.empty_like(full.products))
        return hinge.decide_full(full.W, full.B, idx, val, more, numbers, key, number, *scratch, scores, eps)

    def _row(self, context: Any) -> Row:
        return as_row(context, self.dim, self._dtype, LONGEST, self._normalize)

    def _learn(self, decision: Decision, feedback: Any) -> None:
        reward, row = as_bit_or_reward(feedback), kept_row(decision, self.dim, self._dtype)
        c = self._classes.index(decision.action)
        if decision is not self._latest:
            self._numbers[FRESH] = 0.0
        if not self._step(row, c, reward, decision.number):
            raise NotFinite("the features lead to scores that are not finite", "scale them down, or normalize")

    def _step(self, row: Row, c: int, reward: float, number: int) -> bool:
        """Learn the reward of class c; False, and nothing changed, if that is not finite."""
        state, idx, val, numbers = self._state_of, row.indices, row.values, self._numbers
        if isinstance(state, ActiveColumns):
            where, values, new, more = state.part(idx, val)
            if new:
                full = state.full
                if not hinge.finite_full(full.W, full.B, where, values, more, full.moments, full.products):
                    return False
                numbers[FRESH] = 0.0
                if state.used + new > state.limit:
                    self._leave_full(state)
                    return self._step(row, c, reward, number)
                state.use(idx, val, new)
                where, values, _, _ = state.part(idx, val)
            full = state.full
            scratch = (full.moments, full.products)
            return hinge.learn_full(full.W, full.B, where, values, c, reward, numbers, number, *scratch)
        if isinstance(state, FullClasses):
            return hinge.learn_full(
                state.W, state.B, idx, val, c, reward, numbers, number, state.moments, state.products
            )
        return hinge.learn_diagonal(state.S, idx, val, c, reward, numbers, number, state.moments)

    def _leave_full(self, state: ActiveColumns) -> None:
        """From full matrices to their diagonals, once and for all."""
        (before, _, _), (start, _, _) = self._in_force("full"), self._in_force("diagonal")
        diagonal, used = DiagonalClasses(self.dim, state.columns, start, self._dtype), state.in_use[: state.used]
        learnt = np.maximum(state.diagonals() - before, 0.0)
        diagonal.S[used, : state.columns] = state.full.W[:, : state.used].T
        diagonal.S[used, state.columns :] = (1.0 / (start + learnt)).T
        self._state_of = diagonal
        self._renumber()

    def _score_rows(self, rows: Csr, out: Block) -> None:
        state, (indices, values, starts) = self._state_of, rows
        scales = np.repeat(self._scales(values, starts), np.diff(starts))
        rows = (indices, (values * scales).astype(self._dtype, copy=False), starts)
        if isinstance(state, DiagonalClasses):
            label.scores_by_feature(state.S, rows, out)
        else:
            label.scores_by_class(state.W if isinstance(state, FullClasses) else state.block(), rows, out)

    def _predict(self, context: Any) -> Any:
        _, greedy, _, _ = self._choose(self._row(context), 0, np.empty(self.n_classes), np.empty(self.n_classes))
        return self._classes.labels[greedy]

    def _scales(self, values: Block, starts: NDArray[np.int64]) -> FloatArray:
        """Factor of each row: 1, or the one that makes its length 1."""
        scales = np.ones(len(starts) - 1)
        if self._normalize:
            confidit.row_scales(values, starts, scales)
        return scales

    def _takes(self, batch: LogBatch) -> BatchArrays | None:
        known = super()._takes(batch)
        return batch.unit(confidit.row_scales) if known is not None and self._normalize and not batch.kept else known

    def _ahead(self, arrays: BatchArrays, own: LearnerSteps, begin: int, end: int, outcomes: Outcomes) -> int:
        state, K = self._state_of, self.n_classes
        along = (K, self._numbers, self._key, arrays, own, begin, end, outcomes)
        self._numbers[FRESH] = 0.0
        if isinstance(state, DiagonalClasses):
            reached = hinge.follow_diagonal(state.S, *along)
        elif isinstance(state, FullClasses):
            reached = hinge.follow_full(state.W, state.B, *along, (_NOWHERE[0], 1.0))
        else:
            reached = hinge.follow_full(state.full.W, state.full.B, *along, (state.slots, state.start))
        self._numbers[FRESH] = 0.0
        return reached

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        (indices, values, starts, truth, order), done = stream, 0
        scales = self._scales(values, starts)
        while done < len(order):
            state, rest = self._state_of, order[done:]
            if isinstance(state, ActiveColumns):
                n, used = hinge.rounds_within(state.slots, state.used, state.limit, indices, values, starts, rest)
                state.reserve(used)
            else:
                n = len(rest)
            self._numbers[FRESH] = 0.0
            part = shown[0][done : done + n], shown[1][done : done + n]
            self._play_part(((indices, values, starts, truth, rest[:n]), scales, first + done, part))
            done += n
            if n < len(rest):  # the verbs know how to leave full matrices
                part = shown[0][done : done + 1], shown[1][done : done + 1]
                self._play_by_verbs((indices, values, starts, truth, rest[n : n + 1]), first + done, part)
                done += 1

    def _play_part(self, played: Any) -> None:
        """Rounds between which no other covariance comes into force."""
        state, K = self._state_of, self.n_classes
        if isinstance(state, DiagonalClasses):
            hinge.stream_diagonal(state.S, K, self._numbers, self._key, played)
        elif isinstance(state, FullClasses):
            hinge.stream_full(state.W, state.B, K, self._numbers, self._key, played, (*_NOWHERE, 0, 1.0))
        else:
            use = (state.slots, state.in_use, state.used, state.start)
            state.used = hinge.stream_full(state.full.W, state.full.B, K, self._numbers, self._key, played, use)

    @property
    def weights(self) -> FloatArray:
        """The weights, one row per class."""
        return self._state_of.weights(self.n_classes)

    @property
    def _columns(self) -> int:
        return self._state_of.columns

    def _widen(self, columns: int) -> None:
        self._state_of.widen(columns)
        self._numbers[FRESH] = 0.0

    @property
    def shared_start(self) -> str | None:
        """With the weights of one that was taught everything; A begins as it always does."""
        return "pooled"

    def _start_from(self, start: Mapping[str, NDArray[Any]]) -> None:
        if isinstance(self._state_of, ActiveColumns) and not self._state_of.room_for(start["w"]):
            self._leave_full(self._state_of)
        self._state_of.begin(start["w"])
        self._numbers[FRESH] = 0.0

    def _state(self) -> dict[str, NDArray[Any]]:
        return self._state_of.arrays()

    def _check_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Matrices grow with the columns in use, and beyond the limit there is a diagonal in their place."""
        now = self._state_of
        if not isinstance(now, ActiveColumns) or not {"S", "W"} & state.keys():
            super()._check_state(state)
            return
        if "S" in state:
            start = self._in_force("diagonal")[0]
            check_shapes(DiagonalClasses(self.dim, now.columns, start, self._dtype).arrays(), state)
            return
        like = ActiveColumns(self.dim, now.columns, now.start, self._dtype, now.limit)
        like.reserve(min(state["W"].shape[-1], now.limit))
        check_shapes(like.arrays(), state)
        used = state["in_use"]
        if len(used) > like.full.W.shape[1] or len(np.unique(used)) < len(used) or (used >= self.dim).any():
            raise InvalidRecord("the columns in use do not match the matrices", "restore the file from a copy")

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        if "S" in state and not isinstance(self._state_of, DiagonalClasses):
            start = self._in_force("diagonal")[0]
            self._state_of = DiagonalClasses(self.dim, state["S"].shape[1] // 2, start, self._dtype)
        self._state_of.restore(state)
        self._renumber()


def _below_one(wrong: Any) -> float:
    hint = "give the target of a wrong label, below 1, e.g. wrong=-1.0"
    value = checks.number("wrong", wrong, hint)
    if value >= 1.0:
        raise InvalidArgument(f"wrong is {wrong!r} and must be < 1, the target of a correct label", hint)
    return value
