"""A model's health: what its log says of it, in findings, the worst first.

The checks are found in the folder ``findings``. Judging costs a bounded look at the log (see `Evidence`), in a thread
of its own; what was found stays until the log has grown, and a model under load is judged no more often than that takes
a third of one core.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import threading
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple, get_args

import msgspec

from smidgen.service.insight import findings as folder
from smidgen.service.insight.conditions import Checked, checked
from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check
from smidgen.service.messages import Code, Finding, Severity
from smidgen.service.models.served import Served
from smidgen.service.store.protocol import Reading

#: For so many seconds what was found holds, if nothing has happened since: windows end.
HOLDS_S = 1.0
#: A model is not judged again before so many times the time has passed that it took.
REST = 2.0
#: So long the figures of many models may take to be brought up to date in one call, and so old they may be.
BUDGET_S, OLD_S = 0.25, 5.0
#: So old they may be if nothing has happened to a model since: only windows may have ended.
IDLE_S = 60.0
SEVERITIES: tuple[Severity, ...] = ("problem", "warning", "info")


class Report(NamedTuple):
    """What was found about a model at a moment.

    Attributes
    ----------
    findings
        The worst first.
    conditions
        What the data say of the conditions of its theorem.
    """

    findings: list[Finding]
    conditions: Checked

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst finding."""
        return self.findings[0].severity if self.findings else None


def checks() -> list[Check]:
    """All that is looked for, in the order of the codes."""
    modules = (f"{folder.__name__}.{each.name}" for each in pkgutil.iter_modules(folder.__path__))
    found = [check() for name in sorted(modules) for check in _defined(name)]
    order = get_args(Code)
    return sorted(found, key=lambda check: order.index(check.code))


def _defined(module: str) -> list[type[Check]]:
    members = vars(importlib.import_module(module)).values()
    mine = [each for each in members if isinstance(each, type) and each.__module__ == module]
    return [each for each in mine if issubclass(each, Check) and each is not Check]


CHECKS = checks()


def diagnose(reading: Reading, model: Served, now: float) -> Report:
    """Look for everything once; of checks with one code the first that finds something speaks."""
    evidence = Evidence(reading, model, now)
    first: dict[Code, Finding] = {}
    for check in CHECKS:
        if check.code not in first and (finding := check.look(evidence)) is not None:
            first[check.code] = finding
    found = list(first.values())
    found.sort(key=_rank)
    return Report(found, checked(evidence, found))


def together(reports: Sequence[Report]) -> Report:
    """What was found about the slots of a model: each code once, the worst of them, with how many slots have it."""
    if len(reports) == 1:
        return reports[0]
    found: dict[Code, list[Finding]] = {}
    for finding in (each for report in reports for each in report.findings):
        found.setdefault(finding.code, []).append(finding)
    worst = [min(each, key=_rank) for each in found.values()]
    said = [
        msgspec.structs.replace(one, message=f"{one.message} (In {len(found[one.code])} of {len(reports)} slots.)")
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
    """The reports of all models that somebody has asked for, kept as long as they hold."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}
        self._locks: dict[int, threading.Lock] = {}

    def of(self, reading: Reading, model: Served, now: float) -> Report:
        """The report of a model, made anew if need be; one with several slots is judged slot by slot."""
        return together([self._of(reading, part, now) for part in model.parts])

    def _of(self, reading: Reading, model: Served, now: float) -> Report:
        """The same of one slot; while somebody is at it, others have the last one."""
        lock, known = self._locks.setdefault(model.slot, threading.Lock()), self._known.get(model.slot)
        if not lock.acquire(blocking=known is None) and known is not None:
            return known.report
        try:
            return self._judged(reading, model, now)
        finally:
            lock.release()

    def _judged(self, reading: Reading, model: Served, now: float) -> Report:
        known, counts, began = self._known.get(model.slot), reading.counts(model.slot), time.monotonic()
        seq = counts.seq if counts is not None else 0
        if known is not None:
            age = began - known.at
            if age < REST * known.took or (seq == known.seq and age < HOLDS_S):
                return known.report
        report = diagnose(reading, model, now)
        ended = time.monotonic()
        self._known[model.slot] = _Known(seq, ended, ended - began, report)
        return report

    def figures(self, reading: Reading, models: Iterable[Served], now: float) -> list[tuple[str, Finding]]:
        """Models and what was found about them: those that were judged longest ago anew, as far as the time goes.

        A service with very many models is judged round by round; archived ones are not.
        """
        living = [model for model in models if model.archived_at is None]
        began = time.monotonic()
        for part in sorted((part for model in living for part in model.parts), key=self._judged_at):
            if time.monotonic() > began + BUDGET_S or self._judged_at(part) > began - OLD_S:
                break
            if not self._idle(reading, part, began):
                self._of(reading, part, now)
        return [(model.name, finding) for model in living if self.looked(model) for finding in self._found(model)]

    def _found(self, model: Served) -> list[Finding]:
        return together([self._known[part.slot].report for part in model.parts]).findings

    def looked(self, model: Served) -> bool:
        """Whether the model has been judged; an archived one need not be."""
        return model.archived_at is not None or all(part.slot in self._known for part in model.parts)

    def _idle(self, reading: Reading, model: Served, now: float) -> bool:
        """Whether nothing has happened to the model since it was judged, not long ago."""
        known, counts = self._known.get(model.slot), reading.counts(model.slot)
        return known is not None and counts is not None and known.seq == counts.seq and known.at > now - IDLE_S

    def _judged_at(self, model: Served) -> float:
        known = self._known.get(model.slot)
        return known.at if known is not None else -math.inf
