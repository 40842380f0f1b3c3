"""Those who do the job of the label loop too; a peer that is not here is left out with a remark."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.interleave import Contender
from benchmarks.texts import CLASSES, texts

RIVER_ROWS = 200
SLOW_ROUNDS = 100
NOT_HERE = "left out: it is not installed"
VW_SETTINGS = ("--cbify 20 --epsilon 0.05", "--cbify 20 --epsilon 0.05 --sgd", "--oaa 20")


def vw_lines(X: Any, y: Any) -> Iterator[str]:
    """A CSR matrix in the text form of Vowpal Wabbit, line by line; labels count from 1."""
    rows = zip(np.split(X.indices, X.indptr[1:-1]), np.split(X.data, X.indptr[1:-1]), y, strict=True)
    return (f"{label + 1} | " + " ".join(map("{}:{:.6g}".format, idx, val)) for idx, val, label in rows)


def as_dictionaries(X: Any) -> list[dict[Any, float]]:
    """The rows of a CSR matrix as river wants them."""
    parts = zip(np.split(X.indices, X.indptr[1:-1]), np.split(X.data, X.indptr[1:-1]), strict=True)
    return [dict(zip(idx.tolist(), val.tolist(), strict=True)) for idx, val in parts]


def add_vw(contenders: dict[str, Contender], remarks: dict[str, str]) -> None:
    """Vowpal Wabbit on parsed examples from Python, and its own loop over a cache file."""
    if find_spec("vowpalwabbit") is None:
        remarks["Vowpal Wabbit"] = NOT_HERE
        return

    @cache
    def parsed(settings: str) -> tuple[Any, list[Any]]:
        from vowpalwabbit import Workspace

        workspace = Workspace(f"{settings} -b 22 --quiet")
        return workspace, [workspace.example(line) for line in vw_lines(*texts("float64"))]

    def calls(settings: str) -> Callable[[], object]:
        def run() -> None:
            workspace, examples = parsed(settings)
            for example in examples:
                workspace.learn(example)

        return run

    @cache
    def written() -> tuple[Any, Path]:
        folder = tempfile.TemporaryDirectory()
        path = Path(folder.name) / "texts"
        path.write_text("\n".join(vw_lines(*texts("float64"))) + "\n")
        return folder, path  # the folder lives as long as this is remembered

    def own_loop() -> None:
        from vowpalwabbit import Workspace

        path = written()[1]
        workspace = Workspace(f"{VW_SETTINGS[0]} -b 22 --quiet -d {path} --cache_file {path}.cache")
        assert workspace.get_weighted_examples() == len(texts("float64")[1])
        workspace.finish()

    for settings in VW_SETTINGS:
        contenders[f"Vowpal Wabbit {settings}"] = calls(settings)
    contenders[f"Vowpal Wabbit {VW_SETTINGS[0]}, its own loop"] = own_loop
    remarks["Vowpal Wabbit"] = (
        "`workspace.learn`, which also predicts, on every example, from a Python loop: to be compared with our two "
        "verbs. The parsing and the making of the model (-b 22, room for all weights) are not timed, and the model "
        "goes on from round to round. --cbify draws a label and hears right or wrong, --oaa sees the true label; --sgd "
        "is quicker, and learns next to nothing here with the step size it comes with"
    )
    remarks["Vowpal Wabbit, its own loop"] = (
        "the making of the model and one pass over its binary cache file, all in C++: to be compared with our streams"
    )


def add_sklearn(contenders: dict[str, Contender], remarks: dict[str, str]) -> None:
    """scikit-learn, one pass; both see the true label."""
    if find_spec("sklearn") is None:
        remarks["scikit-learn"] = NOT_HERE
        return

    def partial_fit() -> object:
        from sklearn.linear_model import SGDClassifier

        X, y = texts("float64")
        return SGDClassifier(loss="perceptron").partial_fit(X, y, classes=np.arange(CLASSES))

    def perceptron() -> object:
        from sklearn.linear_model import Perceptron

        return Perceptron(max_iter=1, tol=None).fit(*texts("float64"))

    contenders["scikit-learn SGDClassifier.partial_fit"] = partial_fit
    contenders["scikit-learn Perceptron"] = perceptron
    remarks["scikit-learn"] = (
        "one call for all examples in float64, one class against the rest after the other; it learns and does not "
        "predict; sees the true label"
    )


def add_river(contenders: dict[str, Contender], remarks: dict[str, str], X: Any, y: Any) -> None:
    """River on the first rows of a CSR matrix."""
    if find_spec("river") is None:
        remarks["river"] = NOT_HERE
        return

    @cache
    def dictionaries() -> list[tuple[dict[Any, float], int]]:
        return list(zip(as_dictionaries(X[:RIVER_ROWS]), y[:RIVER_ROWS].tolist(), strict=True))

    def run() -> None:
        from river.linear_model import LogisticRegression
        from river.multiclass import OneVsRestClassifier

        model: Any = OneVsRestClassifier(LogisticRegression())
        for x, label in dictionaries():
            model.predict_one(x)
            model.learn_one(x, label)

    contenders["river OneVsRest(LogisticRegression)"] = (run, RIVER_ROWS)
    remarks["river"] = (
        f"predict_one and learn_one on the first {RIVER_ROWS} examples only, as ready dictionaries; sees the true label"
    )


def add_vw_calls(contenders: dict[str, Contender], remarks: dict[str, str], X: Any, y: Any) -> None:
    """One call of Vowpal Wabbit per row of a CSR matrix, on a parsed example and on text."""
    if find_spec("vowpalwabbit") is None:
        remarks["Vowpal Wabbit"] = NOT_HERE
        return

    @cache
    def workspace() -> Any:
        from vowpalwabbit import Workspace

        return Workspace(f"--cbify {int(y.max()) + 1} --epsilon 0.05 -b 22 --quiet")

    lines = list(vw_lines(X, y))
    parsed = cache(lambda: [workspace().example(line) for line in lines])

    def on_parsed() -> None:
        learn = workspace().learn
        for example in parsed():
            learn(example)

    def on_text() -> None:
        learn = workspace().learn
        for line in lines:
            learn(line)

    contenders["Vowpal Wabbit, parsed"], contenders["Vowpal Wabbit, text"] = on_parsed, on_text
    remarks["Vowpal Wabbit"] = "`workspace.learn` with --cbify, on examples parsed before and on text; no record"


def add_sklearn_calls(contenders: dict[str, Contender], remarks: dict[str, str], X: Any, y: Any) -> None:
    """One predict and one partial_fit of scikit-learn per row."""
    if find_spec("sklearn") is None:
        remarks["scikit-learn"] = NOT_HERE
        return
    rows = [X[[t]] for t in range(SLOW_ROUNDS)]

    @cache
    def model() -> Any:
        from sklearn.linear_model import SGDClassifier

        return SGDClassifier(loss="perceptron").partial_fit(X, y, classes=np.arange(int(y.max()) + 1))

    def run() -> None:
        for row, label in zip(rows, y, strict=False):
            model().predict(row)
            model().partial_fit(row, [label])

    contenders["scikit-learn SGDClassifier"] = (run, SLOW_ROUNDS)
    remarks["scikit-learn"] = f"predict and partial_fit, the first {SLOW_ROUNDS} rounds; sees the true label"


def add_mabwiser(contenders: dict[str, Contender], remarks: dict[str, str], X: Any, y: Any) -> None:
    """MABWiser's LinUCB: one predict and one partial_fit per round, which is the only way it can be called."""
    if find_spec("mabwiser") is None:
        remarks["MABWiser"] = NOT_HERE
        return

    def run() -> None:
        from mabwiser.mab import MAB, LearningPolicy

        policy = LearningPolicy.LinUCB(alpha=1.0, l2_lambda=4.0)
        mab = MAB(arms=list(range(int(y.max()) + 1)), learning_policy=policy)
        mab.fit(decisions=[0], rewards=[0.0], contexts=X[:1])
        for t in range(SLOW_ROUNDS):
            arm = mab.predict(X[t : t + 1])
            mab.partial_fit(decisions=[arm], rewards=[1.0 if arm == y[t] else -1.0], contexts=X[t : t + 1])

    contenders["MABWiser LinUCB"] = (run, SLOW_ROUNDS)
    remarks["MABWiser"] = f"predict and partial_fit, row by row, the first {SLOW_ROUNDS} rounds"


def add_contextualbandits(contenders: dict[str, Contender], remarks: dict[str, str], X: Any, y: Any) -> None:
    """LinUCB of contextualbandits: one predict and one partial_fit per round, as online learning must call it."""
    if find_spec("contextualbandits") is None:
        remarks["contextualbandits"] = f"{NOT_HERE} (pip builds it with a C++ compiler)"
        return

    def run() -> None:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        from contextualbandits.online import LinUCB

        model = LinUCB(nchoices=int(y.max()) + 1, lambda_=4.0, fit_intercept=False, random_state=1)
        model.fit(X[:1], np.array([0]), np.array([0.0]))
        for t in range(SLOW_ROUNDS):
            arm = model.predict(X[t : t + 1])
            model.partial_fit(X[t : t + 1], arm, (arm == y[t]).astype(np.float64))

    contenders["contextualbandits LinUCB"] = (run, SLOW_ROUNDS)
    remarks["contextualbandits"] = (
        f"predict and partial_fit, row by row, the first {SLOW_ROUNDS} rounds; in float32, its default; rewards are 0 "
        "and 1, as it wants them, and it tries each class on its own before it has seen it"
    )
