"""Whole streams of rankings in compiled code: what `simulate` does, by the same kernels, some hundred times faster.

A `QueryTable` has many queries in three arrays, checked once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from smidgen import checks
from smidgen._core import coactive, rank, ranking, written_for
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument, NotFinite
from smidgen.features import as_rows, dense_scores
from smidgen.features.rows import as_weights
from smidgen.geometry.space import BALL
from smidgen.history import History
from smidgen.learners.coactive import Coactive, DuelingBandit
from smidgen.learners.coactive.dueling_bandit import Duel
from smidgen.learners.coactive.ranking_svm import Retrained
from smidgen.learners.rank import RankLearner
from smidgen.learners.rank.base import Drawing
from smidgen.optim.rules import ADDITIVE, FILLED, Program, RuleMemory, is_finite, memory_of, program_of, state_of
from smidgen.structures import Ranking
from smidgen.structures.ranking import discounts_of
from smidgen.theory.base import Loss
from smidgen.users import ClickUser, ExpectedAlpha, NoisyDepth, StrictAlpha
from smidgen.users.base import CompiledUser
from smidgen.users.strict_alpha import as_alpha, as_utility


def as_order(order: Any, n: int, what: str) -> IntArray:
    """The numbers of the rows or queries in the order of the rounds; each once, if nothing is said."""
    given = np.arange(n) if order is None else np.asarray(order)
    hint = f"give the numbers of the {what}, from 0 to {n - 1}, one per round"
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given):
        raise InvalidArgument(f"order has shape {given.shape} and dtype {given.dtype}", hint)
    if given.min() < 0 or given.max() >= n:
        raise InvalidArgument(f"order runs from {given.min()} to {given.max()}", hint)
    return given.astype(np.int64)


def forms_of(learner: Any) -> tuple[Program, Duel]:
    """The program of a learner's rule, or its duels; a refusal if its rounds are not compiled."""
    if isinstance(learner, DuelingBandit):
        return Program(ADDITIVE), learner.duel()
    if not isinstance(learner, Coactive):
        raise InvalidArgument(f"the learner is a {type(learner).__name__}", "give a coactive learner")
    program = program_of(learner.rule)
    if program is None or program.region.kind != BALL:
        raise InvalidArgument(f"the rule {learner.rule!r} is not compiled", "play it with smidgen.simulate")
    return program, Duel(False)


DECIDED, SILENT = range(2)  # what `DrawnMemory.counts` counts


class DrawnMemory(NamedTuple):
    """State of a learner; the stream writes to it."""

    w: FloatArray
    squares: FloatArray
    total: FloatArray
    counts: IntArray


class Queries(NamedTuple):
    """Fields read from a table; arrays that are not requested are empty."""

    X: FloatArray
    starts: IntArray
    labels: FloatArray
    taste: FloatArray  # the score of every document under the user's own w*
    truth: FloatArray  # the same under the w* that regret is measured by
    discounts: FloatArray


class Record(NamedTuple):
    """Results, one row per round: the first documents shown, and the utilities of y and ȳ if measured."""

    shown: IntArray
    utilities: FloatArray


def best_utilities(starts: IntArray, truth: FloatArray, discounts: FloatArray) -> FloatArray:
    """The utility of the best ranking of every query."""
    out = np.empty(len(starts) - 1)
    ranking.write_best_utilities(starts, truth, discounts, out)
    return out


