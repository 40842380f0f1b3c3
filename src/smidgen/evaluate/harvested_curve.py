"""How far people look, from a log whose order changed by itself: the same result at neighbouring places.

Engines that rank by no coin still show a result of one search at different places over time: an index grows, a setting
changes, two versions run side by side. Such moves are swaps that somebody else made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.errors import InvalidArgument
from smidgen.evaluate.examination_curve import Examination, chained


def harvested(
    pages: Iterable[tuple[Any, Sequence[Any], Sequence[int]]], *, places: int = 10, confidence: float = 0.95
) -> Examination:
    """Estimate how far people look from pages whose order was not drawn, but changed.

    Parameters
    ----------
    pages
        Triples: what was searched for (anything that can be compared), the results from the first place on, and the
        places (from 0) that were clicked.
    places
        How many places to tell of.
    confidence
        Of the interval.

    Returns
    -------
    Examination
        NaN from the place on that no result has left for its neighbour, or that nobody clicked.

    Notes
    -----
    **Estimate** read[k + 1]/read[k] = Σ h·(clicks at k + 1)/(pages at k + 1) over Σ h·(clicks at k)/(pages at k), over
    the results of a search that were seen at both places, h the harmonic mean of the two numbers of pages; the curve is
    the product of such ratios [1].
    **Interval** by the delta method on the log of the curve, the clicks of each page taken together.
    **Assumes** the position-based model, and that a result moved for reasons other than how it was clicked: that of
    a search it is as good before as after.
    **Differs** from [1], which fits all pairs of places at once: neighbours suffice, and need no model of the rest.

    Examples
    --------
    >>> from smidgen.evaluate import harvested
    >>> one = [("toner", ["a", "b"], [0])] * 60 + [("toner", ["a", "b"], [])] * 40
    >>> other = [("toner", ["b", "a"], [1])] * 30 + [("toner", ["b", "a"], [])] * 70
    >>> harvested(one + other, places=2).read.tolist()
    [1.0, 0.5]

    References
    ----------
    .. [1] A. Agarwal, I. Zaitsev, X. Wang, C. Li, M. Najork, T. Joachims. Estimating position bias without intrusive
       interventions. WSDM 2019.
    """
    wanted = checks.whole("places", places, "leave it out for 10", at_least=2, below=10_001)
    level = checks.number("confidence", confidence, "leave it out for 0.95", above=0.0, at_most=0.9999)
    kept = [(query, list(hits[:wanted]), _clicked(clicked, len(hits))) for query, hits, clicked in pages]
    seen = Counter((query, hit, place) for query, hits, _ in kept for place, hit in enumerate(hits))
    above, below = np.zeros((2, len(kept), wanted - 1))
    for number, (query, hits, clicked) in enumerate(kept):
        for place in clicked:
            if place >= len(hits):
                continue
            n = seen[query, hits[place], place]
            if (after := seen[query, hits[place], place + 1]) and place + 1 < wanted:
                above[number, place] += _share(n, after)
            if place and (before := seen[query, hits[place], place - 1]):
                below[number, place - 1] += _share(n, before)
    return chained(above, below, level)


def _share(n: int, other: int) -> float:
    """The harmonic mean of two numbers of pages, over the first: what one click of n counts."""
    return 2.0 * other / (n + other)


def _clicked(places: Sequence[int], of: int) -> list[int]:
    if any(not checks.is_whole(place) or not 0 <= place < of for place in places):
        raise InvalidArgument(f"the clicked places are {list(places)}", f"give places from 0 to {of - 1}")
    return sorted(set(places))
