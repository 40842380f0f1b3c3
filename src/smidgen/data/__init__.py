"""Generators (and, later, loaders) of streams."""

from smidgen.data.filter_model import FilterStream, filter_stream
from smidgen.data.label_model import LabelStream, label_stream
from smidgen.data.synthetic import ChoiceStream, RankingStream, choice_stream, ranking_stream

__all__ = [
    "ChoiceStream",
    "FilterStream",
    "LabelStream",
    "RankingStream",
    "choice_stream",
    "filter_stream",
    "label_stream",
    "ranking_stream",
]
