"""What is proved: bounds as functions, when a theorem speaks, what it promises of a model at work, its constants."""

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
