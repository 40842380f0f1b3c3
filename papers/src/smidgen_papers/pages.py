"""The documentation's pages about the papers: figure, what the paper shows, claims, remarks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory

from smidgen_papers import catalogue
from smidgen_papers.claims import Finding
from smidgen_papers.drawing import draw
from smidgen_papers.outcome import Table
from smidgen_papers.part import Run
from smidgen_papers.prose import marked
from smidgen_papers.remarks import cell, filled
from smidgen_papers.report import heading, label
from smidgen_papers.runner import Shown
from smidgen_papers.tables import row, tally
from smidgen_papers.themes import save_for_page

_SIGNS = {
    "holds": "✓ holds",
    "does not hold here": "✗ does not hold here",
    "cannot be tested here": "? cannot be tested here",
}
_COLOURS = dict(zip(_SIGNS.values(), ("good", "bad", "open"), strict=True))


def write_pages(runs: Iterable[tuple[Run, Shown]], docs: Path) -> list[Path]:
    """Write ``docs/papers/NAME.md`` for every paper, the pictures next to them, and the table of all claims.

    Pages that people write (``docs/beyond``) keep their text; the pictures that they have are drawn again.
    """
    listed = list(runs)
    everything = [(run, shown) for run, shown in listed if catalogue.papers[shown.figure.paper].page]
    folder = docs / "papers"
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in catalogue.papers:
        mine = [(run, shown) for run, shown in everything if shown.figure.paper == name]
        if mine:
            written.append(folder / f"{name}.md")
            written[-1].write_text(_page(name, mine, folder), encoding="utf-8")
    for run, shown in listed:
        written += [] if run.quick or catalogue.papers[shown.figure.paper].page else _redrawn(shown, docs)
    written.append(folder / "claims.md")
    written[-1].write_text(_claims(everything), encoding="utf-8")
    return written


def differing(runs: Iterable[tuple[Run, Shown]], docs: Path) -> dict[str, list[str]]:
    """What the pages say otherwise than these results: lines by figure, and the picture if its bytes differ.

    Quick runs are passed over: the pages are of full ones.
    """
    found: dict[str, list[str]] = {}
    for run, shown in runs:
        paper, id = shown.figure.paper, shown.figure.id
        if run.quick or not catalogue.papers[paper].page:
            continue
        page = docs / "papers" / f"{paper}.md"
        with TemporaryDirectory() as folder:
            new = section(_page(paper, [(run, shown)], Path(folder)), id)
            pictures = [(drawn, page.parent / "images" / drawn.name) for drawn in Path(folder).glob("images/*.svg")]
            other = [
                kept.name for drawn, kept in pictures if not kept.is_file() or kept.read_bytes() != drawn.read_bytes()
            ]
        old = section(page.read_text(encoding="utf-8"), id) if page.is_file() else ""
        changed = [
            line for line in unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="") if line[0] != "@"
        ]
        found[id] = [*changed[2:], *(f"another picture: {name}" for name in other)]
    return found


def section(page: str, id: str) -> str:
    """A figure's part of a page; empty if it has none."""
    found = re.search(rf"^{re.escape(_heading(id))}.*?(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    return found[0].strip() if found else ""


def _heading(id: str) -> str:
    return f"## {label(id).partition(', ')[2].capitalize()}: "


def _page(name: str, runs: list[tuple[Run, Shown]], folder: Path) -> str:
    paper = catalogue.papers[name]
    lines = [
        f"# {paper.title}",
        "",
        f"{paper.citation}",
        "",
        f"`smidgen papers pages` wrote this page on {date.today()} from the results of `smidgen papers run {name}`.",
        "",
    ]
    for run, shown in runs:
        lines += [f"{_heading(shown.figure.id)}{shown.figure.title}", ""]
        lines += [f"**The paper shows:** {shown.figure.shows}", ""]
        picture = _picture(shown, folder)
        if picture:
            lines += [f"![{heading(shown)}]({picture}){{ loading=lazy }}", ""]
        for table in shown.outcome.tables:
            lines += [*_table(table), ""]
        notes = [*shown.outcome.notes, *(["A quick run: few repetitions."] if run.quick else [])]
        lines += [*(f"- {note}" for note in notes), *([""] if notes else [])]
        if shown.findings:
            lines += ["| the paper says | where | verdict | measured |", "|---|---|---|---|"]
            lines += [row(c.says, c.where, _SIGNS[f.verdict], _effect(f)) for c, f in shown.findings]
            lines += [""]
        if shown.figure.remarks:
            remarks = filled(shown.figure.remarks, shown.outcome, shown.findings)
            lines += [marked(shown.figure.id, remarks), ""]
        lines += [f"Again: `smidgen papers run {shown.figure.id}`", ""]
    return "\n".join(lines).rstrip() + "\n"


def _claims(runs: list[tuple[Run, Shown]]) -> str:
    return claims_page(
        [
            (
                f"[{label(shown.figure.id)}]({shown.figure.paper}.md)",
                f"{claim.says} ({claim.where})",
                _SIGNS[finding.verdict],
                _effect(finding),
            )
            for _, shown in runs
            for claim, finding in shown.findings
        ]
    )


def claims_page(claims: list[tuple[str, str, str, str]]) -> str:
    """The page of all claims, with their counts: figure (a link), what the paper says, verdict, what was measured."""
    papers = [(re.sub(r"^\[(\w+)[^\]]*\]", r"[\1]", link), verdict) for link, _, verdict, _ in claims]
    lines = [
        "# All claims",
        "",
        "Every sentence of the papers' experiments that can be wrong, with the verdict of our runs. What was to be",
        "reached beyond the papers stands in [a table like this one](../beyond/index.md).",
        "",
        *tally("paper", list(_COLOURS.items()), papers),
        "",
        "## Every claim",
        "",
        "| figure | the paper says | verdict | measured |",
        "|---|---|---|---|",
        *(row(*claim) for claim in claims),
    ]
    return "\n".join(lines) + "\n"


def _picture(shown: Shown, folder: Path) -> str | None:
    figure = draw(shown.outcome, heading(shown))
    if figure is None:
        return None
    images = folder / "images"
    images.mkdir(exist_ok=True)
    name = f"{shown.figure.id.replace('/', '-')}.svg"
    save_for_page(figure, images / name)
    return f"images/{name}"


def _redrawn(shown: Shown, docs: Path) -> list[Path]:
    """The picture of a page that people write, if the page has one."""
    path = docs / shown.figure.paper / "images" / f"{shown.figure.id.partition('/')[2]}.svg"
    figure = draw(shown.outcome, heading(shown)) if path.is_file() else None
    if figure is None:
        return []
    save_for_page(figure, path)
    return [path]


def _table(table: Table) -> list[str]:
    head = [f"*{table.title}*", "", row(*table.columns), "|" + "---|" * len(table.columns)]
    return [*head, *(row(*map(cell, cells)) for cells in table.rows), *(["", table.note] if table.note else [])]


def _effect(finding: Finding) -> str:
    return f"{finding.effect}. {finding.reason}" if finding.reason else finding.effect
