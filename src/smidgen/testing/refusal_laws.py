"""Laws of refusing: a refused call changes nothing, is an error of ours, and no input poisons what is remembered.

Hostile streams have contexts and feedback of every magnitude that floating point has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smidgen.decision import Decision
from smidgen.errors import AlreadyLearnt, CorruptFile, SmidgenError
from smidgen.learners import Learner
from smidgen.testing.laws import Case, hold, refused, snapshot
from smidgen.testing.learner_laws import teach

#: A timestamp of our days, in milliseconds.
MILLISECONDS = 1.7e12

Sizes = Callable[[np.random.Generator, int], Any]


def _one_column(rng: np.random.Generator, d: int) -> Any:
    """Rows with one column in milliseconds and the others near 1."""
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
    """All that is remembered, and the output, is finite."""
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


def a_refused_call_changes_nothing(case: Case) -> None:
    """Bad contexts, impossible feedback and duplicates are refused by errors of ours; what may be learnt still is."""
    contexts = case.form.contexts(8, 14)
    learner = case.make()
    log = case.play(learner, contexts[:10])
    waiting = [learner.decide(context) for context in contexts[10:]]
    before = snapshot(learner)
    refused("a decision that was learnt already", learner.learn, *log[3], kind=AlreadyLearnt)
    refused("what is no decision", learner.learn, learner.predict(contexts[0]), 0)
    for context in case.form.unusable():
        refused(f"the context {context!r}", learner.decide, context)
        refused(f"the context {context!r}, by predict,", learner.predict, context)
    hold(snapshot(learner) == before, "a refused context or duplicate has changed the learner")
    for decision in waiting:
        for feedback in case.form.impossible(learner, decision):
            refused(f"the feedback {feedback!r}", learner.learn, decision, feedback)
            hold(snapshot(learner) == before, f"the refused feedback {feedback!r} has changed the learner")
    answered = [decision for decision in waiting if case.form.may_learn(learner, decision)]
    for decision in waiting:
        if decision not in answered:
            refused("the label of a dropped item", learner.learn, decision, True)
    hold(snapshot(learner) == before, "the refused label of a dropped item has changed the learner")
    for decision in answered:
        learner.learn(decision, case.form.feedback(learner, decision, 0))
    hold(learner.rounds == len(log) + len(answered), "after refusals, what may be learnt is not all counted")


def a_refused_example_changes_nothing(case: Case) -> None:
    """Invalid input to teaching is refused, and changes nothing."""
    contexts = case.form.contexts(18, 6)
    learner = case.make()
    teach(case, learner, contexts)
    before = snapshot(learner)
    for context in case.form.unusable():
        refused(
            f"the example {context!r}",
            learner.teach,
            context,
            case.form.answer(learner, contexts[0], 0),
        )
    for answer in (None, float("nan"), [[0]], {"rank": 1}):
        refused(f"the answer {answer!r}", learner.teach, contexts[0], answer)
    hold(snapshot(learner) == before, "a refused example has changed the learner")


def a_step_beyond_floating_point_is_refused_whole(case: Case) -> None:
    """Input that leads to non-finite numbers is refused, and changes nothing."""
    learner = case.make()
    case.play(learner, case.form.contexts(9, 5))
    for context in case.form.huge():
        before = snapshot(learner)
        try:
            decision = learner.decide(context)
            before = snapshot(learner)
            learner.learn(decision, case.form.feedback(learner, decision, 1))
        except SmidgenError:
            hold(snapshot(learner) == before, "a step that was refused for its size has changed the learner")
        finite = all(np.isfinite(array).all() for array in learner._state().values())
        hold(finite, "features at the end of floating point leave numbers that are not finite")


def hostile_streams_leave_finite_state_or_are_refused(case: Case) -> None:
    """Numbers of every magnitude are learnt or refused, and never poison what is remembered."""
    for mode in MODES:
        assail(case, mode, seed=1, rounds=10)


def milliseconds_are_ordinary_input(case: Case) -> None:
    """A column of timestamps is learnt, not refused; over forty rounds, so that rounding has time to do harm."""
    many = assail(case, "milliseconds", seed=0, rounds=40)
    hold(many == 0, f"{many} of 40 rounds with a column of timestamps were refused")


def damaged_files_are_refused(case: Case) -> None:
    """A saved learner with a byte changed or missing is refused, and the whole one is read."""
    good = case.make().to_bytes()
    damaged = [good[:cut] for cut in (0, 1, len(good) // 2, len(good) - 1)]
    for where in (0, 16, 20, *np.random.default_rng(0).integers(len(good), size=20)):
        damaged += [good[:where] + bytes([good[where] ^ 0xFF]) + good[where + 1 :]]
    for content in damaged:
        refused("a damaged file", Learner.from_bytes, content, kind=CorruptFile)
    revived: Any = Learner.from_bytes(good)
    hold(type(revived) is case.cls, "what was read back is of another class")
