"""Rounds of rankings in compiled code: score, sort, answer, measure, step; and streams of them.

Each piece is the one that the verbs go by: the structure's argmax and difference, the user's answer, the rule's step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from smidgen._kernel import borrowing, kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.features import dense_scores
from smidgen.features.row_scores import combine_dense, scores_ahead
from smidgen.learners.coactive.dueling_bandit import Duel, credit, team_clicks, team_draft
from smidgen.optim.program import DECIDED, FILLED, RuleMemory, learn
from smidgen.optim.rule import RETRAINED, Program, move
from smidgen.randomness import fill_uniforms, perturb
from smidgen.structures.ranking import put_first, ranked, utility, write_merged
from smidgen.users.click_user import click_into
from smidgen.users.expected_alpha import mixed
from smidgen.users.noisy_depth import best_seen
from smidgen.users.person import CLICKING, EXPECTED, NOISY, Person
from smidgen.users.strict_alpha import inspect


class Queries(NamedTuple):
    """What is read of a table; arrays that nobody asks for are empty."""

    X: FloatArray
    starts: IntArray
    labels: FloatArray
    taste: FloatArray  # the score of every document under the user's own w*
    truth: FloatArray  # the same under the w* that regret is measured by
    discounts: FloatArray


class Record(NamedTuple):
    """What is written down, one row per round: the first documents shown; the utilities of y and ȳ, if measured."""

    shown: IntArray
    utilities: FloatArray


@kernel
def clicked_by(user: Person, shown: IntArray, labels: FloatArray, rng: np.random.Generator) -> IntArray:
    """The documents that a `ClickUser` clicks."""
    looks = min(user.depth, shown.shape[0])
    clicked = np.empty(looks, np.int64)
    return clicked[: click_into(user, shown, labels, rng, np.empty((2, looks)), clicked)]


@kernel
def answer(q: Queries, first: int, shown: IntArray, user: Person, rng: np.random.Generator) -> IntArray:
    """What a user who does not click thinks better; its first documents, as many as count, are enough."""
    last = first + shown.shape[0]
    discounts = q.discounts[: shown.shape[0]]
    if user.kind == NOISY:
        top = discounts.shape[0]
        return put_first(best_seen(shown, q.labels[first:last], user.depth, top), shown, top)
    if user.kind == EXPECTED:
        return mixed(shown, q.taste[first:last], discounts, user, rng)
    return inspect(q.taste[first:last], shown, discounts, user.alpha)


@borrowing
def note(q: Queries, record: Record, t: int, first: int, shown: IntArray, better: IntArray) -> None:
    """Write a round down."""
    n = shown.shape[0]
    for i in range(min(record.shown.shape[1], n)):
        record.shown[t, i] = shown[i]
    if record.utilities.shape[0] > 0:
        truth, discounts = q.truth[first : first + n], q.discounts[:n]
        record.utilities[t, 0] = utility(shown, truth, discounts)
        record.utilities[t, 1] = utility(better, truth, discounts)


@kernel
def interleaved(docs: FloatArray, s: Duel, w: FloatArray, number: int, u: FloatArray) -> tuple[IntArray, IntArray]:
    """The dueling bandit's ranking and its teams, as its decision of this number has them; writes the direction u."""
    rival, coins = np.empty(w.shape[0]), np.empty((docs.shape[0] + 1) // 2)
    perturb(s.directions, number, w, s.explore, u, rival)
    fill_uniforms(s.coins, np.uint64(number), coins)
    return team_draft(ranked(dense_scores(docs, w)), ranked(dense_scores(docs, rival)), coins)


@kernel
def rounds(
    q: Queries,
    order: IntArray,
    p: Program,
    m: RuleMemory,
    duel: Duel,
    user: Person,
    record: Record,
    rng: np.random.Generator,
) -> int:
    """One query after the other; returns how many were played.

    They are all, unless a step went wrong, or a learner that is retrained has the pairs that it waited for.
    """
    delta, teams, clicked, sound = np.empty(q.X.shape[1]), np.empty(0, np.int64), np.empty(0, np.int64), True
    touched, weights = np.empty(2 * q.discounts.shape[0], np.int64), np.empty(2 * q.discounts.shape[0])
    each = np.empty(np.max(q.starts[1:] - q.starts[:-1]))
    for t in range(order.shape[0]):
        first, last = q.starts[order[t]], q.starts[order[t] + 1]
        docs, discounts = q.X[first:last], q.discounts[: last - first]
        m.counts[DECIDED] += 1
        if duel.plays:
            shown, teams = interleaved(docs, duel, m.w, m.counts[DECIDED], delta)
        else:
            then = q.starts[order[min(t + 1, order.shape[0] - 1)]]
            shown = ranked(scores_ahead(q.X, first, last, then, m.w))
        if user.kind == CLICKING:
            clicked = clicked_by(user, shown, q.labels[first:last], rng)
            better = put_first(clicked, shown, shown.shape[0])
        else:
            better = answer(q, first, shown, user, rng)
        note(q, record, t, first, shown, better)
        if duel.plays:
            told = user.tells
            ahead = team_clicks(shown, teams, clicked) if told else credit(shown, teams, better, discounts.shape[0])
            if ahead > 0:
                move(m.w, delta, duel.step, m.w)
        else:
            write_merged(better, shown, discounts, each[: last - first], touched, weights)
            combine_dense(docs, touched, weights, delta)
            sound = learn(p, m, delta)
        if not sound:
            return t
        if p.kind == RETRAINED and m.counts[FILLED] == m.pairs.shape[0]:
            return t + 1
    return len(order)


@kernel
def best_utilities(starts: IntArray, truth: FloatArray, discounts: FloatArray) -> FloatArray:
    """The utility of the best ranking of every query."""
    out = np.empty(starts.shape[0] - 1)
    for i in range(out.shape[0]):
        scores = truth[starts[i] : starts[i + 1]]
        out[i] = utility(ranked(scores), scores, discounts[: scores.shape[0]])
    return out
