"""Simulated runs, regret, pictures."""

from smidgen.evaluate import losses
from smidgen.evaluate._compat import regret_plot
from smidgen.evaluate.click_offline import ClickEstimate, position_ips, replay_clicks
from smidgen.evaluate.compare import compare
from smidgen.evaluate.examination_curve import Examination, examination
from smidgen.evaluate.harvested_curve import harvested
from smidgen.evaluate.play import play
from smidgen.evaluate.players.query_table import QueryTable
from smidgen.evaluate.players.rankings import RankingPlay, play_rankings
from smidgen.evaluate.simulate import simulate
from smidgen.history import Comparison, History
from smidgen.theory import bounds

__all__ = [
    "ClickEstimate",
    "Comparison",
    "Examination",
    "History",
    "QueryTable",
    "RankingPlay",
    "bounds",
    "compare",
    "examination",
    "harvested",
    "losses",
    "play",
    "play_rankings",
    "position_ips",
    "regret_plot",
    "replay_clicks",
    "simulate",
]
