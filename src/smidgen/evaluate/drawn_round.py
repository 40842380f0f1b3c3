"""Rounds of rankings that are shown with some randomness, in compiled code: score, draw, answer, measure, step.

Each round does what the two verbs of `smidgen.learners.rank` do, by the same kernels in the same order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smidgen._kernel import kernel
from smidgen.evaluate.ranking_round import (
    CLICKING,
    Person,
    Queries,
    Record,
    answer,
    clicked_by,
    difference,
    put_first,
    utility,
)
from smidgen.evaluate.rule_steps import shift
from smidgen.features.differences import write_dense_differences
from smidgen.features.rows import scores_ahead
from smidgen.learners.rank.answers import stand_clicked, stand_placed
from smidgen.learners.rank.fair_pairs import adagrad_pairs, preferred_pairs
from smidgen.learners.rank.pdgd import pair_coefficients
from smidgen.learners.rank.perturbed_preference_perceptron import exchange_pairs
from smidgen.learners.rank.plackett_luce import draw
from smidgen.learners.rank.swaps import swap_pairs
from smidgen.randomness import U64
from smidgen.structures.ranking import _write_ranked
from smidgen.types import FloatArray, IntArray

DRAWN, FAIR, PERTURBED = range(3)  # kinds of learners
DECIDED, SILENT = range(2)  # what `Memory.counts` counts


class Drawing(NamedTuple):
    """What a learner is set to. A kind reads its own fields."""

    kind: int
    depth: int
    coins: U64
    step: float = 1.0
    swap: float = 0.5
    alternate: bool = True


class Memory(NamedTuple):
    """What a learner remembers; the kernels write to it."""

    w: FloatArray
    squares: FloatArray
    total: FloatArray
    counts: IntArray


@kernel
def show(s: Drawing, number: int, scores: FloatArray, shown: IntArray, teams: IntArray) -> float:
    """Write the ranking to show, and its pairs; returns the log of its probability, if the scores are numbers."""
    if s.kind == DRAWN:
        return draw(scores, s.coins, number, min(s.depth, shown.shape[0]), shown)
    if not _write_ranked(scores, shown):
        return math.nan
    return swap_pairs(s.coins, number, s.depth, s.swap, s.alternate, shown, teams)


@kernel
def drawn_step(
    s: Drawing, m: Memory, docs: FloatArray, scores: FloatArray, shown: IntArray, standing: IntArray, places: int
) -> bool:
    """The step of `PDGD`; ``places`` is negative for a better ranking. Says whether there was anything to learn."""
    worth, clicks = np.empty(shown.shape[0]), places >= 0
    if not pair_coefficients(scores, shown, standing, min(abs(places), s.depth), clicks, s.step, worth):
        return False
    delta = np.zeros(docs.shape[1])
    for i in range(shown.shape[0]):
        if worth[i] != 0.0:
            shift(delta, docs[shown[i]], worth[i])
    shift(m.w, delta, 1.0)
    return True


@kernel
def fair_step(
    s: Drawing, m: Memory, docs: FloatArray, shown: IntArray, teams: IntArray, standing: IntArray, clicks: bool
) -> int:
    """The step of `FairPairs`: how many pairs there were, −1 if something is not finite."""
    pairs = np.empty((shown.shape[0], 2), np.int64)
    count = preferred_pairs(shown, teams, standing, clicks, pairs)
    sound = True
    if count:
        deltas = np.empty((count, docs.shape[1]))
        write_dense_differences(docs, pairs, deltas)
        sound = adagrad_pairs(deltas, s.step, m.w, m.squares)
    shift(m.total, m.w, 1.0)
    return count if sound else -1


@kernel
def drawn_rounds(
    q: Queries, order: IntArray, s: Drawing, m: Memory, user: Person, record: Record, rng: np.random.Generator
) -> int:
    """One query after the other; returns how many were played: all, unless a step left the finite numbers."""
    delta = np.empty(q.X.shape[1])
    for t in range(order.shape[0]):
        first, last = q.starts[order[t]], q.starts[order[t] + 1]
        docs, discounts, n = q.X[first:last], q.discounts[: last - first], last - first
        then = q.starts[order[min(t + 1, order.shape[0] - 1)]]
        scores = scores_ahead(q.X, first, last, then, m.w)
        m.counts[DECIDED] += 1
        shown, teams, standing = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        if not math.isfinite(show(s, m.counts[DECIDED], scores, shown, teams)):
            return t
        if user.kind == CLICKING:
            clicked = clicked_by(user, shown, q.labels[first:last], rng)
            better = put_first(clicked, shown)
        else:
            clicked = shown[:0]
            better = put_first(answer(q, first, shown, user, rng), shown)
        clicks = user.kind == CLICKING and user.tells
        places = stand_clicked(shown, clicked, standing) if clicks else -stand_placed(better, standing)
        for i in range(min(record.shown.shape[1], n)):
            record.shown[t, i] = shown[i]
        if record.utilities.shape[0] > 0:
            record.utilities[t, 0] = utility(shown, q.truth[first:last], discounts)
            record.utilities[t, 1] = utility(better, q.truth[first:last], discounts)
        if s.kind == DRAWN:
            found = drawn_step(s, m, docs, scores, shown, standing, places)
        elif s.kind == FAIR:
            count = fair_step(s, m, docs, shown, teams, standing, clicks)
            if count < 0:
                return t
            found = count > 0
        else:
            after = np.empty(n, np.int64)
            found = exchange_pairs(shown, teams, standing, after)
            if found:
                difference(docs, after, shown, discounts, delta)
                shift(m.w, delta, 1.0)
        m.counts[SILENT] += not found
    return len(order)
