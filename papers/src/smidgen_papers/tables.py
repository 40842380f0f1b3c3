"""Tables of Markdown: written, read back, and counted by verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_EDGES = re.compile(r"(?<!\\)\|")


def row(*cells: str) -> str:
    r"""A row of a table; a stroke inside a cell is escaped.

    Examples
    --------
    >>> from smidgen_papers.tables import row
    >>> row("a", "b | c")
    '| a | b \\| c |'
    """
    return "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in cells) + " |"


def cells(line: str) -> list[str]:
    """What stands in a row: the other way round.

    Examples
    --------
    >>> from smidgen_papers.tables import cells, row
    >>> cells(row("a", "b | c"))
    ['a', 'b | c']
    """
    return [text.strip().replace("\\|", "|") for text in _EDGES.split(line.strip())[1:-1]]


def rows_under(page: str, *head: str) -> list[list[str]]:
    """The rows of every table of a page that has this head."""
    found: list[list[str]] = []
    inside = False
    for line in page.splitlines():
        if not line.startswith("|"):
            inside = False
        elif cells(line) == list(head):
            inside = True
        elif inside and not set(line) <= set("|-: "):
            found.append(cells(line))
    return found


def tally(groups: str, verdicts: Sequence[tuple[str, str]], judged: Iterable[tuple[str, str]]) -> list[str]:
    """How often each verdict was given, altogether and by group, as lines of Markdown.

    Parameters
    ----------
    groups
        The head of the first column: "paper".
    verdicts
        Every verdict, and a word for its colour: good, bad or open.
    told
        A group (it may be a link) and a verdict for each.
    """
    pairs = list(judged)
    names = list(dict.fromkeys(group for group, _ in pairs))
    counted = [(group, [pairs.count((group, verdict)) for verdict, _ in verdicts]) for group in names]
    sums = [sum(counts[i] for _, counts in counted) for i in range(len(verdicts))]
    tiles = "".join(
        f'<span class="{colour}"><b>{number}</b> {verdict}</span>'
        for (verdict, colour), number in zip(verdicts, sums, strict=True)
    )
    return [
        f'<p class="tally"><span><b>{len(pairs)}</b> in all</span>{tiles}</p>',
        "",
        row(groups, "in all", *(verdict for verdict, _ in verdicts)),
        "|---|" + "--:|" * (len(verdicts) + 1),
        *(row(group, str(sum(counts)), *map(str, counts)) for group, counts in counted),
    ]
