"""Courses in compiled code against the two verbs, bit for bit."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

import smidgen
from smidgen import Choice, Decision, Learner
from smidgen.errors import SmidgenError
from smidgen.features import Row
from smidgen.learners.log_batch import DECIDE, BatchLearner, LearnerSteps, LogBatch, LogStep, Outcomes, make_outcomes

LABEL: dict[str, Any] = {
    "hinge": lambda: smidgen.HingeConfidit(dim=4, n_classes=3, floor=0.2),
    "hinge, diagonal": lambda: smidgen.HingeConfidit(dim=4, n_classes=3, covariance="diagonal", normalize=False),
    "hinge, columns in use": lambda: smidgen.HingeConfidit(dim=300, n_classes=3),
    "confidit": lambda: smidgen.Confidit(dim=4, labels=["a", "b", "c"], eta=0.5, alpha=0.6),
    "confidit, full": lambda: smidgen.Confidit(dim=4, n_classes=3, eta="theory", covariance="full", project=True),
    "banditron": lambda: smidgen.Banditron(dim=4, n_classes=3, gamma=0.3),
}
CHOOSE: dict[str, Any] = {
    "linucb": lambda: smidgen.LinUCB(dim=4, floor=0.1),
    "linucb, diagonal": lambda: smidgen.LinUCB(dim=4, covariance="diagonal", forgetting=0.9),
    "squarecb": lambda: smidgen.SquareCB(dim=4),
    "thompson": lambda: smidgen.ThompsonChoice(dim=4),
    "thompson, diagonal": lambda: smidgen.ThompsonChoice(dim=4, covariance="diagonal"),
}


class Played:
    """A run by the verbs, with answers late and missing, and the same as a batch."""

    def __init__(self, learner: BatchLearner, seed: int, count: int, wild: float) -> None:
        self.steps: list[LogStep] = []
        self.numbers: list[int] = []
        self.places: list[int] = []
        self.decided: dict[int, Decision] = {}
        self.learnt: list[tuple[Decision, Any]] = []
        rng, waiting = np.random.default_rng(seed), []
        labels = getattr(learner, "labels", None)
        for i in range(count):
            if not waiting or rng.random() < 0.5:
                size = wild if i % 50 == 49 else 1.0
                many = (int(rng.integers(1, 6)), 4)
                context = _row(rng, learner.dim, size) if labels else Choice(rng.normal(size=many) * size)
                made = self.decided[i] = learner.decide(context)
                waiting.append((made, i, context))
                self._take(LogStep(context), made.number, i)
                continue
            made, place, context = waiting.pop(int(rng.integers(len(waiting))))
            if labels and rng.random() < 0.5:  # a round of its own
                true = int(rng.integers(3))
                found: Any = made.action == labels[true]
                self._take(LogStep(context, -2 - true), made.number, place)
            else:
                found = bool(rng.random() < 0.5) if labels else float(rng.random())
                shown = int(rng.integers(3 if labels else len(context)))
                self._take(LogStep(context, shown, found, 0.5), made.number, place)
                made = msgspec.structs.replace(made, action=labels[shown] if labels else shown, propensity=0.5)
            learner.learn(made, found)
            self.learnt.append((made, found))

    def _take(self, step: LogStep, number: int, place: int) -> None:
        self.steps.append(step)
        self.numbers.append(number)
        self.places.append(place)

    def follow(self, learner: BatchLearner, size: int) -> list[tuple[Any, ...]]:
        """Decisions of the batch follower, with a given number of steps per batch."""
        known: dict[int, tuple[int, int, float]] = {}
        out = []
        for start in range(0, len(self.steps), size):
            steps, numbers = self.steps[start : start + size], self.numbers[start : start + size]
            batch, places = LogBatch(steps), self.places[start : start + size]
            before = sorted({place for place in places if place < start})
            where = [place - start if place >= start else len(steps) + before.index(place) for place in places]
            outcomes = make_outcomes(batch, [known[place] for place in before], getattr(learner, "n_classes", 0))
            learner.follow(batch, LearnerSteps(np.array(numbers), np.array(where)), outcomes)
            for t, step in enumerate(steps):
                if step.action == DECIDE:
                    known[start + t] = (int(outcomes.actions[t]), int(outcomes.greedy[t]), float(outcomes.p[t]))
                    out.append((*known[start + t][:2], repr(known[start + t][2]), *_every(batch, outcomes, t)))
        return out

    def replayed(self, learner: BatchLearner, traced: bool) -> list[tuple[Any, ...]]:
        """Decisions of the two verbs, in the form of `follow`."""
        out: list[tuple[Any, ...]] = []
        for made in self.decided.values():
            p = float("nan") if made.propensity is None else made.propensity
            every = (made.propensities, made.scores) if made.propensities is not None and traced else ()
            every = every[:1] if hasattr(learner, "labels") else every  # of labels the shares, where several are tied
            out.append(
                (*_numbers(learner, made), repr(float(p)), *(each.tobytes() for each in every if each is not None))
            )
        return out


def _row(rng: np.random.Generator, dim: int, size: float) -> Row:
    indices = np.sort(rng.choice(dim, 4, replace=False)).astype(np.uint32)
    indices.flags.writeable = False
    return Row(indices, rng.normal(size=4) * size, dim)


def _numbers(learner: Any, made: Decision) -> tuple[int, int]:
    labels = getattr(learner, "labels", None)
    return (labels.index(made.action), labels.index(made.greedy)) if labels else (made.action, made.greedy)


def _every(batch: LogBatch, outcomes: Outcomes, t: int) -> tuple[bytes, ...]:
    if batch.arrays is None:
        return ()
    if batch.labels:
        K = len(outcomes.shares) // (len(batch.arrays.starts) - 1)
        shares = outcomes.shares[batch.arrays.first[t] * K : batch.arrays.first[t] * K + K]
        return () if np.isnan(shares).any() else (shares.tobytes(),)
    part = slice(batch.arrays.first[t], batch.arrays.first[t] + batch.arrays.counts[t])
    return outcomes.shares[part].tobytes(), outcomes.scores[part].tobytes()


@pytest.mark.parametrize("wild", [1.0, 1e4])
@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("name", [*LABEL, *CHOOSE])
def test_a_course_is_the_two_verbs(name: str, guarded: bool, wild: float) -> None:
    make = (LABEL | CHOOSE)[name]
    verbs = make().guard() if guarded else make()
    run = Played(verbs, 3, 300, wild)
    for size in (7, 60, 300):
        along = make().guard() if guarded else make()
        assert along._takes(LogBatch(run.steps)) is not None
        found, given = run.follow(along, size), run.replayed(verbs, True)
        if name in CHOOSE:  # the verbs tell the greedy one; nobody asks for that of a choice
            found, given = [(each[0], *each[2:]) for each in found], [(each[0], *each[2:]) for each in given]
        assert found == given
        assert along.to_bytes() == verbs.to_bytes()


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("name", [*LABEL, *CHOOSE])
def test_learning_many_is_learning_each(name: str, guarded: bool) -> None:
    make = (LABEL | CHOOSE)[name]
    run = Played(make(), 5, 300, 1e4)
    one, many = (make().guard(), make().guard()) if guarded else (make(), make())
    decisions, found = zip(*run.learnt, strict=True)
    Learner.learn_many(one, decisions, found)
    many.learn_many(decisions, found)
    assert many.to_bytes() == one.to_bytes()


@pytest.mark.parametrize("name", ["hinge", "banditron", "linucb"])
def test_kernels_are_really_gone_by(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make = (LABEL | CHOOSE)[name]
    run, along = Played(make(), 1, 60, 1.0), make()
    owner = next(each for each in type(along).__mro__ if "_learn" in vars(each))
    monkeypatch.setattr(owner, "_learn", None)
    monkeypatch.setattr(owner, "_decide", None)
    run.follow(along, 60)
    assert along.rounds > 10


class Twice(smidgen.LinUCB):
    """A learner that learns differently and has no kernels."""

    def _learn(self, decision: Decision, feedback: Any) -> None:
        super()._learn(decision, feedback)
        super()._learn(decision, feedback)


def test_who_learns_otherwise_goes_by_the_verbs() -> None:
    verbs, along = Twice(dim=4), Twice(dim=4)
    run = Played(verbs, 5, 60, 1.0)
    assert along._takes(LogBatch(run.steps)) is None
    run.follow(along, 60)
    assert along.to_bytes() == verbs.to_bytes()


@pytest.mark.parametrize("bad", [-0.1, 1.5, float("nan"), True, "good", None])
def test_a_refusal_comes_where_the_verbs_have_it(bad: Any) -> None:
    learner, twin = smidgen.LinUCB(dim=2), smidgen.LinUCB(dim=2)
    decisions = [twin.decide(Choice(np.eye(2))) for _ in range(10)]
    listed = [0.5] * 6 + [bad] + [0.5] * 3
    with pytest.raises(SmidgenError) as by_verb:
        Learner.learn_many(twin, decisions, listed)
    with pytest.raises(type(by_verb.value)) as at_once:
        learner.learn_many(decisions, listed)
    assert str(at_once.value) == str(by_verb.value)
    assert learner.rounds == twin.rounds == 6
    assert learner.weights.tobytes() == twin.weights.tobytes()


@pytest.mark.parametrize("context", [Choice(np.eye(4), available=[0, 1]), Choice(np.eye(3)), "x"])
def test_other_contexts_go_by_the_verbs(context: Any) -> None:
    steps = [LogStep(Choice(np.eye(4)))] * 3 + [LogStep(context)] + [LogStep(Choice(np.eye(4)))] * 3
    assert LogBatch(steps).arrays is None
    assert LogBatch([LogStep(Choice(np.eye(4)))] * 3).arrays is None  # too few


def test_what_does_not_become_finite_is_left_to_the_verbs() -> None:
    huge = Choice(np.array([[1e200, 0.0], [0.0, 1e200]]))
    learner, twin = smidgen.LinUCB(dim=2), smidgen.LinUCB(dim=2)
    decisions = [twin.decide(Choice(np.eye(2))) for _ in range(6)]
    decisions += [msgspec.structs.replace(decisions[0], number=7, context=huge)]
    with pytest.raises(SmidgenError):
        Learner.learn_many(twin, decisions, [0.5] * 7)
    with pytest.raises(SmidgenError):
        learner.learn_many(decisions, [0.5] * 7)
    assert learner.rounds == twin.rounds == 6
    assert learner.weights.tobytes() == twin.weights.tobytes()


@pytest.mark.parametrize("make", [lambda: smidgen.LinUCB(dim=4), lambda: Twice(dim=4)])
def test_teaching_along_a_course_is_teaching(make: Any) -> None:
    run, along, one = Played(smidgen.LinUCB(dim=4), 2, 80, 1.0), make(), make()
    found = along.teach_along(LogBatch(run.steps))
    for step, scores in zip(run.steps, found, strict=True):
        if step.action == DECIDE:
            assert scores.tobytes() == np.clip(one._decide(step.context, 0).scores, 0.0, 1.0).tobytes()
        else:
            one.teach(step.context, (step.action, step.feedback))
    assert along.to_bytes() == one.to_bytes()
