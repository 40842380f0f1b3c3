"""The data sets that the loaders know."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DataSet:
    """A data set that someone else publishes.

    Attributes
    ----------
    name
        The name in `sets`.
    files
        The files below the data folder. A name that ends in ``.gz`` also stands for the plain file without it.
    what
        One line: what it is and how much of it.
    source
        Where to get the original.
    terms
        Under which terms its makers give it.
    differs
        How it differs from the data of the paper that it is used for.
    """

    name: str
    files: tuple[str, ...]
    what: str
    source: str
    terms: str
    differs: str


_LETOR = (
    "Microsoft Research, LETOR 4.0 (microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval)"
)
_UCI = "the UCI Machine Learning Repository (archive.ics.uci.edu)"

_ALL = (
    DataSet(
        name="mq2008",
        files=tuple(f"ltr/mq2008_S{i}.svm.gz" for i in range(1, 6)),
        what="LETOR 4.0 MQ2008: 784 queries, 15,211 documents, 46 features, relevance 0-2",
        source=f"{_LETOR}, MQ2008, the files S1.txt ... S5.txt",
        terms="research use",
        differs="stands in for the Yahoo! learning-to-rank set (some 20,000 queries, 700 features, relevance 0-4)",
    ),
    DataSet(
        name="mq2007agg",
        files=tuple(f"ltr/mq2007agg_A{i}.txt.gz" for i in range(1, 6)),
        what="LETOR 4.0 MQ2007-agg: 1,692 queries, 69,623 documents, the ranks given by 21 systems, relevance 0-2",
        source=f"{_LETOR}, MQ2007-agg, the files A1.txt ... A5.txt",
        terms="research use",
        differs="stands in for the Yahoo! learning-to-rank set; its features are ranks, a third missing",
    ),
    DataSet(
        name="mslr",
        files=("ltr/mslr_fold1_train_5k.svm.gz", "ltr/mslr_fold1_test_5k.svm.gz"),
        what="MSLR-WEB fold 1, the first 5,000 lines of train.txt and of test.txt: 136 features, relevance 0-4",
        source="Microsoft Research (microsoft.com/en-us/research/project/mslr), fold 1 cut by head -n 5000",
        terms="research use",
        differs="stands in for the Yahoo! learning-to-rank set; 86 queries, the last one of each file may be cut",
    ),
    DataSet(
        name="movielens",
        files=("movielens/ml1m_users1-2999_ratings.dat.gz", "movielens/ml1m_movies.dat.gz"),
        what="MovieLens 1M, the ratings of users 1 to 2999: 487,650 ratings of 3,615 movies",
        source="GroupLens (grouplens.org/datasets/movielens/1m), ratings.dat up to user 2999, and movies.dat",
        terms="research use, no redistribution, not commercial",
        differs="the exact first half of the paper's users (6,040)",
    ),
    DataSet(
        name="movielens-whole",
        files=("movielens/ratings.dat.gz", "movielens/ml1m_movies.dat.gz"),
        what="MovieLens 1M, the original ratings.dat: 1,000,209 ratings by 6,040 users",
        source="GroupLens (grouplens.org/datasets/movielens/1m), ratings.dat and movies.dat",
        terms="research use, no redistribution, not commercial",
        differs="the paper's own data",
    ),
    DataSet(
        name="movielens-reconstructed",
        files=("movielens/ml1m_reconstructed_ratings.dat.gz", "movielens/ml1m_movies.dat.gz"),
        what="MovieLens 1M put together again from public derivatives: all 1,000,209 user-movie pairs",
        source="GroupLens has the original (grouplens.org/datasets/movielens/1m); store that as movielens/ratings.dat",
        terms="research use, no redistribution, not commercial",
        differs="for users 3000 to 6040 the ratings 1 and 2 are merged as 2, and some 0.2 % of the others are wrong",
    ),
    DataSet(
        name="newsgroups",
        files=("text/20news_18828.jsonl.gz",),
        what="20 Newsgroups, the 18,828 version (From, Subject and body) in 20 classes",
        source="Jason Rennie's page (people.csail.mit.edu/jrennie/20Newsgroups), as lines of JSON: label, id, text",
        terms="Usenet posts, no licence stated",
        differs="the paper's own data; its tokeniser is not known",
    ),
    DataSet(
        name="reuters",
        files=("text/reuters21578.jsonl.gz",),
        what="Reuters-21578: 21,578 newswire stories with topics",
        source="David Lewis's page (daviddlewis.com/resources/testcollections/reuters21578), as lines of JSON: date, "
        "lewissplit, topics_attr, topics (a list), title, body",
        terms="research use",
        differs="stands in for Reuters Corpus Volume 1 (RCV1)",
    ),
    DataSet(
        name="amazon",
        files=("text/amazon4_reviews.jsonl.gz",),
        what="Amazon reviews of four kinds of product: 8,000 reviews, half positive, half negative",
        source="the Multi-Domain Sentiment Dataset (cs.jhu.edu/~mdredze/datasets/sentiment), as lines of JSON: domain, "
        "sentiment, title, text",
        terms="research use",
        differs="4 of the paper's 7 kinds of product, the labelled reviews only",
    ),
    DataSet(
        name="new_york_times",
        files=("text/rtexttools_NYTimes.csv.gz",),
        what="3,104 New York Times front-page headlines with one of 27 topics",
        source="the R package RTextTools (cran.r-project.org/package=RTextTools), data set NYTimes, as CSV with "
        "semicolons and its header",
        terms="GPL-3 (the package)",
        differs="headlines with their subject line; the paper has whole articles (LDC2008T19) by desk and section",
    ),
    DataSet(
        name="vowels",
        files=("speech/uci_vowel_deterding.csv.gz",),
        what="Deterding's vowels: 990 frames, 10 features, 11 vowels, 15 speakers",
        source=f"{_UCI}, Connectionist Bench (Vowel Recognition), with the header tt, speaker, sex, f0, ..., f9, vowel",
        terms="those of the UCI repository",
        differs="stands in for the Vocal Joystick vowels",
    ),
    DataSet(
        name="peterson_barney",
        files=("speech/pb52_vowels.csv.gz",),
        what="Peterson and Barney's vowels (1952): 1,520 tokens, 4 formants, 10 vowels, 76 speakers",
        source="the R package phonTools (cran.r-project.org/package=phonTools), data set pb52, as CSV with its header",
        terms="BSD-2 (the package)",
        differs="stands in for the Vocal Joystick vowels",
    ),
    DataSet(
        name="digits",
        files=("speech/fsdd_mfcc26.npz",),
        what="Free Spoken Digit Dataset as 26 MFCC features per frame: 128,200 frames of 3,000 recordings",
        source="github.com/Jakobovski/free-spoken-digit-dataset; an archive of numpy arrays: frames (13 "
        "cepstra and deltas, 25 ms every 10 ms) and their recording; label and speaker of each recording",
        terms="CC BY-SA 4.0",
        differs="stands in for the Vocal Joystick vowels: spoken digits, the same kind of front end",
    ),
    DataSet(
        name="abalone",
        files=("uci/abalone.csv.gz",),
        what="UCI Abalone: 4,177 shells, 8 features, the number of rings",
        source=f"{_UCI}, with a header line",
        terms="those of the UCI repository",
        differs="the paper's own data; it counts 7 features, so sex was left out or not counted",
    ),
    DataSet(
        name="kin8nm",
        files=("uci/kin8nm.csv.gz",),
        what="Delve kin-8nm: 8,192 positions of a robot arm, 8 features",
        source="Delve (cs.toronto.edu/~delve/data/kin/desc.html), kin-8nm, as CSV with a header line",
        terms="free for research",
        differs="the paper takes 3,000 rows of one of the kin sets; which is not said",
    ),
    DataSet(
        name="ionosphere",
        files=("uci/ionosphere.csv.gz",),
        what="UCI Ionosphere: 351 radar returns, 34 features (one constant), good or bad",
        source=f"{_UCI}, ionosphere.data",
        terms="those of the UCI repository",
        differs="the paper's own data",
    ),
    DataSet(
        name="cancer",
        files=("uci/breast_cancer_wisconsin.csv.gz",),
        what="UCI Breast Cancer Wisconsin (Original): 699 rows, 683 of them complete, 9 features",
        source=f"{_UCI}, breast-cancer-wisconsin.data",
        terms="those of the UCI repository",
        differs="the paper's own data",
    ),
    DataSet(
        name="stocks",
        files=("stocks/prices.csv.gz",),
        what="prices of stocks: a header, a first column of dates, one further column per stock; see `read_prices`",
        source="whoever sells or publishes prices; weekly closing prices of the SSE 180, February 2005 to January 2019",
        terms="those of the vendor",
        differs="the paper's own prices (EastMoney Choice) are not public",
    ),
    DataSet(
        name="yandex",
        files=("bandit/yandex_wscd_clicks.jsonl.gz",),
        what="A sample of the Yandex relevance prediction challenge: 56,477 result pages of 20 queries, and clicks",
        source="github.com/markovi/PyClick (examples/data), as lines of JSON: split, query, docs, clicks, click_pos",
        terms="the challenge's own terms",
        differs="real clicks, but no users and no sessions",
    ),
)

#: Every data set that the loaders know, by name.
sets: dict[str, DataSet] = {data.name: data for data in _ALL}
