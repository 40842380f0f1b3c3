"""One cell of Tables 3–6, with the curves of Figs. 3–7: tune an algorithm, then play and test it fold by fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import FloatArray, IntArray
from smidgen_papers.confidit.algorithms import build, grid
from smidgen_papers.confidit.corpora import documents as prepared_documents
from smidgen_papers.confidit.corpora import matrix
from smidgen_papers.part import Answer, Place


@dataclass(frozen=True, eq=False)
class Trained:
    """What one training run did: label shown and label of highest score by round, and the test mistakes by epoch."""

    shown: IntArray
    greedy: IntArray
    wrong: NDArray[np.bool_]


def cross_validate(
    place: Place,
    *,
    task: str,
    source: str,
    learner: str,
    noise: float,
    words: str,
    counts: str,
    scale: str,
    update: str,
    alpha: float,
    documents: int,
    folds: int,
    tested: int,
    epochs: int,
    coarse: bool,
    seed: int,
) -> dict[str, Any]:
    """Tune on one split, then cross-validate (Sections 5.2, 6.2, 6.3).

    The parameter is tuned on a single split into 80 % and 20 % of the data, with noise in all labels, for the error
    after ``tested`` epochs. Then each fold in turn is kept for testing, after as many epochs. The others are the
    training set, in the same random order in every epoch; a share ``noise`` of its labels is replaced by labels at
    random (which may hit the true one). Test labels are clean, and mistakes are counted against clean labels. The
    play goes on for ``epochs`` epochs in all, for the curves.
    """
    data = prepared_documents(
        place, task=task, source=source, words=words, counts=counts, scale=scale, documents=documents, seed=seed
    )
    X, y = matrix(data), data["y"]
    K, n = int(y.max()) + 1, len(y)
    noisy = corrupted(y, K, noise, seed)

    def train(value: float, parts: tuple[IntArray, IntArray, IntArray], passes: int, lot: int) -> Trained:
        fit, test, truth = parts
        machine = build(learner, value, dim=X.shape[1], classes=K, update=update, alpha=alpha, seed=lot)
        Xfit, Xtest = X[fit], X[test]
        histories, wrong = [], []
        for _ in range(passes):
            histories.append(machine.run(Xfit, noisy[fit]))
            wrong.append(machine.scores(Xtest).argmax(axis=1) != truth)
        shown, greedy = (np.concatenate([getattr(h, name) for h in histories]) for name in ("actions", "greedy"))
        return Trained(shown, greedy, np.array(wrong))

    everything, cut = np.arange(n), n * 4 // 5
    split = (everything[:cut], everything[cut:], noisy[cut:])
    values = np.array(grid(learner, coarse=coarse))
    tuning = np.zeros(len(values))
    if len(values) > 1:
        tuning = np.array([train(value, split, tested, seed).wrong[-1].mean() for value in values])
    best = float(values[tuning.argmin()])

    rounds = marks(n - -(-n // folds), epochs)
    errors, curves, by_epoch = [], [], []
    right = np.zeros(n, np.bool_)
    for fold in range(folds):
        test = everything[fold::folds]
        fit = np.setdiff1d(everything, test)
        run = train(best, (fit, test, y[test]), epochs, seed * 1000 + fold)
        errors.append(run.wrong.mean(axis=1))
        right[test] = ~run.wrong[tested - 1]
        clean = np.tile(y[fit], epochs)
        flags = np.array([run.shown != clean, run.greedy != clean, run.shown != run.greedy])
        curves.append(np.cumsum(flags, axis=1)[:, rounds - 1])
        by_epoch.append(flags.reshape(3, epochs, -1).sum(axis=2))
    curve, epoch = np.array(curves), np.array(by_epoch)
    return {
        "value": best,
        "grid": values,
        "tuning": tuning,
        "errors": np.array(errors),
        "right": np.packbits(right),
        "rounds": rounds,
        "mistakes": curve[:, 0],
        "greedy_mistakes": curve[:, 1],
        "explored": curve[:, 2],
        "epoch_mistakes": epoch[:, 0],
        "epoch_greedy_mistakes": epoch[:, 1],
        "epoch_explored": epoch[:, 2],
        "documents": n,
        "features": int(X.shape[1]),
        "classes": K,
        "train": n - -(-n // folds),
    }


def corrupted(y: IntArray, classes: int, noise: float, seed: int) -> IntArray:
    """Labels of which a share, drawn example by example, is replaced by a uniformly random label (Section 6.3)."""
    rng = np.random.default_rng([seed, 13])
    lot, other = rng.random(len(y)), rng.integers(0, classes, len(y))
    return np.where(lot < noise, other, y)


def marks(epoch: int, epochs: int) -> IntArray:
    """The rounds at which curves are kept: evenly in the first epoch, in all of them, and on a log scale."""
    steps = [np.linspace(1, epoch, 40), np.linspace(1, epoch * epochs, 60), np.geomspace(1, epoch * epochs, 40)]
    return np.unique(np.concatenate(steps).round().astype(np.int64))


def mcnemar(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """McNemar's exact test that two classifiers are right equally often on the same examples: the two-sided p-value."""
    from scipy.stats import binomtest

    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    if only_first + only_second == 0:
        return 1.0
    return float(binomtest(only_first, only_first + only_second).pvalue)


def unpacked(right: NDArray[np.uint8], documents: int) -> NDArray[np.bool_]:
    """Which test examples were right, from the packed bits of an answer."""
    return np.unpackbits(right, count=documents).astype(np.bool_)


def final_errors(answer: Answer) -> FloatArray:
    """The test error of every fold in percent, after as many epochs as it was tuned for."""
    return np.asarray(100.0 * answer["errors"][:, answer.settings["tested"] - 1], dtype=np.float64)
