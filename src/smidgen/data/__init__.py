"""Generators (and, later, loaders) of streams."""

from smidgen.data.label_model import LabelStream, label_stream
from smidgen.data.synthetic import ChoiceStream, RankingStream, choice_stream, ranking_stream

__all__ = [
    "ChoiceStream",
    "LabelStream",
    "RankingStream",
    "choice_stream",
    "label_stream",
    "ranking_stream",
]
