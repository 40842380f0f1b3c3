"""Loaders of the papers' data sets, and generators of streams of the same shape."""

from smidgen.data.catalogue import DataSet, sets
from smidgen.data.clicks import Impressions, yandex
from smidgen.data.filter_model import FilterStream, filter_stream
from smidgen.data.folder import available, data_folder, fingerprint, require
from smidgen.data.label_model import LabelStream, label_stream
from smidgen.data.letor import RankedQueries, letor, read_letor
from smidgen.data.movielens import Ratings, movielens, read_ratings
from smidgen.data.price_model import price_stream
from smidgen.data.ranking_model import ranked_queries
from smidgen.data.rating_model import rating_matrix
from smidgen.data.speech import Frames, digits, peterson_barney, vowels
from smidgen.data.speech_model import frames
from smidgen.data.stocks import Prices, read_prices
from smidgen.data.svd import (
    Factors,
    FeatureChoice,
    choose_features,
    factorize,
    movie_features,
)
from smidgen.data.synthetic import ChoiceStream, RankingStream, choice_stream, ranking_stream
from smidgen.data.table_model import classification_table, regression_table, table_like
from smidgen.data.tables import Table, table
from smidgen.data.tastes import UserUtilities, user_utilities
from smidgen.data.text_model import Documents, documents
from smidgen.data.texts import Texts, amazon, new_york_times, newsgroups, reuters
from smidgen.data.tfidf import tfidf_stream, unit_rows
from smidgen.data.ubi import SearchPage, UbiLog, read_ubi
from smidgen.data.words import Bag, bag_of_words

__all__ = [
    "Bag",
    "ChoiceStream",
    "DataSet",
    "Documents",
    "Factors",
    "FeatureChoice",
    "FilterStream",
    "Frames",
    "Impressions",
    "LabelStream",
    "Prices",
    "RankedQueries",
    "RankingStream",
    "Ratings",
    "SearchPage",
    "Table",
    "Texts",
    "UbiLog",
    "UserUtilities",
    "amazon",
    "available",
    "bag_of_words",
    "choice_stream",
    "choose_features",
    "classification_table",
    "data_folder",
    "digits",
    "documents",
    "factorize",
    "filter_stream",
    "fingerprint",
    "frames",
    "label_stream",
    "letor",
    "movie_features",
    "movielens",
    "new_york_times",
    "newsgroups",
    "peterson_barney",
    "price_stream",
    "ranked_queries",
    "ranking_stream",
    "rating_matrix",
    "read_letor",
    "read_prices",
    "read_ratings",
    "read_ubi",
    "regression_table",
    "require",
    "reuters",
    "sets",
    "table",
    "table_like",
    "tfidf_stream",
    "unit_rows",
    "user_utilities",
    "vowels",
    "yandex",
]
