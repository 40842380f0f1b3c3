"""What clicks of the past say of another ranking: inverse propensities by place.

A click at a place that people seldom look at stands for many that would have come had it stood higher. So each click
counts by how likely the new place is looked at over how likely the old one was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from smidgen import checks
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.evaluate.offline.betting import mean_between
from smidgen.evaluate.offline.estimate import Estimate
from smidgen.evaluate.offline.sequence import FEW
from smidgen.learners import Learner
from smidgen.structures import Clicks

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
    """What pages would be worth under another ranking, from the clicks on them under the old one.

    Parameters
    ----------
    pages, places, new_places
        One entry per click: the number of its page (0 … n − 1), the place of the clicked document there (from 0), and
        its place in the new ranking (−1 if it is not shown).
    n
        The number of pages, those without clicks among them.
    read
        The examination curve: how likely each place is looked at (`examination`). Nobody looks further.
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
    most = checks.number("clip", clip, "leave it out for 100", above=0.0)
    page, old, new = (_as_whole(name, given) for name, given in zip(_NAMES, (pages, places, new_places), strict=True))
    if not len(page) == len(old) == len(new):
        raise InvalidArgument(f"there are {len(page)}, {len(old)} and {len(new)} entries", "give one each per click")
    if len(page) and (page.min() < 0 or page.max() >= count or old.min() < 0):
        raise InvalidArgument("a click is on no page or at no place", f"number pages 0 … {count - 1}, places from 0")
    worth = curve if value == "clicks" else 1.0 / np.log2(np.arange(2, len(curve) + 2))
    there = np.where((new >= 0) & (new < len(worth)), worth[np.clip(new, 0, len(worth) - 1)], 0.0)
    here = np.where(old < len(curve), curve[np.minimum(old, len(curve) - 1)], 0.0)
    weight = np.minimum(np.divide(there, here, out=np.full(len(here), most), where=here > 0.0), most)
    per_page: FloatArray = np.bincount(page, weight, minlength=count).astype(np.float64)
    level = checks.number("confidence", confidence, "leave it out for 0.95", above=0.0, at_most=0.9999)
    most = _range(worth, curve, most, old, per_page)
    enough = int(np.count_nonzero(per_page)) >= FEW
    low, high = mean_between(per_page / most, 1.0 - level) if enough else (0.0, 1.0)
    squares = float((weight**2).sum())
    effective = float(weight.sum()) ** 2 / squares if squares else 0.0
    return Estimate(float(per_page.mean()), low * most, high * most, effective, count, enough)


def _range(worth: FloatArray, read: FloatArray, clip: float, old: IntArray, per_page: FloatArray) -> float:
    """What a page can be worth at most: a sum of products is largest when both are sorted the same way."""
    most = clip * len(read)
    if (read > 0.0).all() and (not len(old) or old.max() < len(read)):
        products = np.sort(worth)[::-1] / np.sort(read)
        most = float(products.sum()) if products.max() <= clip else most
    return max(most, float(per_page.max()))


def replay_clicks(
    log: Iterable[tuple[Decision, Any]], ranker: Learner | Callable[[Any], Any], *, read: ArrayLike, **settings: Any
) -> Estimate:
    """What another ranker would have been worth on the contexts of a log of clicks, by `position_ips`.

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
            f"read is {read!r}", "give the chance that each place is looked at, the first place first"
        )
    return curve.astype(np.float64)
