"""Whole streams in compiled loops: what the two verbs do, by the same kernels, some hundred times faster."""

from smidgen.evaluate.players.choices import ChoicePlay, play_choices
from smidgen.evaluate.players.item_table import ItemTable
from smidgen.evaluate.players.query_table import QueryTable
from smidgen.evaluate.players.rankings import RankingPlay, play_rankings
from smidgen.evaluate.players.tuning import TunePlay, play_tuning

__all__ = [
    "ChoicePlay",
    "ItemTable",
    "QueryTable",
    "RankingPlay",
    "TunePlay",
    "play_choices",
    "play_rankings",
    "play_tuning",
]
