"""One of several candidates, and a reward for it: the choose loop by numbers."""

from smidgen.history import History as RewardHistory
from smidgen.learners.choose.base import RewardLearner
from smidgen.learners.choose.lin_ucb import LinUCB
from smidgen.learners.choose.square_cb import SquareCB
from smidgen.learners.choose.thompson_choice import ThompsonChoice

__all__ = ["LinUCB", "RewardHistory", "RewardLearner", "SquareCB", "ThompsonChoice"]
