"""Remarks are Markdown files, with places for what was measured; the pages of the documentation hold both."""

from __future__ import annotations

from pathlib import Path

import pytest

import smidgen_papers
from smidgen_papers.catalogue import chosen, figures
from smidgen_papers.claims import Claim, Finding
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.prose import marked, tables_above, write_prose
from smidgen_papers.remarks import ABSENT, filled, read

DOCS = Path(__file__).parents[2] / "docs" / "papers"
FILES = sorted((Path(str(smidgen_papers.__file__)).parent / "remarks").rglob("*.md"))
#: Texts that several figures share.
SHARED = {"coactive/movies-svm", "confidit/noise"}

TABLES = [
    Table("errors", ["data", "curve", "end"], [["here", "one", 0.123456], ["there", "one", 2]]),
    Table("errors", ["data", "share"], [["here", "7 %"], ["3", "0.5"]]),
]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{{errors | here, one | end}}", "0.1235"),
        ("{{errors | here, one | end | .2f}}", "0.12"),
        ("{{ errors|there|end }}", "2"),
        ("it is {{errors | here | share}}.", "it is 7 %."),
        ("{{errors | 3 | share | .1f}}", "0.5"),
        ("{{errors | elsewhere | end}}", ABSENT),
        ("{{other | here | end}}", ABSENT),
        ("{{errors | here | other}}", ABSENT),
        ("{{claim a/b}} and {{claim a/c}}", f"1.2 times and {ABSENT}"),
        ("nothing, {not} a place", "nothing, {not} a place"),
    ],
)
def test_places_are_filled(text: str, shown: str) -> None:
    claim = Claim("a/b", "more", "Section 1", ("a/fig:x",), lambda run: Finding("holds", ""))
    assert filled(text, Outcome(tables=TABLES), [(claim, Finding("holds", "1.2 times"))]) == shown


def test_a_file_may_hold_another() -> None:
    assert read("confidit/table4") == read("confidit/noise")
    assert "{{" not in read("confidit/table4")
    assert read("coactive/fig7").endswith(read("coactive/movies-svm"))
    assert read("no/such") == ""


def test_every_file_is_of_a_figure() -> None:
    chosen()
    names = {f"{path.parent.name}/{path.stem}" for path in FILES}
    assert names - SHARED <= set(figures)
    for figure in figures.values():
        if figure.id in names:
            assert figure.remarks == read(figure.id)
            assert figure.remarks


ON_PAGES = {f"{path.parent.name}/{path.stem}" for path in FILES if (DOCS / f"{path.parent.name}.md").exists()} - SHARED


@pytest.mark.parametrize("id", sorted(ON_PAGES))
def test_the_page_says_what_the_file_says(id: str) -> None:
    """With the figures of the page's own tables in the places."""
    page = (DOCS / f"{id.partition('/')[0]}.md").read_text()
    place = page.index(f"<!-- remarks {id}:begin -->")
    shown = filled(read(id), Outcome(tables=tables_above(page, place)))
    assert ABSENT not in shown
    assert page.startswith(marked(id, shown), place)


def test_only_the_prose_of_a_page_is_renewed(tmp_path: Path) -> None:
    table = "*Reuters-21578, all stories: RIDGE-FIL by c*\n\n| c | F |\n|---|---|\n| 1 | 0.9 |\n| 5 | 0.8 |\n"
    page = f"# P\n\n## A\n\n{table}\n{marked('filtering/threshold', 'old words')}\n\nthe rest\n"
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "filtering.md").write_text(page)
    (folder / "other.md").write_text("nothing to fill")
    assert write_prose(tmp_path) == [folder / "filtering.md"]
    text = (folder / "filtering.md").read_text()
    assert "old words" not in text
    assert "0.9 against\n0.8, over" in text
    assert text.startswith(f"# P\n\n## A\n\n{table}")
    assert text.endswith("\n\nthe rest\n")
    assert write_prose(tmp_path) == []
