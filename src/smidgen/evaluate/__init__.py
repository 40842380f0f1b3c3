"""Simulated runs, regret, pictures."""

from smidgen.evaluate import losses
from smidgen.evaluate.compare import compare, regret_plot, simulate
from smidgen.evaluate.play import play
from smidgen.evaluate.position_bias import (
    ClickEstimate,
    Examination,
    examination,
    harvested,
    position_ips,
    replay_clicks,
)
from smidgen.evaluate.rankings import QueryTable, RankingPlay, play_rankings
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
