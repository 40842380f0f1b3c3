"""Simulated runs, regret, the theorems as functions, pictures."""

from smidgen.evaluate import bounds, losses
from smidgen.evaluate.history import History
from smidgen.evaluate.ranking_play import RankingPlay, play_rankings
from smidgen.evaluate.ranking_table import QueryTable
from smidgen.evaluate.simulate import simulate

__all__ = ["History", "QueryTable", "RankingPlay", "bounds", "losses", "play_rankings", "simulate"]
