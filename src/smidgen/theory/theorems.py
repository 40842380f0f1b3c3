"""Which theorem speaks of which learner, and what it says of a measured run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from smidgen.decision import FloatArray
from smidgen.optim import Rule
from smidgen.theory import choose, filter, label, preference_theorems, tune
from smidgen.theory.statement import Measured, Premises, Theorem, find, state, stated

__all__ = ["Measured", "Premises", "Theorem", "Verdict", "bound_for", "find", "state", "stated", "theorem"]

#: The files that state them.
FILES = (choose, filter, label, preference_theorems, tune)
R = TypeVar("R", bound=Rule)


@dataclass(frozen=True)
class Verdict:
    """A bound with what it bounds, or the reason why there is none."""

    bound: FloatArray | None
    note: str
    on: str = "average_regret"


Speaking: TypeAlias = Callable[[R, Measured], Verdict]
_GUESTS: dict[type[Rule], Speaking[Any]] = {}


def theorem(rule: type[R]) -> Callable[[Speaking[R]], Speaking[R]]:
    """Register a theorem of yours for a rule of yours: a function of the rule and of what was measured."""

    def enter(speak: Speaking[R]) -> Speaking[R]:
        _GUESTS[rule] = speak
        return speak

    return enter


def bound_for(rule: Rule, m: Measured) -> Verdict:
    """The bound that a theorem gives for a learner with this rule, in the measured run.

    The rule's exact type counts: a subclass may step otherwise, and then no theorem speaks of it.
    """
    if (speak := _GUESTS.get(type(rule))) is not None:
        return speak(rule, m)
    for each in stated.values():
        if each.rule is type(rule) and each.run is not None:
            known = each.run(rule, m)
            if isinstance(known, str):
                return Verdict(None, known)
            return Verdict(np.asarray(each.per_round(known)), each.title, each.on)
    return Verdict(None, f"no theorem for the rule {type(rule).__name__}")
