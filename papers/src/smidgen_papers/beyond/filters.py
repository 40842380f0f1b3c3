"""Filters: rules of exploration on news, newsgroups and generated streams, dense and rare."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from smidgen.decision import FloatArray
from smidgen.learners.filter import RidgeFil
from smidgen_papers.beyond import paper
from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.data.texts import newsgroups
from smidgen_papers.data.tfidf import tfidf_stream
from smidgen_papers.data.words import bag_of_words
from smidgen_papers.filtering import documents
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answers, Part, Place, Run, Values, part

__all__ = ["gather", "paper", "plan"]

RULES = {
    "paper": "RIDGE-FIL, c = 5",
    "found": "constant, found",
    "scarce": "constant, scarce",
    "patient": "constant, patient",
    "sparing": "constant, sparing",
}
GENERATED = ("dense", "rare dense", "cap", "words", "rare words", "noisy words", "common", "cluster")
FIRST_SEED = 200
#: Which stories of Reuters: those that indexers gave topics to, or all.
STORIES = {"reuters": ("indexed", "reuters"), "reuters, all stories": ("all", "reuters")}
SIZES = {"reuters": 12_902, "reuters, all stories": 21_578, "newsgroups": 18_828}


def _texts(place: Place, source: str, most: int) -> tuple[Any, Any, list[str]]:
    """Vectors, topics and their names, of topics of 1 to 5 %."""
    if source == "newsgroups":
        texts = newsgroups(place.data)
        texts = texts.select(np.random.default_rng(0).permutation(len(texts))[:most])
        bag = bag_of_words(
            texts.texts, counts="count", stop_words="english", min_occurrences=3, digits="#", plurals=True
        )
        names = list(texts.topics_between())
        return tfidf_stream(bag.X, idf="all"), np.column_stack([texts.topic(name) for name in names]), names
    stories, where = STORIES.get(source, ("all", source))
    kept = documents.stream(place, source=where, stories=stories, reading="as printed", documents=most, seed=0)
    names = documents.tasks(kept, documents.RARE, documents.COMMON)
    return documents.matrix(kept), np.column_stack([documents.labels(kept, name) for name in names]), names


def topics(place: Place, *, source: str, rule: str, most: int) -> Values:
    """F of one rule on every topic, over the whole stream."""
    X, Y, names = _texts(place, source, most)
    X = sparse.csr_matrix(X)
    filters = [RidgeFil(dim=X.shape[1], explore=rule) for _ in names]
    scores = [filters[k].run(X, np.ascontiguousarray(Y[:, k])).f_measure for k in range(len(names))]
    return {"topics": names, "f": np.array(scores)}


def _unit(X: FloatArray) -> FloatArray:
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def generated(kind: str, n: int, seed: int) -> tuple[FloatArray, Any]:
    """A stream and its relevance."""
    rng = np.random.default_rng([seed, 37])
    if kind.endswith("words"):
        share, false = (0.01 if kind == "rare words" else 0.03), (0.03 if kind == "noisy words" else 0.003)
        X, y = np.zeros((n, 80)), rng.random(n) < share
        for x, relevant in zip(X, y, strict=True):
            x[3 + rng.choice(77, 8, replace=False)] = 1.0
            if relevant or rng.random() < false:
                x[rng.integers(3)] = 1.0
        return _unit(X), y
    d = {"cap": 6, "common": 30}.get(kind, 12)
    X = _unit(rng.normal(size=(n, d)))
    if kind == "cap":
        return X, X[:, 0] > 0.75
    if kind == "cluster":
        y = rng.random(n) < 0.03
        return _unit(rng.normal(size=(n, d)) / np.sqrt(d) + np.outer(y, np.eye(d)[0])), y
    score = X[:, 0] + (0.5 if kind == "common" else 0.3) * rng.normal(size=n) / np.sqrt(d)
    share = {"dense": 0.1, "rare dense": 0.03, "common": 0.3}[kind]
    return X, score >= np.quantile(score, 1.0 - share)


def stream(place: Place, *, kind: str, rule: str, rounds: int, seed: int) -> Values:
    """F of one rule on a generated stream."""
    X, y = generated(kind, rounds, seed)
    return {"f": RidgeFil(dim=X.shape[1], explore=rule).run(X, y).f_measure}


def plan(run: Run) -> list[Part]:
    """Every rule on every stream."""
    rounds, seeds = (1500, 2) if run.quick else (5000, 40)
    parts = [
        part(stream, kind=kind, rule=rule, rounds=rounds, seed=run.seed + FIRST_SEED + s)
        for kind in GENERATED
        for rule in RULES
        for s in range(seeds)
    ]
    here = [source for source in SIZES if run.has(source.partition(",")[0])]
    for source in here or ["generated"]:
        most = 1500 if run.quick or source == "generated" else SIZES[source]
        parts += [part(topics, seconds=60.0, source=source, rule=rule, most=most) for rule in RULES]
    return parts


def gather(run: Run, answers: Answers) -> Outcome:
    """Means over topics and over seeds."""
    rows, each, ahead = [], [], []
    for source in dict.fromkeys(answer.settings["source"] for answer in answers if "source" in answer.settings):
        by_rule = {rule: answers.one(source=source, rule=rule) for rule in RULES}
        scores = {rule: np.asarray(answer["f"]) for rule, answer in by_rule.items()}
        rows.append([source, *(f"{f.mean():.3f} ({f.min():.3f})" for f in scores.values())])
        names = by_rule["paper"]["topics"]
        each += [[source, name, *(f"{f[k]:.3f}" for f in scores.values())] for k, name in enumerate(names)]
    for kind in GENERATED:
        scores = {rule: np.array([a["f"] for a in answers.where(kind=kind, rule=rule)]) for rule in RULES}
        rows.append([f"generated: {kind}", *(f"{f.mean():.3f}" for f in scores.values())])
        ahead.append([kind, *(_ahead(f - scores["paper"]) for rule, f in scores.items() if rule != "paper")])
    return Outcome(
        tables=[
            Table("F over the stream; in brackets the worst topic", ["stream", *RULES.values()], rows),
            Table("Each topic", ["source", "topic", *RULES.values()], each),
            Table("Ahead of RIDGE-FIL on the same streams (95 %)", ["generated", *list(RULES.values())[1:]], ahead),
        ]
    )


def _ahead(differences: Any) -> str:
    """A mean difference and the half of its normal interval."""
    half = 1.96 * differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else np.inf
    return f"{differences.mean():+.3f} ± {half:.3f}"


add_figure(
    "beyond/filters",
    title="Filters: a constant, and exploration that falls with what is scarce",
    shows="Figure 1 of the filtering paper with new columns, and streams of other shapes.",
)
add_study("beyond/filters", "streams", plan=plan, gather=gather, data=("reuters", "newsgroups"))
