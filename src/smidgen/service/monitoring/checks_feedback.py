"""Health checks of feedback."""

from __future__ import annotations

from collections.abc import Iterable

from smidgen.decision import Decision
from smidgen.learners import Feedback
from smidgen.service.monitoring.evidence import Check, Evidence, percent
from smidgen.service.monitoring.stories import duration
from smidgen.service.schemas import Finding

# Most decisions are never answered.

#: Minimum number of decisions whose window is over.
SILENCE_AFTER = 20
#: Shares of decisions without feedback from which it is reported as information, a warning, a problem.
SILENCE_REPORTED, SILENCE_WARNING, SILENCE_PROBLEM = 0.2, 0.5, 0.9


class Silence(Check):
    """The share of decisions without feedback within their window; answers that came too late count as answers.

    Models that learn silence (``default_reward``) have none to complain of.
    """

    code = "silence"

    def run(self, evidence: Evidence) -> Finding | None:
        """Say how many, if they are many."""
        rows = evidence.ended
        if len(rows) < SILENCE_AFTER or evidence.learns_silence:
            return None
        silent = sum(row.is_unanswered for row in rows)
        late = sum(row.version is None and not row.is_unanswered for row in rows)
        share = silent / len(rows)
        if share < SILENCE_REPORTED:
            return None
        return self.finding(
            "problem" if share >= SILENCE_PROBLEM else "warning" if share >= SILENCE_WARNING else "info",
            f"{percent(share)} of the last {len(rows)} closed decisions got no feedback.",
            "The model does not learn from them. If missing feedback means failure, create the model with "
            '"feedback": "reward" and "default_reward": 0. If feedback comes after the window, set a longer '
            '"window_s".',
            {"closed": len(rows), "silent": silent, "late": late, "share": share},
        )


# Every answer is the same one: nothing to learn from.

#: Minimum number of answers that are all the same.
SAME_AFTER = 30
#: Minimum number of decisions, at least half of them unanswered, and of answers that are all positive.
GOOD_NEWS_DECISIONS, GOOD_NEWS_FEW = 40, 5
#: What an answer may say that can be the same again and again.
KINDS = {Feedback.BIT, Feedback.REWARD, Feedback.RELEVANCE, Feedback.LOSS}


class SameAnswer(Check):
    """Rewards that are always 1, bits that are always right, losses that never differ.

    The first and the latest answers all have the same figure. Good answers cannot be distinguished from bad ones.
    """

    code = "nothing_to_learn"

    def run(self, evidence: Evidence) -> Finding | None:
        """Say so if the answers have one value."""
        kinds, measures = evidence.kinds, evidence.measures
        if not kinds or not kinds.keys() <= KINDS or not measures or min(measures) < max(measures):
            return None
        if evidence.learns_at_ends and not evidence.ended:  # what it is worth comes with the end of the first window
            return None
        n, value, shown = len(measures), measures[0], evidence.shown
        unanswered = sum(row.is_unanswered for row in shown)
        good = value == evidence.best
        few = good and len(shown) >= GOOD_NEWS_DECISIONS and 2 * unanswered >= len(shown)
        if n < (GOOD_NEWS_FEW if few else SAME_AFTER) or not evidence.beginning.all_are(value):
            return None
        what = _answer_text(kinds, value)
        others = (
            f", and {percent(unanswered / len(shown))} of the latest decisions have no feedback" if unanswered else ""
        )
        still = all(step.moved == 0.0 for step in evidence.steps)
        return self.finding(
            "problem" if still or (good and 2 * unanswered >= len(shown)) else "warning",
            f"Nothing to learn from: all {n} feedbacks are the same, {what}{others}.",
            'Report failures too. If missing feedback means failure, use a reward model with "default_reward": 0.'
            if good
            else "Report feedback that differs between decisions, or check what the app sends.",
            {"answered": n, "value": value, "unanswered": unanswered, "decisions": len(shown)},
        )


