"""The results as a table for the terminal, and as sections of a page."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.aims import verdicts
from benchmarks.interleave import Measured, rows
from benchmarks.machine import described

TITLES = {
    "W1": "W1: labels from one bit, sparse text",
    "full covariance": "Full covariance",
    "W2": "W2: coactive ranking",
    "W2b": "W2b: second order",
    "W3": "W3: item choice",
    "W4": "W4: tuning",
    "W5": "W5: the two verbs from Python",
    "W6": "W6: records to rows",
    "W10": "W10: drafts that people edit",
    "W11": "W11: vectors",
    "W12": "W12: the recommended choosers",
    "W13": "W13: budgets, and knobs with a context",
    "records": "Records and saved learners",
    "start-up": "Start-up",
}


def as_table(measured: list[Measured]) -> Table:
    """For the terminal."""
    table = Table()
    for column in ("workload", "contender", "µs per unit", "times ours", "middle half"):
        table.add_column(column, justify="left" if column in ("workload", "contender") else "right")
    for each, name, microseconds, (low, middle, high) in rows(measured):
        table.add_row(
            each.name, name, f"{_number(microseconds)} / {each.unit}", f"{middle:.2f}", f"{low:.2f} – {high:.2f}"
        )
    return table


def aims_table(measured: list[Measured]) -> Table:
    """The aims for the terminal."""
    table = Table("workload", "ours", "aim", "measured", "reached")
    for each in verdicts(measured):
        table.add_row(each.workload, each.aim.ours, each.aim.statement, each.measured, _said(each.reached).strip("*"))
    return table


def as_markdown(where: dict[str, Any], measured: list[Measured], pictures: dict[str, str]) -> str:
    """The aims, then each group of workloads: picture, table, what there is to know."""
    lines = [described(where), ""]
    if where.get("quick"):
        lines += ["A quick run: few rounds and small sizes; it shows that everything runs, and measures little.", ""]
    lines += ["### Aims", "", "| workload | ours | aim | measured | reached |", "|---|---|---|---|---|"]
    lines += [
        f"| {v.workload} | {v.aim.ours} | {v.aim.statement} | {v.measured} | {_said(v.reached)} |"
        for v in verdicts(measured)
    ]
    for key in dict.fromkeys(each.key for each in measured):
        members = [each for each in measured if each.key == key]
        lines += ["", f"### {TITLES.get(key, key)}", ""]
        if key in pictures:
            lines += [f"![{TITLES.get(key, key)}: times as multiples of ours]({pictures[key]}){{ loading=lazy }}", ""]
        lines += ["| workload | contender | µs per unit | times ours | middle half |", "|---|---|---|---|---|"]
        lines += [
            f"| {each.name} | {name} | {_number(microseconds)} / {each.unit} | {middle:.2f} | {low:.2f} – {high:.2f} |"
            for each, name, microseconds, (low, middle, high) in rows(members)
        ]
        lines += ["", explained(members)]
    return "\n".join(lines).rstrip() + "\n"


def explained(measured: list[Measured]) -> str:
    """What each workload asks for, and what there is to know of each contender; what several share is said once."""
    shared: dict[tuple[str, str], list[str]] = {}
    for each in measured:
        remarks = "".join(f"\n    - {name}: {remark}." for name, remark in each.remarks.items())
        shared.setdefault((each.job, remarks), []).append(each.name)
    return "\n".join(f"- *{'*, *'.join(names)}*: {job}.{remarks}" for (job, remarks), names in shared.items()) + "\n"


def insert(page: Path, name: str, text: str) -> None:
    """Put a text between ``<!-- name -->`` and ``<!-- /name -->`` of a page."""
    before = page.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.DOTALL)
    if len(pattern.findall(before)) != 1:
        raise SystemExit(f"{page} must have <!-- {name} --> and <!-- /{name} --> once")
    page.write_text(pattern.sub(lambda match: f"{match[1]}\n{text}\n{match[2]}", before), encoding="utf-8")


def write(path: Path, where: dict[str, Any], measured: list[Measured]) -> None:
    """All times of all rounds, for other tables than ours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**where, "results": [asdict(each) for each in measured]}, indent=1))


def read(path: Path) -> tuple[dict[str, Any], list[Measured]]:
    """What `write` wrote."""
    content = json.loads(path.read_text())
    return content, [Measured.of(fields) for fields in content.pop("results")]


def _number(value: float) -> str:
    return f"{value:,.{0 if value >= 100 else 2}f}"


def _said(reached: bool | None) -> str:
    return "–" if reached is None else "yes" if reached else "**no**"
