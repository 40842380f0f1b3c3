"""Whole streams of rankings in compiled code: what `simulate` does, some hundred times faster."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument, NotFinite
from smidgen.evaluate import drawn_state
from smidgen.evaluate.drawn_round import drawn_rounds
from smidgen.evaluate.ranking_round import Person, Queries, Record, best_utilities, rounds
from smidgen.evaluate.ranking_table import QueryTable
from smidgen.evaluate.ranking_user import labels_for, person_of
from smidgen.evaluate.rule_state import hand_back, is_finite, memory_of, settings_of
from smidgen.evaluate.rule_steps import FILLED, Memory, Settings
from smidgen.learners.coactive import Coactive, DuelingBandit
from smidgen.learners.coactive.ranking_svm import GROWTH, Retrained
from smidgen.learners.rank import RankLearner
from smidgen.theory import bounds
from smidgen.theory.losses import Linear, Loss
from smidgen.users import ClickUser, ExpectedAlpha, NoisyDepth, StrictAlpha
from smidgen.users.strict_alpha import as_alpha, as_utility

_NONE: FloatArray = np.empty(0)


@dataclass(frozen=True, eq=False, repr=False)
class RankingPlay:
    """What happened in a played stream; every curve has one number per round.

    Attributes
    ----------
    learner
        The class of the learner.
    weights
        Its weights after the last round.
    shown
        The first documents of each ranking shown, as many as count, numbered within their query; −1 where a query has
        fewer.
    utility, better_utility, best_utility
        U(x, y), U(x, ȳ) and U(x, y*); empty if no utility was given.
    alpha
        The level of informativeness that slacks are measured against.
    loss
        The convex loss of `loss_regret`.
    """

    learner: str
    weights: FloatArray
    shown: IntArray
    utility: FloatArray
    better_utility: FloatArray
    best_utility: FloatArray
    alpha: float
    loss: Loss

    def __len__(self) -> int:
        return len(self.shown)

    def __repr__(self) -> str:
        measured = f", average regret {self.average_regret[-1]:.4g}" if len(self.utility) else ""
        return f"RankingPlay({self.learner}, {len(self)} rounds{measured})"

    @property
    def regret(self) -> FloatArray:
        """U(x, y*) − U(x, y) per round."""
        if len(self.utility) != len(self):
            raise InvalidArgument("nothing was measured", "call play_rankings(…, w_star=…)")
        return self.best_utility - self.utility

    @property
    def cumulative_regret(self) -> FloatArray:
        """The sum of regrets up to each round: T·REG_T."""
        return np.cumsum(self.regret)

    @property
    def average_regret(self) -> FloatArray:
        """The mean of regrets up to each round: REG_T (eq. 4)."""
        return _average(self.regret)

    @property
    def loss_regret(self) -> FloatArray:
        """c(U(x, y) − U(x, y*)) − c(0) per round."""
        return np.asarray(self.loss(-self.regret) - self.loss(0.0))

    @property
    def cumulative_loss_regret(self) -> FloatArray:
        """The sum of loss regrets up to each round: T·CREG_T."""
        return np.cumsum(self.loss_regret)

    @property
    def average_loss_regret(self) -> FloatArray:
        """The mean of loss regrets up to each round: CREG_T (eq. 15)."""
        return _average(self.loss_regret)

    @property
    def slacks(self) -> FloatArray:
        """ξ_t of eq. 6, at the level `alpha`."""
        shown = self.best_utility - self.regret
        return np.asarray(
            bounds.slack(alpha=self.alpha, shown=shown, better=self.better_utility, best=self.best_utility)
        )

    @property
    def average_slack(self) -> FloatArray:
        """The mean of slacks up to each round."""
        return _average(self.slacks)


def play_rankings(
    learner: Coactive | DuelingBandit | RankLearner,
    queries: QueryTable,
    user: StrictAlpha | NoisyDepth | ExpectedAlpha | ClickUser,
    *,
    order: Any = None,
    w_star: Any = None,
    alpha: float | None = None,
    loss: Loss | None = None,
    shown: int | None = None,
) -> RankingPlay:
    """Play queries in order: rank, ask the user, learn; and measure.

    The same as `simulate` on ``[queries.contexts[i] for i in order]``, in one compiled loop: the same rankings, the
    same state of learner and user afterwards.

    Parameters
    ----------
    learner
        A learner of rankings, fresh or not: any of the named ones, or a `CoactiveLearner` with a rule of
        `smidgen.optim` on a ball. It keeps what it learns, and a refusal leaves it as it was (but for a ranking SVM).
    queries
        The queries with their documents.
    user
        Corrects rankings, or clicks. Make a `NoisyDepth` or a `ClickUser` with ``labels=queries.labels_of``; labels
        that are used up in order are refused.
    order
        The numbers of the queries in the order of the rounds; a query may come many times. By default each comes once.
    w_star
        The weights of the true utility, for measuring; by default those of the user. Without any, nothing is
        measured, which saves a pass over the features.
    alpha
        The level that slacks are measured at; by default the user's own, else 1.
    loss
        A convex loss of the utility gap, for the loss regret; by default the linear one.
    shown
        How many of the first documents of each ranking are kept; by default those that count.

    Returns
    -------
    RankingPlay

    Notes
    -----
    **Equal** to the verbs bit by bit, but for the last digits of (1) measured utilities, (2) the norms and quadratic
    forms of the convex and the second-order perceptron, which the verbs leave to BLAS (so their weights agree to about
    1e-12 of their norm), and (3) an `ExpectedAlpha` user's probabilities. A `RankingSVM` is retrained by scikit-learn
    as ever; the rounds between two trainings are compiled.
    **Cost** of one round: that of reading the query's documents, and the step.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> from smidgen.evaluate import QueryTable, play_rankings
    >>> rng = np.random.default_rng(0)
    >>> X, w_star = rng.normal(size=(200, 5)), rng.normal(size=5)
    >>> queries = QueryTable(X, starts=np.arange(0, 201, 10))
    >>> learner = smidgen.PreferencePerceptron(dim=5)
    >>> user = smidgen.users.StrictAlpha(w_star=w_star, alpha=0.5)
    >>> play = play_rankings(learner, queries, user, order=np.tile(np.arange(20), 50))
    >>> learner.rounds
    1000
    >>> play.average_regret[[9, 99, 999]].round(2)  # after 10, 100 and 1,000 rounds
    array([1.05, 0.16, 0.03])

    References
    ----------
    .. [1] P. Shivaswamy, T. Joachims. Coactive Learning. JAIR 53, 2015. Section 6.
    """
    if not isinstance(queries, QueryTable):
        raise InvalidArgument(f"queries is a {type(queries).__name__}", "give a QueryTable")
    numbers = _as_order(order, len(queries))
    if isinstance(learner, RankLearner):
        drawn_state.drawing_of(learner)
    else:
        settings_of(learner)
    if learner.dim != queries.dim:
        raise InvalidArgument(
            f"the queries have {queries.dim} features and the learner has dim={learner.dim}",
            f"make a learner with dim={queries.dim}",
        )
    person, rng = person_of(user)
    own = getattr(user, "w_star", None)
    measure = own if w_star is None else as_utility(w_star)
    level = as_alpha(getattr(user, "alpha", 1.0) if alpha is None else alpha)
    taste = _NONE if own is None else queries.scores(own)
    truth = _NONE if measure is None else taste if measure is own else queries.scores(measure)
    discounts = 1.0 / np.log2(np.arange(2, queries.top + 2))
    table = Queries(queries.X, queries.starts, labels_for(user, queries), taste, truth, discounts)
    kept = queries.top if shown is None else checks.whole("shown", shown, "leave it out to keep those that count")
    record = Record(
        shown=np.full((len(numbers), kept), -1),
        utilities=np.empty((len(numbers) if len(truth) else 0, 2)),
    )
    if isinstance(learner, RankLearner):
        features = drawn_state.features_for(learner, table.X, table.starts)
        _play_drawn(learner, table._replace(X=features), numbers, person, record, rng)
    else:
        _play(learner, _Stream(table, numbers, settings_of(learner), person, record, rng))
    return RankingPlay(
        learner=type(learner).__name__,
        weights=learner.weights,
        shown=record.shown,
        utility=record.utilities[:, 0],
        better_utility=record.utilities[:, 1],
        best_utility=best_utilities(queries.starts, truth, discounts)[numbers] if len(truth) else _NONE,
        alpha=level,
        loss=loss or Linear(),
    )


@dataclass(frozen=True)
class _Stream:
    """All that a stream needs beside the learner's memory."""

    table: Queries
    order: IntArray
    settings: Settings
    person: Person
    record: Record
    rng: np.random.Generator

    def play(self, memory: Memory, start: int) -> int:
        """Play on from a round; returns the round that it came to."""
        rest = Record(self.record.shown[start:], self.record.utilities[start:])
        return start + rounds(self.table, self.order[start:], self.settings, memory, self.person, rest, self.rng)


