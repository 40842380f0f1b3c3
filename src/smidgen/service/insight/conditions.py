"""The conditions of a model's theorem, as far as its data can tell: which were checked, and which one fails.

A bound is a promise under conditions. Those that the log can refute are looked at here; a bound is drawn only if none
of them fails. What no log can show (that losses are convex, say) stands beside the bound as an assumption.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from smidgen.errors import SmidgenError
from smidgen.learners import Feedback
from smidgen.service.insight.comparisons import agreeing, compared
from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import percent
from smidgen.service.messages import Finding

#: From this share of silent decisions on the rounds that theory counts are not the decisions that were made.
SILENT_SHARE = 0.05


class Checked(NamedTuple):
    """What the data say.

    Attributes
    ----------
    fails
        The first condition that does not hold, as a sentence; None if all hold.
    holds
        What was checked and holds, as a sentence.
    """

    fails: str | None = None
    holds: str = ""


def checked(evidence: Evidence, findings: Sequence[Finding]) -> Checked:
    """Look at the conditions that data can refute."""
    if evidence.card.theorem is None or not evidence.answers:
        return Checked()
    n = len(evidence.steps)
    found = {finding.code: finding for finding in findings}
    for code in ("nothing_to_learn", "out_of_bound", "contradiction"):
        if code in found:
            return Checked(fails=f"A condition of the theorem fails. {found[code].message}")
    if (silence := _silence(evidence)) is not None:
        return Checked(fails=silence)
    if (scaled := sum(step.scaled for step in evidence.steps)) > 0:
        return Checked(fails=f"The theorem is for steps on features as they come; {scaled} of {n} were scaled down.")
    held = [f"no number beyond its bound in the last {n} feedbacks", "no silence to speak of"]
    if evidence.kinds.keys() & {Feedback.BETTER, Feedback.CLICKS}:
        if evidence.kinds.get(Feedback.CLICKS):
            return Checked(fails="The theorem is for corrections; clicks are none: nobody clicks what he has not seen.")
        agree = _one_taste(evidence)
        if agree is None:
            return Checked(fails="Whether one taste agrees with all answers could not be checked: too many features.")
        if not agree:
            return Checked(
                fails=f"Feedback without slack is a condition, and no one taste agrees with all of the last {n}."
            )
        held[0] = f"one taste agrees with all of the last {n} answers"
    return Checked(holds=f"Checked on the data: {', '.join(held)}.")


def _silence(evidence: Evidence) -> str | None:
    rows = evidence.ended
    silent = sum(row.silent for row in rows)
    if not rows or silent < SILENT_SHARE * len(rows) or silent == 0:
        return None
    share = percent(silent / len(rows))
    return f"The theorem counts every round, and {share} of the last {len(rows)} decisions were never answered."


def _one_taste(evidence: Evidence) -> bool | None:
    differences = []
    for step in evidence.steps:
        try:
            difference = compared(step)
        except SmidgenError:
            continue
        if difference is not None:
            differences.append(difference)
    return agreeing(differences)
