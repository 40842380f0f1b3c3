"""The page of a replay: one file with figures, words and pictures, which asks no other host for anything."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path

from smidgen import __version__
from smidgen.errors import InvalidArgument
from smidgen.service.insight.drawing import COLOURS, Bar, Line, bars, histogram, lines
from smidgen.service.insight.estimates import Estimate
from smidgen.service.insight.report_style import STYLE
from smidgen.service.insight.weighing import Bin
from smidgen.service.insight.whatif import Outcome, WhatIf

OWN = "as logged"
_NOTHING_OUTSIDE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def write(found: WhatIf, path: str | os.PathLike[str]) -> None:
    """Write the page into a file."""
    try:
        Path(path).write_text(page(found), encoding="utf-8")
    except OSError as error:
        raise InvalidArgument(f"the page cannot be written: {error}", "give a file in a folder that exists") from error


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
    told = f"<ul>{''.join(verdicts)}</ul>" if verdicts else ""
    if not rows:
        return "<section><h2>Figures</h2><p>This log says nothing of other learners.</p></section>"
    return (
        f"<section><h2>Figures, with 95 % intervals</h2>{told}<table><tbody>{''.join(rows)}</tbody></table></section>"
    )


def _pictures(found: WhatIf) -> str:
    parts, level = [], found.logged.value
    banded = [outcome for outcome in found.outcomes if outcome.band]
    measure = banded[0].main if banded else ""
    same = measure.startswith(found.logged.measure)
    series = [
        Line(
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
        drawn = lines([Line("looked at", points, 0)], across="place", label="Examination curve", steps=True)
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
    told = [escape(note) for note in found.notes]
    said: dict[str, list[str]] = {}
    for outcome in found.outcomes:
        for note in outcome.notes:
            said.setdefault(note, []).append(outcome.learner)
    for note, whose in said.items():
        told.append(escape(note if len(whose) == len(found.outcomes) else f"{', '.join(whose)}: {note}"))
    items = "".join(f"<li>{note[:1].upper()}{note[1:]}.</li>" for note in told)
    return f"<section><h2>What a reader must know</h2><ul>{items}</ul></section>" if told else ""


def _running(found: WhatIf) -> list[Line]:
    return [
        Line(_name(found, each), [(n, value, None, None) for n, value in each.curve], place, each.learner == OWN)
        for place, each in enumerate(found.outcomes)
        if each.curve
    ]


def _short(measure: str) -> str:
    """How a figure was made, if that is said in brackets."""
    _, found, how = measure.partition(" (")
    return how.replace(")", "", 1) if found else measure


def _key(found: WhatIf, among: list[Outcome] | None = None) -> str:
    """Which colour is whose."""
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
