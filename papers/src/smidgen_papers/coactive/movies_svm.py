"""A ranking SVM whose C is held fixed: a reading that tells what the outcome of Figures 7 and 8 hangs on."""

from __future__ import annotations

from smidgen import checks
from smidgen.decision import FloatArray
from smidgen.learners.coactive import RankingSVM
from smidgen.learners.coactive.base import Coactive
from smidgen.learners.coactive.ranking_svm import Retrained


class _Held(Retrained):
    """Trained as ever, but always with the same C."""

    def __init__(self, *, dim: int, seed: int, C: float) -> None:
        super().__init__(dim=dim, seed=seed)
        self._held = C

    def _fit(self, pairs: FloatArray, C: float) -> FloatArray:
        return super()._fit(pairs, self._held)

    def _cross_validate(self, pairs: FloatArray) -> float:
        return self._held


class HeldSVM(RankingSVM):
    """The ranking SVM with a C that is given, not cross-validated.

    Parameters
    ----------
    dim
        The number of features.
    C
        How much a pair in the wrong order costs, next to ½‖w‖².
    seed
        Seeds the solver.
    """

    def __init__(self, *, dim: int, C: float, seed: int = 0) -> None:
        cost = checks.number("C", C, "give what a pair in the wrong order costs", above=0.0)
        rule = _Held(dim=dim, seed=checks.seed(seed), C=cost)
        Coactive.__init__(self, rule, params={"dim": rule.dim, "C": cost}, seed=seed)
