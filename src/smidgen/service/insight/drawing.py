"""Small pictures as SVG text: lines with bands, bars with whiskers, histograms. Colours are classes of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

#: The size of a picture, and what is left free around it.
WIDTH, HEIGHT = 480, 280
LEFT, RIGHT, TOP, BOTTOM = 52, 26, 12, 40
#: Bands of the first part of a line may leave the picture: they are wide, and would press all else flat.
EARLY = 0.05
#: How many colours the page has; more lines begin anew.
COLOURS = 6


class Stroke(NamedTuple):
    """A line with a band around it.

    Attributes
    ----------
    name
        What it is.
    points
        (x, value, low, high); a value of None interrupts it.
    colour
        The number of its colour.
    dashed
        Whether it is what really happened.
    """

    name: str
    points: Sequence[tuple[float, float | None, float | None, float | None]]
    colour: int
    dashed: bool = False


class Bar(NamedTuple):
    """A value with an interval.

    Attributes
    ----------
    name
        What it is.
    value, low, high
        The value, or None where only bounds are known, and its interval; None where nothing is.
    colour
        The number of its colour.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    colour: int


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers within a range.

    Examples
    --------
    >>> from smidgen.service.insight.drawing import ticks
    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / count
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * times for times in (1, 2, 5, 10) if unit * times >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def lines(series: Sequence[Stroke], *, across: str, label: str, level: float | None = None, steps: bool = False) -> str:
    """Lines over time, or over places, with their bands; ``level`` is drawn as a dashed line."""
    xs = [point[0] for line in series for point in line.points]
    if not xs:
        return ""
    settled = EARLY * max(xs)
    ys = [y for line in series for point in line.points for y in point[1:] if y is not None and point[0] >= settled]
    ys += [level] if level is not None else []
    if not ys:
        return ""
    low, high = _range(ys)
    frame = _Frame(min(xs), max(xs), low, high)
    parts = [frame.axes(across, whole=steps)]
    if level is not None:
        parts.append(f'<path class="level" d="M{LEFT} {frame.y(level):.1f}H{WIDTH - RIGHT}"/>')
    parts += [_line(line, frame) for line in series]
    return _picture("".join(parts), label)


def bars(rows: Sequence[Bar], *, label: str, level: float | None = None) -> str:
    """One row for each value, with a whisker from the low to the high end; a bar where the axis begins at 0."""
    ends = [end for row in rows for end in (row.value, row.low, row.high) if end is not None]
    ends += [level] if level is not None else []
    if not ends:
        return ""
    low, high = _range(ends)
    tall, margin = 24, 150
    height = len(rows) * tall + 44

    def x(value: float) -> float:
        return margin + (value - low) / (high - low) * (WIDTH - RIGHT - margin)

    parts = []
    for tick in ticks(low, high, 4):
        parts.append(f'<path class="grid" d="M{x(tick):.1f} 6V{height - 34}"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{height - 18}" text-anchor="middle">{_number(tick)}</text>')
    if level is not None:
        parts.append(f'<path class="level" d="M{x(level):.1f} 6V{height - 34}"/>')
    for place, row in enumerate(rows):
        y = 6 + place * tall + tall / 2
        name = row.name if len(row.name) <= 21 else row.name[:20] + "…"
        parts.append(f'<text x="{margin - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(name)}</text>')
        if row.low is None or row.high is None:
            parts.append(f'<text class="quiet" x="{margin + 4}" y="{y + 4:.1f}">not enough yet</text>')
            continue
        told = f"{row.name}: {_number(row.low)} to {_number(row.high)}"
        whisker = f'<path class="whisker" d="M{x(row.low):.1f} {y:.1f}H{x(row.high):.1f}"/>'
        caps = "".join(f'<path class="cap" d="M{x(end):.1f} {y - 5:.1f}v10"/>' for end in (row.low, row.high))
        bar = dot = ""
        if row.value is not None:
            told = f"{row.name}: {_number(row.value)} ({_number(row.low)} to {_number(row.high)})"
            long = x(row.value) - margin if low == 0.0 else 0.0
            bar = f'<rect class="bar" x="{margin}" y="{y - 7:.1f}" width="{long:.1f}" height="14"/>'
            dot = f'<circle cx="{x(row.value):.1f}" cy="{y:.1f}" r="4"/>'
        parts.append(f'<g class="c{row.colour % COLOURS}"><title>{escape(told)}</title>{bar}{whisker}{caps}{dot}</g>')
    return _picture("".join(parts), label, height)


