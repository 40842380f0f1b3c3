"""Theorems about learners: their bounds for measured runs and for models in service."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from smidgen.decision import FloatArray
from smidgen.optim import Rule
from smidgen.theory import choose, filter, label, preferences, tune
from smidgen.theory.base import Measured, Premises, Theorem, find, state, stated

__all__ = ["Measured", "Premises", "Theorem", "Verdict", "bound_for", "find", "state", "stated", "theorem"]

#: The files that state them.
FILES = (choose, filter, label, preferences, tune)
R = TypeVar("R", bound=Rule)


@dataclass(frozen=True)
class Verdict:
    """A bound with what it bounds, or the reason why there is none."""

    bound: FloatArray | None
    note: str
    on: str = "average_regret"


Speaking: TypeAlias = Callable[[R, Measured], Verdict]
_PLUGINS: dict[type[Rule], Speaking[Any]] = {}


def theorem(rule: type[R]) -> Callable[[Speaking[R]], Speaking[R]]:
    """Register a theorem of yours for a rule of yours: a function of the rule and of what was measured."""

    def enter(speak: Speaking[R]) -> Speaking[R]:
        _PLUGINS[rule] = speak
        return speak

    return enter


def bound_for(rule: Rule, m: Measured) -> Verdict:
    """The bound that a theorem gives for a learner with this rule, in the measured run.

    The rule's exact type counts: a subclass may step otherwise, and then no theorem speaks of it.
    """
    if (speak := _PLUGINS.get(type(rule))) is not None:
        return speak(rule, m)
    for each in stated.values():
        if each.rule is type(rule) and each.run is not None:
            known = each.run(rule, m)
            if isinstance(known, str):
                return Verdict(None, known)
            return Verdict(np.asarray(each.per_round(known)), each.title, each.on)
    return Verdict(None, f"no theorem for the rule {type(rule).__name__}")


#: Rounds learnt, and by how many updates the weights that decided were behind at most until then.
Rounds = Sequence[tuple[int, int]]


class Guarantee(NamedTuple):
    """A bound on the average regret.

    Attributes
    ----------
    theorem
        Which theorem speaks.
    unit
        What the numbers are multiples of, where users keep a quantity to themselves; empty for plain losses.
    assumes
        What must be true of the users for the theorem to hold.
    curve
        Rounds and bound.
    why_not
        Why there is no curve.
    checked
        Which conditions the data were asked for, and hold.
    """

    theorem: str | None = None
    unit: str = ""
    assumes: str = ""
    curve: Sequence[tuple[int, float]] = ()
    why_not: str | None = None
    checked: str = ""


def promised(
    theorem: str | Theorem | Callable[[Mapping[str, Any], int], float] | None,
    words: str,
    settings: Mapping[str, Any],
    points: Rounds,
) -> Guarantee:
    """The bound after this many rounds.

    Parameters
    ----------
    theorem, words
        Of the learner's card: its theorem, and its bound in words.
    settings
        Those of the learner (`params`); what is optional and was not given may be missing.
    points
        What was observed, in order.

    Examples
    --------
    >>> from smidgen.theory.theorems import promised
    >>> promised("batched preferences", "", {"dim": 3, "batch": 4}, [(25, 0), (100, 0)]).curve
    [(25, 0.8), (100, 0.4)]
    >>> promised("batched preferences", "", {"dim": 3, "batch": 4}, [(25, 3)]).why_not
    'Lemma 4 has feedback come before the next decision; here up to 3 events lay between the two.'
    """
    if not points:
        return Guarantee(why_not="No feedback has been learned yet.")
    if theorem is None:
        return Guarantee(why_not=f"There is no theorem for this learner: {words}.")
    if isinstance(theorem, str):
        theorem = find(theorem)
    if isinstance(theorem, Theorem):
        return _stated(theorem, settings, points)
    if lag := points[-1][1]:
        return _late("The bound", lag)
    return Guarantee(words, "", "", [(T, float(theorem(settings, T))) for T, _ in points])


def _stated(theorem: Theorem, settings: Mapping[str, Any], points: Rounds) -> Guarantee:
    """The bound where the theorem applies; the last point decides whether it applies at all."""
    terms = theorem.terms(settings, points[-1][0])
    if isinstance(terms, str):
        return Guarantee(why_not=f"{terms}.")
    late = points[-1][1]
    if late and not theorem.allows_lag:
        return _late(theorem.title, late)
    curve: dict[int, float] = {}
    for T, lag in points:
        then = theorem.terms(settings, T)
        if not isinstance(then, str):
            known = {theorem.counts: T, **({"lag": lag} if theorem.allows_lag else {}), **then.known}
            curve[known[theorem.counts]] = float(theorem.per_round(known))
    title = terms.title or theorem.title
    behind = f"; at most {late:,} updates late" if late else ""
    return Guarantee(f"{title}{behind}", theorem.unit, terms.assumes, list(curve.items()))


def _late(title: str, lag: int) -> Guarantee:
    return Guarantee(
        why_not=f"{title} has feedback come before the next decision; here up to {lag:,} events lay between the two."
    )
