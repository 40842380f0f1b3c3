"""One self-contained page of all that was run, and the numbers behind it as CSV."""

from __future__ import annotations

import html
import io
from collections.abc import Iterable
from datetime import date
from importlib.resources import files
from pathlib import Path

from smidgen import __version__
from smidgen.errors import MissingExtra
from smidgen_papers import catalogue
from smidgen_papers.claims import Finding
from smidgen_papers.drawing import curves_csv, draw, save, table_csv
from smidgen_papers.outcome import Table
from smidgen_papers.part import Run
from smidgen_papers.remarks import cell, filled
from smidgen_papers.runner import Shown

_CLASSES = {"holds": "holds", "does not hold here": "fails", "cannot be tested here": "open"}


def write_numbers(shown: Shown, folder: Path) -> list[Path]:
    """The figure as SVG and PNG and its numbers as CSV, in ``folder/paper/``; gives the files' paths."""
    target = folder / shown.figure.paper
    target.mkdir(parents=True, exist_ok=True)
    name = shown.figure.id.partition("/")[2]
    written = []
    figure = draw(shown.outcome, heading(shown))
    if figure is not None:
        for ending in ("svg", "png"):
            written.append(target / f"{name}.{ending}")
            save(figure, written[-1])
        written.append(target / f"{name}.csv")
        written[-1].write_text(curves_csv(shown.outcome.panels), encoding="utf-8")
    for i, table in enumerate(shown.outcome.tables, 1):
        written.append(target / f"{name}-table{i}.csv")
        written[-1].write_text(table_csv(table), encoding="utf-8")
    if shown.findings:
        rows = [[c.id, c.says, c.where, f.verdict, f.effect, f.reason] for c, f in shown.findings]
        claims = Table("claims", ["claim", "says", "where", "verdict", "effect", "reason"], rows)
        written.append(target / f"{name}-claims.csv")
        written[-1].write_text(table_csv(claims), encoding="utf-8")
    return written


def heading(shown: Shown) -> str:
    """What stands above the picture."""
    return f"{label(shown.figure.id)}: {shown.figure.title}"


def label(id: str) -> str:
    """``coactive/fig2`` as a person would say it."""
    paper, _, name = id.partition("/")
    for short, long in (("fig", "Figure "), ("table", "Table ")):
        rest = name.removeprefix(short)
        if rest != name and rest[:1].isdigit():
            return f"{paper}, {long}{rest}"
    return f"{paper}, {name.replace('-', ' ')}"


def page(runs: Iterable[tuple[Run, Shown]]) -> str:
    """The page as HTML; nothing in it is fetched from elsewhere."""
    everything = list(runs)
    sections = [_summary(everything)]
    for name, paper in catalogue.papers.items():
        mine = [(run, shown) for run, shown in everything if shown.figure.paper == name]
        if mine:
            sections.append(f'<h2 id="{name}">{_text(paper.title)}</h2><p class="note">{_text(paper.citation)}</p>')
            sections.extend(_section(run, shown) for run, shown in mine)
    style = files("smidgen_papers").joinpath("report.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The papers, reproduced by smidgen</title><style>{style}</style></head><body><main>"
        f"<h1>The papers, reproduced</h1><p>smidgen {__version__}, {date.today().isoformat()}</p>"
        f"{''.join(sections)}</main></body></html>\n"
    )


def _summary(runs: list[tuple[Run, Shown]]) -> str:
    counts = dict.fromkeys(_CLASSES, 0)
    for _, shown in runs:
        for _, finding in shown.findings:
            counts[finding.verdict] += 1
    total = sum(counts.values())
    verdicts = ", ".join(f'<span class="{_CLASSES[v]}">{n} {v}</span>' for v, n in counts.items())
    items = "".join(f'<li><a href="#{_anchor(s)}">{_text(heading(s))}</a></li>' for _, s in runs)
    return f"<p>{len(runs)} figures and tables, {total} claims: {verdicts}.</p><nav><ul>{items}</ul></nav>"


def _section(run: Run, shown: Shown) -> str:
    figure, outcome = shown.figure, shown.outcome
    size = "a quick run: few repetitions" if run.quick else "the full run"
    parts = [
        f'<section><h3 id="{_anchor(shown)}">{_text(heading(shown))}</h3>',
        f"<p><strong>The paper shows:</strong> {_text(figure.shows)}</p>",
        f'<p class="note">This is {size}, seed {run.seed}.</p>',
    ]
    drawn = draw(outcome, heading(shown))
    if drawn is not None:
        file = io.StringIO()
        drawn.savefig(file, format="svg", metadata={"Date": None})
        svg = file.getvalue()
        parts.append(f'<figure role="img" aria-label="{_text(heading(shown))}">{svg[svg.index("<svg") :]}</figure>')
    parts.extend(_table(table) for table in outcome.tables)
    if outcome.notes:
        parts.append('<ul class="note">' + "".join(f"<li>{_text(note)}</li>" for note in outcome.notes) + "</ul>")
    if shown.findings:
        rows = "".join(
            f"<tr><td>{_text(c.says)}<br><span class=note>{_text(c.where)}</span></td>"
            f'<td class="verdict {_CLASSES[f.verdict]}">{f.verdict}</td><td>{_text(_effect(f))}</td></tr>'
            for c, f in shown.findings
        )
        parts.append(
            "<table><caption>Claims</caption><tr><th>the paper says</th><th>verdict</th><th>measured</th></tr>"
            f"{rows}</table>"
        )
    if figure.remarks:
        parts.append(_markdown(filled(figure.remarks, outcome, shown.findings)))
    return "".join(parts) + "</section>"


def _effect(finding: Finding) -> str:
    return f"{finding.effect}. {finding.reason}" if finding.reason else finding.effect


def _table(table: Table) -> str:
    head = "".join(f"<th>{_text(column)}</th>" for column in table.columns)
    rows = "".join("<tr>" + "".join(f"<td>{_text(cell(c))}</td>" for c in row) + "</tr>" for row in table.rows)
    note = f'<p class="note">{_text(table.note)}</p>' if table.note else ""
    return f"<table><caption>{_text(table.title)}</caption><tr>{head}</tr>{rows}</table>{note}"


def _anchor(shown: Shown) -> str:
    return shown.figure.id.replace("/", "-")


def _text(words: str) -> str:
    return html.escape(words)


def _markdown(text: str) -> str:
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise MissingExtra("the report needs markdown-it-py", "pip install markdown-it-py") from error
    return str(MarkdownIt().enable("table").render(text))
