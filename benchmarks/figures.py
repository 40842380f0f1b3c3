"""Figures of the service under load: a number, how far the rounds differ, and the aim."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured number: the median of the rounds, their range, and what is aimed at, if anything."""

    what: str
    unit: str
    median: float
    low: float
    high: float
    rounds: int
    aim: str = ""

    @property
    def reached(self) -> str:
        """True if the median is where it should be."""
        if not self.aim:
            return ""
        sign, value = self.aim.split()
        return "yes" if (self.median >= float(value) if sign == "≥" else self.median <= float(value)) else "no"

    def cells(self) -> list[str]:
        """The row of the table."""
        spread = f"{self.low:,.2f} – {self.high:,.2f}" if self.rounds > 1 else ""
        return [self.what, self.unit, f"{self.median:,.2f}", spread, str(self.rounds), self.aim, self.reached]


HEADER = ["figure", "unit", "median", "range", "rounds", "aim", "reached"]


def figure(what: str, unit: str, values: Iterable[float], aim: str = "") -> Figure:
    """Sum up the rounds."""
    every = sorted(values)
    return Figure(what, unit, statistics.median(every), every[0], every[-1], len(every), aim)
