"""One round of ranking in compiled code: score, sort, answer, measure, step; and streams of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from smidgen._kernel import kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.evaluate.rule_steps import DECIDED, DUEL, FILLED, RETRAINED, Memory, Settings, learn, shift
from smidgen.features import dense_scores
from smidgen.features.rows import scores_ahead
from smidgen.learners.coactive.dueling_bandit import _team_draft, team_clicks
from smidgen.randomness import direction_room, fill_uniforms, unit_direction
from smidgen.structures.ranking import ranked
from smidgen.users.click_user import click_down
from smidgen.users.strict_alpha import _ROUNDING, _inspect

STRICT, NOISY, EXPECTED, CLICKING = range(4)  # kinds of users


class Queries(NamedTuple):
    """What is read of a table; arrays that nobody asks for are empty."""

    X: FloatArray
    starts: IntArray
    labels: FloatArray
    taste: FloatArray  # the score of every document under the user's own w*
    truth: FloatArray  # the same under the w* that regret is measured by
    discounts: FloatArray


class Person(NamedTuple):
    """The user. A kind reads its own fields."""

    kind: int
    alpha: float = 1.0
    strict: float = 1.0
    depth: int = 1
    randoms: int = 1
    attract: FloatArray = np.zeros((1, 1))  # the tables of a `ClickUser`
    stop: FloatArray = np.zeros((1, 1))
    tells: bool = False  # its clicks, not the better ranking that they stand for


class Record(NamedTuple):
    """What is written down, one row per round: the first documents shown; the utilities of y and ȳ, if measured."""

    shown: IntArray
    utilities: FloatArray


@kernel
def utility(order: IntArray, scores: FloatArray, discounts: FloatArray) -> float:
    """w·φ(x, y) from the scores of the documents."""
    total = 0.0
    for i in range(discounts.shape[0]):
        total += discounts[i] * scores[order[i]]
    return total


@kernel
def by_labels(shown: IntArray, labels: FloatArray, depth: int, top: int) -> IntArray:
    """The first documents of `NoisyDepth`'s answer: the best labels of those seen, then what was shown."""
    n = shown.shape[0]
    seen = np.empty(min(depth, n))
    for i in range(seen.shape[0]):
        seen[i] = labels[shown[i]]
    places, lifted = ranked(seen), np.zeros(n, np.bool_)
    better = np.empty(top, np.int64)
    for i in range(min(top, seen.shape[0])):
        better[i] = shown[places[i]]
        lifted[places[i]] = True
    filled, place = min(top, seen.shape[0]), 0
    while filled < top:
        if not lifted[place]:
            better[filled] = shown[place]
            filled += 1
        place += 1
    return better


@kernel
def mixed(
    shown: IntArray, taste: FloatArray, discounts: FloatArray, user: Person, rng: np.random.Generator
) -> IntArray:
    """`ExpectedAlpha`'s answer, by its own random numbers: a strict one, or at times one of some random rankings."""
    n, before = shown.shape[0], utility(shown, taste, discounts)
    sure = _inspect(taste, shown, discounts, user.strict, _ROUNDING)
    others = np.empty((user.randoms, n), np.int64)
    random = 0.0
    for k in range(user.randoms):
        others[k] = rng.permutation(n)
        random += utility(others[k], taste, discounts) - before
    random /= user.randoms
    target = user.alpha * (utility(ranked(taste), taste, discounts) - before)
    strict = utility(sure, taste, discounts) - before
    mass = 1.0 if random >= min(target, strict) else min(1.0, max(0.0, (strict - target) / (strict - random)))
    if rng.random() < mass:
        sure = others[rng.integers(0, user.randoms)]
    return sure


@kernel
def click_into(
    user: Person,
    shown: IntArray,
    labels: FloatArray,
    rng: np.random.Generator,
    m: int,
    draws: FloatArray,
    room: IntArray,
) -> int:
    """Write the documents that a `ClickUser` who looks at m of them clicks to the first row of ``room``; how many.

    ``draws``, for the user's own random numbers, and ``room`` have two rows, of m places or more.
    """
    for row in range(2):
        for i in range(m):
            draws[row, i] = rng.random()
    for i in range(m):
        room[1, i] = int(labels[shown[i]])
    count = click_down(room[1, :m], user.attract, user.stop, draws, room[0])
    for i in range(count):
        room[0, i] = shown[room[0, i]]
    return count


@kernel
def clicked_by(user: Person, shown: IntArray, labels: FloatArray, rng: np.random.Generator) -> IntArray:
    """The same as a new array."""
    m = min(user.depth, shown.shape[0])
    room = np.empty((2, m), np.int64)
    return room[0, : click_into(user, shown, labels, rng, m, np.empty((2, m)), room)]


