"""The five versions of Confidit on generated data: the work behind Fig. 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen.learners.label.confidit import Confidit
from smidgen_papers.part import Place

#: The knob of every version: η, or the factor of ‖U‖².
KNOBS = tuple(10.0**k for k in range(-3, 4))
#: Table 2.
VERSIONS = {
    1: "1: projection, eq. 9",
    2: "2: eq. 11",
    3: "3: eq. 9",
    4: "4: projection, eq. 11",
    5: "5: eq. 11, diagonal",
}


def play(
    place: Place,
    *,
    version: int,
    features: str,
    normalize: bool,
    update: str,
    knob: str,
    rounds: int,
    runs: int,
    seed: int,
) -> dict[str, Any]:
    """The mistakes of one version: one row per run, one column per value of its knob; and the share explored."""
    del place
    mistakes, explored = np.zeros((runs, len(KNOBS))), np.zeros((runs, len(KNOBS)))
    for i in range(runs):
        X, y, norm = examples(features, rounds, [seed, i])
        for j, value in enumerate(KNOBS):
            settings: dict[str, Any] = {"eta": value}
            if version in (1, 3):
                settings = {"norm_bound": float(np.sqrt(value * norm)) if knob == "‖U‖²" else value * norm}
            if version == 5:
                settings["update"] = update
            learner = Confidit.version(version, dim=9, n_classes=5, normalize=normalize, **settings)
            history = learner.run(X, y)
            mistakes[i, j], explored[i, j] = history.mistakes.sum(), history.explored.mean()
    return {"mistakes": mistakes, "explored": explored}


def examples(features: str, rounds: int, seed: list[int]) -> tuple[FloatArray, IntArray, float]:
    """Nine features, of which five decide the label by five random linear models; and the squared norm of the models.

    ``features`` says how the five are drawn: "normal" (independent), "correlated" (normal) or "positive" (uniform in
    [0, 1]).
    """
    rng = np.random.default_rng(seed)
    X, U = rng.normal(size=(rounds, 9)), rng.normal(size=(5, 5))
    if features == "correlated":
        X[:, :5] = X[:, :5] @ rng.normal(size=(5, 5)) / np.sqrt(5.0)
    elif features == "positive":
        X[:, :5] = rng.random((rounds, 5))
    return X, (X[:, :5] @ U.T).argmax(axis=1).astype(np.int64), float((U**2).sum())
