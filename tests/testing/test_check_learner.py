"""Broken learners fail the shipped laws, each the law that it breaks; an honest one keeps them all."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from msgspec import structs

import smidgen
from smidgen import Card, Decision
from smidgen.errors import InvalidFeedback, SmidgenError
from smidgen.features import Row, as_row
from smidgen.learners import cards, learners
from smidgen.testing import Form, check_learner
from smidgen.testing.inputs import Labelling
from testing.prototype import CARD, Prototype


@contextmanager
def registered(cls: Any, card: Card = CARD) -> Iterator[None]:
    smidgen.register(card)(cls)
    try:
        yield
    finally:
        del learners[cls.__name__], cards[cls.__name__]


def test_an_honest_learner_keeps_them_all() -> None:
    with registered(Prototype):
        check_learner(Prototype)
        check_learner(Prototype, settings={"explore": 0.0, "rate": 0.5})
        check_learner(Prototype, forms=[Labelling("rows", 4)])


BROKEN: list[tuple[str, type[Prototype], Card]] = []


def breaks(law: str, **changes: Any) -> Any:
    """A learner that breaks this law, and is to be found out by it."""

    def enter(cls: type[Prototype]) -> type[Prototype]:
        BROKEN.append((law, cls, replace(CARD, **changes)))
        return cls

    return enter


@breaks("arguments are keywords")
class ByPosition(Prototype):
    def __init__(self, dim: int, n_classes: int, seed: int = 0) -> None:
        super().__init__(dim=dim, n_classes=n_classes, seed=seed)


@breaks("a bad seed is refused")
class AnySeed(Prototype):
    def __init__(self, *, dim: int, n_classes: int, seed: Any = 0) -> None:
        super().__init__(dim=dim, n_classes=n_classes, seed=seed if type(seed) is int and 0 <= seed < 2**64 else 0)


@breaks("settings are recorded")
class KeepsToItself(Prototype):
    def __init__(self, *, dim: int, n_classes: int, rate: float = 1.0, seed: int = 0) -> None:
        super().__init__(dim=dim, n_classes=n_classes, seed=seed)
        self._params = {"dim": dim, "n_classes": n_classes, "seed": self._seed}
        self._asked = {"dim": dim, "n_classes": n_classes, **({"seed": seed} if seed else {})}
        self._settings = smidgen.settings.fingerprint(self._kind, 1, self._asked)
        self.rate = rate


@breaks("older versions can be read")
class ForgetsOldSettings(Prototype):
    settings_version = 3
    older_settings: ClassVar[Any] = {2: {}}  # and the first?


@breaks("older versions can be read")
class ForgetsOldArrays(Prototype):
    state_version = 2


@breaks("the card tells the size", size=lambda settings: 8)
class LargerThanTold(Prototype):
    def _state(self) -> dict[str, Any]:
        return {"W": self._W, "attic": np.zeros(1000)}


@breaks("the same seed gives the same run")
class Unseeded(Prototype):
    def _decide(self, context: Any, number: int) -> Decision:
        made = super()._decide(context, number)
        return structs.replace(made, action=int(np.random.default_rng().integers(self.n_classes)))


@breaks("global randomness is left alone")
class DrawsFromAll(Prototype):
    def _predict(self, context: Any) -> int:
        random.random()
        return super()._predict(context)


@breaks("another seed gives another run")
class OneSeedForAll(Prototype):
    def _decide(self, context: Any, number: int) -> Decision:
        mine, self._seed = self._seed, 0
        try:
            return super()._decide(context, number)
        finally:
            self._seed = mine


@breaks("predict is pure")
class LearnsByPredicting(Prototype):
    def _predict(self, context: Any) -> int:
        self._W[0] += 1e-3
        return super()._predict(context)


@breaks("predict is the greedy part of decide")
class PredictsOtherwise(Prototype):
    def _predict(self, context: Any) -> int:
        return (super()._predict(context) + 1) % self.n_classes


@breaks("decide changes nothing but its counter")
class DecidesAndChanges(Prototype):
    def _decide(self, context: Any, number: int) -> Decision:
        made = super()._decide(context, number)
        self._W *= 0.99
        return made


@breaks("what it is given stays as it was")
class Normalizes(Prototype):
    def _decide(self, context: Any, number: int) -> Decision:
        if isinstance(context, np.ndarray) and context.dtype == np.float64 and context.shape == (self.dim,):
            context /= 1.0 + np.abs(context).max()
        return super()._decide(context, number)


@breaks("weights are a copy")
class HandsOutItsWeights(Prototype):
    @property
    def weights(self) -> Any:
        return self._W


@breaks("unanswered decisions cost nothing")
class Hoards(Prototype):
    def __init__(self, *, dim: int, n_classes: int, seed: int = 0) -> None:
        super().__init__(dim=dim, n_classes=n_classes, seed=seed)
        self._waiting: dict[int, Any] = {}

    def _decide(self, context: Any, number: int) -> Decision:
        made = super()._decide(context, number)
        self._waiting[number] = made
        return made


@breaks("save load continue is bit identical")
class LeavesStateOut(Prototype):
    def __init__(self, *, dim: int, n_classes: int, seed: int = 0) -> None:
        super().__init__(dim=dim, n_classes=n_classes, seed=seed)
        self._momentum = np.zeros(dim)

    def _move(self, decision: Decision, truth: int, step: Any) -> None:
        self._momentum = 0.5 * self._momentum + 0.5 * step
        super()._move(decision, truth, self._momentum)


@breaks("replay equals live")
class LeansOnDeciding(Prototype):
    """Learns from what it remembers of deciding, and not from the decision."""

    def __init__(self, *, dim: int, n_classes: int, seed: int = 0) -> None:
        super().__init__(dim=dim, n_classes=n_classes, seed=seed)
        self._latest = 0.0

    def _decide(self, context: Any, number: int) -> Decision:
        made = super()._decide(context, number)
        self._latest = float(np.abs(made.context.dense()).sum())
        return made

    def _move(self, decision: Decision, truth: int, step: Any) -> None:
        super()._move(decision, truth, step * (1.0 + self._latest))


@breaks("replay equals live")
class LearnsByTheLiveWeights(Prototype):
    """A faulty learner: it decides again when feedback arrives; for late feedback that is another label."""

    def _learn(self, decision: Decision, feedback: Any) -> None:
        if self.decisions > decision.number:  # live, and late
            decision = structs.replace(decision, action=self._predict(decision.context))
        super()._learn(decision, feedback)


class Secret:
    """A context that no record can hold."""

    def __init__(self, row: Row) -> None:
        self.row = row

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.row == self.row

    __hash__ = None


@breaks("a decision survives json and bytes")
class KeepsSecrets(Prototype):
    def _decide(self, context: Any, number: int) -> Decision:
        row = context.row if isinstance(context, Secret) else context
        made = super()._decide(row, number)
        return structs.replace(made, context=Secret(made.context))

    def _learn(self, decision: Decision, feedback: Any) -> None:
        super()._learn(structs.replace(decision, context=decision.context.row), feedback)


@breaks("csr equals dense")
class ReadsSparseOtherwise(Prototype):
    def _decide(self, context: Any, number: int) -> Decision:
        made = super()._decide(context, number)
        if not isinstance(context, np.ndarray):
            made = structs.replace(made, context=as_row(np.sign(made.context.dense()), self.dim))
        return made


@breaks("late and permuted feedback is taken", order_free=True)
class SaysThatOrderIsNothing(Prototype):
    def _move(self, decision: Decision, truth: int, step: Any) -> None:
        super()._move(decision, truth, step)
        self._W = 0.5 * self._W


@breaks("many at once are each in turn")
class LearnsManyBackwards(Prototype):
    def learn_many(self, decisions: Any, feedback: Any) -> None:
        super().learn_many(decisions[::-1], feedback[::-1])


@breaks("many at once are each in turn")
class LearnsAllOrNone(Prototype):
    def learn_many(self, decisions: Any, feedback: Any) -> None:
        before = self.to_bytes()
        try:
            super().learn_many(decisions, feedback)
        except SmidgenError:
            kept = type(self).from_bytes(before)
            self._restore(kept._state())
            self._learnt = kept._learnt
            self._decided = kept._decided
            raise


@breaks("a decision is learnt at most once")
class LearnsTwice(Prototype):
    def _admit(self, decision: Decision) -> None:
        self._refuse_foreign(decision)


@breaks("decisions of others are refused")
class TakesStrangers(Prototype):
    def _refuse_foreign(self, decision: Decision) -> None:
        if not isinstance(decision, Decision):
            super()._refuse_foreign(decision)


@breaks("taught saved loaded and continued is bit identical")
class TeachingTakesNumbers(Prototype):
    def _teach(self, context: Any, answer: Any, number: int) -> None:
        self._learn(self.decide(context), answer)


@breaks("a refused call changes nothing")
class ForeignErrors(Prototype):
    def _learn(self, decision: Decision, feedback: Any) -> None:
        names = {label: label for label in range(self.n_classes)}
        self._move(decision, names[feedback], self.rate * decision.context.dense())


@breaks("a refused call changes nothing")
class StepsThenRefuses(Prototype):
    def _learn(self, decision: Decision, feedback: Any) -> None:
        self._W = self._W + 1e-6
        super()._learn(decision, feedback)


@breaks("a refused call changes nothing")
class TakesAnything(Prototype):
    def _learn(self, decision: Decision, feedback: Any) -> None:
        truth = feedback if type(feedback) is int and 0 <= feedback < self.n_classes else 0
        super()._learn(decision, truth)


@breaks("a step beyond floating point is refused whole")
class Poisoned(Prototype):
    def _scores(self, row: Row) -> Any:
        with np.errstate(all="ignore"):
            return np.nan_to_num(self._W @ row.dense())

    def _move(self, decision: Decision, truth: int, step: Any) -> None:
        with np.errstate(all="ignore"):
            self._W = self._W.copy()
            self._W[truth] += step * 1e10
            self._W[decision.action] -= step * 1e10


@breaks("milliseconds are ordinary input")
class RefusesTimestamps(Prototype):
    def _learn(self, decision: Decision, feedback: Any) -> None:
        if np.abs(decision.context.values).max(initial=0.0) > 1e9:
            raise InvalidFeedback("too large", "send less")
        super()._learn(decision, feedback)


@pytest.mark.parametrize(("law", "cls", "card"), BROKEN, ids=[cls.__name__ for _, cls, _ in BROKEN])
def test_each_breaks_its_own_law(law: str, cls: type[Prototype], card: Card) -> None:
    with registered(cls, card), pytest.raises(AssertionError, match=f"^{cls.__name__}.*: the law '{law}' ") as found:
        check_learner(cls)
    assert len(str(found.value)) > len(law) + 20


def test_a_class_without_a_card_is_refused() -> None:
    class Nameless(Prototype):
        pass

    with pytest.raises(AssertionError, match="the class is registered"):
        check_learner(Nameless)


def test_a_loop_that_nobody_knows_needs_a_form() -> None:
    class Silence(Form):
        def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
            return [None] * n

        def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
            return True

    from smidgen.learners.card import plugin_loops

    plugin_loops.add("hush")
    try:
        with registered(Prototype, replace(CARD, loop="hush")):
            with pytest.raises(SmidgenError, match=r"smidgen\.testing\.Form"):
                check_learner(Prototype)
            with pytest.raises(AssertionError, match="Prototype-silent: the law"):
                check_learner(Prototype, forms=[Silence("silent")])
    finally:
        plugin_loops.discard("hush")


def test_importing_the_laws_needs_no_test_framework() -> None:
    import subprocess
    import sys

    code = (
        "import sys, smidgen.testing as t; t.check_learner, t.check_structure, t.check_store;"
        "print(sorted({'pytest', 'hypothesis', 'starlette', 'typer', 'httpx', 'sklearn'} & set(sys.modules)))"
    )
    played = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert played.stdout.strip() == "[]"


def state_of(cls: type[Prototype]) -> Mapping[str, Any]:
    return cls(dim=2, n_classes=2)._state()


def test_the_broken_ones_are_whole_but_for_one_thing() -> None:
    assert {cls.__name__ for _, cls, _ in BROKEN if "W" not in state_of(cls)} == set()
    assert len(BROKEN) >= 25
