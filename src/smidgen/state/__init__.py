"""State of a learner."""

from smidgen.state.learnt import LearntNumbers
from smidgen.state.second_order import FullSecondOrder

__all__ = ["FullSecondOrder", "LearntNumbers"]
