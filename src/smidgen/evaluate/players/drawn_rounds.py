"""Rounds of rankings that are shown with some randomness, in compiled code: score, draw, answer, measure, step.

Each round does what the two verbs of `smidgen.learners.rank` do, by the same kernels in the same order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from smidgen._kernel import borrowing, kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.evaluate.players.ranking_rounds import Queries, Record, answer, clicked_by, note
from smidgen.features.differences import write_dense_differences
from smidgen.features.row_scores import combine_dense, write_scores_ahead
from smidgen.learners.rank.answers import stand_clicked, stand_placed
from smidgen.learners.rank.base import DRAWN, FAIR, Drawing
from smidgen.learners.rank.fair_pairs import adagrad_pairs, preferred_pairs
from smidgen.learners.rank.pdgd import pair_coefficients
from smidgen.learners.rank.perturbed_preference_perceptron import exchange_pairs
from smidgen.learners.rank.plackett_luce import draw
from smidgen.learners.rank.swaps import swap_pairs
from smidgen.optim.rule import move
from smidgen.structures.ranking import _write_ranked, put_first, write_merged
from smidgen.users.click_user import click_into
from smidgen.users.person import CLICKING, Person

DECIDED, SILENT = range(2)  # what `DrawnMemory.counts` counts


class DrawnMemory(NamedTuple):
    """What a learner remembers; the kernels write to it."""

    w: FloatArray
    squares: FloatArray
    total: FloatArray
    counts: IntArray


class DrawnScratch(NamedTuple):
    """Scratch, for the longest list there is."""

    scores: FloatArray
    work: FloatArray
    delta: FloatArray
    orders: IntArray  # shown, teams, standing, and the better ranking of 3PR
    pairs: IntArray
    touched: IntArray
    deltas: FloatArray
    draws: FloatArray  # of the user, and what it clicks
    clicked: IntArray


@kernel
def scratch_for(longest: int, depth: int, dim: int) -> DrawnScratch:
    """Make it; pairs lie within the depth."""
    return DrawnScratch(
        np.empty(longest),
        np.empty(3 * longest + 1),
        np.empty(dim),
        np.empty((4, longest), np.int64),
        np.empty((longest, 2), np.int64),
        np.empty(2 * longest, np.int64),
        np.empty((min(longest, depth), dim)),
        np.empty((2, longest)),
        np.empty(longest, np.int64),
    )


@borrowing
def show(q: Queries, s: Drawing, m: DrawnMemory, scratch: DrawnScratch, first: int, last: int, then: int) -> bool:
    """Score the documents and write the ranking to show, and its pairs; says no if the scores are beyond numbers."""
    n = last - first
    scores, shown, number = scratch.scores[:n], scratch.orders[0, :n], m.counts[DECIDED]
    write_scores_ahead(q.X, first, last, then, m.w, scores)
    if s.kind == DRAWN:
        return draw(scores, s.coins, number, min(s.depth, n), shown, scratch.work[:n])
    if not _write_ranked(scores, shown):
        return False
    swap_pairs(s.coins, number, s.depth, s.swap, s.alternate, shown, scratch.orders[1, :n], scratch.work)
    return True


@borrowing
def drawn_step(s: Drawing, m: DrawnMemory, scratch: DrawnScratch, docs: FloatArray, places: int, clicks: bool) -> bool:
    """The step of `PDGD`; says whether there was anything to learn."""
    n = docs.shape[0]
    shown, standing = scratch.orders[0, :n], scratch.orders[2, :n]
    if not pair_coefficients(scratch.scores[:n], shown, standing, min(places, s.depth), clicks, s.step, scratch.work):
        return False
    combine_dense(docs, shown, scratch.work[:n], scratch.delta)
    move(m.w, scratch.delta, 1.0, m.w)
    return True


@borrowing
def fair_step(s: Drawing, m: DrawnMemory, scratch: DrawnScratch, docs: FloatArray, clicks: bool) -> int:
    """The step of `FairPairs`: how many pairs there were, −1 if something is not finite."""
    n, sound = docs.shape[0], True
    count = preferred_pairs(scratch.orders[0, :n], scratch.orders[1, :n], scratch.orders[2, :n], clicks, scratch.pairs)
    if count:
        write_dense_differences(docs, scratch.pairs, scratch.deltas[:count])
        sound = adagrad_pairs(scratch.deltas[:count], s.step, m.w, m.squares)
    move(m.total, m.w, 1.0, m.total)
    return count if sound else -1


@borrowing
def perturbed_step(m: DrawnMemory, scratch: DrawnScratch, docs: FloatArray, discounts: FloatArray) -> bool:
    """The step of 3PR; says whether there was anything to learn."""
    n, most = docs.shape[0], 2 * discounts.shape[0]
    shown, after, touched, weights = (
        scratch.orders[0, :n],
        scratch.orders[3, :n],
        scratch.touched[:most],
        scratch.work[:most],
    )
    if not exchange_pairs(shown, scratch.orders[1, :n], scratch.orders[2, :n], after):
        return False
    write_merged(after, shown, discounts, scratch.work[most : most + n], touched, weights)
    combine_dense(docs, touched, weights, scratch.delta)
    move(m.w, scratch.delta, 1.0, m.w)
    return True


@borrowing
def drawn_learn(
    s: Drawing,
    m: DrawnMemory,
    scratch: DrawnScratch,
    docs: FloatArray,
    discounts: FloatArray,
    places: int,
    clicks: bool,
) -> bool:
    """One step; says no if it left the finite numbers."""
    if s.kind == DRAWN:
        m.counts[SILENT] += not drawn_step(s, m, scratch, docs, places, clicks)
    elif s.kind == FAIR:
        count = fair_step(s, m, scratch, docs, clicks)
        if count < 0:
            return False
        m.counts[SILENT] += count == 0
    else:
        m.counts[SILENT] += not perturbed_step(m, scratch, docs, discounts)
    return True


@borrowing
def clicked_ranking(scratch: DrawnScratch, n: int, count: int) -> None:
    """Write the ranking that clicks stand for, from their standing."""
    shown, standing, better = scratch.orders[0, :n], scratch.orders[2, :n], scratch.orders[3, :n]
    for i in range(count):
        better[i] = scratch.clicked[i]
    for i in range(n):
        if standing[shown[i]] == 1:
            better[count] = shown[i]
            count += 1


@borrowing
def clicking_rounds(
    q: Queries,
    order: IntArray,
    s: Drawing,
    m: DrawnMemory,
    user: Person,
    record: Record,
    scratch: DrawnScratch,
    rng: np.random.Generator,
) -> int:
    """`drawn_rounds` with a user who tells its clicks: the quick ones, which make no arrays."""
    last_round, measured = order.shape[0] - 1, record.utilities.shape[0] > 0
    for t in range(order.shape[0]):
        first, last = q.starts[order[t]], q.starts[order[t] + 1]
        n = last - first
        m.counts[DECIDED] += 1
        if not show(q, s, m, scratch, first, last, q.starts[order[min(t + 1, last_round)]]):
            return t
        shown, standing = scratch.orders[0, :n], scratch.orders[2, :n]
        count = click_into(user, shown, q.labels[first:last], rng, scratch.draws, scratch.clicked)
        places = stand_clicked(shown, scratch.clicked[:count], standing)
        if measured:
            clicked_ranking(scratch, n, count)
        note(q, record, t, first, shown, scratch.orders[3, :n])
        if not drawn_learn(s, m, scratch, q.X[first:last], q.discounts[:n], places, True):
            return t
    return len(order)


@kernel
def drawn_rounds(
    q: Queries, order: IntArray, s: Drawing, m: DrawnMemory, user: Person, record: Record, rng: np.random.Generator
) -> int:
    """One query after the other; returns how many were played: all, unless a step left the finite numbers."""
    longest = np.max(q.starts[1:] - q.starts[:-1])
    scratch = scratch_for(longest, s.depth, q.X.shape[1])
    if user.kind == CLICKING and user.tells:
        return clicking_rounds(q, order, s, m, user, record, scratch, rng)
    for t in range(order.shape[0]):
        first, last = q.starts[order[t]], q.starts[order[t] + 1]
        n = last - first
        m.counts[DECIDED] += 1
        if not show(q, s, m, scratch, first, last, q.starts[order[min(t + 1, order.shape[0] - 1)]]):
            return t
        shown, standing = scratch.orders[0, :n], scratch.orders[2, :n]
        if user.kind == CLICKING:
            better = put_first(clicked_by(user, shown, q.labels[first:last], rng), shown, n)
        else:
            better = put_first(answer(q, first, shown, user, rng), shown, n)
        places = stand_placed(better, standing)
        note(q, record, t, first, shown, better)
        if not drawn_learn(s, m, scratch, q.X[first:last], q.discounts[:n], places, False):
            return t
    return len(order)
