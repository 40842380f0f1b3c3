"""What the pages beyond the papers aim at, and whether it was reached, in one table."""

from __future__ import annotations

from pathlib import Path

from smidgen_papers.tables import row, rows_under, tally

#: The head of the tables that are collected.
HEAD = ("aim", "measured", "reached")
#: What the first words under "reached" come to, in this order; all else is open.
VERDICTS = (("✓ reached", "good"), ("~ in part, or not for certain", "open"), ("✗ missed", "bad"))


def aims_page(folder: Path) -> str:
    """The page that collects the tables of aims of a folder's other pages."""
    judged = [
        (link, aim, verdict(reached), measured, reached)
        for path in sorted(folder.glob("*.md"))
        if path.name != "index.md"
        for link, aim, measured, reached in _aims(path)
    ]
    return (
        "\n".join(
            [
                "# Beyond the papers: all aims",
                "",
                "What the learners beyond the papers were to reach, and what came of it. Each page says how it was",
                "measured, on which data, and what was chosen when. The papers' own claims stand in",
                "[a table like this one](../papers/claims.md); aims of speed stand with their",
                "[measurements](../speed.md#aims). `make listings` writes this page from the others.",
                "",
                *tally("page", VERDICTS, [(link, kind) for link, _, kind, _, _ in judged]),
                "",
                "## Every aim",
                "",
                row("page", "aim", "verdict", "measured", "in words"),
                "|---|---|---|---|---|",
                *(row(*each) for each in judged),
            ]
        )
        + "\n"
    )


def verdict(reached: str) -> str:
    """What an answer comes to: yes, no, or something between.

    Examples
    --------
    >>> from smidgen_papers.aims import verdict
    >>> verdict("yes, on one split"), verdict("no: level"), verdict("all but one")
    ('✓ reached', '✗ missed', '~ in part, or not for certain')
    """
    (yes, _), (between, _), (no, _) = VERDICTS
    first = reached.replace(",", " ").replace(":", " ").replace(";", " ").split()[0].strip("*").lower()
    return yes if first == "yes" else no if first == "no" else between


def _aims(path: Path) -> list[tuple[str, str, str, str]]:
    page = path.read_text(encoding="utf-8")
    title = page.partition("\n")[0].removeprefix("# ")
    return [(f"[{title}]({path.name})", *(a, m, r)) for a, m, r in rows_under(page, *HEAD)]
