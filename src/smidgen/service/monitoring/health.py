"""Run the health checks of a model.

The conditions of a model's theorem, as far as its data can tell: which were checked, and which one fails.

A bound is a promise under conditions. Those that the log can refute are looked at here; a bound is drawn only if none
of them fails. What no log can show (that losses are convex, say) stands next to the bound as an assumption.

A model's health: what its log says of it, in findings, the worst first.

The checks are the classes of ``checks_data``, ``checks_feedback`` and ``checks_learning``. Judging costs a
bounded look at the log (see `Evidence`), in a thread of its own; what was found stays until the log has grown, and a
model under load is judged no more often than that takes a third of one core.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import NamedTuple, get_args

import msgspec
import numpy as np

from smidgen.decision import FloatArray
from smidgen.errors import SmidgenError
from smidgen.learners import Feedback
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.restarts import InMemory
from smidgen.service.monitoring import checks_data, checks_feedback, checks_learning
from smidgen.service.monitoring.evidence import Check, Evidence, Update, percent
from smidgen.service.schemas import Code, Finding, Severity
from smidgen.service.storage.protocol import StoreReader
from smidgen.structures import Choice, Clicks, Ranking

# Feedback as comparisons: what was better, less what was shown, and whether one taste agrees with all of them.

#: How often the differences are gone through in search of a taste that agrees with all.
EPOCHS = 100
#: Maximum number of numbers in the differences.
NUMBERS = 2_000_000


def feature_difference(step: Update) -> FloatArray | None:
    """φ(better) − φ(shown) of a feedback; None where nothing is compared."""
    context, shown, preferred = step.decision.context, step.decision.action, step.learner_input
    if not isinstance(context, Ranking | Choice) or isinstance(preferred, float):
        return None
    if isinstance(shown, tuple):  # two were shown, and the index of the better one came back
        better, shown = shown[preferred], shown[1 - preferred]
    else:
        better = preferred.better(shown) if isinstance(preferred, Clicks) else preferred
    difference: FloatArray = context.difference(better, shown)
    return difference


def is_separable(differences: Sequence[FloatArray]) -> bool | None:
    """True if some weights w have w·Δ > 0 for all of them; None if the search was inconclusive.

    The perceptron finds such weights if there are any, after at most (R/margin)² mistakes (Novikoff 1962). After so
    many epochs without an end the answer is no: if there are any, their margin is too small to be called agreement.
    Large differences are brought to unit length, which changes no sign.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.service.monitoring.health import is_separable
    >>> is_separable([np.array([1.0, 0.0]), np.array([1.0, 1.0])])
    True
    >>> is_separable([np.array([1.0, 0.0]), np.array([-1.0, 0.0])])
    False
    """
    given = [each for each in differences if each.any()]
    if not given:
        return True
    if len(given) * len(given[0]) > NUMBERS:
        return None
    D = np.stack(given)
    D /= np.sqrt(np.square(D).sum(axis=1, keepdims=True))
    gram = D @ D.T  # w is a sum of differences: all that is needed of it
    gains = np.zeros(len(D))
    for _ in range(EPOCHS):
        mistakes = 0
        for i in range(len(D)):
            if gains[i] <= 1e-12:
                gains += gram[i]
                mistakes += 1
        if not mistakes:
            return True
    return False


#: From this share of silent decisions on the rounds that theory counts are not the decisions that were made.
SILENT_SHARE = 0.05


class ConditionReport(NamedTuple):
    """Result of checking a condition on the data.

    Attributes
    ----------
    fails
        The first condition that does not hold, as a sentence; None if all hold.
    holds
        What was checked and holds, as a sentence.
    """

    fails: str | None = None
    holds: str = ""


def check_conditions(evidence: Evidence, findings: Sequence[Finding]) -> ConditionReport:
    """Look at the conditions that data can refute."""
    if evidence.card.theorem is None or not evidence.answers:
        return ConditionReport()
    n = len(evidence.steps)
    found = {finding.code: finding for finding in findings}
    for code in ("nothing_to_learn", "out_of_bound", "contradiction"):
        if code in found:
            return ConditionReport(fails=f"A condition of the theorem does not hold. {found[code].message}")
    if (silence := _silence(evidence)) is not None:
        return ConditionReport(fails=silence)
    if (scaled := sum(step.scaled for step in evidence.steps)) > 0:
        return ConditionReport(
            fails=f"The theorem requires features that are not rescaled; {scaled} of {n} were scaled down."
        )
    held = [f"no number above its bound in the last {n} feedbacks", "almost no missing feedback"]
    if evidence.kinds.keys() & {Feedback.BETTER, Feedback.CLICKS}:
        if evidence.kinds.get(Feedback.CLICKS):
            return ConditionReport(
                fails="The theorem is for corrections, and clicks are not: users click only what they have seen."
            )
        agree = _one_taste(evidence)
        if agree is None:
            return ConditionReport(
                fails="Whether one weight vector agrees with all feedback could not be checked: too many features."
            )
        if not agree:
            return ConditionReport(
                fails=f"The theorem requires feedback without slack, and no weights agree with all of the last {n}."
            )
        held[0] = f"one weight vector agrees with all of the last {n} feedbacks"
    return ConditionReport(holds=f"Checked on the data: {', '.join(held)}.")


def _silence(evidence: Evidence) -> str | None:
    rows = evidence.ended
    silent = sum(row.is_unanswered for row in rows)
    if not rows or silent < SILENT_SHARE * len(rows) or silent == 0:
        return None
    share = percent(silent / len(rows))
    return f"The theorem counts every round, and {share} of the last {len(rows)} decisions got no feedback."


def _one_taste(evidence: Evidence) -> bool | None:
    differences = []
    for step in evidence.steps:
        try:
            difference = feature_difference(step)
        except SmidgenError:
            continue
        if difference is not None:
            differences.append(difference)
    return is_separable(differences)


#: Seconds that findings stay valid if nothing has happened since: windows may end.
HOLDS_S = 1.0
#: A model is checked again after this multiple of the time that the last check took.
REST = 2.0
#: So long the figures of many models may take to be brought up to date in one call, and so old they may be.
BUDGET_S, OLD_S = 0.25, 5.0
#: So old they may be if nothing has happened to a model since: only windows may have ended.
IDLE_S = 60.0
SEVERITIES: tuple[Severity, ...] = ("problem", "warning", "info")


class Report(NamedTuple):
    """Findings on a model at a time.

    Attributes
    ----------
    findings
        The worst first.
    conditions
        What the data say of the conditions of its theorem.
    """

    findings: list[Finding]
    conditions: ConditionReport

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst finding."""
        return self.findings[0].severity if self.findings else None


