"""Frames of speech by speaker, and the accuracy of an algorithm against the size of its training set (Fig. 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen.data.datasets import Frames
from smidgen.data.datasets import frames as generated
from smidgen.decision import FloatArray, IntArray
from smidgen_papers.confidit.algorithms import build, grid
from smidgen_papers.data.speech import digits, peterson_barney, vowels
from smidgen_papers.part import Place

BLOCK = 200_000  # multiplications per block of a product


@dataclass(frozen=True)
class Speech:
    """A recognition task.

    Attributes
    ----------
    title
        In figures.
    source
        The data set, a key of `smidgen_papers.data.sets`.
    classes
        The names of its classes.
    window
        How many neighbouring frames make one example.
    sizes
        The sizes of the training set; the whole training set follows.
    """

    title: str
    source: str
    classes: tuple[str, ...]
    window: int
    sizes: tuple[int, ...]


_FOUR, _EIGHT = tuple("2345"), tuple("01234568")
_MANY = (1000, 2000, 5000, 10_000, 20_000)
_VOWELS = ("hid", "hId", "hEd", "hAd", "hYd", "had", "hOd", "hod", "hUd", "hud", "hed")
#: The tasks; the first four have the names of the paper's panels.
SPEECH: dict[str, Speech] = {
    "v4.w1": Speech("4 digits, 1 frame", "digits", _FOUR, 1, _MANY[:-1]),
    "v4.w7": Speech("4 digits, 7 frames", "digits", _FOUR, 7, _MANY[:-1]),
    "v8.w1": Speech("8 digits, 1 frame", "digits", _EIGHT, 1, _MANY),
    "v8.w7": Speech("8 digits, 7 frames", "digits", _EIGHT, 7, _MANY),
    "deterding": Speech("Deterding, 11 vowels", "vowels", _VOWELS, 1, (100, 200)),
    "peterson-barney": Speech("Peterson–Barney, 10 vowels", "peterson_barney", (), 1, (100, 200, 400)),
}


def accuracy_by_size(
    place: Place,
    *,
    task: str,
    source: str,
    learner: str,
    scale: str,
    sizes: list[int],
    splits: int,
    most: int,
    coarse: bool,
    seed: int,
) -> dict[str, Any]:
    """Train in one pass on so many frames of some speakers, test on all frames of others.

    For every size the parameter is tuned again: on the last fifth of these frames, after the other four fifths.
    One row per split of the speakers, one column per size; the last column has the whole training set.
    """
    data = load(place, task, source, scale, seed)
    accuracy, values = [], []
    for fit, test in speaker_splits(data, splits, most, seed):
        row, chosen = [], []
        for size in (*(s for s in sizes if s < len(fit)), len(fit)):
            part = fit[:size]
            cut = size * 4 // 5
            tried = grid(learner, coarse=coarse)
            right = [_accuracy(data, learner, value, part[:cut], part[cut:], seed) for value in tried]
            chosen.append(tried[int(np.argmax(right))] if len(tried) > 1 else tried[0])
            row.append(_accuracy(data, learner, chosen[-1], part, test, seed))
        accuracy.append(row)
        values.append(chosen)
    return {"accuracy": 100.0 * np.array(accuracy), "values": np.array(values), "dim": int(data.X.shape[1])}


def skyline(place: Place, *, task: str, source: str, scale: str, splits: int, most: int, seed: int) -> dict[str, Any]:
    """The accuracy of softmax regression on the whole training set, which stands in for the paper's PLM."""
    data = load(place, task, source, scale, seed)
    right, size = [], []
    for fit, test in speaker_splits(data, splits, most, seed):
        W = softmax_regression(data.X[fit], data.y[fit], len(data.classes))
        scores = np.einsum("nd,kd->nk", data.X[test], W)
        right.append(float((scores.argmax(axis=1) == data.y[test]).mean()))
        size.append(len(fit))
    return {"accuracy": 100.0 * np.array(right), "size": np.array(size)}


