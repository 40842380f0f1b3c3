"""Records of runs: one class for every loop, with comparison, data frame and plots."""

from smidgen.history.history import Comparison, History

__all__ = ["Comparison", "History"]
