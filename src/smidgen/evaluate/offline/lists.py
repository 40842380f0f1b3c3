"""How likely a learner that ranks would have shown a list that another one has shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from smidgen._core.rank import log_probability
from smidgen.decision import Decision, IntArray


def log_chance(mine: Decision, shown: IntArray, settings: Mapping[str, Any]) -> float:
    """The log of the chance that the first places of a list would have been these; −∞ if they could not.

    Parameters
    ----------
    mine
        What the learner decided on the same documents.
    shown
        The list that was shown: documents, the first place first.
    settings
        The learner's: ``depth``, how many of the first places it draws, and of swaps ``swap`` and ``alternate``.

    Notes
    -----
    A list that was not drawn has one chance, all or nothing. A list drawn by scores has that of Plackett and Luce. Of
    neighbours that are swapped at random each pair counts by itself; a list that either pairing can give counts by
    both.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> from smidgen.evaluate.offline.lists import log_chance
    >>> learner = smidgen.PDGD(dim=2)
    >>> d = learner.decide(smidgen.Ranking(np.eye(2)))
    >>> log_chance(d, d.action, learner.params) == d.log_propensity
    True
    """
    order = np.ascontiguousarray(shown, dtype=np.int64)
    places = min(int(settings.get("depth", len(order))), len(order))
    if mine.log_propensity is None or mine.scores is None:
        return 0.0 if np.array_equal(order[:places], np.asarray(mine.action)[:places]) else -math.inf
    if mine.teams is None:
        return float(log_probability(np.ascontiguousarray(mine.scores, np.float64), order, places))
    swap, alternate = float(settings.get("swap", 0.5)), bool(settings.get("alternate", True))
    greedy = np.asarray(mine.greedy)
    chances = [_of_pairing(greedy, order, places, start, swap) for start in ((0, 1) if alternate else (0,))]
    total = sum(map(math.exp, chances)) / len(chances)
    return math.log(total) if total > 0.0 else -math.inf


def _of_pairing(greedy: IntArray, order: IntArray, places: int, start: int, swap: float) -> float:
    """The log of the chance of a list if the pairs begin at a place: each swapped, or left, and all else untouched."""
    total, k = 0.0, 0
    if not np.array_equal(greedy[places:], order[places:]):
        return -math.inf
    while k < places:
        if k < start or k + 1 >= places:
            if greedy[k] != order[k]:
                return -math.inf
            k += 1
            continue
        kept = greedy[k] == order[k] and greedy[k + 1] == order[k + 1]
        swapped = greedy[k] == order[k + 1] and greedy[k + 1] == order[k]
        p = 1.0 - swap if kept else swap if swapped else 0.0
        if p <= 0.0:
            return -math.inf
        total, k = total + math.log(p), k + 2
    return total
