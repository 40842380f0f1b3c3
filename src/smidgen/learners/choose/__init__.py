"""Choose one of several candidates and learn from its reward: the choose loop on numbers."""

from typing import TYPE_CHECKING

from smidgen.history import History as RewardHistory
from smidgen.learners.base import discover_package
from smidgen.learners.choose.base import RewardLearner

if TYPE_CHECKING:  # written by `make listings`
    from smidgen.learners.choose.choice_bank import ChoiceBank
    from smidgen.learners.choose.lin_ucb import LinUCB
    from smidgen.learners.choose.square_cb import SquareCB
    from smidgen.learners.choose.thompson_choice import ThompsonChoice

globals().update(discover_package(__name__))

__all__ = ["ChoiceBank", "LinUCB", "RewardHistory", "RewardLearner", "SquareCB", "ThompsonChoice"]