def checks() -> list[Check]:
    """All checks, in the order of their codes."""
    found = [check() for module in (checks_data, checks_feedback, checks_learning) for check in _defined(module)]
    order = get_args(Code)
    return sorted(found, key=lambda check: order.index(check.code))


def _defined(module: ModuleType) -> list[type[Check]]:
    mine = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    return [each for each in mine if issubclass(each, Check) and each is not Check]


CHECKS = checks()


def diagnose(
    reading: StoreReader, model: ServedModel, now: float, in_memory: InMemory = lambda model, key: None
) -> Report:
    """Look for everything once; of checks with one code the first that finds something speaks."""
    evidence = Evidence(reading, model, now, in_memory)
    first: dict[Code, Finding] = {}
    for check in CHECKS:
        if check.code not in first and (finding := check.run(evidence)) is not None:
            first[check.code] = finding
    found = list(first.values())
    found.sort(key=_rank)
    return Report(found, check_conditions(evidence, found))


def combine_reports(reports: Sequence[Report]) -> Report:
    """Combine the reports of a model's shards: each code once, at its worst, with the number of shards."""
    if len(reports) == 1:
        return reports[0]
    found: dict[Code, list[Finding]] = {}
    for finding in (each for report in reports for each in report.findings):
        found.setdefault(finding.code, []).append(finding)
    worst = [min(each, key=_rank) for each in found.values()]
    said = [
        msgspec.structs.replace(one, message=f"{one.message} (In {len(found[one.code])} of {len(reports)} shards.)")
        for one in sorted(worst, key=_rank)
    ]
    return Report(said, reports[0].conditions)


def _rank(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


class _Known(NamedTuple):
    seq: int
    at: float
    took: float
    report: Report


class Health:
    """The reports of all models that were requested, kept as long as they hold.

    Parameters
    ----------
    in_memory
        Gives learners that are in memory.
    """

    def __init__(self, in_memory: InMemory = lambda model, key: None) -> None:
        self._in_memory = in_memory
        self._known: dict[int, _Known] = {}
        self._locks: dict[int, threading.Lock] = {}

    def of(self, reading: StoreReader, model: ServedModel, now: float) -> Report:
        """The report of a model, made again if need be; one with several shards is judged shard by shard."""
        return combine_reports([self._of(reading, part, now) for part in model.parts])

    def _of(self, reading: StoreReader, model: ServedModel, now: float) -> Report:
        """Report of one shard. While it is being judged, other callers get the last one."""
        lock, known = self._locks.setdefault(model.shard, threading.Lock()), self._known.get(model.shard)
        if not lock.acquire(blocking=known is None) and known is not None:
            return known.report
        try:
            return self._diagnose(reading, model, now)
        finally:
            lock.release()

    def _diagnose(self, reading: StoreReader, model: ServedModel, now: float) -> Report:
        known, counts, began = self._known.get(model.shard), reading.counts(model.shard), time.monotonic()
        seq = counts.seq if counts is not None else 0
        if known is not None:
            age = began - known.at
            if age < REST * known.took or (seq == known.seq and age < HOLDS_S):
                return known.report
        report = diagnose(reading, model, now, self._in_memory)
        ended = time.monotonic()
        self._known[model.shard] = _Known(seq, ended, ended - began, report)
        return report

    def figures(self, reading: StoreReader, models: Iterable[ServedModel], now: float) -> list[tuple[str, Finding]]:
        """Models and what was found about them: those that were judged longest ago again, as far as the time goes.

        A service with very many models is judged round by round; archived ones are not.
        """
        living = [model for model in models if model.archived_at is None]
        began = time.monotonic()
        for part in sorted((part for model in living for part in model.parts), key=self._judged_at):
            if time.monotonic() > began + BUDGET_S or self._judged_at(part) > began - OLD_S:
                break
            if not self._idle(reading, part, began):
                self._of(reading, part, now)
        return [(model.name, finding) for model in living if self.is_judged(model) for finding in self._found(model)]

    def _found(self, model: ServedModel) -> list[Finding]:
        return combine_reports([self._known[part.shard].report for part in model.parts]).findings

    def is_judged(self, model: ServedModel) -> bool:
        """True if the model has been judged. An archived one need not be."""
        return model.archived_at is not None or all(part.shard in self._known for part in model.parts)

    def _idle(self, reading: StoreReader, model: ServedModel, now: float) -> bool:
        """True if the model was judged recently and has had no events since."""
        known, counts = self._known.get(model.shard), reading.counts(model.shard)
        return known is not None and counts is not None and known.seq == counts.seq and known.at > now - IDLE_S

    def _judged_at(self, model: ServedModel) -> float:
        known = self._known.get(model.shard)
        return known.at if known is not None else -math.inf
