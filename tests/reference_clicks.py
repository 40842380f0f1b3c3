"""The references of what learns from clicks: naive, slow, obvious. Nothing is imported from the package."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Pair = tuple[int, int]


def sigma(z: float) -> float:
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


def probability(scores: Sequence[float], order: Sequence[int], places: int) -> float:
    """Plackett–Luce: one place after the other, by exp(score) among those left."""
    total, left = 1.0, list(order)
    for document in list(order)[:places]:
        total *= math.exp(scores[document]) / sum(math.exp(scores[other]) for other in left)
        left.remove(document)
    return total


def exchanged(order: Sequence[int], a: int, b: int) -> list[int]:
    return [b if d == a else a if d == b else d for d in order]


def clicked_pairs(order: Sequence[int], clicked: Sequence[int], depth: int) -> list[Pair]:
    """A clicked, b not, b above the last click or just after it; both within the depth."""
    places = [i for i, d in enumerate(order) if d in clicked]
    if not places:
        return []
    seen = list(order)[: places[-1] + 2]
    first = list(order)[:depth]
    return [(a, b) for a in first if a in clicked for b in first if b in seen and b not in clicked]


def better_pairs(order: Sequence[int], better: Sequence[int], depth: int) -> list[Pair]:
    """A stood below b within the depth and now stands above it."""
    first, place = list(order)[:depth], list(better).index
    return [(a, b) for b, a in itertools.combinations(first, 2) if place(a) < place(b)]


def pdgd_step(docs: Any, scores: Sequence[float], order: Sequence[int], pairs: Sequence[Pair], step: float) -> Any:
    """The step added to w."""
    total = np.zeros(len(docs[0]))
    for a, b in pairs:
        here = probability(scores, order, len(order))
        there = probability(scores, exchanged(order, a, b), len(order))
        rho = there / (here + there)
        gap = scores[a] - scores[b]
        total += step * rho * sigma(gap) * sigma(-gap) * (np.asarray(docs[a]) - np.asarray(docs[b]))
    return total


def unit_columns(docs: Any) -> FloatArray:
    out = np.zeros(np.shape(docs))
    for j in range(out.shape[1]):
        column = [row[j] for row in docs]
        if max(column) > min(column):
            out[:, j] = [(value - min(column)) / (max(column) - min(column)) for value in column]
    return out


def swapped_lists(greedy: Sequence[int], depth: int, swap: float, alternate: bool) -> dict[tuple[int, ...], float]:
    """Every list that swaps can lead to, with its probability."""
    found: dict[tuple[int, ...], float] = {}
    places = min(depth, len(greedy))
    for start in (0, 1) if alternate else (0,):
        starts = list(range(start, places - 1, 2))
        for choice in itertools.product((False, True), repeat=len(starts)):
            order, chance = list(greedy), 0.5 if alternate else 1.0
            for i, swapped in zip(starts, choice, strict=True):
                chance *= swap if swapped else 1.0 - swap
                if swapped:
                    order[i], order[i + 1] = order[i + 1], order[i]
            found[tuple(order)] = found.get(tuple(order), 0.0) + chance
    return found


def neighbours(order: Sequence[int], teams: Sequence[int]) -> list[Pair]:
    """The pairs (upper, lower) of a shown list."""
    return [(order[i], order[i + 1]) for i in range(len(order) - 1) if teams[i] == teams[i + 1] >= 0]


def better_of_neighbours(order: Sequence[int], teams: Sequence[int], prefers: Any) -> list[int]:
    """3PR's ȳ: exchange the pairs whose lower document is preferred; ``prefers(a, b)`` says so."""
    better = list(order)
    for upper, lower in neighbours(order, teams):
        if prefers(lower, upper):
            better = exchanged(better, upper, lower)
    return better


def adagrad(deltas: Sequence[Any], step: float, w: Any, squares: Any) -> tuple[FloatArray, FloatArray]:
    """Steps on the logistic loss of w·δ, one after the other."""
    w, squares = np.array(w, dtype=float), np.array(squares, dtype=float)
    for delta in deltas:
        gradient = -sigma(-float(w @ delta)) * np.asarray(delta)
        squares = squares + gradient**2
        w = w - step * gradient / np.sqrt(squares)
    return w, squares


def neighbour_ratio(log: Sequence[tuple[Sequence[int], Sequence[int], float]], k: int) -> float:
    """Clicks at place k + 1 over those at place k, each (list, clicks, weight) counted by its weight."""
    above = sum(weight for order, clicked, weight in log if order[k] in clicked)
    below = sum(weight for order, clicked, weight in log if order[k + 1] in clicked)
    return below / above
