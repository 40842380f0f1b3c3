"""Laws of deciding: predict is pure, decide changes nothing but its counter, randomness is a function of the seed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from numpy.random import mtrand

from smidgen.decision import Decision
from smidgen.records import same
from smidgen.testing.case import Case, decisions_of, picture, snapshot
from smidgen.testing.laws import hold


def predict_is_pure(case: Case) -> None:
    """Predictions change nothing, draw nothing, and repeat."""
    contexts = case.form.contexts(1, 12)
    learner, quiet = case.make(), case.make()
    case.play(learner, contexts[:8])
    case.play(quiet, contexts[:8])
    before = snapshot(learner)
    first = [learner.predict(context) for context in contexts]
    second = [learner.predict(context) for context in contexts]
    repeated = all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    hold(repeated, "the same prediction, asked for twice, differs")
    hold(snapshot(learner) == before, "a prediction has changed what the learner remembers")
    hold(
        learner.decide(contexts[9]) == quiet.decide(contexts[9]),
        "a decision after predictions differs from one without them",
    )


def predict_is_the_greedy_part_of_decide(case: Case) -> None:
    """What is predicted is what would be decided without exploration."""
    contexts = case.form.contexts(2, 12)
    learner = case.make()
    case.play(learner, contexts)
    for context in contexts:
        greedy = learner.decide(context).greedy
        if case.cls.card.averaged:  # decides by the present weights, predicts by their mean
            hold(
                np.array_equal(greedy, context.argmax(learner.weights)), "decision.greedy is not the best under weights"
            )
            greedy = context.argmax(learner.mean_weights)
        said = learner.predict(context)
        hold(np.array_equal(said, greedy), f"predict gives {said!r} and decision.greedy is {greedy!r}")


def decide_changes_nothing_but_its_counter(case: Case) -> None:
    """Decisions are numbered 1, 2, …, and leave all else as it was."""
    contexts = case.form.contexts(3, 20)
    learner = case.make()
    log = case.play(learner, contexts[:10])
    before = snapshot(learner)
    for i, context in enumerate(contexts, start=11):
        number = learner.decide(context).number
        hold(number == i, f"decision {i} has the number {number}")
    hold(snapshot(learner) == {**before, "decided": 30}, "deciding has changed what the learner remembers")
    hold(learner.rounds == len(log), "decisions without feedback count as rounds")


def the_same_seed_gives_the_same_run(case: Case) -> None:
    """Two learners of one seed make the same decisions and learn the same."""
    contexts = case.form.contexts(4, 15)
    one, two = case.make(seed=7), case.make(seed=7)
    first, second = case.play(one, contexts), case.play(two, contexts)
    hold(decisions_of(first) == decisions_of(second), "two runs with one seed differ in their decisions")
    hold(snapshot(one) == snapshot(two), "two runs with one seed differ in what they have learnt")


def global_randomness_is_left_alone(case: Case) -> None:
    """Nobody else's draws are taken: NumPy's and Python's own generators stay where they were."""
    before = _generators()
    learner, contexts = case.make(), case.form.contexts(4, 10)
    case.play(learner, contexts)
    for context in contexts:
        learner.predict(context)
    hold(picture(_generators()) == picture(before), "it draws from the generators that all of Python shares")


def another_seed_gives_another_run(case: Case) -> None:
    """What is drawn goes by the seed, of those whose cards say that they draw."""
    if not case.cls.card.draws:
        return
    contexts = case.form.contexts(4, 40)
    runs = [decisions_of(case.play(case.make(seed=seed), contexts)) for seed in (1, 2, 3)]
    if not any(_drew(decision) for run in runs for decision in run):
        return
    first, *others = [[_chosen(decision) for decision in run] for run in runs]
    hold(not all(same(first, other) for other in others), "it draws, and three seeds give one and the same run")


def what_it_is_given_stays_as_it_was(case: Case) -> None:
    """Contexts, decisions and feedback are read, never written to."""
    for as_csr in (False, True):
        contexts = case.form.contexts(19, 8, as_csr=as_csr)
        learner = case.make()
        for context in contexts:
            before = picture(context)
            learner.predict(context)
            hold(picture(context) == before, "predict has written to its context")
            decision = learner.decide(context)
            hold(picture(context) == before, "decide has written to its context")
            if not case.form.may_learn(learner, decision):
                continue
            feedback = case.form.feedback(learner, decision, 0)
            made, told = picture(decision), picture(feedback)
            learner.learn(decision, feedback)
            hold(picture(decision) == made, "learn has written to the decision")
            hold(picture(feedback) == told, "learn has written to the feedback")
            hold(picture(context) == before, "learn has written to the context")


def _generators() -> Any:
    numpy_state: Any = mtrand.get_bit_generator().state
    return [numpy_state, random.getstate()]


def _drew(decision: Decision) -> bool:
    """Whether the decision says so itself: what explores by its confidence draws nothing."""
    return decision.perturbation is not None or (decision.propensity is not None and decision.propensity < 1.0)


def _chosen(decision: Decision) -> Any:
    return decision.action, decision.perturbation, decision.teams
