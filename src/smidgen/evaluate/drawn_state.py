"""Between learners that draw what they show and their compiled rounds: settings and memory, there and back."""

from __future__ import annotations

import numpy as np

from smidgen._kernel import kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.evaluate.drawn_round import DECIDED, DRAWN, FAIR, PERTURBED, SILENT, Drawing, Memory
from smidgen.features.columns import write_unit_columns
from smidgen.learners.rank import PDGD, FairPairs, PerturbedPreferencePerceptron, RankLearner


@kernel
def _write_unit_queries(X: FloatArray, starts: IntArray, out: FloatArray) -> None:
    for i in range(starts.shape[0] - 1):
        write_unit_columns(X[starts[i] : starts[i + 1]], out[starts[i] : starts[i + 1]])


def drawing_of(learner: RankLearner) -> Drawing:
    """What a learner is set to, or a refusal if its rounds are not compiled."""
    if isinstance(learner, PDGD):
        return Drawing(DRAWN, learner.depth, learner._coins, step=learner.step)
    if isinstance(learner, FairPairs):
        return Drawing(FAIR, learner.depth, learner._coins, step=learner.step, alternate=learner.alternate)
    if isinstance(learner, PerturbedPreferencePerceptron):
        return Drawing(PERTURBED, learner.depth, learner._coins, swap=learner.swap)
    raise InvalidArgument(f"the rounds of {learner!r} are not compiled", "play it with smidgen.simulate")


def features_for(learner: RankLearner, X: FloatArray, starts: IntArray) -> FloatArray:
    """The features as the learner sees them: those of each query brought to [0, 1], if it does so."""
    if not getattr(learner, "normalize", False):
        return X
    out = np.empty(X.shape)
    _write_unit_queries(X, starts, out)
    out.flags.writeable = X.flags.writeable  # the same kind of array: one compiled stream serves both
    return out


def memory_of(learner: RankLearner) -> Memory:
    """A copy of what a learner remembers."""
    state, none = learner._state(), np.empty(0)
    counts: IntArray = np.zeros(2, np.int64)
    counts[DECIDED], counts[SILENT] = learner.decisions, learner.uninformative
    return Memory(
        w=learner.weights,
        squares=np.array(state.get("squares", none)),
        total=np.array(state.get("total", none)),
        counts=counts,
    )


def hand_back(learner: RankLearner, m: Memory) -> None:
    """Leave a learner as it would be if it had learnt the rounds by itself."""
    played = {"w": m.w, "squares": m.squares, "total": m.total, "uninformative": np.array(m.counts[SILENT])}
    learner._restore({name: played[name] for name in learner._state()})
    learner._learnt.add_range(learner.decisions + 1, int(m.counts[DECIDED]) + 1)
    learner._decided = int(m.counts[DECIDED])


def is_finite(m: Memory) -> bool:
    """Whether sums have stayed finite: those that overflow once never come back."""
    return all(bool(np.isfinite(array).all()) for array in (m.w, m.squares, m.total))
