"""It was better: a drift alarm."""

from __future__ import annotations

import math

from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check
from smidgen.service.messages import Finding

#: At least so many answers lately, and as many before them.
DRIFT_AFTER = 20
#: At most so many answers are the latest ones.
DRIFT_LATEST = 40
#: By so many standard errors the latest must be worse than those before.
DRIFT_DEVIATIONS = 4.0


class Drift(Check):
    """The latest answers against those before them, among the last 200.

    z = (mean before − mean of the latest)/√(s²(1/n + 1/m)), s² that of all of them together. Four standard errors are
    passed by chance once in about 30,000 looks.
    """

    code = "drift"

    def look(self, evidence: Evidence) -> Finding | None:
        """Say from where to where it fell."""
        values = evidence.measures
        m = min(DRIFT_LATEST, len(values) // 2)
        if m < DRIFT_AFTER:
            return None
        before, latest = values[:-m], values[-m:]
        was, now = sum(before) / len(before), sum(latest) / m
        mean = sum(values) / len(values)
        spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
        worse = was - now if evidence.loop.silence is not None else now - was
        if spread == 0.0 or not math.isfinite(spread):
            return None
        z = worse / (spread * math.sqrt(1.0 / len(before) + 1.0 / m))
        if z < DRIFT_DEVIATIONS:
            return None
        return self.found(
            "warning",
            f"It was better: {evidence.loop.measure} {was:.3g} over {len(before)} answers, now {now:.3g} over {m}.",
            "Users, items or the app have changed, or a feature broke: compare the latest stories with older ones. "
            'Learners with "forgetting" below 1 follow such changes; a fresh copy of the model starts anew.',
            {"before": was, "latest": now, "of_before": len(before), "of_latest": m, "z": z},
        )
