"""Pages that mix the rankings of a champion and its challenger by team draft: which of the two the clicks prefer.

Each candidate of such a page was put there by one of the two. The page goes to the one with more clicks on its own
candidates; a page without clicks, or with as many for either, is half for each. Both face the same user on the same
page, so that a page tells more than one page of either alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from smidgen.evaluate.confidence import FEW, mean_between
from smidgen.evaluate.lift import mean_of_units
from smidgen.service.engine.replay import UndoneVersions, read_undone
from smidgen.service.log import codec
from smidgen.service.schemas import Difference
from smidgen.service.storage.protocol import StoreReader

#: Number of pages that are read at most, the first ones since both are interleaved: reading them takes time.
MOST = 20_000
#: The interval misses the true difference with this probability, at whatever moments one looks.
ALPHA = 0.05


class Page(NamedTuple):
    """A closed page: its unit, if that is known, and its result for the challenger: 1 won, ½ tied, 0 lost."""

    unit: str | None
    won: float


class Asked(NamedTuple):
    """Reference to a page: the champion's shard, the event of the decision, that of its feedback, and the unit."""

    shard: int
    seq: int
    feedback_seq: int | None
    unit: str | None


def result(named: Collection[Any], ids: Sequence[Any], teams: bytes) -> float:
    """Return the result of a page for the challenger, from the candidates that were clicked or preferred.

    A candidate that was the best one left in both rankings when it was taken says nothing of either.

    Examples
    --------
    >>> from smidgen.service.monitoring.interleaving import result
    >>> teams = bytes([0b01100000, 0b10000000])  # b and c are the challenger's; both take a first
    >>> [result(clicked, "abcd", teams) for clicked in ("b", "d", "bd", "a", "ab", "")]
    [1.0, 0.0, 0.5, 0.5, 1.0, 0.5]
    """
    rivals, tied = np.unpackbits(np.frombuffer(teams, np.uint8).reshape(2, -1), axis=1, count=len(ids))
    credit = dict(zip(ids, (1 - tied) * (2.0 * rivals - 1.0), strict=True))
    return 0.5 + 0.5 * float(np.sign(sum(credit.get(id, 0.0) for id in named)))


def read_pages(reading: StoreReader, asked: Sequence[Asked]) -> list[Page]:
    """Read the results of closed pages, in their order; leave out those whose feedback was undone."""
    found: list[Page] = []
    undone: dict[int, UndoneVersions] = {}
    for each in asked[:MOST]:
        event = reading.event(each.shard, each.seq)
        if event is None:
            continue
        body = codec.read_decision(event.body, event.seq)
        if (teams := (body.shared or {}).get("teams")) is None:
            continue
        answer = None if each.feedback_seq is None else reading.event(each.shard, each.feedback_seq)
        if answer is None or answer.made is None:  # nobody clicked in time
            found.append(Page(each.unit, 0.5))
            continue
        if each.shard not in undone:
            undone[each.shard] = read_undone(reading, each.shard)
        if answer.made in undone[each.shard]:
            continue
        given = codec.read_feedback(answer.body, answer.seq).feedback
        named = given.get("clicked", given.get("better", ()))
        named = named if isinstance(named, list) else [named]
        found.append(Page(each.unit, result(named, list(body.ids), teams)))
    return found


def difference_of(pages: Sequence[Page], *, by_unit: bool) -> Difference:
    """Return the share of pages that the challenger won less the share that it lost, with its interval.

    Parameters
    ----------
    pages
        Closed pages, in their order.
    by_unit
        Whether units are the observations, as where units are split.
    """
    n, values = len(pages), np.array([page.won for page in pages])
    decisive = float(np.count_nonzero(values != 0.5))
    if not n:
        return Difference(value=0.0, low=-1.0, high=1.0, effective=0.0, n=0, enough=False)
    value = 2.0 * float(values.mean()) - 1.0
    if n < FEW:
        return Difference(value=value, low=-1.0, high=1.0, effective=decisive, n=n, enough=False)
    if by_unit:
        sums: dict[object, list[float]] = {}
        for place, page in enumerate(pages):
            one = sums.setdefault(place if page.unit is None else page.unit, [0.0, 0.0])
            one[0] += page.won
            one[1] += 1.0
        won, of = np.array(list(sums.values())).T
        found = mean_of_units(won, of, alpha=ALPHA)
        low, high, enough = found.low, found.high, found.enough
    else:
        (low, high), enough = mean_between(values, ALPHA), True
    return Difference(value=value, low=2.0 * low - 1.0, high=2.0 * high - 1.0, effective=decisive, n=n, enough=enough)
