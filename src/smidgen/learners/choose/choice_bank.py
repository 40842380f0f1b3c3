"""ChoiceBank: several reward models, all trained on every reward. The most accurate one decides."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import bank
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidRecord
from smidgen.features import DenseRows, Rows, SparseRows
from smidgen.features.rows import Direction
from smidgen.learners.bank import COSINES, CURVED, LARGE, LEADERS, Book, Restart, directions, unit_entries
from smidgen.learners.base import check_shapes, register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.choose.base import (
    RIDGE,
    ROUNDS,
    UCB,
    Mask,
    Played,
    RewardLearner,
    Settled,
    Shown,
    candidates,
    refuse,
)
from smidgen.learners.choose.directions import NO_BLOCKS, BlockArrays, VectorBlocks
from smidgen.learners.log_batch import BatchArrays, LogBatch
from smidgen.learners.pacing import Budget
from smidgen.randomness import U64
from smidgen.state.sqrt_ridge import (
    FULL,
    LEARNT,
    CandidateArrays,
    ColumnRidge,
    Estimates,
    Slots,
    SqrtRidge,
    candidate_arrays,
)
from smidgen.structures import Choice

#: What A starts as, by its form: a·I.
STARTS = {"full": 0.1, "diagonal": 0.03}
#: Outcomes of an example, in addition to those of a ridge (_core/bank.cpp).
FULL_CURVED, FULL_ARMS, ALARM = 3, 4, 5
#: Places for candidates at first, and in the end.
FEW_ARMS, MOST_ARMS = 8, 8192
_Arrays: TypeAlias = tuple[FloatArray, Slots, IntArray, FloatArray]
_NO_MATRIX, _NO_SLOTS, _NO_COUNT = np.empty((0, 0)), np.empty(0, np.int32), np.zeros(1, np.int64)
_NOTHING: _Arrays = (_NO_MATRIX, _NO_SLOTS, _NO_COUNT, _NO_MATRIX)
_PREFIX = "curved_"
#: Numbers behind the weights of the fast model: its evidence, and what it gained lately (_core/bank.hpp).
FAST = 3


def _size(settings: Mapping[str, Any]) -> int:
    """Bytes of the largest form of both models, and of the book."""
    dim = int(settings["dim"])
    book = 8 * 511 + 44 * FEW_ARMS + 8 * (dim + FAST)
    diagonal = 16 * dim
    if settings.get("covariance", "auto") == "diagonal":
        return diagonal + book
    rows, more = min(dim, LARGE), min(dim + COSINES, LARGE)
    full = sum(8 * n * -(-(n + 2) // 8) * 8 for n in (rows, more)) + 4 * (dim + dim + COSINES)
    return max(full, diagonal) + book


@register(
    Card(
        loop="choose",
        feedback="reward",
        draws=True,
        paper="this library; after Chu et al. 2011, Rahimi & Recht 2007",
        bound="none is known; see LinUCB for its plain model",
        cost="K·N² + (N+100)² (full), K·nnz (diagonal)",
        example={"dim": 4},
        recommended=(Recommended(feedback="reward", strength=2),),
        size=_size,
    )
)
class ChoiceBank(RewardLearner):
    """Show the candidate whose reward could be highest, by the model that has been closest to the rewards so far.

    Parameters
    ----------
    dim
        The number of joint features d: what describes a candidate in its context.
    width
        κ, how many standard deviations are added to an estimate.
    covariance
        ``"auto"``: full as long as no more than 256 columns have been met in learning, then its diagonal, for good;
        ``"diagonal"``: from the start, for many learners or many sparse features, and without the curved model.
    floor
        The share of the choices that is spread evenly over the candidates, so that each has a known propensity.
    min_share
        The least probability of each candidate; the larger of this and floor/K holds.
    draw
        Whether one of several candidates of equal bound is drawn, each as likely as the others; False: always the
        first.
    seed
        Seeds the draws and the directions of the cosines; a draw is a function of the decision's number.
    budget
        What decisions may cost on average (`Budget`); None: no limit.

    Notes
    -----
    **Update** x is scaled to unit length. Three models estimate the reward of what was shown, then learn it: *plain*, a
    ridge regression on x; *curved*, one on [x, √(2/D)·cos(2π(Ωx + b))] at unit length, D = 100, as long as A is full;
    *context-free*, the mean reward of each candidate (by its id; of rows with one feature, by that). For squared errors
    e (of estimates clipped to [0, 1]), discounted by .999 per reward, a model leads in the plain one's place if
    Σ(e_plain − e) > √Σ(e_plain − e)²; of several the one with the largest difference. What the leader leaves
    unexplained of a candidate, (r − f)/(1 + v), is summed by candidate and fades by .995 per reward: its shrunken mean
    g = Σ/(n + 2) and its uncertainty u = 1/(n + 2) are added, as long as no answer was overtaken by a later one
    (early feedback is one-sided then: clicks come before expired windows). Show argmax f_a + g_a + κ√(v_a + u_a), or
    with probability ``floor`` any. All models start from scratch, and `restarts` records it, if the mean of the last
    100 rewards lies below that of the (up to 400) before them by five standard errors, or, where A is full and the
    context has no vectors, if a fast model h (from the 200th reward on, gradient steps of .3 on r − f) explains them
    better: the log-likelihood of f + h less that of f, less .01 and four times its mean of the last hundred rewards,
    summed from the 300th reward on and never below 0, passes 8.5.
    **Symbols** x_a: row a of ``context``, f_a + g_a: ``decision.scores``, κ√(v_a + u_a): ``decision.widths``, p_a:
    ``decision.propensities``, v: xᵀA⁻¹x of the leader.
    **Assumes** that candidates have ids where their worth may change by itself; rewards in [0, 1].
    **Bound** none is known for following one of several models that all learn from what one of them has shown. While
    the plain model leads and there is no fresh start, its estimates are those of `LinUCB` on unit rows.
    **Cost** the leader's to decide: K·d² (plain), K·(100·nnz + (d+100)²) (curved), K (context-free); to learn, all:
    2d² + 2(d+100)². Diagonal: nnz.
    **Differs** from `LinUCB`: rows of unit length; further models next to the plain one; changes are detected and
    forgotten.

    Examples
    --------
    >>> import smidgen
    >>> learner = smidgen.Pipeline(features=smidgen.Vectorizer(dim=64), learner=smidgen.ChoiceBank(dim=64))
    >>> for t in range(300):
    ...     offer = smidgen.Candidates({"short": {}, "long": {}}, context={"device": "phone" if t % 3 else "desktop"})
    ...     d = learner.decide(offer)
    ...     learner.learn(d, float((t % 3 > 0) == (d.action == 0)))
    >>> learner.predict(smidgen.Candidates({"short": {}, "long": {}}, context={"device": "desktop"}))
    1
    >>> learner.learner.restarts
    []

    References
    ----------
    .. [1] W. Chu, L. Li, L. Reyzin, R. E. Schapire. Contextual bandits with linear payoff functions. AISTATS 2011.
    .. [2] A. Rahimi, B. Recht. Random features for large-scale kernel machines. NIPS 20, 2007.
    .. [3] A. P. Dawid. Statistical theory: the prequential approach. JRSS A 147, 1984.
    .. [4] E. S. Page. Continuous inspection schemes. Biometrika 41, 1954.
    """

    def __init__(
        self,
        *,
        dim: int,
        width: float = 0.3,
        covariance: str = "auto",
        floor: float = 0.02,
        min_share: float = 0.0,
        draw: bool = True,
        seed: int = 0,
        budget: Budget | None = None,
    ) -> None:
        drawn = checks.flag("draw", draw, "give True or False")
        checks.one_of("covariance", covariance, ("auto", "diagonal"))
        kappa = checks.number("width", width, "give a number >= 0, e.g. width=0.3", at_least=0.0)
        super().__init__(
            UCB,
            dim=dim,
            ridge=STARTS["diagonal" if covariance == "diagonal" else "full"],
            covariance=covariance,
            forgetting=1.0,
            floor=floor,
            min_share=min_share,
            params={"width": kappa, "draw": drawn},
            seed=seed,
            width=kappa,
            draw=drawn,
            fixed=("ridge", "forgetting"),
            budget=budget,
        )
        self._alone = False
        self._form = covariance
        self._book = Book()
        self._begin()

    def _begin(self) -> None:
        """Let all models begin."""
        full = self._form != "diagonal"
        self._numbers[RIDGE] = start = STARTS["full" if full else "diagonal"]
        self._curved: SqrtRidge | None = None
        if full:
            most, more = LARGE if self.dim > LARGE else None, self.dim + COSINES
            self._ridge = SqrtRidge(self.dim, start, 1.0, most)
            self._curved = SqrtRidge(more, start, 1.0, LARGE if more > LARGE else None)
        else:
            self._ridge = ColumnRidge(self.dim, start)
        self._arms = np.zeros(FEW_ARMS, np.uint32), np.zeros((FEW_ARMS, 5))
        self._fast: FloatArray = np.zeros(self.dim + FAST)
        self._blocks = VectorBlocks(self.dim)
        self._bind()

    def _bind(self) -> None:
        """Put together what the kernels read."""
        ridge, curved = self._ridge, self._curved
        if isinstance(ridge, SqrtRidge):
            plain: _Arrays = ridge.R, ridge.slots, ridge.used, _NO_MATRIX
        else:
            plain = _NO_MATRIX, _NO_SLOTS, _NO_COUNT, ridge.D
        other = _NOTHING if curved is None else (curved.R, curved.slots, curved.used, _NO_MATRIX)
        numbers, book = self._numbers, self._book.numbers
        self._bank = plain, other, self._arms, directions(self._seed), numbers, book, self._fast

    #: A context's vectors come to it apart from the rows: it crosses them with the candidates itself.
    takes_directions = True

    @property
    def blocks(self) -> VectorBlocks:
        """Estimates of the candidates from the context's vectors."""
        return self._blocks

    @property
    def leader(self) -> str:
        """The model that decides: "plain", "curved" or "context-free"."""
        return LEADERS[self._leader]

    @property
    def restarts(self) -> list[Restart]:
        """The latest fresh starts, as (round, reason, decision)."""
        return self._book.restarts

    @property
    def _leader(self) -> int:
        leads = self._book.leader
        return leads if leads != CURVED or self._curved is not None else 0

    @property
    def weights(self) -> FloatArray:
        """A copy of the weights of the leader for rows of unit length; the plain model's where it reads none."""
        return self.seen_weights[: self.dim]

    @property
    def seen_weights(self) -> FloatArray:
        """Weights for the rows of `seen_rows`, with those of the cosine columns if they count."""
        curved = self._curved
        if self._leader == CURVED and curved is not None:
            return curved.weights
        return super().weights

    def seen_rows(self, context: Any) -> Rows:
        """The candidates as the leader reads them: of unit length, with their cosines if they count."""
        (idx, val, starts), curved = candidate_arrays(candidates(context, self.dim)[0]), self._leader == CURVED
        if not len(starts):
            starts = np.arange(0, len(val) + 1, len(idx))
            idx = np.tile(idx, len(starts) - 1)
        parts = [
            unit_entries(idx[a:b], val[a:b], self.dim, self._seed, curved)
            for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        ]
        columns = np.concatenate([part[0] for part in parts]).astype(np.int64)
        ends = np.concatenate([[0], np.cumsum([len(part[0]) for part in parts])]).astype(np.int64)
        dim = self.dim + (COSINES if curved else 0)
        return SparseRows(np.concatenate([part[1] for part in parts]), columns, ends, dim)

    def _choose(self, given: Rows, mask: Mask, number: int, out: Estimates, keys: U64 | None = None) -> Settled:
        rows = given.offer or candidate_arrays(given)
        blocks = NO_BLOCKS if given.direction is None else self._blocks.arrays(given.direction, given.shape[0])
        keys = self._keys if keys is None else keys
        return bank.decide_bank(self._bank, rows, given.arms, blocks, mask, keys, number, *out)

    def _learn_row(self, rows: Rows, action: int, reward: float, number: int | None = None) -> None:
        given, book = rows.offer or candidate_arrays(rows), self._book
        counts, blocks = number is not None and book.is_next(number), NO_BLOCKS
        if rows.direction is not None:
            blocks = self._claim_blocks(rows, rows.direction, action)
        while (why := bank.learn_bank(self._bank, given, rows.arms, blocks, action, reward, counts)) not in (
            LEARNT,
            ALARM,
        ):
            self._grow(why, given, action)
        if number is not None and counts:
            book.take_turn(number)
        fallen = why == ALARM or (number is not None and not counts and book.count_late(number, reward))
        if fallen:
            self._start_again(number or 0)

    def _claim_blocks(self, rows: Rows, direction: Direction, action: int) -> BlockArrays:
        """The blocks of a candidate whose reward is learnt; nothing changes where its row would be refused."""
        values = rows.data if isinstance(rows, SparseRows) else rows.array
        if not np.isfinite(values).all():
            refuse(-1)
        if len(direction.values):
            self._blocks.claim(direction, action)
        return self._blocks.arrays(direction, rows.shape[0], learning=True)

    def _start_again(self, number: int) -> None:
        self._book.start_again(int(self._numbers[ROUNDS]), number)
        self._begin()

    def _grow(self, why: int, given: CandidateArrays, row: int) -> None:
        """Make space where it is lacking."""
        if why == FULL:
            self._make_space(given, row)
            if not isinstance(self._ridge, SqrtRidge):
                self._curved = None
        elif why == FULL_CURVED and self._curved is not None:
            rows = len(self._curved.R)
            if rows < LARGE:
                self._curved.grow(min(LARGE, 2 * rows))
            else:
                self._curved = None
        elif why == FULL_ARMS:
            self._grow_arms()
        else:
            refuse(-1)
        self._bind()

    def _make_space(self, given: CandidateArrays, row: int) -> None:
        ridge = self._ridge
        if isinstance(ridge, SqrtRidge) and int(ridge.used[0]) + ridge.missing(given, row) > LARGE:
            self._leave_full(ridge.weights, ridge.diagonal)
        else:
            super()._make_space(given, row)

    def _leave_full(self, w: FloatArray, a: FloatArray) -> None:
        """From full A to its diagonal, its start exchanged for the new one; there is no curved model then."""
        start = STARTS["diagonal"]
        self._ridge = ColumnRidge.of(w, a - STARTS["full"] + start, start, 1.0, 0.0)
        self._numbers[RIDGE], self._curved = start, None

    def _grow_arms(self) -> None:
        """Twice as many places for candidates; each goes where the kernels look for it."""
        names, table = self._arms
        wide = np.zeros(2 * len(names), np.uint32), np.zeros((2 * len(names), 5))
        for name, line in zip(names.tolist(), table, strict=True):
            if name:
                at = (name * 2654435769 % 2**32) >> 7
                while wide[0][at % len(wide[0])]:
                    at += 1
                wide[0][at % len(wide[0])], wide[1][at % len(wide[0])] = name, line
        self._arms = wide

    def _kept(self) -> Any:
        arms = self._arms[0].copy(), self._arms[1].copy()
        models = deepcopy((self._ridge, self._curved, self._blocks))
        return models, self._numbers.copy(), arms, self._book.copy(), self._fast.copy()

    def _put_back(self, kept: Any) -> None:
        (self._ridge, self._curved, self._blocks), self._numbers, self._arms, self._book, self._fast = kept
        self._bind()

    def _play(self, played: Played, first: int, shown: Shown) -> None:
        rows, stride, masks, table = played
        t, T = 0, len(table)
        while t < T and not self._book.is_next(first):  # answers have been late: the verbs know what waits
            made = self._decide(_offer(played, t, self.dim), first + t)
            shown[0][t], shown[1][t], shown[2][t] = made.action, made.greedy, made.propensity or 0.0
            self._learn(made, float(table[t, made.action]))
            t += 1
        while t < T:
            t, why = bank.play_bank(self._bank, rows, stride, masks, table, self._keys, first, t, *shown)
            if t:
                self._book.take_turn(first + t - 1)
            if why == ALARM:
                self._start_again(first + t - 1)
            elif t < T and why < 0:
                refuse(why)
            elif t < T:
                self._grow(why, rows, t * stride + int(shown[0][t]))

    def _takes(self, batch: LogBatch) -> BatchArrays | None:
        return None  # the verbs know whose rows they are

    def _start_from(self, start: Mapping[str, NDArray[Any]]) -> None:
        w = np.array(start["w"], dtype=np.float64)
        a = np.full(self.dim, self._numbers[RIDGE])
        if isinstance(self._ridge, SqrtRidge):
            if not self._ridge.begin(w, a):
                self._leave_full(w, a)
        else:
            self._ridge.begin(w, a, 0.0)
        self._bind()

    def _start(self) -> dict[str, NDArray[Any]]:
        return {"w": super().weights}

    def _state(self) -> dict[str, NDArray[Any]]:
        curved = {} if self._curved is None else self._curved.arrays()
        own: dict[str, NDArray[Any]] = {"arms": self._arms[0], "arm_table": self._arms[1], **self._book.arrays()}
        own |= self._blocks.state() | ({"fast": self._fast} if self._fast.any() else {})
        return super()._state() | own | {_PREFIX + name: array for name, array in curved.items()}

    def _check_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        curved = {name.removeprefix(_PREFIX): array for name, array in state.items() if name.startswith(_PREFIX)}
        self._blocks.check(blocks := VectorBlocks.of_state(state))
        state = {name: array for name, array in state.items() if name not in blocks}
        own = {name: array for name, array in state.items() if name in ("arms", "arm_table", "fast", *Book.KEYS)}
        super()._check_state({name: state[name] for name in state.keys() - own.keys() if not name.startswith(_PREFIX)})
        places = len(own["arms"]) if "arms" in own else 0
        if places & (places - 1) or not FEW_ARMS <= places <= MOST_ARMS:
            raise InvalidRecord(f"there are places for {places} candidates", "give what Learner.save wrote")
        table: dict[str, NDArray[Any]] = {"arms": np.zeros(places, np.uint32), "arm_table": np.zeros((places, 5))}
        table |= {"fast": np.zeros(self.dim + FAST)} if "fast" in own else {}
        check_shapes(table | Book().arrays(), own)
        Book.check(own)
        if not np.isfinite(own.get("fast", 0.0)).all():
            raise InvalidRecord("the fast model is not finite", "give what Learner.save wrote")
        if not curved:
            if self._form != "diagonal" and "D" not in state and self.dim + COSINES <= LARGE:
                raise InvalidRecord("its curved model is missing", "give what Learner.save wrote")
            return
        if self._form == "diagonal" or "D" in state:
            raise InvalidRecord("it has a curved model next to a diagonal one", "give what Learner.save wrote")
        more = self.dim + COSINES
        fresh = SqrtRidge(more, STARTS["full"], 1.0, LARGE if more > LARGE else None)
        wanted = fresh.arrays()
        if fresh.most is not None:
            wanted |= fresh.of_rows(len(curved["R"]) if "R" in curved else 0)
            fresh.check_slots(curved)
        check_shapes(wanted, curved)

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._begin()
        self._blocks.restore(VectorBlocks.of_state(state))
        super()._restore(state)
        if isinstance(self._ridge, ColumnRidge):
            self._ridge.ridge = self._numbers[RIDGE] = STARTS["diagonal"]
        curved = {name.removeprefix(_PREFIX): array for name, array in state.items() if name.startswith(_PREFIX)}
        if curved and self._curved is not None:
            self._curved.restore(curved)
        else:
            self._curved = None
        self._arms, self._fast = (state["arms"], state["arm_table"]), state.get("fast", self._fast)
        self._book.restore(state)
        self._bind()


def _offer(played: Played, t: int, dim: int) -> Choice:
    """The candidates of one round of a stream."""
    (idx, val, starts), stride, masks, table = played
    K, first = table.shape[1], t * stride
    if len(starts):
        cut = starts[first : first + K + 1]
        part = slice(cut[0], cut[-1])
        rows: Rows = SparseRows(val[part], idx[part].astype(np.int64), cut - cut[0], dim)
    else:
        rows = DenseRows(val.reshape(-1, dim)[first : first + K])
    at = min(t * K, len(masks) - K)
    return Choice(rows, masks[at : at + K] if len(masks) else None)