class QueryTable:
    """Queries with their documents, one below the other, and the relevance of each.

    Parameters
    ----------
    X
        The features of all documents, one row each: a 2-D array, or a scipy CSR matrix, which is made dense. Copied,
        unless the array is read-only.
    starts
        Where the documents of each query begin, and where those of the last end: query i has the rows
        ``starts[i]`` … ``starts[i + 1] - 1``, at least one.
    labels
        The relevance of each document, for users that go by labels.
    top
        How many positions count, as in `Ranking`.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.evaluate import QueryTable
    >>> queries = QueryTable(np.eye(5), starts=[0, 2, 5], labels=[1, 0, 0, 2, 1], top=2)
    >>> len(queries)
    2
    >>> queries.contexts[1]
    Ranking(3 docs x 5 features, top=2)
    >>> queries.labels_of(queries.contexts[1])
    array([0., 2., 1.])
    """

    def __init__(self, X: Any, starts: Any, labels: Any = None, top: int = 5) -> None:
        self.X: FloatArray = as_rows(X, "X").dense()
        self.starts = _as_starts(starts, len(self.X))
        self.labels = None if labels is None else _as_labels(labels, len(self.X))
        self.top = checks.whole("top", top, "give the number of positions that count, e.g. top=5")
        self._contexts: list[Ranking] = []
        self._numbers: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __repr__(self) -> str:
        return f"QueryTable({len(self)} queries, {len(self.X)} docs x {self.dim} features, top={self.top})"

    @property
    def dim(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    @property
    def contexts(self) -> list[Ranking]:
        """The queries as problem instances for the two verbs: made once, then kept; ``X`` is read-only from then on."""
        if not self._contexts:
            self.X.flags.writeable = False
            blocks = zip(self.starts[:-1], self.starts[1:], strict=True)
            self._contexts = [Ranking(self.X[first:last], self.top) for first, last in blocks]
            self._numbers = {id(context): i for i, context in enumerate(self._contexts)}
        return self._contexts

    def labels_of(self, context: Any) -> FloatArray:
        """The labels of one of the `contexts`, for a user: ``NoisyDepth(labels=queries.labels_of, depth=10)``."""
        i = self._numbers.get(id(context))
        if self.labels is None or i is None:
            raise InvalidArgument(
                "there are no labels for this context" if i is None else "the queries were made without labels",
                "make the table with labels, and ask for one of its contexts",
            )
        return self.labels[self.starts[i] : self.starts[i + 1]]

    def labels_for(self, user: Any) -> FloatArray:
        """The label that a simulated user gives to each document; none, if it does not go by labels."""
        if not isinstance(user, (NoisyDepth, ClickUser)):
            return np.empty(0)
        labels = user._labels
        if labels._find == self.labels_of and self.labels is not None:
            found = self.labels
        elif labels._find is None and labels._fixed is None:
            raise InvalidArgument("the user has no labels left", "create it with labels=queries.labels_of")
        else:
            found = np.concatenate([labels(context) for context in self.contexts]).astype(np.float64)
        if isinstance(user, ClickUser):
            user.grades(found, slice(None))  # refuses labels that its tables do not know
        return found

    def scores(self, w: Any) -> FloatArray:
        """The score w·x of every document."""
        return dense_scores(self.X, as_weights(w, self.dim))


def _as_starts(starts: Any, n: int) -> IntArray:
    given = np.asarray(starts)
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) < 2:
        raise InvalidArgument(
            f"starts has shape {given.shape} and dtype {given.dtype}", "give one whole number more than queries"
        )
    whole = given.astype(np.int64)
    if whole[0] != 0 or whole[-1] != n or (np.diff(whole) < 1).any():
        raise InvalidArgument(
            f"starts goes from {whole[0]} to {whole[-1]} and there are {n} documents",
            f"give increasing numbers from 0 to {n}, at least one document per query",
        )
    return whole


def _as_labels(labels: Any, n: int) -> FloatArray:
    given = np.asarray(labels)
    if given.shape != (n,) or given.dtype.kind not in "fiub" or not np.isfinite(given).all():
        raise InvalidArgument(
            f"labels has shape {given.shape} and dtype {given.dtype}", f"give one finite number per document, {n} here"
        )
    return given.astype(np.float64)


_NONE: FloatArray = np.empty(0)


