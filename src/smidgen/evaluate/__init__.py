"""Simulated runs, regret, the theorems as functions, pictures."""

from smidgen.evaluate import bounds, losses
from smidgen.evaluate.history import History
from smidgen.evaluate.simulate import simulate

__all__ = ["History", "bounds", "losses", "simulate"]