def _answer_text(kinds: Iterable[str], value: float) -> str:
    names = {
        Feedback.BIT: ("incorrect", "correct"),
        Feedback.RELEVANCE: ("not relevant", "relevant"),
        Feedback.LOSS: (f"loss {value:.4g}",) * 2,
    }
    for kind in kinds:
        if kind in names and (value in (0.0, 1.0) or kind == Feedback.LOSS):
            return names[Feedback(kind)][value == 1.0]
    return f"reward {value:.4g}"


# Everything that was answered left the answer as it was: nothing to learn from.

#: Minimum number of answers for the finding that no answer ever changes anything.
UNCHANGED_AFTER = 10
#: Minimum number of decisions, at least half of them unanswered, and of answers.
UNCHANGED_DECISIONS, UNCHANGED_FEW = 40, 3


class Unchanged(Check):
    """An app that reports a click as "the shown one was right", and nothing else, teaches nothing.

    Looks at models that learn from something better, or from clicks: the first and the latest answers all left
    what was shown as it was, and no step of the twin moved its weights. A model that has learnt, and is right now, was
    corrected once.
    """

    code = "nothing_to_learn"

    def run(self, evidence: Evidence) -> Finding | None:
        """Say so if no answer has ever changed anything."""
        kinds, measures = evidence.kinds, evidence.measures
        if not kinds or not kinds.keys() <= {Feedback.BETTER, Feedback.CLICKS}:
            return None
        n, unanswered = len(measures), sum(row.is_unanswered for row in evidence.shown)
        few = len(evidence.shown) >= UNCHANGED_DECISIONS and 2 * unanswered >= len(evidence.shown)
        if n < (UNCHANGED_FEW if few else UNCHANGED_AFTER) or min(measures) < 1.0:
            return None
        if not evidence.beginning.all_are(1.0) or any(step.moved for step in evidence.steps):
            return None
        silence = unanswered / len(evidence.shown)
        others = f", and {percent(silence)} of the latest decisions have no feedback" if unanswered else ""
        return self.finding(
            "problem",
            f"Nothing to learn from: all {n} feedbacks accepted the decision unchanged{others}. No weight has moved.",
            'If a click means success and no click means failure, create the model with "feedback": "reward", send '
            '{"reward": 1} for a click and set "default_reward": 0; or report the preferred candidate when '
            "it is another "
            "one.",
            {"answered": n, "unchanged": n, "unanswered": unanswered, "decisions": len(evidence.shown)},
        )


# Keys without enough feedback to have learnt anything.

#: Minimum number of decisions.
FEW_AFTER = 40
#: Number of feedbacks that a key needs; below the second number it is a problem.
FEW_WARNING, FEW_PROBLEM = 5.0, 1.0


class FewPerKey(Check):
    """Of keyed models: the feedbacks learnt, divided by the keys that have had a decision."""

    code = "few_per_key"

    def run(self, evidence: Evidence) -> Finding | None:
        """Say how many there are for each key, if they are few."""
        counts = evidence.counts
        if not evidence.model.keyed or counts.decisions < FEW_AFTER or not counts.keys:
            return None
        each = counts.version / counts.keys
        if each >= FEW_WARNING:
            return None
        return self.finding(
            "problem" if each < FEW_PROBLEM else "warning",
            f"Little feedback per key: {counts.version:,} feedbacks for {counts.keys:,} keys, {each:.2g} each.",
            'Start new keys from what the others learned ("shared_start": true), or use one model for all users, with '
            "facts about the user as features.",
            {"feedback": counts.version, "keys": counts.keys, "per_key": each},
        )


# The first window is still open: all that is known comes from those who have answered.

#: Minimum number of decisions.
OPEN_AFTER = 20
#: From this share of unanswered decisions on.
OPEN_SHARE = 0.5
#: If answers of this share or more are good news, it is a warning.
GOOD_SHARE = 0.9


