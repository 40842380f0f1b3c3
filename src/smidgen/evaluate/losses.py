"""Losses: convex ones of the utility gap, for regret, and those of a point, for the tune loop."""

from smidgen.evaluate.point_losses import LeastSquares, Logistic, PointLosses, Portfolio, Repeated
from smidgen.theory.losses import Linear, Loss, Quadratic

__all__ = ["LeastSquares", "Linear", "Logistic", "Loss", "PointLosses", "Portfolio", "Quadratic", "Repeated"]
