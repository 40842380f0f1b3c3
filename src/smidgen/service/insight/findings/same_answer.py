"""Every answer is the same one: nothing to learn from."""

from __future__ import annotations

from collections.abc import Iterable

from smidgen.learners import Feedback
from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check, percent
from smidgen.service.messages import Finding

#: So many answers that are all the same are enough.
SAME_AFTER = 30
#: After so many decisions, of which at least half are unanswered, this many answers of nothing but good news are.
GOOD_NEWS_DECISIONS, GOOD_NEWS_FEW = 40, 5
#: What an answer may say that can be the same again and again.
KINDS = {Feedback.BIT, Feedback.REWARD, Feedback.RELEVANCE, Feedback.LOSS}


class SameAnswer(Check):
    """Rewards that are always 1, bits that are always right, losses that never differ.

    The first and the latest answers all have the same figure. What was good cannot be told from what was not.
    """

    code = "nothing_to_learn"

    def look(self, evidence: Evidence) -> Finding | None:
        """Say so if the answers have one value."""
        kinds, measures = evidence.kinds, evidence.measures
        if not kinds or not kinds.keys() <= KINDS or not measures or min(measures) < max(measures):
            return None
        if evidence.learns_silence and not evidence.ended:  # what it is worth comes with the end of the first window
            return None
        n, value, shown = len(measures), measures[0], evidence.shown
        unanswered = sum(row.silent for row in shown)
        good = value == evidence.best
        few = good and len(shown) >= GOOD_NEWS_DECISIONS and 2 * unanswered >= len(shown)
        if n < (GOOD_NEWS_FEW if few else SAME_AFTER) or not evidence.beginning.all_are(value):
            return None
        what = _said(kinds, value)
        others = (
            f", and {percent(unanswered / len(shown))} of the latest decisions have no answer" if unanswered else ""
        )
        still = all(step.moved == 0.0 for step in evidence.steps)
        return self.found(
            "problem" if still or (good and 2 * unanswered >= len(shown)) else "warning",
            f"Nothing to learn from: all of {n} answers say the same, {what}{others}.",
            'Report what was not good, too. Where silence means "no", a reward model learns it by itself with '
            '"default_reward": 0.'
            if good
            else "Report what differs between one answer and another, or check what the app sends.",
            {"answered": n, "value": value, "unanswered": unanswered, "decisions": len(shown)},
        )


def _said(kinds: Iterable[str], value: float) -> str:
    names = {
        Feedback.BIT: ("wrong", "right"),
        Feedback.RELEVANCE: ("not relevant", "relevant"),
        Feedback.LOSS: (f"loss {value:.4g}",) * 2,
    }
    for kind in kinds:
        if kind in names and (value in (0.0, 1.0) or kind == Feedback.LOSS):
            return names[Feedback(kind)][value == 1.0]
    return f"reward {value:.4g}"