def histogram(counts: Sequence[tuple[str, int]], *, across: str, label: str, colour: int = 0) -> str:
    """How many fall into each bin."""
    if not counts:
        return ""
    most = max(count for _, count in counts) or 1
    frame = _Frame(0.0, float(len(counts)), 0.0, float(most))
    parts = [frame.axes(across, bare=True)]
    for place, (name, count) in enumerate(counts):
        x0, x1, y = frame.x(place + 0.08), frame.x(place + 0.92), frame.y(count)
        told = f"<title>{escape(name)}: {count}</title>"
        size = f'width="{x1 - x0:.1f}" height="{HEIGHT - BOTTOM - y:.1f}"'
        parts.append(f'<g class="c{colour % COLOURS}">{told}<rect class="full" x="{x0:.1f}" y="{y:.1f}" {size}/></g>')
        if len(counts) <= 8 or place % 2 == 0:
            centre = (x0 + x1) / 2
            parts.append(f'<text x="{centre:.1f}" y="{HEIGHT - 22}" text-anchor="middle">{escape(name)}</text>')
    return _picture("".join(parts), label)


class _Frame:
    """Where numbers lie in a picture."""

    def __init__(self, left: float, right: float, low: float, high: float) -> None:
        self._x0, self._x1 = left, right if right > left else left + 1.0
        self._y0, self._y1 = low, high if high > low else low + 1.0

    def x(self, value: float) -> float:
        return LEFT + (value - self._x0) / (self._x1 - self._x0) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        within = min(max(value, self._y0), self._y1)
        return HEIGHT - BOTTOM - (within - self._y0) / (self._y1 - self._y0) * (HEIGHT - TOP - BOTTOM)

    def axes(self, across: str, *, whole: bool = False, bare: bool = False) -> str:
        parts = []
        for tick in ticks(self._y0, self._y1):
            y = self.y(tick)
            parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
            parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
        for tick in [] if bare else ticks(self._x0, self._x1, 4):
            if not whole or tick == round(tick):
                x = self.x(tick)
                parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 22}" text-anchor="middle">{_number(tick)}</text>')
        middle = (LEFT + WIDTH - RIGHT) / 2
        title = f'<text class="quiet" x="{middle:.1f}" y="{HEIGHT - 5}" text-anchor="middle">{escape(across)}</text>'
        return "".join(parts) + title


def _line(line: Stroke, frame: _Frame) -> str:
    known = [(x, value, low, high) for x, value, low, high in line.points if value is not None]
    if not known:
        return ""
    path = "L".join(f"{frame.x(x):.1f} {frame.y(value):.1f}" for x, value, _, _ in known)
    band = ""
    ended = [(x, low, high) for x, _, low, high in known if low is not None and high is not None]
    if len(ended) > 1:
        there = "L".join(f"{frame.x(x):.1f} {frame.y(high):.1f}" for x, _, high in ended)
        back = "L".join(f"{frame.x(x):.1f} {frame.y(low):.1f}" for x, low, _ in reversed(ended))
        band = f'<path class="band" d="M{there}L{back}Z"/>'
    dots = ""
    if len(known) == 1 or len(known) <= 12:
        dots = "".join(f'<circle cx="{frame.x(x):.1f}" cy="{frame.y(value):.1f}" r="3"/>' for x, value, _, _ in known)
    style = "line dashed" if line.dashed else "line"
    title = f"<title>{escape(line.name)}</title>"
    return f'<g class="c{line.colour % COLOURS}">{title}{band}<path class="{style}" d="M{path}"/>{dots}</g>'


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    space = 0.06 * (high - low) or 0.5
    return (0.0 if 0.0 <= low <= 0.3 * high else low - space), high + space


def _number(value: float) -> str:
    if value == round(value) and abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _picture(content: str, label: str, height: int = HEIGHT) -> str:
    size = f'viewBox="0 0 {WIDTH} {height}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}">{content}</svg>'
