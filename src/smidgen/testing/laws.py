"""A learner in one setting and one form of its loop, for the laws; and how a failed law is reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from smidgen import serialization
from smidgen.decision import Decision
from smidgen.errors import SmidgenError
from smidgen.features.rows import is_sparse
from smidgen.learners import Learner
from smidgen.structures import Candidates
from smidgen.testing.inputs import Form


def hold(fact: object, sentence: str) -> None:
    """A law that does not hold; the message is one sentence."""
    if not fact:
        raise AssertionError(sentence)


def refused(what: str, call: Callable[..., Any], *given: Any, kind: type[SmidgenError] = SmidgenError) -> None:
    """The call, with what it is given, is refused by an error of ours, and by no other."""
    try:
        call(*given)
    except kind:
        return
    except Exception as error:
        raise AssertionError(
            f"{what} must be refused by a {kind.__name__}, and raised {type(error).__name__}: {error}"
        ) from error
    raise AssertionError(f"{what} must be refused, and was taken")


def kept(law: Callable[[Any], None], of: Any, about: str) -> None:
    """Check one object against one law; every failure is reported with the law's name."""
    name = law.__name__.replace("_", " ")
    try:
        law(of)
    except AssertionError as error:
        raise AssertionError(f"{about}: the law '{name}' does not hold: {error}") from error
    except Exception as error:
        raise AssertionError(f"{about}: the law '{name}' broke off with {type(error).__name__}: {error}") from error


Log = list[tuple[Decision, Any]]


@dataclass(frozen=True)
class Case:
    """A learner in one setting, in one form of its loop.

    Attributes
    ----------
    cls
        The learner's class.
    form
        What it decides on, and what comes back.
    settings
        Arguments beyond the example of its card.
    variant
        What these settings are called.
    """

    cls: type[Learner]
    form: Form
    settings: Mapping[str, Any] = field(default_factory=dict)
    variant: str = ""

    @property
    def name(self) -> str:
        """The learner's name."""
        return self.cls.__name__

    def make(self, **changes: Any) -> Any:
        """A fresh learner."""
        return self.cls(**{**self.cls.card.example, **self.settings, **changes})

    def play(self, learner: Learner, contexts: list[Any], seed: int = 0, lag: int = 0) -> Log:
        """Decide and learn, with feedback ``delay`` decisions late; return the log of learned decisions."""
        log: Log = []
        waiting: list[tuple[Decision, Any]] = []
        for context in contexts:
            decision = learner.decide(context)
            if self.form.may_learn(learner, decision):
                waiting.append((decision, self.form.feedback(learner, decision, seed)))
            while len(waiting) > lag:
                log.append(waiting.pop(0))
                learner.learn(*log[-1])
        for entry in waiting:
            learner.learn(*entry)
        return log + waiting

    def __str__(self) -> str:
        return "-".join(part for part in (self.name, self.form.name, self.variant) if part)


def snapshot(learner: Learner) -> dict[str, Any]:
    """All that a learner remembers, byte for byte."""
    state = {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in learner._state().items()}
    counted = {"learnt": learner._learnt.ranges().tolist(), "decided": learner.decisions, "taught": learner._taught}
    return {**state, **counted}


def decisions_of(log: Log) -> list[Decision]:
    """The decisions of a log."""
    return [decision for decision, _ in log]


#: Fields of a decision that are left out of its picture where there is no budget.
BUDGET = ("price", "costs")


def picture(value: Any) -> Any:
    """A value as it is now, to be compared with what it is later: arrays by their bytes."""
    if type(value) in (float, int, str, bool, type(None)):  # most of them, and quicker than to try everything below
        return repr(value)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if is_sparse(value):
        return picture(value.toarray())
    if isinstance(value, Decision):
        names = (
            value.__struct_fields__
            if value.costs is not None
            else [n for n in value.__struct_fields__ if n not in BUDGET]
        )
        return [picture(getattr(value, name)) for name in names]
    if isinstance(value, Candidates):
        return picture([value.records, value.context, value.top])
    if isinstance(value, dict):
        return {name: picture(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [picture(item) for item in value]
    if (name := serialization.registered_name(type(value))) is not None:
        return picture(serialization.fields_of(name, value))
    return repr(value)
