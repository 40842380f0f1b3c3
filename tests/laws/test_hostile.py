"""No learner can be poisoned: whatever comes, its state is finite, or the call is refused and changes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from laws.loops import CASES
from smidgen import Choice, Ranking
from smidgen.testing import Case
from smidgen.testing.refusal_laws import MILLISECONDS, MODES, assail

every_case = pytest.mark.parametrize("case", CASES, ids=str)
#: CPU seconds that one round may take; number of rounds that may compile something.
LIMIT, COMPILING = 1.0, 3


def watch() -> Callable[[str], None]:
    """Fails when a call takes its time, but for the first ones, on a machine that has never run it."""
    last, slow = [time.process_time()], [0]

    def look(what: str) -> None:
        now = time.process_time()
        slow[0] += now - last[0] > LIMIT
        last[0] = now
        assert slow[0] <= COMPILING, f"{what}: slow"

    return look


@every_case
def test_hostile_numbers_are_as_quick_as_others(case: Case) -> None:
    for mode in MODES:
        assail(case, mode, seed=3, rounds=5, watch=watch())


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
@every_case
def test_many_hostile_streams(case: Case, mode: str) -> None:
    for seed in range(2, 22):
        assail(case, mode, seed, rounds=80, watch=watch())


def _stream(case: Case, n: int) -> Any:
    """Contexts in which one column is milliseconds and says everything, and what is right in each."""
    rng = np.random.default_rng(7)
    for _ in range(n):
        if case.form.name in ("ranking", "choice"):
            rows = np.column_stack([MILLISECONDS * rng.uniform(-1, 1, 6), rng.normal(size=(6, 3))])
            yield (Ranking(rows) if case.form.name == "ranking" else Choice(rows)), int(np.argmax(rows[:, 0]))
        else:
            x = np.append(MILLISECONDS * rng.uniform(0.2, 1.0) * rng.choice([-1, 1]), rng.normal(size=3))
            yield x, bool(x[0] > 0)


def _tell(case: Case, learner: Any, decision: Any, right: Any) -> Any:
    """The feedback of a user who wants what is right; None where there can be none."""
    if learner.card.kinds[0] == "reward":
        return 1.0 if decision.action == right else 0.0
    if case.form.name == "ranking":
        rest = [i for i in range(len(decision.context)) if i != right]
        return np.array([right, *rest])
    if case.form.name == "choice":
        return int(decision.action[1] == right) if learner.card.shows_pairs else right
    if case.form.name == "items":
        return right if decision.action or learner.sees_everything else None
    truth = learner.labels[int(right)]
    return decision.action == truth if learner.feedback == "one-bit" else truth


#: Whose own scale milliseconds are far from: kernel functions (rbf sees strangers only) and, unless it normalizes, the
#: softmax of PDGD, and the soft step, which are sure of themselves after one. Records are brought to scale
#: by the vectorizer.
SCALED = ("SimpleFil", "CoactiveLearner", "PDGD", "Pipeline", "SoftPreferencePerceptron")
#: A tenth of the usual ridge next to numbers of 1e12 is less than rounding leaves; `docs/beyond/filters.md` says so.
WEAK_RIDGE = ("scarce", "patient", "sparing")
LEARNING = [
    case
    for case in CASES
    if case.form.name in ("ranking", "choice", "rows", "items") and case.name not in SCALED
    if not (case.form.name == "items" and ("kernel" in case.variant or case.variant in WEAK_RIDGE))
]


@pytest.mark.parametrize("case", LEARNING, ids=str)
def test_a_column_of_milliseconds_is_learnt(case: Case) -> None:
    learner = case.make()
    hits = []
    for context, right in _stream(case, 120):
        said = learner.predict(context)
        first = said[0] if case.form.name == "ranking" else said
        hits.append(first == (learner.labels[int(right)] if case.form.name == "rows" else right))
        decision = learner.decide(context)
        feedback = _tell(case, learner, decision, right)
        if feedback is not None:
            learner.learn(decision, feedback)
    chance = 1 / 6 if case.form.name in ("ranking", "choice") else 1 / 2
    assert np.mean(hits[60:]) > chance + 0.1, np.mean(hits[60:])
