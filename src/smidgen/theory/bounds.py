"""The theorems as functions of measured quantities, one per theorem.

Each takes numbers that a run can be measured by. ``T`` (of filters ``n``, the items) may be a number or an array of
round numbers, for a curve. What is bounded is what the theorem states: the average regret where preferences are learnt,
the cumulative regret elsewhere. ``per_round=True`` asks for the average outright, ``per_round=False`` for the sum.

Examples
--------
>>> from smidgen import bounds
>>> bounds.ogd(T=100, D=2.0, G=1.0), bounds.ogd(T=100, D=2.0, G=1.0, per_round=True)
(30.0, 0.3)
"""

from smidgen.theory.choose import linucb, linucb_width, ridge_regret, squarecb, thompson
from smidgen.theory.filter import p_ridge_fil, simple_fil
from smidgen.theory.label import confidit, confidit_margin, determinant_bound
from smidgen.theory.preferences import (
    batch_preference_perceptron,
    convex_preference_perceptron,
    expected_preference_perceptron,
    exponentiated_preference_perceptron,
    lower_bound,
    preference_perceptron,
    second_order_preference_perceptron,
    slack,
)
from smidgen.theory.tune import ogd, ogdeg, ons, onseg

__all__ = [
    "batch_preference_perceptron",
    "confidit",
    "confidit_margin",
    "convex_preference_perceptron",
    "determinant_bound",
    "expected_preference_perceptron",
    "exponentiated_preference_perceptron",
    "linucb",
    "linucb_width",
    "lower_bound",
    "ogd",
    "ogdeg",
    "ons",
    "onseg",
    "p_ridge_fil",
    "preference_perceptron",
    "ridge_regret",
    "second_order_preference_perceptron",
    "simple_fil",
    "slack",
    "squarecb",
    "thompson",
]
