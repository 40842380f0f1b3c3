"""The HTML report of a replay."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from smidgen import __version__
from smidgen.errors import InvalidArgument
from smidgen.service.loops.estimates import Bin, Estimate
from smidgen.service.ope.whatif import Outcome, WhatIf

# Small pictures as SVG text: lines with bands, bars with whiskers, histograms. Colours are classes of the page.

#: The size of a picture, and what is left free around it.
WIDTH, HEIGHT = 480, 280
LEFT, RIGHT, TOP, BOTTOM = 52, 26, 12, 40
#: Bands of the first part of a line may leave the picture: they are wide, and would press all else flat.
EARLY = 0.05
#: Number of colors of the page; further lines reuse them.
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
    >>> from smidgen.service.ope.report import ticks
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
    """A chart with one row per value and a whisker from its low to its high end; with a bar if the axis begins at 0."""
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
        title = f"{row.name}: {_number(row.low)} to {_number(row.high)}"
        whisker = f'<path class="whisker" d="M{x(row.low):.1f} {y:.1f}H{x(row.high):.1f}"/>'
        caps = "".join(f'<path class="cap" d="M{x(end):.1f} {y - 5:.1f}v10"/>' for end in (row.low, row.high))
        bar = dot = ""
        if row.value is not None:
            title = f"{row.name}: {_number(row.value)} ({_number(row.low)} to {_number(row.high)})"
            long = x(row.value) - margin if low == 0.0 else 0.0
            bar = f'<rect class="bar" x="{margin}" y="{y - 7:.1f}" width="{long:.1f}" height="14"/>'
            dot = f'<circle cx="{x(row.value):.1f}" cy="{y:.1f}" r="4"/>'
        parts.append(f'<g class="c{row.colour % COLOURS}"><title>{escape(title)}</title>{bar}{whisker}{caps}{dot}</g>')
    return _picture("".join(parts), label, height)


def histogram(counts: Sequence[tuple[str, int]], *, across: str, label: str, colour: int = 0) -> str:
    """Number of values in each bin."""
    if not counts:
        return ""
    most = max(count for _, count in counts) or 1
    frame = _Frame(0.0, float(len(counts)), 0.0, float(most))
    parts = [frame.axes(across, bare=True)]
    for place, (name, count) in enumerate(counts):
        x0, x1, y = frame.x(place + 0.08), frame.x(place + 0.92), frame.y(count)
        title = f"<title>{escape(name)}: {count}</title>"
        size = f'width="{x1 - x0:.1f}" height="{HEIGHT - BOTTOM - y:.1f}"'
        parts.append(f'<g class="c{colour % COLOURS}">{title}<rect class="full" x="{x0:.1f}" y="{y:.1f}" {size}/></g>')
        if len(counts) <= 8 or place % 2 == 0:
            centre = (x0 + x1) / 2
            parts.append(f'<text x="{centre:.1f}" y="{HEIGHT - 22}" text-anchor="middle">{escape(name)}</text>')
    return _picture("".join(parts), label)


class _Frame:
    """Scale from numbers to positions in a chart."""

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


# How the page of a replay looks, by day and by night.

STYLE = """
:root { --bg: #f7f6f3; --surface: #fff; --ink: #1c2127; --muted: #5d6670; --line: #e4e0d9; --grid: #ebe8e2;
  --good: #28704b; --bad: #b3324a; --c0: #1f6f8b; --c1: #c4622d; --c2: #28704b; --c3: #7a4fa3; --c4: #a0522d;
  --c5: #b3324a; color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --bg: #12161a; --surface: #1a1f25; --ink: #e9ecef; --muted: #9ba6b1; --line: #2c343d; --grid: #262e36;
    --good: #6cc496; --bad: #f08398; --c0: #5fb9d6; --c1: #f0996a; --c2: #6cc496; --c3: #b99ae0; --c4: #d9a577;
    --c5: #f08398; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--ink); -webkit-text-size-adjust: 100%;
  font: 15px/1.55 "Inter", "Segoe UI", system-ui, -apple-system, "Helvetica Neue", "DejaVu Sans", sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 2rem 1.2rem 4rem; display: grid; gap: 1.2rem; }
main > * { min-width: 0; }
h1 { font-size: 1.6rem; line-height: 1.2; letter-spacing: -0.02em; margin: 0 0 0.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 0 0 0.6rem; }
p { margin: 0.3rem 0; } .quiet, figcaption { color: var(--muted); }
section { background: var(--surface); border: 1px solid var(--line); border-radius: 14px; padding: 1rem 1.2rem; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 1.2rem; }
.pictures > * { min-width: 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 620; padding: 0.9rem 0 0.2rem; overflow-wrap: anywhere; }
td { padding: 0.3rem 0.9rem 0.3rem 0; border-top: 1px solid var(--line); vertical-align: top; }
td.number { white-space: nowrap; }
@media (max-width: 640px) { td { display: inline-block; border: 0; padding: 0 0.9rem 0 0; }
  td:first-child { display: block; } tr { display: block; border-top: 1px solid var(--line); padding: 0.3rem 0; } }
