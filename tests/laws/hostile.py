"""Hostile streams: contexts and feedback of every magnitude that floating point has, for the learners of every loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from laws.loops import Case, may_learn
from smidgen import Choice, Decision, Learner, Ranking
from smidgen.errors import SmidgenError

#: A timestamp of our days, in milliseconds.
MILLISECONDS = 1.7e12
#: One call may take so many seconds of a processor.
LIMIT = 1.0
#: So many rounds may compile something on a machine that has never run it.
COMPILING = 3

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


def _times(values: Any, sizes: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.asarray(values) * sizes, posinf=1e308, neginf=-1e308)


def resized(context: Any, sizes: Callable[[int], Any]) -> Any:
    """A context of these sizes; one without features stays as it is."""
    if isinstance(context, (Ranking, Choice)):
        rows = context.rows.dense()
        return type(context)(_times(rows, sizes(rows.shape[1])))
    return _times(context, sizes(len(context))) if isinstance(context, np.ndarray) else context


def resized_feedback(case: Case, feedback: Any, rng: np.random.Generator, sizes: Sizes) -> Any:
    """Losses and gradients of these sizes; other feedback has none."""
    if case.loop.form != "points":
        return feedback
    value = _times(feedback, sizes(rng, np.size(feedback)))
    return value.reshape(np.shape(feedback)) if np.ndim(feedback) else float(np.ravel(value)[0])


def check_finite(learner: Learner, decision: Decision | None, what: str) -> None:
    """All that is remembered, and what goes out, is finite."""
    for name, array in learner._state().items():
        assert array.dtype.kind != "f" or np.isfinite(array).all(), f"{what}: {name} is not finite"
    if decision is not None:
        for name in ("action", "scores", "widths", "perturbation", "margin", "propensity"):
            value = np.asarray(getattr(decision, name))
            assert value.dtype.kind != "f" or np.isfinite(value).all(), f"{what}: the {name} is not finite"


def assail(case: Case, mode: str, seed: int, rounds: int) -> int:
    """Play a hostile stream; every call leaves finite numbers, or is refused and changes nothing. How many were."""
    rng, sizes = np.random.default_rng([seed, sorted(MODES).index(mode)]), MODES[mode]
    learner, refused, slow = case.make(), 0, 0
    for t, context in enumerate(case.loop.contexts(seed, rounds)):
        what = f"{case} {mode} seed {seed} round {t}"
        began = time.process_time()
        before, decision = learner.to_bytes(), None
        try:
            decision = learner.decide(resized(context, lambda d: sizes(rng, d)))
            check_finite(learner, decision, what)
            before = learner.to_bytes()
            if may_learn(case, learner, decision):
                feedback = case.loop.feedback(learner, decision, seed)
                learner.learn(decision, resized_feedback(case, feedback, rng, sizes))
        except SmidgenError:
            refused += 1
            assert learner.to_bytes() == before, f"{what}: refused, and yet changed"
        check_finite(learner, decision, what)
        slow += time.process_time() - began > LIMIT
        assert slow <= COMPILING, f"{what}: slow"
    return refused
