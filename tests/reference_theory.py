"""Every bound with arguments that make one, its own unit, and the words of the cards as arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple


class Known(NamedTuple):
    """A bound with its expected values.

    Attributes
    ----------
    given
        Arguments next to the number of rounds, without slack.
    average
        Whether the theorem itself speaks of the average.
    words
        The formula of the card, at these arguments.
    order
        Whether the formula tells the order only.
    """

    given: dict[str, Any]
    average: bool = False
    words: Callable[[float], float] | None = None
    order: bool = False


_TASTE = {"R": 1.5, "w_norm": 2.0, "alpha": 0.5}
_ONE_BIT = {"alpha": 1.0, "norm_bound": 1.0, "delta": 0.05, "log_determinant": 5.0}

BOUNDS: dict[str, Known] = {
    "preference_perceptron": Known(_TASTE, True, lambda T: 2 * 1.5 * 2.0 / (0.5 * math.sqrt(T))),
    "expected_preference_perceptron": Known(_TASTE, True),
    "lower_bound": Known({}, True),
    "batch_preference_perceptron": Known(
        {**_TASTE, "batch": 9}, True, lambda T: 2 * 1.5 * 2.0 * math.sqrt(9) / (0.5 * math.sqrt(T))
    ),
    "exponentiated_preference_perceptron": Known(
        {"S": 1.5, "n_features": 2 * 7, "alpha": 0.5, "w_norm": 3.0},
        True,
        lambda T: 2 * 1.5 * (1 + math.log(2 * 7)) * 3.0 / (0.5 * math.sqrt(T)),
    ),
    "convex_preference_perceptron": Known(
        {"R": 1.5, "diameter": 4.0, "alpha": 0.5, "lipschitz": 3.0, "scale": 3.0},
        True,
        lambda T: (4.0**2 / 2 + 4 * 1.5**2 * 3.0**2) / (0.5 * math.sqrt(T)),
    ),
    "second_order_preference_perceptron": Known(
        {"R": 1.0, "diameter": 2.0, "dim": 4, "alpha": 0.5, "gamma": 0.2, "epsilon": 1.0, "lipschitz": 4.0},
        True,
        lambda T: 4 * math.log(T) / (0.5 * T),
        order=True,
    ),
    "confidit": Known(_ONE_BIT),  # the formula of the card has the largest log_determinant: see test_statements
    "confidit_margin": Known({**_ONE_BIT, "margin": 0.5}),
    "simple_fil": Known({"delta": 0.25}, words=lambda n: ((32 / 0.25 + 2) * math.log(n) + 4) / n),
    "p_ridge_fil": Known({"dim": 3, "margin": 0.4}, words=lambda n: 3 * math.log(n) / (0.4 * math.sqrt(n)), order=True),
    "ogd": Known({"D": 2.0, "G": 3.0}, words=lambda T: 3 * 3.0 * 2.0 / (2 * math.sqrt(T))),
    "ons": Known(
        {"dim": 3, "D": 2.0, "G": 3.0, "exp_concavity": 0.5},
        words=lambda T: 5 * (1 / 0.5 + 3.0 * 2.0) * 3 * math.log(T) / T,
    ),
    "ogdeg": Known(
        {"dim": 3, "F": 2.0, "R": 1.0, "r": 0.5},
        words=lambda T: 3 * 2.0 * (3 * 1.0 / 0.5) ** (1 / 3) * T ** (-1 / 6),
    ),
    "onseg": Known({"dim": 3, "F": 1.0, "D": 2.0, "r": 1.0}),  # its card says that the printed bound does not follow
    "linucb": Known({"dim": 3}, words=lambda T: 3 * math.log(T) / math.sqrt(T), order=True),
    "ridge_regret": Known({"dim": 3}),
    "squarecb": Known({"n_actions": 4, "regression": 2.0}),  # the card's is for the best γ, which needs T and Reg
    "thompson": Known({"dim": 3, "delta": 1e-300}, words=lambda T: 3 * math.log(T) / math.sqrt(T), order=True),
}
#: Parts of bounds, which add up over no rounds.
PARTS = {"determinant_bound", "linucb_width", "slack"}
