"""What an experiment shows: panels of curves, tables, notes. Drawn, written and printed elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from smidgen.decision import FloatArray

Scale = Literal["linear", "log"]
Style = Literal["line", "dashed", "dotted", "points", "bars"]


@dataclass(frozen=True, eq=False)
class Curve:
    """A named line, row of points or row of bars, with standard errors where there are repetitions.

    Attributes
    ----------
    name
        Its place in the legend.
    x, y
        The points.
    error
        The standard error of every y, or None.
    style
        How it is drawn.
    """

    name: str
    x: FloatArray
    y: FloatArray
    error: FloatArray | None = None
    style: Style = "line"


@dataclass(frozen=True, eq=False)
class Panel:
    """One set of axes.

    Attributes
    ----------
    title
        Names the data set, and says so if it is generated.
    x, y
        What the axes are.
    curves
        What is drawn.
    x_scale, y_scale
        "linear" or "log".
    ticks
        Names for the points 0, 1, … of the x axis (topics, data sets), if it has names.
    """

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    ticks: Sequence[str] | None = None


@dataclass(frozen=True)
class Table:
    """Rows under columns; cells are strings or numbers.

    Attributes
    ----------
    title
        What it is.
    columns
        Their heads.
    rows
        One sequence of cells each.
    note
        A line below.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """All that a study shows.

    Attributes
    ----------
    panels
        In the order in which the paper has them.
    tables
        Likewise.
    notes
        What a reader must know of this run: data that was generated, users that were sampled, readings of the paper.
    """

    panels: Sequence[Panel] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = field(default=())

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            panels=[*self.panels, *other.panels],
            tables=[*self.tables, *other.tables],
            notes=[*self.notes, *(note for note in other.notes if note not in self.notes)],
        )


def curve(name: str, x: ArrayLike, runs: ArrayLike, style: Style = "line") -> Curve:
    """A curve from repetitions, one row each: their mean and its standard error. A single row has no error.

    Examples
    --------
    >>> from smidgen_papers.outcome import curve
    >>> c = curve("perceptron", [1, 10], [[1.0, 0.5], [3.0, 0.5]])
    >>> c.y.tolist(), c.error.tolist()
    ([2.0, 0.5], [1.0, 0.0])
    """
    rows = np.atleast_2d(np.asarray(runs, dtype=np.float64))
    error = rows.std(axis=0, ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else None
    return Curve(name=name, x=np.asarray(x, dtype=np.float64), y=rows.mean(axis=0), error=error, style=style)


def checkpoints(rounds: int, points: int = 60) -> list[int]:
    """Rounds at about even distances on a log scale, the first and the last among them.

    Examples
    --------
    >>> from smidgen_papers.outcome import checkpoints
    >>> checkpoints(100, 5)
    [1, 3, 10, 32, 100]
    """
    return sorted({round(t) for t in np.geomspace(1, rounds, points)})
