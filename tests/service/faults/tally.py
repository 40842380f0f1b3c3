"""Counts of what was tried and what was lost, kept as JSON on request."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

#: The file to which the counts are added, if this is set.
VARIABLE = "SMIDGEN_FAULTS_JSON"


class Tally:
    """Counts by what was tried.

    Attributes
    ----------
    rows
        ``lives`` (services started), ``kills`` (services that ended so), ``faults`` (operations that went wrong),
        ``folders`` (those that were held against what was acknowledged), ``acknowledged`` (decisions and reactions in
        all lives), ``refused`` (answers 503 and 500), ``starts_refused``, ``noticed`` (loss by a disk that lied,
        reported by the service), ``lost`` (folders with something acknowledged and gone, learned twice, or with weights
        that the log does not lead to).
    """

    def __init__(self) -> None:
        self.rows: dict[str, Counter[str]] = {}

    def add(self, what: str, **counts: int) -> None:
        """Add to the counts of a row."""
        self.rows.setdefault(what, Counter()).update(counts)

    def keep(self) -> None:
        """Add everything to the file that the environment names."""
        if path := os.environ.get(VARIABLE):
            before = read(Path(path)) if Path(path).exists() else {}
            for what, counts in self.rows.items():
                before[what] = dict(Counter(before.get(what, {})) + counts)
                before[what].setdefault("lost", 0)
            Path(path).write_text(json.dumps(before, indent=2, sort_keys=True) + "\n")


def read(path: Path) -> dict[str, dict[str, int]]:
    """The counts that a file holds."""
    found: dict[str, dict[str, int]] = json.loads(path.read_text())
    return found
