"""One feedback moved the weights by more than all before it together."""

from __future__ import annotations

from collections import defaultdict

from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check
from smidgen.service.insight.tracing import Step
from smidgen.service.messages import Finding

#: So many steps of a length must have been taken before one can dominate.
DOMINATED_AFTER = 10
#: A step dominates if it is so many times as long as all before it together.
DOMINATED_TIMES = 1.0


class Dominated(Check):
    """Weights that grew out of proportion, as the twin of the learner took its steps; of each key by itself."""

    code = "dominated"

    def look(self, evidence: Evidence) -> Finding | None:
        """Name the feedback of the longest such step."""
        found: tuple[float, Step] | None = None
        way: defaultdict[str | None, float] = defaultdict(float)
        taken: defaultdict[str | None, int] = defaultdict(int)
        for step in evidence.steps:
            if not step.moved:
                continue
            times = step.moved / way[step.key] if taken[step.key] >= DOMINATED_AFTER else 0.0
            if times > DOMINATED_TIMES and not step.scaled and (found is None or times > found[0]):
                found = times, step
            way[step.key] += step.moved
            taken[step.key] += 1
        if found is None:
            return None
        times, step = found
        whose = f" of key {step.key}" if step.key is not None else ""
        return self.found(
            "problem",
            f"One feedback dominates: version {step.version:,}{whose} moved the weights {times:.3g} times as far as "
            "all before it together.",
            "Look at that decision: features in other units, or one broken number. Undo it (POST "
            '/v1/decisions/ID:retract), and send records (leave "features" out), whose numbers cannot jump.',
            {"version": step.version, "times": times, "moved": step.moved, "key": step.key},
        )