def load(place: Place, task: str, source: str, scale: str, seed: int) -> Frames:
    """The frames of a task: standardised, with squares and a constant; every row of length 1 if ``scale`` is "unit".

    Of a spoken digit only the middle half counts, where its vowel is.
    """
    about = SPEECH[task]
    if source == "generated":
        many = max(len(about.classes), 10 if not about.classes else 0)
        made = generated(speakers=6, classes=many, recordings=5, length=20, seed=seed)
        data = made.standardized().window(about.window).with_squares()
    elif source == "digits":
        spoken = digits(place.data, squares=False).standardized().of_classes(*about.classes).window(about.window)
        data = spoken.select(middle(spoken.recording)).with_squares()
    else:
        data = (vowels if source == "vowels" else peterson_barney)(place.data).standardized().with_squares()
    length = np.linalg.norm(data.X, axis=1, keepdims=True) if scale == "unit" else 1.0
    X: NDArray[Any] = (data.X / length).astype(np.float32)
    return Frames(data.name, X, data.y, data.classes, data.speaker, data.speakers, data.recording)


def middle(recording: IntArray) -> NDArray[np.bool_]:
    """Which frames lie in the middle half of their recording."""
    starts = np.flatnonzero(np.concatenate(([True], np.diff(recording) != 0)))
    length = np.diff(np.concatenate((starts, [len(recording)])))
    place = np.arange(len(recording)) - np.repeat(starts, length)
    whole = np.repeat(length, length)
    return np.asarray((4 * place >= whole) & (4 * place < 3 * whole) | (whole < 4))


def speaker_splits(data: Frames, splits: int, most: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Frames to train on, in random order, and frames to test on: no speaker is in both.

    Up to six speakers: each in turn is left out. More: random halves of the speakers. All training sets are cut to the
    size of the smallest, and to ``most`` frames.
    """
    rng = np.random.default_rng([seed, 21])
    people = len(data.speakers)
    few = people <= 6
    out = [np.array([k]) if few else rng.permutation(people)[: people // 2] for k in range(splits)]
    made = []
    for speakers in out:
        held = np.isin(data.speaker, speakers)
        made.append((rng.permutation(np.flatnonzero(~held)), np.flatnonzero(held)))
    smallest = min(most, *(len(fit) for fit, _ in made))
    return [(fit[:smallest], test) for fit, test in made]


def softmax_regression(X: NDArray[Any], y: IntArray, classes: int, *, penalty: float = 1e-4) -> FloatArray:
    """Multinomial logistic regression: minimises the mean log loss plus penalty·‖W‖²/2, by at most 60 steps of L-BFGS.

    The products are done in blocks too small for the threads of a BLAS, which wait more than they work on a busy
    machine.
    """
    from scipy.optimize import minimize

    n, d = X.shape
    blocks = [slice(k, k + BLOCK // (d * classes) + 1) for k in range(0, n, BLOCK // (d * classes) + 1)]
    one_hot = np.eye(classes, dtype=X.dtype)[y]

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        W = flat.reshape(classes, d).astype(X.dtype)
        value, gradient = 0.0, np.zeros((classes, d))
        for block in blocks:
            P = X[block] @ W.T
            P -= P.max(axis=1, keepdims=True)
            value += float((P * one_hot[block]).sum())
            np.exp(P, out=P)
            total = P.sum(axis=1, keepdims=True)
            value -= float(np.log(total).sum())
            gradient += (P / total - one_hot[block]).T @ X[block]
        return -value / n + 0.5 * penalty * float(flat @ flat), gradient.ravel() / n + penalty * flat

    found = minimize(loss, np.zeros(classes * d), jac=True, method="L-BFGS-B", options={"maxiter": 60})
    return np.asarray(found.x, dtype=np.float64).reshape(classes, d)


def _accuracy(data: Frames, learner: str, value: float, fit: IntArray, test: IntArray, seed: int) -> float:
    machine = build(learner, value, dim=data.X.shape[1], classes=len(data.classes), seed=seed)
    machine.run(data.X[fit], data.y[fit])
    return float((machine.scores(data.X[test]).argmax(axis=1) == data.y[test]).mean())
