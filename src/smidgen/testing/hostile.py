"""Hostile streams: contexts and feedback of every magnitude that floating point has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smidgen.decision import Decision
from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.testing.case import Case
from smidgen.testing.laws import hold

#: A timestamp of our days, in milliseconds.
MILLISECONDS = 1.7e12

Sizes = Callable[[np.random.Generator, int], Any]


def _one_column(rng: np.random.Generator, d: int) -> Any:
    """One column of milliseconds, the others about 1."""
    sizes = np.ones(d)
    sizes[0] = MILLISECONDS
    return sizes


def _mixed(rng: np.random.Generator, d: int) -> Any:
    """Ordinary rows, and now and then one of any size."""
    return np.full(d, 10.0 ** rng.uniform(-320, 308) if rng.random() < 0.2 else 1.0)


MODES: dict[str, Sizes] = {
    "milliseconds": _one_column,
    "wide": lambda rng, d: 10.0 ** rng.uniform(-320, 308, d),
    "big": lambda rng, d: np.full(d, 10.0 ** rng.uniform(60, 308)),
    "tiny": lambda rng, d: np.full(d, 10.0 ** rng.uniform(-323, -150)),
    "near the limit": lambda rng, d: np.full(d, 10.0 ** rng.uniform(97, 100)),
    "mixed": _mixed,
    "one alike": lambda rng, d: np.full(d, 1e40),
}


def check_finite(learner: Learner, decision: Decision | None, what: str) -> None:
    """All that is remembered, and what goes out, is finite."""
    for name, array in learner._state().items():
        hold(array.dtype.kind != "f" or np.isfinite(array).all(), f"{what}: {name} is not finite")
    if decision is not None:
        for name in ("action", "scores", "widths", "perturbation", "margin", "propensity"):
            value = np.asarray(getattr(decision, name))
            hold(value.dtype.kind != "f" or np.isfinite(value).all(), f"{what}: the {name} is not finite")


def assail(case: Case, mode: str, seed: int, rounds: int, watch: Callable[[str], None] = lambda what: None) -> int:
    """Play a hostile stream; every call leaves finite numbers, or is refused and changes nothing. How many were.

    ``watch`` is called after every round, with its name.
    """
    rng, sizes = np.random.default_rng([seed, sorted(MODES).index(mode)]), MODES[mode]
    learner, refusals = case.make(), 0
    for t, context in enumerate(case.form.contexts(seed, rounds)):
        what = f"numbers that are {mode}, round {t}"
        before, decision = learner.to_bytes(), None
        try:
            decision = learner.decide(case.form.resized(context, lambda d: sizes(rng, d)))
            check_finite(learner, decision, what)
            before = learner.to_bytes()
            if case.form.may_learn(learner, decision):
                feedback = case.form.feedback(learner, decision, seed)
                learner.learn(decision, case.form.resized_feedback(feedback, lambda d: sizes(rng, d)))
        except SmidgenError:
            refusals += 1
            hold(learner.to_bytes() == before, f"{what}: refused, and yet changed")
        check_finite(learner, decision, what)
        watch(what)
    return refusals
