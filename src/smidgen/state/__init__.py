"""What a learner remembers."""

from smidgen.state.learnt import LearntNumbers
from smidgen.state.second_order import FullSecondOrder

__all__ = ["FullSecondOrder", "LearntNumbers"]
