"""Bags of words, against a count with dictionaries."""

from __future__ import annotations

import re
import time
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.data.real_data import needs
from smidgen.errors import InvalidArgument
from smidgen_papers.data import amazon, bag_of_words, newsgroups
from smidgen_papers.data.stop_words import ENGLISH
from smidgen_papers.data.words import TOKENS

WORDS = st.sampled_from(["a", "b", "the", "B2", "x_y", "Ää", "x", "y", "don't", "e-mail", "me@home.org", "17", "18"])
TEXTS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=6)


def slowly(texts: list[str], tokens: str, stops: frozenset[str], bigrams: bool) -> list[Counter[str]]:
    bags = []
    for text in texts:
        kept = [word for word in TOKENS[tokens].findall(text.lower()) if word not in stops]
        pairs = [f"{first} {second}" for first, second in pairwise(kept)] if bigrams else []
        bags.append(Counter(kept + pairs))
    return bags


@given(TEXTS, st.sampled_from(sorted(TOKENS)), st.booleans(), st.booleans())
def test_counts_agree_with_dictionaries(texts: list[str], tokens: str, stopped: bool, bigrams: bool) -> None:
    bag = bag_of_words(texts, tokens=tokens, counts="count", stop_words="english" if stopped else None, bigrams=bigrams)
    slow = slowly(texts, tokens, ENGLISH if stopped else frozenset(), bigrams)
    assert bag.X.shape == (len(texts), len(bag.vocabulary))
    assert bag.X.has_canonical_format
    assert bag.vocabulary == sorted(bag.vocabulary)
    # Pairs are compared by their names; a word like x_y and the pair (x, y) share one, so both sides are summed.
    for row, counts in zip(bag.X.toarray(), slow, strict=True):
        fast: Counter[str] = Counter()
        for word, count in zip(bag.vocabulary, row.tolist(), strict=True):
            fast[word] += int(count)
        named: Counter[str] = Counter()
        for word, count in counts.items():
            named[word.replace(" ", "_")] += count
        assert +fast == +named


def test_a_word_that_looks_like_a_pair_keeps_its_own_column() -> None:
    bag = bag_of_words(["x_y", "x y"], counts="count", bigrams=True)
    assert bag.vocabulary == ["x", "x_y", "x_y", "y"]
    assert bag.X.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 1, 1]]


def test_binary_is_the_default() -> None:
    bag = bag_of_words(["b b a", "", "c"])
    assert bag.vocabulary == ["a", "b", "c"]
    assert bag.X.toarray().tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert bag.X.dtype == np.float64
    assert (len(bag), repr(bag)) == (3, "Bag(3 texts x 3 words)")


def test_rare_words_are_left_out() -> None:
    texts = ["a a a b c", "b c", "c"]
    assert bag_of_words(texts, min_documents=2).vocabulary == ["b", "c"]
    assert bag_of_words(texts, min_occurrences=3).vocabulary == ["a", "c"]


def test_digits_and_plurals() -> None:
    bag = bag_of_words(["1987 1988 12", "cities boxes cats glass bus his"], digits="#", plurals=True, counts="count")
    assert bag.vocabulary == ["##", "####", "boxe", "bus", "cat", "city", "glass", "his"]
    assert bag.X.toarray()[0].tolist() == [1, 2, 0, 0, 0, 0, 0, 0]


def test_a_given_vocabulary_keeps_its_columns() -> None:
    train = bag_of_words(["a b", "b c"], counts="count")
    test = bag_of_words(["b b z", "z"], counts="count", vocabulary=train.vocabulary)
    assert test.vocabulary == train.vocabulary
    assert test.X.toarray().tolist() == [[0, 2, 0], [0, 0, 0]]
    assert bag_of_words(["a"], vocabulary=["c", "a"]).X.toarray().tolist() == [[0, 1]]
    with pytest.raises(InvalidArgument, match="twice"):
        bag_of_words(["a"], vocabulary=["a", "a"])


def test_unit_length() -> None:
    X = bag_of_words(["a b c", "a", ""], normalize=True).X
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)).ravel(), [[1.0, 1.0, 0.0]])


def test_tokens_of_your_own() -> None:
    assert bag_of_words(["ab-c"], tokens=re.compile("[a-z]")).vocabulary == ["a", "b", "c"]


def test_senseless_settings_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="list"):
        bag_of_words("a text")
    for wrong in ({"tokens": "syllables"}, {"counts": "log"}, {"digits": "##"}, {"stop_words": "german"}):
        with pytest.raises(InvalidArgument):
            bag_of_words(["a"], **wrong)


@needs("newsgroups")
def test_20_newsgroups_within_20_seconds() -> None:
    texts = newsgroups().texts
    began = time.process_time()
    bag = bag_of_words(texts)
    assert time.process_time() - began < 20.0
    assert bag.X.shape == (18_828, 170_826)
    words = set(TOKENS["words"].findall(texts[7].lower()))
    assert {bag.vocabulary[j] for j in bag.X[7].indices} == words


@needs("amazon")
def test_reviews_with_pairs() -> None:
    bag = bag_of_words(amazon().texts, counts="count", bigrams=True)
    assert bag.X.shape[0] == 8_000
    assert bag.X.shape[1] > 400_000
    assert bag.X[0].sum() == 2 * len(TOKENS["words"].findall(amazon().texts[0])) - 1
