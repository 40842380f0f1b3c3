"""The two verbs stay cheap: a guard that counts calls, which a busy machine does not change, and not microseconds.

One call from Python costs about a tenth of a microsecond, one into compiled code three times that, and one of numpy's
larger helpers (``isfinite(x).all()``, ``errstate``) a whole one. So their number says what the verbs cost next to the
arithmetic. A change that needs more of them raises the limit here.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import smidgen

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 100))
ITEMS = smidgen.Choice(RNG.normal(size=(20, 100)))
DOCUMENTS = smidgen.Ranking(RNG.normal(size=(20, 100)))
BALL = smidgen.Ball(dim=8)


def csr(x: np.ndarray) -> Any:
    return sparse.csr_array(x[None, :])


def calls_of(learner: smidgen.Learner, context: Any, feedback: Any) -> list[str]:
    """The names of all functions, of Python or of C, that one decision and one lesson call."""
    names: list[str] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            names.append(frame.f_code.co_name)
        elif event == "c_call":
            names.append(argument.__name__)

    for _ in range(20):  # the first ones compile
        learner.learn(learner.decide(context), feedback)
    sys.setprofile(note)
    try:
        learner.learn(learner.decide(context), feedback)
    finally:
        sys.setprofile(None)
    return names[:-1]  # without setprofile


CASES: dict[str, tuple[smidgen.Learner, Any, Any, int]] = {
    "Banditron": (smidgen.Banditron(dim=100, n_classes=10), X[0], True, 26),
    "Banditron, CSR": (smidgen.Banditron(dim=100, n_classes=10), csr(X[0]), True, 29),
    "Confidit": (smidgen.Confidit(dim=100, n_classes=10), X[0], True, 30),
    "Confidit, CSR": (smidgen.Confidit(dim=100, n_classes=10), csr(X[0]), True, 34),
    "Confidit, full": (smidgen.Confidit(dim=100, n_classes=3, covariance="full"), X[0], True, 32),
    "MulticlassPerceptron": (smidgen.MulticlassPerceptron(dim=100, n_classes=10), X[0], 1, 26),
    "SecondOrderPerceptron": (smidgen.SecondOrderPerceptron(dim=100, n_classes=10), X[0], 1, 33),
    "AROW": (smidgen.AROW(dim=100, n_classes=10), X[0], 1, 35),
    "SimpleFil": (smidgen.SimpleFil(), None, True, 16),
    "RidgeFil": (smidgen.RidgeFil(dim=100), X[0], True, 34),
    "PRidgeFil": (smidgen.PRidgeFil(dim=100, p=1.0), X[0], True, 23),
    "RidgeFull": (smidgen.RidgeFull(dim=100), X[0], True, 29),
    "PerceptronFilter": (smidgen.PerceptronFilter(dim=100), X[0], True, 23),
    "PreferencePerceptron, ranking": (smidgen.PreferencePerceptron(dim=100), DOCUMENTS, np.arange(20), 50),
    "PreferencePerceptron, choice": (smidgen.PreferencePerceptron(dim=100), ITEMS, 3, 49),
    "LinUCB": (smidgen.LinUCB(dim=100), ITEMS, 0.5, 29),
    "LinUCB, diagonal": (smidgen.LinUCB(dim=100, covariance="diagonal"), ITEMS, 0.5, 30),
    "SquareCB": (smidgen.SquareCB(dim=100), ITEMS, 0.5, 29),
    "ThompsonChoice": (smidgen.ThompsonChoice(dim=100), ITEMS, 0.5, 29),
    "OGD": (smidgen.OGD(space=BALL, gradient_bound=100.0), None, X[0, :8] / 100.0, 24),
    "OGDEG": (smidgen.OGDEG(space=BALL, loss_bound=100.0, delta=0.2), None, 0.5, 33),
    "ONSEG": (smidgen.ONSEG(space=BALL, loss_bound=100.0, delta=0.2), None, 0.5, 35),
}


@pytest.mark.parametrize("name", CASES)
def test_the_two_verbs_make_few_calls(name: str) -> None:
    learner, context, feedback, most = CASES[name]
    names = calls_of(learner, context, feedback)
    assert len(names) <= most, names


def test_the_count_sees_what_is_dear() -> None:
    class Careless(smidgen.Banditron):
        def _decide(self, context: Any, number: int) -> smidgen.Decision:
            with np.errstate(over="ignore"):
                np.isfinite(context).all()
            return super()._decide(context, number)

    names = calls_of(Careless(dim=100, n_classes=10), X[0], True)
    assert len(names) > CASES["Banditron"][3]
