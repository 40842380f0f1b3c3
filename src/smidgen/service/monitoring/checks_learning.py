"""Health checks of learning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from smidgen.decision import FloatArray
from smidgen.evaluate.lift import best_constant
from smidgen.learners import Feedback, Loop
from smidgen.service.engine.description import span_of
from smidgen.service.engine.spending import budget_figures
from smidgen.service.monitoring.breakdown import latest, same_offers
from smidgen.service.monitoring.evidence import Check, Evidence, Update, percent
from smidgen.service.monitoring.groups import Groups, group_rows, ratio_of
from smidgen.service.schemas import BudgetFigures, Finding

# One feedback moved the weights by more than all before it together.

#: Minimum number of steps with a length before one can dominate.
DOMINATED_AFTER = 10
#: A step dominates if it is this many times as long as all before it together.
DOMINATED_TIMES = 1.0


class Dominated(Check):
    """Weights that grew out of proportion, as the twin of the learner took its steps; of each key by itself."""

    code = "dominated"

    def run(self, evidence: Evidence) -> Finding | None:
        """Name the feedback of the longest such step."""
        found: tuple[float, Update] | None = None
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
        return self.finding(
            "problem",
            f"One feedback dominates: version {step.version:,}{whose} moved the weights {times:.3g} times as far as "
            "all earlier ones together.",
            "Check that decision for features in other units or an invalid number. Undo it (POST "
            '/v1/decisions/ID:retract), and create models without "features": they scale the numbers of records.',
            {"version": step.version, "times": times, "moved": step.moved, "key": step.key},
        )


# It was better: a drift alarm.

#: The latest answers that are compared.
DRIFT_LATEST = 100
#: At least this many answers before them, and at most.
DRIFT_AFTER = 100
DRIFT_BEFORE = 400
#: Number of standard errors by which the latest must be worse than those before.
DRIFT_DEVIATIONS = 4.0
#: A fall is reported as long as it is at most this many answers old.
DRIFT_HELD = 400


class Drift(Check):
    """The latest 100 answers against the 400 before them, now and after each of the last 400 answers.

    z = (mean before − mean of the latest)/√(s²(1/n + 1/m)), s² that of all of them together; of figures with a range,
    eight values at its middle deviation are added, so that a few misses among many hits are no fall. In simulation a
    fall from .5 to .3 is found within 400 answers in 70 % of the runs, and 2 to 4 % of runs of 5,000 answers without
    any change have a false alarm.
    """

    code = "drift"

    def run(self, evidence: Evidence) -> Finding | None:
        """Say from where to where it fell."""
        sign = 1.0 if evidence.loop.silence is not None else -1.0
        span = span_of(evidence.loop)
        found = steepest_fall(evidence.judged, sign, None if span is None else span[1] - span[0])
        if found is None or found.z < DRIFT_DEVIATIONS:
            return None
        was, now, before, ago, z = found
        when = f", {ago} feedbacks ago" if ago else ""
        return self.finding(
            "warning",
            f"Quality dropped: {evidence.loop.measure} was {was:.3g} over {before} feedbacks, then {now:.3g} over "
            f"{DRIFT_LATEST}{when}.",
            "Users, items or the app have changed, or a feature broke: compare the latest stories with older ones. "
            "A new model with the same settings starts from scratch.",
            {"before": was, "latest": now, "of_before": before, "of_latest": DRIFT_LATEST, "ago": ago, "z": z},
        )


class Fall(NamedTuple):
    """Means before and after, how many values are before, how many values ago it ended, and its standard errors."""

    before: float
    latest: float
    of: int
    ago: int
    z: float


def steepest_fall(values: Sequence[float], sign: float = 1.0, width: float | None = 1.0) -> Fall | None:
    """Return the steepest fall that ended within the last `DRIFT_HELD` values; None if there are too few.

    Parameters
    ----------
    values
        Figures, oldest first.
    sign
        1 where more is better, −1 where less is.
    width
        The width of their range; None if they have none.

    Examples
    --------
    >>> from smidgen.service.monitoring.checks_learning import steepest_fall
    >>> fall = steepest_fall([1.0, 0.0] * 200 + [0.0] * 100)
    >>> round(fall.before, 2), fall.latest, fall.of, fall.ago, fall.z > 9
    (0.5, 0.0, 399, 1, True)
    """
    x = np.asarray(values, dtype=np.float64)
    n, m = len(x), DRIFT_LATEST
    ends = np.arange(max(m + DRIFT_AFTER, n - DRIFT_HELD), n + 1)
    if not len(ends) or not np.isfinite(x).all():
        return None
    sums, squares = (np.r_[0.0, np.cumsum(each)] for each in (x, x * x))
    starts = np.maximum(0, ends - m - DRIFT_BEFORE)
    before, all_of = ends - m - starts, ends - starts
    was, now = (sums[ends - m] - sums[starts]) / before, (sums[ends] - sums[ends - m]) / m
    mean = (sums[ends] - sums[starts]) / all_of
    around = np.maximum(0.0, squares[ends] - squares[starts] - all_of * mean * mean)
    variance = around / all_of if width is None else (around + 2.0 * width * width) / (all_of + 8.0)
    z = np.divide(
        sign * (was - now),
        np.sqrt(variance * (1.0 / before + 1.0 / m)),
        out=np.zeros(len(ends)),
        where=variance > 1e-12 * np.maximum(1.0, mean * mean),
    )
    best = int(np.argmax(z))
    return Fall(float(was[best]), float(now[best]), int(before[best]), int(n - ends[best]), float(z[best]))


# The learner found that rewards changed, and started again.

#: A fresh start is reported until this many feedbacks were learned after it.
RESTARTED_HELD = 400


class Restarted(Check):
    """A fresh start of the learner, or of one of its keys, among the latest answers."""

    code = "restarted"

    def run(self, evidence: Evidence) -> Finding | None:
        """Name the latest one, and how many there were."""
        now = evidence.counts.version
        found = [each for each in evidence.restarts if each[1].version > now - RESTARTED_HELD]
        if not found:
            return None
        key, latest = max(found, key=lambda each: each[1].version)
        ago, whose = now - latest.version, "" if key is None else f" of key {key}"
        times = f", for the {_ordinal(len(found))} time" if len(found) > 1 and key is None else ""
        return self.finding(
            "warning",
            f"The learner{whose} started again {ago} feedbacks ago, at version {latest.version:,}{times}: "
            f"{latest.reason}.",
            "Users, items or the app changed, or a feature broke: compare stories from before and after it.",
            {"version": latest.version, "ago": ago, "restarts": len(found), "key": key},
        )


def _ordinal(n: int) -> str:
    return f"{n}{'th' if n % 100 in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


# One candidate, always shown, would have earned more than the model.

#: Number of the latest decisions that are read, and how many must have offered the same candidates.
BETTER_ROWS, BETTER_AFTER = 600, 200
#: Candidates beyond this number are not compared.
BETTER_CANDIDATES = 100
#: The finding is wrong with this probability, however often one looks and however many candidates there are.
BETTER_ALPHA = 0.01


class ConstantIsBetter(Check):
    """Decisions with known propensities, weighted: each candidate against the model's best guesses.

    Only decisions that offered the most frequent set of candidates count. Each candidate is tested at α divided by
    their number (`smidgen.evaluate.lift.best_constant`).
    """

    code = "constant_is_better"

    def run(self, evidence: Evidence) -> Finding | None:
        """Name the candidate."""
        loop, span = evidence.loop, span_of(evidence.loop)
        drawn = loop.name == Loop.CHOOSE and evidence.model.blueprint.feedback == Feedback.REWARD
        if not drawn or span is None or len(evidence.measures) < BETTER_AFTER:
            return None
        offers = same_offers(latest(evidence.reading, evidence.model, evidence.now, BETTER_ROWS), span)
        if offers is None or len(offers.rewards) < BETTER_AFTER or not 2 <= len(offers.ids) <= BETTER_CANDIDATES:
            return None
        found = best_constant(
            offers.rewards,
            offers.propensities,
            offers.actions,
            candidates=len(offers.ids),
            explored=offers.explored,
            alpha=BETTER_ALPHA,
        )
        if found is None:
            return None
        name, width = offers.ids[found.action], span[1] - span[0]
        return self.finding(
            "warning",
            f"Always showing {name} would have earned more: by about {found.value * width:.3g} per decision (at least "
            f"{found.low * width:.3g}) over the last {len(offers.rewards)} decisions with these {len(offers.ids)} "
            "candidates.",
            "The features mislead the model, or it learns too slowly: look at GET /v1/models/NAME/candidates, compare "
            "other learners with smidgen replay, or leave features out that say nothing.",
            {"candidate": name, "gain": found.value * width, "low": found.low * width, "of": len(offers.rewards)},
        )


# The holdout: the split is wrong, or the model earns less.

#: Number of the latest decisions that are read.
HOLDOUT_ROWS = 5_000


class WrongRatio(Check):
    """The holdout has another share than the one that was asked for (`smidgen.evaluate.lift.sample_ratio`)."""

    code = "sample_ratio"

    def run(self, evidence: Evidence) -> Finding | None:
        """Say which share came."""
        holdout = evidence.model.blueprint.terms.holdout
        if holdout is None or not holdout.share:
            return None
        ratio = ratio_of([group_rows(evidence.reading, evidence.model, HOLDOUT_ROWS)], holdout.share)
        if ratio.ok:
            return None
        return self.finding(
            "problem",
            f"The holdout has {percent(ratio.observed)} of the traffic and should have {percent(ratio.expected)} "
            f"(p = {ratio.p:.2g}).",
            "Do not trust the comparison. Look for requests that are sent twice or dropped for one group, for units "
            "that are not people (an empty or constant id), and for bots.",
            {"expected": ratio.expected, "observed": ratio.observed, "p": ratio.p},
        )


class WorseThanHoldout(Check):
    """The model earns less than the policy of its holdout, with an interval that holds at all times."""

    code = "worse_than_holdout"

    def run(self, evidence: Evidence) -> Finding | None:
        """Say by how much."""
        holdout = evidence.model.blueprint.terms.holdout
        if holdout is None or not holdout.share:
            return None
        rows = group_rows(evidence.reading, evidence.model, HOLDOUT_ROWS)
        found = Groups(rows, evidence.loop, evidence.now).lift()
        if found is None or found.verdict != "worse":
            return None
        low, high = span_of(evidence.loop) or (0.0, 1.0)
        loss = -found.difference.value * (high - low)
        return self.finding(
            "problem",
            f"The model earns {loss:.3g} less per decision than its holdout.",
            "Look at GET /v1/models/NAME/worth. Check that the reward means what you think, compare learners with "
            "smidgen replay, and raise the share of the holdout until the model is better.",
            {"loss": loss, "of": found.difference.n},
        )


# A budget that is not kept, or cannot be.

#: Part by which the mean of the last decisions may exceed the limit; minimum number of paid decisions.
OVER, PAID_ENOUGH = 0.1, 200
#: A price from which on the cheapest candidate is nearly always shown.
STEEP = 10.0
#: The part of a limit that exploration alone may cost.
FLOOR_PART = 0.5
#: Number of recent decisions whose cheapest candidates are compared with the limit; minimum number of them.
CHEAPEST_OF, CHEAPEST_AFTER = 40, 10


class OverBudget(Check):
    """A budget that nobody can meet, spend above it, or exploration that alone costs more than half of it."""

    code = "over_budget"

    def run(self, evidence: Evidence) -> Finding | None:
        """Say by how much, and whether the cheapest candidates can meet the limit."""
        model = evidence.model
        if model.blueprint.terms.budget is None:
            return None
        for name, figures in (budget_figures(evidence.reading, model) or {}).items():
            offers = [each.costs[name] for each in evidence.decisions if each.costs and name in each.costs]
            cheapest = [float(np.atleast_2d(costs).min(axis=1).sum()) for costs in offers[-CHEAPEST_OF:] if costs.size]
            least = float(np.mean(cheapest)) if len(cheapest) >= CHEAPEST_AFTER else 0.0
            if least > (1.0 + OVER) * figures.limit:
                return self._unreachable(name, figures, least)
            if evidence.counts.decisions >= PAID_ENOUGH and (figures.recent or 0.0) > (1.0 + OVER) * figures.limit:
                return self._over(name, figures)
            dear = _floor_cost(evidence, offers[-1]) if offers else 0.0
            if dear > FLOOR_PART * figures.limit:
                return self.finding(
                    "warning",
                    f"Exploration alone costs {dear:.3g} {name} per decision, more than half of the limit of "
                    f"{figures.limit:.3g}.",
                    "Lower min_share or explore, raise the limit, or offer fewer expensive candidates.",
                    {"currency": name, "floor": dear, "limit": figures.limit},
                )
        return None

    def _unreachable(self, name: str, figures: BudgetFigures, least: float) -> Finding:
        return self.finding(
            "problem",
            f"No choice meets the budget: the cheapest candidate costs {least:.3g} {name} on average, and the limit is "
            f"{figures.limit:.3g}. The model shows the cheapest one nearly always.",
            "Raise the limit, or offer cheaper candidates.",
            {"currency": name, "cheapest": least, "limit": figures.limit, "price": figures.price},
        )

    def _over(self, name: str, figures: BudgetFigures) -> Finding:
        recent = figures.recent or 0.0
        cheapest = figures.price >= STEEP
        why = "although the cheapest candidate is shown nearly always" if cheapest else "and the price is rising"
        return self.finding(
            "problem",
            f"The last decisions cost {recent:.3g} {name} each, {recent / figures.limit:.2f} times the limit of "
            f"{figures.limit:.3g}, {why}.",
            "Raise the limit, offer cheaper candidates, or lower min_share and explore."
            if cheapest
            else "Wait for 200 more decisions; if it lasts, check the costs that are reported.",
            {"currency": name, "recent": recent, "limit": figures.limit, "price": figures.price},
        )


def _floor_cost(evidence: Evidence, costs: FloatArray) -> float:
    """Cost per decision of the least shares of a request's candidates: the floor, spread by 1/cost, and min_share."""
    terms, settings = evidence.model.blueprint.terms, evidence.model.blueprint.settings
    floor = float(terms.explore if terms.explore is not None else settings.get("floor") or 0.0)
    each = float(terms.min_share if terms.min_share is not None else settings.get("min_share") or 0.0)
    total = 0.0
    for known in np.atleast_2d(costs):  # slots by slot
        known = known[np.isfinite(known)]
        if not known.size or not known.max() > 0:
            continue
        shares = 1.0 / np.maximum(known, known.max() / 1000.0)
        total += float(np.maximum(floor * shares / shares.sum(), each) @ known)
    return total