ul { margin: 0; padding-left: 1.1rem; } li { margin: 0.25rem 0; }
.key { display: flex; flex-wrap: wrap; gap: 0.3rem 1.1rem; margin: 0 0 0.5rem; padding: 0; list-style: none;
  font-size: 0.88rem; }
.key i { display: inline-block; width: 0.85rem; height: 0.85rem; border-radius: 4px; margin-right: 0.4rem;
  vertical-align: -0.1rem; background: currentColor; }
.key span { color: var(--ink); overflow-wrap: anywhere; }
.better { color: var(--good); font-weight: 600; } .worse { color: var(--bad); font-weight: 600; }
figure { margin: 0; } figcaption { font-size: 0.88rem; margin-top: 0.3rem; }
svg { width: 100%; height: auto; display: block; }
svg text { font-size: 13px; fill: var(--ink); } svg text.quiet { fill: var(--muted); }
.grid { stroke: var(--grid); fill: none; }
.level { stroke: var(--ink); stroke-dasharray: 5 4; opacity: 0.7; fill: none; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); }
svg g .line { stroke: currentColor; stroke-width: 2; fill: none; } svg g .dashed { stroke-dasharray: 6 4; }
svg g .band { fill: currentColor; opacity: 0.14; } svg g .bar { fill: currentColor; opacity: 0.22; }
svg g .full { fill: currentColor; opacity: 0.75; } svg g circle { fill: currentColor; }
svg g .whisker { stroke: currentColor; stroke-width: 2; } svg g .cap { stroke: currentColor; stroke-width: 2; }
@media (max-width: 640px) { svg text { font-size: 16px; } section { padding: 0.9rem; }
  main { padding: 1.2rem 0.7rem; } }
