"""Proved results: bounds, the conditions of each theorem, its guarantee for a running model, its constants."""

from smidgen.theory import bounds
from smidgen.theory.theorems import (
    Guarantee,
    Measured,
    Premises,
    Theorem,
    Verdict,
    bound_for,
    find,
    promised,
    state,
    stated,
)

__all__ = [
    "Guarantee",
    "Measured",
    "Premises",
    "Theorem",
    "Verdict",
    "bound_for",
    "bounds",
    "find",
    "promised",
    "state",
    "stated",
]
