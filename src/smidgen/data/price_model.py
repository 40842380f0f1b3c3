"""Made-up prices: stocks that share a market."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen.decision import FloatArray


@dataclass(frozen=True, eq=False)
class Prices:
    """A table of prices.

    Attributes
    ----------
    name
        What this is.
    dates
        The day of each row, growing.
    stocks
        The name of each column.
    prices
        One row per day, one column per stock; all > 0.
    """

    name: str
    dates: NDArray[np.datetime64]
    stocks: tuple[str, ...]
    prices: FloatArray

    def __len__(self) -> int:
        return len(self.dates)

    def __repr__(self) -> str:
        return f"Prices({self.name!r}, {len(self)} days x {len(self.stocks)} stocks)"

    def weekly(self) -> Prices:
        """The last price of each week (Monday to Sunday); weeks without any row are skipped."""
        # Day 0 of numpy's calendar, 1 January 1970, is a Thursday: three days on from its Monday.
        week = (self.dates.astype("datetime64[D]").astype(np.int64) + 3) // 7
        last = np.flatnonzero(np.diff(week, append=week[-1:] + 1))
        return replace(self, dates=self.dates[last], prices=self.prices[last])

    def relatives(self) -> FloatArray:
        """Each price divided by the one in the row before: one row fewer than there are days."""
        return np.asarray(self.prices[1:] / self.prices[:-1])

    def returns(self) -> FloatArray:
        """The relative gain from row to row: `relatives` less 1."""
        return self.relatives() - 1.0

    def select(self, stocks: Any) -> Prices:
        """Only these stocks (indices or a mask), in this order."""
        picked = np.arange(len(self.stocks))[np.asarray(stocks)]
        return replace(
            self, stocks=tuple(self.stocks[j] for j in picked), prices=np.ascontiguousarray(self.prices[:, picked])
        )


def price_stream(
    *,
    weeks: int = 680,
    stocks: int = 94,
    drift: float = 0.08,
    market: float = 0.25,
    own: float = 0.30,
    spread: float = 0.05,
    seed: int = 0,
) -> Prices:
    """Weekly prices by geometric Brownian motion with one market factor.

    The log return of stock i in week t is (μ_i − σ_i²/2)/52 + (b_i·m·Z_t + s·Z_it)/√52 with independent normal Z, where
    σ_i² = b_i²m² + s², so that the expected gain over a year is μ_i (in log terms). Nothing in the past tells the
    future: no strategy can do better than to find the stocks with the largest μ_i, which takes decades.

    Parameters
    ----------
    weeks, stocks
        How many weekly returns (there is one price more) and stocks. By default the size of the portfolio experiment of
        the bandit optimisation paper: 94 stocks of the SSE 180 from February 2005 on, which are not public.
    drift
        The mean of the yearly drifts μ_i.
    market
        m: the volatility of the market, per year. The sensitivities b_i are normal around 1 with deviation 0.3.
    own
        s: the volatility of each stock apart from the market, per year.
    spread
        The standard deviation of the drifts μ_i among the stocks.
    seed
        The same seed, the same prices.

    Examples
    --------
    >>> from smidgen.data import price_stream
    >>> prices = price_stream()
    >>> prices
    Prices('generated', 681 days x 94 stocks)
    >>> prices.relatives().shape
    (680, 94)
    """
    n = checks.whole("weeks", weeks, "at least 1")
    k = checks.whole("stocks", stocks, "at least 1")
    mu = checks.number("drift", drift, "for instance 0.08 per year")
    m, s, d = (
        checks.number(name, value, "give a number per year, at least 0", at_least=0.0)
        for name, value in (("market", market), ("own", own), ("spread", spread))
    )
    rng = np.random.default_rng(checks.seed(seed))
    drifts = mu + d * rng.normal(size=k)
    sensitivity = 1.0 + 0.3 * rng.normal(size=k)
    variance = (sensitivity * m) ** 2 + s**2
    shocks = m * rng.normal(size=(n, 1)) * sensitivity + s * rng.normal(size=(n, k))
    logs = np.cumsum((drifts - variance / 2.0) / 52.0 + shocks / np.sqrt(52.0), axis=0)
    prices = 10.0 * np.exp(np.vstack((np.zeros(k), logs)))
    dates = np.datetime64("2005-02-04") + 7 * np.arange(n + 1)
    return Prices("generated", dates, tuple(f"stock{j + 1}" for j in range(k)), prices)
