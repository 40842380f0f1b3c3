"""The baseline of Section 6.2.5: a ranking SVM, trained again and again."""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen.decision import FloatArray
from smidgen.errors import MissingExtra, NotFinite
from smidgen.learners.base import register
from smidgen.learners.card import Card
from smidgen.learners.coactive.base import PAPER, Coactive
from smidgen.optim import Rule
from smidgen.optim.rules import RETRAINED, Program, State, count

EARLY_C = 100.0
EARLY_PAIRS = 50
GROWTH = 1.1
FOLDS = 5
GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


class Retrained(Rule):
    """Collect the directions, and fit a linear SVM to all of them whenever they are a tenth more."""

    def __init__(self, *, dim: int, seed: int) -> None:
        self.dim = checks.dimension(dim)
        self._seed = seed
        self._pairs: FloatArray = np.empty((0, self.dim))  # more than are filled
        self._filled = self._trained_on = 0
        self._w: FloatArray = np.zeros(self.dim)
        self._C = EARLY_C

    @property
    def weights(self) -> FloatArray:
        """The weights of the last training."""
        return self._w

    @property
    def pairs(self) -> FloatArray:
        """The training pairs, as differences."""
        return self._pairs[: self._filled]

    @property
    def regularisation(self) -> float:
        """C of the last training."""
        return self._C

    def step(self, direction: FloatArray) -> None:
        """Keep the pair (unless it says nothing), and train if it is time."""
        if not direction.any():
            return
        if not np.isfinite(direction).all():
            raise NotFinite("the difference is not finite", "scale the features down")
        if self._filled == len(self._pairs):
            self._pairs = np.vstack([self.pairs, np.empty((max(16, self._filled), self.dim))])
        self._pairs[self._filled] = direction
        now = self._filled + 1
        if now >= GROWTH * self._trained_on:
            pairs = self._pairs[:now]
            C = self._cross_validate(pairs) if now > EARLY_PAIRS else EARLY_C
            self._w, self._C, self._trained_on = self._fit(pairs, C), C, now
        self._filled = now

    def program(self) -> Program:
        """The rule for compiled loops: they collect pairs until it is time to train."""
        return Program(RETRAINED)

    @property
    def missing(self) -> int:
        """Number of pairs at which it trains next."""
        return max(1, math.ceil(GROWTH * self._trained_on) - self._filled)

    def _fit(self, pairs: FloatArray, C: float) -> FloatArray:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC

        svm = LinearSVC(C=C, loss="hinge", fit_intercept=False, random_state=self._seed % 2**32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            svm.fit(np.vstack([pairs, -pairs]), np.repeat([1, -1], len(pairs)))
        return np.asarray(svm.coef_[0], dtype=np.float64)

    def _cross_validate(self, pairs: FloatArray) -> float:
        """The C of the grid with the most held-out pairs in the right order; both mirror images share a fold."""
        from sklearn.model_selection import KFold

        right = dict.fromkeys(GRID, 0)
        for train, test in KFold(FOLDS, shuffle=True, random_state=self._seed % 2**32).split(pairs):
            for C in GRID:
                right[C] += int((pairs[test] @ self._fit(pairs[train], C) > 0).sum())
        return max(GRID, key=lambda C: right[C])

    def to_record(self) -> dict[str, Any]:
        """The arguments that create an equal rule."""
        return {"dim": self.dim, "seed": self._seed}

    def state(self) -> State:
        """The pairs and the last training."""
        return {
            "pairs": self.pairs,
            "w": self._w,
            "trained_on": np.array(self._trained_on),
            "C": np.array(self._C),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a saved state."""
        self._pairs, self._w, self._C = state["pairs"], state["w"], float(state["C"])
        self._filled, self._trained_on = len(self._pairs), count(state, "trained_on")


@register(
    Card(
        loop=("rank", "choose"),
        feedback=("better", "clicks"),
        not_served="it fits all feedback again, for seconds",
        paper=f"{PAPER}, Sec. 6.2.5; Joachims 2002",
        bound="none",
        cost="argmax + 2 φ; now and then an SVM on all pairs",
        example={"dim": 4},
    )
)
class RankingSVM(Coactive):
    """A baseline: keep all pairs (ȳ preferred to y), train a ranking SVM on them whenever they are 10 % more.

    Needs scikit-learn: ``pip install "smidgen[svm]"``.

    Parameters
    ----------
    dim
        The number of features N.
    seed
        Seeds the solver and the folds of the cross-validation.

    Notes
    -----
    **Update** keep Δ = φ(x, ȳ) − φ(x, y) unless it is zero; when there are 1.1 times the number at the last training, w
    ← the linear SVM (hinge loss, no intercept) that separates all Δ from all −Δ. C = 100 up to 50 pairs, then the best
    of 0.01 … 1000 by five-fold cross-validation. **Symbols** as in `PreferencePerceptron`; C:
    ``learner.rule.regularisation``. **Assumes** nothing of the user. **Bound** none. **Cost** the SVM's, on all pairs
    so far, about log(T)/log(1.1) times in T rounds; times 30 with cross-validation. Memory T·N. **Differs** the paper
    uses SVM-light, which solves each problem to the end; scikit-learn's liblinear stops after 1,000 passes. Each pair
    enters twice (Δ and −Δ), which doubles its C. The first ranking is in the given order, not random: shuffle the
    documents for the paper's protocol.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.RankingSVM(dim=2)
    >>> menu = smidgen.Choice(np.eye(2))
    >>> learner.learn(learner.decide(menu), 1)
    >>> learner.predict(menu)
    1

    References
    ----------
    .. [1] P. Shivaswamy, T. Joachims. Coactive Learning. JAIR 53, 2015. Section 6.2.5.
    .. [2] T. Joachims. Optimizing search engines using clickthrough data. KDD 2002.
    """

    def __init__(self, *, dim: int, seed: int = 0) -> None:
        if importlib.util.find_spec("sklearn") is None:
            raise MissingExtra("RankingSVM needs scikit-learn", 'pip install "smidgen[svm]"')
        rule = Retrained(dim=dim, seed=checks.seed(seed))
        super().__init__(rule, params={"dim": rule.dim}, seed=seed)