def _play(learner: Coactive | DuelingBandit, stream: _Stream) -> None:
    memory, before = memory_of(learner), stream.rng.bit_generator.state
    if isinstance(learner, Coactive) and isinstance(learner.rule, Retrained):
        _play_retrained(learner.rule, memory, stream)
    elif stream.play(memory, 0) < len(stream.order) or not is_finite(memory):
        stream.rng.bit_generator.state = before
        raise NotFinite("a step of the stream leads to values that are not finite", "scale the features down")
    hand_back(learner, memory)


def _play_drawn(
    learner: RankLearner, table: Queries, order: IntArray, person: Person, record: Record, rng: np.random.Generator
) -> None:
    memory, before = drawn_state.memory_of(learner), rng.bit_generator.state
    played = drawn_rounds(table, order, drawn_state.drawing_of(learner), memory, person, record, rng)
    if played < len(order) or not drawn_state.is_finite(memory):
        rng.bit_generator.state = before
        raise NotFinite("a step of the stream leads to values that are not finite", "scale the features down")
    drawn_state.hand_back(learner, memory)


def _play_retrained(rule: Retrained, memory: Memory, stream: _Stream) -> None:
    """Compiled rounds up to the pair that makes it train, the training, and on."""
    reached = 0
    while reached < len(stream.order):
        missing = math.ceil(GROWTH * int(rule.state()["trained_on"])) - len(rule.pairs)
        memory = memory._replace(pairs=np.empty((max(1, missing), rule.dim)))
        memory.counts[FILLED] = 0
        reached = stream.play(memory, reached)
        for pair in memory.pairs[: memory.counts[FILLED]]:
            rule.step(pair)
        memory.w[:] = rule.weights


def _average(values: FloatArray) -> FloatArray:
    return np.asarray(np.cumsum(values) / np.arange(1, len(values) + 1))


def _as_order(order: Any, n: int) -> IntArray:
    numbers = np.arange(n) if order is None else np.asarray(order)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not len(numbers):
        raise InvalidArgument(f"order has shape {numbers.shape} and dtype {numbers.dtype}", "give the queries' numbers")
    if numbers.min() < 0 or numbers.max() >= n:
        raise InvalidArgument(f"order runs from {numbers.min()} to {numbers.max()}", f"number the queries 0 … {n - 1}")
    return numbers.astype(np.int64)
