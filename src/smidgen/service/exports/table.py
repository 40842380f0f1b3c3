"""CSV: one event per line of a table, for spreadsheets and data frames."""

from __future__ import annotations

import csv
from pathlib import Path

from smidgen.service.exports import Format, Span
from smidgen.service.exports.rows import columns, rows
from smidgen.service.store.recording import Recording


def write(recording: Recording, span: Span, path: Path) -> int:
    """The columns of `rows`; a cell that would be a formula to a spreadsheet is quoted by an apostrophe."""
    count = 0
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns(recording))
        table.writeheader()
        for _, found in rows(recording, span):
            table.writerow({name: _harmless(value) for name, value in found.items()})
            count += 1
    return count


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


FORMAT = Format("csv", "one event per row; answers and feedback as JSON in their cells", write)
