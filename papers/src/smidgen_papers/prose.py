"""The remarks on pages that are there: put in again when only the prose has changed, without the results of a run."""

from __future__ import annotations

import re
from pathlib import Path

from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.remarks import filled, read

_REMARKS = re.compile(r"<!-- remarks (\S+):begin -->.*?<!-- remarks \1:end -->", re.DOTALL)
_TABLE = re.compile(r"^\*(.+)\*\n\n\|(.+)\|\n\|[-|]+\|\n((?:\|.*\|\n)*)", re.MULTILINE)


def marked(id: str, text: str) -> str:
    """The remarks on a figure as a page holds them: between two marks."""
    return f"<!-- remarks {id}:begin -->\n\n{text}\n\n<!-- remarks {id}:end -->"


def write_prose(docs: Path) -> list[Path]:
    """Put the remarks of the package's files into the pages ``docs/papers/*.md``; gives the pages that have changed.

    What was measured stays what the page says: the places of a remark are filled from the tables above it.
    """
    changed = []
    for path in sorted((docs / "papers").glob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = _REMARKS.sub(_renewed, before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed.append(path)
    return changed


def tables_above(page: str, end: int) -> list[Table]:
    """The tables between the last heading before a place of a page and that place."""
    section = page[page.rfind("\n## ", 0, end) : end]
    return [
        Table(title, _cells(head), [_cells(row.strip("|")) for row in body.splitlines()])
        for title, head, body in _TABLE.findall(section)
    ]


def _renewed(found: re.Match[str]) -> str:
    text = filled(read(found[1]), Outcome(tables=tables_above(found.string, found.start())))
    return marked(found[1], text)


def _cells(row: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)]