#: The name of the first version for the history of a played stream of rankings.
RankingPlay = History


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
) -> History:
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
    History
        ``actions`` (also called ``shown``) are the first documents of each ranking, one row each, numbered within their
        query; −1 where a query has fewer. Feedback, exploration and bounds are not kept.

    Notes
    -----
    **Equal** to the verbs bit by bit, but for the last digits of measured utilities: both go by the same kernels. A
    `RankingSVM` is retrained by scikit-learn as usual; the rounds between two trainings are compiled.
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
    numbers = as_order(order, len(queries), "queries")
    play = _drawn_play(learner) if isinstance(learner, RankLearner) else _ruled_play(learner)
    if learner.dim != queries.dim:
        raise InvalidArgument(
            f"the queries have {queries.dim} features and the learner has dim={learner.dim}",
            f"make a learner with dim={queries.dim}",
        )
    if not hasattr(user, "compiled_user") or not written_for(user, "compiled_user", "__call__"):
        raise InvalidArgument(
            f"the user is a {type(user).__name__}",
            "give a StrictAlpha, NoisyDepth, ExpectedAlpha or one who clicks, or use smidgen.simulate",
        )
    rng = getattr(user, "_rng", None) or np.random.default_rng(0)
    own = getattr(user, "w_star", None)
    measure = own if w_star is None else as_utility(w_star)
    level = as_alpha(getattr(user, "alpha", 1.0) if alpha is None else alpha)
    taste = _NONE if own is None else queries.scores(own)
    truth = _NONE if measure is None else taste if measure is own else queries.scores(measure)
    discounts = discounts_of(queries.top)
    X = learner.seen_features(queries.X, queries.starts) if isinstance(learner, RankLearner) else queries.X
    table = Queries(X, queries.starts, queries.labels_for(user), taste, truth, discounts)
    kept = queries.top if shown is None else checks.whole("shown", shown, "omit it to keep those that count")
    record = Record(
        shown=np.full((len(numbers), kept), -1),
        utilities=np.empty((len(numbers) if len(truth) else 0, 2)),
    )
    silent = getattr(learner, "uninformative", 0)
    before, stream = rng.bit_generator.state, _Stream(table, numbers, user.compiled_user(), record, rng)
    if not play(stream):
        rng.bit_generator.state = before
        raise NotFinite("a step of the stream leads to values that are not finite", "scale the features down")
    learner._learnt_next(len(numbers))
    return History(
        record.shown,
        learner=type(learner).__name__,
        loop="rank",
        weights=learner.weights,
        utility=record.utilities[:, 0],
        better_utility=record.utilities[:, 1],
        best_utility=best_utilities(queries.starts, truth, discounts)[numbers] if len(truth) else _NONE,
        alpha=level,
        loss=loss,
        uninformative=getattr(learner, "uninformative", 0) - silent,
        bound_note="a compiled stream keeps actions and utilities: play the contexts for a bound",
    )


class _Stream(NamedTuple):
    """All that a stream needs next to the learner."""

    table: Queries
    order: IntArray
    person: CompiledUser
    record: Record
    rng: np.random.Generator

    def after(self, start: int) -> _Stream:
        """The rest of it."""
        rest = Record(self.record.shown[start:], self.record.utilities[start:])
        return self._replace(order=self.order[start:], record=rest)


def _drawn_play(learner: RankLearner) -> Callable[[_Stream], bool]:
    """Play a stream with a learner that draws; raises if its rounds are not compiled."""
    drawing = learner.drawing() if written_for(learner, "drawing", "_step") else None
    if drawing is None:
        raise InvalidArgument(f"the rounds of {learner!r} are not compiled", "play it with smidgen.simulate")
    return partial(_play_drawn, learner, drawing)


def _ruled_play(learner: Coactive | DuelingBandit) -> Callable[[_Stream], bool]:
    """Play a stream with a learner that steps by a rule, or duels."""
    return partial(_play_ruled, learner, *forms_of(learner))


def _play_ruled(learner: Coactive | DuelingBandit, program: Program, duel: Duel, stream: _Stream) -> bool:
    """Play to the end, and let the learner keep what it learns; or say no, and change nothing."""
    state = learner._state()
    m = memory_of(state, learner.weights, learner.decisions)
    if isinstance(learner, Coactive) and isinstance(learner.rule, Retrained):
        _play_retrained(learner.rule, program, m, stream)
        state = learner._state()
    else:
        table, order, person, record, rng = stream
        played = coactive.rounds(table, order, program, m, duel, person, record, rng)
        if played < len(order) or not is_finite(m):
            return False
    learner._restore(state_of(m, state))
    return True


def _play_retrained(rule: Retrained, program: Program, m: RuleMemory, stream: _Stream) -> None:
    """Compiled rounds up to the pair that makes it train, the training, and on."""
    while len(stream.order):
        m = m._replace(pairs=np.empty((rule.missing, rule.dim)))
        m.counts[FILLED] = 0
        table, order, person, record, rng = stream
        stream = stream.after(coactive.rounds(table, order, program, m, Duel(False), person, record, rng))
        for pair in m.pairs[: m.counts[FILLED]]:
            rule.step(pair)
        m.w[:] = rule.weights


def _play_drawn(learner: RankLearner, drawing: Drawing, stream: _Stream) -> bool:
    """Play a table with a learner that draws."""
    state, none = learner._state(), np.empty(0)
    squares, total = (np.array(state.get(name, none)) for name in ("squares", "total"))
    m = DrawnMemory(learner.weights, squares, total, np.array([learner.decisions, learner.uninformative]))
    table, order, person, record, rng = stream
    played = rank.drawn_rounds(table, order, drawing, m, person, record, rng)
    if played < len(order) or not all(np.isfinite(array).all() for array in (m.w, squares, total)):
        return False
    now = {"w": m.w, "squares": squares, "total": total, "uninformative": m.counts[SILENT]}
    learner._restore({name: np.asarray(now[name]) for name in state})
    return True
