"""Generators of streams and data sets, and a reader of search logs (UBI)."""

from smidgen.data.filter_model import FilterStream, filter_stream
from smidgen.data.label_model import LabelStream, label_stream
from smidgen.data.price_model import Prices, price_stream
from smidgen.data.ranking_model import RankedQueries, ranked_queries
from smidgen.data.rating_model import Ratings, rating_matrix
from smidgen.data.speech_model import Frames, frames
from smidgen.data.synthetic import ChoiceStream, RankingStream, choice_stream, ranking_stream
from smidgen.data.table_model import Table, classification_table, regression_table, table_like
from smidgen.data.text_model import Documents, documents
from smidgen.data.ubi import SearchPage, UbiLog, read_ubi

__all__ = [
    "ChoiceStream",
    "Documents",
    "FilterStream",
    "Frames",
    "LabelStream",
    "Prices",
    "RankedQueries",
    "RankingStream",
    "Ratings",
    "SearchPage",
    "Table",
    "UbiLog",
    "choice_stream",
    "classification_table",
    "documents",
    "filter_stream",
    "frames",
    "label_stream",
    "price_stream",
    "ranked_queries",
    "ranking_stream",
    "rating_matrix",
    "read_ubi",
    "regression_table",
    "table_like",
]
