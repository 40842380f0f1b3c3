"""Whole experiments in compiled code: many users with a learner each, and rows of a table as losses.

`play_choices` and `play_tuning` keep sums at checkpoints, not a record per round as `smidgen.play` does; tests hold
both equal to the two verbs. They are compiled by numba on their first call.
"""

from smidgen_papers.players.choices import ChoicePlay, play_choices
from smidgen_papers.players.item_table import ItemTable
from smidgen_papers.players.tuning import TunePlay, play_tuning

__all__ = ["ChoicePlay", "ItemTable", "TunePlay", "play_choices", "play_tuning"]
