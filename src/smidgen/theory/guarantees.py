"""What theory promises of a model that is at work: the bound where it can be computed, or the reason why it cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from smidgen.theory.theorems import Theorem, find

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
    """The bound after so many rounds.

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
    >>> from smidgen.theory.guarantees import promised
    >>> promised("batched preferences", "", {"dim": 3, "batch": 4}, [(25, 0), (100, 0)]).curve
    [(25, 0.8), (100, 0.4)]
    >>> promised("batched preferences", "", {"dim": 3, "batch": 4}, [(25, 3)]).why_not
    'Lemma 4 has feedback come before the next decision; here up to 3 events lay between the two.'
    """
    if not points:
        return Guarantee(why_not="Nothing has been learnt yet.")
    if theorem is None:
        return Guarantee(why_not=f"No theorem here speaks of this learner: {words}.")
    if isinstance(theorem, str):
        theorem = find(theorem)
    if isinstance(theorem, Theorem):
        return _stated(theorem, settings, points)
    if lag := points[-1][1]:
        return _late("The bound", lag)
    return Guarantee(words, "", "", [(T, float(theorem(settings, T))) for T, _ in points])


def _stated(theorem: Theorem, settings: Mapping[str, Any], points: Rounds) -> Guarantee:
    """What a theorem says where it speaks; whether it does at all, the last point decides."""
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
