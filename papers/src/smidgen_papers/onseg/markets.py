"""The work of the portfolio: one learner on one set, several markets."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.data import price_stream
from smidgen.decision import FloatArray
from smidgen.evaluate.losses import Portfolio
from smidgen.geometry import L1Ball, Simplex, Space
from smidgen.learners.tune import OGD, OGDEG, ONSEG, Tuner
from smidgen.theory import one_point
from smidgen_papers.data import read_prices, require
from smidgen_papers.onseg.paper import STOCKS, STOCKS_BETA, WEEKS
from smidgen_papers.outcome import checkpoints
from smidgen_papers.part import Place
from smidgen_papers.players import play_tuning

#: Stocks to draw the 94 from.
MARKET = 180
SPACES = ("simplex", "L1 ball")
CHOICES = ("OGDEG", "ONSEG, β printed", "ONSEG, β practical", "OGD, returns seen")


def market(place: Place, source: str, trial: int, seed: int) -> FloatArray:
    """Weekly returns of 94 stocks, drawn from all there are; a made-up market is another one in every trial."""
    if source == "file":
        [path] = require("stocks", place.data)
        prices = read_prices(path).weekly()
    else:
        prices = price_stream(weeks=WEEKS, stocks=MARKET, seed=1000 * seed + trial)
    rng = np.random.default_rng([seed, trial, 94])
    picked = rng.permutation(len(prices.stocks))[: min(STOCKS, len(prices.stocks))]
    return prices.select(picked).returns()[:WEEKS]


def learner_of(choice: str, loss: Portfolio, space: Space, seed: int) -> Tuner:
    """A learner with δ = r/5: the theorem's δ is out of the question."""
    F, delta = loss.bound(space), 0.2 * space.inner_radius
    if choice == "OGDEG":
        return OGDEG(space=space, loss_bound=F, delta=delta, seed=seed)
    if choice.startswith("OGD,"):
        return OGD(space=space, gradient_bound=loss.lipschitz(space), seed=seed)
    return ONSEG(
        space=space, loss_bound=F, delta=delta, beta=STOCKS_BETA if "printed" in choice else "practical", seed=seed
    )


def invest(
    place: Place, *, prices: str, source: str, space: str, choice: str, first: int, trials: int, seed: int
) -> dict[str, Any]:
    """The mean weekly return up to checkpoints, in per cent: one row per trial."""
    found, uniform, best = [], [], []
    for trial in range(first, first + trials):
        returns = market(place, source, trial, seed)
        loss = Portfolio(returns=returns)
        region: Space = Simplex(dim=returns.shape[1]) if space == "simplex" else L1Ball(dim=returns.shape[1])
        at = checkpoints(len(returns), 25)
        run = play_tuning(learner_of(choice, loss, region, 1000 * seed + trial), loss, checkpoints=at)
        found.append(-100.0 * run.losses)
        uniform.append(100.0 * float(returns.mean()))
        best.append(100.0 * float(returns.mean(axis=0).max()))
    delta, gamma = one_point.onseg_constants(region, loss.bound(region), None, len(returns))
    return {
        "at": np.array(at),
        "returns": np.array(found),
        "uniform": np.array(uniform),
        "best": np.array(best),
        "delta": delta,
        "gamma": gamma,
        "r": region.inner_radius,
    }
