"""W10: four drafts of 200 words in, one edit back, next to scikit-learn's vectorizers on the same texts."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

import smidgen
from benchmarks.interleave import Contender, Workload

ROUNDS, OFFERED, WORDS = 100, 4, 200
COMMON = (
    "the of and to in is that for it as was with be by on not he his but at are this have from or had an they which "
    "one you were all her she there would their we him been has when who will no more if out so up said what its about "
    "than into them can only other time new some could these two may first then do any like my now over such our man"
)


def _text(rng: np.random.Generator) -> str:
    """Two hundred words in sentences, a quarter of them rare."""
    common = COMMON.split()
    words = [
        f"{rng.choice(common)}{int(rng.integers(999))}" if rng.random() < 0.25 else str(rng.choice(common))
        for _ in range(WORDS)
    ]
    return " ".join(word + ("." if k % 14 == 13 else "," if k % 9 == 8 else "") for k, word in enumerate(words))


def rounds() -> list[tuple[list[str], str]]:
    """Drafts, and what was made of the first: a tenth of its words are others."""
    rng = np.random.default_rng(0)
    made = []
    for _ in range(4 * ROUNDS):
        texts = [_text(rng) for _ in range(OFFERED)]
        words = texts[0].split(" ")
        for place in rng.permutation(len(words))[: len(words) // 10]:
            words[place] = "instead"
        made.append((texts, " ".join(words)))
    return made


def _ours() -> Callable[[], None]:
    learner, stream = smidgen.SoftPreferencePerceptron(), itertools.cycle(rounds())

    def play() -> None:
        for texts, edited in itertools.islice(stream, ROUNDS):
            learner.learn(learner.decide(smidgen.Drafts(texts)), smidgen.Edit(edited))

    return play


def _theirs() -> Callable[[], None]:
    from scipy import sparse
    from sklearn.feature_extraction.text import HashingVectorizer

    words = HashingVectorizer(n_features=768, ngram_range=(1, 2), alternate_sign=True)
    letters = HashingVectorizer(n_features=1024, analyzer="char", ngram_range=(3, 5), alternate_sign=True)
    w, stream = np.zeros(768 + 1024), itertools.cycle(rounds())

    def row(texts: list[str]) -> sparse.csr_matrix:
        return sparse.hstack([words.transform(texts), letters.transform(texts)], format="csr")

    def play() -> None:
        for texts, edited in itertools.islice(stream, ROUNDS):
            X = row(texts)
            shown = int(np.argmax(X @ w))
            w[:] += (row([edited]) - X[[shown]]).toarray()[0]

    return play


def workload(quick: bool) -> Workload:
    """One round of the draft loop."""
    contenders: dict[str, Contender] = {"smidgen": _ours(), "scikit-learn": _theirs()}
    remarks = {
        "smidgen": "style with names, the share that was changed and the taste in words are part of it",
        "scikit-learn": "two `HashingVectorizer`s (words and pairs; three to five letters), a plain step; no style",
    }
    about = f"{OFFERED} texts of {WORDS} words in, one edit back: read, choose, read the edit, learn"
    return Workload("W10", "drafts", about, "round", ROUNDS, contenders, remarks)


WORKLOADS: dict[str, Callable[[bool], Workload]] = {"W10 drafts": workload}
