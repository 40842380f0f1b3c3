"""Loaders of the data sets of the papers, and what prepares them: words, factors of ratings, tastes."""

from smidgen_papers.data.catalogue import DataSet, sets
from smidgen_papers.data.clicks import Impressions, yandex
from smidgen_papers.data.folder import available, data_folder, fingerprint, require
from smidgen_papers.data.letor import letor, read_letor
from smidgen_papers.data.movielens import movielens, read_ratings
from smidgen_papers.data.speech import digits, peterson_barney, vowels
from smidgen_papers.data.stocks import read_prices
from smidgen_papers.data.svd import Factors, FeatureChoice, choose_features, factorize, movie_features
from smidgen_papers.data.tables import table
from smidgen_papers.data.tastes import UserUtilities, user_utilities
from smidgen_papers.data.texts import Texts, amazon, new_york_times, newsgroups, reuters
from smidgen_papers.data.tfidf import tfidf_stream, unit_rows
from smidgen_papers.data.words import Bag, bag_of_words

__all__ = [
    "Bag",
    "DataSet",
    "Factors",
    "FeatureChoice",
    "Impressions",
    "Texts",
    "UserUtilities",
    "amazon",
    "available",
    "bag_of_words",
    "choose_features",
    "data_folder",
    "digits",
    "factorize",
    "fingerprint",
    "letor",
    "movie_features",
    "movielens",
    "new_york_times",
    "newsgroups",
    "peterson_barney",
    "read_letor",
    "read_prices",
    "read_ratings",
    "require",
    "reuters",
    "sets",
    "table",
    "tfidf_stream",
    "unit_rows",
    "user_utilities",
    "vowels",
    "yandex",
]