@kernel
def put_first(front: IntArray, shown: IntArray) -> IntArray:
    """These documents, then the others in the order shown."""
    n, k = shown.shape[0], front.shape[0]
    better, lifted = np.empty(n, np.int64), np.zeros(n, np.bool_)
    for i in range(k):
        better[i] = front[i]
        lifted[front[i]] = True
    for i in range(n):
        if not lifted[shown[i]]:
            better[k] = shown[i]
            k += 1
    return better


@kernel
def difference(docs: FloatArray, better: IntArray, shown: IntArray, discounts: FloatArray, out: FloatArray) -> None:
    """Out = φ(better) − φ(shown), each document touched once; exactly zero where both say the same."""
    weight = np.zeros(docs.shape[0])
    for i in range(discounts.shape[0]):
        weight[better[i]] += discounts[i]
    for i in range(discounts.shape[0]):
        weight[shown[i]] -= discounts[i]
    for j in range(out.shape[0]):
        out[j] = 0.0
    for k in range(docs.shape[0]):
        if weight[k] != 0.0:
            shift(out, docs[k], weight[k])


@kernel
def interleaved(docs: FloatArray, s: Settings, m: Memory, u: FloatArray) -> tuple[IntArray, IntArray]:
    """The dueling bandit's ranking and its teams: w against w + explore·u, u as its decision of this number has it."""
    number = np.uint64(m.counts[DECIDED])
    words, normals = direction_room(u.shape[0])
    unit_direction(s.directions, number, u, words, normals)
    coins = np.empty((docs.shape[0] + 1) // 2)
    fill_uniforms(s.coins, number, coins)
    rival = m.w.copy()
    shift(rival, u, s.explore)
    return _team_draft(ranked(dense_scores(docs, m.w)), ranked(dense_scores(docs, rival)), coins)


@kernel
def duel(s: Settings, m: Memory, u: FloatArray, shown: IntArray, teams: IntArray, better: IntArray, top: int) -> None:
    """Move by step·u if the perturbed ranker contributed more of the user's first documents."""
    side, won = np.empty(shown.shape[0], np.int64), 0
    for i in range(shown.shape[0]):
        side[shown[i]] = teams[i]
    for i in range(top):
        won += side[better[i]]
    if 2 * won > top:
        shift(m.w, u, s.scale)


@kernel
def answer(q: Queries, first: int, shown: IntArray, user: Person, rng: np.random.Generator) -> IntArray:
    """What the user thinks better; its first documents, as many as count, are enough."""
    last = first + shown.shape[0]
    discounts = q.discounts[: shown.shape[0]]
    if user.kind == NOISY:
        return by_labels(shown, q.labels[first:last], user.depth, discounts.shape[0])
    if user.kind == EXPECTED:
        return mixed(shown, q.taste[first:last], discounts, user, rng)
    return _inspect(q.taste[first:last], shown, discounts, user.alpha, _ROUNDING)


@kernel
def rounds(
    q: Queries, order: IntArray, s: Settings, m: Memory, user: Person, record: Record, rng: np.random.Generator
) -> int:
    """One query after the other; returns how many were played.

    They are all, unless a step went wrong, or a learner that is retrained has the pairs that it waited for.
    """
    delta, teams, clicked, sound = np.empty(q.X.shape[1]), np.empty(0, np.int64), np.empty(0, np.int64), True
    for t in range(order.shape[0]):
        first, last = q.starts[order[t]], q.starts[order[t] + 1]
        docs, discounts = q.X[first:last], q.discounts[: last - first]
        top = discounts.shape[0]
        m.counts[DECIDED] += 1
        if s.kind == DUEL:
            shown, teams = interleaved(docs, s, m, delta)
        else:
            then = q.starts[order[min(t + 1, order.shape[0] - 1)]]
            shown = ranked(scores_ahead(q.X, first, last, then, m.w))
        if user.kind == CLICKING:
            clicked = clicked_by(user, shown, q.labels[first:last], rng)
            better = put_first(clicked, shown)
        else:
            better = answer(q, first, shown, user, rng)
        for i in range(min(record.shown.shape[1], last - first)):
            record.shown[t, i] = shown[i]
        if record.utilities.shape[0] > 0:
            record.utilities[t, 0] = utility(shown, q.truth[first:last], discounts)
            record.utilities[t, 1] = utility(better, q.truth[first:last], discounts)
        if s.kind == DUEL and user.tells:
            if team_clicks(shown, teams, clicked) > 0:
                shift(m.w, delta, s.scale)
        elif s.kind == DUEL:
            duel(s, m, delta, shown, teams, better, top)
        else:
            difference(docs, better, shown, discounts, delta)
            sound = learn(s, m, delta)
        if not sound:
            return t
        if s.kind == RETRAINED and m.counts[FILLED] == m.pairs.shape[0]:
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
