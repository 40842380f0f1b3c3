"""Only what is shown is heard of, and nothing but the favourite is ever shown."""

from __future__ import annotations

from smidgen.decision import Decision
from smidgen.learners import Feedback
from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check
from smidgen.service.messages import Finding

#: So many decisions are enough.
EXPLORATION_AFTER = 40
#: Answers that speak of nothing but what was shown.
PARTIAL = {Feedback.CLICKS, Feedback.BIT, Feedback.REWARD, Feedback.RELEVANCE}


class NoExploration(Check):
    """Feedback that speaks of the shown answer only, and a learner that never tries another.

    A decision explores if it is not the greedy one, or if its action was drawn, so that another had a chance. A learner
    that goes by confidence explores as long as it is unsure; if it draws nothing beside that, what others would
    have done cannot be told from its log. A filter that drops everything hears of nothing.
    """

    code = "no_exploration"

    def look(self, evidence: Evidence) -> Finding | None:
        """Say so if neither the latest decisions nor the first ones explored."""
        rows, kinds = evidence.latest, evidence.kinds
        if len(rows) < EXPLORATION_AFTER or not kinds or not kinds.keys() <= PARTIAL:
            return None
        if rows[0].forwarded is not None:
            return self._filter(evidence)
        offered = [decision for decision in evidence.decisions if _options(evidence, decision) > 1]
        if not offered or any(_drawn(decision) for decision in offered):
            return None
        explored = evidence.beginning.explored + sum(row.explored for row in rows)
        unsure = any(decision.widths is not None for decision in offered)
        figures: dict[str, float | int | str | None] = {"decisions": len(rows), "explored": explored}
        if unsure and all(decision.propensities is not None for decision in offered):
            return self.found(
                "info",
                f"Nothing is left to chance: of the last {len(offered)} decisions each had one possible answer.",
                'Give "explore" a small share, 0.02 say: then every answer has a known probability, and other models '
                "can be judged by this log.",
                figures,
            )
        if explored or unsure:
            return None
        return self.found(
            "warning",
            f"No exploration: all of the last {len(rows)} decisions showed the favourite, and feedback speaks only of "
            "what is shown.",
            'Take a learner that tries others: leave "learner" out, and the recommended one is taken.',
            figures,
        )

    def _filter(self, evidence: Evidence) -> Finding | None:
        rows = evidence.latest[-EXPLORATION_AFTER:]
        if any(row.forwarded or row.answer is not None for row in rows):
            return None
        return self.found(
            "problem",
            f"All of the last {len(rows)} items were dropped: nobody sees them, so nothing can be learnt any more.",
            'Make the model with a filter that explores ("explore": "sparing" where the learner has it), or with a '
            "constant feature.",
            {"decisions": len(rows), "forwarded": 0, "explored": 0},
        )


def _drawn(decision: Decision) -> bool:
    """Whether another answer had a chance."""
    if decision.propensities is not None:
        return float(decision.propensities.max()) < 1.0
    return decision.log_propensity is not None or (decision.propensity is not None and decision.propensity < 1.0)


def _options(evidence: Evidence, decision: Decision) -> int:
    """Among how many answers it could choose."""
    context, settings = decision.context, evidence.model.blueprint.settings
    if hasattr(context, "candidates") or hasattr(context, "rows"):
        return len(context) if getattr(context, "candidates", True) else int(settings.get("n_classes") or 2)
    return int(settings.get("n_classes") or 2)
