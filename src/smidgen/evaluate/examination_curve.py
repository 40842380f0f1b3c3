"""How far people look: the examination curve, estimated from rankings whose neighbours were exchanged at random.

Under the position-based model a document of attraction γ at place k is clicked with probability read[k]·γ. Where two
neighbours stand in either order equally often, whatever they are, the clicks at the two places are in the ratio
read[k + 1]/read[k]; ratios of neighbours give the curve. Lists that came in unequal shares are weighed until the shares
are equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core.rank import count_clicks, weigh_drawn, weigh_swapped
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.structures import Clicks

#: How drawn lists are weighed, P(R) and P(R*) their chances before and after the exchange.
WEIGHTS = {"overlap": "2 P(R*)/(P(R) + P(R*))", "inverse": "(P(R) + P(R*))/(2 P(R))"}


@dataclass(frozen=True, eq=False, repr=False)
class Examination:
    """How likely people look at each place, the first taken as 1.

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
        told = ", ".join(f"{r:.2f}" for r in self.read)
        return f"Examination([{told}], {self.rounds} rounds)"


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
    places are a pair; the curve is the product of such ratios. Weights: swapped pairs 1/(2p), others 1/(2(1 − p)).
    Drawn lists, P the learner's own, R* with the two neighbours exchanged: inverse (P(R) + P(R*))/(2 P(R)), overlap
    2 P(R*)/(P(R) + P(R*)). Both make R and R* count alike. Inverse weights have no limit: once the learner is sure of
    itself a single rare list can outweigh all others. Overlap weights stay below 2, and give little to pairs whose
    order is nearly certain [2].
    **Interval** by the delta method on the log of the curve, each round's clicks taken together.
    **Assumes** the position-based model. Of people who stop after a click it tells how likely a place is reached, on
    average over what stood above it.

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
    wanted = checks.whole("places", places, "leave it out for 10", at_least=2, below=10_001)
    p = checks.number("swap", swap, "give the learner's own, e.g. 0.5", above=0.0, at_most=1.0)
    level = checks.number("confidence", confidence, "leave it out for 0.95", above=0.0, at_most=0.9999)
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
        """One answered round."""
        upper, lower = np.empty(self._pairs), np.empty(self._pairs)
        each = _weights(decision, self._pairs, self._swap, self._overlap)
        count_clicks(_whole(decision.action), clicks.documents, each, upper, lower)
        self._above.append(upper)
        self._below.append(lower)

    def curve(self, level: float = 0.95) -> Examination:
        """How far people look, as far as these rounds tell."""
        above, below = (np.array(each).reshape(-1, self._pairs) for each in (self._above, self._below))
        return chained(above, below, level)


def _weights(decision: Decision, pairs: int, swap: float, overlap: bool) -> FloatArray:
    """What a click counts at each pair of neighbours."""
    out = np.empty(pairs)
    if not isinstance(decision, Decision) or decision.log_propensity is None or decision.scores is None:
        raise InvalidArgument(
            "the log holds a decision whose places were not drawn", "give those of PDGD, of 3PR or of FairPairs"
        )
    order = _whole(decision.action)
    if decision.scores.shape != order.shape:
        raise InvalidArgument(
            "the log holds a decision without a score per document", "give decisions as they were made"
        )
    if decision.teams is None:
        weigh_drawn(np.ascontiguousarray(decision.scores, np.float64), order, overlap, out)
    else:
        if swap == 1.0:
            raise InvalidArgument("swap is 1.0 and every pair was swapped", "only swaps by chance can tell")
        weigh_swapped(_whole(decision.greedy), order, _whole(decision.teams), swap, out)
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