# Feedback comes, and the weights do not move: steps that vanish.

#: Minimum number of answers that should have changed something.
VANISHING_AFTER = 10
#: A step counts as none if it is this much shorter than the weights; of points, than the space is wide.
VANISHING_STEP = 1e-6


class Vanishing(Check):
    """Answers that ask for a change, and steps of no length.

    Features that do not see what the user changed, rows of zeros, a bound that makes every step tiny. All steps of the
    twin that were not confirmed answers are shorter than the threshold.
    """

    code = "nothing_to_learn"

    def run(self, evidence: Evidence) -> Finding | None:
        """Say so if none of the steps that should move anything does."""
        space = evidence.model.blueprint.settings.get("space")
        width = float(getattr(space, "diameter", 0.0) or 0.0)
        asking = [step for step in evidence.steps if step.moved is not None and not _confirmed(evidence, step)]
        moving = [step for step in asking if (step.moved or 0.0) > VANISHING_STEP * (width or step.weight or 0.0)]
        if len(asking) < VANISHING_AFTER or moving:
            return None
        longest = max(step.moved or 0.0 for step in asking)
        hint = (
            "The bounds in the model's params are far too large for these numbers: create it with smaller "
            "ones, or omit "
            "them."
            if width
            else "Send features that differ where the user's choices differ; the current ones do not."
        )
        return self.finding(
            "problem",
            f"Updates vanish: {len(asking)} feedbacks asked for a change, and the largest update was {longest:.3g}.",
            hint,
            {"answered": len(asking), "longest_step": longest, "width": width or None},
        )


def _confirmed(evidence: Evidence, step: Update) -> bool:
    """True if the answer accepted what was shown; never true for learners of losses."""
    return evidence.loop.share and step.measure == 1.0
