"""Those who do the job of the label loop on texts too; a peer that is not here is left out with a remark."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.interleave import Contender
from benchmarks.texts import CLASSES, FEATURES, texts

RIVER_ROWS = 200
MABWISER_ROUNDS = 100
VW_SETTINGS = ("--cbify 20 --epsilon 0.05", "--cbify 20 --epsilon 0.05 --sgd", "--oaa 20")


def add_cpp(contenders: dict[str, Contender], remarks: dict[str, str], gamma: float) -> None:
    """The Banditron in C++, compiled for this machine."""
    compiler = shutil.which("g++")
    if compiler is None:
        remarks["C++"] = "left out: there is no g++ here"
        return
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "banditron.so"
        options = ["-O3", "-march=native", "-shared", "-fPIC", f"-DCLASSES={CLASSES}"]
        source = Path(__file__).with_name("banditron.cpp")
        if subprocess.run([compiler, *options, str(source), "-o", str(target)], check=False).returncode != 0:
            remarks["C++"] = "left out: g++ could not compile it"
            return
        library = ctypes.CDLL(str(target))

    def contender(dtype: str) -> Callable[[], object]:
        def run() -> object:
            X, y = texts(dtype)
            weights = np.zeros((FEATURES, CLASSES), dtype)
            actions, greedy = np.empty(len(y), np.int64), np.empty(len(y), np.int64)
            arrays = (weights, X.indices, X.data, X.indptr.astype(np.int64), y, actions, greedy)
            W, *stream, shown, best = (ctypes.c_void_p(array.ctypes.data) for array in arrays)
            function = library[f"banditron_{dtype}"]
            function(W, ctypes.c_double(gamma), *stream, ctypes.c_int64(len(y)), shown, best)
            return weights, actions, greedy

        return run

    for dtype in ("float32", "float64"):
        contenders[f"C++ Banditron {dtype}"] = contender(dtype)
    remarks["C++ Banditron"] = (
        "the same arithmetic (`benchmarks/banditron.cpp`, g++ -O3 -march=native, K fixed at compile time), with a "
        "simple generator of its own and no checks"
    )


def add_vw(contenders: dict[str, Contender], remarks: dict[str, str]) -> None:
    """Vowpal Wabbit on parsed examples."""
    if find_spec("vowpalwabbit") is None:
        remarks["Vowpal Wabbit"] = "left out: not installed"
        return

    @cache
    def parsed(settings: str) -> tuple[Any, list[Any]]:
        from vowpalwabbit import Workspace

        X, y = texts("float64")
        workspace = Workspace(f"{settings} -b 22 --quiet")
        rows = zip(np.split(X.indices, X.indptr[1:-1]), np.split(X.data, X.indptr[1:-1]), y, strict=True)
        lines = (f"{label + 1} | " + " ".join(map("{}:{:.6g}".format, idx, val)) for idx, val, label in rows)
        return workspace, [workspace.example(line) for line in lines]

    def contender(settings: str) -> Callable[[], object]:
        def run() -> None:
            workspace, examples = parsed(settings)
            for example in examples:
                workspace.learn(example)

        return run

    for settings in VW_SETTINGS:
        contenders[f"Vowpal Wabbit {settings}"] = contender(settings)
    remarks["Vowpal Wabbit"] = (
        "`workspace.learn`, which also predicts, on every example, from a Python loop; the parsing and the making of "
        "the model (-b 22, room for all weights) are not timed, and the model goes on from round to round. --cbify "
        "draws a label and hears right or wrong, --oaa sees the true label; --sgd is quicker, and learns next to "
        "nothing here with the step size it comes with"
    )


def add_sklearn(contenders: dict[str, Contender], remarks: dict[str, str]) -> None:
    """scikit-learn, one pass; both see the true label."""
    if find_spec("sklearn") is None:
        remarks["scikit-learn"] = "left out: not installed"
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
        "one call for all examples in float64, one class against the rest after the other; sees the true label"
    )


def add_river(contenders: dict[str, Contender], remarks: dict[str, str]) -> None:
    """River on the first rows."""
    if find_spec("river") is None:
        remarks["river"] = "left out: not installed"
        return

    @cache
    def dictionaries() -> list[tuple[dict[Any, float], int]]:
        X, y = texts("float64")
        parts = (slice(X.indptr[t], X.indptr[t + 1]) for t in range(RIVER_ROWS))
        return [
            (dict(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)), int(label))
            for part, label in zip(parts, y[:RIVER_ROWS], strict=True)
        ]

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


def add_mabwiser(contenders: dict[str, Contender], remarks: dict[str, str], X: Any, y: Any) -> None:
    """MABWiser's LinUCB: one predict and one partial_fit per round, which is the only way it can be called."""
    if find_spec("mabwiser") is None:
        remarks["MABWiser"] = "left out: it is not installed"
        return
    from mabwiser.mab import MAB, LearningPolicy

    def run() -> None:
        policy = LearningPolicy.LinUCB(alpha=1.0, l2_lambda=4.0)
        mab = MAB(arms=list(range(int(y.max()) + 1)), learning_policy=policy)
        mab.fit(decisions=[0], rewards=[0.0], contexts=X[:1])
        for t in range(MABWISER_ROUNDS):
            arm = mab.predict(X[t : t + 1])
            mab.partial_fit(decisions=[arm], rewards=[1.0 if arm == y[t] else -1.0], contexts=X[t : t + 1])

    contenders["MABWiser LinUCB"] = (run, MABWISER_ROUNDS)
    remarks["MABWiser"] = f"predict and partial_fit, row by row, the first {MABWISER_ROUNDS} rounds"
