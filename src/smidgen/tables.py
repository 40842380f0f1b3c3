"""The table of algorithms, for the terminal, for programs and for the docs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from smidgen.learners.card import Card, Loop

if TYPE_CHECKING:
    from rich.console import RenderableType

COLUMNS = ("loop", "feedback", "paper", "bound", "cost")
TITLES = {"bound": "average regret", "cost": "cost per round"}
WIDE = 140


def in_order(cards: Mapping[str, Card], loop: str | None = None) -> dict[str, Card]:
    """The algorithms (of one loop) in the order of their papers."""
    known = [str(each) for each in Loop]
    place = {each: i for i, each in enumerate(known)}  # loops of others come last
    rows = sorted(cards.items(), key=lambda row: (place.get(row[1].loops[0], len(known)), row[1].paper))
    return {name: card for name, card in rows if loop is None or loop in card.loops}


def learner_table(cards: Mapping[str, Card], width: int) -> RenderableType:
    """The algorithms for a terminal: a table if it is wide, else one paragraph each."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if width < WIDE:
        paragraphs: list[RenderableType] = []
        for name, card in cards.items():
            fields = Table.grid(padding=(0, 2))
            for column in COLUMNS:
                fields.add_row(f"  [dim]{TITLES.get(column, column)}[/dim]", _cell(card, column))
            paragraphs += [Text(name, style="bold", no_wrap=True, overflow="ignore"), fields]
        return Group(*paragraphs)
    table = Table(title=f"{len(cards)} learners", title_justify="left", show_lines=True)
    table.add_column("learner", style="bold", no_wrap=True)
    for column in COLUMNS:
        table.add_column(TITLES.get(column, column))
    for name, card in cards.items():
        table.add_row(name, *(_cell(card, column) for column in COLUMNS))
    return table


def learner_json(cards: Mapping[str, Card]) -> str:
    """The algorithms as a JSON array."""
    rows = [{"learner": name} | {column: _cell(card, column) for column in COLUMNS} for name, card in cards.items()]
    return msgspec.json.format(msgspec.json.encode(rows), indent=2).decode()


def learner_markdown(cards: Mapping[str, Card]) -> str:
    """The algorithms as a Markdown table."""
    lines = ["| learner | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    lines += [
        f"| `{name}` | " + " | ".join(_cell(card, column).replace("|", "\\|") for column in COLUMNS) + " |"
        for name, card in cards.items()
    ]
    return "\n".join(lines)


def _cell(card: Card, column: str) -> str:
    if column == "loop":
        return ", ".join(card.loops)
    return card.feedback_in_words if column == "feedback" else str(getattr(card, column))
