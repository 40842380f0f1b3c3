"""Health checks of learning."""

from __future__ import annotations

import math
from collections import defaultdict

from smidgen.service.monitoring.evidence import Check, Evidence, Step
from smidgen.service.schemas import Finding

# One feedback moved the weights by more than all before it together.

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


# It was better: a drift alarm.

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


# Feedback comes, and the weights do not move: steps that vanish.

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
