"""Bandits made of data: who chooses sees the reward of the choice, and the table behind it stays with the evaluator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from smidgen.data.synthetic import label_stream
from smidgen.decision import FloatArray, IntArray
from smidgen_papers.data.clicks import yandex
from smidgen_papers.data.movielens import movielens
from smidgen_papers.data.speech import digits, vowels
from smidgen_papers.data.svd import movie_features
from smidgen_papers.data.tables import table
from smidgen_papers.data.texts import Texts, amazon, new_york_times, newsgroups, reuters
from smidgen_papers.data.tfidf import unit_rows
from smidgen_papers.data.words import bag_of_words
from smidgen_papers.part import Place
from smidgen_papers.store import Arrays, prepared


@dataclass(frozen=True)
class World:
    """A set that was turned into a bandit.

    Attributes
    ----------
    title
        In tables.
    source
        The data set, a key of `smidgen_papers.data.sets`; empty: it is made up.
    actions
        K, how many candidates a round has.
    arms
        Whether the candidates are the same in every round (labels): then peers with one model per arm can play.
    """

    title: str
    source: str
    actions: int
    arms: bool = True


#: Fixed before anything was run: labels as actions (dense, then text), movies, clicks, and a made-up one.
WORLDS = {
    "vowels": World("vowels", "vowels", 11),
    "digits": World("spoken digits", "digits", 10),
    "cancer": World("breast cancer", "cancer", 2),
    "headlines": World("NYT headlines", "new_york_times", 27),
    "reuters": World("Reuters, 8 topics", "reuters", 8),
    "amazon": World("Amazon, 4 kinds", "amazon", 4),
    "newsgroups": World("20 newsgroups", "newsgroups", 20),
    "movies": World("MovieLens, 10 of a user's films", "movielens", 10, arms=False),
    "clicks": World("Yandex pages", "yandex", 10, arms=False),
    "linear": World("made up, linear", "", 5),
}


@prepared()
def world(place: Place, *, name: str, source: str, rounds: int, seed: int) -> Arrays:
    """The rounds of a world in a random order: CSR rows of all candidates, a reward each, and the plain contexts.

    ``X`` (indices, values, starts, dim) has K rows per round. For labels a row is the context and a constant, in the
    block of columns of its label. ``contexts`` are those without blocks, for peers with one model per arm.
    """
    rng = np.random.default_rng([seed, 5])
    if name == "movies":
        X, rewards = _movies(place, rounds, rng)
        return as_arrays(X, rewards)
    if name == "clicks":
        X, rewards = _clicks(place, rounds, rng)
        return as_arrays(X, rewards)
    features, labels = _labelled(place, name, rounds, seed, rng)
    K = WORLDS[name].actions
    return as_arrays(_blocks(features, K), np.eye(K)[labels], features)


def matrix(arrays: Arrays, name: str = "X") -> Any:
    """One of the matrices of `world`."""
    parts = (arrays[f"{name}_values"], arrays[f"{name}_indices"], arrays[f"{name}_starts"])
    return sparse.csr_matrix(parts, shape=(len(parts[2]) - 1, int(arrays[f"{name}_dim"])))


def as_arrays(X: Any, rewards: FloatArray, contexts: Any = None) -> Arrays:
    """A world as arrays: sparse rows of candidates, rewards, contexts."""
    found: dict[str, Any] = {"rewards": rewards}
    for name, given in (("X", X), ("C", contexts if contexts is not None else X[:0])):
        csr = sparse.csr_matrix(given, dtype=np.float64)
        csr.sort_indices()
        found |= {f"{name}_values": csr.data, f"{name}_indices": csr.indices.astype(np.int32)}
        found |= {f"{name}_starts": csr.indptr.astype(np.int64), f"{name}_dim": np.array(csr.shape[1])}
    return found


def _labelled(place: Place, name: str, rounds: int, seed: int, rng: Any) -> tuple[Any, IntArray]:
    """Contexts with a constant, and labels; numbers standardised to unit variance, texts of unit length."""
    K = WORLDS[name].actions
    if name == "linear":
        made = label_stream(dim=10, n_classes=K, rounds=rounds, seed=seed)
        return _with_constant(made.X), np.asarray(made.y, np.int64)
    if name in ("vowels", "digits"):
        frames = vowels(place.data) if name == "vowels" else digits(place.data, squares=False)
        return _sample(_with_constant(_standard(frames.X)), frames.y, rounds, rng)
    if name == "cancer":
        cases = table("cancer", place.data)
        return _sample(_with_constant(_standard(cases.X)), (cases.y > 0).astype(np.int64), rounds, rng)
    texts = _texts(place, name)
    kept = np.flatnonzero(texts.labels >= 0)
    sizes = np.bincount(texts.labels[kept])
    largest = np.argsort(-sizes, kind="stable")[:K]
    kept = rng.permutation(kept[np.isin(texts.labels[kept], largest)])[:rounds]
    picked = texts.select(kept)
    bag = bag_of_words(picked.texts, counts="count")
    labels = np.searchsorted(np.sort(largest), picked.labels)
    return _with_constant(unit_rows(sparse.csr_matrix(bag.X, dtype=np.float64))), labels.astype(np.int64)


def _texts(place: Place, name: str) -> Texts:
    if name == "headlines":
        return new_york_times(place.data)
    if name == "reuters":
        return reuters(place.data)
    return amazon(place.data) if name == "amazon" else newsgroups(place.data)


def _sample(X: Any, y: IntArray, rounds: int, rng: Any) -> tuple[Any, IntArray]:
    order = rng.permutation(X.shape[0])[:rounds]
    return X[order], np.asarray(y[order], np.int64)


def _standard(X: FloatArray) -> FloatArray:
    spread = X.std(axis=0)
    scaled = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return np.asarray(scaled / np.sqrt(X.shape[1]))


def _with_constant(X: Any) -> Any:
    return sparse.csr_matrix(sparse.hstack([sparse.csr_matrix(X), np.ones((X.shape[0], 1))]))


def _blocks(X: Any, K: int) -> Any:
    """Row t·K + a is row t of X in the a-th block of columns."""
    csr, d = sparse.csr_matrix(X), X.shape[1]
    lengths = np.diff(csr.indptr)
    pieces = np.concatenate([np.tile(np.arange(*csr.indptr[t : t + 2]), K) for t in range(csr.shape[0])])
    block = np.concatenate([np.repeat(np.arange(K) * d, n) for n in lengths])
    starts = np.concatenate([[0], np.cumsum(np.repeat(lengths, K))])
    return sparse.csr_matrix((csr.data[pieces], csr.indices[pieces] + block, starts), shape=(csr.shape[0] * K, K * d))


def _movies(place: Place, rounds: int, rng: Any) -> tuple[Any, FloatArray]:
    """Ten films that a user has rated; factors that others' ratings give, and a constant; reward (stars − 1)/4."""
    known, users = movielens(place.data).split(seed=0)
    factors = movie_features(known, dim=20)
    factors = factors / max(1e-12, float(np.linalg.norm(factors, axis=1).max()))
    ratings, K = users.matrix(), WORLDS["movies"].actions
    rated = np.diff(ratings.indptr)
    who = rng.choice(np.flatnonzero(rated >= K), size=rounds)
    rows, rewards = [], np.empty((rounds, K))
    for t, user in enumerate(who):
        place_of = rng.choice(rated[user], size=K, replace=False) + ratings.indptr[user]
        rows.append(factors[ratings.indices[place_of]])
        rewards[t] = (ratings.data[place_of] - 1.0) / 4.0
    return _with_constant(np.vstack(rows)), rewards


def _clicks(place: Place, rounds: int, rng: Any) -> tuple[Any, FloatArray]:
    """The ten documents of a page in a random order; which document it is for which query; reward: was it clicked.

    Positions are not told: what stood above was clicked more, whoever stood there, and no policy here could know.
    """
    pages = yandex(place.data)
    order = rng.permutation(len(pages))[:rounds]
    docs, clicked, query = pages.docs[order], pages.clicked[order], pages.query[order]
    shuffled = rng.permuted(np.tile(np.arange(docs.shape[1]), (len(order), 1)), axis=1)
    docs, clicked = np.take_along_axis(docs, shuffled, 1), np.take_along_axis(clicked, shuffled, 1)
    pairs = np.stack([np.repeat(query, docs.shape[1]), docs.ravel()])
    column = np.unique(pairs, axis=1, return_inverse=True)[1].ravel()
    rows = sparse.csr_matrix((np.ones(len(column)), (np.arange(len(column)), column)))
    return _with_constant(rows), clicked.astype(np.float64)