class FirstWindow(Check):
    """Warns before the first window ends: early answers are mostly positive, and expiry has not counted yet.

    Until the first window ends no silence counts: the figures rest on the decisions that were answered, and those who
    like something are the quicker to say so.
    """

    code = "silence"

    def run(self, evidence: Evidence) -> Finding | None:
        """Say how many are open, as long as no window has ended."""
        rows = evidence.shown
        first = evidence.latest[0].expires_at if evidence.latest else evidence.now
        if evidence.ended or len(rows) < OPEN_AFTER or first < evidence.now:
            return None
        unanswered = sum(row.is_unanswered for row in rows)
        share, measures = unanswered / len(rows), evidence.measures
        if share < OPEN_SHARE:
            return None
        good = None
        if measures and evidence.best is not None:
            good = sum(measure == evidence.best for measure in measures) / len(measures)
        news = f", and {percent(good)} of the feedback is positive" if good is not None else ""
        return self.finding(
            "warning" if good is not None and good >= GOOD_SHARE else "info",
            f"{percent(share)} of {len(rows)} decisions have no feedback yet{news}; the first window closes in "
            f"{duration(first - evidence.now)}, and missing feedback counts only after that.",
            "Figures are preliminary until the first feedback window closes. A shorter window_s gives results sooner.",
            {
                "decisions": len(rows),
                "open": unanswered,
                "share": share,
                "good": good,
                "ends_in_s": first - evidence.now,
            },
        )


# Feedback comes only for what is shown, and only the favorite is ever shown.

#: Minimum number of decisions.
EXPLORATION_AFTER = 40
#: Answers that speak of nothing but what was shown.
PARTIAL = {Feedback.CLICKS, Feedback.BIT, Feedback.REWARD, Feedback.RELEVANCE}


class NoExploration(Check):
    """Feedback that speaks of the shown answer only, and a learner that never tries another.

    A decision explores if it is not the greedy one, or if its action was drawn, so that another had a chance. A learner
    that goes by confidence explores as long as it is unsure; if it draws nothing next to that, what others would
    have done cannot be computed from its log. A filter that drops everything receives no feedback.
    """

    code = "no_exploration"

    def run(self, evidence: Evidence) -> Finding | None:
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
            return self.finding(
                "info",
                f"No randomization: each of the last {len(offered)} decisions had one possible outcome.",
                'Set "explore" to a small share, e.g. 0.02: every candidate then has a known probability, '
                "and other learners "
                "can be evaluated on this log.",
                figures,
            )
        if explored or unsure:
            return None
        return self.finding(
            "warning",
            f"No exploration: all of the last {len(rows)} decisions showed the best guess, and feedback covers only "
            "what is shown.",
            'Use a learner that explores: remove "learner" to get the recommended one.',
            figures,
        )

    def _filter(self, evidence: Evidence) -> Finding | None:
        rows = evidence.latest[-EXPLORATION_AFTER:]
        if any(row.forwarded or row.answer is not None for row in rows):
            return None
        return self.finding(
            "problem",
            f"All of the last {len(rows)} items were dropped: they get no feedback, so the model cannot learn.",
            'Create the model with a filter that explores ("explore": "sparing" if the learner has it), or with a '
            "constant feature.",
            {"decisions": len(rows), "forwarded": 0, "explored": 0},
        )


def _drawn(decision: Decision) -> bool:
    """True if another answer had a positive probability."""
    if decision.propensities is not None and decision.slots is None:
        return float(decision.propensities.max()) < 1.0
    return decision.log_propensity is not None or (decision.propensity is not None and decision.propensity < 1.0)


def _options(evidence: Evidence, decision: Decision) -> int:
    """Among how many answers it could choose."""
    context, settings = decision.context, evidence.model.blueprint.settings
    if hasattr(context, "candidates") or hasattr(context, "rows"):
        return len(context) if getattr(context, "candidates", True) else int(settings.get("n_classes") or 2)
    return int(settings.get("n_classes") or 2)
