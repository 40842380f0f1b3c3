"""What we found, figure by figure: Markdown files of this package, ``remarks/PAPER/FIGURE.md``.

Prose, with places for what was measured. ``{{TITLE | ROW | COLUMN}}`` is a cell of one of the figure's tables;
a fourth field says how to write the number, e.g. ``.2f``. A row goes by its first cell, or by the first few, joined
by commas. ``{{claim ID}}`` is what was measured for a claim of the figure. ``{{FILE.md}}`` is the text of another
file of the folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

from smidgen_papers.claims import Claim, Finding
from smidgen_papers.outcome import Outcome, Table

#: What stands in the place of a figure that a run does not have: a quick one, or one without the data.
ABSENT = "(not in this run)"
_PLACE = re.compile(r"\{\{([^{}]+)\}\}")


def read(id: str) -> str:
    """The remarks on a figure, e.g. ``coactive/fig2``; empty if there are none."""
    paper, _, name = id.partition("/")
    folder = files("smidgen_papers").joinpath("remarks", paper)
    file = folder.joinpath(f"{name}.md")
    if not file.is_file():
        return ""
    text = file.read_text(encoding="utf-8")
    return re.sub(
        r"^\{\{([\w-]+\.md)\}\}$",
        lambda found: folder.joinpath(found[1]).read_text(encoding="utf-8").strip(),
        text,
        flags=re.MULTILINE,
    ).strip()


def filled(text: str, outcome: Outcome, findings: Iterable[tuple[Claim, Finding]] = ()) -> str:
    """The text with what was measured."""
    effects = {claim.id: finding.effect for claim, finding in findings}

    def measured(place: re.Match[str]) -> str:
        asked = place[1].strip()
        if asked.startswith("claim "):
            return effects.get(asked.removeprefix("claim ").strip(), ABSENT)
        return _cell(outcome.tables, *(field.strip() for field in asked.split("|")))

    return _PLACE.sub(measured, text)


def cell(value: object) -> str:
    """A table's cell as text: numbers to four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _cell(tables: Sequence[Table], title: str, row: str = "", column: str = "", form: str = "") -> str:
    for table in tables:
        if table.title != title or column not in table.columns:
            continue
        for cells in table.rows:
            if any(", ".join(map(cell, cells[:k])) == row for k in range(1, len(cells))):
                return _number(cells[list(table.columns).index(column)], form)
    return ABSENT


def _number(value: Any, form: str) -> str:
    return format(float(value), form) if form else cell(value)
