"""Whole streams of item choices, compiled: many users, one learner each, items that are offered once.

It is the loop of `simulate` with the menu of Section 6.1.2: after each round the items shown and the item given back
are taken off. A test holds it equal to the two verbs, for every learner and user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument, InvalidFeatures
from smidgen.evaluate.rankings import forms_of
from smidgen.learners.coactive import Coactive, DuelingBandit, RankingSVM
from smidgen.learners.coactive.dueling_bandit import Duel
from smidgen.learners.coactive.ranking_svm import Retrained
from smidgen.optim.rules import FILLED, PROJECTED, RETRAINED, STEPS, Program, RuleMemory, memory_of
from smidgen.users.strict_alpha import as_utility
from smidgen_papers.compiled.directions import perturb
from smidgen_papers.compiled.kernel import borrowing, kernel
from smidgen_papers.compiled.steps import goes_along, learn, move, rate, silent
from smidgen_papers.players.candidates import CandidateTable, choose, moved, moved_along, remove
from smidgen_papers.players.checkpoints import as_checkpoints
from smidgen_papers.players.choice_answers import COMPARE, Answers, ChoiceUser, answer, compiled, highest, take
from smidgen_papers.players.item_table import ItemTable

__all__ = ["ChoicePlay", "play_choices"]

_MANY = 16  # users whose utilities are computed together


@dataclass(frozen=True, eq=False, repr=False)
class ChoicePlay:
    """What a batch of users went through, at the checkpoints.

    Attributes
    ----------
    checkpoints
        The numbers of rounds T that the sums are taken up to.
    cumulative_regret
        Σ U(y*) − U(y) up to each checkpoint, one row per user.
    squared_regret
        Σ (U(y*) − U(y))², likewise.
    weights
        The learners' weights in the end, one row per user.
    shown, given
        The items shown and given back, one row per user; the pair of a dueling bandit. Empty unless kept.
    """

    checkpoints: IntArray
    cumulative_regret: FloatArray
    squared_regret: FloatArray
    weights: FloatArray
    shown: IntArray
    given: IntArray

    def __len__(self) -> int:
        return len(self.cumulative_regret)

    def __repr__(self) -> str:
        return f"ChoicePlay({len(self)} users, {self.checkpoints[-1] if len(self.checkpoints) else 0} rounds)"

    @property
    def average_regret(self) -> FloatArray:
        """REG_T (eq. 4), one row per user."""
        return np.asarray(self.cumulative_regret / self.checkpoints)

    def cumulative_loss_regret(self, peaks: Any) -> FloatArray:
        """T·CREG_T (eq. 15) for the loss c(θ) = (θ − M)², one M per user: Σ r² + 2M·Σ r for regrets r."""
        M = np.broadcast_to(np.asarray(peaks, dtype=np.float64), (len(self),))
        return np.asarray(self.squared_regret + 2.0 * M[:, None] * self.cumulative_regret)


class _Log(NamedTuple):
    shown: IntArray
    given: IntArray
    regret: FloatArray
    delta: FloatArray  # space for x_given − x_shown


class _Seat(NamedTuple):
    """A user and the learner that serves it."""

    c: CandidateTable
    p: Program
    m: RuleMemory
    duel: Duel
    a: Answers
    log: _Log


@borrowing
def _play(seat: _Seat, rng: np.random.Generator, start: int) -> int:
    """Rounds of a coactive learner, from ``start`` on; returns how far it came.

    It comes to the end, unless the learner is one that is retrained and has the pairs that it waited for.
    """
    c, p, m, a, log, delta = seat.c, seat.p, seat.m, seat.a, seat.log, seat.log.delta
    for t in range(start, log.regret.shape[0]):
        shown = choose(c, m.w)
        best = highest(a)
        given = answer(a, shown, best, rng)
        for f in range(delta.shape[0]):
            delta[f] = c.rows[given, f] - c.rows[shown, f]
        log.shown[t], log.given[t], log.regret[t] = shown, given, best - a.utility[shown]
        _take_off(c, a, shown, given)
        steps, projected, informative = m.counts[STEPS], m.counts[PROJECTED], not silent(delta)
        learn(p, m, delta)
        if not goes_along(p) or m.counts[PROJECTED] > projected:
            if p.kind != RETRAINED and m.counts[STEPS] > steps:
                moved(c)
        elif informative:
            moved_along(c, given, shown, rate(p, m))
        if p.kind == RETRAINED and m.counts[FILLED] == m.pairs.shape[0]:
            return t + 1
    return len(log.regret)


@kernel
def _duel(seat: _Seat) -> None:
    """Rounds of a dueling bandit: the item of w against that of w + explore·u; w += step·u if the second wins."""
    c, a, log, w, duel = seat.c, seat.a, seat.log, seat.m.w, seat.duel
    u, rival = np.empty(w.shape[0]), np.empty(w.shape[0])
    for t in range(log.regret.shape[0]):
        perturb(duel.directions, t + 1, w, duel.explore, u, rival)
        first = choose(c, w)
        moved(c)
        second = choose(c, rival)
        moved(c)
        log.shown[t], log.given[t] = first, second
        log.regret[t] = highest(a) - (a.utility[first] + a.utility[second]) / 2.0
        if a.rating[second] > a.rating[first]:
            move(w, u, duel.step, w)
        _take_off(c, a, first, second)


@borrowing
def _take_off(c: CandidateTable, a: Answers, one: int, other: int) -> None:
    remove(c, one)
    take(a, one)
    if other != one:
        remove(c, other)
        take(a, other)


@kernel
def _add_up(regrets: FloatArray, at: IntArray, sums: FloatArray, squares: FloatArray) -> None:
    """The sums of the regrets, and of their squares, up to each checkpoint; these are in any order."""
    total, square = np.empty(len(regrets) + 1), np.empty(len(regrets) + 1)
    total[0], square[0] = 0.0, 0.0
    for t in range(len(regrets)):
        total[t + 1] = total[t] + regrets[t]
        square[t + 1] = square[t] + regrets[t] * regrets[t]
    for i in range(len(at)):
        sums[i], squares[i] = total[at[i]], square[at[i]]


def play_choices(
    learner: Coactive | DuelingBandit,
    items: Any,
    users: Sequence[ChoiceUser],
    *,
    rounds: int,
    utilities: Any = None,
    checkpoints: Sequence[int] | None = None,
    seeds: Sequence[int] | None = None,
    keep: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ChoicePlay:
    """Let a fresh twin of a learner serve each of many users, all from the same items.

    Parameters
    ----------
    learner
        The settings: each user gets a fresh learner of that kind. Any coactive learner of the package, or a
        `DuelingBandit`. (`RankingSVM` trains in scikit-learn, so it takes far longer.)
    items
        One row of features per item, or an `ItemTable`. What was shown or given back is not offered again to the same
        user.
    users
        One per learner: `StrictAlpha`, `ExpectedAlpha`, `BetterRating` or `BestRating`; for a dueling bandit
        `BetterOfTwo`. They draw from their own generators, so play a user once, or make it again.
    rounds
        T; at most half as many as there are items.
    utilities
        w* of each user, one row each, for measuring regret; by default the users' own ``w_star``.
    checkpoints
        The rounds to record sums at; every round if left out.
    seeds
        One seed per learner; by default all have that of ``learner`` (a dueling bandit then tries the same directions
        on every user).
    keep
        Whether to keep the items shown and given back.
    progress
        Called with the number of users served, after each.

    Notes
    -----
    **Equal** to `simulate` with the same learner and user on ``Choice(items).without(…)``: the same items are shown
    and given, in float64 (a tie of utilities that are equal but for rounding may fall the other way).
    **Cost** of one choice: 2n additions for the plain and the convex perceptron, by rows of the Gram matrix; otherwise
    the product of the items that are left with w (see `smidgen_papers.players.candidates`). And log n for the user.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> from smidgen_papers.players.choices import play_choices
    >>> rng = np.random.default_rng(0)
    >>> items, tastes = rng.normal(size=(400, 5)), rng.normal(size=(3, 5))
    >>> users = [smidgen.users.StrictAlpha(w_star=w, alpha=0.5) for w in tastes]
    >>> play = play_choices(smidgen.PreferencePerceptron(dim=5), items, users, rounds=200, checkpoints=[10, 200])
    >>> bool((play.average_regret[:, 1] < play.average_regret[:, 0]).all())
    True
    """
    if not isinstance(learner, (Coactive, DuelingBandit)):
        raise InvalidArgument(f"play_choices was given a {type(learner).__name__}", "give a coactive learner first")
    table = ItemTable.of(items)
    dim = table.rows.shape[1]
    if dim != learner.dim:
        raise InvalidFeatures(f"the items have {dim} features", f"the learner has dim={learner.dim}: make them agree")
    T = checks.whole("rounds", rounds, f"each takes off two of {len(table)} items", below=len(table) // 2 + 1)
    at = as_checkpoints(checkpoints, np.arange(1, T + 1), T, to_the_end=False)
    tastes = _utilities(utilities, users, dim)
    if seeds is not None and len(seeds) != len(users):
        raise InvalidArgument(f"there are {len(seeds)} seeds for {len(users)} users", "give one per user")
    regret, squares = np.empty((len(users), len(at))), np.empty((len(users), len(at)))
    weights = np.empty((len(users), dim))
    actions = np.empty((2, len(users) if keep else 0, T), np.int64)
    for i, (twin, seat, rng) in enumerate(_seats(learner, table, users, tastes, seeds, T)):
        _serve(twin, seat, rng)
        log, weights[i] = seat.log, seat.m.w
        _add_up(log.regret, at, regret[i], squares[i])
        if keep:
            actions[:, i] = log.shown, log.given
        if progress is not None:
            progress(i + 1)
    return ChoicePlay(at, regret, squares, weights, actions[0], actions[1])


def _seats(
    learner: Any, table: ItemTable, users: Sequence[Any], tastes: FloatArray, seeds: Sequence[int] | None, T: int
) -> Iterator[tuple[Any, _Seat, np.random.Generator]]:
    """The users in turn, each with a fresh twin of the learner."""
    alike = not isinstance(learner, (DuelingBandit, RankingSVM))  # the others draw nothing, and are copied as a whole
    for i, user in enumerate(users):
        if i == 0 or not alike:
            twin = learner.fresh(**({} if seeds is None else {"seed": seeds[i]}))
            p, duel = forms_of(twin)
        if i % _MANY == 0:
            utilities = table.utilities(tastes[i : i + _MANY])
        a, rng = compiled(user, utilities[i % _MANY])
        if (a.code == COMPARE) != duel.plays:
            raise InvalidArgument(
                f"a {type(user).__name__} cannot answer a {type(twin).__name__}",
                "give BetterOfTwo to a DuelingBandit, and the other users to the other learners",
            )
        log = _Log(np.empty(T, np.int64), np.empty(T, np.int64), np.empty(T), np.empty(table.rows.shape[1]))
        m = memory_of(twin._state(), twin.weights, 0)
        yield twin, _Seat(table.candidates(near=goes_along(p)), p, m, duel, a, log), rng


def _serve(twin: Any, seat: _Seat, rng: np.random.Generator) -> None:
    """Play all rounds of one user."""
    if isinstance(twin, DuelingBandit):
        _duel(seat)
    elif isinstance(twin.rule, Retrained):
        _serve_retrained(twin.rule, seat, rng)
    else:
        _play(seat, rng, 0)


def _serve_retrained(rule: Retrained, seat: _Seat, rng: np.random.Generator) -> None:
    """Play up to the pair that makes it train, and so on."""
    played, m = 0, seat.m
    while played < len(seat.log.regret):
        pairs = np.empty((rule.missing, rule.dim))
        m.counts[FILLED] = 0
        played = _play(seat._replace(m=m._replace(pairs=pairs)), rng, played)
        for pair in pairs[: m.counts[FILLED]]:
            rule.step(pair)
        m.w[:] = rule.weights
        moved(seat.c)


def _utilities(utilities: Any, users: Sequence[Any], dim: int) -> FloatArray:
    if utilities is None:
        own = [getattr(user, "w_star", None) for user in users]
        if any(w is None for w in own):
            raise InvalidArgument("a user without a w_star was given", "give utilities, one row of weights per user")
        utilities = own
    tastes = np.array([as_utility(w) for w in utilities]).reshape(len(utilities), -1)
    if tastes.shape != (len(users), dim):
        raise InvalidArgument(f"utilities has shape {tastes.shape}", f"give {len(users)} rows of {dim} weights")
    return tastes