footer { color: var(--muted); font-size: 0.85rem; }
@media print { section { break-inside: avoid; } }
"""


# The page of a replay: one file with figures, words and pictures, which asks no other host for anything.

OWN = "as logged"
_NOTHING_OUTSIDE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def write(found: WhatIf, path: str | os.PathLike[str]) -> None:
    """Write the page into a file."""
    try:
        Path(path).write_text(page(found), encoding="utf-8")
    except OSError as error:
        raise InvalidArgument(f"the report cannot be written: {error}", "give a file in an existing folder") from error


def page(found: WhatIf) -> str:
    """The page as text."""
    body = "".join(
        part
        for part in (
            _head(found),
            _table(found),
            _pictures(found),
            _overlaps(found),
            _notes(found),
        )
        if part
    )
    title = escape(f"{found.log}: what if")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_NOTHING_OUTSIDE}">'
        f"<title>{title}</title><style>{STYLE}</style></head><body><main>{body}"
        f"<footer>Written by smidgen {__version__}: smidgen replay.</footer></main></body></html>\n"
    )


def _head(found: WhatIf) -> str:
    counts = f"{found.decisions:,} decisions of the loop {found.loop}, {found.answered:,} of them learnt from."
    happened = f"What happened: {found.logged.measure} {_figure(found.logged)}."
    return (
        f"<header><h1>{escape(found.log)}: what if another learner had stood here?</h1>"
        f"<p>{escape(counts)} {escape(happened)}</p></header>"
    )


def _table(found: WhatIf) -> str:
    rows = []
    for outcome in found.outcomes:
        rows.append(f'<tr><th colspan="3" scope="rowgroup">{escape(_name(found, outcome))}</th></tr>')
        for each in outcome.figures:
            worth = f"{each.of:,}" + ("" if each.effective is None else f" (worth {each.effective:,.0f})")
            rows.append(
                f'<tr><td>{escape(each.measure)}</td><td class="number">{_figure(each)}</td>'
                f'<td class="number quiet">of {worth}</td></tr>'
            )
        if not outcome.figures:
            rows.append('<tr><td colspan="3" class="quiet">no number: see below</td></tr>')
    verdicts = [
        f'<li>{escape(each.learner)}: <span class="{_mood(each.verdict)}">{escape(each.verdict)}</span>.</li>'
        for each in found.outcomes
        if each.verdict
    ]
    listed = f"<ul>{''.join(verdicts)}</ul>" if verdicts else ""
    if not rows:
        return "<section><h2>Figures</h2><p>This log says nothing of other learners.</p></section>"
    return (
        f"<section><h2>Figures, with 95 % intervals</h2>{listed}<table><tbody>{''.join(rows)}</tbody></table></section>"
    )


def _pictures(found: WhatIf) -> str:
    parts, level = [], found.logged.value
    banded = [outcome for outcome in found.outcomes if outcome.band]
    measure = banded[0].main if banded else ""
    same = measure.startswith(found.logged.measure)
    series = [
        Stroke(
            _name(found, each),
            [(point.of, point.value, point.low, point.high) for point in each.band],
            found.outcomes.index(each),
            each.learner == OWN,
        )
        for each in banded
    ]
    if drawn := lines(series, across="answered decisions", label="Over time", level=level if same else None):
        caption = (
            f"{measure} over time. The bands hold at all times at once; nothing is drawn while there is too little."
        )
        if same:
            caption += " The dashed level is what happened."
        parts.append(_figure_of("Over time", drawn, caption, _key(found, banded)))
    elif running := lines(_running(found), across="feedback", label="Running figure"):
        name = found.outcomes[0].measure
        parts.append(_figure_of("Over time", running, f"{name}, running, without an interval.", _key(found)))
    rows = [
        Bar(_short(each.measure), each.value, each.low, each.high, place)
        for place, outcome in enumerate(found.outcomes)
        for each in outcome.figures
        if each.measure.startswith(measure.partition(" (")[0] or outcome.measure)
    ]
    if drawn := bars(rows, label="Estimates with their intervals", level=level if same else None):
        name = measure.partition(" (")[0] or rows[0].name
        parts.append(_figure_of("Estimates", drawn, f"{name}: each estimate with its interval.", _key(found)))
    if found.examined is not None:
        seen = found.examined
        points = [(k + 1.0, r, a, b) for k, (r, a, b) in enumerate(zip(seen.read, seen.low, seen.high, strict=True))]
        drawn = lines([Stroke("looked at", points, 0)], across="place", label="Examination curve", steps=True)
        source = f"from {seen.rounds:,} answered rankings" if seen.rounds else "as it was given"
        parts.append(_figure_of("How far people look", drawn, f"How likely each place is looked at, {source}."))
    return f'<div class="pictures">{"".join(parts)}</div>' if parts else ""


def _overlaps(found: WhatIf) -> str:
    parts = []
    for place, outcome in enumerate(found.outcomes):
        if outcome.overlap is None or outcome.learner == OWN:
            continue
        counts = [(_bin(each), each.count) for each in outcome.overlap.weights]
        drawn = histogram(counts, across="weight", label=f"Weights for {outcome.learner}", colour=place)
        words = "".join(f"<p>{escape(sentence)}</p>" for sentence in outcome.overlap.words)
        parts.append(
            f"<section><h2>{escape(outcome.learner)}: how much of the log bears on it</h2>{words}"
            f"<figure>{drawn}<figcaption>How many decisions have which weight: its probability of what was shown, over "
            "that of the log. 0: it would never have shown that.</figcaption></figure></section>"
        )
    return f'<div class="pictures">{"".join(parts)}</div>' if parts else ""


def _notes(found: WhatIf) -> str:
    entries = [escape(note) for note in found.notes]
    said: dict[str, list[str]] = {}
    for outcome in found.outcomes:
        for note in outcome.notes:
            said.setdefault(note, []).append(outcome.learner)
    for note, whose in said.items():
        entries.append(escape(note if len(whose) == len(found.outcomes) else f"{', '.join(whose)}: {note}"))
    items = "".join(f"<li>{note[:1].upper()}{note[1:]}.</li>" for note in entries)
    return f"<section><h2>What a reader must know</h2><ul>{items}</ul></section>" if entries else ""


def _running(found: WhatIf) -> list[Stroke]:
    return [
        Stroke(_name(found, each), [(n, value, None, None) for n, value in each.curve], place, each.learner == OWN)
        for place, each in enumerate(found.outcomes)
        if each.curve
    ]


def _short(measure: str) -> str:
    """Method of a figure, if its name has one in brackets."""
    _, found, how = measure.partition(" (")
    return how.replace(")", "", 1) if found else measure


def _key(found: WhatIf, among: list[Outcome] | None = None) -> str:
    """Legend of the colors."""
    items = "".join(
        f'<li class="c{place % COLOURS}"><i></i><span>{escape(_name(found, each))}</span></li>'
        for place, each in enumerate(found.outcomes)
        if among is None or each in among
    )
    return f'<ul class="key">{items}</ul>'


def _figure_of(title: str, drawn: str, caption: str, key: str = "") -> str:
    return (
        f"<section><h2>{escape(title)}</h2>{key}<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"
        "</section>"
    )


def _name(found: WhatIf, outcome: Outcome) -> str:
    return f"{outcome.settings.partition('(')[0]} (as logged)" if outcome.learner == OWN else outcome.learner


def _mood(verdict: str) -> str:
    return verdict.split(" ")[0] if verdict.endswith("certain") else "quiet"


def _bin(each: Bin) -> str:
    if each.above is None:
        return "0"
    return f"≤ {each.upto:g}" if each.upto is not None else f"> {each.above:g}"


def _figure(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "not enough yet"
    value = "" if estimate.value is None else f"{estimate.value:.3f} "
    return f"{value}({estimate.low:.3f} to {estimate.high:.3f})"
