"""Generators (and, later, loaders) of streams."""

from smidgen.data.synthetic import ChoiceStream, RankingStream, choice_stream, ranking_stream

__all__ = ["ChoiceStream", "RankingStream", "choice_stream", "ranking_stream"]
