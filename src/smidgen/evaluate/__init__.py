"""Simulated runs, regret, pictures."""

from smidgen.evaluate import losses
from smidgen.evaluate.choice_play import ChoicePlay, play_choices
from smidgen.evaluate.click_offline import ClickEstimate, position_ips, replay_clicks
from smidgen.evaluate.compare import compare
from smidgen.evaluate.examination_curve import Examination, examination
from smidgen.evaluate.item_table import ItemTable
from smidgen.evaluate.play import play
from smidgen.evaluate.ranking_play import RankingPlay, play_rankings
from smidgen.evaluate.ranking_table import QueryTable
from smidgen.evaluate.simulate import simulate
from smidgen.history import Comparison, History
from smidgen.theory import bounds

__all__ = [
    "ChoicePlay",
    "ClickEstimate",
    "Comparison",
    "Examination",
    "History",
    "ItemTable",
    "QueryTable",
    "RankingPlay",
    "bounds",
    "compare",
    "examination",
    "losses",
    "play",
    "play_choices",
    "play_rankings",
    "position_ips",
    "replay_clicks",
    "simulate",
]
