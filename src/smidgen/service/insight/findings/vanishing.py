"""Feedback comes, and the weights do not move: steps that vanish."""

from __future__ import annotations

from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check
from smidgen.service.insight.tracing import Step
from smidgen.service.messages import Finding

#: So many answers that should have changed something are enough.
VANISHING_AFTER = 10
#: A step counts as none if it is this much shorter than the weights; of points, than the space is wide.
VANISHING_STEP = 1e-6


class Vanishing(Check):
    """Answers that ask for a change, and steps of no length.

    Features that do not see what the user changed, rows of zeros, a bound that makes every step tiny. All steps of the
    twin that were not confirmed answers are shorter than the threshold.
    """

    code = "nothing_to_learn"

    def look(self, evidence: Evidence) -> Finding | None:
        """Say so if none of the steps that should move anything does."""
        space = evidence.model.blueprint.settings.get("space")
        width = float(getattr(space, "diameter", 0.0) or 0.0)
        asking = [step for step in evidence.steps if step.moved is not None and not _confirmed(evidence, step)]
        moving = [step for step in asking if (step.moved or 0.0) > VANISHING_STEP * (width or step.weight or 0.0)]
        if len(asking) < VANISHING_AFTER or moving:
            return None
        longest = max(step.moved or 0.0 for step in asking)
        hint = (
            "The bounds that the model was made with are far too large for these numbers: make it with smaller ones, "
            "or leave them out."
            if width
            else "Give features that differ where the user's choices differ; as they are, the model cannot see them."
        )
        return self.found(
            "problem",
            f"Steps vanish: {len(asking)} answers asked for a change, and the longest step was {longest:.3g}.",
            hint,
            {"answered": len(asking), "longest_step": longest, "width": width or None},
        )


def _confirmed(evidence: Evidence, step: Step) -> bool:
    """Whether the answer left what was shown as it was; a learner of losses is never told so."""
    return evidence.loop.share and step.measure == 1.0
