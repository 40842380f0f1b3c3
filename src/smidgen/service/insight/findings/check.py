"""What every finding is: a look at the evidence, and what is said if something is there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from smidgen.service.insight.evidence import Evidence
from smidgen.service.messages import Code, Finding, Severity


class Check(ABC):
    """Looks for one thing.

    A file of this folder with a class derived from this one is a finding more. Its thresholds are constants of the
    file, in capitals; the guide to health has all of them with their numbers, and a test compares. None of them may
    wait for more than 40 decisions or feedbacks.
    """

    #: What it is about.
    code: ClassVar[Code]

    @abstractmethod
    def look(self, evidence: Evidence) -> Finding | None:
        """What is found, or None."""

    def found(
        self, severity: Severity, message: str, hint: str, figures: dict[str, float | int | str | None]
    ) -> Finding:
        """A finding: what is so, with the figure in the words; the way out; the figures for programs."""
        return Finding(code=self.code, severity=severity, message=message, hint=hint, figures=figures)


def percent(share: float) -> str:
    """A share as people read it.

    Examples
    --------
    >>> from smidgen.service.insight.findings.check import percent
    >>> percent(0.5), percent(0.9999), percent(0.002)
    ('50 %', '99.9 %', '0.2 %')
    """
    shown = 100.0 * share if share == 1.0 or share <= 0.9995 else 99.9
    return f"{shown:.3g} %"
