"""Estimate how far users examine rankings, and evaluate other rankings from past clicks with that curve.

Under the position-based model a document of attraction γ at place k is clicked with probability read[k]·γ. Where two
neighbours stand in either order equally often, whatever they are, the clicks at the two places are in the ratio
read[k + 1]/read[k]; ratios of neighbours give the examination curve (`examination`). Lists that came in unequal shares
are weighed until the shares are equal.

Search engines without randomization still show a result of one search at different positions over time: the index
grows, a setting changes, two versions run in parallel. Such moves serve as swaps (`harvested`).

A click at a rarely examined position represents many clicks that the result would have received higher up. Each click
is therefore weighted by the examination probability of the new position over that of the old one (`position_ips`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from smidgen import checks
from smidgen._core import rank
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.evaluate.confidence import FEW, Estimate, mean_between
from smidgen.learners import Learner
from smidgen.structures import Clicks

#: How drawn lists are weighed, P(R) and P(R*) their chances before and after the exchange.
WEIGHTS = {"overlap": "2 P(R*)/(P(R) + P(R*))", "inverse": "(P(R) + P(R*))/(2 P(R))"}


@dataclass(frozen=True, eq=False, repr=False)
class Examination:
    """Examination probability of each position, relative to the first.

    Attributes
    ----------
    read
        The curve, from the first place; NaN from the place on that no clicks tell of.
    low, high
        Its interval, place by place.
    rounds
        How many answered rounds it comes from.
    """

    read: FloatArray
    low: FloatArray
    high: FloatArray
    rounds: int

    def __repr__(self) -> str:
        shares = ", ".join(f"{r:.2f}" for r in self.read)
        return f"Examination([{shares}], {self.rounds} rounds)"


def examination(
    log: Iterable[tuple[Decision, Any]],
    *,
    places: int = 10,
    swap: float = 0.5,
    weights: str = "overlap",
    confidence: float = 0.95,
) -> Examination:
    """Estimate how far people look, from decisions of one learner and the clicks on them.

    Parameters
    ----------
    log
        Pairs (decision, `Clicks`), of `PDGD`, of `PerturbedPreferencePerceptron`, or of `FairPairs` with
        ``alternate=True``: fixed pairs cannot relate places 2 and 3. Other feedback than clicks is passed over.
    places
        How many places to tell of.
    swap
        How likely pairs were swapped, if they were: that of `PerturbedPreferencePerceptron`.
    weights
        How lists that `PDGD` drew are weighed: ``"overlap"`` or ``"inverse"``, see below.
    confidence
        Of the interval.

    Returns
    -------
    Examination

    Notes
    -----
    **Estimate** read[k + 1]/read[k] = Σ weight·click at k + 1 / Σ weight·click at k, over the lists in which the two
    positions are a pair; the curve is the product of such ratios. Weights: swapped pairs 1/(2p), others 1/(2(1 − p)).
    Drawn lists, P the learner's own, R* with the two neighbors exchanged: inverse (P(R) + P(R*))/(2 P(R)), overlap 2
    P(R*)/(P(R) + P(R*)). Both give R and R* equal weight. Inverse weights have no limit: once the learner is certain, a
    single rare list can outweigh all others. Overlap weights stay below 2, and give little weight to pairs whose order
    is nearly certain [2]. **Interval** by the delta method on the log of the curve, each round's clicks taken together.
    **Assumes** the position-based model. For users who stop after a click, the curve is the probability that a position
    is reached, averaged over the results above it.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> from smidgen.evaluate import examination
    >>> stream = smidgen.data.ranking_stream(queries=3000, docs=5, dim=3, seed=1)
    >>> learner = smidgen.FairPairs(dim=3, alternate=True)
    >>> grades = lambda query: (query.docs @ stream.w_star > 0).astype(int)
    >>> user = smidgen.users.PositionBased(labels=grades, click=[0.2, 0.8], read=[1.0, 0.6, 0.3])
    >>> log = []
    >>> for query in stream.contexts:
    ...     decision = learner.decide(query)
    ...     log.append((decision, user(query, decision.action)))
    ...     learner.learn(*log[-1])
    >>> found = examination(log, places=3)
    >>> bool((found.low <= [1.0, 0.6, 0.3]).all() and (found.high >= [1.0, 0.6, 0.3]).all())
    True

    References
    ----------
    .. [1] T. Joachims, A. Swaminathan, T. Schnabel. Unbiased learning-to-rank with biased feedback. WSDM 2017.
       Section 5.3: swaps of the first place with another.
    .. [2] F. Li, K. L. Morgan, A. M. Zaslavsky. Balancing covariates via propensity score weighting. JASA 113, 2018.
    """
    wanted = checks.whole("places", places, "omit it for 10", at_least=2, below=10_001)
    p = checks.number("swap", swap, "give the learner's own, e.g. 0.5", above=0.0, at_most=1.0)
    level = checks.number("confidence", confidence, "omit it for 0.95", above=0.0, at_most=0.9999)
    overlap = checks.one_of("weights", weights, WEIGHTS) == "overlap"
    looks = Looks(places=wanted, swap=p, overlap=overlap)
    for decision, feedback in log:
        if isinstance(feedback, Clicks):
            looks.add(decision, feedback)
    return looks.curve(level)


class Looks:
    """The clicks at neighbouring places, round by round: what the curve is estimated from.

    Parameters
    ----------
    places, swap
        As in `examination`.
    overlap
        Whether drawn lists are weighed by their overlap.
    """

    def __init__(self, *, places: int = 10, swap: float = 0.5, overlap: bool = True) -> None:
        self._pairs, self._swap, self._overlap = places - 1, swap, overlap
        self._above: list[FloatArray] = []
        self._below: list[FloatArray] = []

    def add(self, decision: Decision, clicks: Clicks) -> None:
        """Add a decision and its clicks."""
        upper, lower = np.empty(self._pairs), np.empty(self._pairs)
        each = _weights(decision, self._pairs, self._swap, self._overlap)
        rank.count_clicks(_whole(decision.action), clicks.documents, each, upper, lower)
        self._above.append(upper)
        self._below.append(lower)

    def curve(self, level: float = 0.95) -> Examination:
        """The examination curve estimated from these rounds."""
        above, below = (np.array(each).reshape(-1, self._pairs) for each in (self._above, self._below))
        return chained(above, below, level)


def _weights(decision: Decision, pairs: int, swap: float, overlap: bool) -> FloatArray:
    """Weight of a click at each pair of neighbors."""
    out = np.empty(pairs)
    if not isinstance(decision, Decision) or decision.log_propensity is None or decision.scores is None:
        raise InvalidArgument(
            "the log holds a decision whose positions were not randomized", "give decisions of PDGD, 3PR or FairPairs"
        )
    order = _whole(decision.action)
    if decision.scores.shape != order.shape:
        raise InvalidArgument(
            "the log holds a decision without a score per document", "give decisions as the learner returned them"
        )
    if decision.teams is None:
        rank.weigh_drawn(np.ascontiguousarray(decision.scores, np.float64), order, overlap, out)
    else:
        if swap == 1.0:
            raise InvalidArgument(
                "swap is 1.0 and every pair was swapped",
                "give a log with swap below 1: only random swaps measure position bias",
            )
        rank.weigh_swapped(_whole(decision.greedy), order, _whole(decision.teams), swap, out)
    return out


def _whole(documents: Any) -> IntArray:
    return np.ascontiguousarray(documents, dtype=np.int64)


def chained(above: FloatArray, below: FloatArray, level: float) -> Examination:
    """The curve by ratios of weighed clicks at neighbouring places; a row for each round, a column for each pair."""
    upper, lower = above.sum(axis=0), below.sum(axis=0)
    known = np.logical_and.accumulate((upper > 0) & (lower > 0))
    safe_upper, safe_lower = np.where(known, upper, 1.0), np.where(known, lower, 1.0)
    logs = np.cumsum(np.where(known, np.log(safe_lower / safe_upper), np.nan))
    influence = np.cumsum(below / safe_lower - above / safe_upper, axis=1)
    half = NormalDist().inv_cdf(0.5 + level / 2.0) * np.sqrt((influence**2).sum(axis=0))
    curves = (np.concatenate([[1.0], np.exp(values)]) for values in (logs, logs - half, logs + half))
    read, low, high = curves
    return Examination(read=read, low=low, high=high, rounds=len(above))


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
        NaN from the first position that no result has exchanged with its neighbor, or that received no click.

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
    wanted = checks.whole("places", places, "omit it for 10", at_least=2, below=10_001)
    level = checks.number("confidence", confidence, "omit it for 0.95", above=0.0, at_most=0.9999)
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
        raise InvalidArgument(f"the clicked positions are {list(places)}", f"give positions from 0 to {of - 1}")
    return sorted(set(places))


#: What a page is worth: the clicks that the new ranking would get, or its discounted gain by what attracts.
VALUES = {"clicks": "the clicks per page", "dcg": "the discounted gain per page"}


#: The name that estimates from clicks had at first.
ClickEstimate = Estimate


def position_ips(
    pages: ArrayLike,
    places: ArrayLike,
    new_places: ArrayLike,
    *,
    n: int,
    read: ArrayLike,
    value: str = "clicks",
    clip: float = 100.0,
    confidence: float = 0.95,
) -> Estimate:
    """Estimate the utility of pages under another ranking, from their clicks under the old one.

    Parameters
    ----------
    pages, places, new_places
        One entry per click: the number of its page (0 … n − 1), the place of the clicked document there (from 0), and
        its place in the new ranking (−1 if it is not shown).
    n
        The number of pages, those without clicks among them.
    read
        The examination curve: the probability that each position is examined (`examination`); zero beyond its end.
    value
        ``"clicks"``: the clicks that the new ranking would get; ``"dcg"``: Σ attraction/log2(place + 1).
    clip
        No click counts more than this: less variance for some bias.
    confidence
        Of the interval: a confidence sequence for bounded values over the pages, by betting. It knows nothing of the
        curve's own error. The pages count in the order of their numbers, which must say nothing of their worth: number
        those of a log that is sorted by query at random. Before 30 pages with a click it is the whole range, and
        ``enough`` is False.

    Notes
    -----
    **Estimate** (1/n) Σ_clicks worth[new place]/read[old place], worth = read for ``"clicks"`` and 1/log2(k + 1) for
    ``"dcg"``. Unbiased under the position-based model with the right curve, if every document was shown at some place
    with read > 0 [1].
    **Range** of a page: no list can be worth more than Σ worth/read, both from the largest down.

    Examples
    --------
    Two pages; the document clicked at the second place would stand first:

    >>> from smidgen.evaluate import position_ips
    >>> found = position_ips([0, 1], [1, 0], [0, 0], n=2, read=[1.0, 0.5])
    >>> found.value
    1.5

    References
    ----------
    .. [1] T. Joachims, A. Swaminathan, T. Schnabel. Unbiased learning-to-rank with biased feedback. WSDM 2017.
    """
    curve = _as_curve(read)
    checks.one_of("value", value, VALUES)
    count = checks.whole("n", n, "give the number of pages")
    most = checks.number("clip", clip, "omit it for 100", above=0.0)
    page, old, new = (_as_whole(name, given) for name, given in zip(_NAMES, (pages, places, new_places), strict=True))
    if not len(page) == len(old) == len(new):
        raise InvalidArgument(f"there are {len(page)}, {len(old)} and {len(new)} entries", "give one each per click")
    if len(page) and (page.min() < 0 or page.max() >= count or old.min() < 0):
        raise InvalidArgument(
            "a click has an invalid page or position", f"number pages 0 … {count - 1} and positions from 0"
        )
    worth = curve if value == "clicks" else 1.0 / np.log2(np.arange(2, len(curve) + 2))
    there = np.where((new >= 0) & (new < len(worth)), worth[np.clip(new, 0, len(worth) - 1)], 0.0)
    here = np.where(old < len(curve), curve[np.minimum(old, len(curve) - 1)], 0.0)
    weight = np.minimum(np.divide(there, here, out=np.full(len(here), most), where=here > 0.0), most)
    per_page: FloatArray = np.bincount(page, weight, minlength=count).astype(np.float64)
    level = checks.number("confidence", confidence, "omit it for 0.95", above=0.0, at_most=0.9999)
    most = _range(worth, curve, most, old, per_page)
    enough = int(np.count_nonzero(per_page)) >= FEW
    low, high = mean_between(per_page / most, 1.0 - level) if enough else (0.0, 1.0)
    squares = float((weight**2).sum())
    effective = float(weight.sum()) ** 2 / squares if squares else 0.0
    return Estimate(float(per_page.mean()), low * most, high * most, effective, count, enough)


def _range(worth: FloatArray, read: FloatArray, clip: float, old: IntArray, per_page: FloatArray) -> float:
    """Upper bound on the utility of a page: a sum of products is largest when both are sorted in the same order."""
    most = clip * len(read)
    if (read > 0.0).all() and (not len(old) or old.max() < len(read)):
        products = np.sort(worth)[::-1] / np.sort(read)
        most = float(products.sum()) if products.max() <= clip else most
    return max(most, float(per_page.max()))


def replay_clicks(
    log: Iterable[tuple[Decision, Any]], ranker: Learner | Callable[[Any], Any], *, read: ArrayLike, **settings: Any
) -> Estimate:
    """Estimate the utility of another ranker on the contexts of a click log, by `position_ips`.

    Parameters
    ----------
    log
        Pairs (decision, `Clicks`), of any learner of rankings. Other feedback than clicks is passed over.
    ranker
        A learner (its ``predict`` counts) or a function from the context to a ranking.
    read
        The examination curve.
    settings
        Others of `position_ips`: ``value``, ``clip``, ``confidence``.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> from smidgen.evaluate import replay_clicks
    >>> learner, query = smidgen.PreferencePerceptron(dim=2), smidgen.Ranking(np.eye(2))
    >>> log = [(learner.decide(query), smidgen.Clicks([1])) for _ in range(10)]
    >>> replay_clicks(log, lambda query: [1, 0], read=[1.0, 0.5]).value
    2.0
    """
    ranking = ranker.predict if isinstance(ranker, Learner) else ranker
    page: list[int] = []
    old: list[int] = []
    new: list[int] = []
    n = 0
    for decision, feedback in log:
        if not isinstance(feedback, Clicks):
            continue
        shown = np.asarray(decision.action)
        place, would = np.empty(len(shown), np.int64), np.full(len(shown), -1)
        place[shown] = np.arange(len(shown))
        ranked = np.asarray(decision.context.check(ranking(decision.context)))
        would[ranked] = np.arange(len(ranked))
        for document in feedback:
            page.append(n)
            old.append(int(place[document]))
            new.append(int(would[document]))
        n += 1
    return position_ips(page, old, new, n=n, read=read, **settings)


_NAMES = ("pages", "places", "new_places")


def _as_whole(name: str, values: Any) -> IntArray:
    array = np.asarray(values)
    if array.ndim != 1 or (len(array) and array.dtype.kind not in "iu"):
        raise InvalidArgument(f"{name} has shape {array.shape} and dtype {array.dtype}", "give whole numbers")
    return array.astype(np.int64)


def _as_curve(read: Any) -> FloatArray:
    curve = np.asarray(read)
    if curve.ndim != 1 or curve.dtype.kind not in "fiu" or not len(curve) or not (curve >= 0).all():
        raise InvalidArgument(
            f"read is {read!r}", "give the probability that users look at each position, from the first position on"
        )
    return curve.astype(np.float64)
