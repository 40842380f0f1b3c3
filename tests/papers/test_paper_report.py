"""Pictures, numbers, the page and the documentation's pages."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from papers import made_up
from smidgen_papers import catalogue
from smidgen_papers.drawing import draw
from smidgen_papers.outcome import Curve, Outcome, Panel, checkpoints, curve
from smidgen_papers.pages import differing, write_pages
from smidgen_papers.part import Place, Run
from smidgen_papers.report import label, page, write_numbers
from smidgen_papers.runner import Shown, compute, show, work_of


@pytest.fixture
def ran(tmp_path: Path) -> Iterator[tuple[Run, Shown]]:
    figure = made_up.enter()
    catalogue.papers["made"] = catalogue.Paper("made", "A paper", "A. Nobody. Nowhere, 1900")
    run = Run(Place(None, tmp_path / "kept"), quick=True)
    compute(work_of([figure], run), run)
    yield run, show(figure, run)
    made_up.leave()
    del catalogue.papers["made"]


def test_the_numbers_behind_the_picture(ran: tuple[Run, Shown], tmp_path: Path) -> None:
    paths = {path.name: path for path in write_numbers(ran[1], tmp_path)}
    assert set(paths) == {"fig1.svg", "fig1.png", "fig1.csv", "fig1-table1.csv", "fig1-claims.csv"}
    rows = list(csv.DictReader(paths["fig1.csv"].read_text().splitlines()))
    doubled = [row for row in rows if row["panel"] == "made up" and row["curve"] == "double"]
    assert [float(row["y"]) for row in doubled] == [0.5, 2.5, 4.5, 6.5]
    assert {row["x"] for row in rows if row["panel"] == "named"} == {"ann", "bob"}
    assert ET.parse(paths["fig1.svg"]).getroot().tag.endswith("svg")
    assert paths["fig1.png"].read_bytes().startswith(b"\x89PNG")
    (claim,) = csv.DictReader(paths["fig1-claims.csv"].read_text().splitlines())
    assert claim["verdict"] == ran[1].findings[0][1].verdict


def test_the_same_results_give_the_same_picture(ran: tuple[Run, Shown], tmp_path: Path) -> None:
    first = write_numbers(ran[1], tmp_path / "a")[0].read_bytes()
    assert first == write_numbers(ran[1], tmp_path / "b")[0].read_bytes()


def test_the_page_stands_alone_and_escapes(ran: tuple[Run, Shown]) -> None:
    text = page([ran])
    assert "&lt;straight&gt; &amp; rising" in text
    assert "<em>rises</em>" in text
    assert "A quick" not in text
    assert "quick run" in text

    outside: list[str] = []

    class Links(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            outside.extend(v for k, v in attrs if k in ("src", "href") and v and not v.startswith("#") and tag != "use")

    Links().feed(text)
    assert outside == []
    assert text.count("<svg") == 1


def test_the_documentation_pages(ran: tuple[Run, Shown], tmp_path: Path) -> None:
    written = write_pages([ran], tmp_path)
    assert [path.name for path in written] == ["made.md", "claims.md"]
    text = written[0].read_text()
    assert "![made, Figure 1: twice x](images/made-fig1.svg)" in text
    assert (tmp_path / "papers" / "images" / "made-fig1.svg").exists()
    assert "a | pipe" in text
    assert "smidgen papers run made/fig1" in text
    assert "[made, Figure 1](made.md)" in written[1].read_text()


def test_pages_are_held_against_results(ran: tuple[Run, Shown], tmp_path: Path) -> None:
    whole = (Run(ran[0].place), ran[1])
    assert differing([ran], tmp_path) == {}, "a quick run is not what pages are of"
    (lacking,) = differing([whole], tmp_path).values()
    assert any(line.startswith("+## Figure 1: twice x") for line in lacking)
    page = write_pages([whole], tmp_path)[0]
    assert differing([whole], tmp_path) == {"made/fig1": []}
    page.write_text(page.read_text().replace("| 4 | 1.235 |", "| 4 | 1.236 |"))
    (tmp_path / "papers" / "images" / "made-fig1.svg").write_text("<svg/>")
    assert differing([whole], tmp_path) == {
        "made/fig1": ["-| 4 | 1.236 |", "+| 4 | 1.235 |", "another picture: made-fig1.svg"]
    }


def test_what_has_pages_of_its_own_gets_none(ran: tuple[Run, Shown], tmp_path: Path) -> None:
    catalogue.papers["made"] = catalogue.Paper("made", "A paper", "A. Nobody. Nowhere, 1900", page=False)
    assert [path.name for path in write_pages([ran], tmp_path)] == ["claims.md"]


def test_curve_from_repetitions() -> None:
    rows = np.random.default_rng(0).random((7, 5))
    made = curve("x", np.arange(5), rows)
    np.testing.assert_allclose(made.y, rows.mean(0))
    assert made.error is not None
    np.testing.assert_allclose(made.error, rows.std(0, ddof=1) / np.sqrt(7))
    assert curve("x", [1], [[2.0]]).error is None


@pytest.mark.parametrize("rounds", [1, 2, 59, 60, 1500, 28_000])
def test_checkpoints_hold_first_and_last(rounds: int) -> None:
    points = checkpoints(rounds)
    assert (points[0], points[-1]) == (1, rounds)
    assert points == sorted(set(points))


def test_pictures_bear_zeros_on_log_axes_and_any_number_of_panels() -> None:
    zero = Panel("t", "x", "y", [Curve("a", np.array([1.0, 2.0]), np.zeros(2), np.zeros(2))], "log", "log")
    for count in (1, 2, 3, 4, 5, 7):
        figure = draw(Outcome(panels=[zero] * count), "title")
        assert figure is not None
        assert sum(axes.get_visible() for axes in figure.axes) == count
    assert draw(Outcome(), "title") is None


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("coactive/fig2", "coactive, Figure 2"),
        ("confidit/table3", "confidit, Table 3"),
        ("filtering/simple-fil", "filtering, simple fil"),
    ],
)
def test_labels(id: str, name: str) -> None:
    assert label(id) == name
