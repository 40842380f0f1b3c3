"""Position bias estimated from an order that changed by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smidgen.errors import SmidgenError
from smidgen.evaluate import harvested

READ = np.array([1.0, 0.7, 0.45, 0.3, 0.2])


def searches(pages: int, *, orders: int, seed: int = 0) -> list[tuple[Any, list[str], list[int]]]:
    """A log of two versions of an engine, or of one, whose users look at the top first."""
    rng = np.random.default_rng(seed)
    attract = rng.uniform(0.1, 0.9, size=(20, 6))
    order = [[np.argsort(-attract[q] - 0.8 * rng.random(6)) for _ in range(orders)] for q in range(20)]
    found = []
    for _ in range(pages):
        q = int(rng.integers(20))
        shown = order[q][int(rng.integers(orders))][:5]
        clicked = np.flatnonzero(rng.random(5) < READ * attract[q][shown])
        found.append((f"query {q}", [f"doc {doc}" for doc in shown], clicked.tolist()))
    return found


def naive(pages: list[tuple[Any, list[str], list[int]]], k: int) -> float:
    """The ratio of places k + 1 and k, the slow way."""
    above = below = 0.0
    results = {(query, hit) for query, hits, _ in pages for hit in hits}
    for query, hit in results:
        at = [
            [(hits[place] == hit, place in clicks) for q, hits, clicks in pages if q == query] for place in (k, k + 1)
        ]
        n = [sum(there for there, _ in each) for each in at]
        c = [sum(there and clicked for there, clicked in each) for each in at]
        if n[0] and n[1]:
            h = 2.0 / (1.0 / n[0] + 1.0 / n[1])
            above += h * c[0] / n[0]
            below += h * c[1] / n[1]
    return below / above


def test_it_is_the_slow_way() -> None:
    pages = searches(600, orders=3)
    found = harvested(pages, places=5)
    ratios = [naive(pages, k) for k in range(4)]
    assert found.read == pytest.approx(np.concatenate([[1.0], np.cumprod(ratios)]))
    assert found.rounds == 600


def test_it_finds_the_curve_where_click_rates_do_not() -> None:
    pages = searches(20_000, orders=4, seed=1)
    found = harvested(pages, places=5)
    assert (found.low[1:] < READ[1:]).all()
    assert (READ[1:] < found.high[1:]).all()
    rates = np.mean([[place in clicks for place in range(5)] for _, _, clicks in pages], axis=0)
    assert rates[4] / rates[0] < 0.75 * READ[4]  # the best stands first, so rates fall faster than looks


def test_the_interval_covers() -> None:
    hits = [
        (found.low <= READ) & (found.high >= READ)
        for found in (harvested(searches(1500, orders=4, seed=seed), places=5) for seed in range(40))
    ]
    assert np.mean(hits, axis=0)[1:].min() >= 0.85


def test_an_order_that_never_changed_tells_nothing() -> None:
    found = harvested(searches(500, orders=1), places=5)
    assert found.read[0] == 1.0
    assert np.isnan(found.read[1:]).all()
    assert np.isnan(harvested([], places=3).read[1:]).all()


@pytest.mark.parametrize("clicked", [[2], [-1], [0.5], ["a"]])
def test_clicks_where_there_is_no_place_are_refused(clicked: Any) -> None:
    with pytest.raises(SmidgenError, match="clicked positions"):
        harvested([("q", ["a", "b"], clicked)])
