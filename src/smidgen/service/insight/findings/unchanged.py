"""Everything that was answered left the answer as it was: nothing to learn from."""

from __future__ import annotations

from smidgen.learners import Feedback
from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check, percent
from smidgen.service.messages import Finding

#: So many answers are enough to say that no answer ever changes anything.
UNCHANGED_AFTER = 10
#: After so many decisions, of which at least half are unanswered, this many answers are enough.
UNCHANGED_DECISIONS, UNCHANGED_FEW = 40, 3


class Unchanged(Check):
    """An app that reports a click as "the shown one was right", and nothing else, teaches nothing.

    Looks at models that learn from something better, or from clicks: the first and the latest answers all left
    what was shown as it was, and no step of the twin moved its weights. A model that has learnt, and is right now, was
    corrected once.
    """

    code = "nothing_to_learn"

    def look(self, evidence: Evidence) -> Finding | None:
        """Say so if no answer has ever changed anything."""
        kinds, measures = evidence.kinds, evidence.measures
        if not kinds or not kinds.keys() <= {Feedback.BETTER, Feedback.CLICKS}:
            return None
        n, unanswered = len(measures), sum(row.silent for row in evidence.shown)
        few = len(evidence.shown) >= UNCHANGED_DECISIONS and 2 * unanswered >= len(evidence.shown)
        if n < (UNCHANGED_FEW if few else UNCHANGED_AFTER) or min(measures) < 1.0:
            return None
        if not evidence.beginning.all_are(1.0) or any(step.moved for step in evidence.steps):
            return None
        silence = unanswered / len(evidence.shown)
        others = f", and {percent(silence)} of the latest decisions have no answer" if unanswered else ""
        return self.found(
            "problem",
            f"Nothing to learn from: all of {n} answers left what was shown as it was{others}. No weight has moved.",
            'If a click means "this was good" and silence "it was not", make the model with "feedback": "reward", send '
            '{"reward": 1} for a click, and give it "default_reward": 0; or name the better candidate when there is '
            "one.",
            {"answered": n, "unchanged": n, "unanswered": unanswered, "decisions": len(evidence.shown)},
        )
